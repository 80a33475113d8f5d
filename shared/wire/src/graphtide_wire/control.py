"""Control records: patterns, plans and their status, as JSON. A record without a value deletes its key.

Readers leave out fields they do not know. What a reader must not overlook raises the `format` of plans.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from graphtide_core.errors import PoisonRecordError
from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import has_parts, sources

from graphtide_wire.json_form import Count, Instant, Name, decode, encode
from graphtide_wire.plans import PlanForm, physical_form
from graphtide_wire.reads_form import ReadsForm, reads_of

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.reads import Reads

PLAN_FORMAT: Final = 1
"""The newest form of plans that this code understands."""


class LimitsForm(msgspec.Struct, frozen=True):
    """Bounds on a pattern's state, and on its work in steps a record; what is missing is bounded as `SERVICE_LIMITS` says."""

    partial_matches: Count | None = None
    state_bytes: Count | None = None
    policy: Literal["fail", "pause", "shed"] = "fail"
    work: Count | msgspec.UnsetType = msgspec.UNSET

    @property
    def steps(self) -> int | None:
        """The bound on work, if it says one."""
        return None if isinstance(self.work, msgspec.UnsetType) else self.work

    @property
    def effective(self) -> LimitsForm:
        """The bounds that hold."""
        return LimitsForm(
            SERVICE_LIMITS.partial_matches if self.partial_matches is None else self.partial_matches,
            SERVICE_LIMITS.state_bytes if self.state_bytes is None else self.state_bytes,
            self.policy,
            SERVICE_LIMITS.work if self.work is msgspec.UNSET else self.work,
        )


SERVICE_LIMITS: Final = LimitsForm(partial_matches=1_000_000, state_bytes=256 * 1024 * 1024, work=1_000)
"""Default bounds of a pattern.

A million partial matches take some tens of megabytes. Of the patterns of the benchmarks none takes 200 steps a record, and half
of them take less than one. 1,000 are some tens of microseconds, and what is saved up of them lets other patterns wait for a
tenth of a second or two.
"""


class PatternOptions(msgspec.Struct, frozen=True):
    """Planner options of a pattern."""

    engine: str = "auto"


SeverityName = Literal["info", "low", "medium", "high", "critical"]


class AnnotationsForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a pattern says to people and alerts; see `graphtide_core.annotations`."""

    description: str | None = None
    severity: SeverityName | None = None
    tags: tuple[str, ...] = ()
    message: str | None = None


def annotations_of(pattern: AnyPattern) -> AnnotationsForm | msgspec.UnsetType:
    """Return the annotations of a pattern as its record has them: nothing where it has none."""
    said = pattern.annotations
    form = AnnotationsForm(said.description, said.severity and said.severity.value, said.tags, said.message)
    return msgspec.UNSET if form == AnnotationsForm() else form


class PatternRecord(msgspec.Struct, frozen=True):
    """A pattern as it was registered; `etag` changes with every change.

    `start` is where the ordered stream ended then: matches are reported from there on. `registration` is the version that the
    name was registered with. Texts that replace one another share it, and a pattern registered after a deletion has its own.
    `reads` is what the text reads: a reader of it need not know the language. A record without it cannot be read. `view` is
    true where its results are a stream that is called as it is, and not there elsewhere. `source_ends` are, where it reads
    several streams, the offsets at which the ordered edges of each ended when its text was registered, in their order. `lost`
    says which view it read that was deleted; it is paused then, and its user sees it as failed until it is resumed.

    Of a stream in parts, `stream` is that of all its parts. `local` is true where each part matches the pattern by itself, and
    not there elsewhere. `source_ends` are those of the parts then, and the pattern has no `start`.
    `by_vertex` is true where a vertex decides which part reports a match. `annotations` are what the text says to people and
    alerts; no match depends on them.
    """

    name: Name
    version: Count
    text: str
    stream: Name
    state: Literal["active", "paused"]
    created_at: Instant
    updated_at: Instant
    etag: str
    reads: ReadsForm
    limits: LimitsForm = LimitsForm()
    options: PatternOptions = PatternOptions()
    start: Count | None = None
    registration: Count = 0
    view: bool | msgspec.UnsetType = msgspec.UNSET
    source_ends: tuple[Count, ...] | msgspec.UnsetType = msgspec.UNSET
    lost: str | msgspec.UnsetType = msgspec.UNSET
    local: bool | msgspec.UnsetType = msgspec.UNSET
    by_vertex: bool | msgspec.UnsetType = msgspec.UNSET
    annotations: AnnotationsForm | msgspec.UnsetType = msgspec.UNSET

    @property
    def ordered_streams(self) -> tuple[StreamName, ...]:
        """The ordered streams that it is matched on: one, or each part."""
        stream = StreamName(self.stream)
        if self.local is True:
            return sources(stream)
        return (stream if has_parts(stream) else reads_of(self.reads).stream,)

    @property
    def source_streams(self) -> tuple[StreamName, ...]:
        """The streams that `source_ends` are of, in their order."""
        stream = StreamName(self.stream)
        return sources(stream) if has_parts(stream) else reads_of(self.reads).streams


class PatternText(msgspec.Struct, frozen=True):
    """The pattern that a plan is for."""

    text: str


class PlanHead(msgspec.Struct, frozen=True):
    """The pattern and the host of a plan: the part that can be read in newer formats too."""

    name: Name
    version: Count
    epoch: Count
    service: Name
    shard: Count
    format: Count


class HostName(msgspec.Struct, frozen=True):
    """One shard of a matcher service."""

    service: Name
    shard: Count


class ConsumptionCursorForm(msgspec.Struct, frozen=True):
    """How far a pattern has consumed its stream, under `REPORT INSTANCES`.

    Edges before `at`, and the first `ties` of its time that the pattern could use, take no part in matches any more.
    """

    at: int
    ties: Count


class PlanRecord(msgspec.Struct, frozen=True, rename={"consumption": "frontier"}):
    """How a pattern is to be matched, and by whom.

    `start` is the offset of the first ordered record whose matches are reported; null is from now on. `reported_to` is the
    offset below which another host has reported them, where the plan moved, and `came_from` is that host. `until` belongs to
    `stopped`: the plan ends at that offset, or where its host is if that is later; null is at once. `registration` is that of
    the pattern. `consumption` is how far the pattern had consumed where others have reported to. `stream` is the ordered stream
    that the pattern is matched on, where the text names another: that of a stream in parts. The name of a plan for one part has
    the part in it, as in `scan#3/8`; the text is that of the whole. With `by_vertex` it reports
    the matches whose vertex is in the part; which vertex that is, the pattern's family says.
    """

    name: Name
    version: Count
    epoch: Count
    engine: str
    service: Name
    shard: Count
    plan: PlanForm
    pattern: PatternText
    desired: Literal["running", "paused", "stopped"]
    unit: Literal["s", "ms", "us", "ns"] = "ms"
    limits: LimitsForm = LimitsForm()
    start: Count | None = None
    reported_to: Count | None = None
    until: Count | None = None
    registration: Count = 0
    format: Count = PLAN_FORMAT
    came_from: HostName | msgspec.UnsetType = msgspec.UNSET
    consumption: ConsumptionCursorForm | msgspec.UnsetType = msgspec.UNSET
    stream: Name | msgspec.UnsetType = msgspec.UNSET
    by_vertex: bool | msgspec.UnsetType = msgspec.UNSET


class ItemStatus(msgspec.Struct, frozen=True):
    """Partial matches of one item of a plan: alive now, most at once, made in all."""

    name: str
    alive: Count
    peak: Count
    created: Count


class StatusRecord(msgspec.Struct, frozen=True, rename={"consumption": "frontier"}):
    """The status of a plan on a host: its progress and the size of its state.

    `start` is the offset of the first ordered record whose matches are reported, where the plan runs. Where it ended, it is
    that of the first whose matches are not. `reports_from` is, if it runs, the offset from which this host reports them: past
    `start` where others did before. `position` is the offset that the host reads next. `items` counts what the plan stores,
    item by item. `consumption` is how far the pattern has consumed, at the position committed with this, or where the plan
    ended. `suppressed` counts matches that were left out because one of the same key was reported.
    """

    name: Name
    version: Count
    epoch: Count
    service: Name
    shard: Count
    state: Literal["pending", "warming", "running", "paused", "stopped", "failed"]
    at: Instant
    reason: str | None = None
    start: Count | None = None
    position: Count | None = None
    matches: Count = 0
    partial_matches: Count = 0
    state_bytes: Count = 0
    work: Count | msgspec.UnsetType = msgspec.UNSET
    items: tuple[ItemStatus, ...] = ()
    stream: str = ""
    reports_from: Count | None = None
    consumption: ConsumptionCursorForm | msgspec.UnsetType = msgspec.UNSET
    suppressed: Count | msgspec.UnsetType = msgspec.UNSET


def encode_pattern(record: PatternRecord) -> bytes:
    """Return the pattern as JSON."""
    return encode(record)


def decode_pattern(value: bytes | None) -> PatternRecord:
    """Return the pattern.

    Raises:
        PoisonRecordError: the value is none.
    """
    return decode(value, PatternRecord, "registered pattern")


def registered_reads(value: bytes | None) -> Reads | None:
    """Return what a registered pattern reads; None of one that was deleted or cannot be read: it gets no plan either."""
    if value is None:
        return None
    try:
        return reads_of(decode_pattern(value).reads)
    except PoisonRecordError:
        return None


def ordered_reads(value: bytes | None) -> Reads | None:
    """Return what a registered pattern reads of the ordered streams that it is matched on; None as `registered_reads`."""
    if value is None:
        return None
    try:
        record = decode_pattern(value)
        return replace(reads_of(record.reads), streams=record.ordered_streams)
    except PoisonRecordError:
        return None


def encode_plan(record: PlanRecord) -> bytes:
    """Return the plan as JSON."""
    return encode(record)


def decode_plan(value: bytes | None) -> PlanRecord | PlanHead:
    """Return the plan; of one in a format newer than this code, only whose it is, so that it can be refused by name.

    Raises:
        PoisonRecordError: the value is not a plan.
    """
    head = decode_plan_head(value)
    return head if head.format > PLAN_FORMAT else decode(value, PlanRecord, "plan", physical_form)


def decode_plan_head(value: bytes | None) -> PlanHead:
    """Return whose plan it is, also for a record that is otherwise damaged.

    Raises:
        PoisonRecordError: the value is not a plan.
    """
    return decode(value, PlanHead, "plan")


def status_key(record: StatusRecord) -> bytes:
    """Return the key of a status: what one host says of a plan does not replace what another says."""
    return f"{record.name}@{record.service}.{record.shard}".encode()


def encode_status(record: StatusRecord) -> bytes:
    """Return the status as JSON."""
    return encode(record)


def decode_status(value: bytes | None) -> StatusRecord:
    """Return the status.

    Raises:
        PoisonRecordError: the value is none.
    """
    return decode(value, StatusRecord, "status of a plan")
