"""Every topic has one name, made in one place."""

from __future__ import annotations

import pytest
from graphtide_core.colliding_topics import refuse_colliding
from graphtide_core.errors import CollidingTopicError, InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream, merge, merge_parts, name_part
from graphtide_wire.topics import Topics, check_ordered, check_stream
from hypothesis import given
from hypothesis import strategies as st

FLOWS = StreamName("flows")


def test_topics_say_what_they_hold() -> None:
    topics = Topics()
    assert topics.raw(FLOWS) == "graphtide.in.flows.v1"
    assert topics.ordered(FLOWS) == "graphtide.ordered.flows.v1"
    assert topics.dead_letters(FLOWS) == "graphtide.dlq.flows.v1"
    assert topics.matches == "graphtide.out.matches.v1"
    assert topics.patterns == "graphtide.control.patterns.v1"
    assert topics.plans == "graphtide.control.plans.v1"
    assert topics.statistics == "graphtide.control.statistics.v1"
    assert topics.status == "graphtide.control.status.v1"


def test_deployments_with_different_prefixes_do_not_meet() -> None:
    assert Topics("red").ordered(FLOWS) == "red.ordered.flows.v1"
    assert Topics("red").stream_of(Topics("blue").ordered(FLOWS)) is None


@pytest.mark.parametrize("name", ["flows", "0", "a_b-c", "x" * 100])
def test_a_stream_is_found_from_its_topics(name: str) -> None:
    topics = Topics()
    specs = topics.of_stream(StreamName(name))
    assert [topics.stream_of(spec.name) for spec in specs] == [name] * 3


@pytest.mark.parametrize("topic", ["graphtide.out.matches.v1", "graphtide.in.flows.v2", "graphtide.in.Flows.v1", "flows", ""])
def test_other_topics_are_of_no_stream(topic: str) -> None:
    assert Topics().stream_of(topic) is None


@pytest.mark.parametrize("name", ["", "Flows", "-a", "_a", "a.b", "a b", "ä", "a\n", "x" * 101])
def test_names_that_would_not_fit_a_topic_are_refused(name: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a name of a stream"):
        check_stream(name)
    with pytest.raises(InvalidQueryError):
        Topics().raw(StreamName(name))


@pytest.mark.parametrize("prefix", ["", "a.b", "-a", "x" * 51])
def test_a_prefix_that_would_not_fit_a_topic_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidQueryError, match="prefix"):
        Topics(prefix)


def test_only_the_raw_topic_has_several_partitions() -> None:
    specs = Topics().of_stream(FLOWS, partitions=8, retention_ms=1000)
    assert [(spec.partitions, spec.compacted, spec.retention_ms) for spec in specs] == [
        (8, False, 1000),
        (1, False, 1000),
        (1, False, 1000),
    ]


def test_what_controls_is_compacted_and_matches_and_verdicts_are_not() -> None:
    matches, dead_alerts, *control, verdicts, requests, answers = Topics().of_deployment(partitions=3, retention_ms=1000)
    assert (matches.partitions, matches.compacted, matches.retention_ms) == (3, False, 1000)
    assert (dead_alerts.partitions, dead_alerts.compacted, dead_alerts.retention_ms) == (1, False, 1000)
    for spec in (verdicts, requests, answers):
        assert (spec.partitions, spec.compacted, spec.retention_ms) == (1, False, 3_600_000)
    assert {(spec.partitions, spec.compacted, spec.retention_ms) for spec in control} == {(1, True, None)}


def test_a_merged_stream_has_topics_of_ordered_edges_and_of_dead_letters_alone() -> None:
    topics, name = Topics(), StreamName("flows.logins")
    specs = topics.of_stream(name, retention_ms=1000)
    assert [spec.name for spec in specs] == ["graphtide.ordered.-.flows.logins.v1", "graphtide.dlq.-.flows.logins.v1"]
    assert [(spec.partitions, spec.retention_ms) for spec in specs] == [(1, 1000), (1, 1000)]
    assert [topics.stream_of(spec.name) for spec in specs] == [name, name]
    assert topics.stream_of("graphtide.in.flows.logins.v1") is None
    with pytest.raises(InvalidQueryError, match="not a name of a stream"):
        topics.raw(name)


@pytest.mark.parametrize("name", ["flows", "flows.logins", "a.b.v1"])
def test_streams_that_are_read_may_be_merged_ones(name: str) -> None:
    check_ordered(name)
    assert Topics().stream_of(Topics().ordered(StreamName(name))) == name


@pytest.mark.parametrize("name", ["b.a", "a.a", "a..b", ".a", "a.", "a.B"])
def test_a_merged_stream_is_called_by_each_name_once_in_their_order(name: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a name of a"):
        check_ordered(name)
    assert Topics().stream_of(f"graphtide.ordered.{name}.v1") is None


def test_more_streams_are_not_merged_than_the_name_of_a_topic_has_room_for() -> None:
    most = 249 - len("graphtide.ordered.-..v1")
    names = sorted("abcdefghij"[number] * 20 for number in range(10))
    fits = StreamName(".".join(names) + "k" * (most - 209))
    assert len(Topics().ordered(fits)) == 249
    with pytest.raises(InvalidQueryError, match="more than 249 characters: merge fewer streams"):
        Topics().ordered(StreamName(f"{fits}k"))


def test_edges_can_be_sent_to_streams_that_have_a_raw_topic() -> None:
    topics = Topics()
    there = [spec.name for name in ("flows", "a.b") for spec in topics.of_stream(StreamName(name))]
    assert topics.accepting([*there, topics.ordered(StreamName("view")), topics.matches, "other"]) == {"flows"}


NAMES = st.from_regex("[ab0][ab0_-]{0,4}", fullmatch=True).map(StreamName)
PARTS = st.builds(
    lambda name, number, more: name_part(name, number, number + more), NAMES, st.integers(0, 12), st.integers(1, 9)
)
MERGED = st.lists(NAMES | st.builds(merge_parts, NAMES, st.integers(1, 20)), min_size=1, max_size=3).map(merge)
STREAMS = st.sets(PARTS | MERGED, max_size=40)


@given(STREAMS)
def test_streams_of_all_names_have_topics_that_kafka_distinguishes_and_are_found_from_them(streams: set[StreamName]) -> None:
    topics = Topics()
    specs = {spec.name: stream for stream in streams for spec in topics.of_stream(stream)}
    refuse_colliding([*specs, *(spec.name for spec in topics.of_deployment())], ())
    letters = f"{topics.prefix}.dlq."
    assert {name: topics.stream_of(name) for name in specs} == {
        name: logical_stream(stream) if name.startswith(letters) else stream for name, stream in specs.items()
    }


def test_a_part_has_raw_records_and_an_order_of_its_own_and_the_dead_letters_of_the_whole() -> None:
    topics, part = Topics(), name_part(StreamName("my_flows"), 3, 8)
    names = [spec.name for spec in topics.of_stream(part, partitions=2)]
    assert names == ["graphtide.in.-.my-uflows-p3-8.v1", "graphtide.ordered.-.my-uflows-p3-8.v1", "graphtide.dlq.my_flows.v1"]
    assert [topics.stream_of(name) for name in names] == [part, part, "my_flows"]
    assert topics.accepting([*names, topics.raw(StreamName("my_flows"))]) == {"my_flows"}, "no edges are sent to a part"
    assert topics.ordered(StreamName("my_flows#8.other")) == "graphtide.ordered.-.my-uflows-p8.other.v1"


@pytest.mark.parametrize("name", ["a#8/8", "a#3/8.b", "a#0", "a#1025", "a#3/1025", "a#", "a#x", "a#1/2#3/4", "a#8#8", "b.a#8"])
def test_a_part_has_a_number_below_that_of_the_parts(name: str) -> None:
    with pytest.raises(InvalidQueryError, match="not a name of a"):
        check_ordered(name)


def test_a_merged_stream_is_called_in_topics_so_that_no_single_one_can_be() -> None:
    topics = Topics()
    assert topics.ordered(StreamName("a.b_c")) == "graphtide.ordered.-.a.b-uc.v1"
    assert topics.ordered(StreamName("a-b.c")) == "graphtide.ordered.-.a--b.c.v1"
    assert topics.ordered(StreamName("a_b")) == "graphtide.ordered.a_b.v1"
    for foreign in ("-.a", "-", "-.a-.b", "-.a-x.b", "-.b.a", "-.a_b.c", "-.a.-", "-.a-"):
        assert topics.stream_of(f"graphtide.ordered.{foreign}.v1") is None


def test_a_merged_stream_goes_on_in_the_topics_of_its_old_name_where_they_are_there() -> None:
    there = {"graphtide.ordered.a.b.v1"}
    topics, stream = Topics(exists=there.__contains__), StreamName("a.b")
    old = ["graphtide.ordered.a.b.v1", "graphtide.dlq.a.b.v1"]
    assert [spec.name for spec in topics.of_stream(stream)] == old
    assert [topics.stream_of(topic) for topic in old] == [stream, stream]
    assert topics.ordered(StreamName("a.c")) == "graphtide.ordered.-.a.c.v1"
    there.clear()
    assert topics.ordered(stream) == "graphtide.ordered.-.a.b.v1"


def test_a_topic_that_differs_from_another_by_dots_and_underscores_alone_is_refused_with_both_names() -> None:
    refuse_colliding(["g.a_b", "g.a-b"], ["g.a_b", "other"])
    with pytest.raises(CollidingTopicError, match=r"g\.a_b cannot be made beside g\.a\.b: Kafka treats dots"):
        refuse_colliding(["g.a_b"], ["g.a.b"])
    with pytest.raises(CollidingTopicError):
        refuse_colliding(["g.a_b", "g_a.b"], ())
