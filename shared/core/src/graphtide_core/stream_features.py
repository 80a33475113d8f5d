"""What a stream counts beside its records: the model of a `FEATURE` clause of a `STREAM` statement.

A feature is a function over the records of the stream with the same key in a sliding window. Every record gets its value as an
attribute, which patterns test. Let `r` be a record of time `t`. The window of `r` has `r` and each record before it in the
order of the stream that

* has the same key, and satisfies WHERE,
* has a time later than `t - OVER`,
* was not deleted before `r`.

With EXCLUDE CURRENT it does not have `r`. A record without a value of the key has no value of the feature, and is in no window.
Nor is what an `EMIT` clause gave, as its id says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError
from graphtide_core.predicate import RECORD_FIELDS, Aggregation
from graphtide_core.record_expression import FieldPath, field_paths, operands_of
from graphtide_core.suggestion import show
from graphtide_core.time import MAX_EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from graphtide_core.record_expression import RecordExpression
    from graphtide_core.time import Duration, TimeUnit

FIELDS: Final = RECORD_FIELDS | {"type"}
"""What a feature may read of a record beside attributes; `type` is that of an event, and the label of an edge."""

MOST_FEATURES: Final = 64
"""Features of a stream."""

MOST_KEYS: Final = 8
"""Fields of one key."""

MOST_EXACT: Final = 1_000
"""Records of a window up to which `count(DISTINCT x)` is exact; beyond, it is estimated from all of them."""

REGISTERS: Final = 2048
"""Registers of an estimate: its standard error is `1.04 / sqrt(REGISTERS)`, 2.3 %."""

_SUPPORTED: Final = frozenset(set(Aggregation) - {Aggregation.FIRST})


@dataclass(frozen=True, slots=True)
class Feature:
    """`FEATURE name = function(of) PER keys OVER over`.

    `count` counts the records whose `of` is not missing, with DISTINCT its different values, and without `of` all records. It
    is 0 where there is none. `last` is the latest value that is not missing. `sum`, `avg`, `min` and `max` are over the numbers
    among the values, and missing where there is none. A sum is exact, and rounded once: of integers it is an integer if it fits
    into 64 bits. A number without a fraction is the integer that it equals, as the least, the greatest and a different value.

    Attributes:
        name: of the attribute that has the value.
        function: of the values.
        over: length of the window.
        of: the attribute or field that has the values; None for `count(*)`.
        is_distinct: whether `count` counts different values.
        keys: attributes or fields; records with equal values share a window. Without any, all records do.
        against: a longer window: the value is then divided by the mean of windows of length `over` in it.
        excludes_current: whether the record itself is not in its window.
        where: which records are in windows, over attributes and fields.
    """

    name: str
    function: Aggregation
    over: Duration
    of: str | None = None
    is_distinct: bool = False
    keys: tuple[str, ...] = ()
    against: Duration | None = None
    excludes_current: bool = False
    where: RecordExpression | None = None

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        self._check_name()
        self._check_function()
        if len(self.keys) > MOST_KEYS:
            message = f"PER lists at most {MOST_KEYS} names"
            raise InvalidPatternError(message)
        twice = next((each for place, each in enumerate(self.keys) if each in self.keys[:place]), None)
        if twice is not None:
            message = f"PER lists {show(twice)} twice"
            raise InvalidPatternError(message)
        if self.where is not None:
            check_condition(self.where)

    def _check_name(self) -> None:
        if not self.name:
            message = "the name is empty"
            raise InvalidPatternError(message)
        if self.name in FIELDS | {"op"}:
            message = f"{show(self.name)} is a field of every record, and not a name for a feature"
            raise InvalidPatternError(message, hint="give it another name, such as FEATURE sent = count(*) PER src OVER 1m")

    def _check_function(self) -> None:
        check_function(self.function, self.of, is_distinct=self.is_distinct)
        if self.against is not None and (self.function not in (Aggregation.COUNT, Aggregation.SUM) or self.is_distinct):
            message = "AGAINST compares a count or a sum with its mean: count(*), count(x) or sum(x)"
            raise InvalidPatternError(message)

    @property
    def longest(self) -> Duration:
        """The longer window of AGAINST, or the only one."""
        return self.over if self.against is None else self.against

    def names(self) -> Iterator[str]:
        """Yield every attribute or field that it reads, some perhaps twice."""
        yield from self.keys
        if self.of is not None:
            yield self.of
        if self.where is not None:
            yield from (str(path.steps[0]) for path in field_paths(self.where))


def check_features(features: Iterable[Feature], taken: Iterable[str], unit: TimeUnit) -> None:
    """Check the features of one stream.

    Args:
        features: in the order of the text.
        taken: names of attributes that SET states.
        unit: one tick of the stream.

    Raises:
        InvalidPatternError: there are too many, two have one name or one has that of an attribute, or one reads another. Or a
            window is shorter than a tick, or longer than times can be apart.
    """
    all_of = tuple(features)
    if len(all_of) > MOST_FEATURES:
        message = f"a stream has at most {MOST_FEATURES} features"
        raise InvalidPatternError(message)
    names = {each.name for each in all_of}
    seen = set(taken)
    for each in all_of:
        check_feature(each, names, seen, unit)
        seen.add(each.name)


def check_feature(feature: Feature, features: Collection[str], taken: Collection[str], unit: TimeUnit) -> None:
    """Check one of the features of a stream.

    Args:
        feature: the feature.
        features: the names of all features.
        taken: names of attributes that SET states, and of the features before it.
        unit: one tick of the stream.

    Raises:
        InvalidPatternError: see `check_features`.
    """
    if feature.name in taken:
        message = f"{show(feature.name)} is the name of another attribute"
        raise InvalidPatternError(message, hint="give the feature another name")
    read = next((name for name in feature.names() if name in features), None)
    if read is not None:
        message = f"the feature {show(feature.name)} reads the feature {show(read)}"
        raise InvalidPatternError(message, hint="a feature reads attributes and fields; patterns compare features")
    _check_windows(feature, unit)


def check_function(function: Aggregation, of: str | None, *, is_distinct: bool) -> None:
    """Check a function over the records of a window, `function(DISTINCT of)`.

    Raises:
        InvalidPatternError: there is no such function, or it is over another thing.
    """
    name = function.value
    if function not in _SUPPORTED:
        message = f"{name} is not a function of windows"
        raise InvalidPatternError(message, hint="last is the latest value of the window, min the least")
    if of is None and function is not Aggregation.COUNT:
        message = f"{name} needs the name of an attribute: {name}(bytes)"
        raise InvalidPatternError(message, hint="count(*) counts records")
    if is_distinct and (function is not Aggregation.COUNT or of is None):
        message = "DISTINCT is for the values that count counts: count(DISTINCT dst)"
        raise InvalidPatternError(message)


def check_condition(condition: RecordExpression) -> None:
    """Check a condition over attributes and fields of edges and events.

    Raises:
        InvalidPatternError: it has a path into a nested field.
    """
    if isinstance(condition, FieldPath) and (len(condition.steps) > 1 or condition.outer):
        message = f"windows have edges and events, and {show(str(condition))} is in a record"
        raise InvalidPatternError(message, hint=f"state it by SET: SET {condition.steps[-1]} = {condition}")
    for each in operands_of(condition):
        check_condition(each)


def _check_windows(feature: Feature, unit: TimeUnit) -> None:
    for keyword, length in (("OVER", feature.over), ("AGAINST", feature.against)):
        if length is None:
            continue
        if length.ticks(unit) < 1:
            message = f"{keyword} {length} is shorter than a tick of the stream, 1{unit.value}"
            raise InvalidPatternError(message, hint="state a finer UNIT, or a longer time")
        if length.ticks(unit) > MAX_EVENT_TIME:
            message = f"{keyword} {length} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
            raise InvalidPatternError(message)
    if feature.against is not None and feature.against.ticks(unit) <= feature.over.ticks(unit):
        message = f"AGAINST {feature.against} is not longer than OVER {feature.over}"
        raise InvalidPatternError(message, hint="compare a minute with the hour around it: OVER 1m AGAINST 1h")
