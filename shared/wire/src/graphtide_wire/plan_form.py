"""Physical plans as JSON, tagged by their engine; numbers are those of query edges in the pattern."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
from graphtide_core.pattern import MAX_EDGES
from graphtide_core.plan import (
    MOST_PRIME,
    BaselinePlan,
    Candidate,
    ColoringPlan,
    FilteringPlan,
    PhysicalPlan,
    SearchPlan,
    SignaturePlan,
    SjTreePlan,
    SjTreeStrategy,
    Storage,
    TimingPlan,
)
from msgspec import Meta

EdgeNumber = Annotated[int, Meta(ge=0, lt=MAX_EDGES)]
Sequences = tuple[tuple[EdgeNumber, ...], ...]
Estimates = tuple[tuple[float, ...], ...]
Cardinalities = tuple[tuple[str, float], ...]


class TimingForm(msgspec.Struct, frozen=True, tag_field="engine", tag="timing"):
    """A `TimingPlan`."""

    subqueries: Sequences
    storage: Storage
    cardinalities: Cardinalities = ()


class SearchForm(msgspec.Struct, frozen=True, tag_field="engine", tag="re-search"):
    """A `SearchPlan`."""

    orders: Sequences
    fan_outs: Estimates = ()


class SjTreeForm(msgspec.Struct, frozen=True, tag_field="engine", tag="sj-tree"):
    """An `SjTreePlan`."""

    leaves: Sequences
    strategy: SjTreeStrategy
    cardinalities: Cardinalities = ()


class FilteringForm(msgspec.Struct, frozen=True, tag_field="engine", tag="filtering"):
    """A `FilteringPlan`."""

    orders: Sequences
    starts: tuple[EdgeNumber, ...]
    candidates: tuple[float, ...] = ()
    fan_outs: Estimates = ()


class BaselineForm(msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-baseline"):
    """A `BaselinePlan`."""


class SignatureForm(msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-signature"):
    """A `SignaturePlan`."""

    prime: Annotated[int, Meta(ge=3, le=MOST_PRIME)]
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ColoringForm(msgspec.Struct, frozen=True, tag_field="engine", tag="ddst-coloring"):
    """A `ColoringPlan`."""


PhysicalForm = TimingForm | SearchForm | SjTreeForm | FilteringForm | BaselineForm | SignatureForm | ColoringForm


class CandidateForm(msgspec.Struct, frozen=True):
    """A plan that was considered, with its estimated cost."""

    physical: PhysicalForm
    nanoseconds: float
    partial_matches: float


class PlanForm(msgspec.Struct, frozen=True):
    """How a pattern is matched, and what the choice was made from, cheapest first."""

    physical: PhysicalForm
    considered: tuple[CandidateForm, ...] = ()


def form_of(physical: PhysicalPlan, considered: tuple[Candidate, ...] = ()) -> PlanForm:
    """Return the form of a plan. JSON has no infinity: an estimate without bound becomes the largest number there is."""
    return PlanForm(
        _form(physical),
        tuple(
            CandidateForm(_form(each.physical), _finite(each.nanoseconds), _finite(each.partial_matches)) for each in considered
        ),
    )


def plan_of(form: PlanForm) -> tuple[PhysicalPlan, tuple[Candidate, ...]]:
    """Return the plan of a form, and the plans that were considered."""
    considered = (Candidate(_plan(each.physical), each.nanoseconds, each.partial_matches) for each in form.considered)
    return _plan(form.physical), tuple(considered)


def _form(physical: PhysicalPlan) -> PhysicalForm:
    match physical:
        case TimingPlan():
            return TimingForm(physical.subqueries, physical.storage, _named(physical.cardinalities))
        case SearchPlan():
            return SearchForm(physical.orders, _rows(physical.fan_outs))
        case SjTreePlan():
            return SjTreeForm(physical.leaves, physical.strategy, _named(physical.cardinalities))
        case FilteringPlan():
            candidates = tuple(_finite(each) for each in physical.candidates)
            return FilteringForm(physical.orders, physical.starts, candidates, _rows(physical.fan_outs))
        case BaselinePlan():
            return BaselineForm()
        case SignaturePlan():
            return SignatureForm(physical.prime, physical.seed)
        case ColoringPlan():
            return ColoringForm()


def _plan(form: PhysicalForm) -> PhysicalPlan:
    match form:
        case TimingForm():
            return TimingPlan(form.subqueries, form.storage, form.cardinalities)
        case SearchForm():
            return SearchPlan(form.orders, form.fan_outs)
        case SjTreeForm():
            return SjTreePlan(form.leaves, form.strategy, form.cardinalities)
        case FilteringForm():
            return FilteringPlan(form.orders, form.starts, form.candidates, form.fan_outs)
        case BaselineForm():
            return BaselinePlan()
        case SignatureForm():
            return SignaturePlan(form.prime, form.seed)
        case ColoringForm():
            return ColoringPlan()


def _finite(number: float) -> float:
    return min(max(number, -sys.float_info.max), sys.float_info.max)


def _named(cardinalities: Cardinalities) -> Cardinalities:
    return tuple((name, _finite(number)) for name, number in cardinalities)


def _rows(estimates: Estimates) -> Estimates:
    return tuple(tuple(_finite(number) for number in row) for row in estimates)
