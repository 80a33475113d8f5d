"""One warning a run says in Python what was lost, however records come and however the run ends."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import graphtide
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphtide import (
    LimitExceededError,
    MatchOptions,
    PatternWarning,
    RejectedRecordsError,
    Session,
    StreamWarning,
    UnreadableStreamError,
)
from graphtide import session as session_module

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 100"
Record = dict[str, object]


def edge(ts: object, source: str = "a", target: str = "b", **more: object) -> Record:
    return {"ts": ts, "src": source, "dst": target, "label": "pays", **more}


def records() -> list[Record]:
    """Return two good records, a bad one, a duplicate and a late one."""
    return [
        edge(5, id="one"),
        edge(6, "b", "c", id="two"),
        edge("soon", id="three"),
        edge(7, id="one"),
        edge(2, id="four"),
    ]


async def arriving() -> AsyncIterator[Record]:
    for each in records():
        await asyncio.sleep(0)
        yield each


def write(folder: Path) -> Path:
    path = folder / "s.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records()))
    return path


def by_session(_: Path) -> int:
    session = Session(PATTERN)
    found = [match for record in records() for match in session.push(record)]
    return len(found + session.finish())


def by_closed_session(_: Path) -> int:
    with Session(PATTERN) as session:
        return len([match for record in records() for match in session.push(record)])


def by_loop(_: Path) -> int:
    async def watch() -> int:
        return len([found async for found in graphtide.match(PATTERN, arriving())])

    return asyncio.run(watch())


DOORS: dict[str, Callable[[Path], int]] = {
    "list": lambda _: len(list(graphtide.match(PATTERN, records()))),
    "generator": lambda _: len(list(graphtide.match(PATTERN, iter(records())))),
    "file": lambda folder: len(list(graphtide.match(PATTERN, write(folder), MatchOptions(lateness=0)))),
    "table": lambda _: len(graphtide.match(PATTERN, records()).to_arrow()),
    "session": by_session,
    "closed session": by_closed_session,
    "event loop": by_loop,
}


@pytest.mark.parametrize("door", DOORS)
def test_one_warning_has_all_that_was_lost(door: str, tmp_path: Path) -> None:
    with pytest.warns(StreamWarning) as caught:
        assert DOORS[door](tmp_path) == 1
    (warning,) = caught
    assert warning.filename == __file__
    lines = str(warning.message).splitlines()
    assert lines[0].startswith("2 of 5 records were rejected, the first at ")
    assert lines[1].startswith("1 of them: ts … is not an integer, the first at ")
    assert "1 of them: late, the first at " in lines[2]
    assert lines[2].endswith("; MatchOptions(lateness='5ms') puts them back in order")
    assert lines[3].startswith("1 of 5 records was dropped as a duplicate, the first is record 4 (id 'one')")
    assert lines[3].endswith("MatchOptions(columns={'id': ''}) reads the stream without it")
    assert len(lines) == 4


def test_a_stream_is_read_without_its_ids() -> None:
    options = MatchOptions(columns={"id": ""})
    again = [edge(1, id="x"), edge(2, "b", "c", id="x")]
    (found,) = graphtide.match(PATTERN, again, options)
    assert dict(found.edges) == {"x": "0", "y": "1"}
    (found,) = graphtide.match(PATTERN, pd.DataFrame(again), options)
    assert dict(found.edges) == {"x": "0", "y": "1"}
    edges = [graphtide.Edge("x", 1, "a", "b", "pays"), graphtide.Edge("x", 2, "b", "c", "pays")]  # type: ignore[arg-type]
    (found,) = graphtide.match(PATTERN, edges, options)
    assert dict(found.edges) == {"x": "0", "y": "1"}


def test_a_thousand_bad_records_of_a_generator_are_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_EARLY_SECONDS", 3_600.0)
    with pytest.warns(StreamWarning, match="2,000 of 2,000 records were rejected, the first at record 1") as caught:
        assert list(graphtide.match(PATTERN, (edge(1.5) for _ in range(2_000)))) == []
    assert len(caught) == 1


@pytest.mark.parametrize("bound", ["_EARLY_SECONDS", "_EARLY_RECORDS"])
def test_a_stream_without_a_usable_record_is_warned_of_once_before_its_end(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_EARLY_SECONDS", 3_600.0)
    monkeypatch.setattr(session_module, bound, 0)
    session = Session(PATTERN)
    with pytest.warns(StreamWarning, match="1 of 1 record was rejected"):
        session.push(edge(1.5))
    for _ in range(20):
        session.push(edge(1.5))
    with pytest.warns(StreamWarning, match="21 of 21 records were rejected"):
        session.finish()


def test_a_session_that_is_pushed_to_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_EARLY_SECONDS", 3_600.0)
    session = Session(PATTERN)
    for _ in range(815):
        session.push(edge(1.5))
    with pytest.warns(StreamWarning, match="815 of 815") as caught:
        session.finish()
    session.close()
    assert len(caught) == 1


def test_matches_that_are_closed_before_their_end_warn_of_what_was_lost_so_far() -> None:
    matches = graphtide.match(PATTERN, itertools.chain(records(), (edge(ts, "b", "c") for ts in itertools.count(8))))
    next(matches)
    next(matches)
    with pytest.warns(StreamWarning, match="of 5 records|of [0-9]+ records were rejected") as caught:
        matches.close()
    assert len(caught) == 1
    matches.close()


def test_an_error_that_ends_the_run_comes_after_the_warning() -> None:
    options = MatchOptions(engine="timing", limit_partial_matches=1)
    fans = [edge("soon"), *(edge(ts, f"a{ts}") for ts in range(1, 9))]
    with pytest.warns(StreamWarning, match="1 of 9 records was rejected"), pytest.raises(LimitExceededError):
        list(graphtide.match(PATTERN, fans, options))


@pytest.mark.parametrize("policy", ["shed", "pause"])
def test_what_a_limit_gave_up_is_in_the_warning(policy: str) -> None:
    options = MatchOptions(engine="timing", limit_partial_matches=5, on_limit=policy)
    fans = [*(edge(ts, f"a{ts}") for ts in range(1, 9)), edge(9, "b", "c")]
    with pytest.warns(StreamWarning, match="its limit of 5 partial matches.*MatchOptions.limit_partial_matches=…. raises it"):
        list(graphtide.match(PATTERN, fans, options))


def test_limits_of_many_patterns_are_a_few_lines() -> None:
    patterns = "\n".join(PATTERN.replace("PATTERN p", f"PATTERN p{number}") for number in range(30))
    options = MatchOptions(engine="timing", limit_partial_matches=5, on_limit="shed")
    fans = [edge(ts, f"a{ts}") for ts in range(1, 9)]
    with pytest.warns(StreamWarning, match="pattern 'p0' gave up 3 partial matches or searches") as caught:
        list(graphtide.match(patterns, fans, options))
    lines = str(caught[0].message).splitlines()
    assert (len(lines), lines[-1]) == (21, "10 more patterns reached a limit; the summary has them")


def test_letters_that_were_taken_are_left_out_and_duplicates_stay() -> None:
    matches = graphtide.match(PATTERN, records())
    next(matches)
    assert len(matches.take_dead_letters()) == 2
    with pytest.warns(StreamWarning, match="^1 of 5 records was dropped as a duplicate") as caught:
        assert list(matches) == []
    assert len(caught) == 1


def test_letters_that_were_taken_count_in_the_summary_and_for_the_share() -> None:
    session = Session(PATTERN, MatchOptions(max_rejected="50%"))
    for number in range(40):
        session.push([edge(number, kind=number), {**edge(f"{number}"), f"c{number}": 1, "src": None}])
        assert len(session.take_dead_letters()) == 1
    assert (session.summary().dead_letters, session.summary().outcome) == (40, "open")
    assert sum(each.records for each in session.summary().rejected) == 40
    with pytest.raises(RejectedRecordsError, match="40 of 80 records were rejected, 50 %"):
        session.finish()


@pytest.mark.parametrize("share", ["40%", "0", "39%"])
def test_too_many_rejected_records_are_an_error_where_it_is_asked(share: str) -> None:
    matches = graphtide.match(PATTERN, records(), MatchOptions(max_rejected=share))
    assert next(matches).vertices == {"a": "a", "b": "b", "c": "c"}
    said = "2 of 5 records were rejected, 40 %; max_rejected="
    with pytest.warns(StreamWarning), pytest.raises(RejectedRecordsError, match=said) as error:
        next(matches)
    assert (error.value.rejected, error.value.records) == (2, 5)


@pytest.mark.parametrize("share", ["40.1%", "100%", None])
def test_as_many_as_may_be_are_no_error(share: str | None) -> None:
    with pytest.warns(StreamWarning):
        assert len(list(graphtide.match(PATTERN, records(), MatchOptions(max_rejected=share)))) == 1


def test_a_session_refuses_at_its_end_and_gives_the_matches() -> None:
    session = Session(PATTERN, MatchOptions(max_rejected="1%", lateness=10))
    session.push([edge(1), edge(2, "b", "c"), edge("soon")])
    with pytest.warns(StreamWarning), pytest.raises(RejectedRecordsError) as error:
        session.finish()
    assert [dict(each.edges) for each in error.value.matches] == [{"x": "0", "y": "1"}]  # type: ignore[attr-defined]


def test_the_summary_is_that_of_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "p.gtp").write_text(PATTERN)
    line = [sys.executable, "-m", "graphtide", "match", "p.gtp", "s.jsonl", "--lateness", "0", "--summary", "summary.json"]
    subprocess.run(line, cwd=tmp_path, check=False, capture_output=True, timeout=60)
    written = json.loads((tmp_path / "summary.json").read_text())
    matches = graphtide.match(PATTERN, path, MatchOptions(lateness=0))
    with pytest.warns(StreamWarning):
        list(matches)
    found = json.loads(matches.summary().to_json())
    times = {"seconds", "records_per_second", "plan_seconds", "match_seconds"}
    assert {name: value for name, value in found.items() if name not in times} == {
        name: value for name, value in written.items() if name not in times
    }
    assert (found["read"], found["records"], found["dead_letters"], found["late"], found["duplicates"]) == (5, 2, 2, 1, 1)


def test_explaining_a_run_is_one_warning() -> None:
    with pytest.warns(StreamWarning) as caught:
        graphtide.explain(PATTERN, analyze=records())
    assert len(caught) == 1
    assert "dropped as a duplicate" in str(caught[0].message)


def test_records_that_were_held_back_are_in_the_same_warning() -> None:
    with pytest.warns(StreamWarning) as caught, Session(PATTERN, MatchOptions(lateness=10)) as session:
        session.push([edge(1), edge("soon"), edge(2)])
    (warning,) = caught
    first, last = str(warning.message).splitlines()
    assert first.startswith("1 of 3 records was rejected")
    assert last.startswith("2 records were held back to be put in order, and not matched: call finish()")


@pytest.mark.parametrize("table", [pl.DataFrame, pd.DataFrame, pa.Table.from_pylist])
def test_a_column_that_a_table_does_not_have_is_an_error(table: Callable[[list[Record]], object]) -> None:
    given = table([edge(1, uid="x")])
    with pytest.raises(UnreadableStreamError, match=r"no column 'uidd' \(for id\); the columns are .*; did you mean 'uid'\?"):
        list(graphtide.match(PATTERN, given, MatchOptions(columns={"id": "uidd"})))


def test_a_key_that_no_record_has_is_in_the_warning() -> None:
    with pytest.warns(StreamWarning, match="^no record had 'uidd', which should be its 'id'$"):
        list(graphtide.match(PATTERN, [edge(1, uid="x")], MatchOptions(columns={"id": "uidd"})))


def test_a_record_too_far_ahead_is_rejected_with_the_option_that_sets_it() -> None:
    with pytest.warns(StreamWarning, match="MatchOptions.max_ahead=…. sets how far ahead a record may be"):
        list(graphtide.match(PATTERN, [edge(1), edge(2**50)], MatchOptions(max_ahead="1h")))


def test_nothing_lost_is_nothing_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PatternWarning)
        matches = graphtide.match(PATTERN, [edge(1), edge(2, "b", "c")], MatchOptions(max_rejected="0"))
        assert len(list(matches)) == 1
        assert matches.summary().rejected == ()


def test_polars_is_read_and_given_without_pandas() -> None:
    program = """
import sys
import graphtide, polars
rows = [{"ts": ts, "src": s, "dst": d, "label": "pays", "amount": 2.5} for ts, s, d in ((2, "b", "c"), (1, "a", "b"))]
matches = graphtide.match("PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 9 RETURN x.amount AS n",
    polars.DataFrame(rows))
frame = matches.to_polars()
assert frame["fields.n"].to_list() == [2.5], frame
assert "pandas" not in sys.modules, "pandas is loaded"
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("table", [pl.DataFrame, pd.DataFrame, pa.Table.from_pylist])
def test_tables_of_three_libraries_lose_alike(table: Callable[[list[Record]], object]) -> None:
    rows = [edge(5, id="one"), edge(6, "b", "c", id="two"), edge(7, id="one"), edge(2, id="four")]
    with pytest.warns(StreamWarning, match="^1 of 4 records was dropped as a duplicate, the first is record 3"):
        assert len(list(graphtide.match(PATTERN, table(rows)))) == 2


def test_a_source_that_breaks_reports_what_was_lost_before() -> None:
    def broken() -> Iterator[Record]:
        yield from records()
        raise ConnectionError

    with pytest.warns(StreamWarning, match="2 of 5"), pytest.raises(ConnectionError):
        list(graphtide.match(PATTERN, broken()))
