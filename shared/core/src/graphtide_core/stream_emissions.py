"""What a stream gives beside its records: the model of an `EMIT` clause of a `STREAM` statement.

Time is cut into windows of length EVERY: window `k` has the times from `k * EVERY` to before `(k + 1) * EVERY`, its end. For
each key that records of a window have, the clause gives one edge or event, unless HAVING is not true for it.

* Its time is the end of the window. It comes before all records of the stream of that time and later, and after all earlier
  ones. At one end the clauses go in the order of the text, and keys by their first record in the window.
* A record is in the window of its time if it satisfies WHERE and has a value of the key. A deletion takes its record out of the
  window while the stream is in it; what the window gave stays.
* A window gives nothing before its end: not at the end of a run, and not where times begin anew.
* The id is `emit:<label>:<start>+<length>:<digest>`, of the ticks of the window and of the key. Records of such an id are in no
  window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import EVENT_FIELDS, RECORD_FIELDS
from graphtide_core.record_expression import field_paths
from graphtide_core.stream_features import MOST_KEYS, check_condition, check_function
from graphtide_core.suggestion import did_you_mean, show
from graphtide_core.time import MAX_EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from graphtide_core.predicate import Aggregation
    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.time import Duration, TimeUnit

ID_PREFIX: Final = "emit:"
"""How ids of emitted edges and events begin."""

_RESERVED: Final = RECORD_FIELDS | EVENT_FIELDS | {"op"}
"""Names that an attribute cannot have: of edges and events patterns read fields by them."""

MOST_EMISSIONS: Final = 16
"""EMIT clauses of a stream."""

MOST_SUMMARIES: Final = 64
"""Attributes that one SET of an EMIT states."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`SET name = function(of)` of an EMIT; the functions are those of a `Feature`."""

    name: str
    function: Aggregation
    of: str | None = None
    is_distinct: bool = False

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if not self.name:
            message = "the name is empty"
            raise InvalidPatternError(message)
        check_function(self.function, self.of, is_distinct=self.is_distinct)


@dataclass(frozen=True, slots=True)
class EmittedEnd:
    """`(name:label)`: an end of an emitted edge, by the attribute or field that has it; without a label it has none."""

    name: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class EmittedKey:
    """`PER of AS name`: a part of the key, by the attribute or field that has it, and the attribute that it becomes."""

    of: str
    name: str


@dataclass(frozen=True, slots=True)
class Emission:
    """`EMIT EDGE (source)-[:label]->(target) PER keys EVERY every SET … WHERE … HAVING …`, or `EMIT EVENT 'label' …`.

    Attributes:
        label: of the edges, or type of the events.
        every: length of a window.
        ends: source and target, which belong to the key; None for events.
        keys: what completes the key, as attributes of what is given.
        sets: attributes that are computed of the records with the key.
        where: which records are in windows, over attributes and fields.
        having: which keys give something, over attributes and fields of what they give.
    """

    label: str
    every: Duration
    ends: tuple[EmittedEnd, EmittedEnd] | None = None
    keys: tuple[EmittedKey, ...] = ()
    sets: tuple[Summary, ...] = ()
    where: RecordExpression | None = None
    having: RecordExpression | None = None

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if not self.label:
            message = "EMIT needs a label, or the type of an event"
            raise InvalidPatternError(message, hint="EMIT EDGE (src)-[:burst]->(dst) EVERY 1m")
        if len(self.keys) > MOST_KEYS:
            message = f"PER lists at most {MOST_KEYS} names"
            raise InvalidPatternError(message)
        if len(self.sets) > MOST_SUMMARIES:
            message = f"a SET of EMIT states at most {MOST_SUMMARIES} attributes"
            raise InvalidPatternError(message)
        self._check_attributes()
        if self.where is not None:
            check_condition(self.where)
        if self.having is not None:
            self.check_having(self.having)

    def _check_attributes(self) -> None:
        seen: set[str] = set()
        for clause, name in (*(("PER", each.name) for each in self.keys), *(("SET", each.name) for each in self.sets)):
            if not name:
                message = "the name is empty"
                raise InvalidPatternError(message)
            if name in _RESERVED:
                message = f"{show(name)} is a field of records, and not a name for an attribute"
                hint = "give it another name: PER src AS host" if clause == "PER" else "give it another name"
                raise InvalidPatternError(message, hint=hint)
            if name in seen:
                message = f"{clause} lists {show(name)} twice" if clause == "PER" else f"SET states {show(name)} twice"
                raise InvalidPatternError(message)
            seen.add(name)

    def check_having(self, having: RecordExpression) -> None:
        """Check a condition over what is given.

        Raises:
            InvalidPatternError: it reads what the edges or events do not have.
        """
        check_condition(having)
        known = (*self.attributes, *sorted(self.fields))
        for path in field_paths(having):
            name = str(path.steps[0])
            if name not in known:
                message = f"HAVING reads {show(name)}, which the {self.kind}s that EMIT gives do not have"
                hint = did_you_mean(name, known) or f"state it by SET: SET {name} = count(*)"
                raise InvalidPatternError(message, hint=hint)

    @property
    def kind(self) -> str:
        """What it gives, in a word."""
        return "event" if self.ends is None else "edge"

    @property
    def fields(self) -> frozenset[str]:
        """The fields of what it gives."""
        return EVENT_FIELDS if self.ends is None else RECORD_FIELDS

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of what it gives."""
        return (*(each.name for each in self.keys), *(each.name for each in self.sets))

    @property
    def whole_key(self) -> tuple[str, ...]:
        """The names of the key: both ends, if there are, and PER."""
        return (*(each.name for each in self.ends or ()), *(each.of for each in self.keys))

    def names(self) -> Iterator[str]:
        """Yield every attribute or field of records that it reads, some perhaps twice."""
        yield from self.whole_key
        yield from (each.of for each in self.sets if each.of is not None)
        if self.where is not None:
            yield from (str(path.steps[0]) for path in field_paths(self.where))


def check_emissions(emissions: Iterable[Emission], features: Collection[str], stated: Collection[str], unit: TimeUnit) -> None:
    """Check the EMIT clauses of one stream.

    Args:
        emissions: in the order of the text.
        features: names of the stream's features.
        stated: labels and types that EDGE and EVENT clauses state as constants.
        unit: one tick of the stream.

    Raises:
        InvalidPatternError: there are too many, two have one label, or one has that of an EDGE or EVENT. Or one reads a
            feature, or a window is not of whole ticks.
    """
    all_of = tuple(emissions)
    if len(all_of) > MOST_EMISSIONS:
        message = f"a stream has at most {MOST_EMISSIONS} EMIT clauses"
        raise InvalidPatternError(message)
    seen = set(stated)
    for each in all_of:
        check_emission(each, features, seen, unit)
        seen.add(each.label)


def check_emission(emission: Emission, features: Collection[str], stated: Collection[str], unit: TimeUnit) -> None:
    """Check one of the EMIT clauses of a stream.

    Args:
        emission: the clause.
        features: names of the stream's features.
        stated: labels and types of EDGE and EVENT clauses, and of the EMIT clauses before it.
        unit: one tick of the stream.

    Raises:
        InvalidPatternError: see `check_emissions`.
    """
    if emission.label in stated:
        message = f"{show(emission.label)} is the label or type of another clause"
        raise InvalidPatternError(message, hint="give what EMIT gives a label of its own")
    read = next((name for name in emission.names() if name in features), None)
    if read is not None:
        message = f"EMIT reads the feature {show(read)}"
        raise InvalidPatternError(message, hint="EMIT reads attributes and fields, as features do")
    ticks = emission.every.ticks(unit)
    if ticks < 1 or ticks.denominator != 1:
        message = f"EVERY {emission.every} is not a number of whole ticks of the stream, 1{unit.value}"
        raise InvalidPatternError(message, hint="state a finer UNIT, or another time")
    if ticks > MAX_EVENT_TIME:
        message = f"EVERY {emission.every} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
        raise InvalidPatternError(message)
