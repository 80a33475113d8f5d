"""NetworkPolicies as rules: what Kubernetes says of them, on policies by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest
from graphtide_testing.cluster.policies import Peer, UnknownPolicyError, rules

WEB = Peer("web", "10.0.0.1", "shop", {"app": "web"}, {"name": "shop"}, {"http": 8080})
STORE = Peer("store", "10.0.0.2", "shop", {"app": "store"}, {"name": "shop"}, {"sql": 5432})
OTHER = Peer("other", "10.0.1.1", "else", {"app": "web"}, {"name": "else"}, {"http": 9090})
PODS = (WEB, STORE, OTHER)


def policy(app: str = "web", namespace: str = "shop", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace}, "spec": {"podSelector": {"matchLabels": {"app": app}}, **spec}}


def list_allowed(pod: Peer, *policies: dict[str, Any]) -> dict[str, list[str] | None]:
    """What a pod may take and do, by hook: None is all."""
    found: dict[str, list[str] | None] = {}
    for hook, body in re.findall(r"chain (\w+) \{(.*?)\}", rules(pod, policies, PODS), re.DOTALL):
        lines = [line.strip() for line in body.strip().splitlines()]
        found[hook] = None if len(lines) == 1 else lines[3:-2]
        assert len(lines) == 1 or lines[-2:] == ["meta l4proto tcp reject with tcp reset", "reject"]
    return found


def test_a_pod_that_no_policy_selects_may_do_everything() -> None:
    of_others = policy(app="store", policyTypes=["Ingress", "Egress"])
    elsewhere = policy(namespace="else", policyTypes=["Ingress", "Egress"])
    assert list_allowed(WEB, of_others, elsewhere) == {"input": None, "output": None}


def test_a_policy_holds_for_the_directions_that_it_names_or_has_rules_for() -> None:
    assert list_allowed(WEB, policy()) == {"input": [], "output": None}
    assert list_allowed(WEB, policy(policyTypes=["Egress"])) == {"input": None, "output": []}
    assert list_allowed(WEB, policy(egress=[{}])) == {"input": [], "output": ["tcp dport 0-65535 accept"]}


def test_what_some_policy_allows_is_allowed() -> None:
    one = policy(ingress=[{"from": [{"podSelector": {}}], "ports": [{"port": "http"}]}])
    other = policy(ingress=[{"from": [{"ipBlock": {"cidr": "192.168.0.0/16"}}], "ports": [{"port": 1, "endPort": 9}]}])
    assert list_allowed(WEB, one, other)["input"] == [
        "ip saddr 10.0.0.1 tcp dport 8080 accept",
        "ip saddr 10.0.0.2 tcp dport 8080 accept",
        "ip saddr 192.168.0.0/16 tcp dport 1-9 accept",
    ]


def test_pods_of_other_namespaces_are_meant_where_it_says_so() -> None:
    namespaces = {"namespaceSelector": {"matchLabels": {"name": "else"}}}
    some = {**namespaces, "podSelector": {"matchLabels": {"app": "store"}}}
    assert list_allowed(WEB, policy(ingress=[{"from": [namespaces]}]))["input"] == [
        "ip saddr 10.0.1.1 tcp dport 0-65535 accept"
    ]
    assert list_allowed(WEB, policy(ingress=[{"from": [some]}]))["input"] == []


def test_a_port_by_name_is_that_of_the_called_pod() -> None:
    to = policy(
        policyTypes=["Egress"], egress=[{"to": [{"namespaceSelector": {}}], "ports": [{"port": "http"}, {"port": "sql"}]}]
    )
    assert list_allowed(WEB, to)["output"] == [
        "ip daddr 10.0.0.1 tcp dport 8080 accept",
        "ip daddr 10.0.0.2 tcp dport 5432 accept",
        "ip daddr 10.0.1.1 tcp dport 9090 accept",
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/9"]}}]}]},
        {"ingress": [{"from": [{"podSelector": {"matchExpressions": []}}]}]},
        {"ingress": [{"sources": []}]},
        {"ingress": [{"ports": [{"name": "http"}]}]},
    ],
)
def test_what_is_not_understood_is_refused_by_name(spec: dict[str, Any]) -> None:
    with pytest.raises(UnknownPolicyError, match=r"^(except|matchExpressions|sources|name)$"):
        rules(WEB, [policy(**spec)], PODS)
