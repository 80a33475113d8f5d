"""Chunks of an iterable that may be slow: item by item while it is, in thousands while it is not.

The iterating thread waits in the source itself. So a source that is bound to a thread works, and errors and interrupts come out
where they should. Nothing has to be ended with the iteration. The price is that a source cannot be overtaken: what is in an
unfinished chunk when it pauses waits for its next item. So after a pause a chunk is one item for `_SINGLES` items, and from
then on at most a `_SHARE`th of what came since. A burst up to that length is handed on to its last item, a longer one except
for such a part.

Cost: a look at the clock an item, and a chunk's overhead, some 10 microseconds, for each of the first items after a pause.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SINGLES: Final = 512
_SHARE: Final = 64
_LONGEST_SECONDS: Final = 0.005
"""How long a chunk is filled at most, as long as items come."""

_PAUSE_SECONDS: Final = 0.05
"""What an item must be behind that for its source to have paused: more than a busy machine takes away at a time."""

_Item = TypeVar("_Item")


def whole(items: Iterable[_Item], most: int) -> Iterator[list[_Item]]:
    """Yield the items in chunks of `most`, the last less. Raises as `read_in_chunks`."""
    rest = iter(items)
    while True:
        chunk: list[_Item] = []
        try:
            # What came before an error stays in the list.
            chunk.extend(islice(rest, most))
        except Exception:
            if chunk:
                yield chunk
            raise
        if not chunk:
            return
        yield chunk


def read_in_chunks(items: Iterable[_Item], most: int, clock: Callable[[], float] = time.perf_counter) -> Iterator[list[_Item]]:
    """Yield the items in chunks of at most `most`. What iterating raises is raised, after the items before it were yielded."""
    came, room = 0, 1
    chunk: list[_Item] = []
    left, due = room, clock() + _LONGEST_SECONDS
    try:
        for item in items:
            chunk.append(item)
            left -= 1
            if left and clock() < due:
                continue
            came = 0 if clock() > due + _PAUSE_SECONDS else came + len(chunk)
            room = min(most, max(1, (came - _SINGLES) // _SHARE))
            yield chunk
            chunk = []
            left, due = room, clock() + _LONGEST_SECONDS
    except Exception:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
