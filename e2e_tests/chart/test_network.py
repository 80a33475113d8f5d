"""NetworkPolicies: everything is denied but the flows that the architecture names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from graphtide_testing.charts import SETS, Rendered, render

if TYPE_CHECKING:
    from collections.abc import Iterator

OPEN = "anywhere"

PODS = (
    "ingestion",
    "sequencer",
    "statistics",
    "alerts",
    "planner",
    "admin-api",
    "matcher-timing",
    "matcher-sjtree",
    "matcher-algebra",
    "matcher-event-pattern",
    "matcher-simulation",
)


def places(peers: list[dict[str, Any]] | None) -> Iterator[str]:
    """Yield where peers are: a component of the release, a namespace, a range of addresses."""
    for peer in peers if peers is not None else [{}]:
        match peer:
            case {"podSelector": {"matchLabels": labels}}:
                yield labels["app.kubernetes.io/component"]
            case {"namespaceSelector": {"matchLabels": labels}}:
                yield f"namespace {labels['kubernetes.io/metadata.name']}"
            case {"ipBlock": {"cidr": addresses}}:
                yield addresses
            case _:
                yield OPEN


def flows(release: Rendered, component: str, direction: str) -> set[tuple[str, object]]:
    """Return where a component's policy lets it connect, or whom it lets in: places, each with a port."""
    spec = release.one("NetworkPolicy", component)["spec"]
    assert spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"] == component
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    return {
        (place, port.get("port", OPEN))
        for rule in spec.get(direction, ())
        for place in places(rule.get({"egress": "to", "ingress": "from"}[direction]))
        for port in rule.get("ports", [{}])
    }


DNS = {("namespace kube-system", 53)}


@pytest.mark.parametrize("values", SETS)
def test_every_pod_of_the_release_is_denied_everything_that_its_component_is_not_allowed(values: str) -> None:
    release = render(over=values)
    denied = release.one("NetworkPolicy", "deny-all")["spec"]
    assert (denied["policyTypes"], denied.get("ingress"), denied.get("egress")) == (["Ingress", "Egress"], None, None)
    for where, pod in release.pods():
        labels = pod["metadata"]["labels"]
        assert denied["podSelector"]["matchLabels"].items() <= labels.items(), where
        assert flows(release, labels["app.kubernetes.io/component"], "egress") >= DNS


def test_by_itself_the_chart_lets_pods_go_to_kafka_some_to_redis_and_alerts_to_targets() -> None:
    release, kafka = render(), (OPEN, 9092)
    for component in PODS:
        redis = {(OPEN, 6379)} if component.startswith(("matcher-", "admin-api")) else set()
        targets = {(OPEN, 443)} if component == "alerts" else set()
        assert flows(release, component, "egress") == DNS | {kafka} | redis | targets, component


def test_by_itself_only_http_services_are_called() -> None:
    release = render()
    for component in PODS:
        called = {(OPEN, "http")} if component in {"ingestion", "admin-api"} else set()
        assert flows(release, component, "ingress") == called, component


def test_each_flow_leads_to_the_place_that_is_named() -> None:
    release = render(over="full")
    kafka = {("namespace kafka", port) for port in (9093, 9094, 9095)}
    telemetry, redis = {("192.0.2.0/24", 443)}, {("namespace redis", 6380)}
    api = {("10.96.0.1/32", port) for port in (443, 6443)}
    store = {("203.0.113.0/24", port) for port in (443, 9000)}
    issuer = {("198.51.100.0/24", 8443)}
    http = DNS | kafka | telemetry
    found = {name: flows(release, name, "egress") for name in release.of("NetworkPolicy") if name != "deny-all"}
    executors, driver = {("preprocess-executor", OPEN)}, {("preprocess", OPEN)}
    assert found == {
        "ingestion": http | issuer,
        "admin-api": http | issuer | redis,
        "sequencer": http,
        "statistics": http,
        "alerts": http | {("198.51.100.128/25", 443)},
        "backfill": http,
        "planner": http | api,
        "matcher-timing": http | redis,
        "matcher-sjtree": http | redis,
        "matcher-algebra": http | redis,
        "matcher-event-pattern": http | redis,
        "matcher-simulation": http | redis,
        "preprocess": http | store | api | executors,
        "preprocess-executor": http | store | driver | executors,
        "topics": DNS | kafka,
        "round-trip": DNS | {("ingestion", "http"), ("admin-api", "http")},
    }


def test_metrics_are_read_by_those_who_are_named_and_http_by_its_clients() -> None:
    release = render(over="full")
    monitoring = ("namespace monitoring", "http")
    callers = {monitoring, ("namespace ingress-nginx", "http"), ("round-trip", "http")}
    assert flows(release, "ingestion", "ingress") == flows(release, "admin-api", "ingress") == callers
    for component in ("sequencer", "statistics", "alerts", "planner", "backfill", "matcher-timing"):
        assert flows(release, component, "ingress") == {monitoring}
    assert flows(release, "preprocess", "ingress") == {monitoring, ("preprocess-executor", OPEN)}
    assert flows(release, "topics", "ingress") == flows(release, "round-trip", "ingress") == set()


def test_backfill_and_the_machines_of_its_cluster_call_each_other() -> None:
    spark = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "spark"}}}]
    backfill = {"enabled": True, "settings": {"master": "spark://there:7077"}, "persistence": {"existingClaim": "slices"}}
    release = render({"backfill": backfill, "networkPolicy": {"sparkCluster": spark}})
    assert flows(release, "backfill", "egress") == DNS | {(OPEN, 9092), ("namespace spark", OPEN)}
    assert flows(release, "backfill", "ingress") == {("namespace spark", OPEN)}


def test_without_the_round_trip_nobody_may_come_from_it() -> None:
    release = render({"roundTrip": {"enabled": False}}, over="full")
    assert "round-trip" not in {place for place, _ in flows(release, "ingestion", "ingress")}
    assert "round-trip" not in release.of("NetworkPolicy")


def test_policies_are_made_where_they_are_wanted() -> None:
    assert not render({"networkPolicy": {"enabled": False}}, over="full").of("NetworkPolicy")


def test_a_namespace_that_denies_everything_lets_topics_be_made_before_the_release_is_there() -> None:
    """All that the Job needs of the chart comes with it, before it."""
    release = render(over="full")
    hooks = {
        (each["kind"], each["metadata"]["name"]): each["metadata"]["annotations"]
        for each in release.manifests
        if each["metadata"]["labels"]["app.kubernetes.io/component"] == "topics"
    }
    assert {kind for kind, _ in hooks} == {"Job", "NetworkPolicy", "ServiceAccount"}
    weights = {kind: int(said["helm.sh/hook-weight"]) for (kind, _), said in hooks.items()}
    assert {said["helm.sh/hook"] for said in hooks.values()} == {"pre-install,pre-upgrade"}
    assert max(weights["NetworkPolicy"], weights["ServiceAccount"]) < weights["Job"]


def test_names_are_asked_for_where_and_on_which_ports_it_is_said() -> None:
    openshift = {"dns": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "openshift-dns"}}}]}
    local = [{"ipBlock": {"cidr": "169.254.20.10/32"}}]
    release = render({"networkPolicy": {"dns": [*openshift["dns"], *local], "dnsPorts": [53, 5353]}}, over="full")
    for name, policy in release.of("NetworkPolicy").items():
        if name == "deny-all":
            continue
        rule = policy["spec"]["egress"][0]
        assert rule["to"] == [*openshift["dns"], *local], name
        asked = {(each["protocol"], each["port"]) for each in rule["ports"]}
        assert asked == {(protocol, port) for protocol in ("TCP", "UDP") for port in (53, 5353)}, name
