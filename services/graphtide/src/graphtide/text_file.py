"""Files with texts of the pattern language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError, UnreadableStreamError

if TYPE_CHECKING:
    from pathlib import Path


def read_bytes_file(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        UnreadableStreamError: there is no such file, or it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path}: no such file"
        raise UnreadableStreamError(message) from error
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise UnreadableStreamError(message) from error


def read_text_file(path: Path) -> str:
    """Return the text of a file with patterns or statements.

    Raises:
        UnreadableStreamError: there is no such file, or it cannot be read.
        InvalidPatternError: it is not a text.
    """
    try:
        text = read_bytes_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text: {error.reason} at byte {error.start}"
        raise InvalidPatternError(message) from error
    # As a file is opened for text.
    return text.replace("\r\n", "\n").replace("\r", "\n")
