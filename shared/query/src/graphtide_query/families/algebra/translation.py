"""Translate Regular Queries to expressions of the algebra: the canonical plan.

Each input becomes a WSCAN, with a FILTER over it if it asks for more than a label. Each rule becomes a PATTERN, rules of one
head a UNION, and each closure a PATH of one symbol. Longer path expressions are taken apart first: concatenation into a
PATTERN, and alternation into a UNION. What may be empty is left out where it is, since the whole never is. A concatenation with
more than `MOST_LEFT_OUT` such parts, or over what rules derive, stays one PATH, whose automaton leaves them out. Each of them
would double what is taken apart. A path that is returned stays one PATH, from one known end if the rule fixes that vertex: no
transformation changes it.

Deviates from Algorithm SGQParser in one case. A rule which only gives another predicate a new name adds no operator, as in the
paper's Example 8. A returned path is an exception, because its steps are edges that the rule derives.
Reference: paper 001, section 5.2, Algorithm SGQParser.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Algebra, Binding, Filter, Path, Pattern, PatternOperand, Union, WScan
from graphtide_core.path_expression import (
    Alternation,
    Concatenation,
    Maybe,
    Plus,
    Star,
    Symbol,
    is_nullable,
    make_concatenation,
    operands,
    symbols,
    write_expression,
)
from graphtide_core.regular_rule import Variable

from graphtide_query.families.algebra.ends import known_end, known_vertices

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.graph_query import GraphQuery, Input
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.regular_rule import Atom, Rule

MOST_LEFT_OUT: Final = 2
"""Parts of concatenations that may be left out of an expression that is taken apart."""


def canonical(query: GraphQuery) -> tuple[Algebra, ...]:
    """Return the canonical expression of each output of a query.

    Complexity: quadratic in the symbols of each path expression, and linear in the rest of the query.
    """
    derived = derived_predicates(query)
    return tuple(derived.known[output.head] for output in query.outputs)


@dataclass(frozen=True, slots=True)
class Predicates:
    """The expressions of predicates: of inputs, and of the heads of rules.

    Attributes:
        known: as rules read them; a head that only gives another predicate a new name is as that is.
        steps: as a reported path steps along them. A head gives edges that are derived, of its own label, or of that of the
            head that it only gives another name.
    """

    known: dict[str, Algebra]
    steps: dict[str, Algebra]


def derived_predicates(query: GraphQuery) -> Predicates:
    """Return the expression of each predicate of a query."""
    known: dict[str, Algebra] = {each.name: _scan(each) for each in query.inputs}
    found = Predicates(known, dict(known))
    returned, heads = returned_paths(query), set[str]()
    for rule in query.rules:
        own, before = rule_expression(rule, found, returned.get(rule.head)), known.get(rule.head)
        known[rule.head] = own if before is None else _unite((before, own), rule.head)
        other = _rename(rule) if before is None else None
        derived = found.steps[other] if other is not None and other in heads else _derive(known[rule.head], rule.head)
        found.steps[rule.head] = derived
        heads.add(rule.head)
    return found


def returned_paths(query: GraphQuery) -> dict[str, str]:
    """Return the name of the path that is reported with the results of a head, if there is one."""
    return {output.head: output.path for output in query.outputs if output.path is not None}


def rule_expression(rule: Rule, predicates: Predicates, returned: str | None = None) -> Algebra:
    """Return the expression of one rule over predicates; `returned` is the name of the reported path."""
    parts = tuple(
        PatternOperand(
            returned_expression(rule, atom, predicates)
            if returned is not None and atom.name == returned
            else atom_expression(atom, predicates),
            atom.source,
            atom.target,
        )
        for atom in rule.body
    )
    if len(parts) == 1 and not rule.conditions and _is_plain(parts[0], rule.columns):
        # What the rule derives is called after it; where it is a predicate by another name, as that is.
        (atom,) = rule.body
        named = replace(atom, name=rule.head)
        return atom_expression(named, predicates, is_returned=returned is not None and atom.name == returned)
    return Pattern(parts, rule.columns, rule.head, rule.conditions)


def atom_expression(atom: Atom, predicates: Predicates, *, is_returned: bool = False) -> Algebra:
    """Return the expression of an atom over predicates.

    A reported path is one PATH, whatever its expression, so its steps are those that the query names.
    """
    known = predicates.steps if is_returned else predicates.known
    match atom.expression:
        case Symbol(predicate, False):
            return known[predicate]
        case expression if is_returned:
            return path_as_one(expression, known, atom.name)
        case expression:
            return path_in_parts(expression, known, atom.name)


def returned_expression(rule: Rule, atom: Atom, predicates: Predicates) -> Algebra:
    """Return the expression of an atom whose path is reported: from one known end, if the rule fixes it."""
    found, vertices = atom_expression(atom, predicates, is_returned=True), known_vertices(rule.conditions)
    if not isinstance(found, Path) or isinstance(atom.expression, Symbol):
        return found
    source = known_end(atom.source, vertices)
    return replace(found, source=source, target=None if source is not None else known_end(atom.target, vertices))


def path_as_one(expression: PathExpression, known: Mapping[str, Algebra], label: str | None = None) -> Algebra:
    """Return the words of a path expression, but for the empty one, as one PATH over predicates that are known."""
    names = dict.fromkeys(symbol.predicate for symbol in symbols(expression))
    return Path(expression, tuple(Binding(name, known[name]) for name in names), label or write_expression(expression))


def path_in_parts(expression: PathExpression, known: Mapping[str, Algebra], label: str | None = None) -> Algebra:
    """Return the expression of the words of a path expression, but for the empty one, taken apart into operators.

    `label` is what the tuples are called; where there is none, as the expression is written.
    """
    own = label or write_expression(expression)
    match expression:
        case Symbol(predicate, is_inverse):
            return reverse_ends(known[predicate], own) if is_inverse else known[predicate]
        case Alternation(options):
            return _unite((path_in_parts(option, known) for option in options), own)
        case Concatenation():
            return _in_a_row(expression, known, label)
        case Star(operand) | Plus(operand):
            symbol = write_expression(operand)
            return Path(Plus(Symbol(symbol)), (Binding(symbol, path_in_parts(operand, known)),), own)
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return path_in_parts(operand, known, label)


def reverse_ends(operand: Algebra, label: str) -> Algebra:
    """Return the tuples of an expression with their columns exchanged."""
    return Pattern((PatternOperand(operand, Variable("x"), Variable("y")),), ("y", "x"), label)


def in_a_row(operands: tuple[Algebra, ...], label: str) -> Algebra:
    """Return the PATTERN in which each operand begins where the one before it ends."""
    ends = [Variable(f"x{place}") for place in range(len(operands) + 1)]
    parts = tuple(PatternOperand(operand, ends[place], ends[place + 1]) for place, operand in enumerate(operands))
    return Pattern(parts, (ends[0].name, ends[-1].name), label)


def _in_a_row(expression: Concatenation, known: Mapping[str, Algebra], label: str | None) -> Algebra:
    """Return the words of a concatenation: with every part, and without those that may be empty."""
    own = label or write_expression(expression)
    are_edges = all(isinstance(known[symbol.predicate], WScan | Filter) for symbol in symbols(expression))
    if not are_edges or _left_out(expression) > MOST_LEFT_OUT:
        return path_as_one(expression, known, own)
    ways: list[Algebra] = []
    for way in product(*((True, False) if is_nullable(part) else (True,) for part in expression.parts)):
        kept = tuple(part for part, is_there in zip(expression.parts, way, strict=True) if is_there)
        if len(kept) == 1:
            ways.append(path_in_parts(kept[0], known, label))
        elif kept:
            ways.append(
                in_a_row(
                    tuple(path_in_parts(part, known) for part in kept), label or write_expression(make_concatenation(kept))
                )
            )
    return _unite(ways, own)


def _left_out(expression: PathExpression) -> int:
    """Return how many parts of concatenations may be empty, at any depth."""
    found = sum(map(_left_out, operands(expression)))
    return found + (sum(map(is_nullable, expression.parts)) if isinstance(expression, Concatenation) else 0)


def _unite(operands: Iterable[Algebra], label: str) -> Algebra:
    """Return the union of expressions, each once; unions below are taken apart."""
    flat: list[Algebra] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, Union) else (operand,)
    distinct = tuple(dict.fromkeys(flat))
    return distinct[0] if len(distinct) == 1 else Union(distinct, label)


def _derive(expression: Algebra, head: str) -> Algebra:
    """Return the tuples of an expression as edges that a head derives: a UNION of it alone, where it is called otherwise."""
    is_named = not isinstance(expression, WScan | Filter) and expression.label == head
    return expression if is_named else Union((expression,), head)


def _scan(each: Input) -> Algebra:
    scan = WScan(each.window, each.label)
    if each.conditions or each.source_label is not None or each.target_label is not None:
        return Filter(scan, each.conditions, each.source_label, each.target_label)
    return scan


def _rename(rule: Rule) -> str | None:
    """Return the predicate that a rule only gives another name, if it does."""
    if len(rule.body) != 1 or rule.conditions:
        return None
    (atom,) = rule.body
    match atom.expression:
        case Symbol(predicate, False) if _is_plain(atom, rule.columns):
            return predicate
        case _:
            return None


def _is_plain(part: PatternOperand | Atom, columns: tuple[str, ...]) -> bool:
    ends = (part.source, part.target)
    return part.source != part.target and ends == tuple(Variable(column) for column in columns)
