"""Generates a day of network flows with planted data exfiltrations.

The attack is Figure 1 of paper 004. A victim v browses a compromised website w, which answers with malware. Then v registers at
a command server s, gets a command and sends data out, in this order within ten minutes.

Only planted instances match, by construction:

1. Background uploads over tcp of more than 1,000,000 bytes go to storage servers, which never send tcp; every other tcp flow is
   smaller. So no two background hosts have both a large upload and a command: c, d and e of a match are planted.
2. Every instance and decoy has a command server and a website of its own that the background never touches, and a victim of its
   own: c, d and e are those of one instance, and so is v.
3. In the ten minutes up to the end of its instance a victim gets no http answer but the planted one. So b is planted too, hence
   w, hence a.

Cost: O(n log n) for n flows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_generate.frequencies import draw_kinds
from graphtide_generate.schedule import DAY, MIDNIGHT, MINUTE, background_times, instance_times, popularity, too_slow
from graphtide_generate.stream import Draft, Drafts, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.edge import Value

    from graphtide_generate.stream import GeneratedStream

WINDOW = 10 * MINUTE
LARGE = 1_000_000
"""Bytes that an upload must exceed to count as exfiltration."""

PATTERN = """\
PATTERN exfiltration
MATCH (v:ip)-[a:http]->(w:ip), (w)-[b:http]->(v), (v)-[c:tcp]->(s:ip), (s)-[d:tcp]->(v), (v)-[e:tcp]->(s)
WHERE e.bytes > 1000000
ORDER a < b < c < d < e
ON flows WINDOW 10m
"""

FLAWS = ("wrong order", "too slow", "too few bytes", "different server", "tie")


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """How much traffic, between how many hosts, when. Times in milliseconds; `recipe.records` counts background flows."""

    recipe: Recipe = field(default_factory=lambda: Recipe(records=300_000, planted=10, decoys=20))
    hosts: int = 2_000
    servers: int = 1_000
    start: int = MIDNIGHT
    duration: int = DAY

    def __post_init__(self) -> None:
        """Refuse what leaves no room.

        Raises:
            ValueError: fewer hosts than victims, no servers, or a stream no longer than the attack.
        """
        hidden = self.recipe.planted + self.recipe.decoys
        if self.hosts < max(1, hidden) or self.servers < 1:
            message = f"{hidden} instances and decoys need as many hosts and a server"
            raise ValueError(message)
        if self.duration <= 2 * WINDOW:
            message = f"the stream must last longer than {2 * WINDOW} ms"
            raise ValueError(message)
        if hidden > _RESERVED or self.servers > _PUBLIC or self.hosts > _PRIVATE:
            message = "there are too few addresses"
            raise ValueError(message)


_Service = tuple[str, int]
"""Label and port of a flow."""

_HTTP: _Service = ("http", 80)
_HTTPS: _Service = ("https", 443)
_CONTROL: _Service = ("tcp", 8_443)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of background flow: how often it occurs, who sends it, and its size as the parameters of a log-normal law."""

    service: _Service
    weight: float
    from_server: bool
    mu: float
    sigma: float = 1.4


_UPLOAD = _Kind(("tcp", 873), 0.6, from_server=False, mu=15.5, sigma=0.9)
_KINDS = (
    _Kind(_HTTPS, 26, from_server=False, mu=8.5),
    _Kind(_HTTPS, 8, from_server=True, mu=9.5),
    _Kind(_HTTP, 18, from_server=False, mu=7.0),
    _Kind(_HTTP, 11, from_server=True, mu=9.5),
    _Kind(("dns", 53), 16, from_server=False, mu=4.6, sigma=0.4),
    _Kind(_CONTROL, 7, from_server=False, mu=7.5),
    _Kind(_CONTROL, 5, from_server=True, mu=7.5),
    _Kind(("ssh", 22), 3, from_server=False, mu=8.0),
    _Kind(("smtp", 25), 2, from_server=False, mu=9.0),
    _Kind(("ntp", 123), 2, from_server=False, mu=4.5, sigma=0.1),
    _Kind(("icmp", 0), 1.4, from_server=False, mu=4.4, sigma=0.2),
    _UPLOAD,
)
_WEIGHTS = {kind: kind.weight for kind in _KINDS}
_LABELS = {kind: kind.service[0] for kind in _KINDS}
_STATES = ("SF", "SF", "SF", "SF", "SF", "SF", "S1", "RSTO", "S0", "REJ")
_RESERVED, _PUBLIC, _PRIVATE = 60_000, 3_000_000, 16_000_000


def generate(options: NetworkOptions) -> GeneratedStream:
    """Return the flows of `options`, with ids f000000, f000001, … in the order of time."""
    rng = random.Random(options.recipe.seed)  # noqa: S311 - test data, no secrets
    hosts = [_private(number) for number in rng.sample(range(_PRIVATE), options.hosts)]
    drafts = Drafts("exfiltration")
    quiet: dict[str, tuple[int, int]] = {}
    victims = rng.sample(hosts, options.recipe.planted + options.recipe.decoys)
    for number, victim in enumerate(victims):
        flaw = None if number < options.recipe.planted else FLAWS[(number - options.recipe.planted) % len(FLAWS)]
        edges, vertices = _attack(rng, options, victim, number, flaw)
        last = max(draft.ts for draft in edges.values())
        quiet[victim] = (last - WINDOW, last)
        if flaw is None:
            drafts.plant(edges, vertices)
        else:
            drafts.decoy(edges, flaw)
    drafts.add(_background(rng, options, hosts, quiet))
    return drafts.finish("f", PATTERN)


def _attack(
    rng: random.Random, options: NetworkOptions, victim: str, number: int, flaw: str | None
) -> tuple[dict[str, Draft], dict[str, str]]:
    """Return the five flows of one attack, or of a near miss with that flaw, and its vertices."""
    site, server, other = _website(number), _command_server(2 * number), _command_server(2 * number + 1)
    times = instance_times(rng, 5, options.start, options.duration - MINUTE, WINDOW)
    size = rng.randrange(LARGE + 1, 50 * LARGE)
    commander = server
    match flaw:
        case "wrong order":
            times[3], times[4] = times[4], times[3]
        case "too slow":
            times = too_slow(rng, times, WINDOW)
        case "too few bytes":
            size = LARGE - rng.choice((0, 0, rng.randrange(LARGE // 2)))
        case "different server":
            commander = other
        case "tie":
            at = rng.randrange(4)
            times[at + 1] = times[at]
        case _:
            pass
    edges = {
        "a": _flow(rng, times[0], (victim, site), _HTTP, rng.randrange(300, 2_000)),
        "b": _flow(rng, times[1], (site, victim), _HTTP, rng.randrange(20_000, 900_000)),
        "c": _flow(rng, times[2], (victim, server), _CONTROL, rng.randrange(200, 3_000)),
        "d": _flow(rng, times[3], (commander, victim), _CONTROL, rng.randrange(200, 3_000)),
        "e": _flow(rng, times[4], (victim, server), _CONTROL, size),
    }
    return edges, {"v": victim, "w": site, "s": server}


def _background(
    rng: random.Random, options: NetworkOptions, hosts: list[str], quiet: dict[str, tuple[int, int]]
) -> Iterator[Draft]:
    count = options.recipe.records
    times = background_times(rng, count, options.start, options.duration)
    kinds = draw_kinds(rng, _WEIGHTS, _LABELS, options.recipe)
    inside = rng.choices(hosts, cum_weights=popularity(len(hosts), 0.9), k=count)
    servers = [_public(number) for number in rng.sample(range(_PUBLIC), options.servers)]
    outside = rng.choices(servers, cum_weights=popularity(len(servers), 1.1), k=count)
    storage = [f"192.0.2.{number}" for number in range(1, 11)]
    for ts, kind, host, server in zip(times, kinds, inside, outside, strict=True):
        size = int(rng.lognormvariate(kind.mu, kind.sigma)) + 40
        if kind is _UPLOAD:
            yield _flow(rng, ts, (host, rng.choice(storage)), kind.service, size)
            continue
        if kind.service is _CONTROL:
            size = min(size, LARGE)
        if not kind.from_server:
            yield _flow(rng, ts, (host, server), kind.service, size)
            continue
        service = kind.service
        if service is _HTTP and host in quiet and quiet[host][0] <= ts <= quiet[host][1]:
            service = _HTTPS
        yield _flow(rng, ts, (server, host), service, size)


def _flow(rng: random.Random, ts: int, ends: tuple[str, str], service: _Service, size: int) -> Draft:
    label, port = service
    state = _STATES[int(rng.random() * 10)]
    attributes: dict[str, Value] = {"bytes": size, "packets": 1 + size // 900, "port": port, "state": state}
    return Draft(ts, *ends, label, "ip", "ip", attributes)


def _private(number: int) -> str:
    return f"10.{number >> 16}.{(number >> 8) & 255}.{number & 255}"


def _public(number: int) -> str:
    """Return one of the addresses 100.64.0.0 to 100.109.198.191, which only the background uses."""
    return f"100.{64 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"


def _website(number: int) -> str:
    """Return a website of an attack: 198.51.100.0/24 first, then 100.126.0.0/16."""
    return f"198.51.100.{number + 1}" if number < 254 else f"100.126.{number >> 8}.{number & 255}"


def _command_server(number: int) -> str:
    """Return a command server of an attack: 203.0.113.0/24 first, then 100.120.0.0 and following."""
    return f"203.0.113.{number + 1}" if number < 254 else f"100.{120 + (number >> 16)}.{(number >> 8) & 255}.{number & 255}"
