"""Files by a URI, `s3://`, `gs://`, `hdfs://`, `file://`: on the file systems that pyarrow knows."""

from __future__ import annotations

import io
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_GLOB: Final = re.compile(r"[*?\[]")
_BUFFER: Final = 1 << 20


def is_uri(name: str) -> bool:
    """Return whether a name is a URI."""
    return _URI.match(name) is not None


def open_uri(uri: str) -> tuple[io.BufferedReader[Any], int | None]:
    """Open the file of a URI; return it, and its size.

    Raises:
        UnreadableStreamError: the file system is unknown or does not answer, or there is no such file.
    """
    file = open_random_access(uri)
    return io.BufferedReader(file, _BUFFER), file.size()


def open_random_access(uri: str) -> pa.NativeFile:
    """Open the file of a URI for reading at any place.

    Raises:
        UnreadableStreamError: as `open_uri`.
    """
    system, path = _file_system(uri)
    try:
        return system.open_input_file(path)
    except OSError as error:
        message = f"{uri}: cannot be opened ({_first_line(error)})"
        raise UnreadableStreamError(message) from error


def is_several_at(uri: str) -> bool:
    """Return whether a URI stands for several files: it ends in a slash, or is a pattern of names."""
    return uri.endswith("/") or _GLOB.search(uri) is not None


def files_at(uri: str) -> list[str]:
    """Return the URIs of the files in a folder, or that a pattern names, in the order of their names.

    Raises:
        UnreadableStreamError: as `open_uri`.
    """
    from pyarrow import fs  # noqa: PLC0415 - local files do without

    found = _GLOB.search(uri)
    folder = uri if found is None else uri[: uri.rindex("/", 0, found.start()) + 1]
    system, path = _file_system(folder)
    try:
        listed = system.get_file_info(fs.FileSelector(path, recursive=True))
    except OSError as error:
        message = f"{uri}: cannot be listed ({_first_line(error)})"
        raise UnreadableStreamError(message) from error
    root = path.rstrip("/")
    names = [each.path[len(root) :].lstrip("/") for each in listed if each.type is fs.FileType.File]
    if found is None:
        return [folder + name for name in sorted(names) if not is_hidden(name)]
    return [folder + name for name in sorted(names) if fnmatchcase(name, uri[len(folder) :])]


def is_hidden(path: str) -> bool:
    """Return whether a file, or a folder on the way to it, has a name that begins with a point or an underscore."""
    return any(part.startswith((".", "_")) for part in path.split("/"))


def _file_system(uri: str) -> tuple[fs.FileSystem, str]:
    from pyarrow import ArrowException, fs  # noqa: PLC0415 - as above

    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri)
    except (ArrowException, OSError, ValueError, TypeError) as error:
        message = f"{uri}: cannot be opened ({_first_line(error)})"
        raise UnreadableStreamError(message) from error
    return found


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
