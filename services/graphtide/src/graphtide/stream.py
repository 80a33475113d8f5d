"""STREAM statements in Python: what the records of a stream mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.stream_definition import StreamDefinition

from graphtide.stated_files import with_files
from graphtide.text_file import read_text_file

if TYPE_CHECKING:
    from typing import Self

_NEEDED: Final = "a Stream, the text of a STREAM statement, or the path of a file with statements is needed"


class Stream:
    """A STREAM statement: how records are read, and which edges and events a record gives.

    graphtide.Stream("STREAM pay EDGE (nameOrig:account)-[type]->(nameDest:account) AT step IN s SET amount = amount")
    """

    __slots__ = ("definition",)

    def __init__(self, statement: str | StreamDefinition) -> None:
        """Read a statement, and the files that it names; patterns behind it are checked and left out.

        Raises:
            InvalidPatternError: the text is wrong, or has no statement or several.
            UnreadableStreamError: a file that it names cannot be read.
            TypeError: it is not a text.
        """
        self.definition: StreamDefinition
        if isinstance(statement, StreamDefinition):
            self.definition = statement
            return
        found = _parse(statement, Path())
        self.definition = _only(found)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read the statement of a file, and the files that it names, which are beside it.

        Raises:
            UnreadableStreamError: the file cannot be read.
            InvalidPatternError: as `Stream`; the message names the file.
        """
        text = read_text_file(Path(path))
        with _name_file(path):
            return cls(_only(_parse(text, Path(path).parent)))

    @classmethod
    def preset(cls, name: str) -> Self:
        """Return one of the statements that come with graphtide, for records that many people have.

        Raises:
            InvalidPatternError: there is none of that name; the message lists them.
        """
        from graphtide_query.presets import read_preset  # noqa: PLC0415 - other statements do without

        return cls(read_preset(name))

    @property
    def name(self) -> str:
        """The name of the stream."""
        return self.definition.name

    def __str__(self) -> str:
        """Return the statement in its canonical form."""
        from graphtide_query import print_stream  # noqa: PLC0415 - what is only read does without

        return print_stream(self.definition)

    def __repr__(self) -> str:
        """Return what makes an equal one."""
        return f"Stream({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        """Return whether both say the same."""
        return isinstance(other, Stream) and self.definition == other.definition

    def __hash__(self) -> int:
        """Return a hash; equal streams have equal ones."""
        return hash(self.definition)


def definitions_of(given: object) -> tuple[StreamDefinition, ...]:
    """Return the definitions of a Stream, of a text or a file with one or several statements, or of a list of these.

    Raises:
        InvalidPatternError: a text is wrong or has no statement, or two streams have one name.
        UnreadableStreamError: a file cannot be read.
        TypeError: it is of another type.

    Errors in a file name it.
    """
    match given:
        case StreamDefinition():
            found: tuple[StreamDefinition, ...] = (given,)
        case Stream():
            found = (given.definition,)
        case str():
            found = _parse(given, Path())
        case os.PathLike():
            text = read_text_file(Path(given))
            with _name_file(given):
                found = _parse(text, Path(given).parent)
        case Iterable() if not isinstance(given, bytes | bytearray | memoryview):
            found = tuple(one for each in given for one in definitions_of(each))
        case _:
            message = f"{_NEEDED}, not a {type(given).__name__}"
            raise TypeError(message)
    names = [each.name for each in found]
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        message = f"two STREAM statements have the name {twice!r}"
        raise InvalidPatternError(message)
    return found


@contextmanager
def _name_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors in the text of a file name it."""
    try:
        yield
    except InvalidPatternError as error:
        reason = f"{os.fspath(path)}: {error.reason}"
        raise InvalidPatternError(
            reason, error.location, source_line=error.source_line, expected=error.expected, hint=error.hint
        ) from error


def _only(found: tuple[StreamDefinition, ...]) -> StreamDefinition:
    if len(found) != 1:
        names = ", ".join(each.name for each in found)
        message = f"one STREAM statement is needed, not {f'{len(found)}: {names}' if found else 'none'}"
        raise InvalidPatternError(message)
    return found[0]


def _parse(text: object, folder: Path) -> tuple[StreamDefinition, ...]:
    from graphtide_query import parse_streams  # noqa: PLC0415 - what is a definition already does without

    if not isinstance(text, str):
        message = f"{_NEEDED}, not a {type(text).__name__}"
        raise TypeError(message)
    if found := parse_streams(text):
        return tuple(with_files(each, folder) for each in found)
    message = "the text has no STREAM statement"
    raise InvalidPatternError(message, hint="write STREAM flows EDGE (src)-[label]->(dst) AT ts")
