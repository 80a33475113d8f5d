"""How plans of streaming graph queries follow from them, as JSON, tagged by what runs their PATHs."""

from __future__ import annotations

from typing import Annotated, Self

import msgspec
from graphtide_core.plans import MOST_REWRITINGS, Derivation, JoinSteps, PathEngine, Rewriting
from msgspec import Meta

from graphtide_wire.plan_forms.estimates import finite

_MOST: int = 2**16
Number = Annotated[int, Meta(ge=0, lt=_MOST)]
Groups = Annotated[tuple[Annotated[tuple[Number, ...], Meta(max_length=_MOST)], ...], Meta(max_length=_MOST)]


class RewritingForm(msgspec.Struct, frozen=True):
    """A `Rewriting`."""

    rule: Annotated[str, Meta(min_length=1, max_length=100)]
    number: Number


class JoinForm(msgspec.Struct, frozen=True):
    """A `JoinSteps`."""

    pattern: Number
    groups: Groups


Rewritings = Annotated[tuple[RewritingForm, ...], Meta(max_length=MOST_REWRITINGS)]


class _DerivationForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `Derivation`; `rewritings` null, or missing, is the query as it is written."""

    rewritings: Rewritings | None = None
    joins: Annotated[tuple[JoinForm, ...], Meta(max_length=_MOST)] = ()
    estimates: Annotated[tuple[float | None, ...], Meta(max_length=_MOST)] = ()

    @classmethod
    def of(cls, plan: Derivation) -> Self:
        """Return the form of a derivation."""
        rewritings = (
            None if plan.rewritings is None else tuple(RewritingForm(each.rule, each.number) for each in plan.rewritings)
        )
        joins = tuple(JoinForm(each.pattern, each.groups) for each in plan.joins)
        return cls(rewritings, joins, tuple(None if each is None else finite(each) for each in plan.estimates))

    def derivation(self, engine: PathEngine) -> Derivation:
        """Return the derivation of a plan whose PATHs an engine runs."""
        rewritings = None if self.rewritings is None else tuple(Rewriting(each.rule, each.number) for each in self.rewritings)
        joins = tuple(JoinSteps(each.pattern, each.groups) for each in self.joins)
        return Derivation(engine, rewritings, joins, self.estimates)


class SPathForm(_DerivationForm, frozen=True, tag_field="engine", tag="s-path"):
    """A `Derivation` of a plan of `s-path`."""

    def plan(self) -> Derivation:
        """Return the derivation."""
        return self.derivation(PathEngine.S_PATH)


class DeltaTreeForm(_DerivationForm, frozen=True, tag_field="engine", tag="delta-tree"):
    """A `Derivation` of a plan of `delta-tree`."""

    def plan(self) -> Derivation:
        """Return the derivation."""
        return self.derivation(PathEngine.DELTA_TREE)


AlgebraForm = SPathForm | DeltaTreeForm
