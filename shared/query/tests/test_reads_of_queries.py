"""What a streaming graph query reads: its lookback is that of its edges, closed, in any unit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import GraphQuery
from graphtide_core.ids import StreamName
from graphtide_core.reads import Reads
from graphtide_core.time import TimeUnit
from graphtide_query import parse
from graphtide_query.families.algebra.family import ALGEBRA
from graphtide_query.reads import match_lookback, reads_of
from graphtide_wire import reads_form


def ask(text: str) -> GraphQuery:
    (query,) = parse(text)
    assert isinstance(query, GraphQuery)
    return query


def over(*windows: str) -> GraphQuery:
    inputs = " ".join(f"INPUT i{number} = ()-[:a{number}]->() ON s {window}" for number, window in enumerate(windows))
    atoms = ", ".join(f"i{number}(x{number}, x{number + 1})" for number in range(len(windows)))
    return ask(f"QUERY q {inputs} near(x0, x{len(windows)}) <- {atoms}.")


@pytest.mark.parametrize("unit", list(TimeUnit))
@pytest.mark.parametrize(
    "windows",
    [
        ("WINDOW(7)",),
        ("WINDOW(1500us)",),
        ("WINDOW(3s) SLIDE(1s)", "WINDOW(2500ms)"),
        ("WINDOW(NOW)",),
        ("WINDOW(NOW)", "WINDOW(9)"),
    ],
)
def test_a_written_lookback_says_how_far_back_its_engine_looks(windows: tuple[str, ...], unit: TimeUnit) -> None:
    query = over(*windows)
    reads = reads_of(query)
    assert reads.lookback.ticks(unit) == match_lookback(query, unit) == query.lookback(unit)
    assert reads_form.reads_of(reads_form.form_of(reads)) == reads


def test_labels_are_those_of_inputs_and_all_where_one_reads_all() -> None:
    query = ask("QUERY q near(x, y) <- b+(x, z), a(z, y). ON s WINDOW(5)")
    assert reads_of(query) == Reads((StreamName("s"),), reads_of(query).lookback, ("a", "b"), ())
    every = ask("QUERY q INPUT any = ()-[e]->() ON s WINDOW(5) WHERE e.n > 1 near(x, y) <- any+(x, y).")
    assert (reads_of(every).labels, reads_of(every).attributes) == (None, ("n",))


@pytest.mark.parametrize("windows", [("WINDOW(5)", "WINDOW(5m)"), ("WINDOW(5m)", "WINDOW(NOW)", "WINDOW(5)")])
def test_windows_of_time_and_of_ticks_are_refused_where_the_second_kind_stands(windows: tuple[str, ...]) -> None:
    with pytest.raises(InvalidPatternError, match="windows and slides of time and of ticks"):
        reads_of(over(*windows))


def test_parts_are_equal_where_the_same_edges_are_read_whatever_uses_them() -> None:
    one = ask("QUERY one near(x, y) <- a+(x, y). ON s WINDOW(5)")
    other = ask("QUERY two far(x, y, z) <- a(x, y), a(y, z). ON s WINDOW(9m) SLIDE(1m)")
    assert ALGEBRA.canonical_parts(one) == ALGEBRA.canonical_parts(other)
    narrower = replace(one, inputs=(replace(one.inputs[0], source_label="A"),))
    assert ALGEBRA.canonical_parts(one) != ALGEBRA.canonical_parts(narrower)
    assert len(ALGEBRA.canonical_parts(ask("QUERY q near(x, y) <- a+(x, z), b(z, y). ON s WINDOW(5)"))) == 2
