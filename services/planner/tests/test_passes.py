"""Who runs beside whom, and who reads what."""

from __future__ import annotations

from graphtide_core.ids import StreamName
from graphtide_planner.domain.passes import HostId, Passes, PassId
from graphtide_planner.domain.readers import Readers
from graphtide_planner.domain.shared_units import Likeness, SharedUnits
from graphtide_query.estimates.colocation import EngineLoad
from graphtide_wire.control import LimitsForm
from graphtide_wire.reads_form import LookbackForm, ReadsForm

HERE = PassId("s", HostId("matcher_timing", 0))
THERE = PassId("s", HostId("matcher_timing", 1))


def reads(*labels: str, stream: str = "s") -> ReadsForm:
    return ReadsForm((stream,), LookbackForm("10"), labels or None, ())


def test_a_pattern_counts_once_in_its_own_load_wherever_it_is_looked_at() -> None:
    passes = Passes()
    for name, engine in (("p", "timing"), ("q", "timing"), ("r", "filtering")):
        passes.join(name, HERE, engine)
    assert passes.engine_load("p", HERE, "timing") == EngineLoad(3, 2)
    assert passes.engine_load("p", HERE, "filtering") == EngineLoad(3, 2)
    assert passes.engine_load("new", HERE, "timing") == EngineLoad(4, 3)
    assert passes.engine_load("p", THERE, "timing") == EngineLoad(1, 1)
    passes.leave("q")
    assert passes.engine_load("p", HERE, "timing") == EngineLoad(2, 1)


def test_followers_of_a_plan_are_looked_at_again_when_its_owner_has_another_plan_or_is_gone() -> None:
    shared_units, like, host = SharedUnits(), Likeness("form", "s", LimitsForm()), HostId("matcher_timing", 0)
    for name in ("c", "b", "d", "a"):
        shared_units.add(name, like, host, "one plan", 7)
    assert shared_units.changed_groups() == set(), "a new first has the plan that the others have"
    shared_units.add("c", like, host, "another", 7)
    assert shared_units.changed_groups() == set(), "no other follows it"
    shared_units.add("a", like, host, "another", 7)
    assert shared_units.changed_groups() == {"b", "c", "d"}
    assert shared_units.changed_groups() == set(), "each time once"
    shared_units.remove("a")
    assert shared_units.changed_groups() == {"b"}


def test_patterns_of_one_unit_are_one_to_others() -> None:
    passes = Passes()
    for name in ("p", "q", "r"):
        passes.join(name, HERE, "timing", "alike")
    passes.join("s", HERE, "timing")
    assert passes.engine_load("s", HERE, "timing") == EngineLoad(2, 2)
    assert passes.engine_load("p", HERE, "timing") == EngineLoad(2, 2)
    assert passes.engine_load("new", HERE, "timing") == EngineLoad(3, 3)
    passes.leave("p")
    passes.leave("q")
    assert passes.engine_load("s", HERE, "timing") == EngineLoad(2, 2)
    passes.leave("r")
    assert passes.engine_load("s", HERE, "timing") == EngineLoad(1, 1)


def test_patterns_are_looked_at_again_whenever_those_of_their_engine_are_twice_as_many() -> None:
    passes = Passes()
    passes.join("elsewhere", THERE, "timing")
    passes.join("other", HERE, "filtering")
    looks = []
    for number in range(100):
        passes.join(f"p{number}", HERE, "timing")
        looks.append(len(passes.regrown()))
    assert [(number + 1, look) for number, look in enumerate(looks) if look] == [(each, each) for each in (2, 4, 8, 16, 32, 64)]


def test_a_load_that_went_and_came_back_counts_again() -> None:
    passes = Passes()
    for number in range(8):
        passes.join(f"p{number}", HERE, "timing")
    passes.regrown()
    for number in range(4):
        passes.leave(f"p{number}")
    assert passes.regrown() == set()
    for number in range(4):
        passes.join(f"p{number}", HERE, "timing")
    assert passes.regrown() == {f"p{number}" for number in range(8)}


def test_a_pattern_that_reads_every_label_reads_each() -> None:
    readers = Readers()
    readers.add("some", "s", reads("tls", "dns"))
    readers.add("all", "s", reads())
    readers.add("elsewhere", "t", reads("tls", stream="t"))
    assert readers.of_labels("s", ["dns", "new"]) == {"some", "all"}
    assert readers.of_labels("s", ["new"]) == {"all"}
    assert readers.of_labels("s", []) == set()
    assert readers.of_stream("s") == {"some", "all"}


def test_a_pattern_that_reads_several_streams_reads_the_one_that_they_are_merged_to() -> None:
    readers = Readers()
    both = ReadsForm((StreamName("t"), StreamName("s")), LookbackForm("10"), ("tls",), ())
    readers.add("both", "s.t", both)
    assert [readers.of_stream(stream) for stream in ("s", "t", "s.t")] == [set(), set(), {"both"}]
    readers.remove("both", "s.t", both)
    assert readers == Readers()


def test_a_pattern_that_is_removed_leaves_nothing() -> None:
    readers = Readers()
    readers.add("p", "s", reads("tls", "dns"))
    readers.remove("p", "s", reads("tls", "dns"))
    assert readers == Readers()
