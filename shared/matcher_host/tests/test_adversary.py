"""A pattern whose search would never end is limited and says so; the patterns beside it keep exact matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_core.ids import StreamName
from graphtide_core.ports.log import Message, TopicPartition
from graphtide_log.checkpoints.memory import MemoryCheckpoints
from graphtide_log.memory import MemoryLog
from graphtide_matcher_host.host import HostSettings, MatcherHost
from graphtide_matcher_host.records import HostRecords
from graphtide_query import parse_subgraphs
from graphtide_query.families import FAMILIES
from graphtide_query.planner import plan
from graphtide_testing.adversary import ADVERSARY, HEAVY, edges, ordinary
from graphtide_testing.clock import ManualClock
from graphtide_testing.found import keys_in_json_lines
from graphtide_testing.oracles.subgraph import SubgraphOracle
from graphtide_testing.ordered_records import ordered_records
from graphtide_wire import control
from graphtide_wire.plans import form_of
from graphtide_wire.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_core.edge import Edge
    from graphtide_testing.found import Found

TOPICS = Topics("test")
STREAM = StreamName("s")
EDGES = list(edges(0, 3_000))


class Shard:
    """A host of one shard over a log in memory, on a clock that the test moves."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.log.admin().ensure([*TOPICS.of_deployment(), *TOPICS.of_stream(STREAM)])
        self.clock = ManualClock()
        self._writer = self.log.writer()
        records = HostRecords(TOPICS, "matcher_timing", 0, self.clock)
        settings = HostSettings(linger_seconds=0.0, most_records=1, counts_seconds=0.0)
        self.host = MatcherHost(self.log, MemoryCheckpoints(), records, self.clock, settings)

    def register(self, text: str, engine: str, limits: control.LimitsForm | None = None) -> None:
        (pattern,) = parse_subgraphs(text)
        record = control.PlanRecord(
            name=pattern.name,
            version=1,
            epoch=1,
            engine=engine,
            service="matcher_timing",
            shard=0,
            plan=form_of(plan(pattern, engine).physical),
            pattern=control.PatternText(text),
            desired="running",
            limits=limits or control.LimitsForm(),
        )
        self._writer.write([Message(TOPICS.plans, pattern.name.encode(), control.encode_plan(record))])

    def run(self, stream: Sequence[Edge], seconds: float) -> None:
        """Let the host take a stream that takes so long to come."""
        messages = list(ordered_records(TOPICS.ordered(STREAM), stream))
        self.host.open()
        self._writer.write(messages)
        for _ in messages:
            self.clock.sleep(seconds / len(messages))
            self.host.step()
        self.host.step()

    def matches(self) -> list[Found]:
        return keys_in_json_lines(b"\n".join(self._values(TOPICS.matches)))

    def said(self, name: str) -> control.StatusRecord:
        """Return what was said last of a pattern."""
        said = [control.decode_status(value) for value in self._values(TOPICS.status)]
        return [each for each in said if each.name == name][-1]

    def _values(self, topic: str) -> list[bytes]:
        reader = self.log.reader(None)
        reader.assign({TopicPartition(topic, 0): 0})
        return [record.value or b"" for record in reader.poll(0, 10**6)]


def find_expected(texts: Sequence[str]) -> list[Found]:
    """Return what is to be found of patterns; the oracle is slow, so each has the edges of its own labels alone."""
    found: list[Found] = []
    for text in texts:
        (pattern,) = parse_subgraphs(text)
        labels = {part.label for part in pattern.edges}
        found += SubgraphOracle(pattern).run([each for each in EDGES if each.label in labels])
    return sorted(found)


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
@pytest.mark.parametrize("policy", ["fail", "pause", "shed"])
def test_an_adversary_is_limited_and_the_others_stay_exact(engine: str, policy: str) -> None:
    shard = Shard()
    for text in ordinary():
        shard.register(text, engine)
    shard.register(ADVERSARY, engine, control.LimitsForm(policy=policy))  # type: ignore[arg-type]  # one of the three
    # Undisturbed the search takes longer than anyone lives.
    shard.run(EDGES, seconds=3.0)
    assert shard.matches() == find_expected(ordinary())
    said = shard.said("adversary")
    assert said.state == {"fail": "failed", "pause": "paused", "shed": "running"}[policy]
    assert said.reason is not None
    assert "limit of" in said.reason
    assert all(shard.said(f"p{number}").state == "running" for number in range(20))
    assert not any(shard.said(f"p{number}").reason for number in range(20))


@pytest.mark.parametrize("engine", FAMILIES["isomorphism"].names)
def test_a_heavy_pattern_that_ends_is_not_limited(engine: str) -> None:
    """It does more than ten times the work of the others, and stays far below what it may."""
    shard = Shard()
    texts = [*ordinary(), HEAVY]
    for text in texts:
        shard.register(text, engine)
    shard.run(EDGES, seconds=3.0)
    assert shard.matches() == find_expected(texts)
    assert (shard.said("heavy").state, shard.said("heavy").reason) == ("running", None)
    assert work_of(shard, "heavy") > 10 * max(work_of(shard, f"p{number}") for number in range(20))


def work_of(shard: Shard, name: str) -> int:
    work = shard.said(name).work
    assert isinstance(work, int)
    return work
