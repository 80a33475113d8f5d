"""Build the automaton of a path expression: positions as states, made deterministic and minimal.

No transition leads to the start, so a path that returns to its root is an ordinary path. Therefore the start is never merged
with another state. If the deterministic automaton has too many states, the automaton of positions is used as it is.

Reference: Glushkov, "The abstract theory of automata" (1961); Moore's refinement of partitions. The engines ask for a start
without a way back, which the algorithms of paper 001, section 6.2.4, assume.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.path_expression import (
    Alternation,
    Concatenation,
    Maybe,
    PathExpression,
    Plus,
    Star,
    Symbol,
)
from graphtide_core.plans.algebra import Automaton

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_STATES: Final = 1024
"""The most states of a deterministic automaton."""

MOST_MOVES: Final = 200_000
"""The most moves from position to position to build it, and again to minimise it."""

_Positions = frozenset[int]


def automaton_of(expression: PathExpression, numbers: Mapping[Symbol, int]) -> Automaton:
    """Return the automaton of an expression without its empty word; `numbers` maps its symbols.

    Complexity: quadratic in the expression; at most `MOST_MOVES` to make it deterministic, and as many to minimise it.
    """
    positions = _Glushkov(expression, numbers)
    deterministic = _determinize(positions)
    if deterministic is None:
        return positions.automaton()
    return _minimize(*deterministic)


class _Glushkov:
    """Positions of an expression: first, last and following ones; 0 is before all."""

    def __init__(self, expression: PathExpression, numbers: Mapping[Symbol, int]) -> None:
        self._numbers = numbers
        self.symbols: list[int] = [-1]
        self.following: list[set[int]] = [set()]
        first, last, _ = self._visit(expression)
        self.following[0] = set(first)
        self.last = frozenset(last)

    def _visit(self, expression: PathExpression) -> tuple[_Positions, _Positions, bool]:
        """Return the first and last positions, and whether the expression may be empty."""
        match expression:
            case Symbol():
                self.symbols.append(self._numbers[expression])
                self.following.append(set())
                here = frozenset((len(self.symbols) - 1,))
                return here, here, False
            case Alternation(options):
                visited = [self._visit(option) for option in options]
                firsts, lasts, nullable = zip(*visited, strict=True)
                return frozenset().union(*firsts), frozenset().union(*lasts), any(nullable)
            case Concatenation(parts):
                first, last, is_nullable = self._visit(parts[0])
                for part in parts[1:]:
                    next_first, next_last, is_next_nullable = self._visit(part)
                    self._follow(last, next_first)
                    first = first | next_first if is_nullable else first
                    last = last | next_last if is_next_nullable else next_last
                    is_nullable = is_nullable and is_next_nullable
                return first, last, is_nullable
            case Maybe(operand):
                first, last, _ = self._visit(operand)
                return first, last, True
            case Star(operand) | Plus(operand):  # pragma: no branch - mypy knows that no case is left
                first, last, is_nullable = self._visit(operand)
                self._follow(last, first)
                return first, last, is_nullable or isinstance(expression, Star)

    def _follow(self, before: Iterable[int], after: Iterable[int]) -> None:
        for position in before:
            self.following[position].update(after)

    def automaton(self) -> Automaton:
        """Return the automaton whose states are the positions."""
        transitions = [(state, self.symbols[to], to) for state, after in enumerate(self.following) for to in sorted(after)]
        return Automaton(len(self.symbols), tuple(transitions), tuple(sorted(self.last)))


_Table = list[dict[int, int]]
"""By state: the next one, by symbol."""


def _determinize(positions: _Glushkov) -> tuple[_Table, frozenset[int]] | None:
    """Return the transitions of sets of positions, and the accepting sets; None if there are too many."""
    start: _Positions = frozenset((0,))
    numbers = {start: 0}
    waiting = [start]
    table: _Table = []
    moves = 0
    for states in waiting:
        moves += sum(len(positions.following[state]) for state in states)
        if moves > MOST_MOVES:
            return None
        reached: dict[int, set[int]] = {}
        for state in states:
            for to in positions.following[state]:
                reached.setdefault(positions.symbols[to], set()).add(to)
        row: dict[int, int] = {}
        for symbol in sorted(reached):
            after = frozenset(reached[symbol])
            if after not in numbers:
                numbers[after] = len(numbers)
                waiting.append(after)
            row[symbol] = numbers[after]
        table.append(row)
        if len(numbers) > MOST_STATES:
            return None
    return table, frozenset(number for states, number in numbers.items() if number and states & positions.last)


def _minimize(table: Sequence[Mapping[int, int]], accepting: frozenset[int]) -> Automaton:
    """Return the automaton with equivalent states merged; the start stays separate.

    If that takes too many moves, some equivalent states stay separate.
    """
    block = [0 if state == 0 else 2 if state in accepting else 1 for state in range(len(table))]
    rounds = MOST_MOVES // max(1, sum(map(len, table)))
    for left in range(rounds, -1, -1):
        if not left:
            block = list(range(len(table)))
            break
        signatures: dict[object, int] = {}
        refined = [
            signatures.setdefault((block[state], tuple((symbol, block[to]) for symbol, to in row.items())), len(signatures))
            for state, row in enumerate(table)
        ]
        if len(set(refined)) == len(set(block)):
            break
        block = refined
    # Numbered in the order of discovery, the start first.
    order = list(dict.fromkeys(block))
    number = {old: new for new, old in enumerate(order)}
    transitions = {
        (number[block[state]], symbol, number[block[to]]) for state, row in enumerate(table) for symbol, to in row.items()
    }
    ends = {number[block[state]] for state in accepting}
    return Automaton(len(order), tuple(sorted(transitions)), tuple(sorted(ends)))
