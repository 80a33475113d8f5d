"""How a run is to be done: everything a user can choose beside pattern and stream."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.attribute_type import AttributeType, declared_types
from graphtide_core.duplicate_policy import DuplicatePolicy
from graphtide_core.formats import FORMATS, StreamFormat
from graphtide_core.plans import SjTreeStrategy, Storage
from graphtide_core.statistics import StatisticsSnapshot
from graphtide_core.time import MAX_EVENT_TIME, Duration, EventTime, TimeUnit
from graphtide_native.spec import Concurrency, Limits
from graphtide_query.families import AGGREGATION, AUTO, VARIANTS, PlannerOptions

from graphtide.adaptation import AdaptationPolicy
from graphtide.record import DISPENSABLE, RECORD_COLUMNS
from graphtide.record_options import RecordOptions
from graphtide.rejections import share_of
from graphtide.wording import refuse_unless_one_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from graphtide_core.stream_definition import StreamDefinition

    from graphtide.stream import Stream

_POLICIES: Final = ("fail", "pause", "shed")
MOST_THREADS: Final = 64
"""Threads that an engine may have."""

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
        format: how files are written, one of `graphtide_core.formats`; None for the format by the name and first bytes.
        record_options: how the records of a file, or of standard input, are written.
        max_ahead: how far ahead of the clock a record may be; those further ahead are rejected. None takes all times.
        max_rejected: the share of records from which on rejected ones are an error, RejectedRecordsError; None for no error.
        duplicates: what happens to a record under an id that came before in the window. It is dropped, or it replaces what had
            the id, or it is an error.
        sort: whether files that are not in order of time are sorted before they are matched, so that no record is late.
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
    format: StreamFormat | None
    record_options: RecordOptions
    max_ahead: Duration | None
    max_rejected: Fraction | None
    duplicates: DuplicatePolicy
    sort: bool

    def __init__(
        self,
        engine: str = AUTO,
        storage: Storage | str = Storage.MS_DAG,
        strategy: SjTreeStrategy | str | None = None,
        time_unit: TimeUnit | str | None = None,
        lateness: Duration | timedelta | str | int | None = None,
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
        format: StreamFormat | str | None = None,
        record_options: RecordOptions | None = None,
        delimiter: str | None = None,
        header: Sequence[str] | str | None = None,
        has_header: bool | None = None,
        comment: str | None = None,
        nulls: Sequence[str] | str | None = None,
        decimal: str | None = None,
        unnest: Sequence[str] | str | None = None,
        label: str | None = None,
        time_format: str | None = None,
        time_zone: str | None = None,
        stream: Stream | str | os.PathLike[str] | Sequence[Stream] | None = None,
        max_ahead: Duration | timedelta | str | int | None = None,
        max_rejected: Fraction | str | None = None,
        duplicates: DuplicatePolicy | str | None = None,
        sort: bool | None = None,
        plan: str | None = None,
        schema: str | os.PathLike[str] | Mapping[str, object] | None = None,
        statistics_from: object = None,
        limit_partial_matches: int | None = None,
        limit_state_bytes: int | None = None,
        limit_work: int | None = None,
        on_limit: str | None = None,
        threads: int | None = None,
        locking: str | None = None,
    ) -> None:
        """Read words, and refuse what no engine can do. Every option of the command line has its name here.

        Args:
            engine: see the attributes, here and below.
            storage: one of `Storage`, or its word: `independent`, `ms-tree`, `ms-dag`.
            strategy: one of `SjTreeStrategy`, or its word: `single`, `single-lazy`, `path`, `path-lazy`.
            time_unit: a unit, or its word: `s`, `ms`, `us`, `ns`; `ms` by default, or as a STREAM statement says.
            lateness: a duration: a `timedelta`, a text such as `500ms` and `5s`, or a number of ticks. The default is 0, or
                what a STREAM statement says.
            limits: none by default.
            concurrency: one thread by default.
            statistics: see the attributes, here and below.
            max_pending: number of records.
            adapt: whether.
            adaptation: a policy.
            columns: such as `{"ts": "time", "src": "from_account"}`; `{"id": ""}` reads a stream without its ids.
            types: such as `{"zip": "string"}`.
            builder: `none`, `rw`, `spass`, `casem-2`, `casem` or `casem+dce`.
            format: `csv`, `jsonl`, `parquet` or `arrow`; of files and standard input.
            record_options: see the attributes; times and label of records and tables in memory are read so, too.
            delimiter: in place of that of `record_options`; the same for the ten below.
            header: such as `["ts", "src", "dst"]` or `"ts,src,dst"`.
            has_header: whether.
            comment: such as `#`.
            nulls: such as `["-", "NA"]`.
            decimal: one of two.
            unnest: such as `["Records"]` or `"data.items"`.
            label: such as `flow`.
            time_format: `ticks`, `s`, `ms`, `us`, `ns`, `iso` or a format of `strptime`.
            time_zone: such as `Europe/Berlin` or `+02:00`.
            stream: a `Stream`, the text of a STREAM statement, or the path of a file; several for `Inputs`, by their names.
            max_ahead: as `lateness`.
            max_rejected: a percentage, such as `1%`, or `0`.
            duplicates: `reject`, `update` or `error`; `reject` by default, or as a STREAM statement says.
            sort: whether; by default where no lateness is given.
            plan: the variant of the engine's plan: `storage`, `strategy` or `builder` by one word.
            schema: a file that declares types, or its content, `{"attributes": {"zip": "string"}}`; `types` come before it.
            statistics_from: a stream whose first records show the planner what is frequent, as `match` takes streams.
            limit_partial_matches: in place of that of `limits`; the same for the three below.
            limit_state_bytes: see there.
            limit_work: see there.
            on_limit: the policy of `limits`: `fail`, `pause` or `shed`.
            threads: in place of that of `concurrency`.
            locking: likewise: `fine` or `all`.

        Raises:
            ValueError: a word is unknown, or the lateness is longer than times can be apart. Or a bound is below zero or past
                64 bits, or a column is not one of a record's.
            TypeError: a value is of a type that has no meaning here.
            InvalidQueryError: a type of an attribute is unknown.
            UnreadableStreamError: the schema, or the stream of statistics, cannot be read.
        """
        refuse_unless_one_of(_text(engine, "engine"), (AUTO, *VARIANTS), "engine")
        if builder is not None:
            refuse_unless_one_of(_text(builder, "builder"), VARIANTS[AGGREGATION], "builder")
        bounds = {
            "partial_matches": limit_partial_matches,
            "state_bytes": limit_state_bytes,
            "work": limit_work,
            "policy": on_limit,
        }
        written = {
            "delimiter": delimiter,
            "header": header,
            "has_header": has_header,
            "comment": comment,
            "nulls": nulls,
            "decimal": decimal,
            "unnest": unnest,
            "label": label,
            "time_format": time_format,
            "time_zone": time_zone,
            "stream": stream,
        }
        records = _refine(
            _of_type(RecordOptions() if record_options is None else record_options, RecordOptions, "record_options"), written
        )
        own_types = dict(_of_type({} if types is None else types, Mapping, "types"))
        values = {
            "engine": engine,
            "storage": _look_up(storage, Storage, "storage"),
            "strategy": None if strategy is None else _look_up(strategy, SjTreeStrategy, "strategy"),
            "time_unit": _unit(time_unit, records.stream),
            "lateness": _lateness(lateness, records.stream),
            "limits": _refine(_of_type(Limits() if limits is None else limits, Limits, "limits"), bounds),
            "concurrency": _refine(
                _of_type(Concurrency() if concurrency is None else concurrency, Concurrency, "concurrency"),
                {"threads": threads, "locking": locking},
            ),
            "statistics": None if statistics is None else _of_type(statistics, StatisticsSnapshot, "statistics"),
            "max_pending": max_pending,
            "adapt": adapt,
            "adaptation": _of_type(AdaptationPolicy() if adaptation is None else adaptation, AdaptationPolicy, "adaptation"),
            "columns": _columns({} if columns is None else columns),
            "types": own_types,
            "builder": builder,
            "format": format if format is None or isinstance(format, StreamFormat) else _format(format),
            "record_options": records,
            "max_ahead": None if max_ahead is None else _duration(max_ahead, "max_ahead"),
            "max_rejected": _share(max_rejected),
            "duplicates": _duplicates(duplicates, records.stream),
            "sort": _sorts(sort, lateness, records.stream),
        }
        if schema is not None:
            from graphtide.schema_file import declared_by  # noqa: PLC0415 - other options do without msgspec

            values["types"] = {**declared_by(schema), **own_types}
        if plan is not None:
            values |= _variant(engine, _text(plan, "plan"))
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._refuse_unusable()
        if statistics_from is not None:
            from graphtide.explaining import statistics_of  # noqa: PLC0415 - it needs these options

            object.__setattr__(self, "statistics", statistics_of(statistics_from, self))

    def __hash__(self) -> int:
        """Return a hash; equal options have equal ones, though mappings have none."""
        return hash((self.engine, self.storage, self.strategy, self.time_unit, self.lateness, self.limits, self.max_pending))

    def _refuse_unusable(self) -> None:
        """Refuse what no engine can count to, and words in what was given that mean nothing."""
        _ = self.declared
        if self.columns and self.record_options.stream:
            message = f"columns: STREAM {self.record_options.stream[0].name} says what its fields are; leave the option out"
            raise ValueError(message)
        refuse_unless_one_of(self.limits.policy, _POLICIES, "policy at a limit", "on_limit: ")
        refuse_unless_one_of(self.concurrency.locking, _LOCKINGS, "locking")
        if self.lateness.ticks(self.time_unit) > MAX_EVENT_TIME:
            message = f"a lateness of {self.lateness} is longer than times can be apart: {MAX_EVENT_TIME} ticks"
            raise ValueError(message)
        bounds = {
            "max_pending": self.max_pending,
            "limits.partial_matches": self.limits.partial_matches,
            "limits.state_bytes": self.limits.state_bytes,
            "limits.work": self.limits.work,
            "threads": self.concurrency.threads,
        }
        for name, bound in bounds.items():
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
                message = f"{name} is an integer, not a {type(bound).__name__}"
                raise TypeError(message)
            if bound is not None and not 0 <= bound <= MAX_EVENT_TIME:
                message = f"{name} is 0 to {MAX_EVENT_TIME}, not {bound}"
                raise ValueError(message)
        if not 1 <= self.concurrency.threads <= MOST_THREADS:
            message = f"threads is 1 to {MOST_THREADS}, not {self.concurrency.threads}"
            raise ValueError(message)

    def lateness_of(self, stream: str) -> Duration:
        """Return the lateness of one of several streams: as its STREAM statement says, or that of the run."""
        stated = next((each.lateness for each in self.record_options.stream if each.name == stream), None)
        return self.lateness if stated is None else stated

    def duplicates_of(self, stream: str) -> DuplicatePolicy:
        """Return what becomes of duplicates of one of several streams: as its STREAM statement says, or as in the run."""
        stated = next((each.duplicates for each in self.record_options.stream if each.name == stream), None)
        return self.duplicates if stated is None else stated

    @property
    def all_duplicates(self) -> frozenset[DuplicatePolicy]:
        """What becomes of duplicates, of any stream."""
        return frozenset({self.duplicates, *(each.duplicates for each in self.record_options.stream if each.duplicates)})

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
    def latest(self) -> EventTime:
        """The latest time of a record that is taken now."""
        if self.max_ahead is None:
            return MAX_EVENT_TIME
        now = time.time_ns() // self.time_unit.nanoseconds
        return EventTime(min(MAX_EVENT_TIME, now + self.max_ahead.ticks_at_least(self.time_unit)))

    @property
    def declared(self) -> dict[str, AttributeType]:
        """What is declared of attributes, as types."""
        return declared_types(
            {name: kind.value if isinstance(kind, AttributeType) else kind for name, kind in self.types.items()}
        )


def _unit(given: TimeUnit | str | None, streams: Sequence[StreamDefinition]) -> TimeUnit:
    """Return what times count: as it is given, or as statements say.

    Raises:
        ValueError: there is no such unit, or a statement says another.
    """
    asked = None if given is None else _look_up(given, TimeUnit, "unit of time", "time_unit")
    found = asked or next((each.unit for each in streams), TimeUnit.MILLISECOND)
    if other := next((each for each in streams if each.unit is not found), None):
        shown = f"STREAM {other.name} counts {other.unit.value}, not {found.value}"
        what = "leave the option out" if asked else "streams that are read together count the same"
        message = f"time_unit: {shown}; {what}, or write UNIT {found.value} in the statement"
        raise ValueError(message)
    return found


def _lateness(given: object, streams: Sequence[StreamDefinition]) -> Duration:
    """Return how late records may be: as it is given, or as the statement of the only stream says.

    Raises:
        ValueError: it is no duration, or that statement says another.
        TypeError: it is of a type that has no meaning here.
    """
    stated = streams[0].lateness if len(streams) == 1 else None
    if given is None:
        return Duration(0) if stated is None else stated
    found = _duration(given, "lateness")
    if stated is None or found == stated:
        return found
    message = f"lateness: STREAM {streams[0].name} says LATENESS {stated}, not {found}; leave the option out"
    raise ValueError(message)


def _sorts(given: object, lateness: object, streams: Sequence[StreamDefinition]) -> bool:
    """Return whether files out of order are sorted: as it is given, or where no lateness is."""
    if given is None:
        return lateness is None and all(each.lateness is None for each in streams)
    if isinstance(given, bool):
        return given
    message = f"sort: True or False is needed, not a {type(given).__name__}"
    raise TypeError(message)


def _duplicates(given: DuplicatePolicy | str | None, streams: Sequence[StreamDefinition]) -> DuplicatePolicy:
    """Return what becomes of duplicates: as it is given, or as the statement of the only stream says.

    Raises:
        ValueError: there is no such policy, or that statement says another.
    """
    stated = streams[0].duplicates if len(streams) == 1 else None
    asked = None if given is None else _look_up(given, DuplicatePolicy, "policy for duplicates", "duplicates")
    if asked is None or stated in {None, asked}:
        return asked or stated or DuplicatePolicy.REJECT
    message = f"duplicates: STREAM {streams[0].name} says DUPLICATES {stated.value}, not {asked.value}; leave the option out"
    raise ValueError(message)


def _look_up(given: _Word | str, words: type[_Word], what: str, option: str = "") -> _Word:
    """Return what a word stands for; `option` is the option's name, if that is not what the words are."""
    if isinstance(given, words):
        return given
    known = {word.value: word for word in words}
    try:
        refuse_unless_one_of(_text(given, what), known, what)
    except (ValueError, TypeError) as error:
        if not option:
            raise
        message = f"{option}: {error}"
        raise type(error)(message) from error
    return known[given]


def _refine(given: _Given, members: Mapping[str, object]) -> _Given:
    """Return a value with the members that are given by themselves in place of its own."""
    found: _Given = replace(given, **{name: value for name, value in members.items() if value is not None})  # type: ignore[type-var]
    return found


def _variant(engine: str, plan: str) -> dict[str, object]:
    """Return the option that a variant of an engine's plan is by itself.

    Raises:
        ValueError: the engine has no such variant.
    """
    if engine == AUTO or plan not in VARIANTS[engine]:
        owner = next((each for each, variants in VARIANTS.items() if plan in variants), None)
        if owner is not None:
            message = f"plan {plan!r} is a variant of the engine {owner!r}: give engine={owner!r} with it"
            raise ValueError(message)
        refuse_unless_one_of(plan, [variant for variants in VARIANTS.values() for variant in variants], "plan")
    if engine == "timing":
        return {"storage": Storage(plan)}
    return {"strategy": SjTreeStrategy(plan)} if engine == "sj-tree" else {"builder": plan}


def _format(given: str) -> StreamFormat:
    refuse_unless_one_of(_text(given, "format"), FORMATS, "format")
    return FORMATS[given]


def _share(given: object) -> Fraction | None:
    if given is None or isinstance(given, Fraction):
        return given
    try:
        return share_of(_text(given, "max_rejected"))
    except ValueError as error:
        message = f"max_rejected: {error}"
        raise ValueError(message) from error


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


def _duration(given: object, option: str) -> Duration:
    match given:
        case Duration():
            return given
        case str():
            try:
                return Duration.of(given)
            except ValueError as error:
                message = f"{option}: {error}"
                raise ValueError(message) from error
        case bool():
            pass
        case int():
            return Duration(given)
        case timedelta():
            return Duration((given.days * 86_400 + given.seconds) * 1_000_000 + given.microseconds, "us")
    kind = type(given).__name__
    message = f"{option}: a duration is a Duration, a timedelta, a text such as '5s', or a number of ticks, not a {kind}"
    raise TypeError(message)


def _columns(given: Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(given, Mapping):
        message = f"columns map names of a record to those of the stream, as in {{'ts': 'time'}}; not a {type(given).__name__}"
        raise TypeError(message)
    for name, actual in given.items():
        refuse_unless_one_of(_text(name, "column"), RECORD_COLUMNS, "column of a record")
        if not _text(actual, "column of a stream"):
            refuse_unless_one_of(name, DISPENSABLE, "column that a record can do without")
    return dict(given)
