"""Chunks of a source that may be slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide.readers.pacing import read_in_chunks, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

MOST = 4096


class Source:
    """Gives numbers, each after a while of its own clock, and knows how many were asked for."""

    def __init__(self, pauses: Iterable[float]) -> None:
        self.now = 0.0
        self.given = 0
        self._pauses = pauses

    def clock(self) -> float:
        return self.now

    def __iter__(self) -> Iterator[int]:
        for pause in self._pauses:
            self.now += pause
            self.given += 1
            yield self.given

    def chunks(self) -> Iterator[list[int]]:
        return read_in_chunks(self, MOST, self.clock)


@pytest.mark.parametrize("pause", [0.1, 0.006, 60.0])
def test_a_slow_source_is_handed_on_item_by_item_and_before_the_next_is_asked_for(pause: float) -> None:
    source = Source([pause] * 2_000)
    for number, chunk in enumerate(source.chunks(), start=1):
        assert (chunk, source.given) == ([number], number)


def test_a_burst_after_a_pause_is_handed_on_to_its_last_item() -> None:
    source = Source(([1.0] + [0.0] * 499) * 5)
    assert [len(chunk) for chunk in source.chunks()] == [1] * 2_500


def test_a_fast_source_comes_in_chunks_that_leave_little_behind() -> None:
    count = 1_000_000
    source = Source([0.000001] * count)
    came = chunks = 0
    for chunk in source.chunks():
        assert len(chunk) <= max(1, came // 64)
        came += len(chunk)
        chunks += 1
    assert came == count
    assert chunks < 2_000


def test_nothing_that_comes_waits_longer_than_a_moment_for_what_comes_after() -> None:
    # Fast first, so that chunks are large; then an item every 3 milliseconds.
    source = Source([0.000001] * 500_000 + [0.003] * 100)
    waited = [source.given - chunk[0] for chunk in source.chunks() if chunk[0] > 500_000]
    assert max(waited) <= 2


def test_a_source_that_pauses_is_handed_on_item_by_item_again() -> None:
    source = Source([0.000001] * 500_000 + [0.1] + [0.000001] * 400)
    late = [chunk for chunk in source.chunks() if chunk[-1] > 500_001]
    assert late == [[number] for number in range(500_002, 500_402)]


@pytest.mark.parametrize("chunks", [lambda items: whole(items, 100), lambda items: read_in_chunks(items, 100)])
def test_what_came_before_an_error_is_handed_on(chunks: Callable[[Iterable[int]], Iterator[list[int]]]) -> None:
    def broken() -> Iterator[int]:
        yield from range(2_030)
        message = "the source broke"
        raise ConnectionError(message)

    seen: list[int] = []
    with pytest.raises(ConnectionError, match="the source broke"):
        seen.extend(item for chunk in chunks(broken()) for item in chunk)
    assert seen == list(range(2_030))


def test_chunks_of_what_is_there_are_whole() -> None:
    assert [len(chunk) for chunk in whole(range(1_000), 300)] == [300, 300, 300, 100]
    assert list(whole([], 300)) == []
    assert list(read_in_chunks([], 300)) == []
