"""The format of history, where the command line does not give it: by the names of files, or their first bytes."""

from __future__ import annotations

from pathlib import Path

from graphtide_core.errors import UnreadableStreamError

from graphtide.readers.opening import format_by_name, format_of


def format_by_names(location: str) -> str:
    """Return the format of a file, or of all files of a folder or a pattern of names.

    Raises:
        UnreadableStreamError: there are no files, a file's format is unknown, or files have different formats.
    """
    from graphtide_backfill.adapters.files import paths_of  # noqa: PLC0415 - it comes with the extra of backfills

    if not Path(location).is_dir() and (reported := format_by_name(location)) is not None:
        return reported.value
    first, *others = paths_of(location)
    kind = format_of(str(first))
    for path in others:
        if (other := format_of(str(path))) is not kind:
            message = (
                f"{first} is {kind.value}, but {path} is {other.value}: history is of one format; "
                f"name its files, such as '*{kind.suffixes[0]}', or say it with --source"
            )
            raise UnreadableStreamError(message)
    return kind.value
