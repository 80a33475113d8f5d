"""What the control topics say now, followed all the time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from threading import Condition
from typing import TYPE_CHECKING, Final, NamedTuple

import structlog
from graphtide_core.any_pattern import ordered_stream
from graphtide_core.errors import InvalidPatternError, PoisonRecordError, TransientError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import logical_stream, name_part, part_in, whole_of
from graphtide_core.time import TimeUnit
from graphtide_log.follower import Follower
from graphtide_query import parse, print_pattern
from graphtide_query.bursts import burst_of
from graphtide_query.known_names import AskedNames, SeenNames, lacking_stream, notes
from graphtide_serving.opened import close_all, open_worker
from graphtide_telemetry import events
from graphtide_wire import control, hosts, match_counts, statistics, stream_schema, stream_statement
from graphtide_wire.control import PlanRecord
from graphtide_wire.hosts import HostRecord
from graphtide_wire.stream_definition import definition_of

from graphtide_admin_api.domain.pattern_status import PatternStatus, pattern_status_of, together

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Record
    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.stream_partition import Partition
    from graphtide_wire.control import PatternRecord, StatusRecord
    from graphtide_wire.hosts import ScalingRecord
    from graphtide_wire.match_counts import CountsRecord
    from graphtide_wire.statistics import StatisticsRecord
    from graphtide_wire.stream_schema import Kind, SchemaRecord, Source
    from graphtide_wire.stream_statement import StatementRecord
    from graphtide_wire.topics import Topics

_LOG = structlog.get_logger()
_PLANNER: Final = "planner"

_SILENT_SECONDS: Final = 30.0
"""A host that has plans reports its cost every two seconds. One that was silent for so long does not work on them."""

_MOST_TEXTS: Final = 10_000
"""Texts whose names are kept."""


_ByForm = tuple[str | None, "AnyPattern | None"]
"""What one record may complete, by the form of a pattern; or that pattern, as statistics may say more."""


class _Form(NamedTuple):
    """A text, and what it says by its form."""

    text: str
    by_form: _ByForm


@lru_cache(maxsize=_MOST_TEXTS)
def asked_names(text: str) -> AskedNames:
    """Return what a registered text names; nothing of an unreadable text that another program wrote."""
    try:
        (pattern,) = parse(text)
    except (InvalidPatternError, ValueError):
        return AskedNames()
    return AskedNames.of(pattern)


@lru_cache(maxsize=_MOST_TEXTS)
def _by_text(text: str) -> _ByForm:
    """Return what one record may complete by the form of a registered text; nothing of an unreadable one."""
    try:
        (pattern,) = parse(text)
    except (InvalidPatternError, ValueError):
        return None, None
    return _by_form(pattern)


def _by_form(pattern: AnyPattern) -> _ByForm:
    """Return what one record may complete by the form of a pattern, or the pattern, as statistics may say more."""
    burst = burst_of(pattern)
    return (None, pattern) if burst is None else (burst.text, None)


@lru_cache(maxsize=_MOST_TEXTS)
def stream_of(text: str) -> str | None:
    """Return the stream that a registered text is on; None of an unreadable one."""
    try:
        (pattern,) = parse(text)
        return ordered_stream(pattern)
    except (InvalidPatternError, ValueError):
        return None


def _stream_of(plan: PlanRecord) -> str | None:
    """Return the ordered stream of a plan."""
    return plan.stream if isinstance(plan.stream, str) else stream_of(plan.pattern.text)


class IncompleteError(TransientError):
    """Not all that was there at the start was read yet, so it is not known what is missing."""

    def __init__(self, what: str) -> None:
        """Say what is being read."""
        super().__init__(f"{what} are being read; try again in a moment")


class Known:
    """The last that each control topic says of each name; for one thread at once."""

    def __init__(self, topics: Topics, before: Known | None = None) -> None:
        """Know nothing but the greatest versions of names that were known before."""
        self._topics = topics
        self.versions: dict[str, int] = {} if before is None else dict(before.versions)
        self.statement_versions: dict[str, int] = {} if before is None else dict(before.statement_versions)
        self.patterns: dict[str, PatternRecord] = {}
        self.plans: dict[str, PlanRecord] = {}
        self.said: dict[str, dict[str, StatusRecord]] = {}
        self.statistics: dict[str, StatisticsRecord] = {}
        self.schemas: dict[str, dict[Source, SchemaRecord]] = {}
        self.statements: dict[str, StatementRecord] = {}
        self.counts: dict[str, CountsRecord] = {}
        self.hosts: dict[bytes, HostRecord] = {}
        self.scaling: dict[str, ScalingRecord] = {}
        self._names: dict[str, tuple[StatisticsRecord, SeenNames]] = {}

    def names(self, stream: str) -> SeenNames | None:
        """Return the labels and attributes of a stream's newest snapshot; None if there is none."""
        record = self.statistics.get(stream)
        if record is None:
            return None
        of, names = self._names.get(stream, (None, None))
        if of is not record or names is None:
            names = SeenNames.of(record.snapshot, record.attributes, record.labels)
            self._names[stream] = record, names
        return names

    def unit(self) -> TimeUnit | None:
        """Return what times of streams count, in all of a deployment the same; None as long as no pattern has a plan."""
        return next((TimeUnit(plan.unit) for plan in self.plans.values()), None)

    def take(self, record: Record) -> None:
        """Take a record of a control topic; one that cannot be read counts as none."""
        name = (record.key or b"").decode(errors="replace")
        try:
            self._take(record, name)
        except PoisonRecordError as error:
            _LOG.warning(events.RECORD_UNREADABLE, topic=record.topic, offset=record.offset, error=error.reason)

    def pattern_status(self, record: PatternRecord) -> PatternStatus:
        """Return the status of a pattern; of one that parts match by themselves, that of all parts together."""
        parts = [part for stream in record.ordered_streams if record.local is True and (part := part_in(stream)) is not None]
        names = [name_part(record.name, part.number, part.parts) for part in parts]
        pattern_status = together([self._status_of(record, name) for name in names or [record.name]])
        if pattern_status.state == "running" and (idle := self._idle_view(record)) is not None:
            pattern_status = replace(pattern_status, reason="; ".join(filter(None, (pattern_status.reason, idle))))
        counts = self.counts.get(record.name)
        return pattern_status if counts is None else replace(pattern_status, reported=counts.since(record.registration)[0])

    def _status_of(self, record: PatternRecord, name: str) -> PatternStatus:
        """Return the status of a pattern whose plan has this name."""
        plan, said = self.plans.get(name), self.said.get(name, {})
        status = said.get(f"{plan.service}.{plan.shard}") if plan is not None else None
        return pattern_status_of(record, plan, status, said.get(f"{_PLANNER}.0"))

    def _idle_view(self, record: PatternRecord) -> str | None:
        """Return which view that a pattern reads reports nothing, and why; None if each does.

        Complexity: O(streams that it reads).
        """
        for name in record.reads.streams:
            view = self.patterns.get(name)
            if view is not None and view.view is True and name != record.name:
                state = self.pattern_status(view).state
                if state in {"paused", "failed"}:
                    return f"nothing comes from the view {name!r}, which is {state}"
        return None

    def _take(self, record: Record, name: str) -> None:
        topics = self._topics
        if record.topic == topics.patterns:
            self.patterns.pop(name, None)
            if record.value is not None:
                pattern = control.decode_pattern(record.value)
                self.patterns[name] = pattern
                self._note_version(name, pattern.version)
        elif record.topic == topics.plans:
            self._take_plan(record, name)
        elif record.topic == topics.status:
            self._take_status(record, name)
        elif record.topic == topics.counts:
            self.counts.pop(name, None)
            if record.value is not None:
                self.counts[name] = match_counts.decode_counts(record)
        elif record.topic == topics.hosts:
            self._take_host(record)
        elif record.topic == topics.schemas:
            self._take_schema(record)
        elif record.topic == topics.statements:
            self._take_statement(record)
        else:
            self.statistics.pop(name, None)
            self._names.pop(name, None)
            if record.value is not None:
                self.statistics[name] = statistics.decode_statistics(record.value)

    def _take_status(self, record: Record, name: str) -> None:
        pattern_name, _, host = name.rpartition("@")
        said = self.said.setdefault(pattern_name, {})
        said.pop(host, None)
        if record.value is not None:
            said[host] = control.decode_status(record.value)
            if (part := part_in(pattern_name)) is not None:
                self._note_version(part.whole, said[host].version)

    def _take_plan(self, record: Record, name: str) -> None:
        self.plans.pop(name, None)
        if record.value is not None:
            plan = control.decode_plan(record.value)
            self._note_version(whole_of(name), plan.version)
            if isinstance(plan, PlanRecord):
                self.plans[name] = plan

    def _take_host(self, record: Record) -> None:
        self.hosts.pop(record.key or b"", None)
        if record.value is None:
            return
        found = hosts.decode_hosts(record.key, record.value)
        if isinstance(found, HostRecord):
            self.hosts[hosts.host_key(found)] = found
        else:
            self.scaling[found.service] = found

    def _take_schema(self, record: Record) -> None:
        emitted = stream_schema.source_of(record.key)
        if emitted is None:
            return
        stream, source = emitted
        self.schemas.get(stream, {}).pop(source, None)
        if record.value is not None:
            self.schemas.setdefault(stream, {})[source] = stream_schema.decode_schema(record.key, record.value)

    def _take_statement(self, record: Record) -> None:
        stream, version = stream_statement.stream_of_key(record.key)
        if version is not None:
            return
        self.statements.pop(stream, None)
        if record.value is not None:
            statement = stream_statement.decode_statement(record.key, record.value)
            if not statement.is_removed:
                self.statements[stream] = statement
            self.statement_versions[stream] = max(statement.version, self.statement_versions.get(stream, 0))

    def _note_version(self, name: str, version: int) -> None:
        self.versions[name] = max(version, self.versions.get(name, 0))


class View:
    """What is known of patterns and streams; safe for threads.

    It answers once it is whole: until then all but `is_whole` and `wait_for` raise `IncompleteError`. A reader of the topics
    anew makes another whole first; the old one answers meanwhile.
    """

    def __init__(self, topics: Topics, clock: Clock | None = None) -> None:
        """Know nothing. With a clock, patterns say where their hosts have been silent for long."""
        self._topics = topics
        self._clock = clock
        self._changed = Condition()
        self._shown: Known | None = None
        self._bursts: dict[str, tuple[StatisticsRecord, str | None]] = {}

    @property
    def is_whole(self) -> bool:
        """Whether all that was there at the start was read."""
        return self._shown is not None

    def patterns(self) -> list[PatternRecord]:
        """Return the patterns that are registered, by their names."""
        with self._changed:
            patterns = self._known().patterns
            return [patterns[name] for name in sorted(patterns)]

    def pattern(self, name: str) -> PatternRecord | None:
        """Return a pattern; None if it is not registered."""
        with self._changed:
            return self._known().patterns.get(name)

    def pattern_status(self, record: PatternRecord) -> PatternStatus:
        """Return the status of a pattern; a running one has the time since when its host has been silent, if it has."""
        with self._changed:
            pattern_status = self._known().pattern_status(record)
            silent = self._silent_host(pattern_status)
        return (
            pattern_status
            if silent is None
            else replace(pattern_status, reason="; ".join(filter(None, (pattern_status.reason, silent))))
        )

    def statistics(self, stream: str) -> StatisticsRecord | None:
        """Return the newest snapshot of a stream."""
        with self._changed:
            return self._known().statistics.get(stream)

    def hosts(self) -> list[HostRecord]:
        """Return what matcher hosts reported of themselves last, by service and shard."""
        with self._changed:
            return sorted(self._known().hosts.values(), key=lambda host: (host.service, host.shard))

    def scaling(self) -> list[ScalingRecord]:
        """Return what was decided last of how many replicas matcher services have, by service."""
        with self._changed:
            return [found for _, found in sorted(self._known().scaling.items())]

    def planned_at(self) -> Counter[tuple[str, int]]:
        """Return the number of plans that each host should run, by service and shard."""
        with self._changed:
            plans = self._known().plans.values()
            return Counter((plan.service, plan.shard) for plan in plans if plan.desired == "running")

    def schema(self, stream: str, source: Source) -> dict[str, Kind]:
        """Return what is known of a stream's attributes from a source."""
        with self._changed:
            record = self._known().schemas.get(stream, {}).get(source)
            return dict(record.attributes) if record is not None else {}

    def wait_for_schema(self, stream: str, declared: Mapping[str, Kind], timeout: float) -> bool:
        """Return once a declaration is seen; False if it is not within `timeout` seconds."""

        def is_seen() -> bool:
            record = self._shown.schemas.get(stream, {}).get("declared") if self._shown is not None else None
            return (record.attributes if record is not None else {}) == declared

        with self._changed:
            return self._changed.wait_for(is_seen, timeout)

    def definition(self, stream: str) -> StreamDefinition | None:
        """Return what the statement of a stream says; None if it has none."""
        record = self.statement(stream)
        return None if record is None or record.definition is None else definition_of(record.definition)

    def partition(self, stream: str) -> Partition | None:
        """Return what divides a stream; None if nothing does."""
        definition = self.definition(stream)
        return None if definition is None else definition.partition

    def statement(self, stream: str) -> StatementRecord | None:
        """Return the STREAM statement of a stream; None if none is registered."""
        with self._changed:
            return self._known().statements.get(stream)

    def last_statement(self, stream: str) -> int:
        """Return the greatest version that a stream's statement ever had, as far as this process knows; 0 if none."""
        with self._changed:
            return self._known().statement_versions.get(stream, 0)

    def wait_for_statement(self, record: StatementRecord, timeout: float) -> bool:
        """Return once a statement, or a later one of its stream, is seen; False if it is not within `timeout` seconds."""

        def is_seen() -> bool:
            versions = self._shown.statement_versions if self._shown is not None else {}
            return versions.get(record.stream, 0) >= record.version

        with self._changed:
            return self._changed.wait_for(is_seen, timeout)

    def unit(self) -> TimeUnit | None:
        """Return what times of streams count; None as long as no pattern has a plan, which shows it."""
        with self._changed:
            return self._known().unit()

    def is_counted(self, stream: str) -> bool:
        """Whether edges of a stream were counted."""
        with self._changed:
            record = self._known().statistics.get(stream)
        return record is not None and record.snapshot.edges > 0

    def warnings(self, record: PatternRecord) -> list[str]:
        """Return what may be misspelt in a pattern, or take very many matches, as far as the newest snapshots show."""
        # What a pattern has matched was there, though it may be rare.
        is_seen = self.pattern_status(record).reported > 0
        form = _Form(record.text, _by_text(record.text))
        return self._warnings(form, asked_names(record.text), record.ordered_streams[0], are_names_seen=is_seen)

    def warnings_before(self, pattern: AnyPattern) -> list[str]:
        """Return the same of a pattern that is not registered; what needs snapshots is left out until they were read."""
        if not self.is_whole:
            said, _ = _by_form(pattern)
            return [] if said is None else [said]
        form = _Form(print_pattern(pattern), _by_form(pattern))
        return self._warnings(form, AskedNames.of(pattern), ordered_stream(pattern), are_names_seen=False)

    def _warnings(self, form: _Form, asked: AskedNames, stream: str, *, are_names_seen: bool) -> list[str]:
        with self._changed:
            known = self._known()
            measured = {logical_stream(StreamName(name)) for name, each in known.statistics.items() if each.snapshot.edges}
            names, counted, unit = known.names(stream), known.statistics.get(stream), known.unit()
        logical = logical_stream(StreamName(stream))
        kinds = {**self.schema(logical, "seen"), **self.schema(logical, "declared")}
        numbers = {name for name, kind in kinds.items() if kind in {"integer", "number"}}
        said = notes(asked, None if are_names_seen else names, numbers)
        more = (lacking_stream(logical, measured), self._burst(form, counted, unit))
        return [*said, *(each for each in more if each is not None)]

    def _burst(self, form: _Form, counted: StatisticsRecord | None, unit: TimeUnit | None) -> str | None:
        """Return whether one record may complete very many matches: by the form of a text, or as statistics let expect."""
        text, (by_form, pattern) = form
        if by_form is not None or counted is None or unit is None or pattern is None:
            return by_form
        of, found = self._bursts.get(text, (None, None))
        if of is not counted:
            burst = burst_of(pattern, counted.snapshot, unit)
            found = None if burst is None else burst.text
            if len(self._bursts) >= _MOST_TEXTS:
                self._bursts.clear()
            self._bursts[text] = counted, found
        return found

    def planned_on(self, stream: str) -> list[str]:
        """Return the patterns with plans on a stream, those among them that were deleted and are still being stopped."""
        with self._changed:
            plans = list(self._known().plans.values())
        return sorted(plan.name for plan in plans if _stream_of(plan) == stream)

    def last_version(self, name: str) -> int:
        """Return the greatest known version of a name, of deleted patterns too; 0 if there was none."""
        with self._changed:
            known = self._known()
            said = [status.version for status in known.said.get(name, {}).values()]
            return max([known.versions.get(name, 0), *said])

    def states(self) -> Counter[str]:
        """Return how many patterns are in each state."""
        with self._changed:
            known = self._known()
            return Counter(known.pattern_status(record).state for record in known.patterns.values())

    def wait_for(self, name: str, etag: str | None, timeout: float) -> bool:
        """Return once a pattern is seen with this ETag (None: deleted); False if it is not within `timeout` seconds."""

        def is_seen() -> bool:
            found = self._shown.patterns.get(name) if self._shown is not None else None
            return (found.etag if found is not None else None) == etag

        with self._changed:
            return self._changed.wait_for(is_seen, timeout)

    def anew(self) -> Known:
        """Return what is to be filled with all that is there, and then shown."""
        with self._changed:
            return Known(self._topics, self._shown)

    def show(self, known: Known) -> None:
        """Answer from what was read to its end."""
        with self._changed:
            self._shown = known
            self._changed.notify_all()

    def take(self, record: Record) -> None:
        """Take a record that came since."""
        with self._changed:
            self._known().take(record)
            self._changed.notify_all()

    def _silent_host(self, pattern_status: PatternStatus) -> str | None:
        """Return how long the host of a running plan has been silent; None if it reports, or never did."""
        if self._clock is None or pattern_status.state != "running" or pattern_status.plan is None:
            return None
        host = self._known().hosts.get(hosts.shard_key(pattern_status.plan.service, pattern_status.plan.shard))
        if host is None or (self._clock.now() - host.at).total_seconds() < _SILENT_SECONDS:
            return None
        since = host.at.isoformat(timespec="seconds")
        return f"it stands still: its host, shard {host.shard} of {host.service}, has reported nothing since {since}"

    def _known(self) -> Known:
        if self._shown is None:
            what = "registrations"
            raise IncompleteError(what)
        return self._shown


class Viewer:
    """A `Worker` that keeps a view."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, view: View, *, linger_seconds: float = 0.05) -> None:
        """Prepare; nothing is opened yet."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._view = view
        self._linger = linger_seconds
        self._followers: list[Follower] = []

    @property
    def name(self) -> str:
        """What logs call it."""
        return "view"

    def open(self) -> None:
        """Read all that is there, and show it.

        Raises:
            TransientError: the log does not answer.
        """
        topics = self._topics
        self._log.admin().ensure(topics.of_deployment())
        known = self._view.anew()
        for name in (
            topics.patterns,
            topics.plans,
            topics.status,
            topics.statistics,
            topics.schemas,
            topics.statements,
            topics.counts,
            topics.hosts,
        ):
            self._followers.append(Follower(self._log, name))
            for record in self._followers[-1].to_the_end():
                known.take(record)
        self._view.show(known)

    def step(self) -> None:
        """Take what is new."""
        followers = open_worker(self._followers or None, "the view")
        records = [record for follower in followers for record in follower.poll()]
        for record in records:
            self._view.take(record)
        if not records:
            self._clock.sleep(self._linger)

    def close(self) -> None:
        """Give back the readers; what was read stays."""
        close_all(self._followers)
        self._followers = []
