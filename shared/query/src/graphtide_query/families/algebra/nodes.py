"""Show the operators of a streaming graph query's plan for EXPLAIN, and write its expressions in the algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.algebra import Filter, Path, Pattern, Union, WScan, operands
from graphtide_core.path_expression import renamed_symbols, symbols, write_expression
from graphtide_core.plans.algebra import JoinOperator, PathOperator, ScanOperator, UnionOperator
from graphtide_core.regular_rule import Constant, Variable
from graphtide_core.stream_window import WindowKind

from graphtide_query.language.expression_printer import write_conditions
from graphtide_query.nodes import Actual, Node

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from graphtide_core.algebra import Algebra
    from graphtide_core.ids import VertexId
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.plans.algebra import AlgebraPlan, Operator
    from graphtide_core.regular_rule import Term
    from graphtide_core.stream_window import StreamWindow


def nodes(plan: AlgebraPlan, actuals: Mapping[str, Actual]) -> tuple[Node, ...]:
    """Return a node for each operator, operands first; `actuals` are the counts of a run, by the names of nodes."""
    reported = {output.operator for output in plan.outputs}
    return tuple(
        Node(
            name=f"o{number}",
            does=_does(operator) + (" -> results" if number in reported else ""),
            inputs=tuple(f"o{operand}" for operand in _operands(operator)),
            estimate=plan.estimates[number] if plan.estimates else None,
            actual=actuals.get(f"o{number}"),
        )
        for number, operator in enumerate(plan.operators)
    )


def write_node(expression: Algebra) -> str:
    """Write an expression: `PATH[:a+](WSCAN[a, 24h, slide 1h])`."""
    match expression:
        case WScan(window, label):
            return f"WSCAN[{label or 'any label'}, {_window(window)}]"
        case Filter(operand):
            return f"FILTER[{_write_filter(expression)}]({write_node(operand)})"
        case Union(operands):
            return f"UNION({', '.join(map(write_node, operands))})"
        case Pattern(parts, columns, _, conditions):
            joined = ", ".join(f"{write_node(part.operand)} as ({_term(part.source)}, {_term(part.target)})" for part in parts)
            asked = f" where {write_conditions(conditions)}" if conditions else ""
            return f"PATTERN[{', '.join(columns)}]({joined}{asked})"
        case Path(path, bindings, _, source, target):  # pragma: no branch - mypy knows that no case is left
            bound = ", ".join(f"{_name(binding.symbol)} = {write_node(binding.operand)}" for binding in bindings)
            return f"PATH[{_write_path(path)}{_ends(source, target)}]({bound})"


def tree(expression: Algebra) -> tuple[str, ...]:
    r"""Write an expression as lines, with the operands of an operator indented below it.

    >>> from graphtide_testing.algebra_text import read
    >>> print("\n".join(tree(read("UNION(PATH[:a :b+](a, b), a)"))))
    UNION
      PATH[:a :b+]
        a = WSCAN[a, 10]
        b = WSCAN[b, 10]
      WSCAN[a, 10]
    """
    return tuple(_tree(expression, ""))


def _tree(expression: Algebra, before: str) -> Iterator[str]:
    yield before + _head(expression)
    match expression:
        case Pattern(parts):
            below = [(f"({_term(part.source)}, {_term(part.target)}) in ", part.operand) for part in parts]
        case Path(_, bindings):
            below = [(f"{_name(binding.symbol)} = ", binding.operand) for binding in bindings]
        case _:
            below = [("", operand) for operand in operands(expression)]
    for named, operand in below:
        yield from (f"  {line}" for line in _tree(operand, named))


def _head(expression: Algebra) -> str:
    """Return the name of an operator, without its operands."""
    match expression:
        case WScan():
            return write_node(expression)
        case Filter():
            return f"FILTER[{_write_filter(expression)}]"
        case Union():
            return "UNION"
        case Pattern(_, columns, _, conditions):
            asked = f" where {write_conditions(conditions)}" if conditions else ""
            return f"PATTERN[{', '.join(columns)}]{asked}"
        case Path(path, _, _, source, target):  # pragma: no branch - mypy knows that no case is left
            return f"PATH[{_write_path(path)}{_ends(source, target)}]"


def _write_path(path: PathExpression) -> str:
    return write_expression(renamed_symbols(path, {each.predicate: _name(each.predicate) for each in symbols(path)}))


def _name(symbol: str) -> str:
    """Write the name of a symbol: in backquotes if it stands for an expression of several labels."""
    name = symbol.removeprefix(":")
    return name if name.replace("'", "").isidentifier() else f"`{symbol}`"


def _ends(source: VertexId | None, target: VertexId | None) -> str:
    return "".join(f", {word} {end}" for word, end in (("from", source), ("to", target)) if end is not None)


def _does(operator: Operator) -> str:
    match operator:
        case ScanOperator(window, label):
            asked = _write_filter(operator)
            return f"scan {label or 'any label'} of {window.stream}, {_window(window)}" + (f" where {asked}" if asked else "")
        case UnionOperator(_, label):
            return f"union {label}"
        case JoinOperator(parts, columns, label):
            keys = ", ".join(f"({', '.join(part.variables)})" for part in parts)
            constants = "".join(f", {name[1:]!r} known" for name, _ in operator.constants)
            asked = f" where {write_conditions(operator.conditions)}" if operator.conditions else ""
            kind = "join" if len(parts) > 1 else "select"
            return f"{kind} {label}({', '.join(columns)}) of {keys}{constants}{asked}"
        case PathOperator(steps, automaton, label):  # pragma: no branch - mypy knows that no case is left
            ends = f", {'to' if operator.is_reversed else 'from'} {operator.root}" if operator.root is not None else ""
            return f"path {label} by {operator.engine.value}, {automaton.states} states over {len(steps)} symbols{ends}"


def _operands(operator: Operator) -> tuple[int, ...]:
    match operator:
        case ScanOperator():
            return ()
        case UnionOperator(operands):
            return operands
        case JoinOperator(parts):
            return tuple(dict.fromkeys(part.operand for part in parts))
        case PathOperator(steps):  # pragma: no branch - mypy knows that no case is left
            return tuple(dict.fromkeys(operand for operand, _ in steps))


def _window(window: StreamWindow) -> str:
    if window.kind is WindowKind.NOW:
        return "now"
    slide = "" if window.slide is None else f", slide {window.slide}"
    return f"{window.length}{slide}{', internal' if window.kind is WindowKind.INTERNAL else ''}"


def _write_filter(each: Filter | ScanOperator) -> str:
    labels = [f"{end} is {label}" for end, label in (("source", each.source_label), ("target", each.target_label)) if label]
    return ", ".join([*labels, *([write_conditions(each.conditions)] if each.conditions else [])])


def _term(term: Term) -> str:
    match term:
        case Variable(name):
            return name
        case Constant(key):  # pragma: no branch - mypy knows that no case is left
            return repr(key)
