"""Python takes every option of `graphtide match`, and an error names the wrong one."""

from __future__ import annotations

import inspect
from datetime import timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide import Limits, MatchOptions, StreamWarning
from graphtide.cli.match import match as match_command
from graphtide_core.formats import CSV
from graphtide_core.plans import SjTreeStrategy, Storage
from graphtide_core.time import Duration, TimeUnit
from graphtide_native.spec import Concurrency

if TYPE_CHECKING:
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 100"

RENAMED = {
    "unit": "time_unit", "column": "columns", "definition": "stream", "type": "types", "columns": "header",
    "no_header": "has_header", "null": "nulls",
}  # fmt: skip
"""Options that Python calls otherwise."""

ELSEWHERE = {
    "pattern_file": "the first argument of match",
    "stream_file": "the second argument of match",
    "input": "Inputs",
    "output": "to_arrow, to_pandas, to_polars",
    "edges": "Matches.edges",
    "at": "Matches.valid_at",
    "preset": "Stream.preset",
    "summary": "Matches.summary",
    "dead_letters": "Matches.take_dead_letters",
    "explain": "explain(analyze=…)",
}
"""What is no option of how to match: what to match, and what becomes of the results."""


def test_every_option_of_the_command_line_is_one_of_python() -> None:
    known = inspect.signature(MatchOptions).parameters
    asked = [name for name in inspect.signature(match_command).parameters if name not in ELSEWHERE]
    assert [name for name in asked if RENAMED.get(name, name) not in known] == []
    assert len(asked) > 15


def test_what_is_elsewhere_is_there() -> None:
    for name, place in ELSEWHERE.items():
        if place.startswith("Matches."):
            assert hasattr(graphtide.Matches, place.removeprefix("Matches.")), name
    assert {*ELSEWHERE} <= {*inspect.signature(match_command).parameters}


def test_words_of_the_command_line_mean_what_they_mean_there() -> None:
    options = MatchOptions(
        format="csv",
        delimiter=";",
        max_ahead="5m",
        max_rejected="2.5%",
        limit_partial_matches=1,
        limit_state_bytes=2,
        limit_work=3,
        on_limit="shed",
        threads=2,
        locking="all",
        schema={"attributes": {"zip": "string", "n": "number"}},
        types={"n": "integer"},
    )
    assert (options.format, options.record_options.delimiter, options.max_ahead) == (CSV, ";", Duration(5, "m"))
    assert options.max_rejected == Fraction(25, 1000)
    assert options.limits == Limits(1, 2, "shed", 3)
    assert options.concurrency == Concurrency(2, "all")
    assert {name: kind.value for name, kind in options.declared.items()} == {"zip": "string", "n": "integer"}
    assert MatchOptions(max_ahead=timedelta(seconds=5)).max_ahead == Duration(5_000_000, "us")


@pytest.mark.parametrize(
    ("engine", "plan", "member", "value"),
    [
        ("timing", "ms-tree", "storage", Storage.MS_TREE),
        ("sj-tree", "path-lazy", "strategy", SjTreeStrategy.PATH_LAZY),
        ("aggregation", "rw", "builder", "rw"),
    ],
)
def test_a_plan_is_a_variant_of_its_engine(engine: str, plan: str, member: str, value: object) -> None:
    assert getattr(MatchOptions(engine, plan=plan), member) == value
    with pytest.raises(ValueError, match=f"plan '{plan}' is a variant of the engine '{engine}': give engine='{engine}'"):
        MatchOptions(plan=plan)


def test_a_limit_by_itself_comes_before_that_of_the_limits() -> None:
    assert MatchOptions(limits=Limits(5, policy="pause"), limit_work=7).limits == Limits(5, None, "pause", 7)


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "tming"},
        {"engine": 3},
        {"storage": "ms"},
        {"strategy": "lazy"},
        {"time_unit": "min"},
        {"lateness": "soon"},
        {"lateness": 1.5},
        {"limits": 3},
        {"concurrency": 2},
        {"statistics": {}},
        {"max_pending": "many"},
        {"adaptation": 3},
        {"columns": 3},
        {"columns": {"when": "ts"}},
        {"types": "string"},
        {"builder": "rv"},
        {"format": "xml"},
        {"format": 3},
        {"delimiter": '"'},
        {"record_options": ";"},
        {"header": 3},
        {"header": ["ts", ""]},
        {"has_header": "no"},
        {"comment": 3},
        {"comment": "#\n"},
        {"comment": ""},
        {"label": ""},
        {"nulls": [3]},
        {"decimal": ";"},
        {"unnest": "a..b"},
        {"label": 3},
        {"time_format": "day"},
        {"time_format": 3},
        {"time_zone": "Atlantis"},
        {"delimiter": 3},
        {"max_ahead": "soon"},
        {"max_ahead": 1.5},
        {"max_rejected": "5"},
        {"max_rejected": 0.05},
        {"stream": 3},
        {"duplicates": "maybe"},
        {"duplicates": 3},
        {"sort": "no"},
        {"plan": "ms-tre"},
        {"plan": 3},
        {"schema": {"zip": "string"}},
        {"schema": 3},
        {"limit_partial_matches": -1},
        {"limit_state_bytes": "many"},
        {"limit_work": 0.5},
        {"on_limit": "stop"},
        {"threads": "two"},
        {"threads": 0},
        {"locking": "none"},
        {"delimeter": ";"},
    ],
    ids=str,
)
def test_a_wrong_option_is_named(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    said = name.removeprefix("limit_") if name.startswith("limit_") else name.removesuffix("s")
    with pytest.raises((ValueError, TypeError), match=said):
        MatchOptions(**wrong)


def test_every_option_is_tried() -> None:
    marks: Any = test_a_wrong_option_is_named
    (tried,) = (mark.args[1] for mark in marks.pytestmark if mark.name == "parametrize")
    names = {name for each in tried for name in each}
    assert {*inspect.signature(MatchOptions).parameters} - names == {"adapt", "statistics_from"}


def test_a_file_is_read_as_the_options_say(tmp_path: Path) -> None:
    path = tmp_path / "payments.txt"
    path.write_text("when;src;dst;label;amount\n1;a;b;pays;07\n2;b;c;pays;7\n99999999999999999;c;d;pays;7\n")
    (tmp_path / "schema.json").write_text('{"attributes": {"amount": "string"}}')
    with pytest.warns(StreamWarning, match="in the statistics that plans are made on"):
        options = MatchOptions(
            format="csv",
            delimiter=";",
            columns={"ts": "when"},
            time_unit=TimeUnit.SECOND,
            max_ahead="1h",
            schema=tmp_path / "schema.json",
            statistics_from=path,
        )
    assert options.statistics is not None
    assert options.statistics.edges == 2
    pattern = PATTERN.replace("ORDER", "WHERE x.amount = '07' ORDER")
    with pytest.warns(StreamWarning, match="too far ahead|is in the future"):
        assert len(list(graphtide.match(pattern, path, options))) == 1


def test_the_stream_of_statistics_may_be_written_otherwise(tmp_path: Path) -> None:
    other = tmp_path / "sample.jsonl"
    other.write_text('{"ts": 1, "src": "a", "dst": "b", "label": "pays"}\n')
    options = MatchOptions(format="csv", delimiter=";", statistics_from=other)
    assert options.statistics is not None
    assert options.statistics.edges == 1


def test_results_that_are_valid_at_a_time(tmp_path: Path) -> None:
    query = "CONSTRUCT (x)-[:near]->(y) MATCH (x)-/:pays+/->(y) ON s WINDOW(10)"
    stream = [{"ts": ts, "src": s, "dst": d, "label": "pays"} for ts, s, d in ((1, "a", "b"), (5, "b", "c"), (30, "c", "d"))]
    found = graphtide.match(query, stream).valid_at(12)
    assert [tuple(each.vertices.values()) for each in found] == [("b", "c")]
    assert len(graphtide.match(query, stream).valid_at("1970-01-01T00:00:00.006Z")) == 3
    with pytest.raises(ValueError, match="only streaming graph queries"):
        graphtide.match(PATTERN, stream).valid_at(3)
