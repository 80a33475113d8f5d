"""How matches and patterns show themselves in a notebook, and the magic of cells.

All is HTML and SVG without scripts, and loads nothing. Names of the data are text, whatever they hold. What is long is cut, and
says how much is left out.

`%load_ext graphtide` draws patterns of edges and adds `%%graphtide DATA`, whose cell is the text of patterns:

    %%graphtide flows.csv --as found
    PATTERN hop MATCH (a)-[x:tcp]->(b)-[y:tcp]->(c) ORDER x < y ON flows WINDOW 2m
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.pattern import SubgraphPattern
from graphtide_core.time import TimeUnit, iso_time
from graphtide_query.markup import markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.match import Match

SHOWN: Final = 20
"""Matches that are shown of a list."""

_LONGEST: Final = 120
"""Characters of a cell."""

_WIDTH, _ROW = 220, 14
_RADIUS: Final = 16
_STYLE: Final = "font:13px sans-serif;border-collapse:collapse"
_CELL: Final = "text-align:left;padding:2px 10px;vertical-align:top"


def show_matches(matches: Sequence[Match], unit: TimeUnit) -> str:
    """Return the first matches as a table: when each was complete, how long it took, what it binds."""
    first = list(islice(matches, SHOWN))
    longest = max((each.last_ts - each.first_ts for each in first), default=0)
    rows = "".join(f"<tr>{''.join(_cell(each) for each in _row(match, unit, longest))}</tr>" for match in first)
    titles = "".join(f'<th style="{_CELL}">{each}</th>' for each in ("Complete at", "Pattern", "Took", "", "What"))
    left = len(matches) - len(first)
    more = f"<p>and {left:,} more</p>" if left else ""
    count = f"<p><b>{len(matches):,}</b> {'match' if len(matches) == 1 else 'matches'}</p>"
    table = f'<table style="{_STYLE}"><thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>' if first else ""
    return f"<div>{count}{table}{more}</div>"


def draw_pattern(pattern: SubgraphPattern) -> str:
    """Return a pattern of edges as SVG: vertices in a circle, and with an order a number before each edge.

    An edge with a smaller number comes before one with a larger number where the pattern says so.
    """
    count = len(pattern.vertices)
    circle = 0.0 if count == 1 else 50.0 + 22.0 * count
    middle = circle + 70
    places = {
        vertex.name: (
            middle + 1.3 * circle * math.cos(math.pi + 2 * math.pi * number / count) + 0.3 * circle,
            middle + circle * math.sin(math.pi + 2 * math.pi * number / count),
        )
        for number, vertex in enumerate(pattern.vertices)
    }
    ranks = _ranks(pattern)
    drawn, between = list[str](), dict[frozenset[str], int]()
    for edge in pattern.edges:
        ends = frozenset({edge.source, edge.target})
        nth = between[ends] = between.get(ends, -1) + 1
        rank = f"{ranks[edge.name]} · " if ranks else ""
        text = f"{rank}{edge.name}{'' if edge.label is None else f':{edge.label}'}"
        drawn.append(_edge(places[edge.source], places[edge.target], nth, text, is_turned=edge.source > edge.target))
    for vertex in pattern.vertices:
        x, y = places[vertex.name]
        text = f"{vertex.name}{'' if vertex.label is None else f':{vertex.label}'}"
        drawn.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{_RADIUS}" fill="#0b5c6b"/>')
        drawn.append(f'<text x="{x:.0f}" y="{y + 32:.0f}" text-anchor="middle" font-size="12">{markup(_cut(text))}</text>')
    width, height = 2.6 * circle + 2 * middle - 2 * circle, 2 * middle
    marker = (
        '<marker id="graphtide-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0L8,4L0,8z"/></marker>'
    )
    title = f"<title>{markup(pattern.name)}</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'font-family="sans-serif">{title}<defs>{marker}</defs>{"".join(drawn)}</svg>'
    )


def load_ipython_extension(shell: Any) -> None:
    """Draw patterns in a notebook, and add the magic `%%graphtide`."""
    shell.display_formatter.formatters["image/svg+xml"].for_type(SubgraphPattern, draw_pattern)
    shell.register_magic_function(lambda line, cell: run_cell(shell, line, cell), "cell", "graphtide")


def run_cell(shell: Any, line: str, cell: str) -> object:
    """Match the patterns of a cell over the data that its line names: a file, or a variable of the notebook.

    An error of the text is shown with its place, and is no error of the notebook.
    """
    from graphtide_core.errors import GraphtideError  # noqa: PLC0415 - only cells need it
    from graphtide_query import parse  # noqa: PLC0415

    from graphtide.matches import MatchList  # noqa: PLC0415
    from graphtide.session import match  # noqa: PLC0415

    options = _arguments().parse_args(shlex.split(line))
    known: Mapping[str, object] = shell.user_ns
    data = known.get(options.data, options.data) if options.data.isidentifier() else options.data
    try:
        patterns = parse(cell)
        matches = MatchList(match(patterns, data), patterns)
    except GraphtideError as error:
        sys.stderr.write(f"{error}\n")
        return None
    if options.name:
        shell.user_ns[options.name] = matches
    return matches


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%graphtide", description="Match the patterns of the cell.", exit_on_error=False)
    parser.add_argument("data", help="a file, or the name of a variable")
    parser.add_argument("--as", dest="name", help="keep the matches under this name")
    return parser


def _row(match: Match, unit: TimeUnit, longest: int) -> tuple[str, str, str, str, str]:
    took = match.last_ts - match.first_ts
    seconds = took * unit.nanoseconds / 1e9
    return (
        markup(iso_time(match.detected_at, unit)),
        markup(f"{match.query}{'' if match.kind.value == 'match' else f' ({match.kind.value})'}"),
        f"{seconds:,.3g} s",
        _bar(took, longest),
        markup(_cut(", ".join(_bound(match)))),
    )


def _bar(took: int, longest: int) -> str:
    """Return how long a match took beside the longest, as a line."""
    length = _WIDTH if longest == 0 else round(_WIDTH * took / longest)
    return (
        f'<svg width="{_WIDTH + 8}" height="{_ROW}"><line x1="4" x2="{4 + length}" y1="7" y2="7" stroke="#1296a8" '
        f'stroke-width="2"/><circle cx="4" cy="7" r="3"/><circle cx="{4 + length}" cy="7" r="4" fill="#1296a8"/></svg>'
    )


def _bound(match: Match) -> Iterable[str]:
    """Yield what a match binds: vertices, else events or edges, else its ends."""
    for member in ("vertices", "events", "edges"):
        bound: Mapping[str, object] | None = getattr(match, member, None)
        if bound:
            for name, value in bound.items():
                yield f"{name} {value}" if isinstance(value, str) else f"{name}: {len(value)} records"  # type: ignore[arg-type]
            return
    ends = [str(getattr(match, member)) for member in ("source", "target") if hasattr(match, member)]
    yield " → ".join(ends)


def _cell(html: str) -> str:
    return f'<td style="{_CELL}">{html}</td>'


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _ranks(pattern: SubgraphPattern) -> dict[str, int]:
    """Return 1 for edges before which none must come, and one more than the largest before it for another."""
    before = pattern.order.before
    if not before:
        return {}
    ranks: dict[str, int] = {}
    for edge in sorted(pattern.edges, key=lambda each: sum(later == each.name for _, later in before)):
        ranks[edge.name] = 1 + max((ranks[first] for first, later in before if later == edge.name), default=0)
    return ranks


def _edge(source: tuple[float, float], target: tuple[float, float], nth: int, text: str, *, is_turned: bool) -> str:
    """Return a curved arrow; those between the same vertices bend one more than the other."""
    (x1, y1), (x2, y2) = source, target
    dx, dy = x2 - x1, y2 - y1
    length = math.hypot(dx, dy)
    if length == 0:
        top, far = y1 - _RADIUS, y1 - 70 - 14 * nth
        path = f"M{x1 - 8:.0f},{top:.0f} C{x1 - 40:.0f},{far:.0f} {x1 + 40:.0f},{far:.0f} {x1 + 8:.0f},{top:.0f}"
        x, y = x1, y1 - 58.0 - 14 * nth
    else:
        # The side of a bend is that of the pair of vertices, not of the direction.
        side = (-1 if nth % 2 else 1) * (-1 if is_turned else 1)
        bend = side * (nth + 1) // 2 * 44 + side * 12
        nx, ny = -dy / length, dx / length
        cx, cy = (x1 + x2) / 2 + nx * bend, (y1 + y2) / 2 + ny * bend
        ex, ey = _towards((x2, y2), (cx, cy))
        bx, by = _towards((x1, y1), (cx, cy))
        path = f"M{bx:.0f},{by:.0f} Q{cx:.0f},{cy:.0f} {ex:.0f},{ey:.0f}"
        x, y = (x1 + 2 * cx + x2) / 4, (y1 + 2 * cy + y2) / 4
    line = f'<path d="{path}" fill="none" stroke="#52636b" stroke-width="1.6" marker-end="url(#graphtide-arrow)"/>'
    label = (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="middle" font-size="11" stroke="#fff" stroke-width="4" '
        f'paint-order="stroke">{markup(_cut(text))}</text>'
    )
    return line + label


def _towards(end: tuple[float, float], point: tuple[float, float]) -> tuple[float, float]:
    """Return the place on a vertex's rim that lies towards a point."""
    dx, dy = point[0] - end[0], point[1] - end[1]
    length = math.hypot(dx, dy) or 1.0
    return end[0] + dx / length * (_RADIUS + 2), end[1] + dy / length * (_RADIUS + 2)
