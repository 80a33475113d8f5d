"""Compile expressions of the algebra into operators.

Equal expressions become one operator. A PATTERN is one join of all its parts, which keeps no intermediate rows, or, with given
steps, a sequence of joins. A PATH becomes an automaton over its operands, walked from the end that is known.

Reference: paper 001, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphtide_core.algebra import Algebra, Filter, Path, Pattern, Union, WScan
from graphtide_core.path_expression import Symbol, reversed_expression, symbols
from graphtide_core.plans.algebra import (
    AlgebraPlan,
    JoinOperator,
    JoinPart,
    PathOperator,
    ReportedOperator,
    ScanOperator,
    TracedPath,
    UnionOperator,
)
from graphtide_core.plans.engines import PathEngine
from graphtide_core.predicate import attributes
from graphtide_core.regular_rule import Constant, Variable

from graphtide_query.families.algebra.automaton import automaton_of
from graphtide_query.families.algebra.path_forms import label_of
from graphtide_query.families.algebra.translation import (
    derived_predicates,
    returned_expression,
    returned_paths,
    rule_expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from graphtide_core.graph_query import GraphQuery, Output
    from graphtide_core.ids import VertexId
    from graphtide_core.plans.algebra import Operator, OperatorIndex
    from graphtide_core.regular_rule import Term

    from graphtide_query.families.algebra.translation import Predicates

Steps = tuple[tuple[int, ...], ...]
"""The join order of a PATTERN: groups of its parts, each joined with the earlier result."""


def compile_plan(  # noqa: PLR0917 - each after the second is one of few who give it
    query: GraphQuery,
    logical: Sequence[Algebra],
    engine: PathEngine = PathEngine.S_PATH,
    steps: Mapping[Pattern, Steps] | None = None,
    rules: tuple[str, ...] = (),
    estimated: Callable[[Algebra], float] | None = None,
) -> AlgebraPlan:
    """Return the plan that computes the expression of each output of a query.

    Args:
        query: whose outputs.
        logical: an expression for each of them.
        engine: that runs PATHs.
        steps: the join orders of PATTERNs; without one, all parts are joined at once.
        rules: names of the rules that led to the expressions.
        estimated: the estimated state of the operator of an expression.
    """
    known = derived_predicates(query)
    returned = returned_paths(query)
    # Joins whose rows lead to paths keep all their variables.
    traced = {rule_expression(rule, known, returned[rule.head]) for rule in query.rules if rule.head in returned}
    compiler = _Compiler(engine, {pattern: order for pattern, order in (steps or {}).items() if pattern not in traced})
    outputs = [compiler.operator(expression) for expression in logical]
    reported = [
        ReportedOperator(operator, tuple(_paths(query, output, known, compiler)))
        for operator, output in zip(outputs, query.outputs, strict=True)
    ]
    held: dict[OperatorIndex, float] = {}
    for expression, operator in compiler.numbers.items():
        if estimated is not None:
            held.setdefault(operator, estimated(expression))
    estimates = tuple(map(held.get, range(len(compiler.operators)))) if held else ()
    return AlgebraPlan(tuple(compiler.operators), tuple(reported), tuple(logical), engine, rules, estimates)


@dataclass(slots=True)
class _Compiler:
    engine: PathEngine
    steps: Mapping[Pattern, Steps]
    operators: list[Operator] = field(default_factory=list)
    numbers: dict[Algebra, OperatorIndex] = field(default_factory=dict)
    made: dict[Operator, OperatorIndex] = field(default_factory=dict)

    def operator(self, expression: Algebra) -> OperatorIndex:
        """Return the number of the operator that computes an expression."""
        known = self.numbers.get(expression)
        if known is None:
            known = self.numbers[expression] = self._compiled(expression)
        return known

    def _compiled(self, expression: Algebra) -> OperatorIndex:
        match expression:
            case WScan(window, label):
                return self._put(ScanOperator(window, label))
            case Filter(WScan(window, label), conditions, source_label, target_label):
                return self._put(ScanOperator(window, label, source_label, target_label, conditions))
            case Filter(operand, conditions):
                part = JoinPart(self.operator(operand), ("source", "target"))
                return self._put(JoinOperator((part,), part.variables, label_of(operand), conditions=conditions))
            case Union(operands, label):
                return self._put(UnionOperator(tuple(map(self.operator, operands)), label))
            case Pattern():
                return self._joined(expression)
            case Path():  # pragma: no branch - mypy knows that no case is left
                return self._walked(expression)

    def _put(self, operator: Operator) -> OperatorIndex:
        known = self.made.get(operator)
        if known is None:
            known = self.made[operator] = len(self.operators)
            self.operators.append(operator)
        return known

    def _joined(self, pattern: Pattern) -> OperatorIndex:
        names = _Names()
        parts = [
            JoinPart(self.operator(part.operand), (names.of(part.source), names.of(part.target))) for part in pattern.parts
        ]
        constants = tuple(names.constants.items())
        groups = self.steps.get(pattern, (tuple(range(len(parts))),))
        waiting = list(pattern.conditions)
        rows: JoinPart | None = None
        for place, group in enumerate(groups):
            joined = [*([] if rows is None else [rows]), *(parts[number] for number in group)]
            bound = {name for part in joined for name in part.variables}
            ready = tuple(each for each in waiting if {read.variable for read in attributes(each)} <= bound)
            waiting = [each for each in waiting if each not in ready]
            known = tuple(each for each in constants if each[0] in bound)
            later = {name for group in groups[place + 1 :] for number in group for name in parts[number].variables}
            later |= {read.variable for each in waiting for read in attributes(each)}
            is_last = place == len(groups) - 1
            columns = pattern.columns if is_last else tuple(sorted(bound & (later | set(pattern.columns))))
            label = pattern.label if is_last else f"{pattern.label}/{place + 1}"
            rows = JoinPart(self._put(JoinOperator(tuple(joined), columns, label, known, ready)), columns)
        if rows is None:  # pragma: no cover - a pattern has a part, and steps name it
            message = "a pattern has no part"
            raise ValueError(message)
        return rows.operand

    def _walked(self, path: Path) -> OperatorIndex:
        operands = {binding.symbol: self.operator(binding.operand) for binding in path.bindings}
        # Walk from the known end, if there is one: then there is one root.
        is_reversed = path.source is None and path.target is not None
        expression = reversed_expression(path.expression) if is_reversed else path.expression
        found = list(dict.fromkeys(symbols(expression)))
        order = {symbol: number for number, symbol in enumerate(found)}
        walked = PathOperator(
            symbols=tuple((operands[symbol.predicate], symbol.is_inverse) for symbol in found),
            automaton=automaton_of(expression, order),
            label=path.label,
            engine=self.engine,
            root=path.target if is_reversed else path.source,
            is_reversed=is_reversed,
        )
        number = self._put(walked)
        if path.source is None or path.target is None:
            return number
        # Both ends are known: keep the paths from one to the other.
        part = JoinPart(number, ("source", "target"))
        return self._put(JoinOperator((part,), part.variables, path.label, (("target", path.target),)))


@dataclass(slots=True)
class _Names:
    """Variables of a join; each constant is one."""

    constants: dict[str, VertexId] = field(default_factory=dict)

    def of(self, term: Term) -> str:
        """Return the variable of an end."""
        match term:
            case Variable(name):
                return name
            case Constant(key):  # pragma: no branch - mypy knows that no case is left
                name = f"={key}"
                self.constants[name] = key
                return name


def _paths(query: GraphQuery, output: Output, known: Predicates, compiler: _Compiler) -> Iterator[TracedPath]:
    """Yield where the paths of an output are found: one for each rule of its head."""
    if output.path is None:
        return
    for rule in query.rules:
        if rule.head != output.head:
            continue
        atom = next(atom for atom in rule.body if atom.name == output.path)
        expression = rule_expression(rule, known, output.path)
        returned = returned_expression(rule, atom, known)
        is_edge = isinstance(atom.expression, Symbol) and not atom.expression.is_inverse
        if not isinstance(expression, Pattern) or expression == returned:
            # A rule that only renames a predicate has no join, although the renamed predicate may be one.
            walked = compiler.operator(expression)
            yield TracedPath(walked, None, (rule.columns[0], rule.columns[1]), is_edge)
        else:
            names, walked = _Names(), compiler.operator(returned)
            yield TracedPath(walked, compiler.operator(expression), (names.of(atom.source), names.of(atom.target)), is_edge)
