"""Who runs beside whom, and who reads what."""

from __future__ import annotations

from graphtide_core.ids import StreamName
from graphtide_planner.domain.likes import Likeness, Likes
from graphtide_planner.domain.passes import HostId, Passes, PassId
from graphtide_planner.domain.readers import Readers
from graphtide_query.estimates.crowd import Company
from graphtide_wire.control import LimitsForm
from graphtide_wire.reads_form import ReachForm, ReadsForm

HERE = PassId("s", HostId("matcher_timing", 0))
THERE = PassId("s", HostId("matcher_timing", 1))


def reads(*labels: str, stream: str = "s") -> ReadsForm:
    return ReadsForm((stream,), ReachForm("10"), labels or None, ())


def test_a_pattern_counts_in_its_own_company_once_wherever_it_is_looked_at() -> None:
    passes = Passes()
    for name, engine in (("p", "timing"), ("q", "timing"), ("r", "filtering")):
        passes.join(name, HERE, engine)
    assert passes.company("p", HERE, "timing") == Company(3, 2)
    assert passes.company("p", HERE, "filtering") == Company(3, 2)
    assert passes.company("new", HERE, "timing") == Company(4, 3)
    assert passes.company("p", THERE, "timing") == Company(1, 1)
    passes.leave("q")
    assert passes.company("p", HERE, "timing") == Company(2, 1)


def test_whoever_has_the_plan_of_another_is_looked_at_again_when_that_one_has_another_plan_or_is_gone() -> None:
    likes, like, host = Likes(), Likeness("form", LimitsForm()), HostId("matcher_timing", 0)
    for name in ("c", "b", "d", "a"):
        likes.add(name, like, host, "one plan", 7)
    assert likes.stirred() == set(), "a new first has the plan that the others have"
    likes.add("c", like, host, "another", 7)
    assert likes.stirred() == set(), "nobody follows it"
    likes.add("a", like, host, "another", 7)
    assert likes.stirred() == {"b", "c", "d"}
    assert likes.stirred() == set(), "each time once"
    likes.remove("a")
    assert likes.stirred() == {"b"}


def test_patterns_of_one_unit_are_one_to_others() -> None:
    passes = Passes()
    for name in ("p", "q", "r"):
        passes.join(name, HERE, "timing", "alike")
    passes.join("s", HERE, "timing")
    assert passes.company("s", HERE, "timing") == Company(2, 2)
    assert passes.company("p", HERE, "timing") == Company(2, 2)
    assert passes.company("new", HERE, "timing") == Company(3, 3)
    passes.leave("p")
    passes.leave("q")
    assert passes.company("s", HERE, "timing") == Company(2, 2)
    passes.leave("r")
    assert passes.company("s", HERE, "timing") == Company(1, 1)


def test_patterns_are_crowded_whenever_those_of_their_engine_are_twice_as_many() -> None:
    passes = Passes()
    passes.join("elsewhere", THERE, "timing")
    passes.join("other", HERE, "filtering")
    looks = []
    for number in range(100):
        passes.join(f"p{number}", HERE, "timing")
        looks.append(len(passes.crowded()))
    assert [(number + 1, look) for number, look in enumerate(looks) if look] == [(each, each) for each in (2, 4, 8, 16, 32, 64)]


def test_a_crowd_that_went_and_came_back_is_one_again() -> None:
    passes = Passes()
    for number in range(8):
        passes.join(f"p{number}", HERE, "timing")
    passes.crowded()
    for number in range(4):
        passes.leave(f"p{number}")
    assert passes.crowded() == set()
    for number in range(4):
        passes.join(f"p{number}", HERE, "timing")
    assert passes.crowded() == {f"p{number}" for number in range(8)}


def test_a_pattern_that_reads_every_label_reads_each() -> None:
    readers = Readers()
    readers.add("some", reads("tls", "dns"))
    readers.add("all", reads())
    readers.add("elsewhere", reads("tls", stream="t"))
    assert readers.of_labels("s", ["dns", "new"]) == {"some", "all"}
    assert readers.of_labels("s", ["new"]) == {"all"}
    assert readers.of_labels("s", []) == set()
    assert readers.of_stream("s") == {"some", "all"}


def test_a_pattern_that_reads_several_streams_reads_the_one_that_they_are_merged_to() -> None:
    readers = Readers()
    both = ReadsForm((StreamName("t"), StreamName("s")), ReachForm("10"), ("tls",), ())
    readers.add("both", both)
    assert [readers.of_stream(stream) for stream in ("s", "t", "s.t")] == [set(), set(), {"both"}]
    readers.remove("both", both)
    assert readers == Readers()


def test_a_pattern_that_is_removed_leaves_nothing() -> None:
    readers = Readers()
    readers.add("p", reads("tls", "dns"))
    readers.remove("p", reads("tls", "dns"))
    assert readers == Readers()
