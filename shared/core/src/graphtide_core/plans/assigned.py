"""How a matcher is to match a pattern, as it is chosen, kept and sent.

A class of such plans is a struct, so it is its own wire form: its members are those of the JSON, and their types say what they
may hold. Its member `engine` names the engine. A family adds its plans by defining the classes; nothing lists them.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Iterator

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""How many there are of something."""

_MAKING: Final = Lock()
"""Taken while a class is looked at: two threads that do so for the first time end the process (msgspec 0.22)."""

_CLASSES: Final[dict[str, type[AssignedPlan]]] = {}
"""Classes by the engines that were asked for."""


class AssignedPlan:
    """How a matcher is to match a pattern of any family. Each class of them is a struct as well."""

    __slots__ = ()

    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    @property
    def name(self) -> str:
        """Name of the engine that runs the plan."""
        return self.engines()[0]

    @classmethod
    def engines(cls) -> tuple[str, ...]:
        """Return the names of the engines that run plans of this class."""
        return (str(cls.__struct_config__.tag),)


class Candidate(msgspec.Struct, frozen=True, omit_defaults=True):
    """A plan that was considered, with its estimated cost.

    Attributes:
        physical: the plan.
        nanoseconds: for an edge of the stream.
        partial_matches: alive.
        reason: why it costs that, or cannot be taken, in a few words; empty where nobody said.
    """

    physical: AssignedPlan
    nanoseconds: float
    partial_matches: float
    reason: str = ""


def plan_classes() -> tuple[type[AssignedPlan], ...]:
    """Return the classes of plans of all families that are loaded, in the order in which they were defined."""
    return tuple(_below(AssignedPlan))


def _below(base: type[AssignedPlan]) -> Iterator[type[AssignedPlan]]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)


def plan_of_json(value: object) -> AssignedPlan:
    """Return the plan that JSON, decoded, holds.

    Raises:
        ValueError: it names no engine of a family that is loaded, or its members are not those of the engine's plans.
    """
    engine = value.get("engine") if isinstance(value, dict) else None
    found = _class_of(engine) if isinstance(engine, str) else None
    if found is None:
        known = ", ".join(name for each in plan_classes() for name in each.engines())
        message = f"a plan is for one of the engines {known}, not for {engine!r}"
        raise ValueError(message)
    with _MAKING:
        return msgspec.convert(value, found)


def _class_of(engine: str) -> type[AssignedPlan] | None:
    """Return the class of an engine's plans; None if there is none."""
    if engine not in _CLASSES:
        # A family may have been loaded since.
        _CLASSES.update({name: each for each in plan_classes() for name in each.engines()})
    return _CLASSES.get(engine)
