"""A rule of a Regular Query: a head that is derived from a conjunction of paths.

Reference: paper 001, Definition 13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphtide_core.ids import VertexId
    from graphtide_core.path_expression import PathExpression
    from graphtide_core.predicate import Expression


@dataclass(frozen=True, slots=True)
class Variable:
    """A vertex that a rule leaves open; equal names in one rule are one vertex."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A vertex that a rule names."""

    key: VertexId


Term = Variable | Constant
"""An end of an atom."""


@dataclass(frozen=True, slots=True)
class Atom:
    """Paths of an expression from `source` to `target`; a single forward symbol is an edge of its predicate.

    `name` is what the rule calls the path, if it does: `p<~RL*>` in G-CORE, `as RLP` in Datalog.
    """

    expression: PathExpression
    source: Term
    target: Term
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """`head(columns) <- body`: a derived edge for each way in which all atoms and conditions hold.

    A head that other rules read has two columns; several rules of one head are united. Conditions read `variable.id` alone.
    """

    head: str
    columns: tuple[str, ...]
    body: tuple[Atom, ...]
    conditions: tuple[Expression, ...] = ()
