"""Streaming graph queries to text: the canonical form, which is that of rules, whatever form the query was written in.

Parsing what is printed gives an equal query, for every query that parsing can give. Inputs that are edges of a label, called as
it is, over one window are not declared but read from the stream behind the rules, where that keeps their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.path_expression import Alternation, Concatenation, Maybe, Plus, Star, Symbol, symbols
from graphtide_core.regular_rule import Constant
from graphtide_core.stream_window import WindowKind

from graphtide_query.language.datalog_binder import usual_output
from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.language.spelling import write_constant, write_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from graphtide_core.graph_query import GraphQuery, Input, Output
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.regular_rule import Atom, Rule, Term
    from graphtide_core.stream_window import StreamWindow

_ANONYMOUS = "_"


def print_graph_query(query: GraphQuery) -> str:
    """Return the text of a query, without its version, which the language does not state.

    Raises:
        InvalidPatternError: a condition holds an infinity or NaN.
    Complexity: linear in inputs, atoms and conditions.
    """
    name = write_name(query.name)
    lines = list(_lines(query))
    if query.is_view:
        return "\n".join([f"GRAPH VIEW {name} AS (", *lines, ")"]) + "\n"
    return "\n".join([f"QUERY {name}", *lines]) + "\n"


def _lines(query: GraphQuery) -> Iterator[str]:
    heads = {rule.head for rule in query.rules}
    shared = _shared_window(query, heads)
    for each in query.inputs:
        if shared is None or not _is_plain(each, shared):
            yield _input(each)
    for rule in query.rules:
        yield _rule(rule, heads)
    if shared is not None:
        yield _on(shared)
    yield from _outputs(query)


def _shared_window(query: GraphQuery, heads: Collection[str]) -> StreamWindow | None:
    """Return the window that stands behind the rules; None where all inputs are declared."""
    atoms = [atom for rule in query.rules for atom in rule.body]
    read = dict.fromkeys(symbol.predicate for atom in atoms for symbol in symbols(atom.expression))
    # An undeclared predicate must not be called as a path is.
    names = {atom.name for atom in atoms}
    window = next((each.window for each in query.inputs if each.name == each.label and each.name not in names), None)
    if window is None:
        return None
    plain = [each.name for each in query.inputs if _is_plain(each, window)]
    declared = [each.name for each in query.inputs if not _is_plain(each, window)]
    found = [name for name in read if name not in heads and name not in declared]
    is_same = [*declared, *found] == [each.name for each in query.inputs] and not names.intersection(plain)
    return window if is_same and found else None


def _is_plain(each: Input, window: StreamWindow) -> bool:
    is_bare = each.source_label is None and each.target_label is None and not each.conditions
    return is_bare and each.label == each.name and each.window == window


def _input(each: Input) -> str:
    source, target = (
        f"({'' if label is None else ':' + write_name(label)})" for label in (each.source_label, each.target_label)
    )
    label = "" if each.label is None else f":{write_name(each.label)}"
    edge = f"-[{'e' if each.conditions else ''}{label}]->"
    where = f" WHERE {write_conditions(each.conditions)}" if each.conditions else ""
    return f"INPUT {write_name(each.name)} = {source}{edge}{target} {_on(each.window)}{where}"


def _on(window: StreamWindow) -> str:
    stream = write_name(window.stream)
    if window.kind is WindowKind.NOW:
        return f"ON {stream} WINDOW(NOW)"
    slide = "" if window.slide is None else f" SLIDE({window.slide})"
    internal = " INTERNAL" if window.kind is WindowKind.INTERNAL else ""
    return f"ON {stream} WINDOW({window.length}){slide}{internal}"


def _rule(rule: Rule, heads: Collection[str]) -> str:
    body = ", ".join(_atom(atom, heads) for atom in rule.body)
    where = f" WHERE {write_conditions(rule.conditions)}" if rule.conditions else ""
    return f"{write_name(rule.head)}({', '.join(map(_variable, rule.columns))}) <- {body}{where}."


def _atom(atom: Atom, heads: Collection[str]) -> str:
    match atom.expression:
        case Symbol(predicate, is_inverse=False):
            relation = write_name(predicate)
        case Plus(Symbol(predicate, is_inverse=False)):
            relation = f"{write_name(predicate)}+"
        case expression:
            relation = f"/{_path(expression, heads)}/"
    name = "" if atom.name is None else f" AS {write_name(atom.name)}"
    return f"{relation}({_term(atom.source)}, {_term(atom.target)}){name}"


def _term(term: Term) -> str:
    return write_constant(str(term.key)) if isinstance(term, Constant) else _variable(term.name)


def _variable(name: str) -> str:
    """Spell a variable; one that is called as those without a name are written is put in backticks."""
    return f"`{name}`" if name == _ANONYMOUS else write_name(name)


def _path(expression: PathExpression, heads: Collection[str]) -> str:
    match expression:
        case Symbol(predicate, is_inverse):
            return f"{'^' if is_inverse else ''}{'~' if predicate in heads else ':'}{write_name(predicate)}"
        case Concatenation(parts):
            return " ".join(_grouped(part, heads) if isinstance(part, Alternation) else _path(part, heads) for part in parts)
        case Alternation(options):
            return " | ".join(_path(option, heads) for option in options)
        case Star(operand):
            return f"{_grouped(operand, heads)}*"
        case Plus(operand):
            return f"{_grouped(operand, heads)}+"
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return f"{_grouped(operand, heads)}?"


def _grouped(expression: PathExpression, heads: Collection[str]) -> str:
    text = _path(expression, heads)
    return text if isinstance(expression, Symbol) else f"({text})"


def _outputs(query: GraphQuery) -> Iterator[str]:
    usual = usual_output(query.rules)
    for each in query.outputs:
        if len(query.outputs) > 1 or _without_path(each) != _without_path(usual):
            label = "" if each.label == each.head else f" AS {write_name(each.label)}"
            yield f"OUTPUT {write_name(each.head)}({', '.join(map(write_name, each.columns))}){label}"
        if each.path is not None:
            yield f"RETURN {write_name(each.path)}"


def _without_path(output: Output) -> tuple[str, str, tuple[str, ...]]:
    return output.head, output.label, output.columns
