"""The files that are of a table now: a folder of Delta or Iceberg has those of earlier versions, too.

The libraries of both are optional. Rows are read from the Parquet files as they are. A table with deletions beside its files
is refused, and so is one with other names of columns in them. Columns that partitions are by are not in the files of Delta.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlparse

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

_UNREAD: Final = frozenset({"deletionVectors", "columnMapping"})
"""Features of Delta that readers of its files must know."""


def table_files(folder: Path) -> list[Path] | None:
    """Return the files of the newest version of a table; None if the folder is none.

    Raises:
        UnreadableStreamError: the library of its format is not installed, or its files do not say it all.
    """
    if (folder / "_delta_log").is_dir():
        return _find_delta_files(folder)
    if versions := list((folder / "metadata").glob("*.metadata.json")):
        return _find_iceberg_files(folder, max(versions, key=_read_number))
    return None


def _find_delta_files(folder: Path) -> list[Path]:
    library = _import(folder, "Delta", "deltalake", "deltalake")
    try:
        table = library.DeltaTable(str(folder))
        protocol, mode = table.protocol(), table.metadata().configuration.get("delta.columnMapping.mode", "none")
        uris = table.file_uris()
    except Exception as error:  # The library has errors of its own.
        raise _explain_unreadable(folder, "Delta", error) from error
    if (unread := sorted(_UNREAD & set(protocol.reader_features or ()))) or mode != "none":
        raise _explain_incomplete(folder, "Delta", " and ".join(unread or ["columnMapping"]))
    return _read_paths(uris)


def _find_iceberg_files(folder: Path, metadata: Path) -> list[Path]:
    library = _import(folder, "Iceberg", "pyiceberg", "pyiceberg.table")
    try:
        tasks: list[Any] = list(library.StaticTable.from_metadata(str(metadata)).scan().plan_files())
    except Exception as error:  # As above.
        raise _explain_unreadable(folder, "Iceberg", error) from error
    if any(task.delete_files for task in tasks):
        raise _explain_incomplete(folder, "Iceberg", "files of deletions")
    return _read_paths(task.file.file_path for task in tasks)


def _read_number(metadata: Path) -> int:
    """Return the number of a version: `00003-….metadata.json` or `v3.metadata.json`."""
    found = re.match(r"v?(\d+)", metadata.name)
    return int(found[1]) if found is not None else -1


def _read_paths(uris: Iterable[str]) -> list[Path]:
    return [Path(unquote(parsed.path) if (parsed := urlparse(uri)).scheme == "file" else uri) for uri in uris]


def _import(folder: Path, format: str, package: str, module: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as error:
        message = (
            f"{folder} is a table of {format}, which has files of earlier versions, too; what reads it is not installed: "
            f"pip install {package}"
        )
        raise UnreadableStreamError(message) from error


def _explain_incomplete(folder: Path, format: str, found: str) -> UnreadableStreamError:
    return UnreadableStreamError(
        f"{folder}: the files of this table of {format} do not say it all, since it has {found}; write it to plain Parquet"
    )


def _explain_unreadable(folder: Path, format: str, error: Exception) -> UnreadableStreamError:
    return UnreadableStreamError(f"{folder}: this table of {format} cannot be read: {str(error).strip().partition(chr(10))[0]}")
