"""Predicates as native engines read them; what names stand for, the kinds of patterns say.

The format is private to this package: `graphtide_engine::expression` reads what is written here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, Union

import msgspec
from graphtide_core import predicate as p
from graphtide_core.operator_signs import sign_of

from graphtide_native.records import ticks_per_second

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from graphtide_core.edge import Value
    from graphtide_core.time import TimeUnit

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]

LABEL_COLUMNS: Final = {"label": 2**16 - 1, "src_label": 2**16 - 2, "dst_label": 2**16 - 3}
"""The columns of what a record has beside attributes."""

FIRST_AGGREGATE: Final = 2**15
"""The column of the first of what is computed from lists."""


_OfOne = Union[p.Negate[p.Expression], "p.In[p.Expression, Value]", p.StartsWith[p.Expression], p.IsNull[p.Expression]]


class ExpressionWriter(ABC):
    """Writes predicates with positions in place of names.

    What has functions is a program over the attributes and aggregates that it reads, as `graphtide_engine::computed` reads it.
    Its form is that of expressions of STREAM statements.
    """

    __slots__ = ()

    unit: TimeUnit
    """What a tick of the stream's time is."""

    @abstractmethod
    def attribute(self, attribute: p.Attribute) -> Json:
        """Return what an attribute is read from."""

    @abstractmethod
    def aggregate(self, aggregate: p.Aggregate) -> Json:
        """Return what an aggregate is read from."""

    def write(self, expression: p.Expression) -> Json:
        """Return an expression as it is read."""
        match expression:
            case p.Literal(value):
                return {"literal": value}
            case p.Attribute():
                return self.attribute(expression)
            case p.Aggregate():
                return self.aggregate(expression)
            case p.Conjunction(operands):
                return {"and": [self.write(operand) for operand in operands]}
            case p.Disjunction(operands):
                return {"or": [self.write(operand) for operand in operands]}
            case p.Negation(operand):
                return {"not": self.write(operand)}
            case p.Compare(comparison, left, right):
                sides: list[Json] = [self.write(left), self.write(right)]
                kind = "compare_computed" if any(map(_is_computed, sides)) else "compare"
                return {kind: [comparison.name.lower(), sides]}
            case p.FunctionCall():
                return self._program(expression)
            case _:
                return self._program(expression) if _calls(expression) else self._over_values(expression)

    def _over_values(self, expression: p.Compute[p.Expression] | _OfOne) -> Json:
        match expression:
            case p.Compute(operator, left, right):
                return {"compute": [operator.name.lower(), [self.write(left), self.write(right)]]}
            case p.Negate(operand):
                return {"negate": self.write(operand)}
            case p.In(operand, options):
                return {"in": [self.write(operand), list(options)]}
            case p.StartsWith(operand, prefix):
                return {"starts_with": [self.write(operand), prefix]}
            case p.IsNull(operand):
                return {"is_null": self.write(operand)}

    def _program(self, expression: p.Expression) -> Json:
        reads: list[Json] = []
        zones = {
            str(zone.value)
            for call in p.calls(expression)
            if call.function == "date_part"
            for zone in call.arguments[2:]
            if isinstance(zone, p.Literal)
        }
        program = self._form(expression, reads)
        return {
            "computed": {
                "reads": reads,
                "program": msgspec.json.encode(program).decode(),
                "ticks_per_second": ticks_per_second(self.unit),
                "zones": _clocks(zones),
            }
        }

    def _form(self, expression: p.Expression, reads: list[Json]) -> Json:
        """Return the form of a program; what it reads is added to `reads`, each once."""

        def several(operands: Iterable[p.Expression]) -> list[Json]:
            return [self._form(operand, reads) for operand in operands]

        match expression:
            case p.Literal(value):
                return {"is": "constant", "value": value}
            case p.Attribute() | p.Aggregate():
                read = self.write(expression)
                if read not in reads:
                    reads.append(read)
                return {"is": "read", "place": reads.index(read)}
            case p.FunctionCall(function, arguments):
                return {"is": "call", "function": function, "arguments": several(arguments)}
            case p.In(operand, options):
                return {"is": "in", "operand": self._form(operand, reads), "options": list(options)}
            case p.StartsWith(operand, prefix):
                return {"is": "starts-with", "operand": self._form(operand, reads), "prefix": prefix}
            case _:
                return {"is": "operator", "operator": sign_of(expression), "operands": several(p.operands(expression))}


def _calls(expression: p.Expression) -> bool:
    """Return whether an expression calls a function."""
    return next(p.calls(expression), None) is not None


def _is_computed(side: Json) -> bool:
    return isinstance(side, dict) and "computed" in side


def _clocks(zones: Collection[str]) -> Json:
    if not zones:
        return {}
    from graphtide_native.record_form import clocks_of_zones  # noqa: PLC0415 - nearly no pattern names a zone

    return {name: [[list(change) for change in changes], until] for name, (changes, until) in clocks_of_zones(zones).items()}
