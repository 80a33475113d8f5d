"""Plans as JSON, tagged by their engines, and the plans that were considered beside them.

The form of a plan follows from its class (`graphtide_core.plans.assigned`): a struct with the same fields, whose types have the
bounds that annotations say. Forms are made when the first plan of an engine is written or read; nothing here knows an engine.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from threading import RLock
from typing import Any, Final, TypeVar, cast

import msgspec
from graphtide_core.plans.assigned import AssignedPlan, Candidate, CountedPart
from graphtide_core.plans.classes import plan_classes

from graphtide_wire.derived_forms import struct_of

T = TypeVar("T")

_MAKING: Final = RLock()
"""Taken while a form is made or first used; see `derived_forms`."""

_ENGINE: Final = "engine"

_CLASSES: Final[dict[str, type[AssignedPlan]]] = {}
"""Classes of plans, by the engines that were asked for."""

_FORMS: Final[dict[str, type[PhysicalForm]]] = {}
"""Their forms, by the same."""


class PhysicalForm:
    """The form of an assigned plan; a decoder finds which by the engine that it names."""

    __slots__ = ()

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(cast("msgspec.Struct", self).__struct_config__.tag)


class CandidateForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan that was considered, with its estimated cost, and why it costs that or cannot be taken."""

    physical: PhysicalForm
    nanoseconds: float
    partial_matches: float
    reason: str = ""


class CountedPartForm(msgspec.Struct, frozen=True):
    """A part of the pattern, by its query edges, with its partial matches alive: estimated, and counted on a host."""

    edges: tuple[str, ...]
    estimated: float
    counted: float


class PlanForm(msgspec.Struct, frozen=True):
    """How a pattern is matched, and what the choice was made from, cheapest first.

    `evidence` has the parts whose estimates were found wrong on a running plan, and were corrected.
    """

    physical: PhysicalForm
    considered: tuple[CandidateForm, ...] = ()
    evidence: tuple[CountedPartForm, ...] | msgspec.UnsetType = msgspec.UNSET


def form_of(physical: AssignedPlan, considered: tuple[Candidate, ...] = (), evidence: tuple[CountedPart, ...] = ()) -> PlanForm:
    """Return the form of a plan. JSON has no infinity: an estimate without bound becomes the largest number there is."""
    candidates = (
        CandidateForm(_write_plan(each.physical), _finite(each.nanoseconds), _finite(each.partial_matches), each.reason)
        for each in considered
    )
    counted = tuple(CountedPartForm(each.edges, _finite(each.estimated), _finite(each.counted)) for each in evidence)
    return PlanForm(_write_plan(physical), tuple(candidates), counted or msgspec.UNSET)


def plan_of(form: PlanForm) -> tuple[AssignedPlan, tuple[Candidate, ...]]:
    """Return the plan of a form, and the plans that were considered."""
    candidates = (
        Candidate(_read(each.physical), each.nanoseconds, each.partial_matches, each.reason) for each in form.considered
    )
    return _read(form.physical), tuple(candidates)


def evidence_of(form: PlanForm) -> tuple[CountedPart, ...]:
    """Return the parts of the pattern whose estimates were corrected."""
    if isinstance(form.evidence, msgspec.UnsetType):
        return ()
    return tuple(CountedPart(each.edges, each.estimated, each.counted) for each in form.evidence)


def physical_form(kind: type, value: object) -> PhysicalForm:
    """Return the form of a plan that JSON, decoded, holds: the hook for the one type that no decoder knows by itself.

    Raises:
        ValueError: it names no engine of a family that is loaded, or its members are not those of the engine's plans.
    """
    if kind is not PhysicalForm:
        raise NotImplementedError
    engine = value.get(_ENGINE) if isinstance(value, dict) else None
    with _MAKING:
        if not isinstance(engine, str) or _class_of(engine) is None:
            known = ", ".join(name for each in plan_classes() for name in each.engines)
            message = f"a plan is for one of the engines {known}, not for {engine!r}"
            raise ValueError(message)
        return msgspec.convert(value, form_class(engine))


def form_class(engine: str) -> type[PhysicalForm]:
    """Return the form of an engine's plans.

    Raises:
        LookupError: no family that is loaded has it.
    """
    with _MAKING:
        found = _FORMS.get(engine)
        if found is None:
            found = _FORMS[engine] = _make(engine)
    return found


def _make(engine: str) -> type[PhysicalForm]:
    kind = _class_of(engine)
    if kind is None:
        message = f"there is no engine {engine!r}"
        raise LookupError(message)
    name = kind.__name__
    if len(kind.engines) > 1:
        name = "".join(part.title() for part in engine.split("-")) + name
    # The field that names the engine, where there are several, is the tag.
    found = struct_of(kind, name, without=_ENGINE, base=PhysicalForm, tag_field=_ENGINE, tag=engine, terse=kind.is_terse)
    return cast("type[PhysicalForm]", found)


def _class_of(engine: str) -> type[AssignedPlan] | None:
    if engine not in _CLASSES:
        # A family may have been loaded since.
        _CLASSES.update({name: each for each in plan_classes() for name in each.engines})
    return _CLASSES.get(engine)


def _write_plan(plan: AssignedPlan) -> PhysicalForm:
    members = {each.name: getattr(plan, each.name) for each in fields(cast("Any", plan)) if each.name != _ENGINE}
    with _MAKING:
        return _finite(msgspec.convert(members, form_class(plan.name), from_attributes=True))


def _read(form: PhysicalForm) -> AssignedPlan:
    with _MAKING:
        kind = cast("type[AssignedPlan]", _class_of(form.engine))
        return msgspec.convert(form, kind, from_attributes=True)


def _finite(value: T) -> T:
    """Return the value with the nearest that JSON has in place of each number."""
    found: object = value
    if isinstance(value, float):
        found = min(max(value, -sys.float_info.max), sys.float_info.max)
    elif isinstance(value, tuple):
        found = tuple(map(_finite, value))
    elif isinstance(value, msgspec.Struct):
        found = msgspec.structs.replace(value, **{name: _finite(each) for name, each in msgspec.structs.asdict(value).items()})
    return cast("T", found)
