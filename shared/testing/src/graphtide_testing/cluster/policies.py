"""NetworkPolicies as rules of nftables: what the network of a cluster lets each pod do.

As Kubernetes says, a pod that no policy selects for a direction may do everything in it. One that is selected may do what some
policy allows, and answers belong to what they answer. Where something is not allowed, the rules refuse it at once. What is not
understood is refused by name, so that nothing is taken to hold that was not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Manifest = Mapping[str, Any]

_DIRECTIONS: Final = {"Ingress": ("ingress", "from", "input", "saddr"), "Egress": ("egress", "to", "output", "daddr")}
"""Each direction: its rules, their peers, the hook, and which address is that of the other side."""


class UnknownPolicyError(Exception):
    """A policy says something that is not understood here."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A pod, or what stands for one: where it is, its labels and those of its namespace, its ports by name."""

    name: str
    address: str
    namespace: str
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)


def rules(pod: Peer, policies: Iterable[Manifest], pods: Sequence[Peer]) -> str:
    """Return the rules of a pod's network, for `nft -f -`.

    Raises:
        UnknownPolicyError: see there.
    """
    selecting = [each["spec"] for each in policies if _is_selected(pod, each)]
    chains = "".join(_chain(direction, pod, selecting, pods) for direction in _DIRECTIONS)
    return f"table inet policies {{\n{chains}}}\n"


def _is_selected(pod: Peer, policy: Manifest) -> bool:
    _check_fields(policy["spec"], {"podSelector", "policyTypes", "ingress", "egress"})
    return policy["metadata"]["namespace"] == pod.namespace and _has(pod.labels, policy["spec"]["podSelector"])


def _chain(direction: str, pod: Peer, selecting: Iterable[Manifest], pods: Sequence[Peer]) -> str:
    key, peers, hook, side = _DIRECTIONS[direction]
    holding = [spec for spec in selecting if direction in _types(spec)]
    lines = [f"type filter hook {hook} priority 0; policy accept;"]
    if holding:
        device = "iif" if hook == "input" else "oif"
        lines += [f"{device} lo accept", "ct state established,related accept"]
        for spec in holding:
            for rule in spec.get(key) or ():
                _check_fields(rule, {peers, "ports"})
                lines += _list_allowed(rule.get(peers) or [{}], rule.get("ports") or [{}], (pod, pods, side))
        lines += ["meta l4proto tcp reject with tcp reset", "reject"]
    return f"  chain {hook} {{\n" + "".join(f"    {line}\n" for line in lines) + "  }\n"


def _types(spec: Manifest) -> set[str]:
    return set(spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])])


def _list_allowed(peers: Sequence[Manifest], ports: Sequence[Manifest], of: tuple[Peer, Sequence[Peer], str]) -> Iterator[str]:
    """Yield a line for each of the peers and ports that are allowed."""
    pod, pods, side = of
    for peer in peers:
        for addresses, others in _places(peer, pod, pods):
            where = f"ip {side} {addresses} " if addresses else ""
            for port in ports:
                _check_fields(port, {"port", "protocol", "endPort"})
                protocol = port.get("protocol", "TCP").lower()
                # A name of a port is looked up in the called pod.
                called = [pod] if side == "saddr" else others
                for number in _numbers(port, called):
                    yield f"{where}{protocol} dport {number} accept"


def _places(peer: Manifest, pod: Peer, pods: Sequence[Peer]) -> Iterator[tuple[str, Sequence[Peer]]]:
    """Yield addresses, none for all, with the pods that are there."""
    _check_fields(peer, {"podSelector", "namespaceSelector", "ipBlock"})
    if not peer:
        yield "", pods
    elif "ipBlock" in peer:
        block = peer["ipBlock"]
        _check_fields(block, {"cidr"})
        inside = [each for each in pods if ip_address(each.address) in ip_network(block["cidr"])]
        yield block["cidr"], inside
    else:
        for other in pods:
            if "namespaceSelector" in peer:
                is_there = _has(other.namespace_labels, peer["namespaceSelector"])
            else:
                is_there = other.namespace == pod.namespace
            if is_there and _has(other.labels, peer.get("podSelector", {})):
                yield other.address, [other]


def _numbers(port: Manifest, called: Sequence[Peer]) -> Iterator[str]:
    number = port.get("port")
    if number is None:
        yield "0-65535"
    elif isinstance(number, str):
        yield from sorted({str(each.ports[number]) for each in called if number in each.ports})
    else:
        yield f"{number}-{port['endPort']}" if "endPort" in port else str(number)


def _has(labels: Mapping[str, str], selector: Manifest) -> bool:
    _check_fields(selector, {"matchLabels"})
    asked: Mapping[str, str] = selector.get("matchLabels", {})
    return asked.items() <= labels.items()


def _check_fields(said: Manifest, fields: set[str]) -> None:
    for name in said.keys() - fields:
        raise UnknownPolicyError(name)
