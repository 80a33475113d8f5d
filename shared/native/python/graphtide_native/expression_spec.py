"""Predicates as native engines read them; what names stand for, the kinds of patterns say.

The format is private to this package: `graphtide_engine::expression` reads what is written here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from graphtide_core import predicate as p

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]

LABEL_COLUMNS: Final = {"label": 2**16 - 1, "src_label": 2**16 - 2, "dst_label": 2**16 - 3}
"""The columns of what a record has beside attributes."""

FIRST_AGGREGATE: Final = 2**15
"""The column of the first of what is computed from lists."""


class ExpressionWriter(ABC):
    """Writes predicates with positions in place of names."""

    __slots__ = ()

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
            case p.Compare(comparison, left, right):
                return {"compare": [comparison.name.lower(), [self.write(left), self.write(right)]]}
            case p.Compute(operator, left, right):
                return {"compute": [operator.name.lower(), [self.write(left), self.write(right)]]}
            case p.Negate(operand):
                return {"negate": self.write(operand)}
            case p.Conjunction(operands):
                return {"and": [self.write(operand) for operand in operands]}
            case p.Disjunction(operands):
                return {"or": [self.write(operand) for operand in operands]}
            case p.Negation(operand):
                return {"not": self.write(operand)}
            case p.In(operand, options):
                return {"in": [self.write(operand), list(options)]}
            case p.StartsWith(operand, prefix):
                return {"starts_with": [self.write(operand), prefix]}
            case p.IsNull(operand):
                return {"is_null": self.write(operand)}
