"""Rules of Datalog to streaming graph queries.

A predicate that is the head of no rule is an input. It is one that INPUT declares, or the edges of that label in the window
stated after the rules.

Reference: paper 001, Definition 13.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError
from graphtide_core.graph_query import EDGE, GraphQuery, Input, Output
from graphtide_core.graph_query_rules import MAX_ATOMS, refuse_loose_parts
from graphtide_core.ids import PatternName, VertexId
from graphtide_core.path_expression import symbols
from graphtide_core.predicate import conjuncts, rename
from graphtide_core.regular_rule import Atom, Constant, Rule, Variable
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language import ast, graph_ast
from graphtide_query.language.annotations import annotate
from graphtide_query.language.clauses import place_errors, require_text
from graphtide_query.language.datalog_names import VertexNames
from graphtide_query.language.datalog_order import order_rules, refuse_recursion
from graphtide_query.language.expressions import bind_constant, bind_expression
from graphtide_query.language.gcore_results import ANSWER, bind_returned_name
from graphtide_query.language.gcore_scope import Block, Scope
from graphtide_query.language.graph import bind_properties
from graphtide_query.language.graph_inputs import bind_window, find_on
from graphtide_query.language.graph_names import query_name, result_names
from graphtide_query.language.path_binder import bind_path
from graphtide_query.language.spelling import list_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.regular_rule import Term

_BINARY = 2


def bind_program(
    stated: ast.Name | None, view: graph_ast.View | None, program: graph_ast.Program
) -> tuple[ast.Name, GraphQuery]:
    """Return the query that the nodes describe, and its name.

    Raises:
        InvalidPatternError: a rule is unsafe or recursive, or reads a predicate that does not have two columns. Or a clause is
            missing or stated twice, or as `GraphQuery`; with its place.
            Complexity: linear in the nodes, quadratic in heads, which are bounded.
    """
    if len(program.rules) > MAX_ATOMS:
        message = f"a query may have at most {MAX_ATOMS} rules"
        raise InvalidPatternError(message, program.rules[MAX_ATOMS].head.location)
    heads = _collect_heads(program)
    refuse_recursion(program.rules)
    inputs = _Inputs(program, heads)
    rules = tuple(_bind_rule(rule, heads, inputs) for rule in program.rules)
    ordered = order_rules(rules)
    outputs = tuple(_bind_outputs(program, heads, rules))
    label = next((each.label for each in program.clauses if isinstance(each, graph_ast.Output) and each.label), None)
    name = query_name(stated, view, label or heads[outputs[0].head].head)
    with place_errors(heads[outputs[0].head].head.location):
        bound = GraphQuery(PatternName(name.text), inputs.ordered_by(ordered), ordered, outputs, is_view=view is not None)
    return name, annotate(bound, program.clauses, result_names(bound.outputs))


def _collect_heads(program: graph_ast.Program) -> dict[str, graph_ast.Rule]:
    """Return the first rule of each head."""
    heads: dict[str, graph_ast.Rule] = {}
    for rule in program.rules:
        require_text(rule.head)
        first = heads.setdefault(rule.head.text, rule)
        if len(first.columns) != len(rule.columns):
            message = f"{show(rule.head.text)} has {len(first.columns)} columns in one rule and {len(rule.columns)} here"
            raise InvalidPatternError(
                message, rule.head.location, hint="rules with one head form a union: give this head another name"
            )
    return heads


class _Inputs:
    """The inputs of a query: declared ones, and those that its rules read without a declaration."""

    def __init__(self, program: graph_ast.Program, heads: dict[str, graph_ast.Rule]) -> None:
        on = find_on(program.clauses)
        self._window = None if on is None else bind_window(on)
        self._found: dict[str, Input] = {}
        for declared in program.inputs:
            name = declared.name
            require_text(name)
            if name.text in self._found or name.text in heads:
                message = f"{show(name.text)} is the name of " + ("two inputs" if name.text in self._found else "a rule, too")
                raise InvalidPatternError(message, name.location, hint="give one of them another name")
            if len(self._found) == MAX_ATOMS:
                message = f"a query may have at most {MAX_ATOMS} inputs"
                raise InvalidPatternError(message, name.location)
            self._found[name.text] = _bind_input(declared)
        self._declared = tuple(self._found)
        # The name of a path of a rule is not a predicate.
        self._paths = {atom.name.text for rule in program.rules for atom in rule.body if atom.name is not None} - heads.keys()

    def ordered_by(self, rules: Sequence[Rule]) -> tuple[Input, ...]:
        """Return the declared inputs, then the others in the order in which rules read them."""
        read = (symbol.predicate for rule in rules for atom in rule.body for symbol in symbols(atom.expression))
        names = dict.fromkeys((*self._declared, *(name for name in read if name in self._found)))
        return tuple(self._found[name] for name in names)

    def read(self, step: graph_ast.Step, heads: dict[str, graph_ast.Rule]) -> str:
        """Return the predicate of a step, and make it an input unless it is one."""
        name = step.name.text
        require_text(step.name)
        if name in heads:
            columns = len(heads[name].columns)
            if columns != _BINARY:
                message = f"{show(name)} has {columns} columns, and a rule reads predicates of two columns"
                hint = "edges and paths have two ends; only the answer may have fewer or more columns"
                raise InvalidPatternError(message, step.location, hint=hint)
        elif step.sign == "~":
            message = f"no rule derives ~{name}"
            hint = did_you_mean(name, heads) or f"write a label of edges as :{name}"
            raise InvalidPatternError(message, step.location, hint=hint)
        elif name not in self._found:
            if name in self._paths:
                message = f"{show(name)} is the name of a path of a rule, which other rules cannot read"
                hint = f"give it a rule of its own: {name}(x, y) <- …"
                raise InvalidPatternError(message, step.location, hint=hint)
            if len(self._found) == MAX_ATOMS:
                message = f"a query may have at most {MAX_ATOMS} inputs"
                raise InvalidPatternError(message, step.location)
            if self._window is None:
                message = f"no ON clause names the stream of {show(name)}"
                hint = "after the rules, name the stream and how long its edges are valid: ON stream WINDOW(24h)"
                raise InvalidPatternError(message, step.location, hint=hint)
            self._found[name] = Input(name, self._window, name)
        return name


def _bind_input(declared: graph_ast.Input) -> Input:
    path = declared.path
    edge = path.steps[0][0] if len(path.steps) == 1 else None
    if not isinstance(edge, ast.Edge):
        message = "an INPUT has exactly one edge"
        hint = f"INPUT {declared.name.text} = ()-[e:label]->() ON stream WINDOW(24h)"
        raise InvalidPatternError(message, path.start.location, hint=hint)
    right = path.steps[0][1]
    on = find_on(declared.options)
    if on is None:
        message = f"the INPUT {show(declared.name.text)} has no ON clause"
        raise InvalidPatternError(message, declared.name.location, hint="name the stream and its window: ON stream WINDOW(24h)")
    window = bind_window(on)
    # A scope rejects what an edge cannot have, and knows its name.
    scope = Scope([Block((path,), window)])
    source, target = (path.start, right) if edge.forward else (right, path.start)
    _refuse_vertex(source)
    _refuse_vertex(target)
    called = EDGE if edge.name is None else edge.name.text
    conditions = bind_properties(EDGE, edge.properties)
    for where in declared.options:
        if isinstance(where, ast.Where):
            bound = conjuncts(bind_expression(where.condition, scope))
            conditions += (rename(each, {called: EDGE}) for each in bound)
    label, source_label, target_label = (
        None if each is None else each.text for each in (edge.label, source.label, target.label)
    )
    return Input(declared.name.text, window, label, source_label, target_label, tuple(conditions))


def _refuse_vertex(vertex: ast.Vertex) -> None:
    if vertex.name is not None or vertex.properties:
        message = "a vertex of an INPUT may have only a label"
        hint = "the rules that read it name its vertices; a condition reads their ids as e.src and e.dst"
        raise InvalidPatternError(message, vertex.location, hint=hint)


def _bind_rule(rule: graph_ast.Rule, heads: dict[str, graph_ast.Rule], inputs: _Inputs) -> Rule:
    if len(rule.body) > MAX_ATOMS:
        message = f"a rule may have at most {MAX_ATOMS} atoms"
        raise InvalidPatternError(message, rule.body[MAX_ATOMS].location)
    given = {end.variable.text for atom in rule.body for end in atom.ends if end.variable is not None}
    made = (name for number in count(1) if (name := f"v{number}") not in given)
    named: set[str] = set()
    body: list[Atom] = []
    for atom in rule.body:
        if len(atom.ends) != _BINARY:
            message = f"an atom has two ends; this one has {len(atom.ends)}"
            hint = "edges and paths are between two vertices: likes(x, m)"
            raise InvalidPatternError(message, atom.location, hint=hint)
        expression = bind_path(atom.relation, lambda step: inputs.read(step, heads))
        source, target = (_bind_term(end, made) for end in atom.ends)
        if atom.name is not None:
            require_text(atom.name)
            if atom.name.text in named:
                message = f"{show(atom.name.text)} names two paths of the rule"
                raise InvalidPatternError(message, atom.name.location, hint="give one of them another name")
            named.add(atom.name.text)
        body.append(Atom(expression, source, target, None if atom.name is None else atom.name.text))
    columns = tuple(_bind_column(end, given) for end in rule.columns)
    names = VertexNames(given)
    conditions = () if rule.where is None else conjuncts(bind_expression(rule.where.condition, names))
    bound = Rule(rule.head.text, columns, tuple(body), conditions)
    with place_errors(rule.head.location):
        refuse_loose_parts(bound)
    return bound


def _bind_term(end: graph_ast.End, made: Iterator[str]) -> Term:
    if end.constant is not None:
        return Constant(VertexId(str(bind_constant(end.constant))))
    if end.variable is None:
        return Variable(next(made))
    require_text(end.variable)
    return Variable(end.variable.text)


def _bind_column(end: graph_ast.End, bound: set[str]) -> str:
    if end.variable is None:
        message = "the columns of a head are variables"
        hint = "write the constant in the body: RL(x, y) <- follows(x, y), likes(x, 'm1')."
        if end.constant is None:
            hint = "name every column; _ is a vertex of the body that is not reported"
        raise InvalidPatternError(message, end.location, hint=hint)
    name = end.variable.text
    if name not in bound:
        message = f"{show(name)} is in the head of a rule and in no atom of its body"
        hint = did_you_mean(name, bound) or "every variable of a head must be an end of an atom"
        raise InvalidPatternError(message, end.location, hint=hint)
    return name


def _bind_outputs(program: graph_ast.Program, heads: dict[str, graph_ast.Rule], rules: tuple[Rule, ...]) -> Iterator[Output]:
    """Yield the outputs: those of OUTPUT, or else the default."""
    latest: Output | None = None
    has_path = False
    for each in program.clauses:
        match each:
            case graph_ast.Output(head, names, label):
                if latest is not None:
                    yield latest
                latest, has_path = _bind_output(head, names, label, heads), False
            case ast.Returning():
                latest = latest or default_output(rules)
                if has_path:
                    message = "the query has a second RETURN clause"
                    raise InvalidPatternError(message, each.location, hint="keep one")
                has_path = True
                latest = replace(latest, path=_bind_path_name(bind_returned_name(each), latest.head, rules))
    yield latest or default_output(rules)


def default_output(rules: Sequence[Rule]) -> Output:
    """Return the default output: the predicate Answer, or else the head of the last rule."""
    columns: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        columns.setdefault(rule.head, rule.columns)
    head = ANSWER if ANSWER in columns else rules[-1].head
    return Output(head, head, _number_repeated(columns[head]))


def _number_repeated(columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of columns, with a number after a repeated name."""
    found: dict[str, None] = {}
    for each in columns:
        spelled = (each if number == 1 else f"{each}_{number}" for number in count(1))
        found[next(name for name in spelled if name not in found)] = None
    return tuple(found)


def _bind_output(
    head: ast.Name, names: tuple[ast.Name, ...], label: ast.Name | None, heads: dict[str, graph_ast.Rule]
) -> Output:
    if head.text not in heads:
        message = f"no rule derives {show(head.text)}"
        raise InvalidPatternError(
            message, head.location, hint=did_you_mean(head.text, heads) or f"the heads are {list_names(heads)}"
        )
    for each in (*names, *(() if label is None else (label,))):
        require_text(each)
    expected = len(heads[head.text].columns)
    if len(names) != expected:
        message = f"{show(head.text)} has {expected} columns, and OUTPUT names {len(names)}"
        raise InvalidPatternError(message, head.location)
    seen: set[str] = set()
    for each in names:
        if each.text in seen:
            message = f"{show(each.text)} names two columns"
            raise InvalidPatternError(message, each.location, hint="give one another name")
        seen.add(each.text)
    return Output(head.text, head.text if label is None else label.text, tuple(each.text for each in names))


def _bind_path_name(path: ast.Name, head: str, rules: tuple[Rule, ...]) -> str:
    for rule in rules:
        known = {atom.name for atom in rule.body if atom.name is not None}
        if rule.head == head and path.text not in known:
            message = f"a rule of {show(head)} has no path {show(path.text)}"
            hint = did_you_mean(path.text, known) or f"name one: {head}(x, y) <- follows+(x, y) AS {path.text}."
            raise InvalidPatternError(message, path.location, hint=hint)
    return path.text
