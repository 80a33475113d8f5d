"""`async for` over matches: of sources of both kinds, cancelled, ended early, wrong."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide import MatchOptions, Session, StreamWarning
from graphtide_testing.waiting import wait_until
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

PATTERN = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 10"
ONE = "PATTERN q MATCH (a)-[x:pays]->(b) ON payments WINDOW 10"


def pays(ts: object, source: str, target: str) -> dict[str, object]:
    return {"ts": ts, "src": source, "dst": target, "label": "pays"}


RECORDS = [pays(1, "ann", "bob"), pays(2, "bob", "cem"), pays(3, "bob", "dan")]


async def slowly(records: list[Any], seconds: float = 0.0) -> AsyncIterator[Any]:
    for record in records:
        await asyncio.sleep(seconds)
        yield record


async def at_once(records: list[Any]) -> AsyncIterator[Any]:
    for record in records:
        yield record


def ends(matches: list[graphtide.Match]) -> list[str]:
    return [str(match.vertices["c"]) for match in matches]


@pytest.mark.parametrize("source", [slowly, at_once, list, iter])
def test_matches_come_by_async_for_from_sources_of_both_kinds(source: Any) -> None:
    async def run() -> list[graphtide.Match]:
        return [match async for match in graphtide.match(PATTERN, source(RECORDS))]

    assert ends(asyncio.run(run())) == ["cem", "dan"]


def test_a_file_too_and_the_rest_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("ts,src,dst,label\n1,ann,bob,pays\n2,bob,cem,pays\n3,bob,dan,pays\n")

    async def run() -> None:
        matches = graphtide.match(PATTERN, path)
        assert (await anext(matches)).vertices["c"] == "cem"
        rest = await matches.collect()
        assert rest.to_arrow().column("vertices.c").to_pylist() == ["dan"]
        assert [match async for match in matches] == []

    asyncio.run(run())


@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.sampled_from("abc")), max_size=1500),
    st.sets(st.integers(0, 1500), max_size=3),
)
def test_the_matches_are_those_of_a_loop(steps: list[tuple[int, str, str]], pauses: set[int]) -> None:
    ts, records = 0, []
    for step, left, right in steps:
        ts += step
        records.append(pays(ts, left, right))

    async def source() -> AsyncIterator[dict[str, object]]:
        for number, record in enumerate(records):
            if number in pauses:
                await asyncio.sleep(0.001)
            yield record

    async def run() -> list[graphtide.Match]:
        return [match async for match in graphtide.match(PATTERN, source())]

    assert asyncio.run(run()) == list(graphtide.match(PATTERN, records))


def test_an_event_loop_continues_while_a_source_blocks() -> None:
    go_on = threading.Event()

    def blocking() -> Iterator[dict[str, object]]:
        yield from RECORDS[:2]
        assert go_on.wait(60)
        yield RECORDS[2]

    async def run() -> list[str]:
        matches = graphtide.match(PATTERN, blocking())
        first = await anext(matches)
        waiting = asyncio.ensure_future(anext(matches))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        with pytest.raises(RuntimeError, match="one task may wait"):
            await anext(matches)
        go_on.set()
        return ends([first, await waiting])

    assert asyncio.run(run()) == ["cem", "dan"]


@pytest.mark.parametrize("kind", ["asynchronous", "blocking"])
def test_a_wait_that_is_cancelled_loses_nothing(kind: str) -> None:
    async def run() -> list[str]:
        released = asyncio.Event()
        blocked = threading.Event()

        async def asynchronous() -> AsyncIterator[dict[str, object]]:
            yield RECORDS[0]
            await released.wait()
            for record in RECORDS[1:]:
                yield record

        def blocking() -> Iterator[dict[str, object]]:
            yield RECORDS[0]
            assert blocked.wait(60)
            yield from RECORDS[1:]

        matches = graphtide.match(PATTERN, asynchronous() if kind == "asynchronous" else blocking())
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(matches), 0.02)
        released.set()
        blocked.set()
        return [str(match.vertices["c"]) async for match in matches]

    assert asyncio.run(run()) == ["cem", "dan"]


def test_loops_of_both_kinds_may_share_a_source() -> None:
    go_on = threading.Event()

    def source() -> Iterator[dict[str, object]]:
        yield from RECORDS[:2]
        assert go_on.wait(60)
        yield RECORDS[2]
        yield pays(4, "bob", "eve")

    async def run() -> list[str]:
        matches = graphtide.match(PATTERN, source())
        found = [next(matches)]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(matches), 0.02)
        go_on.set()

        def is_taken() -> bool:
            try:
                found.append(next(matches))
            except RuntimeError:  # a cancelled step is under way
                return False
            return True

        wait_until(is_taken, 60)
        found += [match async for match in matches]
        return ends(found)

    assert asyncio.run(run()) == ["cem", "dan", "eve"]


def test_a_source_is_read_ahead_only_so_far_and_not_on_after_the_end() -> None:
    async def run() -> int:
        read = 0

        async def endless() -> AsyncIterator[dict[str, object]]:
            nonlocal read
            while True:
                read += 1
                yield pays(read, f"v{read}", f"w{read}")

        async with graphtide.match(ONE, endless()) as matches:
            found = 0
            async for _ in matches:
                found += 1
                if found == 2_000:
                    break
            await asyncio.sleep(0.05)
            before = read
            await asyncio.sleep(0.05)
            assert read == before
            assert read < 2_000 + 4_096 + 1_024
        await asyncio.sleep(0.01)
        assert [each for each in asyncio.all_tasks() if each is not asyncio.current_task()] == []
        assert [match async for match in matches] == []
        await matches.aclose()
        return read

    assert asyncio.run(run()) > 2_000


def of_matches() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "graphtide-matches"]


def test_matches_that_are_forgotten_leave_no_thread_and_no_task() -> None:
    async def run() -> None:
        matches = graphtide.match(PATTERN, slowly([*RECORDS, *RECORDS * 1000], 0.001))
        await anext(matches)
        reference = weakref.ref(matches)
        del matches
        gc.collect()
        assert reference() is None
        for _ in range(500):
            await asyncio.sleep(0.01)
            if not of_matches() and len(asyncio.all_tasks()) == 1:
                return
        pytest.fail("a task still runs")

    asyncio.run(run())


def test_at_the_end_of_a_stream_its_thread_ends() -> None:
    async def run() -> None:
        assert len([match async for match in graphtide.match(PATTERN, slowly(RECORDS))]) == 2

    asyncio.run(run())
    for thread in of_matches():
        thread.join(60)
    assert of_matches() == []


def test_what_a_source_raises_is_raised_after_what_came_before() -> None:
    async def broken() -> AsyncIterator[dict[str, object]]:
        yield RECORDS[0]
        yield RECORDS[1]
        message = "no more"
        raise ConnectionError(message)

    async def run() -> list[str]:
        matches = graphtide.match(PATTERN, broken())
        found = [await anext(matches)]
        with pytest.raises(ConnectionError, match="no more"):
            await anext(matches)
        return ends(found)

    assert asyncio.run(run()) == ["cem"]


def test_rejected_records_are_reported_to_the_caller_that_waits() -> None:
    async def run() -> None:
        matches = graphtide.match(PATTERN, slowly([*RECORDS, pays("soon", "a", "b")]))
        assert [str(match.vertices["c"]) async for match in matches] == ["cem", "dan"]

    with pytest.warns(StreamWarning, match="1 of 4 records was rejected, the first at record 4") as emitted:
        asyncio.run(run())
    assert emitted[0].filename == __file__

    async def taken() -> None:
        matches = graphtide.match(PATTERN, slowly([RECORDS[0], pays("soon", "a", "b"), *RECORDS[1:]]))
        assert (await anext(matches)).vertices["c"] == "cem"
        assert [letter.line for letter in matches.take_dead_letters()] == [2]
        assert len(await matches.collect()) == 1

    asyncio.run(taken())


def test_an_asynchronous_source_is_not_iterated_otherwise() -> None:
    matches = graphtide.match(PATTERN, slowly(RECORDS))
    for take in (lambda: next(matches), matches.to_arrow, lambda: list(matches)):
        with pytest.raises(TypeError, match="iterate over its matches by async for"):
            take()
    matches.close()

    async def run() -> list[str]:
        async with Session(PATTERN, MatchOptions(lateness=1)).run(at_once(RECORDS)) as found:
            return [str(match.vertices["c"]) async for match in found]

    assert asyncio.run(run()) == ["cem", "dan"]


def test_a_source_belongs_to_one_event_loop() -> None:
    matches = graphtide.match(PATTERN, at_once(RECORDS))
    asyncio.run(anext_of(matches))
    with pytest.raises(RuntimeError, match="belongs to one event loop"):
        asyncio.run(until_the_end(matches))


async def anext_of(matches: graphtide.Matches) -> None:
    await anext(matches)


async def until_the_end(matches: graphtide.Matches) -> None:
    while True:
        await anext(matches)
