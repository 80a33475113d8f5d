"""Writes the queries of the experiments of paper 000, of any size, as patterns under dual simulation.

Fig. 1: congestion that spreads against the traffic on two ways. Fig. 8 has four: (a) a community of the periphery around people
of the core, (b) urgent calls without success, (c) citations as a tree. The star is that of Fig. 14. Fig. 2(b): a message that
is handed on twice.
"""

from __future__ import annotations

from typing import Final

_COUNTRIES: Final = ("JP", "DE", "US")
"""Of the inventors whose patents a tree cites, in turn."""


def road(edges: int, window: str, report: str = "INSTANCES") -> str:
    """Return Fig. 1 with so many roads: one, and two ways that lead to it."""
    way = (edges - 1) // 2
    parts = ["(a)-[ab:bad]->(b)"]
    order: list[str] = []
    for name in ("l", "r"):
        corners = ["a", *(f"{name}{place}" for place in range(way))]
        roads = ["ab", *(f"{name}_{place}" for place in range(way))]
        parts += [
            f"({source})-[{road}:bad]->({target})"
            for source, target, road in zip(corners[1:], corners, roads[1:], strict=False)
        ]
        order.append(" < ".join(roads))
    return _pattern(f"road_{edges}", "roads", (parts, order), window, report)


def spread(window: str, junction: str, report: str = "INSTANCES") -> str:
    """Return Fig. 1 with the road where congestion begins leading to a junction that is given."""
    return road(5, window, report).replace("PATTERN road_5", "PATTERN spread").replace("->(b)", f"->(b {{id: '{junction}'}})")


def community(edges: int, window: str, report: str = "INSTANCES") -> str:
    """Return Fig. 8(a) with so many edges: each of the core has long calls with two of the periphery, both ways."""
    parts = []
    for core in range(edges // 4):
        # As in Fig. 3(a), two of the core between the same two of the periphery.
        for place, periphery in enumerate((core // 2, core // 2 + 1)):
            parts.append(f"(p{periphery}:periphery)-[i{core}_{place}:long]->(c{core}:core)")
            parts.append(f"(c{core})-[o{core}_{place}:long]->(p{periphery})")
    return _pattern(f"community_{edges}", "calls", (parts, []), window, report)


def urgent(degree: int, window: str, report: str = "INSTANCES") -> str:
    """Return Fig. 8(b) where one of the core makes so many short calls, half of them to each of two of the periphery."""
    parts = [f"(c:core)-[{name}:short *{degree // 2}]->({name}p:periphery)" for name in ("l", "r")]
    return _pattern(f"urgent_{degree}", "calls", (parts, []), window, report)


def star(degree: int, window: str, report: str = "INSTANCES") -> str:
    """Return the star of Fig. 14: a patent of the US that cites so many, one of JP and one of DE among them."""
    parts = ["(u:US)-[j:cites]->(jp:JP)", "(u)-[d:cites]->(de:DE)"]
    parts += [f"(u)-[o{place}:cites]->(v{place})" for place in range(degree - 2)]
    return _pattern(f"star_{degree}", "citations", (parts, []), window, report)


def tree(fan_out: int, window: str, report: str = "INSTANCES") -> str:
    """Return Fig. 8(c) with so many citations of each patent: what is below comes before."""
    parts: list[str] = []
    order: list[str] = []
    for place in range(fan_out):
        parts.append(f"(u:US)-[c{place}:cites]->(v{place}:{_COUNTRIES[place % 2]})")
        for below in range(fan_out):
            country = _COUNTRIES[(place + below + 1) % 3]
            parts.append(f"(v{place})-[c{place}_{below}:cites]->(w{place}_{below}:{country})")
            order.append(f"c{place}_{below} < c{place}")
    return _pattern(f"tree_{fan_out}", "citations", (parts, order), window, report)


def influence(first: int, second: int, window: str, report: str = "INSTANCES") -> str:
    """Return Fig. 2(b): a user whom so many hand on, each of whom so many hand on in turn."""
    parts: list[str] = []
    order: list[str] = []
    for place in range(first):
        parts.append(f"(u:user)-[r{place}:retweet]->(v{place}:user)")
        for below in range(second):
            parts.append(f"(v{place})-[r{place}_{below}:retweet]->(w{place}_{below}:user)")
            order.append(f"r{place} < r{place}_{below}")
    return _pattern(f"influence_{first}_{second}", "retweets", (parts, order), window, report)


def _pattern(name: str, stream: str, graph: tuple[list[str], list[str]], window: str, report: str) -> str:
    parts, order = graph
    lines = [f"PATTERN {name}", f"MATCH {', '.join(parts)}"]
    if order:
        lines.append(f"ORDER {', '.join(order)}")
    return "\n".join([*lines, f"UNDER DUAL SIMULATION REPORT {report}", f"ON {stream} WINDOW {window}"]) + "\n"
