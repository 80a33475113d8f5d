"""Check that a plan can answer a streaming graph query."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.path_expression import MAX_NESTING, is_nested_too_deep, symbols
from graphtide_core.predicate import aggregates, attributes
from graphtide_core.regular_rule import Variable
from graphtide_core.stream_window import WindowKind
from graphtide_core.suggestion import show
from graphtide_core.time import TimeUnit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphtide_core.graph_query import GraphQuery, Input
    from graphtide_core.path_expression import Symbol
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Atom, Rule

EDGE: Final = "e"
"""What the conditions of an input call the edge that they read."""

MAX_ATOMS: Final = 64
"""Atoms and columns that a rule may have; inputs, rules and outputs that a query may have: what people write has a dozen."""

MAX_SYMBOLS: Final = 256
"""Symbols that an expression may have: its automaton has one state more at most."""

MAX_WRITTEN_OUT: Final = 4096
"""Labels of a query with the rules that it reads in place of each label that they derive: a rule may double them."""

_BINARY: Final = 2


def refuse_unanswerable(query: GraphQuery) -> None:
    """Refuse what no plan could answer; for errors see `GraphQuery`."""
    if not query.inputs or not query.rules or not query.outputs:
        message = "a query needs at least one stream and one result"
        raise InvalidPatternError(message)
    for what, there in (("inputs", query.inputs), ("rules", query.rules), ("outputs", query.outputs)):
        if len(there) > MAX_ATOMS:
            message = f"a query may have at most {MAX_ATOMS} {what}; this one has {len(there)}"
            raise InvalidPatternError(message)
    known = _refuse_inputs(query)
    arities: dict[str, int] = {}
    finished: set[str] = set()
    for atom in chain.from_iterable(rule.body for rule in query.rules):
        _refuse_nesting(atom)
    for place, rule in enumerate(query.rules):
        _refuse_rule(rule, known | finished)
        if arities.setdefault(rule.head, len(rule.columns)) != len(rule.columns):
            message = f"rules of {show(rule.head)} have different numbers of columns"
            raise InvalidPatternError(message)
        if rule.head in known:
            message = f"{show(rule.head)} is the name of edges that are read, and of a rule"
            raise InvalidPatternError(message)
        read = {each.predicate for later in query.rules[place + 1 :] for each in _symbols(later.body)}
        if rule.head in read and len(rule.columns) != _BINARY:
            message = f"{show(rule.head)} has {len(rule.columns)} columns, and a rule reads predicates of two columns"
            raise InvalidPatternError(message)
        if all(later.head != rule.head for later in query.rules[place + 1 :]):
            finished.add(rule.head)
    _refuse_outputs(query, arities)
    _refuse_written_out(query)


def _refuse_written_out(query: GraphQuery) -> None:
    """Refuse rules that read each other so often that they would be endless; of each what it reads is counted before."""
    labels: Counter[str] = Counter()
    for rule in query.rules:
        labels[rule.head] += sum(labels[each.predicate] or 1 for each in _symbols(rule.body))
    written = sum(labels[output.head] for output in query.outputs)
    if written > MAX_WRITTEN_OUT:
        message = (
            f"the rules read each other so often that they would have {written:,} labels if each was written out; "
            f"{MAX_WRITTEN_OUT:,} may be"
        )
        raise InvalidPatternError(message, hint="write a closure, as r+(x, y), or make the rule's results a view")


def _symbols(body: Iterable[Atom]) -> Iterable[Symbol]:
    return chain.from_iterable(symbols(atom.expression) for atom in body)


def _refuse_inputs(query: GraphQuery) -> set[str]:
    names: set[str] = set()
    for each in query.inputs:
        if each.name in names:
            message = f"{show(each.name)} names two inputs"
            raise InvalidPatternError(message)
        names.add(each.name)
        _refuse_window(each, is_now=each.window.kind is WindowKind.NOW)
        for condition in each.conditions:
            _refuse_aggregates(condition)
            for read in attributes(condition):
                if read.variable != EDGE:
                    message = f"a condition on an edge reads only that edge, not {show(read.variable)}"
                    raise InvalidPatternError(message, read.location)
    return names


def _refuse_window(each: Input, *, is_now: bool) -> None:
    window = each.window
    if window.length.amount == 0:
        message = "the window is empty: it must be longer than 0"
        raise InvalidPatternError(message, window.location, hint="for example WINDOW(10m)")
    if window.slide is None:
        return
    if is_now:
        message = "NOW has no slide: an edge is valid only in its own instant"
        raise InvalidPatternError(message, window.location)
    if window.slide.amount == 0:
        message = "the slide must be longer than 0"
        raise InvalidPatternError(message, window.location, hint="leave SLIDE out for a window that slides with every tick")
    both = {window.slide.unit, window.length.unit}
    # Ticks of a stream whose unit is not known yet compare with ticks alone.
    is_known = None not in both or both == {None}
    if is_known and window.slide.ticks(TimeUnit.NANOSECOND) > window.length.ticks(TimeUnit.NANOSECOND):
        message = f"the slide, {window.slide}, is longer than its window, {window.length}: edges would end before they begin"
        hint = f"SLIDE is how far the window moves at a time: at most {window.length}"
        raise InvalidPatternError(message, window.location, hint=hint)


def _refuse_rule(rule: Rule, known: set[str]) -> None:
    if not rule.body:
        message = f"a rule of {show(rule.head)} has no body"
        raise InvalidPatternError(message)
    if len(rule.body) > MAX_ATOMS:
        message = f"a rule may have at most {MAX_ATOMS} atoms; this one has {len(rule.body)}"
        raise InvalidPatternError(message)
    _refuse_symbols(rule, known)
    bound = {term.name for atom in rule.body for term in (atom.source, atom.target) if isinstance(term, Variable)}
    if not rule.columns:
        message = f"a rule of {show(rule.head)} has no column"
        raise InvalidPatternError(message)
    if len(rule.columns) > MAX_ATOMS:
        message = f"a rule may have at most {MAX_ATOMS} columns; this one has {len(rule.columns)}"
        raise InvalidPatternError(message)
    for column in rule.columns:
        if column not in bound:
            message = f"{show(column)} is in the head of a rule and in no atom of its body"
            raise InvalidPatternError(message, hint="every variable of a head must be an end of an atom")
    refuse_loose_parts(rule)
    _refuse_conditions(rule, bound)
    names = [atom.name for atom in rule.body if atom.name is not None]
    for name in names:
        if names.count(name) > 1:
            message = f"{show(name)} names two paths of a rule"
            raise InvalidPatternError(message)


def _refuse_nesting(atom: Atom) -> None:
    if is_nested_too_deep(atom.expression):
        message = f"a path expression is nested more than {MAX_NESTING} levels deep"
        raise InvalidPatternError(message, hint="remove parentheses and repetitions that change nothing")


def _refuse_symbols(rule: Rule, known: set[str]) -> None:
    for atom in rule.body:
        read = list(symbols(atom.expression))
        if len(read) > MAX_SYMBOLS:
            message = f"a path expression may have at most {MAX_SYMBOLS} labels; this one has {len(read)}"
            raise InvalidPatternError(message)
        for symbol in read:
            if symbol.predicate not in known:
                read_name = show(symbol.predicate)
                message = f"{show(rule.head)} reads {read_name}, which is neither an input nor the head of an earlier rule"
                raise InvalidPatternError(message)


def _refuse_conditions(rule: Rule, bound: set[str]) -> None:
    for condition in rule.conditions:
        _refuse_aggregates(condition)
        for attribute in attributes(condition):
            if attribute.variable not in bound:
                message = f"no atom has the vertex {show(attribute.variable)}"
                raise InvalidPatternError(message, attribute.location)
            if attribute.name != "id":
                message = f"{show(attribute.variable)} is a vertex: a condition reads only its id"
                raise InvalidPatternError(message, attribute.location, hint=f"{attribute.variable}.id")


def refuse_loose_parts(rule: Rule) -> None:
    """Refuse a body that falls apart; an atom between constants hangs on nothing.

    Raises:
        InvalidPatternError: the body does.
    """
    ends = [{term.name for term in (atom.source, atom.target) if isinstance(term, Variable)} for atom in rule.body]
    joined, waiting = set(ends[0]), ends[1:]
    while waiting:
        near = [each for each in waiting if each & joined]
        if not near:
            apart = sorted(set().union(*waiting))
            names = ", ".join(map(show, apart)) or "constants"
            message = f"the atoms of {show(rule.head)} are not connected: {names} share no atom with the others"
            raise InvalidPatternError(message, hint="join the parts by an edge or a path, or write two queries")
        waiting = [each for each in waiting if not each & joined]
        joined = joined.union(*near)


def _refuse_aggregates(condition: Expression) -> None:
    for aggregate in aggregates(condition):
        message = f"{aggregate.function.value} needs several values, and a condition of a graph query reads one"
        raise InvalidPatternError(message, aggregate.operand.location)


def _refuse_outputs(query: GraphQuery, arities: dict[str, int]) -> None:
    for output in query.outputs:
        if output.head not in arities:
            message = f"no rule derives {show(output.head)}"
            raise InvalidPatternError(message)
        if len(output.columns) != arities[output.head] or len(set(output.columns)) != len(output.columns):
            message = f"the results {show(output.label)} need a name for each column of {show(output.head)}"
            raise InvalidPatternError(message)
        if query.is_view and len(output.columns) != _BINARY:
            message = f"a view is a stream of edges, and {show(output.label)} has {len(output.columns)} columns"
            raise InvalidPatternError(message, hint="CONSTRUCT an edge between two vertices")
        rules = [rule for rule in query.rules if rule.head == output.head]
        if output.path is not None and any(output.path not in {atom.name for atom in rule.body} for rule in rules):
            message = f"there is no path {show(output.path)} to return with {show(output.label)}"
            raise InvalidPatternError(message, hint="name a path of the outermost MATCH: -/p<:a+>/->")
