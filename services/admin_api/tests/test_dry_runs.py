"""Dry runs take a bounded part of a service: others are answered in any case."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.entrypoints.dry_runs import DryRuns
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_serving.access.settings import KeySettings
from graphtide_serving.http import ProblemError
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from starlette.requests import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import Message

    from conftest import Deployment


class Work:
    """Work that continues until it is released, or learns that it is unwanted."""

    def __init__(self, *, listens: bool = True) -> None:
        self.released = threading.Event()
        self.begun = 0
        self.ended = 0
        self._listens = listens

    def __call__(self, is_unwanted: Callable[[], bool]) -> str:
        self.begun += 1
        while not self.released.wait(0.01) and not (self._listens and is_unwanted()):
            pass
        self.ended += 1
        return "found"


def request(*, is_there: bool = True) -> Request:
    """A request whose sender waits, or has gone."""

    async def receive() -> Message:
        if is_there:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http"}, receive)


def outcome(error: BaseException | str) -> tuple[int, str] | str:
    return (int(error.status), error.code) if isinstance(error, ProblemError) else str(error)


def test_so_many_work_side_by_side_and_one_of_a_caller() -> None:
    work = Work()

    async def story() -> list[tuple[int, str] | str]:
        dry_runs = DryRuns(2, 1, 60.0)
        begun = [asyncio.ensure_future(dry_runs.run(caller, request(), work)) for caller in ("ann", "bob")]
        await asyncio.to_thread(wait_until, lambda: work.begun == 2, 30, pause=0.01)
        others = [dry_runs.run(caller, request(), work) for caller in ("ann", "cid")]
        found: list[BaseException | str] = [*await asyncio.gather(*others, return_exceptions=True)]
        work.released.set()
        found += await asyncio.gather(*begun)
        found.append(await dry_runs.run("cid", request(), work))
        return [outcome(each) for each in found]

    refused = (429, "too-many-simulations")
    assert asyncio.run(story()) == [refused, refused, "found", "found", "found"]


def test_one_of_a_caller_leaves_room_for_another_caller() -> None:
    work = Work()

    async def story() -> tuple[int, str] | str:
        dry_runs = DryRuns(2, 1, 60.0)
        first = asyncio.ensure_future(dry_runs.run("ann", request(), work))
        await asyncio.to_thread(wait_until, lambda: work.begun == 1, 30, pause=0.01)
        with pytest.raises(ProblemError, match="of yours"):
            await dry_runs.run("ann", request(), work)
        second = asyncio.ensure_future(dry_runs.run("bob", request(), work))
        await asyncio.to_thread(wait_until, lambda: work.begun == 2, 30, pause=0.01)
        work.released.set()
        return outcome((await asyncio.gather(first, second))[1])

    assert asyncio.run(story()) == "found"


@pytest.mark.parametrize("is_there", [True, False])
def test_no_caller_waits_for_ever_and_one_that_has_gone_ends_the_work(is_there: bool) -> None:
    work = Work()

    async def story() -> int:
        with pytest.raises(ProblemError, match="does not end"):
            await DryRuns(2, 1, 1.0 if is_there else 3600.0).run("ann", request(is_there=is_there), work)
        await asyncio.to_thread(wait_until, lambda: work.ended == 1, 30, pause=0.01)
        return work.begun

    assert asyncio.run(story()) == 1


def test_work_that_does_not_listen_keeps_its_place_until_it_ends() -> None:
    work = Work(listens=False)

    async def story() -> list[tuple[int, str] | str]:
        dry_runs = DryRuns(1, 1, 0.5)
        found = [*await asyncio.gather(dry_runs.run("ann", request(), work), return_exceptions=True)]
        found += await asyncio.gather(dry_runs.run("bob", request(), work), return_exceptions=True)
        work.released.set()
        await asyncio.to_thread(wait_until, lambda: work.ended == 1, 30, pause=0.01)
        found.append(await dry_runs.run("bob", request(), work))
        return [outcome(each) for each in found]

    expected = [(503, "simulation-too-long"), (429, "too-many-simulations"), "found"]
    assert asyncio.run(story()) == expected


def test_what_the_work_raises_is_raised_and_its_place_is_free() -> None:
    def fail(_: Callable[[], bool]) -> str:
        message = "no pattern"
        raise ValueError(message)

    async def story() -> str:
        dry_runs = DryRuns(1, 1, 60.0)
        for _ in range(3):
            with pytest.raises(ValueError, match="no pattern"):
                await dry_runs.run("ann", request(), fail)
        return await dry_runs.run("ann", request(), lambda _: "found")

    assert asyncio.run(story()) == "found"


STAR = "PATTERN star MATCH " + ", ".join(f"(h)-[e{number}:x]->(v{number})" for number in range(1, 9))
WITHOUT_END = {
    "text": f"{STAR} WHERE e1.w + e8.w < 0 ON s WINDOW 10m",
    "engine": "re-search",
    "edges": [{"ts": ts, "src": "h", "dst": f"v{ts}", "label": "x", "w": 1} for ts in range(3_000)],
}
WITH_AN_END = {
    "text": "PATTERN p MATCH (a)-[x]->(b) ON s WINDOW 10",
    "edges": [{"ts": 1, "src": "a", "dst": "b", "label": "x"}],
}


def read_outcome(answer: httpx2.Response) -> tuple[str, object]:
    """Return whether a dry run was cut off, or why there was none."""
    name = "truncated" if answer.is_success else "code"
    return name, answer.json()[name]


def test_dry_runs_without_end_leave_the_service_to_others() -> None:
    names = ("ann", "bob", "cid")
    keys = [KeySettings(name=name, hash=hash_key(name), scopes=["patterns:read"]) for name in names]
    app = admin_api(AdminApiSettings(api_keys=keys, requests_per_second=1_000, burst=1_000), MemoryLog())

    with serve(app) as url, httpx2.Client(base_url=url, timeout=120) as http, ThreadPoolExecutor(45) as pool:

        def dry_run(name: str, what: Mapping[str, object]) -> httpx2.Response:
            return http.post("/api/v1/patterns:simulate", json=what, headers={"X-API-Key": name})

        begun = [pool.submit(dry_run, names[number % 3], WITHOUT_END) for number in range(45)]
        health = []
        while not all(each.done() for each in begun):
            health.append(http.get("/livez").status_code)
        answers = [each.result() for each in begun]
        assert set(health) == {200}
        assert {(answer.status_code, *read_outcome(answer)) for answer in answers} == {
            (200, "truncated", True),
            (429, "code", "too-many-simulations"),
        }
        assert len(dry_run("cid", WITH_AN_END).json()["matches"]) == 1


def test_values_past_number_are_refused_before_they_are_made(deployment: Deployment) -> None:
    nested = "[[]" + ",[]" * 2_000_000 + "]"
    asked = {
        "/patterns:validate": '{"text":%s}',
        "/patterns": '{"text":"","limits":%s}',
        "/patterns:simulate": '{"text":"","edges":%s}',
    }
    for path, body in asked.items():
        answer = deployment.http.post(f"/api/v1{path}", content=body % nested, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request"), answer.text


NO_DRY_RUNS = ["", "[]", "{}", '{"text":""}', '{"edges":[]}', '{"text":"","edges":{}}', '{"text":"","edges":[1]}']
NO_DRY_RUNS += ['{"text":"","edges":[],"more":1}', '{"text":"","edges":[],"time_unit":"h"}', '{"text":1,"edges":[]}']


@pytest.mark.parametrize("body", NO_DRY_RUNS)
def test_another_body_than_a_dry_run_is_refused(empty_deployment: Deployment, body: str) -> None:
    answer = empty_deployment.http.post("/api/v1/patterns:simulate", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
