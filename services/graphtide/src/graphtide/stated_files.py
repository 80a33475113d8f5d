"""Files that a STREAM statement names: what is in them takes the place of their names, so that a statement is whole.

Tables are too large for that. They stay in their files, beside the statement.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.record_format import WRITTEN_BYTES, file_of, names_file

from graphtide.text_file import read_bytes_file, read_text_file

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_core.stream_definition import StreamDefinition


def with_files(definition: StreamDefinition, folder: Path) -> StreamDefinition:
    """Return a definition with what is in the files that it names, or where they are; names without a folder are in `folder`.

    Raises:
        UnreadableStreamError: a file cannot be read.
        InvalidPatternError: what is in it is not what the statement needs.
    """
    tables = tuple(replace(table, folder=str(folder)) for table in definition.tables)
    definition = replace(definition, tables=tables) if tables else definition
    stated = definition.format
    if stated is None or (named := file_of(stated)) is None:
        return definition
    option, file = named
    path = folder / file
    if option == "descriptor":
        return replace(definition, format=replace(stated, descriptor=WRITTEN_BYTES + b64encode(read_bytes_file(path)).decode()))
    schema = read_text_file(path)
    if names_file(schema):
        message = f"{path} has no schema of Avro, which is JSON"
        raise InvalidPatternError(message)
    return replace(definition, format=replace(stated, schema=schema))
