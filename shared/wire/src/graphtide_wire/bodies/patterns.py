"""HTTP bodies of patterns."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Annotated, ClassVar

from msgspec import Meta

from graphtide_wire.bodies import MAY_BE_LEFT_OUT, Body, one_of
from graphtide_wire.control import SeverityName  # noqa: TC001 - msgspec reads annotations while the program runs


class Limits(Body, frozen=True):
    """Bounds on a pattern's state and work, and what happens at them."""

    partial_matches: int | None
    state_bytes: int | None
    policy: str
    work: int | None = None


class Placement(Body, frozen=True):
    """The plan of a pattern, and the shard that runs it."""

    engine: str
    service: str
    shard: int
    epoch: int


class PartOfPattern(Body, frozen=True):
    """What a part of a stream has of a pattern that each part matches by itself."""

    part: Annotated[int, Meta(description="its number, from 0")]
    state: Annotated[str, Meta(description="as that of the pattern")]
    placement: Placement | None


class PlanCounts(Body, frozen=True, kw_only=True):
    """The latest counts of a pattern from its host, except `matches`; `position` is the offset it reads next."""

    matches: Annotated[int, Meta(description="matches reported since the name was registered, by all versions and hosts")]
    partial_matches: int
    state_bytes: int
    work: Annotated[int | None, Meta(description="steps of work")] = None
    suppressed: Annotated[int, Meta(description="matches suppressed because one of their key was emitted (ONE PER)")] = 0
    position: int | None
    at: datetime


class Pattern(Body, frozen=True):
    """A pattern: its text and options, and its state."""

    schema: ClassVar[str | None] = "PatternOut"

    name: str
    version: int
    text: str
    stream: str
    engine: str
    limits: Limits
    wanted: Annotated[str, one_of("active", "paused")]
    state: Annotated[str, Meta(description="pending, running, moving, paused or failed")]
    reason: str | None
    start: Annotated[int | None, Meta(description="offset of the ordered stream from which on matches are reported")]
    created_at: datetime
    updated_at: datetime
    etag: str
    placement: Placement | None
    figures: PlanCounts | None
    warnings: Annotated[
        tuple[str, ...],
        Meta(description="possible mistakes: a stream or labels that were not seen lately, or too many matches"),
    ] = ()
    parts: Annotated[
        tuple[PartOfPattern, ...],
        Meta(description="the parts of the stream, if each matches the pattern by itself; `placement` is then of one of them"),
    ] = ()
    description: Annotated[str | None, Meta(description="what its matches mean")] = None
    severity: Annotated[SeverityName | None, Meta(description="of its matches")] = None
    tags: tuple[str, ...] = ()
    message: Annotated[str | None, Meta(description="template of a sentence about a match")] = None


class PatternsPage(Body, frozen=True, kw_only=True):
    """Patterns, by their names."""

    schema: ClassVar[str | None] = "PatternsOut"

    patterns: list[Pattern]
    next: Annotated[str | None, Meta(description="cursor of the next page; null if there is none"), MAY_BE_LEFT_OUT] = None


class PatternStatistics(Body, frozen=True, kw_only=True):
    """The counts of a pattern; `behind` is the number of ordered edges that its host has not matched yet."""

    state: str
    reason: str | None
    figures: PlanCounts | None
    behind: int | None
