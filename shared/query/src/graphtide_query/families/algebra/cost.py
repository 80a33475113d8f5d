"""Estimate the state and the cost of a plan of a streaming graph query, operator by operator.

An expression is estimated by its tuples valid at once and its distinct ends. A third number is the tuples that begin or are
extended for each edge of the stream. Edges of a label are its share of the stream in the window. Counted 2-edge paths give how
often two labels meet; without them, degrees give how much likelier things meet at hubs. A PATH has, for each state of its
automaton, the reached pairs of a root and a vertex. They grow from state to state by the arcs at a vertex, bounded by the roots
and vertices. A pair improves as often as there are ways to it, at most once a slide. The estimates rank plans; they are not
predictions. Weights were set so that plans of Q2, Q3 and Q4 over `mathoverflow` rank as measured. The engines differ in the
cost of a PATH: `s-path` takes 32 roots at a time and `delta-tree` one. So the latter costs less for a single root and more for
many, as measured (`docs/benchmarks/graph-queries.md`). Memory is not part of the cost.

Reference: paper 001, sections 6.2 and 7.4, for what operators do; paper 003, section 5.1, for counted 2-edge paths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Filter, Path, Pattern, Union, WScan, operands
from graphtide_core.path_expression import reversed_expression, symbols
from graphtide_core.plans import PathEngine
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal
from graphtide_core.regular_rule import Constant, Variable
from graphtide_core.statistics import Direction, StatisticsSnapshot

from graphtide_query.estimates.budget import PlanningBudget, Work
from graphtide_query.estimates.cost_model import (
    DEFAULT_EDGES_IN_WINDOW,
    EDGE_LABEL_SHARE,
    MOST,
    PREDICATE_SHARE,
    VERTEX_LABEL_SHARE,
)
from graphtide_query.families.algebra.automaton import automaton_of
from graphtide_query.families.algebra.path_reach import Estimate, Walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_core.algebra import Algebra, PatternOperand
    from graphtide_core.plans.algebra import Automaton
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Term
    from graphtide_core.time import TimeUnit

    from graphtide_query.families.algebra.physical import Steps


@dataclass(frozen=True, slots=True)
class Walking:
    """The nanoseconds of a path.

    Attributes:
        arc: for an arc that changes, at each transition.
        root: for each root whose paths such an arc may lengthen.
        node: for a node whose end improves, from one root.
    """

    arc: float
    root: float
    node: float


SCAN: Final = 60.0
"""Nanoseconds for an edge that a scan examines."""
CHANGE: Final = 150.0
"""For a tuple that changes."""
LOOK_UP: Final = 60.0
"""For a row that a join extends by a part, or a tuple that it examines."""
WALKING: Final = {PathEngine.S_PATH: Walking(1000.0, 8.0, 40.0), PathEngine.DELTA_TREE: Walking(1000.0, 24.0, 120.0)}
"""For a path, by the engine that runs it."""
WALKING_ONE_TREE: Final = Walking(600.0, 8.0, 40.0)
"""For a path from a single root with its own tree."""
HELD: Final = 0.002
"""For a tuple held: state outside the cache costs every look-up."""
_UNITS_OF_A_PART: Final = 4
"""Units of work to estimate a part of a join."""
_UNITS_OF_A_TRANSITION: Final = 16
"""Units to create and walk a transition of an automaton."""
_DEFAULT_SKEW: Final = 4.0
_DEFAULT_VERTICES: Final = 200
"""Without statistics: windows with long closures, for which the plan matters."""


class AlgebraCost:
    """Estimates of expressions over one stream, run by one engine; cached.

    Attributes:
        steps: the cheapest join orders of PATTERNs, as far as they were compared.
    """

    def __init__(
        self,
        statistics: StatisticsSnapshot | None,
        unit: TimeUnit,
        engine: PathEngine = PathEngine.S_PATH,
        work: Work | None = None,
    ) -> None:
        """Take the statistics of the stream; without them, only structure decides.

        Args:
            statistics: of the stream.
            unit: of the stream's time.
            engine: that runs PATHs.
            work: counts estimates whose cost grows with their operator.
        """
        self._work = work or Work("", PlanningBudget())
        self._known = statistics or StatisticsSnapshot()
        self._unit = unit
        self._engine = engine
        self.steps: dict[Pattern, tuple[Steps, Estimate]] = {}
        self._found: dict[Algebra, Estimate] = {}
        self._shares: dict[tuple[str | None, str | None, str | None], float] = {}

    def of(self, expression: Algebra) -> Estimate:
        """Return the estimate of an expression. Complexity: linear in its operator's parts or transitions, once."""
        found = self._found.get(expression)
        if found is None:
            found = self._found[expression] = self._estimated(expression)
        return found

    def total_of(self, estimate: Estimate, *, is_read: bool = True) -> float:
        """Return the nanoseconds of an operator with its state for an edge; `is_read` if another operator reads it."""
        return min(MOST, estimate.nanoseconds + HELD * estimate.held + (estimate.kept if is_read else 0.0))

    # ---- the stream

    @cached_property
    def vertices(self) -> float:
        """Distinct vertices that edges are spread over."""
        return float(max(2, self._known.vertices or _DEFAULT_VERTICES))

    @cached_property
    def skew(self) -> float:
        """How much likelier two edges meet because some vertices have many edges."""
        out, into = self._known.out_degrees, self._known.in_degrees
        if not out.total or not into.total:
            return _DEFAULT_SKEW if not self._known.edges else 1.0
        squares = math.sqrt(float(out.squares) * float(into.squares))
        return max(1.0, squares * self.vertices / (float(out.total) * float(into.total)))

    def edges(self, scan: WScan) -> float:
        """Return the edges of any label in a window."""
        if not self._known.edges:
            return DEFAULT_EDGES_IN_WINDOW
        lookback = scan.window.lookback(self._unit)
        return max(1.0, self._known.edges * lookback / self._known.span) if self._known.span > 0 else float(self._known.edges)

    def _renewals(self, expression: Algebra, ways: float) -> float:
        """Return how often a tuple with a number of derivations is extended in a window, at most once a slide."""
        scan = _first_scan(expression)
        slides = scan.window.lookback(self._unit) / scan.window.step(self._unit)
        return max(1.0, min(slides, self.edges(scan), math.sqrt(max(1.0, ways))))

    def _share(self, label: str | None, source: str | None, target: str | None) -> float:
        key = (label, source, target)
        if key not in self._shares:
            asked = (source, label, target)
            if self._known.edges:
                counted = sum(
                    count
                    for kind, count in self._known.types.items()
                    if all(
                        each is None or each == has
                        for each, has in zip(asked, (kind.source_label, kind.label, kind.target_label), strict=True)
                    )
                )
                self._shares[key] = counted / self._known.edges
            else:
                ends = (source is not None) + (target is not None)
                self._shares[key] = (1.0 if label is None else EDGE_LABEL_SHARE) * VERTEX_LABEL_SHARE**ends
        return self._shares[key]

    def _distinct(self, tuples: float, most: float | None = None) -> float:
        """Return how many distinct vertices, or other things, have tuples that are spread over them as edges are."""
        most = self.vertices if most is None else max(1.0, most)
        return min(tuples, most * -math.expm1(-tuples / most / math.sqrt(self.skew)))

    # ---- operators

    def _estimated(self, expression: Algebra) -> Estimate:
        match expression:
            case WScan():
                return self._scan(expression, (), None, None)
            case Filter(WScan() as scan, conditions, source_label, target_label):
                return self._scan(scan, conditions, source_label, target_label)
            case Filter(operand, conditions):
                below, share = self.of(operand), self._passing(conditions)
                tuples, changes = below.tuples * share, below.changes * share
                cost = LOOK_UP * below.changes + CHANGE * changes
                return self._relation(tuples, below.sources, below.targets, changes, cost)
            case Union(several):
                all_of = [self.of(each) for each in several]
                changes = sum(each.changes for each in all_of)
                tuples = sum(each.tuples for each in all_of)
                sources, targets = (sum(ends) for ends in zip(*((each.sources, each.targets) for each in all_of), strict=True))
                return self._relation(tuples, sources, targets, changes, CHANGE * changes)
            case Pattern():
                return self.joined(expression, (tuple(range(len(expression.parts))),))
            case Path():  # pragma: no branch - mypy knows that no case is left
                return self._walked(expression)

    def _relation(self, tuples: float, sources: float, targets: float, changes: float, cost: float) -> Estimate:
        sources, targets = min(sources, self.vertices), min(targets, self.vertices)
        tuples = min(tuples, sources * targets, MOST)
        sources, targets = min(sources, tuples), min(targets, tuples)
        return Estimate(tuples, sources, targets, min(changes, MOST), tuples, min(cost, MOST))

    def _scan(
        self, scan: WScan, conditions: Sequence[Expression], source_label: str | None, target_label: str | None
    ) -> Estimate:
        share = self._share(scan.label, source_label, target_label) * self._passing(conditions)
        tuples = share * self.edges(scan)
        ends = {name: self._distinct(tuples) for name in ("src", "dst")}
        for condition in conditions:
            if (name := _fixed_end(condition)) is not None:
                ends[name] = min(1.0, tuples)
        return self._relation(tuples, ends["src"], ends["dst"], share, SCAN + CHANGE * share)

    def _passing(self, conditions: Iterable[Expression]) -> float:
        return math.prod(1 / self.vertices if _fixed_end(each) is not None else PREDICATE_SHARE for each in conditions)

    def meeting(self, left: Algebra, direction: Direction, right: Algebra, other: Direction) -> float:
        """Return how much likelier than by chance tuples of two expressions share an end."""
        left, direction = _below(left, direction)
        right, other = _below(right, other)
        labels = _label_of(left), _label_of(right)
        if self._known.paths and None not in labels and self._known.edges:
            one, two = ((None, label, None) for label in labels)
            pairs = self._known.path_counts.paths((one, direction), (two, other))
            counts = self._share(labels[0], None, None), self._share(labels[1], None, None)
            expected = math.prod(counts) * float(self._known.edges) ** 2 / self.vertices
            return max(0.05, pairs / expected) if expected > 0 else 1.0
        return math.sqrt(self.skew)

    # ---- PATTERN

    def joined(self, pattern: Pattern, groups: Sequence[Sequence[int]]) -> Estimate:
        """Return the estimate of a PATTERN whose parts are joined in groups, each with the earlier result."""
        parts = pattern.parts
        cost = held = 0.0
        taken: list[int] = []
        rows = changes = 0.0
        for group in groups:
            sides = [(rows, changes)] if taken else []
            sides += [(each.tuples, each.changes) for each in (self.of(parts[number].operand) for number in group)]
            taken += group
            found = self._rows([parts[number] for number in taken])
            derived = sum(found * change / max(1e-9, count) for count, change in sides)
            # Each change is looked up in every other part, and the results are visited.
            looked = sum(change for _, change in sides) * max(1, len(sides) - 1) + derived * max(1, len(sides) - 1)
            cost += LOOK_UP * looked
            kept = found if len(taken) < len(parts) else self._projected(pattern, found)
            # Some of several derivations of one tuple extend its validity.
            share = kept / found if found > 0 else 1.0
            rows, changes = kept, derived * share * self._renewals(pattern, 1 / max(share, 1 / MOST))
            cost += CHANGE * changes
            held += kept if len(taken) < len(parts) else 0.0
        rows *= self._passing(pattern.conditions)
        changes *= self._passing(pattern.conditions)
        first, last = (self._column(pattern, column) for column in (pattern.columns[0], pattern.columns[-1]))
        if len(pattern.columns) > 2:
            return Estimate(min(rows, MOST), first, last, min(changes, MOST), min(rows + held, MOST), min(cost, MOST))
        found_all = self._relation(rows, first, last, changes, cost)
        return replace(found_all, held=min(MOST, found_all.tuples + held))

    def _rows(self, parts: Sequence[PatternOperand]) -> float:
        """Return how many rows a join of parts has, before it is projected.

        If two connected parts meet, a cycle closes: hubs do not make that likelier.
        """
        self._work.do(_UNITS_OF_A_PART * len(parts))
        found = 1.0
        at: dict[Term, list[tuple[int, Direction]]] = {}
        for number, part in enumerate(parts):
            estimate = self.of(part.operand)
            found = min(MOST, found * estimate.tuples)
            for end, direction in ((part.source, Direction.OUT), (part.target, Direction.IN)):
                if isinstance(end, Constant):
                    found /= max(1.0, estimate.sources if direction is Direction.OUT else estimate.targets)
                else:
                    at.setdefault(end, []).append((number, direction))
        groups = list(range(len(parts)))
        for ends in at.values():
            for (one, way), (other, other_way) in pairwise(ends):
                found /= self.vertices
                if groups[one] != groups[other]:
                    found *= self.meeting(parts[one].operand, way, parts[other].operand, other_way)
                    merged, gone = groups[one], groups[other]
                    groups = [merged if group == gone else group for group in groups]
        return found

    def _column(self, pattern: Pattern, column: str) -> float:
        """Return the distinct vertices of a column: the least of its parts."""
        least = self.vertices
        for part in pattern.parts:
            estimate = self.of(part.operand)
            for end, count in ((part.source, estimate.sources), (part.target, estimate.targets)):
                if not isinstance(end, Constant) and end.name == column:
                    least = min(least, count)
        return least

    def _projected(self, pattern: Pattern, rows: float) -> float:
        ends = {end.name for part in pattern.parts for end in (part.source, part.target) if isinstance(end, Variable)}
        if ends <= set(pattern.columns):
            return rows
        most = math.prod(self._column(pattern, column) for column in dict.fromkeys(pattern.columns))
        return self._distinct(rows, min(MOST, most))

    # ---- PATH

    def _walked(self, path: Path) -> Estimate:
        is_reversed = path.source is None and path.target is not None
        expression = reversed_expression(path.expression) if is_reversed else path.expression
        found = list(dict.fromkeys(symbols(expression)))
        automaton = automaton_of(expression, {symbol: number for number, symbol in enumerate(found)})
        self._work.do(_UNITS_OF_A_TRANSITION * len(automaton.transitions))
        below = {binding.symbol: binding.operand for binding in path.bindings}
        arcs = [self.of(below[symbol.predicate]) for symbol in found]
        turned = [symbol.is_inverse for symbol in found]
        walk = Walk(automaton, arcs, turned, self._fans(automaton, [below[symbol.predicate] for symbol in found], turned))
        is_single = path.source is not None or path.target is not None
        reached, ways = walk.reached(self.vertices, is_single=is_single)
        per_window = max(1.0, self.edges(_first_scan(path)))
        roots, cost, nodes = walk.roots(is_single=is_single), 0.0, 0.0
        improved = 0.0
        for state in range(1, automaton.states):
            renewals = self._renewals(path, ways[state] / max(1e-9, reached[state]))
            nodes += reached[state]
            improved += reached[state] * renewals / per_window
        is_one_tree = is_single and self._engine is PathEngine.DELTA_TREE
        walking = WALKING_ONE_TREE if is_one_tree else WALKING[self._engine]
        for state, symbol, _ in automaton.transitions:
            there = reached[state] / self._distinct(max(1.0, reached[state])) if state else 1.0
            # From a single root few vertices are reached, and other arcs are skipped.
            hit = (
                min(1.0, reached[state] / self.vertices)
                if state
                else (1 / max(1.0, arcs[symbol].sources) if is_single else 1.0)
            )
            cost += arcs[symbol].changes * (walking.arc * (0.2 + 0.8 * hit) + walking.root * there * hit)
        pairs = sum(reached[state] for state in automaton.accepting)
        reported = improved * pairs / max(1e-9, nodes)
        cost += walking.node * improved
        ends = (roots, self._distinct(pairs / max(1.0, roots) if is_single else pairs))
        first, last = ends[::-1] if is_reversed else ends
        relation = self._relation(pairs, first, last, reported, cost)
        return replace(relation, held=min(MOST, nodes), kept=min(MOST, CHANGE * reported + HELD * relation.tuples))

    def _fans(self, automaton: Automaton, steps: Sequence[Algebra], turned: Sequence[bool]) -> dict[tuple[int, int], float]:
        """Return how many arcs of a symbol follow, on average, an arc of another."""
        into: dict[int, set[int]] = {}
        for _, symbol, to in automaton.transitions:
            into.setdefault(to, set()).add(symbol)
        found: dict[tuple[int, int], float] = {}
        for state, symbol, _ in automaton.transitions:
            for before in into.get(state, ()):
                if (before, symbol) not in found:
                    ended = Direction.OUT if turned[before] else Direction.IN
                    begins = Direction.IN if turned[symbol] else Direction.OUT
                    likelier = self.meeting(steps[before], ended, steps[symbol], begins)
                    found[before, symbol] = self.of(steps[symbol]).tuples * likelier / self.vertices
        return found


def _first_scan(expression: Algebra) -> WScan:
    while not isinstance(expression, WScan):
        expression = operands(expression)[0]
    return expression


def _below(expression: Algebra, direction: Direction) -> tuple[Algebra, Direction]:
    """Return the operand of a PATTERN that only reverses it, with the end there that is this end here."""
    match expression:
        case Pattern((part,), (first, second), _, ()) if (part.source, part.target) == (Variable(second), Variable(first)):
            return _below(part.operand, Direction.IN if direction is Direction.OUT else Direction.OUT)
        case _:
            return expression, direction


def _label_of(expression: Algebra) -> str | None:
    """Return the label of a scan, with or without a FILTER; None for other expressions."""
    match expression:
        case WScan(_, label) | Filter(WScan(_, label)):
            return label
        case _:
            return None


def _fixed_end(condition: Expression) -> str | None:
    """Return the end of an edge or tuple that a condition fixes to one vertex: `src` or `dst`; None if neither."""
    match condition:
        case Compare(Comparison.EQUAL, Attribute(variable, name), Literal()) if name in ("id", "src", "dst"):
            if name == "id":
                return {"source": "src", "target": "dst"}.get(variable)
            return name
        case _:
            return None
