"""Dry runs side by side: so many at once, one a caller, each in a thread that nothing else waits for.

The bound holds for threads, not for requests. So no more dry runs work than may, in any case, and a process that is asked to
end does not wait for one. Once its sender has gone, or waited long enough, a dry run learns that it is unwanted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import Future
from http import HTTPStatus
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_serving.http import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

_T = TypeVar("_T")
_BETWEEN_LOOKS: Final = 0.5


class DryRuns:
    """Runs work that may take long; `run` is for one event loop."""

    def __init__(self, most: int, most_a_caller: int, seconds: float) -> None:
        """Let so many work at once, and so many of one caller; an answer waits for so many seconds."""
        self._most = most
        self._most_a_caller = most_a_caller
        self._seconds = seconds
        self._lock = Lock()
        self._working: Counter[str] = Counter()

    async def run(self, caller: str, request: Request, work: Callable[[Callable[[], bool]], _T]) -> _T:
        """Return what the work gives; it takes a function that says whether it is unwanted.

        Raises:
            ProblemError: too many work already, or it takes too long; and what the work raises.
        """
        self._take(caller)
        unwanted, done = Event(), Future[_T]()
        done.set_running_or_notify_cancel()

        def run() -> None:
            try:
                result = work(unwanted.is_set)
            except BaseException as error:  # It is raised where it is waited for.
                self._give_back(caller)
                done.set_exception(error)
            else:
                self._give_back(caller)
                done.set_result(result)

        Thread(target=run, name="dry run", daemon=True).start()
        try:
            return await self._waited_for(asyncio.wrap_future(done), request)
        finally:
            unwanted.set()

    async def _waited_for(self, done: asyncio.Future[_T], request: Request) -> _T:
        looks = max(1, round(self._seconds / _BETWEEN_LOOKS))
        for _ in range(looks):
            if (await asyncio.wait({done}, timeout=_BETWEEN_LOOKS))[0]:
                return done.result()
            if await request.is_disconnected():
                break
        detail = f"the dry run does not end within {self._seconds:g} seconds; try fewer edges, or a shorter window"
        headers = {"Retry-After": str(round(self._seconds))}
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "simulation-too-long", detail, headers=headers)

    def _take(self, caller: str) -> None:
        with self._lock:
            if self._working.total() >= self._most:
                raise _too_many(self._most, "in all")
            if self._working[caller] >= self._most_a_caller:
                raise _too_many(self._most_a_caller, "of yours")
            self._working[caller] += 1

    def _give_back(self, caller: str) -> None:
        with self._lock:
            self._working[caller] -= 1
            if not self._working[caller]:
                del self._working[caller]


def _too_many(most: int, whose: str) -> ProblemError:
    detail = f"dry runs at work {whose}: {most}, and more may not be"
    return ProblemError(HTTPStatus.TOO_MANY_REQUESTS, "too-many-simulations", detail, headers={"Retry-After": "5"})
