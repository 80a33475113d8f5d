"""Expressions of the algebra as short text, and read from it: what tests and examples of transformation rules are written in.

    a                                       a scan of the label `a`, in a window of 10 ticks
    a@20                                    the same in a window of 20 ticks; `any` scans every label
    FILTER[e.n = 1 AND e.src <> "v"](a)     a FILTER; conditions compare an attribute with a constant or another attribute
    UNION(a, b)
    PATTERN[x, y](a as (x, m), b as (m, "v") where x.id <> y.id)
    PATH[:a (:b | ^:c)*, from v, to w](a, b, c)
    PATH[:d+](UNION(a, b) = d)              the symbol `d` stands for a UNION; a scan stands for its label

Labels of operators are not written, but where a symbol gives one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from graphtide_core.algebra import Binding, Filter, Path, Pattern, PatternOperand, Union, WScan
from graphtide_core.ids import StreamName, VertexId
from graphtide_core.path_expression import (
    Maybe,
    Plus,
    Star,
    Symbol,
    make_alternation,
    make_concatenation,
    renamed_symbols,
    symbols,
    write_expression,
)
from graphtide_core.predicate import Attribute, Compare, Comparison, Literal
from graphtide_core.regular_rule import Constant, Variable
from graphtide_core.stream_window import StreamWindow
from graphtide_core.time import Duration
from graphtide_query.families.algebra.path_forms import label_of
from graphtide_query.language.expression_printer import write_conditions

if TYPE_CHECKING:
    from graphtide_core.algebra import Algebra
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Term

LENGTH: Final = 10
"""Ticks of a window whose length is not written."""

_TOKEN: Final = re.compile(r'\s*("[^"]*"|<>|<=|>=|[\w\']+|\S)')
_REPEATED: Final[dict[str, type[Star | Plus | Maybe]]] = {"*": Star, "+": Plus, "?": Maybe}


def read(text: str) -> Algebra:
    """Return the expression that a text writes.

    Raises:
        ValueError: it writes none.
    """
    reader = _Reader(_TOKEN.findall(text))
    found = reader.expression()
    reader.take("")
    return found


def write_text(expression: Algebra) -> str:
    """Write an expression; what is read from that is the same but for the labels of operators."""
    match expression:
        case WScan(window, label):
            amount = window.length.amount
            return (label or "any") + ("" if amount == LENGTH else f"@{amount}")
        case Filter(operand, conditions):
            return f"FILTER[{write_conditions(conditions)}]({write_text(operand)})"
        case Union(operands):
            return f"UNION({', '.join(map(write_text, operands))})"
        case Pattern(parts, columns, _, conditions):
            joined = ", ".join(f"{write_text(part.operand)} as ({_term(part.source)}, {_term(part.target)})" for part in parts)
            asked = f" where {write_conditions(conditions)}" if conditions else ""
            return f"PATTERN[{', '.join(columns)}]({joined}{asked})"
        case Path(path, bindings, _, source, target):  # pragma: no branch - mypy knows that no case is left
            ends = "".join(f", {word} {end}" for word, end in (("from", source), ("to", target)) if end is not None)
            names = {each.predicate: _name(each.predicate) for each in symbols(path)}
            return f"PATH[{write_expression(renamed_symbols(path, names))}{ends}]({', '.join(map(_bound, bindings))})"


def _bound(binding: Binding) -> str:
    operand = binding.operand
    is_plain = isinstance(operand, WScan | Filter) and label_of(operand) == binding.symbol
    return write_text(operand) + ("" if is_plain else f" = {_name(binding.symbol)}")


def _name(name: str) -> str:
    return name if re.fullmatch(r"[\w']+", name) else f'"{name}"'


def _term(term: Term) -> str:
    return term.name if isinstance(term, Variable) else f'"{term.key}"'


class _Reader:
    """Reads tokens from left to right; after the last one comes "" for ever."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._place = 0

    def take(self, *wanted: str) -> str:
        token = self._next()
        if wanted and token not in wanted:
            message = f"{' or '.join(map(repr, wanted))} is wanted, and {token!r} stands there"
            raise ValueError(message)
        self._place += 1
        return token

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _is(self, *tokens: str) -> bool:
        """Take a token if it is one of these."""
        if self._next() not in tokens:
            return False
        self._place += 1
        return True

    def expression(self) -> Algebra:
        match word := self.take():
            case "FILTER":
                self.take("[")
                conditions = self._conditions()
                self.take("]")
                self.take("(")
                operand = self.expression()
                self.take(")")
                return Filter(operand, conditions)
            case "UNION":
                self.take("(")
                operands = [self.expression()]
                while self.take(",", ")") == ",":
                    operands.append(self.expression())
                return Union(tuple(operands), "union")
            case "PATTERN":
                return self._pattern()
            case "PATH":
                return self._path()
            case _:
                length = int(self.take()) if self._is("@") else LENGTH
                label = None if word == "any" else word
                return WScan(StreamWindow(StreamName("s"), Duration(length)), label)

    def _pattern(self) -> Algebra:
        self.take("[")
        columns = [self.take()]
        while self.take(",", "]") == ",":
            columns.append(self.take())
        self.take("(")
        parts = [self._part()]
        conditions: tuple[Expression, ...] = ()
        while self._is(","):
            parts.append(self._part())
        if self._is("where"):
            conditions = self._conditions()
        self.take(")")
        return Pattern(tuple(parts), tuple(columns), "pattern", conditions)

    def _part(self) -> PatternOperand:
        operand = self.expression()
        self.take("as")
        self.take("(")
        source = self._end()
        self.take(",")
        target = self._end()
        self.take(")")
        return PatternOperand(operand, source, target)

    def _end(self) -> Term:
        token = self.take()
        return Constant(VertexId(token[1:-1])) if token.startswith('"') else Variable(token)

    def _path(self) -> Algebra:
        self.take("[")
        path = self._options()
        ends: dict[str, VertexId] = {}
        while self._is(","):
            word = self.take("from", "to")
            ends[word] = VertexId(self.take())
        self.take("]")
        self.take("(")
        bindings = [self._binding()]
        while self.take(",", ")") == ",":
            bindings.append(self._binding())
        return Path(path, tuple(bindings), write_expression(path), ends.get("from"), ends.get("to"))

    def _binding(self) -> Binding:
        operand = self.expression()
        if not self._is("="):
            return Binding(label_of(operand), operand)
        symbol = self.take().strip('"')
        return Binding(symbol, operand if isinstance(operand, WScan | Filter) else replace(operand, label=symbol))

    def _options(self) -> PathExpression:
        options = [self._row()]
        while self._is("|"):
            options.append(self._row())
        return make_alternation(options)

    def _row(self) -> PathExpression:
        parts = [self._repeated()]
        while self._next() in (":", "^", "("):
            parts.append(self._repeated())
        return make_concatenation(parts)

    def _repeated(self) -> PathExpression:
        if self._is("("):
            found = self._options()
            self.take(")")
        else:
            is_inverse = self.take("^", ":") == "^"
            if is_inverse:
                self.take(":")
            found = Symbol(self.take().strip('"'), is_inverse)
        while self._next() in _REPEATED:
            found = _REPEATED[self.take()](found)
        return found

    def _conditions(self) -> tuple[Expression, ...]:
        found = [self._condition()]
        while self._is("AND"):
            found.append(self._condition())
        return tuple(found)

    def _condition(self) -> Expression:
        left = self._operand()
        comparison = Comparison(self.take())
        return Compare(comparison, left, self._operand())

    def _operand(self) -> Expression:
        token = self.take()
        if token.startswith('"'):
            return Literal(token[1:-1])
        if token.isdigit():
            return Literal(int(token))
        self.take(".")
        return Attribute(token, self.take())
