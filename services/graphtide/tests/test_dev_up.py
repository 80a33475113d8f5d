"""All services in one process, as `graphtide dev up` runs them: everyone may do everything, but no web page may."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
from graphtide.dev.demo_streams import PATTERNS
from graphtide.dev.deployment import DevOptions, application
from graphtide_query import parse
from graphtide_testing.servers.process import free_ports
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

PATTERN = {"text": "PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 10"}
EDGE = '{"ts":1,"src":"a","dst":"b","label":"pays"}\n'
LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture
def http() -> Iterator[httpx2.Client]:
    with serve(application(DevOptions())) as url, httpx2.Client(base_url=url, timeout=30) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.05)
        yield http


@contextmanager
def running(*options: str) -> Iterator[httpx2.Client]:
    """Run the command as a process of its own."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "graphtide", "dev", "up", "--port", str(port), *options]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as http:
                wait_until(lambda: is_ready(http), 60, pause=0.05)
                yield http
        finally:
            process.kill()


def is_ready(http: httpx2.Client) -> bool:
    try:
        return http.get("/readyz").status_code == 200
    except httpx2.TransportError:
        return False


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403)],
)
def test_no_web_page_may_pause_patterns_or_send_edges(http: httpx2.Client, headers: dict[str, str], status: int) -> None:
    assert http.post("/api/v1/patterns", json=PATTERN).status_code == 201
    assert http.post("/api/v1/streams/s/edges", content=EDGE, headers=LINES).status_code == 202
    for path in ("/api/v1/patterns/p:pause", "/api/v1/streams/s/edges"):
        assert http.post(path, content=EDGE, headers={**LINES, **headers}).status_code == status
    for path in ("/livez", "/metrics", "/api/v1/patterns"):
        assert http.get(path, headers=headers).status_code == status
    assert http.get("/api/v1/patterns/p").json()["wanted"] == "active"


def test_a_stream_that_an_edge_took_to_the_end_of_time_matches_again_after_a_reset() -> None:
    with running("--max-ahead", "inf", "--low-latency") as http:

        def send(*times: int) -> None:
            edges = "".join(f'{{"ts":{ts},"src":"a{ts}","dst":"b","label":"pays"}}\n' for ts in times)
            assert http.post("/api/v1/streams/s/edges", content=edges, headers=LINES).status_code == 202

        def matched() -> list[int]:
            listed = http.get("/api/v1/patterns/p/matches").json()["matches"]
            return sorted(each["match"]["last_ts"] for each in listed)

        http.post("/api/v1/patterns", json=PATTERN)
        wait_until(lambda: http.get("/api/v1/patterns/p").json()["state"] == "running", 60, pause=0.05)
        send(1, 2**63 - 1)
        wait_until(lambda: len(matched()) == 2, 60, pause=0.05)
        send(2)
        wait_until(lambda: len(http.get("/api/v1/dead-letters").json()["dead_letters"]) == 1, 60, pause=0.05)
        assert http.post("/api/v1/streams/s:reset-watermark").json() == {"stream": "s", "ended": 0}
        send(3, 4)
        wait_until(lambda: len(matched()) == 4, 60, pause=0.05)
        assert matched() == [1, 3, 4, 2**63 - 1]


def test_dead_letters_are_sent_again_by_the_place_under_which_they_are_listed(http: httpx2.Client) -> None:
    made = http.post("/api/v1/streams/s/edges", content=EDGE + "{\n", headers=LINES)
    assert (made.status_code, made.json()["created"]) == (202, True)
    (letter,) = http.get("/api/v1/dead-letters").json()["dead_letters"]
    address = f"/api/v1/dead-letters/s/{letter['place']}"
    assert http.get(address).json() == letter
    answer = http.post(f"{address}:replay", json={"ts": 2, "src": "a", "dst": "b", "label": "pays"})
    assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
    assert http.post("/api/v1/dead-letters/s:replay", content=EDGE, headers=LINES).json()["accepted"] == 1
    wait_until(lambda: newest_of(http, "s") == 2, 60, pause=0.05)
    refused = http.post("/api/v1/dead-letters/s/0-7:replay")
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown-letter")


def test_a_stream_made_by_mistake_is_deleted_and_one_of_its_name_begins_anew(http: httpx2.Client) -> None:
    http.post("/api/v1/patterns", json=PATTERN)
    assert http.delete("/api/v1/streams/s").json()["code"] == "stream-in-use"
    assert http.post("/api/v1/streams/ss/edges", content=EDGE, headers=LINES).json()["created"] is True
    wait_until(lambda: newest_of(http, "ss") == 1, 60, pause=0.05)
    assert http.delete("/api/v1/streams/ss").status_code == 204
    assert [each["name"] for each in http.get("/api/v1/streams").json()["streams"]] == ["s"]
    wait_until(lambda: "ss" not in http.get("/readyz").text, 60, pause=0.05)
    assert http.get("/readyz").status_code == 200, "a deleted stream does not count"
    again = http.post("/api/v1/streams/ss/edges", content=EDGE.replace("1", "0"), headers=LINES)
    assert (again.status_code, again.json()["created"]) == (202, True)
    wait_until(lambda: newest_of(http, "ss") == 0, 60, pause=0.05)


def test_what_shards_cost_is_shown(http: httpx2.Client) -> None:
    http.post("/api/v1/patterns", json=PATTERN)
    http.post("/api/v1/streams/s/edges", content=EDGE, headers=LINES)

    def shards() -> list[tuple[str, int, int, bool]]:
        found = http.get("/api/v1/matchers").json()["matchers"]
        return [
            (each["service"], shard["shard"], shard["patterns"], shard["memory_bytes"] > 0 and 0 <= shard["busy"] <= 1)
            for each in found
            for shard in each["shards"]
            if [place["stream"] for place in shard["streams"]] == ["s"] and shard["streams"][0]["position"] > 0
        ]

    wait_until(lambda: [each[1:] for each in shards()] == [(0, 1, True)], 60, pause=0.05)


def newest_of(http: httpx2.Client, stream: str) -> int | None:
    progress = http.get(f"/api/v1/streams/{stream}").json()["standing"]
    return None if progress is None or progress["newest"] is None else int(progress["newest"])


def test_the_command_sets_how_far_ahead_an_edge_may_be() -> None:
    with running("--max-ahead", "1h") as http:
        now = int(time.time() * 1000)
        edges = "".join(f'{{"ts":{ts},"src":"a","dst":"b","label":"pays"}}\n' for ts in (now + 30 * 60_000, now + 90 * 60_000))
        assert http.post("/api/v1/streams/s/edges", content=edges, headers=LINES).status_code == 202
        wait_until(lambda: http.get("/api/v1/streams/s").json()["standing"] is not None, 60, pause=0.05)
        shown = http.get("/api/v1/streams/s").json()["standing"]
        assert (shown["read"], shown["future"], shown["newest"]) == (2, 1, now + 30 * 60_000)
        assert "--max-ahead" in read_refusal("soon")


def read_refusal(max_ahead: str) -> str:
    command = [sys.executable, "-m", "graphtide", "dev", "up", "--max-ahead", max_ahead]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert ended.returncode == 2
    return ended.stderr.decode()


def dev_up(*options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "graphtide", "dev", "up", *options]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_address_it_says_answers_at_once_and_a_signal_is_a_good_end(number: int) -> None:
    process = dev_up("--port", "0")
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, b"")
        said = next(line.decode() for line in lines if line.startswith(b"serving at "))
        url = said.split()[2]
        shown = httpx2.get(url)
        assert (shown.status_code, shown.headers["content-type"]) == (200, "text/plain; charset=utf-8")
        assert f"{url}/api/v1/patterns" in shown.text
        assert f"graphtide apply FILE --server {url}" in shown.text
        assert httpx2.get(f"{url}/api/v1").text == shown.text
        process.send_signal(number)
        assert process.wait(60) == 0
        last = process.stderr.read()
        assert b"Traceback" not in last
        assert last.endswith(b"ended; its streams, patterns and matches were in memory alone\n")
    finally:
        process.kill()
        process.communicate()


def test_a_signal_ends_it_while_somebody_follows_matches() -> None:
    process = dev_up("--port", "0")
    try:
        assert process.stderr is not None
        lines = iter(process.stderr.readline, b"")
        url = next(line.decode() for line in lines if line.startswith(b"serving at ")).split()[2]
        text = "PATTERN p MATCH (a)-[x:y]->(b) ON s WINDOW 1m"
        assert httpx2.post(f"{url}/api/v1/patterns", json={"text": text}, timeout=60).status_code == 201
        with httpx2.stream("GET", f"{url}/api/v1/patterns/p/matches:stream", timeout=120) as followed:
            assert followed.status_code == 200
            process.send_signal(signal.SIGINT)
            _, last = process.communicate(timeout=60)
        assert process.returncode == 0
        assert last.endswith(b"ended; its streams, patterns and matches were in memory alone\n")
    finally:
        process.kill()
        process.communicate()


def test_what_the_address_answers_names_paths_that_are_there(http: httpx2.Client) -> None:
    emitted = [line.split()[:2] for line in http.get("/").text.splitlines() if line.startswith("GET ")]
    assert len(emitted) >= 5
    for _, url in emitted:
        path = url.removeprefix(str(http.base_url).rstrip("/")).replace("NAME", "p").replace("STREAM", "s")
        found = http.get(path)
        # The pattern is not there, the path is.
        assert found.status_code == 200 or "'p'" in found.json()["detail"], path


def test_a_port_in_use_is_one_line_that_names_the_option() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = dev_up("--port", str(port))
        _, said = process.communicate(timeout=60)
    (line,) = said.decode().splitlines()
    assert process.returncode == 1
    assert (
        line == f"graphtide: port {port} of 127.0.0.1 is in use: name another by --port NUMBER, or let --port 0 take a free one"
    )


def test_the_port_is_taken_before_the_services_are_loaded() -> None:
    (port,) = free_ports(1)
    process = dev_up("--port", str(port))
    try:
        # Who connects from then on waits for an answer, and is not refused.
        wait_until(lambda: is_listening(port), 60, pause=0.01)
        assert httpx2.get(f"http://127.0.0.1:{port}/livez", timeout=60).status_code in (200, 503)
    finally:
        process.kill()
        process.communicate()


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_services_are_loaded_ends_it_without_a_word(number: int, status: int) -> None:
    (port,) = free_ports(1)
    process = dev_up("--port", str(port))
    try:
        wait_until(lambda: is_listening(port), 60, pause=0.005)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    # On a machine that is fast enough it serves already.
    assert process.returncode in (status, 0)
    assert b"Traceback" not in said
    assert process.returncode == 0 or said == b""


def test_a_graph_query_is_registered_explained_and_its_results_read_back(http: httpx2.Client) -> None:
    text = "QUERY q near(x, y) <- pays+(x, y) AS way. ON s WINDOW(10) RETURN way"
    assert http.post("/api/v1/patterns", json={"text": text}).status_code == 201
    wait_until(lambda: http.get("/api/v1/patterns/q").json()["state"] == "running", 60, pause=0.05)
    second = '{"ts":2,"src":"b","dst":"c","label":"pays","id":"e2"}\n'
    sent = http.post("/api/v1/streams/s/edges", content=EDGE.replace('"ts"', '"id":"e1","ts"') + second, headers=LINES)
    assert sent.status_code == 202
    wait_until(lambda: len(http.get("/api/v1/patterns/q/matches").json()["matches"]) == 3, 60, pause=0.05)
    listed = http.get("/api/v1/patterns/q/matches").json()["matches"]
    emitted = {(each["match"]["src"], each["match"]["dst"]): each["match"] for each in listed}
    assert (emitted["a", "c"]["valid"], emitted["a", "c"]["path"]) == ([2, 11], ["e1", "e2"])
    found = http.get(f"/api/v1/patterns/q/matches/{listed[0]['place']}")
    assert (found.status_code, found.json()["match"]) == (200, listed[0]["match"])
    assert [edge["id"] for edge in found.json()["edges"]["path"]] == listed[0]["match"]["path"]
    plan = http.get("/api/v1/patterns/q/plan").json()
    assert (plan["engine"], http.get("/api/v1/patterns/q").json()["placement"]["service"]) == ("s-path", "matcher_algebra")


READING = {
    "isomorphism": "PATTERN isomorphism MATCH (a)-[x:pays]->(b) WHERE x.zone = 7 ON s WINDOW 10 RETURN x.zone AS zone",
    "simulation": "PATTERN simulation MATCH (a)-[x:pays]->(b) WHERE x.zone = 7 UNDER DUAL SIMULATION ON s WINDOW 10",
    "events": "PATTERN events SEQ(x: pays, y: pays) WHERE y.zone = 7 ON s WITHIN 10",
    "algebra": "QUERY algebra INPUT i = ()-[e:pays]->() ON s WINDOW(10) WHERE e.zone = 7 r(x, y) <- i(x, y).",
}
"""Of each family a pattern that reads an attribute."""


@pytest.mark.parametrize("are_patterns_first", [True, False], ids=["patterns first", "the enemy first"])
def test_what_patterns_read_is_matched_beside_a_thousand_invented_attributes(*, are_patterns_first: bool) -> None:
    with running("--low-latency") as http:

        def send(ts: int, **attributes: int) -> None:
            edge = {"ts": ts, "src": f"a{ts}", "dst": f"b{ts}", "label": "pays", **attributes}
            assert http.post("/api/v1/streams/s/edges", content=json.dumps(edge) + "\n", headers=LINES).status_code == 202

        def register() -> None:
            for text in READING.values():
                assert http.post("/api/v1/patterns", json={"text": text}).status_code == 201
            wait_until(lambda: all(http.get(f"/api/v1/patterns/{name}").json()["state"] == "running" for name in READING), 60)

        def matched() -> dict[str, int]:
            return {name: len(http.get(f"/api/v1/patterns/{name}/matches").json()["matches"]) for name in READING}

        if are_patterns_first:
            register()
        send(1, **{f"n{number}": number for number in range(1_000)})
        if not are_patterns_first:
            # The enemy's edge has gone out before a pattern reads the stream.
            wait_until(lambda: bool(http.get("/api/v1/streams").json()["streams"]), 60)
            register()
        send(2, zone=7)
        send(3, other=7)
        wait_until(lambda: min(matched().values()) > 0, 60, lambda: str(matched()))
        assert matched() == dict.fromkeys(READING, 1)


def test_what_is_about_to_match_is_shown_and_sent_as_it_comes_close(http: httpx2.Client) -> None:
    text = "PATTERN p MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 1h"
    assert http.post("/api/v1/patterns", json={"text": text, "engine": "timing"}).status_code == 201
    wait_until(lambda: http.get("/api/v1/patterns/p").json()["state"] == "running", 60, pause=0.05)
    assert http.post("/api/v1/streams/s/edges", content=EDGE, headers=LINES).status_code == 202
    address = "/api/v1/patterns/p/partial-matches"
    wait_until(lambda: bool(http.get(address).json()["partial_matches"]), 120, pause=0.2)
    (found,) = http.get(f"{address}?vertex=a").json()["partial_matches"]
    assert (found["vertices"], found["awaited"], found["until"]) == ({"a": "a", "b": "b"}, ["y"], 3_600_001)
    assert http.get(f"{address}?vertex=c").json()["partial_matches"] == []
    with http.stream("GET", f"{address}:stream") as answer:
        (shown,) = (line for line, _ in zip(filter(None, answer.iter_lines()), range(4), strict=False) if line[:5] == "data:")
    assert json.loads(shown[6:]) == found


def test_the_demo_registers_three_patterns_and_matches_come() -> None:
    with running("--demo", "--speed", "3600") as http:

        def found() -> dict[str, int]:
            listed = http.get("/api/v1/patterns").json()["patterns"]
            return {each["name"]: (each["figures"] or {}).get("matches", 0) for each in listed}

        wait_until(lambda: len(found()) == 3 and min(found().values()) > 0, 120, pause=0.5)
        streams = {each["name"]: each["dead_letters"] for each in http.get("/api/v1/streams").json()["streams"]}
        assert streams == {"flows": 0, "logins": 0}
        progress = http.get("/api/v1/streams/flows").json()["standing"]
        assert (progress["late"], progress["duplicates"], progress["future"]) == (0, 0, 0)
    assert set(found_names()) == {"brute_force", "exfiltration", "resolved"}


def found_names() -> list[str]:
    return [str(pattern.name) for text in PATTERNS for pattern in parse(text)]
