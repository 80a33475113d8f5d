"""HTTP bodies of dead letters."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from graphtide_wire.bodies import MAY_BE_LEFT_OUT, TIME, Body


class DeadLetter(Body, frozen=True):
    """A record that could not be used; `raw` where it is UTF-8, else `raw_base64`.

    `place` is its own, `source_place` that of the raw record it came from, if it was rejected while the stream was ordered.
    """

    schema: ClassVar[str | None] = "DeadLetterOut"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "stream": "flows",
            "place": "0-17",
            "code": "malformed",
            "reason": 'ts "x" is not an integer',
            "time": TIME,
            "raw": '{"ts":"x"}',
            "raw_base64": None,
            "content_type": "application/x-ndjson",
            "producer": "probe-7",
            "source_topic": None,
            "source_partition": None,
            "source_offset": None,
            "source_place": None,
            "source_line": 2,
        },
    )

    stream: str
    place: str
    code: str
    reason: str
    time: str
    raw: str | None = None
    raw_base64: str | None = None
    content_type: str | None = None
    producer: str | None = None
    source_topic: str | None = None
    source_partition: int | None = None
    source_offset: int | None = None
    source_place: str | None = None
    source_line: int | None = None


class DeadLettersPage(Body, frozen=True, kw_only=True):
    """Dead letters, the newest of each stream first; pages are those of one stream."""

    schema: ClassVar[str | None] = "DeadLettersOut"

    dead_letters: list[DeadLetter]
    next: Annotated[str | None, Meta(description="cursor of the next page; null if there is none"), MAY_BE_LEFT_OUT] = None
