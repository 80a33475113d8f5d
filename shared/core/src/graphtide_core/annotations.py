"""The annotations of a pattern: what it is about, how severe its matches are, and how a match reads as a sentence.

They are for people and alerts. No match, id, plan or canonical form depends on them, and `without_annotations` leaves them out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.message_template import parse_template
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from typing import TypeVar

    from graphtide_core.any_pattern import AnyPattern

    _P = TypeVar("_P", bound=AnyPattern)

MOST_DESCRIPTION: Final = 2_000
MOST_MESSAGE: Final = 1_000
MOST_TAG: Final = 64
"""Characters of each."""

MOST_TAGS: Final = 20


class Severity(Enum):
    """How severe the matches of a pattern are, from the least on."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its place from the least on, from 0."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a pattern says of itself; all may be missing.

    Attributes:
        description: what its matches mean.
        severity: of its matches.
        tags: words to find it by, each once.
        message: the template of a sentence about a match; see `message_template`.
    """

    description: str | None = None
    severity: Severity | None = None
    tags: tuple[str, ...] = ()
    message: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is empty or too long.

        Raises:
            InvalidPatternError: a text is empty or too long, a tag comes twice, or the message is not a template.
        """
        _refuse_length("description", self.description, MOST_DESCRIPTION)
        _refuse_length("message", self.message, MOST_MESSAGE)
        if len(self.tags) > MOST_TAGS:
            message = f"a pattern may have at most {MOST_TAGS} tags"
            raise InvalidPatternError(message)
        for tag in self.tags:
            _refuse_length("tag", tag, MOST_TAG)
            if self.tags.count(tag) > 1:
                message = f"the pattern has the tag {show(tag)} twice"
                raise InvalidPatternError(message, hint="keep one")
        if self.message is not None:
            parse_template(self.message)


def _refuse_length(what: str, text: str | None, most: int) -> None:
    if text is None:
        return
    if not text.strip():
        message = f"the {what} is empty"
        raise InvalidPatternError(message)
    if len(text) > most:
        message = f"the {what} has {len(text):,} characters, more than the {most:,} allowed"
        raise InvalidPatternError(message)


NO_ANNOTATIONS: Final = Annotations()


def without_annotations(pattern: _P) -> _P:
    """Return the pattern without its annotations. Complexity: O(1) where it has none, else that of making a pattern."""
    return pattern if pattern.annotations == NO_ANNOTATIONS else replace(pattern, annotations=NO_ANNOTATIONS)
