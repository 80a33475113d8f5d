"""Print streaming graph queries as text: the canonical form, which is rules, also for a query written in G-CORE.

Parsing the printed text gives an equal query, for every query that parsing can produce. Inputs that are the edges of a label,
under the name of the label and over one window, are not declared. Rules read them from the stream after the rules, if that
keeps their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.path_expression import Alternation, Concatenation, Maybe, Plus, Star, Symbol, symbols
from graphtide_core.regular_rule import Constant
from graphtide_core.stream_window import WindowKind

from graphtide_query.language.annotations import write_annotations
from graphtide_query.language.datalog_binder import default_output
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
    lines = list(_write_lines(query))
    if query.is_view:
        return "\n".join([f"GRAPH VIEW {name} AS (", *lines, ")"]) + "\n"
    return "\n".join([f"QUERY {name}", *lines]) + "\n"


def _write_lines(query: GraphQuery) -> Iterator[str]:
    heads = {rule.head for rule in query.rules}
    shared = _find_shared_window(query, heads)
    for each in query.inputs:
        if shared is None or not _is_plain(each, shared):
            yield _write_input(each)
    for rule in query.rules:
        yield _write_rule(rule, heads)
    if shared is not None:
        yield _write_on(shared)
    yield from _write_outputs(query)
    yield from write_annotations(query.annotations)


def _find_shared_window(query: GraphQuery, heads: Collection[str]) -> StreamWindow | None:
    """Return the window stated after the rules; None if all inputs are declared."""
    atoms = [atom for rule in query.rules for atom in rule.body]
    read = dict.fromkeys(symbol.predicate for atom in atoms for symbol in symbols(atom.expression))
    # An undeclared predicate must not have the name of a path.
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


def _write_input(each: Input) -> str:
    source, target = (
        f"({'' if label is None else ':' + write_name(label)})" for label in (each.source_label, each.target_label)
    )
    label = "" if each.label is None else f":{write_name(each.label)}"
    edge = f"-[{'e' if each.conditions else ''}{label}]->"
    where = f" WHERE {write_conditions(each.conditions)}" if each.conditions else ""
    return f"INPUT {write_name(each.name)} = {source}{edge}{target} {_write_on(each.window)}{where}"


def _write_on(window: StreamWindow) -> str:
    stream = write_name(window.stream)
    if window.kind is WindowKind.NOW:
        return f"ON {stream} WINDOW(NOW)"
    slide = "" if window.slide is None else f" SLIDE({window.slide})"
    internal = " INTERNAL" if window.kind is WindowKind.INTERNAL else ""
    return f"ON {stream} WINDOW({window.length}){slide}{internal}"


def _write_rule(rule: Rule, heads: Collection[str]) -> str:
    body = ", ".join(_write_atom(atom, heads) for atom in rule.body)
    where = f" WHERE {write_conditions(rule.conditions)}" if rule.conditions else ""
    return f"{write_name(rule.head)}({', '.join(map(_write_variable, rule.columns))}) <- {body}{where}."


def _write_atom(atom: Atom, heads: Collection[str]) -> str:
    match atom.expression:
        case Symbol(predicate, is_inverse=False):
            relation = write_name(predicate)
        case Plus(Symbol(predicate, is_inverse=False)):
            relation = f"{write_name(predicate)}+"
        case expression:
            relation = f"/{_write_path(expression, heads)}/"
    name = "" if atom.name is None else f" AS {write_name(atom.name)}"
    return f"{relation}({_write_term(atom.source)}, {_write_term(atom.target)}){name}"


def _write_term(term: Term) -> str:
    return write_constant(str(term.key)) if isinstance(term, Constant) else _write_variable(term.name)


def _write_variable(name: str) -> str:
    """Spell a variable; one named `_` gets backticks, since `_` means no name."""
    return f"`{name}`" if name == _ANONYMOUS else write_name(name)


def _write_path(expression: PathExpression, heads: Collection[str]) -> str:
    match expression:
        case Symbol(predicate, is_inverse):
            return f"{'^' if is_inverse else ''}{'~' if predicate in heads else ':'}{write_name(predicate)}"
        case Concatenation(parts):
            return " ".join(
                _write_group(part, heads) if isinstance(part, Alternation) else _write_path(part, heads) for part in parts
            )
        case Alternation(options):
            return " | ".join(_write_path(option, heads) for option in options)
        case Star(operand):
            return f"{_write_group(operand, heads)}*"
        case Plus(operand):
            return f"{_write_group(operand, heads)}+"
        case Maybe(operand):  # pragma: no branch - mypy knows that no case is left
            return f"{_write_group(operand, heads)}?"


def _write_group(expression: PathExpression, heads: Collection[str]) -> str:
    text = _write_path(expression, heads)
    return text if isinstance(expression, Symbol) else f"({text})"


def _write_outputs(query: GraphQuery) -> Iterator[str]:
    usual = default_output(query.rules)
    for each in query.outputs:
        if len(query.outputs) > 1 or _without_path(each) != _without_path(usual):
            label = "" if each.label == each.head else f" AS {write_name(each.label)}"
            yield f"OUTPUT {write_name(each.head)}({', '.join(map(write_name, each.columns))}){label}"
        if each.path is not None:
            yield f"RETURN {write_name(each.path)}"


def _without_path(output: Output) -> tuple[str, str, tuple[str, ...]]:
    return output.head, output.label, output.columns
