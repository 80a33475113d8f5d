"""HTTP bodies of matches; match records are those of `graphtide_wire.matches`, unchanged."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - msgspec reads annotations while the program runs
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from graphtide_wire.bodies import MAY_BE_LEFT_OUT, TIME, Body

MATCH: Final[dict[str, Any]] = {
    "match_id": "4232d89a8d4c036f868a7bc9f0d7cb5f",
    "query": "fan_out",
    "kind": "match",
    "detected_at": 1704067201000,
    "first_ts": 1704067200000,
    "last_ts": 1704067201000,
    "edges": {"x": "e1", "y": "e2"},
    "vertices": {"a": "10.0.0.7", "b": "203.0.113.1", "c": "203.0.113.2"},
}
"""A match in examples."""

SHOWN_WITH_A_MATCH: Final[dict[str, Any]] = {
    "acknowledgement": None,
    "muted": None,
    "severity": "high",
    "message": "10.0.0.7 reached two hosts",
}
"""What people read beside a match, in examples."""

_RESULT: Final[dict[str, Any]] = {
    "match_id": "67213523c5049fe4b389d4eb2eeafcbb",
    "query": "notify",
    "kind": "match",
    "detected_at": 4000,
    "first_ts": 4000,
    "last_ts": 4000,
    "src": "ann",
    "dst": "m1",
    "label": "notify",
    "valid": [4000, 86_400_000],
}


class Acknowledgement(Body, frozen=True, kw_only=True):
    """An acknowledgement of a match: the name of the caller who made it, when, and a note."""

    schema: ClassVar[str | None] = "AcknowledgementOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"note": "a test of ours", "by": "ann", "at": TIME},)

    note: str
    by: str
    at: datetime


class ReportedMatch(Body, frozen=True, kw_only=True):
    """A match record and its place, `partition-offset`, and what people read beside it.

    `acknowledgement` and `muted`, the id of a mute that covers it, are null where there is none. `severity` and `message` are
    by what its pattern says now, and null where it says nothing.
    """

    schema: ClassVar[str | None] = "MatchOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = ({"place": "0-17", "match": MATCH, **SHOWN_WITH_A_MATCH},)

    place: str
    match: msgspec.Raw
    acknowledgement: Acknowledgement | None = None
    muted: str | None = None
    severity: str | None = None
    message: str | None = None


class MatchesPage(Body, frozen=True, kw_only=True):
    """Matches, the newest first. A page may be short or empty although another follows."""

    schema: ClassVar[str | None] = "MatchesOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"matches": [{"place": "0-17", "match": MATCH, **SHOWN_WITH_A_MATCH}], "next": "0-17"},
    )

    matches: list[ReportedMatch]
    next: Annotated[str | None, Meta(description="cursor of the next page; null if there is none"), MAY_BE_LEFT_OUT] = None


class ResultsPage(Body, frozen=True, kw_only=True):
    """Results of a graph query that are valid at one instant, by `match_id`; times are ticks of the stream.

    `complete` says that all pages together have all results, and that these are final; `notes` say why not.
    """

    schema: ClassVar[str | None] = "ResultsOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {"version": 1, "at": 6500, "read_to": 7000, "results": [_RESULT], "complete": True, "notes": [], "next": None},
    )

    version: int
    at: Annotated[int | None, Meta(description="the instant; null if none was given and the query has not read its stream")]
    read_to: Annotated[int | None, Meta(description="time of the newest edge that the query is known to have read")]
    results: Annotated[
        list[msgspec.Raw],
        Meta(
            description="match records of kind `match`; of kind `extend` where `valid` may have begun before what was looked at"
        ),
    ]
    complete: bool
    notes: tuple[str, ...]
    next: Annotated[str | None, Meta(description="cursor of the next page; null if there is none"), MAY_BE_LEFT_OUT] = None
