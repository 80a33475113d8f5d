"""How a run is to be done: everything a user can choose beside pattern and stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from typing import Final, TypeVar

from graphtide_core.attribute_type import AttributeType, declared_types
from graphtide_core.plans import SjTreeStrategy, Storage
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import MAX_EVENT_TIME, Duration, TimeUnit
from graphtide_native.spec import Concurrency, Limits
from graphtide_query.families import AGGREGATION, AUTO, VARIANTS, PlannerOptions

from graphtide.adaptation import AdaptationPolicy
from graphtide.record import RECORD_COLUMNS
from graphtide.wording import refuse_unless_one_of

_POLICIES: Final = ("fail", "pause", "shed")
_LOCKINGS: Final = ("fine", "all")

_Word = TypeVar("_Word", bound=Enum)
_Given = TypeVar("_Given")


@dataclass(frozen=True, slots=True, init=False)
class MatchOptions:
    """Options of a run. Words, such as `"ms-tree"`, `"s"` and `"5s"`, may be given for values.

    Attributes:
        engine: name of an engine, or `auto` for the one that is estimated cheapest for each pattern.
        storage: how the `timing` engine stores partial matches.
        strategy: how `sj-tree` splits a pattern and searches; None chooses by Relative Selectivity.
        time_unit: what the stream's `ts` counts.
        lateness: how much later than a newer record a record may come and still be put in order; later ones are rejected.
        limits: bounds on each pattern's state and work.
        concurrency: threads of the `timing` engine.
        statistics: what is known of the stream; None to look at its first records.
        max_pending: records held back at once to be put in order; beyond it the oldest are released early.
        adapt: under `auto`, whether plans change when the stream does; then edges are kept to warm new engines with.
        adaptation: how readily.
        columns: what the stream calls `ts src dst label src_label dst_label id op type`, where it has other names: columns of a
            table or a file, keys of a dictionary.
        types: what is declared of attributes, `string`, `integer`, `number` or `boolean` each; see `ReaderOptions.types`.
        builder: builder of the plan that event patterns share; None for the one that shares most.
    """

    engine: str
    storage: Storage
    strategy: SjTreeStrategy | None
    time_unit: TimeUnit
    lateness: Duration
    limits: Limits
    concurrency: Concurrency
    statistics: StatisticsSnapshot | None
    max_pending: int
    adapt: bool
    adaptation: AdaptationPolicy
    columns: Mapping[str, str]
    types: Mapping[str, AttributeType | str]
    builder: str | None

    def __init__(
        self,
        engine: str = AUTO,
        storage: Storage | str = Storage.MS_DAG,
        strategy: SjTreeStrategy | str | None = None,
        time_unit: TimeUnit | str = TimeUnit.MILLISECOND,
        lateness: Duration | timedelta | str | int = 0,
        *,
        limits: Limits | None = None,
        concurrency: Concurrency | None = None,
        statistics: StatisticsSnapshot | None = None,
        max_pending: int = 1 << 20,
        adapt: bool = True,
        adaptation: AdaptationPolicy | None = None,
        columns: Mapping[str, str] | None = None,
        types: Mapping[str, AttributeType | str] | None = None,
        builder: str | None = None,
    ) -> None:
        """Read words, and refuse what no engine can do.

        Args:
            engine: see the attributes, here and below.
            storage: one of `Storage`, or its word: `independent`, `ms-tree`, `ms-dag`.
            strategy: one of `SjTreeStrategy`, or its word: `single`, `single-lazy`, `path`, `path-lazy`.
            time_unit: a unit, or its word: `s`, `ms`, `us`, `ns`.
            lateness: a duration, a `timedelta`, a text such as `500ms` and `5s`, or a number of ticks.
            limits: none by default.
            concurrency: one thread by default.
            statistics: see the attributes, here and below.
            max_pending: number of records.
            adapt: whether.
            adaptation: a policy.
            columns: such as `{"ts": "time", "src": "from_account"}`.
            types: such as `{"zip": "string"}`.
            builder: `none`, `rw`, `spass`, `casem-2`, `casem` or `casem+dce`.

        Raises:
            ValueError: a word is unknown, the lateness is longer than times can be apart, a bound is below
                zero or past 64 bits, or a column is not one of a record's.
            TypeError: a value is of a type that has no meaning here.
            InvalidQueryError: a type of an attribute is unknown.
        """
        refuse_unless_one_of(_text(engine, "engine"), (AUTO, *VARIANTS), "engine")
        if builder is not None:
            refuse_unless_one_of(_text(builder, "builder"), VARIANTS[AGGREGATION], "builder")
        values = {
            "engine": engine,
            "storage": _look_up(storage, Storage, "storage"),
            "strategy": None if strategy is None else _look_up(strategy, SjTreeStrategy, "strategy"),
            "time_unit": _look_up(time_unit, TimeUnit, "unit of time"),
            "lateness": _duration(lateness),
            "limits": _of_type(Limits() if limits is None else limits, Limits, "limits"),
            "concurrency": _of_type(Concurrency() if concurrency is None else concurrency, Concurrency, "concurrency"),
            "statistics": None if statistics is None else _of_type(statistics, StatisticsSnapshot, "statistics"),
            "max_pending": max_pending,
            "adapt": adapt,
            "adaptation": _of_type(AdaptationPolicy() if adaptation is None else adaptation, AdaptationPolicy, "adaptation"),
            "columns": _columns({} if columns is None else columns),
            "types": dict(_of_type({} if types is None else types, Mapping, "types")),
            "builder": builder,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._refuse_unusable()

    def __hash__(self) -> int:
        """Return a hash; equal options have equal ones, though mappings have none."""
        return hash((self.engine, self.storage, self.strategy, self.time_unit, self.lateness, self.limits, self.max_pending))

    def _refuse_unusable(self) -> None:
        """Refuse what no engine can count to, and words in what was given that mean nothing."""
        _ = self.declared
        refuse_unless_one_of(self.limits.policy, _POLICIES, "policy at a limit")
        refuse_unless_one_of(self.concurrency.locking, _LOCKINGS, "locking")
        if self.lateness.ticks(self.time_unit) > MAX_EVENT_TIME:
            message = f"a lateness of {self.lateness} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
            raise ValueError(message)
        bounds = {
            "max_pending": self.max_pending,
            "limits.partial_matches": self.limits.partial_matches,
            "limits.state_bytes": self.limits.state_bytes,
            "limits.work": self.limits.work,
        }
        for name, bound in bounds.items():
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
                message = f"{name} is an integer, not a {type(bound).__name__}"
                raise TypeError(message)
            if bound is not None and not 0 <= bound <= MAX_EVENT_TIME:
                message = f"{name} is 0 to {MAX_EVENT_TIME}, not {bound}"
                raise ValueError(message)

    @property
    def planner_options(self) -> PlannerOptions:
        """Options of the planner."""
        strategy = {} if self.strategy is None else {"sj-tree": self.strategy.value}
        builder = {} if self.builder is None else {AGGREGATION: self.builder}
        return PlannerOptions(self.engine, {"timing": self.storage.value, **strategy, **builder})

    def with_planner_options(self, planner_options: PlannerOptions) -> MatchOptions:
        """Return the same options with other planner options."""
        storage, strategy = planner_options.variants.get("timing"), planner_options.variants.get("sj-tree")
        return replace(
            self,
            engine=planner_options.engine,
            storage=self.storage if storage is None else Storage(storage),
            strategy=self.strategy if strategy is None else SjTreeStrategy(strategy),
            builder=planner_options.variants.get(AGGREGATION, self.builder),
        )

    @property
    def declared(self) -> dict[str, AttributeType]:
        """What is declared of attributes, as types."""
        return declared_types(
            {name: kind.value if isinstance(kind, AttributeType) else kind for name, kind in self.types.items()}
        )


def _look_up(given: _Word | str, words: type[_Word], what: str) -> _Word:
    """Return what a word stands for."""
    if isinstance(given, words):
        return given
    known = {word.value: word for word in words}
    refuse_unless_one_of(_text(given, what), known, what)
    return known[given]


def _of_type(given: _Given, kind: type, what: str) -> _Given:
    """Return what is given if it is of a type.

    Raises:
        TypeError: it is not; the error says how to make one.
    """
    if isinstance(given, kind):
        return given
    makes = "{…}" if kind is Mapping else f"{kind.__name__}(**{what})" if isinstance(given, Mapping) else f"{kind.__name__}(…)"
    message = f"{what} is a {kind.__name__}, not a {type(given).__name__}: write {what}={makes}"
    raise TypeError(message)


def _text(given: object, what: str) -> str:
    if isinstance(given, str):
        return given
    message = f"a {what} is a text, not a {type(given).__name__}"
    raise TypeError(message)


def _duration(given: object) -> Duration:
    match given:
        case Duration():
            return given
        case str():
            return Duration.of(given)
        case bool():
            pass
        case int():
            return Duration(given)
        case timedelta():
            return Duration((given.days * 86_400 + given.seconds) * 1_000_000 + given.microseconds, "us")
    message = f"a duration is a Duration, a timedelta, a text such as '5s', or a number of ticks, not a {type(given).__name__}"
    raise TypeError(message)


def _columns(given: Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(given, Mapping):
        message = f"columns map names of a record to those of the stream, as in {{'ts': 'time'}}; not a {type(given).__name__}"
        raise TypeError(message)
    for name, actual in given.items():
        refuse_unless_one_of(_text(name, "column"), RECORD_COLUMNS, "column of a record")
        _text(actual, "column of a stream")
    return dict(given)
