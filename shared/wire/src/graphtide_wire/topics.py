"""Names of topics, and how each is made.

Names are `{prefix}.{kind}.{entity}.v1`: the version is that of the records' form, so that old and new readers never meet in one
topic.

Invariant: no two names of one deployment differ by dots and underscores alone, which Kafka does not allow (ADR 33). The entity
of a stream that edges are sent to is its name, which has no dot and begins with a letter or digit. That of a merged one is `-.`
and the names of its streams with dots between. In them `-` is written `--` and `_` is written `-u`. Part 3 of 8 of a stream is
`-.name-p3-8`, and all 8 parts that are merged are `-.name-p8`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidQueryError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, logical_stream, merge, merge_parts, most_parts, name_part, part_in
from graphtide_core.part_key import MOST_PARTS
from graphtide_core.ports.log import TopicSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_PREFIX: Final = "graphtide"
DEFAULT_PARTITIONS: Final = 4
"""The default number of partitions of a stream's raw topic."""

MOST_ORDERED_BYTES: Final = 4 * 1024 * 1024
"""Bytes that a record of ordered edges may have."""

MOST_ENVELOPED_BYTES: Final = MOST_ORDERED_BYTES + 64 * 1024
"""Bytes a record may have with key and headers around such a value."""

STREAM_NAME: Final = "[a-z0-9][a-z0-9_-]{0,99}"
"""What a stream may be called, as a regular expression."""

MOST_TOPIC_NAME: Final = 249
"""Characters that Kafka lets a topic's name have."""

VERDICTS_RETENTION_MS: Final = 3_600_000
"""Nobody waits longer for a verdict."""

_NAME = re.compile(STREAM_NAME)
_MERGED: Final = "-"
"""Begins the entity of a merged stream; no stream that edges are sent to begins so."""
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")


def check_stream(name: str) -> None:
    """Do nothing if a stream that edges are sent to may have this name: `[a-z0-9][a-z0-9_-]{0,99}`.

    Raises:
        InvalidQueryError: it may not.
    """
    if not _NAME.fullmatch(name):
        message = f"{name!r} is not a name of a stream: up to 100 of a-z, 0-9, _ and -, the first a letter or digit"
        raise InvalidQueryError(message)


def check_ordered(name: str) -> None:
    """Do nothing if a stream whose ordered edges are read may have this name.

    It is as `check_stream` says, or that of a part, or of streams that are merged.

    Raises:
        InvalidQueryError: it may not.
    """
    stream, part = StreamName(name), part_in(name)
    for each in logical_stream(stream).split("."):
        check_stream(each)
    if most_parts(stream) > MOST_PARTS or (part is not None and part.number >= part.parts):
        message = f"{name!r} is not a name of a part of a stream: parts are numbered from 0, and there are up to {MOST_PARTS:,}"
        raise InvalidQueryError(message)
    names = [StreamName(each) for each in name.split(".")]
    if merge(names) != name or (len(names) > 1 and any(part_in(each) for each in names)):
        message = f"{name!r} is not a name of a merged stream: names of streams in their order, each once, with dots between"
        raise InvalidQueryError(message)


@dataclass(frozen=True, slots=True)
class Topics:
    """All topics of a deployment.

    Attributes:
        prefix: the beginning of every name.
        exists: whether the log has a topic. It is asked for merged streams, which continue in a topic of their old name
            (`{prefix}.ordered.a.b.v1`) where there is one; without it, none is there. It may raise what the log raises.
    """

    prefix: str = DEFAULT_PREFIX
    exists: Callable[[str], bool] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse a prefix that cannot begin a topic's name."""
        if not _PREFIX.fullmatch(self.prefix):
            message = f"{self.prefix!r} is not a prefix of topics: up to 50 of a-z, A-Z, 0-9, _ and -"
            raise InvalidQueryError(message)

    def raw(self, stream: StreamName) -> str:
        """Edges of a stream, or of a part, as they came, in no order; a merged stream has none.

        Raises:
            InvalidQueryError: it is not the name of a stream that accepts edges, or of a part of one.
        """
        if part_in(stream) is None:
            check_stream(stream)
        return self._of_stream("in", stream)

    def ordered(self, stream: StreamName) -> str:
        """Edges of a stream, which may be a merged one, in their total order, many a record; one partition.

        Raises:
            InvalidQueryError: it is not the name of a stream, or the topic's name is too long for a log: too many streams are
            merged.
        """
        return self._of_stream("ordered", stream)

    def dead_letters(self, stream: StreamName) -> str:
        """Records of a stream, which may be a merged one, that could not be used; those of parts are with those of the whole.

        Raises:
            InvalidQueryError: as for `ordered`.
        """
        check_ordered(stream)
        return self._of_stream("dlq", logical_stream(stream))

    @property
    def matches(self) -> str:
        """Matches of all patterns; the key is the pattern's name."""
        return f"{self.prefix}.out.matches.v1"

    @property
    def patterns(self) -> str:
        """Registered patterns; compacted, the key is the pattern's name."""
        return f"{self.prefix}.control.patterns.v1"

    @property
    def plans(self) -> str:
        """How patterns are to be matched; compacted, the key is the pattern's name."""
        return f"{self.prefix}.control.plans.v1"

    @property
    def statistics(self) -> str:
        """Snapshots of streams; compacted, the key is the stream's name."""
        return f"{self.prefix}.control.statistics.v1"

    @property
    def counts(self) -> str:
        """How many matches were reported; compacted, the key is the pattern's name."""
        return f"{self.prefix}.control.counts.v1"

    @property
    def schemas(self) -> str:
        """Attributes of streams; compacted, the key is the stream's name, `@` and the source."""
        return f"{self.prefix}.control.schemas.v1"

    @property
    def statements(self) -> str:
        """STREAM statements; compacted, the key is the stream's name."""
        return f"{self.prefix}.control.statements.v1"

    @property
    def verdicts(self) -> str:
        """Verdicts of ordering for senders that wait; the key is the receipt."""
        return f"{self.prefix}.control.verdicts.v1"

    @property
    def alert_requests(self) -> str:
        """Alerts that users ask to be sent now; the key is the target's name."""
        return f"{self.prefix}.control.alert-requests.v1"

    @property
    def alert_answers(self) -> str:
        """What became of these; the key is the target's name."""
        return f"{self.prefix}.control.alert-answers.v1"

    @property
    def status(self) -> str:
        """Plan statuses; compacted, the key is the pattern's name."""
        return f"{self.prefix}.control.status.v1"

    @property
    def hosts(self) -> str:
        """Costs of hosts and decisions on their number; compacted, see `graphtide_wire.hosts` for keys."""
        return f"{self.prefix}.control.hosts.v1"

    @property
    def operations(self) -> str:
        """Long work that users asked for and how far it is; compacted, see `graphtide_wire.operations` for keys."""
        return f"{self.prefix}.control.operations.v1"

    @property
    def versions(self) -> str:
        """Texts that patterns had; compacted, the key is `{name}@{version}`."""
        return f"{self.prefix}.control.versions.v1"

    @property
    def plan_changes(self) -> str:
        """The newest changes of plans; compacted, see `graphtide_wire.plan_changes` for keys."""
        return f"{self.prefix}.control.plan-changes.v1"

    @property
    def replicas(self) -> str:
        """Signs of life of replicas that share work; compacted, see `graphtide_wire.replicas` for keys."""
        return f"{self.prefix}.control.replicas.v1"

    @property
    def mutes(self) -> str:
        """Matches that nobody is to be alerted of; compacted, the key is the mute's id."""
        return f"{self.prefix}.control.mutes.v1"

    @property
    def acknowledgements(self) -> str:
        """Who has seen which match; compacted, the key is the pattern's name, `/` and the match id."""
        return f"{self.prefix}.control.acknowledgements.v1"

    @property
    def targets(self) -> str:
        """Where alerts go; compacted, the key is the target's name."""
        return f"{self.prefix}.control.targets.v1"

    @property
    def alert_counts(self) -> str:
        """What became of the matches for each target; compacted, the key is the target's name."""
        return f"{self.prefix}.control.alerts.v1"

    @property
    def dead_alerts(self) -> str:
        """Alerts that no target took; the key is the target's name."""
        return f"{self.prefix}.out.alerts.dead.v1"

    def stream_of(self, topic: str) -> str | None:
        """Return the stream of a topic; None if the topic belongs to no stream."""
        prefix, *middle, version = topic.split(".") if "." in topic else (topic, topic)
        if len(middle) < 2 or (prefix, version) != (self.prefix, "v1"):
            return None
        kind, *names = middle
        if names[0] == _MERGED:
            names = [_unescape(name) for name in names[1:]]
            if len(names) == 1 and not (is_merged(names[0]) or part_in(names[0])):
                return None
        stream = StreamName(".".join(names))
        if kind not in {"in", "ordered", "dlq"} or (kind == "in" and is_merged(stream)):
            return None
        try:
            check_ordered(stream)
        except InvalidQueryError:
            return None
        return stream

    def accepting(self, topics: Iterable[str]) -> frozenset[StreamName]:
        """Return the streams that edges can be sent to: those whose raw topics are among these."""
        begin = f"{self.prefix}.in."
        named = (self.stream_of(topic) for topic in topics if topic.startswith(begin))
        return frozenset(StreamName(name) for name in named if name is not None and part_in(name) is None)

    def of_stream(
        self, stream: StreamName, *, partitions: int = DEFAULT_PARTITIONS, retention_ms: int | None = None
    ) -> tuple[TopicSpec, ...]:
        """Return the topics that a stream needs; `retention_ms` None keeps its records for ever. A merged one has no raw topic.

        Raises:
            InvalidQueryError: as for `ordered`.
        """
        specs = (
            TopicSpec(self.ordered(stream), 1, retention_ms=retention_ms, most_bytes=MOST_ENVELOPED_BYTES),
            TopicSpec(self.dead_letters(stream), 1, retention_ms=retention_ms, most_bytes=MOST_ENVELOPED_BYTES),
        )
        if is_merged(stream):
            return specs
        raw = self.raw(stream)
        return TopicSpec(raw, partitions, retention_ms=retention_ms, most_bytes=MOST_ENVELOPED_BYTES, stamped=True), *specs

    def of_view(self, stream: StreamName, *, retention_ms: int | None = None) -> tuple[TopicSpec, ...]:
        """Return the topics of a derived stream: clients do not send edges to it, so it has no raw topic."""
        return self.of_stream(stream, retention_ms=retention_ms)[1:]

    def of_deployment(self, *, partitions: int = 1, retention_ms: int | None = None) -> tuple[TopicSpec, ...]:
        """Return the topics that are there once: matches in `partitions`, kept for `retention_ms`, and what controls."""
        control = (
            self.patterns,
            self.plans,
            self.statistics,
            self.schemas,
            self.statements,
            self.counts,
            self.status,
            self.hosts,
            self.operations,
            self.replicas,
            self.versions,
            self.plan_changes,
            self.mutes,
            self.acknowledgements,
            self.targets,
            self.alert_counts,
        )
        return (
            TopicSpec(self.matches, partitions, retention_ms=retention_ms, most_bytes=MOST_ENVELOPED_BYTES),
            TopicSpec(self.dead_alerts, 1, retention_ms=retention_ms, most_bytes=MOST_ENVELOPED_BYTES),
            *(TopicSpec(name, 1, compacted=True, most_bytes=MOST_ENVELOPED_BYTES) for name in control),
            *(
                TopicSpec(name, 1, retention_ms=VERDICTS_RETENTION_MS, most_bytes=MOST_ENVELOPED_BYTES)
                for name in (self.verdicts, self.alert_requests, self.alert_answers)
            ),
        )

    def check(self, stream: StreamName) -> None:
        """Do nothing if an ordered stream may have this name; the log is not asked.

        Raises:
            InvalidQueryError: as for `ordered`.
        """
        check_ordered(stream)
        self._new("ordered", stream)

    def _of_stream(self, kind: str, stream: StreamName) -> str:
        check_ordered(stream)
        if is_merged(stream) and "#" not in stream and self.exists is not None and self.exists(self._old("ordered", stream)):
            return self._old(kind, stream)
        return self._new(kind, stream)

    def _new(self, kind: str, stream: StreamName) -> str:
        is_made_of_others = is_merged(stream) or part_in(stream) is not None
        names = [_MERGED, *map(_escape, stream.split("."))] if is_made_of_others else [stream]
        topic = f"{self.prefix}.{kind}.{'.'.join(names)}.v1"
        if len(topic) > MOST_TOPIC_NAME:
            message = f"the topic {topic!r} would have more than {MOST_TOPIC_NAME} characters: merge fewer streams"
            raise InvalidQueryError(message)
        return topic

    def _old(self, kind: str, stream: StreamName) -> str:
        """Name a topic of a merged stream as it was before names were escaped."""
        return f"{self.prefix}.{kind}.{stream}.v1"


_PART: Final = re.compile("(.*)-p([0-9]+)-([0-9]+)")
_PARTS: Final = re.compile("(.*)-p([0-9]+)")


def _escape(name: str) -> str:
    plain, mark, part = name.partition("#")
    escaped = plain.replace("-", "--").replace("_", "-u")
    return f"{escaped}-p{part.replace('/', '-')}" if mark else escaped


def _unescape(name: str) -> str:
    """Undo `_escape`; for other texts, return an invalid name of a stream."""
    escaped = name
    for form in (_PART, _PARTS):
        if (found := form.fullmatch(name)) is not None:
            escaped = found[1]
            break
    plain = StreamName(re.sub("-[-u]", lambda found: "-" if found[0] == "--" else "_", escaped))
    if found is not None:
        numbers = [int(each) for each in found.groups()[1:]]
        plain = name_part(plain, *numbers) if len(numbers) > 1 else merge_parts(plain, *numbers)
    return plain if _escape(plain) == name else ""
