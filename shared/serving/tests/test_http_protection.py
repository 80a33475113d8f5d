"""A client that sends slowly, too much, without a key or for another site costs a service little, and shuts no other out."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.responses import StreamingResponse
from graphtide_serving.access.callers import Anyone, Authentication, Caller
from graphtide_serving.access.guard import Guard
from graphtide_serving.access.keys import ApiKeys, hash_key
from graphtide_serving.access.rate import RateLimit
from graphtide_serving.access.rights import WRITE_EDGES
from graphtide_serving.health_server import HealthSettings
from graphtide_serving.health_server import serving as health
from graphtide_serving.http import ProblemError, answer_with_problems, health_routes
from graphtide_serving.protection.admission_limit import AdmissionLimit
from graphtide_serving.protection.bodies import Pace, WholeBodies
from graphtide_serving.protection.connections import BoundedConnection
from graphtide_serving.protection.hosts import Hosts
from graphtide_serving.protection.protecting import Protection, protect
from graphtide_telemetry.health import Finding
from graphtide_testing.serving import raw, serve
from graphtide_testing.waiting import wait_until
from starlette.datastructures import Headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from graphtide_testing.serving import Raw

MIB = 1024 * 1024
KEYS = ApiKeys([(hash_key(name), Caller(name, frozenset({WRITE_EDGES}))) for name in ("ann", "bob")])
QUICK = Pace(idle_seconds=0.3, grace_seconds=0.5, least_bytes_per_second=1_000_000.0)


class Hasty(BoundedConnection):
    """Bounds that a test can wait for."""

    most = 8
    request_seconds = 0.4
    stalled_seconds = 0.4


class Service:
    """An application with a route that counts the bytes of bodies, one that never ends, and one that waits."""

    def __init__(self, authentication: Authentication, most_bytes: int, pace: Pace) -> None:
        self.app = FastAPI()
        self.goes_on = threading.Event()
        self.streams = 0
        self.waiting = 0
        answer_with_problems(self.app)
        guard = Guard(authentication, RateLimit(10_000.0, 10_000))
        self.app.add_middleware(WholeBodies, most_bytes=8 * MIB)
        self.admission_limit = protect(self.app, Protection(guard, Hosts(()), most_bytes, 8 * MIB, pace))
        self.app.include_router(health_routes(lambda: [Finding("w")], lambda: [Finding("w")]))

        @self.app.post("/count", dependencies=[Depends(guard.requires(WRITE_EDGES))])
        async def count(request: Request) -> int:
            return len(await request.body())

        @self.app.get("/endless")
        async def endless() -> StreamingResponse:
            return StreamingResponse(self._endless())

        @self.app.get("/wait")
        def wait() -> None:
            self.waiting += 1
            self.goes_on.wait(60)

    async def _endless(self) -> AsyncIterator[bytes]:
        self.streams += 1
        try:
            while True:
                yield b"x" * 65_536
                await asyncio.sleep(0)
        finally:
            self.streams -= 1


@contextmanager
def serving(
    *,
    authentication: Authentication = KEYS,
    most_bytes: int = 64 * MIB,
    pace: Pace = QUICK,
    connection: type[BoundedConnection] = BoundedConnection,
) -> Iterator[tuple[Service, str]]:
    service = Service(authentication, most_bytes, pace)
    with serve(service.app, connection) as url:
        try:
            yield service, url
        finally:
            service.goes_on.set()


def post(key: str | None, size: int, body: bytes = b"") -> bytes:
    shown = f"X-API-Key: {key}\r\n" if key is not None else ""
    return f"POST /count HTTP/1.1\r\nHost: localhost\r\n{shown}Content-Length: {size}\r\n\r\n".encode() + body


def count(url: str, key: str, size: int = 10) -> int:
    return httpx2.post(f"{url}/count", content=b"x" * size, headers={"X-API-Key": key}, timeout=30).status_code


def trickle(connection: Raw) -> bytes:
    """Send byte by byte, and return what is answered to that."""
    for _ in range(600):
        connection.send(b"x")
        try:
            return connection.answer(0.05)
        except TimeoutError:
            continue
    pytest.fail("the connection is not cut off")


def resident() -> int:
    """Bytes of memory that this process has."""
    line = next(line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def test_bodies_of_those_without_a_key_take_no_memory() -> None:
    with serving(pace=Pace()) as (service, url), ExitStack() as stack:
        assert count(url, "ann") == 200
        before = resident()
        connections = [stack.enter_context(raw(url)) for _ in range(100)]
        most = 0
        for connection in connections:
            connection.send(post(None, 8 * MIB))
        for connection in connections:
            connection.push(4 * MIB)
            most = max(most, resident())
        assert {connection.answer()[:12] for connection in connections} == {b"HTTP/1.1 401"}
        assert (service.admission_limit.taken, most - before < 60 * MIB) == (0, True)
        assert count(url, "ann") == 200


@pytest.mark.parametrize("sent", [b"", b"GET /livez HT", post("ann", 10)[:40]])
def test_a_connection_that_sends_no_whole_request_is_ended(sent: bytes) -> None:
    with serving(connection=Hasty) as (_, url), raw(url) as connection:
        connection.send(sent)
        assert connection.answer() == b""


def test_headers_that_come_byte_by_byte_are_not_waited_for_the_second_time_either() -> None:
    with serving(connection=Hasty) as (_, url), raw(url) as connection:
        connection.send(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.answer().startswith(b"HTTP/1.1 200")
        connection.send(b"GET /livez HTTP/1.1\r\nX-Slow: ")
        assert trickle(connection) == b""


def test_what_follows_an_answered_request_is_not_read_for_ever() -> None:
    with serving(connection=Hasty) as (_, url), raw(url) as connection:
        connection.send(post(None, 8 * MIB))
        assert connection.answer().startswith(b"HTTP/1.1 401")
        connection.push(MIB)
        assert connection.answer() == b""


def test_silent_connections_give_way_to_those_that_speak() -> None:
    class Patient(Hasty):
        request_seconds = 60.0

    with serving(connection=Patient) as (_, url), ExitStack() as stack:
        silent = [stack.enter_context(raw(url)) for _ in range(3 * Patient.most)]
        for _ in range(3):
            assert count(url, "ann") == 200
        assert silent[0].answer() == b""


def test_requests_under_way_do_not_give_way() -> None:
    with serving(connection=Hasty, authentication=Anyone()) as (service, url), ExitStack() as stack:
        busy = [stack.enter_context(raw(url)) for _ in range(Hasty.most)]
        for connection in busy:
            connection.send(b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: service.waiting == Hasty.most, 30, pause=0.01)
        for _ in range(3):
            with raw(url) as another:
                assert another.answer() == b""
        service.goes_on.set()
        assert {connection.answer()[:12] for connection in busy} == {b"HTTP/1.1 200"}


def test_who_does_not_read_an_answer_is_cut_off() -> None:
    with serving(connection=Hasty, authentication=Anyone()) as (service, url), raw(url) as connection:
        connection.send(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: service.streams == 1, 30, pause=0.01)
        wait_until(lambda: service.streams == 0, 30, pause=0.01)


HEAD = b"Host: localhost\r\nX-API-Key: ann\r\n"
CHUNKED = b"2\r\nok\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /count HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
        b"POST /count HTTP/1.1\r\n" + HEAD + b"transfer-encoding: chunked\r\ncontent-length: 12\r\n\r\n" + CHUNKED,
        b"POST /count HTTP/1.1\n" + HEAD + b"Content-Length: 2\r\n\r\nok",
        b"POST /count HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\n\r\nok",
        b"POST /count HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\n\nok",
        b"POST /count HTTP/1.1\r\n" + HEAD + b"X: a\nContent-Length: 2\r\n\r\nok",
        b"POST /count HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"POST /count HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKED,
        b"POST /count HTTP/1.1\r\n" + HEAD + b"Content-Length : 2\r\n\r\nok",
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_head_that_two_servers_may_read_differently_is_refused_and_ends_the_connection(
    request_: bytes, *, at_once: bool
) -> None:
    with serving() as (_, url), raw(url) as connection:
        # The rest would be another request, made by an attacker.
        whole = request_ + b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for part in [whole] if at_once else [whole[:30], whole[30:90], whole[90:]]:
            connection.send(part)
        answer = connection.answer()
        assert answer[9:12] in {b"400", b"501"}
        assert connection.answer() == b""


def test_heads_with_one_length_or_one_coding_are_taken_one_after_the_other() -> None:
    with serving() as (_, url), raw(url) as connection:
        for _ in range(2):
            connection.send(post("ann", 2, b"ok"))
            assert connection.answer().startswith(b"HTTP/1.1 200")
            connection.send(b"POST /count HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED)
            assert connection.answer().startswith(b"HTTP/1.1 200")


def test_a_body_that_stops_coming_is_a_problem_and_holds_nothing_any_more() -> None:
    with serving() as (service, url), raw(url) as connection:
        connection.send(post("ann", 1000, b"x" * 10))
        answer = connection.answer()
        assert answer.startswith(b"HTTP/1.1 408")
        assert b'"code":"slow-body"' in answer
        wait_until(lambda: service.admission_limit.taken == 0, 30, pause=0.01)


def test_a_body_that_comes_byte_by_byte_is_a_problem_too() -> None:
    with serving() as (_, url), raw(url) as connection:
        connection.send(post("ann", 100_000))
        assert b'"code":"slow-body"' in trickle(connection)


def test_bytes_that_are_announced_take_no_room_and_those_that_came_do() -> None:
    with serving(most_bytes=MIB, pace=Pace()) as (service, url), ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(raw(url)).send(post("ann", 4 * MIB))
        assert [count(url, key, 100_000) for key in ("ann", "bob")] == [200, 200]
        stack.enter_context(raw(url)).send(post("ann", 4 * MIB, b"x" * 300_000))
        wait_until(lambda: service.admission_limit.taken == 300_000, 30, pause=0.01)


def test_a_caller_takes_the_room_of_no_other() -> None:
    with serving(most_bytes=MIB, pace=Pace()) as (service, url), ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(raw(url)).send(post("ann", MIB, b"x" * 200_000))
        wait_until(lambda: service.admission_limit.taken == 400_000, 30, pause=0.01)
        assert [count(url, key, 200_000) for key in ("ann", "bob")] == [429, 200]


def test_room_is_waited_for_once_a_part_of_a_body_was_read() -> None:
    async def story() -> list[object]:
        admission_limit = AdmissionLimit(10, 10, patience_seconds=60.0)
        with admission_limit.held("a", 100) as first, admission_limit.held("b", 100) as second:
            await first.take(5)
            await second.take(4)
            waiting = asyncio.ensure_future(second.take(5))
            await asyncio.sleep(0)
            found: list[object] = [waiting.done(), admission_limit.taken]
            first.give_back(5)
            await waiting
            found.append(admission_limit.taken)
            with admission_limit.held("c", 100) as third, pytest.raises(ProblemError) as refused:
                await third.take(2)
            found.append(refused.value.status)
        return [*found, admission_limit.taken]

    assert asyncio.run(story()) == [False, 9, 9, HTTPStatus.TOO_MANY_REQUESTS, 0]


def test_room_that_does_not_come_free_is_not_waited_for_for_ever() -> None:
    async def story() -> None:
        admission_limit = AdmissionLimit(10, 10, patience_seconds=0.01)
        with admission_limit.held("a", 100) as first, admission_limit.held("b", 100) as second:
            await first.take(5)
            await second.take(5)
            with pytest.raises(ProblemError):
                await second.take(1)

    asyncio.run(story())


def test_one_request_alone_finds_room_for_as_much_as_it_holds_at_once() -> None:
    async def story() -> int:
        admission_limit = AdmissionLimit(10, 5)
        with admission_limit.held("a", 100) as held:
            for _ in range(50):
                await held.take(4)
            return admission_limit.taken

    assert asyncio.run(story()) == 100


def test_health_is_served_while_every_thread_is_taken() -> None:
    with serving(authentication=Anyone()) as (service, url), ExitStack() as stack:
        for _ in range(45):
            stack.enter_context(raw(url)).send(b"GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: service.waiting == 40, 30, pause=0.01)
        for path in ("livez", "readyz", "metrics"):
            assert httpx2.get(f"{url}/{path}", timeout=30).status_code == 200


FOR_HERE = ["localhost:8080", "LOCALHOST", "localhost.", "127.0.0.1:8080", "[::1]:8080", "10.1.2.3", "admin-api:80"]
FOR_HERE += ["admin-api.team.svc", "a.b.svc.cluster.local:8080", "graphtide.example:443", "x.localhost"]
FOR_OTHERS = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "graphtide.example.evil.example"]
FOR_OTHERS += ["localhost@evil.example", "evil.example:80", "localhost:x", "127.0.0.1/", "svc.evil.example", "1.2.3"]


def refusal(served: str = "Graphtide.example", **headers: str) -> int | None:
    given = Headers({name.replace("_", "-"): value for name, value in headers.items()})
    try:
        Hosts([served]).check(given)
    except ProblemError as error:
        return error.status
    return None


@pytest.mark.parametrize("host", FOR_HERE)
def test_a_request_that_names_this_service_passes(host: str) -> None:
    assert refusal(host=host) is None


@pytest.mark.parametrize("host", FOR_OTHERS)
def test_a_request_that_names_another_is_refused(host: str) -> None:
    assert refusal(host=host) == 421


def test_a_browser_that_asks_for_another_site_is_refused() -> None:
    own = {"host": "localhost:8080"}
    assert refusal() is None
    assert refusal(**own, origin="http://localhost:8080", sec_fetch_site="same-origin") is None
    assert refusal(**own, sec_fetch_site="none") is None
    assert refusal(host="graphtide.example", origin="https://graphtide.example") is None
    assert refusal(host="inner:8080", origin="https://graphtide.example", sec_fetch_site="same-origin") is None
    for origin in ("http://localhost:3000", "https://evil.example", "null", "", "http://localhost:8080@evil.example"):
        assert refusal(**own, origin=origin) == 403
    for site in ("cross-site", "same-site", "nonsense"):
        assert refusal(**own, sec_fetch_site=site) == 403


def test_any_name_is_taken_where_that_is_said() -> None:
    assert refusal(host="any.example") == 421
    assert refusal(served="*", host="any.example") is None


def test_health_of_a_worker_is_served_by_its_address_and_not_by_a_strangers_name() -> None:
    with health(HealthSettings(), list, list) as url:
        assert httpx2.get(f"{url}/livez").status_code == 200
        assert httpx2.get(f"{url}/livez", headers={"Host": "10.0.0.7:8082"}).status_code == 200
        assert httpx2.get(f"{url}/metrics", headers={"Host": "evil.example"}).status_code == 421


HUNG = """
import sys, threading
from fastapi import FastAPI
from graphtide_serving.running import run
app = FastAPI()

@app.get("/")
def hang() -> None:
    sys.stdout.write("hangs\\n")
    sys.stdout.flush()
    threading.Event().wait()

sys.stdout.write("begun\\n")
run(app, "127.0.0.1", int(sys.argv[1]), end_seconds=7.0)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_though_a_request_hangs(number: signal.Signals, free_tcp_port: int) -> None:
    with subprocess.Popen([sys.executable, "-c", HUNG, str(free_tcp_port)], stdout=subprocess.PIPE) as process:
        try:
            wait_until(lambda: _asks(free_tcp_port), 60, pause=0.1)
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(2)] == [b"begun\n", b"hangs\n"]
            process.send_signal(number)
            assert process.wait(60) != 0
        finally:
            process.kill()


SERVED = """
import sys
from fastapi import FastAPI
from graphtide_serving.running import run
app = FastAPI()

@app.get("/")
def answer() -> str:
    return "here"

run(app, "127.0.0.1", int(sys.argv[1]), on_started=lambda: print("serves", flush=True))
print("drained", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_good_end_where_all_had_their_answers(number: signal.Signals, free_tcp_port: int) -> None:
    command = [sys.executable, "-c", SERVED, str(free_tcp_port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline() == b"serves\n"
            assert httpx2.get(f"http://127.0.0.1:{free_tcp_port}/").json() == "here"
            process.send_signal(number)
            assert process.wait(60) == 0
            assert process.stdout.read() == b"drained\n"
            assert b"Traceback" not in process.stderr.read()
        finally:
            process.kill()


def test_a_port_that_somebody_has_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-c", SERVED, str(port)], capture_output=True, text=True, timeout=60, check=False
        )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"port {port} of 127.0.0.1 cannot be listened to: Address already in use\n"


def _asks(port: int) -> bool:
    """Send a request, and do not wait for the answer; False if no server listens yet."""
    try:
        with raw(f"http://127.0.0.1:{port}") as connection:
            connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(0.2)
    except ConnectionRefusedError:
        return False
    return True
