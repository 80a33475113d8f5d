"""Mutants of a Python source: copies with one changed meaning each.

`mutants(source)` lists every mutant in the order of the text, so that a seed picks the same ones again. Never changed are
docstrings, annotations, f-strings, decorators, `if TYPE_CHECKING` and `assert_never`: a change there does not change behaviour,
or no test can see it. Each mutant parses. Whether it means the same as before (an *equivalent* mutant) is undecidable in
general. So a perfect suite kills almost all of them rather than all.

The operators are those that studies found sufficient. See Offutt et al., *An Experimental Determination of Sufficient Mutant
Operators* (TOSEM 1996). For statement deletion see Deng, Offutt, Li, *Empirical Evaluation of the Statement Deletion Mutation
Operator* (ICST 2013).
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the bytes `start` to `stop` of a source become `after`."""

    line: int
    lines: range
    """The lines of its statement, without the body of a compound one: a test that runs one of them may notice."""
    in_function: bool
    """False for code that runs when the module is imported."""
    start: int
    stop: int
    before: str
    after: str

    def applied_to(self, source: bytes) -> bytes:
        """Return the source with this change."""
        return source[: self.start] + self.after.encode() + source[self.stop :]


_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_UNCHANGED_FIELDS: Final = frozenset({"annotation", "returns", "decorator_list", "type_comment"})


def mutants(source: str) -> list[Mutant]:
    """Return every mutant of the source, in the order of the text.

    Raises:
        SyntaxError: The source is not Python.
    """
    found = _Search(source)
    found.visit(ast.parse(source))
    return sorted(found.mutants, key=lambda mutant: (mutant.start, mutant.stop, mutant.after))


class _Search:
    """A walk over a tree that knows the statement it is in, and whether a function has to be called for it to run."""

    def __init__(self, source: str) -> None:
        self.mutants: list[Mutant] = []
        self._source = source.encode()
        self._starts = [0]
        for line in self._source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._lines = range(0)
        self._functions = 0

    def visit(self, node: ast.AST) -> None:
        if _is_never_changed(node):
            return
        outside = self._lines
        self._lines = _own_lines(node) or outside
        for target, replacement in _changes(node):
            self._add(target, replacement)
        for name, value in ast.iter_fields(node):
            if name in _UNCHANGED_FIELDS:
                continue
            called = name == "body" and isinstance(node, _FUNCTIONS)
            self._functions += called
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    self.visit(child)
            self._functions -= called
        self._lines = outside

    def _add(self, target: ast.expr | ast.stmt, replacement: ast.expr | ast.stmt) -> None:
        start = self._offset(target.lineno, target.col_offset)
        stop = self._offset(target.end_lineno or target.lineno, target.end_col_offset or target.col_offset)
        after = ast.unparse(ast.fix_missing_locations(replacement))
        self.mutants.append(
            Mutant(
                line=target.lineno,
                lines=self._lines,
                in_function=self._functions > 0,
                start=start,
                stop=stop,
                before=self._source[start:stop].decode(),
                after=after if isinstance(replacement, ast.stmt | ast.Constant) else f"({after})",
            )
        )

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _is_never_changed(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr():  # positions inside it are wrong before Python 3.12
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
        case ast.If(test=ast.Compare(left=ast.Name("__name__"))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name("assert_never"))):
            return True
    return False


def _own_lines(node: ast.AST) -> range:
    """Return the lines of a statement without its body; none for what is part of a statement."""
    match node:
        case ast.match_case():
            return range(node.pattern.lineno, (node.guard or node.pattern).end_lineno + 1)  # type: ignore[operator] # parsed
        case ast.Match():
            return range(node.lineno, (node.subject.end_lineno or node.lineno) + 1)
        case ast.stmt(lineno=first, end_lineno=last):
            body = getattr(node, "body", None)
            return range(first, max(first, body[0].lineno - 1 if body else last or first) + 1)
    return range(0)


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]]:
    """Yield the parts of this node that change, each with its replacement."""
    match node:
        case ast.expr():
            yield from _changed_expressions(node)
        case ast.stmt():
            yield from _changed_statements(node)
    match node:
        case ast.If() | ast.While() | ast.IfExp():
            yield from _negate(node.test)
        case ast.comprehension():
            for condition in node.ifs:
                yield from _negate(condition)
        case ast.match_case(guard=ast.expr() as guard):
            yield from _negate(guard)


def _changed_expressions(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                if other := _COMPARISONS.get(type(operator)):
                    changed = copy.deepcopy(node)
                    changed.ops[at] = other()
                    yield node, changed
        case ast.BoolOp():
            yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.BinOp():
            if arithmetic := _ARITHMETIC.get(type(node.op)):
                yield node, ast.BinOp(node.left, arithmetic(), node.right)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            yield node, ast.Constant(number + 1)
            yield node, ast.Constant(number - 1)


def _changed_statements(node: ast.stmt) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    match node:
        case ast.Return(value=ast.Constant(value=bool() as answer)):
            yield node, ast.Return(ast.Constant(not answer))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield node, ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            yield node, ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield node, ast.Pass()
        case ast.AnnAssign(target=ast.Attribute() | ast.Subscript(), value=ast.expr()):
            yield node, ast.Pass()


def _negate(condition: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the condition's opposite, unless changing its only comparison gives the same."""
    match condition:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield condition, operand
        case _:
            yield condition, ast.UnaryOp(ast.Not(), condition)
