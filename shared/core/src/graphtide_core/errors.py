"""Everything that can go wrong, typed by what to do next.

GraphtideError
├── TransientError              try again, with back-off
├── PoisonRecordError           dead-letter this record, continue
├── CutShortError               take what was found so far
├── InvalidQueryError           report where and why to the user
│   ├── InvalidPatternError     with line, column, caret, expected tokens and a hint
│   └── CollidingTopicError     the log holds another topic that it takes for the same
└── FatalError                  stop
    ├── UnreadableStreamError   the stream as a whole cannot be read
    ├── FencedError             another took over what was ours
    └── LimitExceededError      a configured bound was reached and the policy is to fail
"""

from __future__ import annotations

from dataclasses import dataclass

_SHOWN_BEFORE = 80
_SHOWN_AFTER = 60
"""Characters of a line that an error shows before and after its place."""


class GraphtideError(Exception):
    """Base of every error graphtide raises on purpose."""


class TransientError(GraphtideError):
    """The same call may succeed later."""


class PoisonRecordError(GraphtideError):
    """One record cannot be used; its neighbours can.

    Attributes:
        reason: what is wrong, for people.
        raw: the record as it came.
        line: 1-based line in its file, where it has one.
    """

    def __init__(self, reason: str, raw: bytes = b"", line: int | None = None) -> None:
        """Keep the record beside the reason."""
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.raw = raw
        self.line = line


class CutShortError(GraphtideError):
    """A run over records was ended before it was done: it had cost what it might, or its caller did not want it any more.

    Attributes:
        records: taken, the last perhaps in part.
        work: steps taken.
    """

    def __init__(self, records: int, work: int) -> None:
        """Say how far it came."""
        super().__init__(f"matching was ended after {records} records and {work} steps of work")
        self.records = records
        self.work = work


class InvalidQueryError(GraphtideError):
    """The user's query is not valid."""


class CollidingTopicError(InvalidQueryError):
    """A topic cannot be made beside another: their names differ by dots and underscores alone, which Kafka refuses.

    Attributes:
        topic: the one that cannot be made.
        other: the one that is there.
    """

    def __init__(self, topic: str, other: str) -> None:
        """Name both."""
        super().__init__(
            f"the topic {topic} cannot be made beside {other}: Kafka treats dots and underscores in names alike; "
            "choose another name, or delete what is in the other"
        )
        self.topic = topic
        self.other = other


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a text: 1-based line and column, and how many characters it covers."""

    line: int
    column: int
    length: int = 1


class InvalidPatternError(InvalidQueryError):
    """A pattern's text is wrong at a known place.

    Attributes:
        reason: one sentence.
        location: where, if known.
        source_line: the text of that line.
        expected: what could have stood there.
        hint: what to do about it.
    """

    def __init__(
        self,
        reason: str,
        location: Location | None = None,
        *,
        source_line: str = "",
        expected: tuple[str, ...] = (),
        hint: str = "",
    ) -> None:
        """Keep the parts; `str()` renders them all."""
        super().__init__(reason)
        self.reason = reason
        self.location = location
        self.source_line = source_line
        self.expected = expected
        self.hint = hint

    @property
    def line(self) -> int | None:
        """1-based line, if known."""
        return self.location.line if self.location else None

    @property
    def column(self) -> int | None:
        """1-based column, if known."""
        return self.location.column if self.location else None

    def in_text(self, text: str) -> InvalidPatternError:
        """Return the same error with the line of `text` it points at.

        Lines end only at line feeds, as in the parser's count. Other characters at which some programs break a line may stand
        in a quoted name.
        """
        lines = text.split("\n")
        if self.location is None or not 1 <= self.location.line <= len(lines):
            return self
        return InvalidPatternError(
            self.reason,
            self.location,
            source_line=lines[self.location.line - 1].removesuffix("\r"),
            expected=self.expected,
            hint=self.hint,
        )

    def __str__(self) -> str:
        """Render reason, place, the line with a caret below it, what was expected, and the hint."""
        parts = [self.reason]
        if self.location is not None:
            parts[0] = f"line {self.location.line}, column {self.location.column}: {self.reason}"
            if self.source_line:
                parts += self._pointed()
        if self.expected:
            parts.append(f"expected: {', '.join(self.expected)}")
        if self.hint:
            parts.append(f"hint: {self.hint}")
        return "\n".join(parts)

    def _pointed(self) -> list[str]:
        """Return the line, cut around the place where it is long, and below it the caret."""
        location = self.location or Location(1, 1)
        start = max(0, location.column - 1 - _SHOWN_BEFORE)
        end = location.column - 1 + _SHOWN_AFTER
        cut = "…" if start > 0 else ""
        shown = (
            cut + "".join(_show(char) for char in self.source_line[start:end]) + ("…" if end < len(self.source_line) else "")
        )
        before = shown[: len(cut) + location.column - 1 - start]
        # Tabs keep their width in the padding, so that the caret stands below the right character.
        padding = "".join("\t" if char == "\t" else " " for char in before)
        room = max(1, min(location.length, len(shown) - len(before)))
        return [f"  {shown}", f"  {padding}{'^' * room}"]


def _show(char: str) -> str:
    """Return the character as one that takes one place on a screen and does nothing to it."""
    if char == "\t" or char.isprintable():
        return char
    return " " if char.isspace() else "\N{REPLACEMENT CHARACTER}"


class FatalError(GraphtideError):
    """The run cannot continue."""


class UnreadableStreamError(FatalError):
    """The stream cannot be opened or is not of the format it claims."""


class FencedError(FatalError):
    """Another process took over the work under the same id; this one must not write any more."""


class LimitExceededError(FatalError):
    """A configured bound was reached under the policy `fail`.

    Attributes:
        pattern: whose bound.
        limit: which bound, with its value.
    """

    def __init__(self, pattern: str, limit: str) -> None:
        """Name the pattern and the bound."""
        super().__init__(f"pattern {pattern!r} reached its limit of {limit}")
        self.pattern = pattern
        self.limit = limit
