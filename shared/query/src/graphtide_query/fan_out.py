"""Estimate how many matches one record completes if its edge is at the busiest vertex, by counted degrees.

A record at a hub completes a match with each choice of the hub's other edges. One vertex of the pattern is put at the busiest
vertex of the stream. The edge of the record is put there too, in the direction in which it is busy. All others are put at
vertices of mean degree. If pairs of edges at a vertex were counted, the counts show which edges the busiest vertex has.
Otherwise its edges are like those of the stream. An order keeps the share of permutations that agree with it, a condition keeps
`PREDICATE_SHARE` of them. A window longer than the counted one holds no more. The estimate is not a bound: it is for warnings,
and rejects nothing. The effect of conditions that compare attributes of two parts is unknown, so patterns with them have no
estimate.

Cost: O(n^2) for n edges, up to `_MOST_EDGES`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.path_expression import Symbol, symbols
from graphtide_core.predicate import Attribute, Compare, Comparison, conjuncts
from graphtide_core.regular_rule import Variable
from graphtide_core.statistics import Direction

from graphtide_query.estimates.cost_model import MOST, PREDICATE_SHARE, edges_in_window
from graphtide_query.symmetry import against

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_core.graph_query import GraphQuery, Input
    from graphtide_core.pattern import SubgraphPattern
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Atom, Rule, Term
    from graphtide_core.statistics import StatisticsSnapshot
    from graphtide_core.statistics.kinds import Labels
    from graphtide_core.time import TimeUnit
    from graphtide_core.window import Extent

    _Shares = tuple[float, float, float]

_MOST_EDGES: Final = 64
"""The most edges of a pattern, or atoms of a rule, that are estimated."""


class Expected(NamedTuple):
    """Matches that one record is expected to complete: how many, by which vertex of the pattern at a hub of how many edges."""

    matches: float
    vertex: str
    degree: int


class _Part(NamedTuple):
    """An edge of a pattern: its name and ends, and what it asks; equal ones are filled by different edges.

    `share` of the stream's edges fit it, `share_out` of those that leave the busiest vertex, `share_in` of those into it.
    """

    name: str
    source: str
    target: str
    asked: object
    share: float
    share_out: float
    share_in: float


class _Hub(NamedTuple):
    """The busiest vertex within the window, by edges out (`is_out`) or by edges in: `degree` of its edges go that way.

    Of those that go the other way it has `mean`, as other vertices have either way.
    """

    is_out: bool
    degree: float
    mean: float
    vertices: int


@dataclass(frozen=True, slots=True)
class _Join:
    """Parts of a pattern and what is asked of them together.

    Attributes:
        parts: the edges.
        fixed: vertices that are named by the pattern.
        wanted: vertices whose choices are matches of their own; None for all.
        before: names of edges in the timing order.
        through: the share of choices that the conditions let through.
    """

    parts: Sequence[_Part]
    fixed: frozenset[str]
    wanted: frozenset[str] | None
    before: frozenset[tuple[str, str]]
    through: float


def of_pattern(pattern: SubgraphPattern, statistics: StatisticsSnapshot, unit: TimeUnit) -> Expected | None:
    """Return what a record of a pattern is expected to complete; None where nothing is known."""
    if len(pattern.edges) > _MOST_EDGES or is_joined(pattern.predicates):
        return None
    parts = []
    for edge in pattern.edges:
        asked = (pattern.vertex(edge.source).label, edge.label, pattern.vertex(edge.target).label)
        shares = (statistics.share(pattern, edge), *_shares_at_hubs(statistics, asked, statistics.share(pattern, edge)))
        parts.append(_Part(edge.name, edge.source, edge.target, asked, *shares))
    fixed = frozenset(vertex.name for vertex in pattern.vertices if vertex.key is not None)
    join = _Join(parts, fixed, None, frozenset(pattern.order.before), through(pattern.predicates))
    return _at_hubs(join, statistics, pattern.extent(unit))


def of_rule(query: GraphQuery, rule: Rule, statistics: StatisticsSnapshot, unit: TimeUnit) -> Expected | None:
    """Return how many results by a rule of a query a record is expected to bring; None where nothing is known."""
    inputs = {each.name: each for each in query.inputs}
    conditions = [*rule.conditions, *(condition for each in query.inputs for condition in each.conditions)]
    read = {symbol.predicate for atom in rule.body for symbol in symbols(atom.expression)}
    if len(rule.body) > _MOST_EDGES or not read <= inputs.keys() or is_joined(rule.conditions):
        return None
    shares = {name: _shares_of_input(inputs[name], statistics) for name in read}
    parts = [_part_of_atom(number, atom, shares) for number, atom in enumerate(rule.body)]
    ends = [end for atom in rule.body for end in (atom.source, atom.target)]
    fixed = frozenset(_name(end) for end in ends if not isinstance(end, Variable))
    join = _Join(parts, fixed, frozenset(rule.columns), frozenset(), through(conditions))
    return _at_hubs(join, statistics, query.extent(unit))


def _at_hubs(join: _Join, statistics: StatisticsSnapshot, extent: Extent) -> Expected | None:
    """Return the most matches that any vertex of a pattern at any hub makes one record complete."""
    if not statistics.vertices:
        return None
    scale = min(1.0, edges_in_window(statistics, extent) / statistics.edges)
    mean, degrees = scale * statistics.edges / statistics.vertices, (statistics.out_degrees, statistics.in_degrees)
    out, into = (_Hub(way is degrees[0], scale * way.most, mean, statistics.vertices) for way in degrees)
    at: dict[str, list[_Part]] = defaultdict(list)
    for part in join.parts:
        for end in {part.source, part.target}:
            at[end].append(part)
    # The edge of a record may be each of the edges that ask the same: a match for each.
    found: dict[tuple[str, int, _Shares], float] = defaultdict(float)
    for start in join.parts:
        for hub in (out, into):
            vertex = start.source if hub.is_out else start.target
            asked = (start.share, start.share_out, start.share_in)
            found[vertex, round(hub.degree), asked] += _complete(join, at, start, hub)
    return max((Expected(matches, vertex, degree) for (vertex, degree, _), matches in found.items()), default=None)


def _complete(join: _Join, at: Mapping[str, Sequence[_Part]], start: _Part, hub: _Hub) -> float:
    """Return how many matches an edge of the hub that fits `start` completes."""
    if any(first == start.name for first, _ in join.before):
        # Another edge must come after it.
        return 0.0
    others = [pair for pair in join.before if start.name not in pair]
    found = join.through / (against(others) if others else 1)
    vertex = start.source if hub.is_out else start.target
    used = Counter([start.asked])
    bound = {start.source, start.target} | join.fixed
    done, waiting = {start.name}, [vertex, *({start.source, start.target} - {vertex})]
    for end in waiting:
        for part in at[end]:
            if part.name in done:
                continue
            done.add(part.name)
            is_out = part.source == end
            other = part.target if is_out else part.source
            edges = hub.mean * part.share
            if end == vertex and is_out == hub.is_out:
                edges = max(0.0, hub.degree * (part.share_out if is_out else part.share_in) - used[part.asked])
                used[part.asked] += 1
            if other in bound:
                # Of all vertices it must be the one that is chosen already.
                found *= min(1.0, edges / hub.vertices)
                continue
            bound.add(other)
            waiting.append(other)
            found *= edges if join.wanted is None or other in join.wanted or len(at[other]) > 1 else min(1.0, edges)
    return min(found, MOST) if len(done) == len(join.parts) else 0.0


def _part_of_atom(number: int, atom: Atom, shares: Mapping[str, _Shares]) -> _Part:
    ends = [_name(atom.source), _name(atom.target)]
    if isinstance(atom.expression, Symbol) and atom.expression.is_inverse:
        ends.reverse()
    read = {symbol.predicate for symbol in symbols(atom.expression)}
    of_all = [min(1.0, sum(shares[name][place] for name in read)) for place in range(3)]
    # Results are choices of vertices, which may coincide: no edge is used up.
    return _Part(str(number), ends[0], ends[1], number, *of_all)


def _name(end: Term) -> str:
    return end.name if isinstance(end, Variable) else f"={end.key}"


def _shares_of_input(input: Input, statistics: StatisticsSnapshot) -> _Shares:
    """Return the share of a stream's edges that an input has: of all, and at the busiest vertex out and in."""
    asked = (input.source_label, input.label, input.target_label)
    fit = (
        count
        for kind, count in statistics.types.items()
        if all(want in {None, has} for want, has in zip(asked, (kind.source_label, kind.label, kind.target_label), strict=True))
    )
    share = sum(fit) / statistics.edges
    return (share, *_shares_at_hubs(statistics, asked, share))


def _shares_at_hubs(statistics: StatisticsSnapshot, asked: Labels, share: float) -> tuple[float, float]:
    """Return the share of the edges of the busiest vertex that fit, out and in; `share` is that of all edges.

    Pairs of edges at a vertex grow with the square of its degree, so most are at the busiest. So the share of pairs is a
    square.
    """
    if statistics.paths is None:
        return share, share
    found = []
    for degrees, way in ((statistics.out_degrees, Direction.OUT), (statistics.in_degrees, Direction.IN)):
        pairs = degrees.squares - degrees.total
        met = statistics.path_counts.meetings((asked, way), (asked, way))
        found.append(min(1.0, sqrt(met / pairs)) if pairs > 0 else share)
    return found[0], found[1]


def through(conditions: Iterable[Expression]) -> float:
    """Return the share of choices that conditions let through."""
    return PREDICATE_SHARE ** sum(1 for each in conditions for _ in conjuncts(each))


def is_joined(conditions: Iterable[Expression]) -> bool:
    """Return whether attributes of different parts must be equal."""
    for condition in conditions:
        for each in conjuncts(condition):
            match each:
                case Compare(Comparison.EQUAL, Attribute(one), Attribute(other)) if one != other:
                    return True
    return False
