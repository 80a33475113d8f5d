"""The Python interface as its users hold it: words as options, records one by one, threads, tables of matches."""

from __future__ import annotations

import builtins
import dataclasses
import io
import pickle
import threading
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import graphtide
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphtide import (
    Concurrency,
    Duration,
    Edge,
    InvalidPatternError,
    Limits,
    MatchList,
    MatchOptions,
    Session,
    Storage,
    StreamWarning,
    TimeUnit,
    UnreadableStreamError,
)
from graphtide_core.ids import EdgeId, VertexId
from graphtide_core.plans import SjTreeStrategy
from graphtide_core.time import EventTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 10"
LOOP = "PATTERN loop MATCH (a)-[x:pays]->(a) ON payments WINDOW 10"


def pays(ts: object, source: str, target: str, **more: object) -> dict[str, object]:
    return {"ts": ts, "src": source, "dst": target, "label": "pays", **more}


RECORDS = [pays(1, "ann", "bob"), pays(2, "bob", "cem"), pays(3, "bob", "dan")]
Payment = namedtuple("Payment", ("ts", "src", "dst", "label"))


@dataclasses.dataclass
class Paid:
    ts: int
    src: str
    dst: str
    label: str


def ends(matches: object) -> list[str]:
    assert isinstance(matches, list)
    return [match.vertices["c"] for match in matches]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ({"storage": "ms-tree"}, MatchOptions(storage=Storage.MS_TREE)),
        ({"strategy": "path-lazy"}, MatchOptions(strategy=SjTreeStrategy.PATH_LAZY)),
        ({"time_unit": "s"}, MatchOptions(time_unit=TimeUnit.SECOND)),
        ({"lateness": "5s"}, MatchOptions(lateness=Duration(5, "s"))),
        ({"lateness": "5"}, MatchOptions(lateness=Duration(5))),
        ({"lateness": 5}, MatchOptions(lateness=Duration(5))),
        ({"lateness": timedelta(seconds=1, microseconds=5)}, MatchOptions(lateness=Duration(1_000_005, "us"))),
    ],
)
def test_words_stand_for_what_they_mean(words: dict[str, Any], meant: MatchOptions) -> None:
    options = MatchOptions(**words)
    assert options == meant
    assert hash(options) == hash(meant)
    assert dataclasses.replace(options, engine="timing").engine == "timing"
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"storage": "ms-tre"}, "there is no storage 'ms-tre': did you mean 'ms-tree'? one of independent, ms-tree, ms-dag"),
        ({"time_unit": "minutes"}, "there is no unit of time 'minutes': one of s, ms, us, ns"),
        ({"strategy": "Path-Lazy"}, "did you mean 'path-lazy'? one of single, single-lazy, path, path-lazy"),
        ({"engine": "timings"}, "there is no engine 'timings': did you mean 'timing'?"),
        ({"lateness": "soon"}, "'soon' is not a duration; write for example 500ms, 10m, or a number of ticks"),
        ({"lateness": "9" * 50}, "is longer than times can be apart"),
        ({"limits": Limits(policy="shedd")}, "there is no policy at a limit 'shedd': did you mean 'shed'?"),
        ({"concurrency": Concurrency(2, "coarse")}, "there is no locking 'coarse': one of fine, all"),
        ({"columns": {"time": "ts"}}, "there is no column of a record 'time': "),
    ],
)
def test_a_word_that_stands_for_nothing_is_refused_with_the_nearest_and_all(words: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - its text is looked at
        MatchOptions(**words)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"lateness": 1.5}, "a duration is a Duration, a timedelta, a text such as '5s', or a number of ticks, not a float"),
        ({"lateness": True}, "not a bool"),
        ({"time_unit": 1}, "a unit of time is a text, not a int"),
        ({"columns": ["ts"]}, "columns map names of a record"),
    ],
)
def test_a_value_of_another_type_is_refused(values: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as refused:
        MatchOptions(**values)
    assert said in str(refused.value)


def rename(record: dict[str, object]) -> dict[str, object]:
    names = {"ts": "time", "src": "from"}
    return {names.get(name, name): value for name, value in record.items()}


def test_columns_of_other_names_are_said_in_the_options(tmp_path: Path) -> None:
    options = MatchOptions(columns={"ts": "time", "src": "from"})
    records = [rename(each) for each in RECORDS]
    file = tmp_path / "p.csv"
    pd.DataFrame(records).to_csv(file, index=False)
    later = [rename(pays(datetime(2024, 1, 1, 0, 0, 0, ts, UTC), "ann", "bob")) for ts in (1000, 2000)]
    for source in (records, iter(records), pd.DataFrame(records), pl.DataFrame(records[::-1]), file):
        assert ends(list(graphtide.match(PATTERN, source, options))) == ["cem", "dan"]
    assert len(list(graphtide.match("PATTERN q MATCH (a)-[x:pays]->(b) ON s WINDOW 1s", later, options))) == 2
    assert "timing" in str(graphtide.explain(PATTERN, records, options))


def test_one_record_is_a_piece_by_itself() -> None:
    session = Session(PATTERN)
    found = [
        *session.push(RECORDS[0]),
        *session.push(Payment(2, "bob", "cem", "pays")),
        *session.push(Paid(3, "bob", "d", "pays")),
    ]
    found += session.push(Edge(EdgeId("e"), EventTime(4), VertexId("bob"), VertexId("eve"), "pays"))
    assert ends(found) == ["cem", "d", "eve"]
    assert ends(session.finish()) == []


async def later() -> Any:
    yield RECORDS[0]


def test_an_asynchronous_source_is_not_a_piece_of_a_session() -> None:
    with pytest.raises(TypeError, match=r"matches of an asynchronous one come by async for over match\(\) or run\(\)"):
        Session(PATTERN).push(later())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (7, "a int is not a stream of records: give a path, a table of pyarrow, pandas or polars, a record"),
        (None, "a NoneType is not a stream"),
        (b'{"ts":1}', "a bytes is not a stream"),
        (io.StringIO("ts,src"), "of a file give its path"),
    ],
)
def test_what_is_neither_record_nor_stream_is_refused_with_what_is_accepted(wrong: object, said: str) -> None:
    session = Session(PATTERN)
    for take in (session.push, session.run):
        with pytest.raises(TypeError) as refused:
            take(wrong)
        assert said in str(refused.value)
    assert ends(session.push(RECORDS)) == ["cem", "dan"], "the session continues"


@pytest.mark.parametrize("pattern", [b"PATTERN", 7, None, [], ["PATTERN p"], {"p"}])
def test_what_is_not_a_pattern_is_refused_at_the_call(pattern: Any) -> None:
    with pytest.raises(TypeError, match="a pattern is a text, a parsed pattern or a list of parsed patterns, not a"):
        graphtide.match(pattern, RECORDS)


@pytest.mark.parametrize("given", ["text", "parsed", "list"])
def test_a_streaming_graph_query_is_answered_however_it_is_given(given: str) -> None:
    text = "QUERY q near(x, y) <- pay+(x, y). ON s WINDOW(10)"
    (query,) = graphtide.parse(text)
    assert graphtide.parse(graphtide.print_pattern(query)) == (query,)
    pattern: Any = {"text": text, "parsed": query, "list": [query]}[given]
    record = {"ts": 1, "src": "a", "dst": "b", "label": "pay"}
    assert [each.query for each in graphtide.match(pattern, [record])] == ["q"]
    assert "path" in str(graphtide.explain(pattern))
    assert len(Session(pattern).push(record)) == 1


def test_errors_come_at_the_call_and_not_with_the_first_match(tmp_path: Path) -> None:
    calls: list[tuple[type[Exception], Callable[[], object]]] = [
        (InvalidPatternError, lambda: graphtide.match("PATTERN p MATCH (a)-[x]>(b)", RECORDS)),
        (UnreadableStreamError, lambda: graphtide.match(PATTERN, tmp_path / "none.csv")),
        (TypeError, lambda: graphtide.match(PATTERN, 7)),
    ]
    for error, call in calls:
        with pytest.raises(error):
            call()


def test_a_stream_that_is_never_iterated_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "p.csv"
    pd.DataFrame(RECORDS).to_csv(file, index=False)
    del file
    graphtide.match(PATTERN, tmp_path / "p.csv")  # a warning of an open file would be an error
    with graphtide.match(PATTERN, tmp_path / "p.csv") as matches:
        assert next(matches).vertices["c"] == "cem"
    assert list(matches) == []


def test_a_second_thread_is_refused_and_does_no_damage() -> None:
    session = Session(PATTERN)
    inside, go_on = threading.Event(), threading.Event()
    found: list[graphtide.Match] = []

    def slowly() -> Iterator[dict[str, object]]:
        yield RECORDS[0]
        inside.set()
        assert go_on.wait(60)
        yield RECORDS[1]

    worker = threading.Thread(target=lambda: found.extend(session.push(slowly())))
    worker.start()
    assert inside.wait(60)
    for call in (lambda: session.push(RECORDS), session.finish, session.take_dead_letters, session.close):
        with pytest.raises(RuntimeError, match="this session is in use: one thread may call it at a time"):
            call()
    go_on.set()
    worker.join(60)
    assert ends(found) == ["cem"]
    assert ends(session.push(RECORDS[2])) == ["dan"]


def test_matches_of_a_stream_are_one_threads_at_a_time() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[dict[str, object]]:
        yield from RECORDS[:2]
        inside.set()
        assert go_on.wait(60)
        yield RECORDS[2]

    matches = graphtide.match(PATTERN, slowly())
    found: list[graphtide.Match] = []
    worker = threading.Thread(target=lambda: found.extend(matches))
    worker.start()
    assert inside.wait(60)
    with pytest.raises(RuntimeError, match="in use"):
        next(matches)
    go_on.set()
    worker.join(60)
    assert ends(found) == ["cem", "dan"]


def test_a_session_is_closed_by_its_block_and_warns_of_what_it_held_back() -> None:
    with Session(PATTERN, MatchOptions(lateness=5)) as session:
        session.push(RECORDS)
        assert ends(session.finish()) == ["cem", "dan"]
    with pytest.raises(ValueError, match="this session is finished: another stream is another session's"):
        session.push(RECORDS)
    with (
        pytest.warns(StreamWarning, match=r"3 records were held back .*: call finish\(\) before"),
        Session(PATTERN, MatchOptions(lateness=5)) as session,
    ):
        session.push(RECORDS)
    with pytest.raises(ValueError, match="this session is closed"):
        session.finish()


def test_matches_are_hashable_and_equal_by_value() -> None:
    one, other = list(graphtide.match(PATTERN, RECORDS)), list(graphtide.match(PATTERN, RECORDS))
    assert one == other
    assert len({*one, *other}) == 2
    assert one[0] != one[1]


COLUMNS = [
    "match_id", "query", "version", "kind", "detected_at", "first_ts", "last_ts", "completeness",
    "edges.x", "edges.y", "vertices.a", "vertices.b", "vertices.c",
]  # fmt: skip


def test_matches_become_tables_of_three_libraries() -> None:
    patterns = f"{PATTERN}\n{LOOP}"
    records = [*RECORDS, pays(4, "dan", "dan")]
    matches = list(graphtide.match(patterns, records))
    table = graphtide.match(patterns, records).to_arrow()
    assert table.column_names == COLUMNS
    assert table.schema.field("detected_at").type == pa.timestamp("ms", "UTC")
    assert table.column("match_id").to_pylist() == [match.match_id for match in matches]
    assert table.column("query").to_pylist() == [match.query for match in matches]
    assert table.column("edges.y").to_pylist() == [match.edges.get("y") for match in matches]
    assert table.column("detected_at").cast(pa.int64()).to_pylist() == [match.detected_at for match in matches]
    assert any(value is None for value in table.column("vertices.c").to_pylist())
    frame = graphtide.match(patterns, records).to_pandas()
    assert list(frame["match_id"]) == [match.match_id for match in matches]
    assert frame["detected_at"][0] == pd.Timestamp(2, unit="ms", tz="UTC")
    polars = graphtide.match(patterns, records).to_polars()
    assert polars.columns == COLUMNS
    assert polars["vertices.a"].to_list() == [match.vertices["a"] for match in matches]


def test_what_is_left_of_an_iterator_is_the_table_and_pieces_of_a_session_fit_together() -> None:
    matches = graphtide.match(PATTERN, RECORDS)
    first = next(matches)
    assert matches.to_arrow().num_rows == 1
    assert matches.to_arrow().num_rows == 0
    session = Session(PATTERN, MatchOptions(time_unit="s"))
    pieces = [session.push(record).to_arrow() for record in RECORDS]
    assert [piece.num_rows for piece in pieces] == [0, 1, 1]
    whole = pa.concat_tables(pieces)
    assert whole.column_names == COLUMNS
    assert whole.schema.field("last_ts").type == pa.timestamp("s", "UTC")
    by_hand = MatchList([first, first])
    assert by_hand[:1].to_arrow().column_names == COLUMNS
    assert by_hand.to_arrow().column("edges.x").to_pylist() == ["0", "0"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("ts", [0, -1, 1_706_702_400, 2**62, -(2**63)])
def test_times_in_tables_are_those_of_the_stream_or_refused(unit: str, ts: int) -> None:
    def matches() -> graphtide.Matches:
        return graphtide.match(LOOP, [pays(ts, "ann", "ann")], MatchOptions(time_unit=unit))

    assert matches().to_arrow().column("last_ts").cast(pa.int64()).to_pylist() == [ts]
    frame = matches().to_pandas()
    if ts != -(2**63):  # what pandas takes for none
        assert list(frame["last_ts"].astype("int64")) == [ts]
    if unit == "s" and abs(ts) >= 2**62:
        with pytest.raises(ValueError, match="polars counts milliseconds"):
            matches().to_polars()
    else:
        ticks = ts * 1000 if unit == "s" else ts
        assert matches().to_polars()["last_ts"].to_physical().to_list() == [ticks]


def test_many_matches_are_one_table() -> None:
    records = [pays(ts, f"v{ts}", f"w{ts}") for ts in range(40_000)]
    table = graphtide.match("PATTERN q MATCH (a)-[x:pays]->(b) ON s WINDOW 10", records).to_arrow()
    assert table.num_rows == 40_000
    assert table.column("edges.x").to_pylist() == [str(ts) for ts in range(40_000)]


@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_a_missing_library_says_the_line_to_install(library: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> object:
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return importing(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for matches in (graphtide.match(PATTERN, RECORDS), MatchList()):
        with pytest.raises(ImportError, match=f"{library} is not installed: pip install {library}"):
            getattr(matches, method)()
