"""Records that are taken together leave as they do one by one, for any mix of sources and with any late edges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from graphtide_core.ports.log import Record
from graphtide_ordering.ordering import Ordering
from graphtide_ordering.raw_groups import group_records
from graphtide_ordering.stream_sequencer import StreamSequencer
from hypothesis import example, given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable


class Sent(NamedTuple):
    """A run of records of one sender, by the times of the edges of each."""

    sender: int
    records: list[list[int]]


TIMES = st.integers(0, 30)
RUNS = st.builds(
    Sent, st.integers(0, 2), st.lists(st.one_of(st.lists(TIMES, min_size=1, max_size=1), st.lists(TIMES, max_size=3)))
)
RISING = st.builds(Sent, st.integers(0, 2), st.lists(TIMES).map(lambda times: [[time] for time in sorted(times)]))


class Out(NamedTuple):
    """What a sequencer let out, and how it stands after each run."""

    edges: list[tuple[int, str]]
    letters: list[tuple[int, str, bytes, int | None]]
    stands: list[tuple[int, int | None]]


def records_of(runs: Iterable[Sent]) -> list[list[Record]]:
    """Senders 0 and 1 have a partition each; sender 2 names itself, and shares the first."""
    offsets = [0, 0]
    found: list[list[Record]] = []
    for sender, times in runs:
        partition = sender % 2
        headers = (("graphtide-producer", b"p"),) if sender == 2 else ()
        found.append([])
        for each in times:
            edges = (
                {"ts": ts, "src": "a", "dst": "b", "label": "x", "id": f"{partition}.{offsets[partition]}.{ts}"} for ts in each
            )
            value = b"\n".join(json.dumps(edge).encode() for edge in edges)
            found[-1].append(Record("raw", partition, offsets[partition], 0, None, value, headers))
            offsets[partition] += 1
    return found


def sequence_runs(runs: list[list[Record]], ordering: Ordering, unheard: set[int], *, together: bool) -> Out:
    sequencer = StreamSequencer(ordering)
    for partition in (0, 1):
        sequencer.restore(partition, None)
    sequencer.open(unheard, 0.0)
    out = Out([], [], [])
    for now, run in enumerate(runs):
        for part in [run] if together else [[record] for record in run]:
            for group in group_records(part):
                sequencer.take(group, float(now))
        sequencer.look_around(float(now), at_end=now % 4 == 3)
        output = sequencer.take_output()
        out.edges.extend((edge["ts"], edge["id"]) for batch in output.batches for edge in batch.to_records())
        out.letters.extend(
            (each.piece.record.offset, each.refused.reason, each.refused.raw, each.refused.line) for each in output.rejected
        )
        out.stands.append((sequencer.pending, sequencer.watermark))
    return out


@given(
    st.lists(st.one_of(RUNS, RISING), max_size=8),
    st.integers(0, 8),
    st.sampled_from([2, 5, 1000]),
    st.sampled_from([2.0, 100.0]),
    st.sets(st.integers(0, 1)),
)
@example([Sent(0, [[20]]), Sent(1, [[0], [4], [3], [8]]), Sent(0, [[7]])], 0, 1000, 100.0, {0, 1})
@example([Sent(0, [[20]]), Sent(1, [[0], [4], [3], [8]]), Sent(0, [[7]])], 1, 1000, 100.0, {0, 1})
def test_records_taken_together_leave_as_they_do_one_by_one(
    runs: list[Sent], lateness: int, most_pending: int, idle: float, unheard: set[int]
) -> None:
    records = records_of(runs)
    ordering = Ordering(lateness, idle, most_pending)
    alone, together = (sequence_runs(records, ordering, unheard, together=each) for each in (False, True))
    assert together == alone
