"""The oracle of streaming graph queries: the one-time query, on the snapshot of every instant.

A snapshot is the set of edges that are valid at an instant. The query is answered there from its definition. Rules are applied
one after the other, joins try all tuples, path expressions are taken part by part. Closures add steps until nothing comes. When
a result ends is found by going from instant to instant until it is in no answer.

Reference: paper 001, Definitions 12 to 16, 19 and 20; semantics.md sections 4 and 7 for what is emitted of a result and when.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from graphtide_core.edge import Operation
from graphtide_core.match import MatchKind
from graphtide_core.path_expression import Alternation, Concatenation, Maybe, Plus, Star, Symbol
from graphtide_core.regular_rule import Constant, Variable
from graphtide_core.stream_window import WindowKind
from graphtide_core.time import TimeUnit

from graphtide_testing.oracles.predicates import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from graphtide_core.edge import Edge, Value
    from graphtide_core.graph_query import GraphQuery, Input
    from graphtide_core.ids import VertexId
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.predicate import Attribute
    from graphtide_core.regular_rule import Rule, Term

Row = tuple["VertexId", ...]
"""A tuple of vertices."""

Snapshot = dict[str, frozenset[Row]]
"""The tuples of each predicate at an instant."""

GREATEST: Final = (1 << 63) - 1
"""The greatest time: no interval ends later, and one that ends there holds that time, too."""

Key = tuple[int, Row]
"""A result: the place of its output, and its vertices."""


@dataclass(frozen=True, slots=True)
class EmittedInterval:
    """What is emitted of a result: when it is valid from now on, or when it is not any more. None where it stays for good."""

    kind: MatchKind
    label: str
    row: Row
    valid: tuple[int, int | None]
    nth: int = 0
    """How many records of the instant brought something about before."""


@dataclass(frozen=True, slots=True)
class _Held:
    edge: Edge
    ends: Mapping[str, int]
    """By input that takes it: when it ends."""
    stream: str | None = None
    deleted: int | None = None

    def is_valid(self, input: str, at: int) -> bool:
        end = self.ends.get(input)
        return end is not None and self.edge.ts <= at and _outlasts(end, at) and (self.deleted is None or at < self.deleted)


class GraphQueryOracle:
    """Answers one query over a stream of edges in order. Complexity: none to speak of; for small streams."""

    def __init__(self, query: GraphQuery, unit: TimeUnit = TimeUnit.MILLISECOND, *, deletions: bool = True) -> None:
        """Take a query; without `deletions` records that delete are passed over."""
        self._query, self._unit, self._deletions = query, unit, deletions
        self._lookback = query.lookback(unit)
        self._held: list[_Held] = []
        self._derived: dict[tuple[frozenset[Row], ...], Snapshot] = {}
        self._open: dict[Key, int] = {}
        self._emitted_at: list[int] = []
        self._stays = all(each.window.kind is WindowKind.INTERNAL for each in query.inputs)

    def push(self, record: Edge, stream: str | None = None) -> tuple[EmittedInterval, ...]:
        """Take one record, of the stream of that name, and return all that it brings about, in no order that matters.

        Without a name it is of the only stream, under any name.
        """
        now = int(record.ts)
        if record.operation is Operation.DELETE:
            if self._deletions:
                self._delete(record, now, stream)
        else:
            alive = (held for held in self._held if held.deleted is None and held.edge.ts > now - self._lookback)
            if any(held.stream == stream and held.edge.shares_id(record) for held in alive):
                return ()
            ends = {each.name: self._end(each, now) for each in self._query.inputs if self._takes(each, record, stream)}
            self._held.append(_Held(record, ends, stream))
        emitted = tuple(replace(each, nth=self._emitted_at.count(now)) for each in self._emitted(now))
        self._emitted_at += [now] if emitted else []
        return emitted

    def snapshot(self, at: int) -> Snapshot:
        """Return the tuples of every predicate at an instant, as far as is known now."""
        given: Snapshot = {}
        for each in self._query.inputs:
            valid = (held.edge for held in self._held if held.is_valid(each.name, at))
            given[each.name] = frozenset((edge.source, edge.target) for edge in valid)
        # Many instants have the same edges, and so the same tuples.
        known = self._derived.get(key := tuple(given.values()))
        if known is None:
            known = self._derived[key] = dict(given)
            for rule in self._query.rules:
                known[rule.head] = known.get(rule.head, frozenset()) | frozenset(_derive(rule, known))
        return dict(known)

    def intervals(self) -> dict[Key, tuple[tuple[int, int], ...]]:
        """Return, for each result, its intervals of validity, as far as is known now; none overlap or touch."""
        instants = sorted(self._instants())
        spans: dict[Key, list[tuple[int, int]]] = {}
        for start, end in pairwise(instants):
            for key in self._results(start):
                known = spans.setdefault(key, [])
                if known and known[-1][1] == start:
                    known[-1] = (known[-1][0], end)
                else:
                    known.append((start, end))
        return {key: tuple(each) for key, each in spans.items()}

    def _instants(self) -> set[int]:
        """Return all instants when an edge begins or ends to be valid; between two of them nothing changes."""
        begins = {int(held.edge.ts) for held in self._held}
        ends = {end for held in self._held for end in held.ends.values()}
        return begins | ends | {held.deleted for held in self._held if held.deleted is not None}

    def _results(self, at: int) -> set[Key]:
        found = self.snapshot(at)
        return {(place, row) for place, output in enumerate(self._query.outputs) for row in found[output.head]}

    def _emitted(self, now: int) -> Iterator[EmittedInterval]:
        self._open = {key: end for key, end in self._open.items() if end >= now}
        ends = self._ends(now)
        for key in sorted(self._open.keys() | ends.keys()):
            before, after = self._open.get(key), ends.get(key)
            label = self._query.outputs[key[0]].label
            if before is None and after is not None:
                self._open[key] = after
                yield EmittedInterval(MatchKind.MATCH, label, key[1], (now, None if self._stays else after))
            elif before is not None and after is not None and after > before:
                self._open[key] = after
                if not self._stays:
                    yield EmittedInterval(MatchKind.EXTEND, label, key[1], (now, after))
            elif before is not None and _outlasts(before, now) and (after is None or after < before):
                if after is None:
                    del self._open[key]
                else:
                    self._open[key] = after
                if after is None or not self._stays:
                    yield EmittedInterval(MatchKind.RETRACT, label, key[1], (now if after is None else after, before))

    def _ends(self, now: int) -> dict[Key, int]:
        """Return, for each result that is valid now, its first instant without validity."""
        left = self._results(now)
        ends: dict[Key, int] = {}
        for instant in sorted(each for each in self._instants() if each > now):
            still = left & self._results(instant)
            ends.update(dict.fromkeys(left - still, instant))
            left = still
        return dict.fromkeys(left, GREATEST) | ends

    def _delete(self, record: Edge, now: int, stream: str | None) -> None:
        """Let the newest edge of the id end now, if it is held and was not deleted."""
        for place in reversed(range(len(self._held))):
            held = self._held[place]
            if held.stream == stream and held.edge.shares_id(record):
                if held.deleted is None:
                    self._held[place] = replace(held, deleted=now)
                return

    def _end(self, each: Input, ts: int) -> int:
        step = each.window.step(self._unit)
        return min(ts // step * step + each.window.lookback(self._unit), GREATEST)

    def _takes(self, each: Input, edge: Edge, stream: str | None) -> bool:
        if stream is not None and each.window.stream != stream:
            return False
        asked = ((each.label, edge.label), (each.source_label, edge.source_label), (each.target_label, edge.target_label))
        if any(label is not None and label != own for label, own in asked):
            return False
        return all(evaluate(condition, lambda read: _read(edge, read)) is True for condition in each.conditions)


def _outlasts(end: int, at: int) -> bool:
    """Return whether what ends at `end` is valid at an instant that is not before its start."""
    return end > at or end == GREATEST


def _read(edge: Edge, attribute: Attribute) -> Value:
    fields: dict[str, Value] = {
        "ts": int(edge.ts),
        "id": edge.id,
        "src": edge.source,
        "dst": edge.target,
        "label": edge.label,
        "src_label": edge.source_label,
        "dst_label": edge.target_label,
    }
    return fields[attribute.name] if attribute.name in fields else edge.attributes.get(attribute.name)


def _derive(rule: Rule, known: Snapshot) -> Iterator[Row]:
    """Yield what a rule derives: every way to give its variables vertices, atom by atom."""
    relations = [words(atom.expression, known)[0] for atom in rule.body]

    def extend(place: int, bound: dict[str, VertexId]) -> Iterator[dict[str, VertexId]]:
        if place == len(rule.body):
            yield bound
            return
        atom = rule.body[place]
        for source, target in relations[place]:
            found = _bind(bound, ((atom.source, source), (atom.target, target)))
            if found is not None:
                yield from extend(place + 1, found)

    for bound in extend(0, {}):
        if all(evaluate(each, lambda read: bound[read.variable]) is True for each in rule.conditions):  # noqa: B023 - called here
            yield tuple(bound[column] for column in rule.columns)


def _bind(bound: dict[str, VertexId], pairs: Iterable[tuple[Term, VertexId]]) -> dict[str, VertexId] | None:
    found = dict(bound)
    for term, vertex in pairs:
        match term:
            case Constant(key):
                if key != vertex:
                    return None
            case Variable(name):  # pragma: no branch - mypy knows that no case is left
                if found.setdefault(name, vertex) != vertex:
                    return None
    return found


def words(expression: PathExpression, known: Snapshot) -> tuple[frozenset[Row], bool]:
    """Return the pairs between which a path spells a word that is not empty, and whether the empty one is a word."""
    match expression:
        case Symbol(predicate, is_inverse):
            pairs = known[predicate]
            return (frozenset((target, source) for source, target in pairs) if is_inverse else pairs), False
        case Alternation(options):
            found = [words(option, known) for option in options]
            return frozenset().union(*(pairs for pairs, _ in found)), any(is_empty for _, is_empty in found)
        case Concatenation(parts):
            pairs, is_empty = words(parts[0], known)
            for part in parts[1:]:
                next_pairs, is_next_empty = words(part, known)
                joined = {(source, target) for source, middle in pairs for start, target in next_pairs if start == middle}
                kept = (pairs if is_next_empty else frozenset()) | (next_pairs if is_empty else frozenset())
                pairs = frozenset(joined | kept)
                is_empty = is_empty and is_next_empty
            return pairs, is_empty
        case Maybe(operand):
            return words(operand, known)[0], True
        case Star(operand) | Plus(operand):  # pragma: no branch - mypy knows that no case is left
            steps, is_empty = words(operand, known)
            closed = set(steps)
            while True:
                more = {(source, target) for source, middle in closed for start, target in steps if start == middle} - closed
                if not more:
                    break
                closed |= more
            return frozenset(closed), is_empty or isinstance(expression, Star)
