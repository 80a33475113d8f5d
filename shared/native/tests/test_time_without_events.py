"""While a stream is idle, time alone reports absences: as soon as it is past a bound, and once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from graphtide_core.event_pattern import EventPattern
from graphtide_core.match import OccurrenceMatch
from graphtide_core.pattern import Report
from graphtide_native.matcher import Matcher
from graphtide_native.records import JsonLinesDecoder, Symbols
from graphtide_native.spec import columns
from graphtide_query import parse
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan_all
from graphtide_testing.oracles.events import EventOracle
from graphtide_testing.records import events_to_json_lines
from graphtide_testing.strategies.event_patterns import EventPatternShape, event_patterns
from graphtide_testing.strategies.event_streams import EventStreamShape, event_streams
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from graphtide_core.event import Event
    from graphtide_native.match_batch import MatchBatch
    from graphtide_testing.oracles.events import Emitted

    Reports = Counter[tuple[object, ...]]

STREAM = EventStreamShape(duplicates=False)
PATTERNS = EventPatternShape(stream=STREAM, max_events=3)


class Pass:
    """A matcher of one event pattern."""

    def __init__(self, pattern: EventPattern) -> None:
        symbols, self._pattern = Symbols(), pattern
        projected = columns([pattern])
        self._decoder = JsonLinesDecoder(symbols, projected, {})
        self.matcher = Matcher(plan_all([pattern], PlannerOptions()), symbols, projected, deletions=True)

    def push(self, *records: Event) -> Reports:
        return self.found(self.matcher.push(self._decoder.decode(events_to_json_lines(records))))

    def push_lines(self, lines: bytes) -> Reports:
        return self.found(self.matcher.push(self._decoder.decode(lines)))

    def pass_time(self, watermark: int) -> Reports:
        return self.found(self.matcher.pass_time(watermark))

    def found(self, batches: Iterable[MatchBatch]) -> Reports:
        emitted: Reports = Counter()
        for match in (match for batch in batches for match in batch):
            assert isinstance(match, OccurrenceMatch)
            events = [(name, (ids,) if isinstance(ids, str) else ids) for name, ids in match.events.items()]
            emitted[match.kind.value, match.detected_at, match.count or 1, *self.shown(match.kind.value, events)] += 1
        return emitted

    def shown(self, kind: str, events: Iterable[tuple[str, tuple[str, ...]]]) -> Sequence[object]:
        """Return the events of a report, but where an engine may choose whose it shows."""
        return [] if self._pattern.report is Report.EXISTS and kind != "timeout" else sorted(events)


@pytest.mark.parametrize(
    ("text", "kind", "bound"),
    [
        ("SEQ(a:A, b:B, NOT c:C) ON s WITHIN 10ms", "match", 10),
        ("SEQ(a:A, b:B, NOT c:C) ON s WITHIN 10ms REPORT EXISTS", "match", 10),
        ("AND(a:A, NOT c:C, b:B) ON s WITHIN 10ms", "match", 4),
        ("SEQ(a:A, SEQ(b:B, NOT c:C)) ON s WITHIN 10ms", "match", 14),
        ("SEQ(a:A, b:B, d:D) ON TIMEOUT ON s WITHIN 10ms", "timeout", 10),
    ],
)
def test_what_waits_is_reported_when_time_is_past_its_bound_and_not_before(text: str, kind: str, bound: int) -> None:
    (pattern,) = parse(f"PATTERN p {text}")
    assert isinstance(pattern, EventPattern)
    quiet = Pass(pattern)
    assert not quiet.push_lines(b'{"ts":0,"type":"A","id":"a"}\n{"ts":4,"type":"B","id":"b"}\n')
    assert not quiet.pass_time(bound)
    assert [report[:2] for report in quiet.pass_time(bound + 1)] == [(kind, bound)]
    assert not quiet.pass_time(bound + 50)
    assert not quiet.push_lines(b'{"ts":99,"type":"D","id":"d"}\n')
    assert not quiet.found(quiet.matcher.finish())


@given(event_patterns(PATTERNS), event_streams(STREAM), st.randoms(use_true_random=False))
def test_time_between_events_reports_what_the_oracle_does(
    pattern: EventPattern, records: tuple[Event, ...], chance: random.Random
) -> None:
    quiet, oracle = Pass(pattern), EventOracle(pattern)

    def emitted(reports: Iterable[Emitted]) -> Reports:
        return Counter((each.kind, each.detected_at, each.count, *quiet.shown(each.kind, each.events)) for each in reports)

    for record, after in zip(
        records, [*(each.ts for each in records[1:]), records[-1].ts + 20] if records else [], strict=True
    ):
        assert quiet.push(record) == emitted(oracle.push(record))
        for watermark in sorted(chance.randint(record.ts, after) for _ in range(chance.randint(0, 2))):
            assert quiet.pass_time(watermark) == emitted(oracle.advance(watermark))
    assert quiet.found(quiet.matcher.finish()) == emitted(oracle.finish())
