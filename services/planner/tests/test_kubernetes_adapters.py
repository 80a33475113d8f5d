"""The planner on the Kubernetes API: what it asks over HTTPS, and what it does about every answer."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest
from graphtide_core.errors import FatalError, TransientError
from graphtide_planner.adapters.api import Api, ApiAddress, MissingError
from graphtide_planner.adapters.lease import Lease, LeaseTimes
from graphtide_planner.adapters.stateful_sets import StatefulSets
from graphtide_planner.application.cluster import ConflictError, Replicas, ThrottledError
from graphtide_testing.clock import ManualClock
from graphtide_testing.servers.kubernetes import NAMESPACE, Call, KubernetesApi, KubernetesServer
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMING = "graphtide-matcher-timing"
PATIENCE = 60.0
NAMES = {"matcher_timing": TIMING}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[KubernetesServer]:
    made = KubernetesServer(KubernetesApi(), tmp_path)
    with made.running():
        made.api.put_stateful_set(TIMING, 2)
        made.api.put_stateful_set("of-another-team", 7)
        yield made


@pytest.fixture
def api(server: KubernetesServer) -> Iterator[Api]:
    made = Api(ApiAddress(server.url, server.token, server.authorities, timeout_seconds=5.0))
    yield made
    made.close()


@contextmanager
def watching(api: Api, watch_seconds: int = 30) -> Iterator[StatefulSets]:
    sets = StatefulSets(api, NAMESPACE, NAMES, watch_seconds=watch_seconds)
    sets.open()
    try:
        yield sets
    finally:
        sets.close()
        assert not [each for each in threading.enumerate() if each.name == "stateful-sets"], "the thread of the watch ends"


def counts(sets: StatefulSets) -> dict[str, tuple[int, int]]:
    return {service: (each.asked, each.ready) for service, each in sets.seen().items()}


def sees(sets: StatefulSets, asked: int, ready: int) -> bool:
    return counts(sets) == {"matcher_timing": (asked, ready)}


def test_stateful_sets_are_listed_and_then_watched(server: KubernetesServer, api: Api) -> None:
    with watching(api) as sets:
        assert counts(sets) == {"matcher_timing": (2, 2)}
        server.api.put_stateful_set(TIMING, 3, ready=2)
        wait_until(lambda: sees(sets, 3, 2), PATIENCE)
        server.api.put_stateful_set(TIMING, 3)
        wait_until(lambda: sees(sets, 3, 3), PATIENCE)
        server.api.delete_stateful_set(TIMING)
        wait_until(lambda: counts(sets) == {}, PATIENCE)
    assert server.api.rules() == {("list", "apps", "statefulsets"), ("watch", "apps", "statefulsets")}


def test_a_watch_that_ends_continues_where_a_bookmark_left_it(server: KubernetesServer, api: Api) -> None:
    with watching(api) as sets:
        wait_until(lambda: ("watch", "apps", "statefulsets") in server.api.rules(), PATIENCE)
        for replicas in (3, 4):
            server.api.end_watches()
            server.api.put_stateful_set(TIMING, replicas)
            wait_until(partial(sees, sets, replicas, replicas), PATIENCE)
    assert [call.verb for call in server.api.calls].count("list") == 1


@pytest.mark.parametrize("gone_as", ["status", "event"])
def test_a_watch_from_a_place_that_the_server_forgot_begins_anew(server: KubernetesServer, api: Api, gone_as: str) -> None:
    server.api.gone_as = "status" if gone_as == "status" else "event"
    server.api.bookmark_seconds = 1_000.0
    with watching(api) as sets:
        wait_until(lambda: ("watch", "apps", "statefulsets") in server.api.rules(), PATIENCE)
        with server.api.changed:
            server.api.put_stateful_set(TIMING, 5)
            server.api.forget()
        wait_until(lambda: sees(sets, 5, 5), PATIENCE)
    wait_until(lambda: [call.verb for call in server.api.calls].count("list") >= 2, PATIENCE)


def test_a_watch_that_is_refused_again_and_again_is_an_error_for_the_reader(server: KubernetesServer, api: Api) -> None:
    with watching(api) as sets:
        server.api.forbidden.add(("watch", "statefulsets"))
        server.api.end_watches()

        def is_refused() -> bool:
            try:
                sets.seen()
            except FatalError as error:
                return "needs a Role" in str(error)
            return False

        wait_until(is_refused, PATIENCE)


def test_a_watch_that_is_throttled_waits_as_long_as_the_server_says(server: KubernetesServer, api: Api) -> None:
    with watching(api) as sets:
        wait_until(lambda: ("watch", "apps", "statefulsets") in server.api.rules(), PATIENCE)
        server.api.refuse(429, times=2, headers={"Retry-After": "0"})
        server.api.end_watches()
        server.api.put_stateful_set(TIMING, 6)
        wait_until(lambda: sees(sets, 6, 6), PATIENCE)


def test_to_scale_is_a_merge_patch_of_what_was_seen(server: KubernetesServer, api: Api) -> None:
    with watching(api) as sets:
        seen = sets.seen()["matcher_timing"]
        sets.scale("matcher_timing", 3, seen)
        assert server.api.replicas(TIMING) == 3
        with pytest.raises(ConflictError, match="has been modified"):
            sets.scale("matcher_timing", 4, seen)
        assert server.api.replicas(TIMING) == 3
        wait_until(lambda: sets.seen()["matcher_timing"].version != seen.version, PATIENCE)
        sets.try_out("matcher_timing", 4, sets.seen()["matcher_timing"])
        assert server.api.replicas(TIMING) == 3
    scale = Call("patch", "apps", "statefulsets/scale", TIMING)
    assert server.api.bodies[0] == (scale, {"metadata": {"resourceVersion": seen.version}, "spec": {"replicas": 3}})


def test_what_the_api_refuses_is_typed_by_what_to_do_next(server: KubernetesServer, api: Api) -> None:
    sets = StatefulSets(api, NAMESPACE, {**NAMES, "matcher_sjtree": "missing"})
    seen = Replicas(2, 2, "1")
    with pytest.raises(FatalError, match="422"):
        sets.scale("matcher_timing", -1, seen)
    with pytest.raises(TransientError, match="has no StatefulSet 'missing'"):
        sets.scale("matcher_sjtree", 1, seen)
    server.api.refuse(503)
    with pytest.raises(TransientError, match="503"):
        sets.scale("matcher_timing", 3, seen)
    server.api.refuse(429, headers={"Retry-After": "7"})
    with pytest.raises(ThrottledError, match="in 7 s") as throttled:
        sets.scale("matcher_timing", 3, seen)
    assert throttled.value.seconds == 7
    server.api.forbidden.add(("patch", "statefulsets/scale"))
    with pytest.raises(FatalError, match="needs a Role"):
        sets.scale("matcher_timing", 3, seen)
    with pytest.raises(TransientError, match="not watched"):
        sets.seen()


def test_a_token_that_expired_is_read_again_from_its_file(server: KubernetesServer, api: Api) -> None:
    with watching(api) as sets:
        seen = sets.seen()["matcher_timing"]
        server.api.token = "the-next"  # noqa: S105 - of a server of the tests
        with pytest.raises(TransientError, match="401"):
            sets.scale("matcher_timing", 3, seen)
        server.token.write_text("the-next")
        sets.scale("matcher_timing", 3, seen)
    assert server.api.replicas(TIMING) == 3


def test_a_server_of_another_authority_is_not_spoken_to(server: KubernetesServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stranger = KubernetesServer(KubernetesApi(), other)
    with stranger.running():
        api = Api(ApiAddress(server.url, server.token, stranger.authorities, timeout_seconds=5.0))
        with pytest.raises(TransientError, match="does not answer"):
            api.request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets")
        api.close()
    assert server.api.calls == []


def test_without_a_token_nothing_is_asked(server: KubernetesServer, tmp_path: Path) -> None:
    api = Api(ApiAddress(server.url, tmp_path / "none", server.authorities))
    with pytest.raises(FatalError, match="no token"):
        api.request("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets")
    api.close()
    assert server.api.calls == []


LEASE = "graphtide-planner"
TIMES = LeaseTimes(duration_seconds=30, deadline_seconds=20.0, every_seconds=5.0)


def lease(api: Api, identity: str, clock: ManualClock) -> Lease:
    return Lease(api, NAMESPACE, LEASE, identity=identity, clock=clock, times=TIMES)


def test_one_of_two_leads_until_it_has_not_renewed_for_the_whole_duration(server: KubernetesServer, api: Api) -> None:
    clock = ManualClock()
    first, second = lease(api, "first", clock), lease(api, "second", clock)
    assert (first.hold(), second.hold()) == (True, False)
    for _ in range(10):
        clock.sleep(5)
        assert (first.hold(), second.hold()) == (True, False)
    # The first is silent from now on: it stops leading before the second begins.
    clock.sleep(19)
    assert not second.hold()
    clock.sleep(5)
    assert not second.hold()
    clock.sleep(7)
    assert (second.hold(), first.hold()) == (True, False)
    found = server.api.lease(LEASE)
    assert found is not None
    assert (found["holderIdentity"], found["leaseTransitions"], found["leaseDurationSeconds"]) == ("second", 1, 30)
    assert server.api.rules() == {(verb, "coordination.k8s.io", "leases") for verb in ("get", "create", "update")}


def test_a_lease_that_is_given_back_is_taken_at_the_next_look(server: KubernetesServer, api: Api) -> None:
    clock = ManualClock()
    first, second = lease(api, "first", clock), lease(api, "second", clock)
    assert (first.hold(), second.hold()) == (True, False)
    first.release()
    first.release()
    clock.sleep(5)
    assert second.hold()
    assert [call.verb for call in server.api.calls].count("update") == 2


def test_a_holder_that_cannot_renew_stops_leading_in_time(server: KubernetesServer, api: Api) -> None:
    clock = ManualClock()
    held = lease(api, "first", clock)
    assert held.hold()
    server.api.refuse(503, times=100)
    for _ in range(3):
        clock.sleep(5)
        assert held.hold()
    clock.sleep(5)
    assert not held.hold()
    held.release()


def test_of_two_that_take_a_lease_at_once_one_does(server: KubernetesServer, api: Api) -> None:
    clock = ManualClock()
    server.api.refuse(404)
    first, second = lease(api, "first", clock), lease(api, "second", clock)
    assert first.hold()
    # The second saw none, and is refused as there is one.
    server.api.refuse(404)
    assert not second.hold()
    assert [call.verb for call in server.api.calls] == ["get", "create", "get", "create"]


def test_a_lease_that_is_throttled_is_not_asked_for_again(server: KubernetesServer, api: Api) -> None:
    clock = ManualClock()
    held = lease(api, "first", clock)
    server.api.refuse(429, headers={"Retry-After": "30"})
    with pytest.raises(ThrottledError):
        held.hold()
    assert not held.hold()
    assert len(server.api.calls) == 1


def test_the_api_of_the_tests_refuses_what_the_real_one_does(server: KubernetesServer, api: Api) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"}, "spec": {}}
    for wrong in ({"holder": "x"}, {"renewTime": "2026-01-01T00:00:00Z"}, {"leaseDurationSeconds": -1}):
        with pytest.raises(FatalError, match=r": 4\d\d: "):
            api.request("POST", leases, {**body, "spec": wrong})
    api.request("POST", leases, body)
    with pytest.raises(ConflictError, match="already exists"):
        api.request("POST", leases, body)
    with pytest.raises(MissingError):
        api.request("GET", f"{leases}/y")
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/{TIMING}/scale"
    with pytest.raises(FatalError, match="415"):
        api.request("PATCH", path, {"spec": {"replicas": 3}}, kind="application/strategic-merge-patch+json")
    assert server.api.replicas(TIMING) == 2
