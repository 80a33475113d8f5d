"""Registrations and how they change: each function gives the next record of a pattern.

A new text is a new version, unless it changes nothing but annotations: these go on with the same matches. A pattern that
continues after a limit ended it is a new version, too: matches of different versions have different ids. Limits, engine and
state change without one. `start` is where the ordered stream ended at a registration, a new version or the end of a pause:
matches are reported from there on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from graphtide_core.annotations import without_annotations
from graphtide_core.any_pattern import ordered_stream
from graphtide_core.errors import InvalidPatternError, InvalidQueryError
from graphtide_core.merged_streams import is_merged
from graphtide_query import parse, print_pattern
from graphtide_query.bursts import burst_of
from graphtide_query.families import AUTO, refuse_other_family
from graphtide_query.reads import reads_of
from graphtide_query.views import refuse_view_cycles
from graphtide_wire.control import LimitsForm, PatternOptions, PatternRecord, annotations_of, encode_pattern
from graphtide_wire.reads_form import form_of
from graphtide_wire.topics import check_ordered, check_stream
from msgspec import UNSET
from msgspec.structs import replace

from graphtide_admin_api.domain.placement import Placement, placement_of
from graphtide_admin_api.domain.problems import ProblemError, invalid_pattern, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from graphtide_core.any_pattern import AnyPattern

MOST_TEXT = 100_000
"""Characters of a pattern's text."""

MOST_NAME = 200
"""Characters of a pattern's name: it is a key of records and a part of addresses."""

_MOST_VIEWS: Final = 1_000
"""Texts of views that are kept parsed."""

_MOST_NAMED: Final = 10
"""Patterns that an answer names."""

ACTIONS: Final = (":pause", ":resume", ":backfill")
"""Ends of addresses that act on the pattern before them; no name ends so."""


@dataclass(frozen=True, slots=True)
class PatternRequest:
    """What a user asks a pattern to be; None leaves a member as it is, or takes the default."""

    text: str | None = None
    limits: LimitsForm | None = None
    engine: str | None = None
    state: Literal["active", "paused"] | None = None


@dataclass(frozen=True, slots=True)
class Moment:
    """When something is registered: by the clock, and by the end offset of each stream's ordered edges, merged or not."""

    now: datetime
    ends: dict[str, int]


def read(text: str) -> AnyPattern:
    """Return the one pattern of a text.

    Raises:
        ProblemError: as `read_all`; or it is none, or more than one, or has a name or a stream that cannot be.
    """
    patterns = read_all(text)
    if len(patterns) != 1:
        names = ", ".join(pattern.name for pattern in patterns)
        detail = f"a registration holds one pattern, this text holds {len(patterns)}: {names}"
        raise ProblemError(422, "invalid-pattern", detail)
    (pattern,) = patterns
    name = pattern.name
    if len(name) > MOST_NAME or "/" in name or name in {".", ".."} or name.endswith(ACTIONS) or not name.isprintable():
        detail = (
            f"a pattern that is registered has a name of up to {MOST_NAME} characters that can be printed, without /, "
            f"that is neither . nor .., and does not end in {', '.join(ACTIONS)}"
        )
        raise ProblemError(422, "invalid-pattern", detail)
    try:
        check_ordered(ordered_stream(pattern))
        if pattern.is_view:
            check_stream(name)
    except InvalidQueryError as error:
        raise ProblemError(422, "invalid-pattern", str(error)) from error
    return pattern


def read_all(text: str) -> tuple[AnyPattern, ...]:
    """Return the patterns of a text.

    Raises:
        ProblemError: it is too long, or wrong at a place; or one asks for what services do not do.
    """
    if len(text) > MOST_TEXT:
        raise ProblemError(422, "invalid-pattern", f"the text has {len(text)} characters, it may have {MOST_TEXT}")
    try:
        patterns = parse(text)
        for pattern in patterns:
            reads_of(pattern)
        refuse_view_cycles(patterns)
    except InvalidPatternError as error:
        raise invalid_pattern(error.in_text(text)) from error
    return patterns


def check_engine(name: str, pattern: AnyPattern) -> None:
    """Do nothing if a pattern may be matched by an engine.

    Raises:
        ProblemError: there is no such engine, or it is not for patterns of this family.
    """
    try:
        refuse_other_family(pattern, name)
    except InvalidQueryError as error:
        raise ProblemError(422, "unknown-engine", str(error)) from error


def check_burst(pattern: AnyPattern, limits: LimitsForm) -> None:
    """Do nothing if the first match of a pattern may fit its limit of work, or the limit does not end the pattern.

    Raises:
        ProblemError: it never does: the first match comes with so many others that the pattern fails by them.
    """
    bounds = limits.effective
    burst = burst_of(pattern) if bounds.policy == "fail" and bounds.steps is not None else None
    if burst is not None and bounds.steps is not None and burst.exceeds(bounds.steps):
        detail = (
            f"pattern {pattern.name!r} would fail at its first match, by its limit of {bounds.steps:,} steps of work a record"
        )
        raise ProblemError(422, "too-many-matches", f"{detail}: {burst.text}")


def register(request: PatternRequest, version: int, moment: Moment, placement: Placement | None = None) -> PatternRecord:
    """Return the record of a new pattern.

    Args:
        request: what it is to be; the text is needed.
        version: one that no pattern of the name had.
        moment: when.
        placement: where it is matched; without one on the stream that its text names.

    Raises:
        ProblemError: the text is not a pattern, or has a window of edges. Or there is no such engine, or its first match is
            more than its limit of work.
    """
    text = request.text or ""
    pattern = read(text)
    options = PatternOptions(request.engine or AUTO)
    check_engine(options.engine, pattern)
    limits = request.limits or LimitsForm()
    check_burst(pattern, limits)
    record = PatternRecord(
        name=pattern.name,
        version=version,
        text=text,
        stream=ordered_stream(pattern),
        state=request.state or "active",
        created_at=moment.now,
        updated_at=moment.now,
        etag="",
        reads=form_of(reads_of(pattern)),
        limits=limits,
        options=options,
        registration=version,
        view=pattern.is_view or UNSET,
        annotations=annotations_of(pattern),
    )
    return _mark(_begin_anew(record, placement or Placement(ordered_stream(pattern)), moment))


def apply_change(
    record: PatternRecord, request: PatternRequest, version: int, moment: Moment, placement: Placement | None = None
) -> PatternRecord:
    """Return the record with the request applied.

    `version` is the next one, for a new text. `placement` is where that text is matched, as of `register`.

    Raises:
        ProblemError: the text is not a pattern, has another name, or has a window of edges. Or there is no such engine, or its
            first match is more than its limit of work.
    """
    new = record
    if request.text is not None:
        pattern = read(request.text)
        if pattern.name != record.name:
            detail = f"the text is of pattern {pattern.name!r}, not of {record.name!r}"
            raise ProblemError(422, "name-differs", detail)
        said = annotations_of(pattern)
        new = replace(new, reads=form_of(reads_of(pattern)), view=pattern.is_view or UNSET, annotations=said)
        if said != record.annotations and _matches_the_same(pattern, record.text):
            new = replace(new, text=request.text)
        elif request.text != record.text:
            placed = placement or Placement(ordered_stream(pattern))
            new = _begin_anew(replace(new, text=request.text, version=version), placed, moment)
    if request.limits is not None:
        new = replace(new, limits=request.limits)
    if request.engine is not None:
        new = replace(new, options=PatternOptions(request.engine))
    if (new.options, new.text) != (record.options, record.text):
        check_engine(new.options.engine, read(new.text))
    if (new.limits, new.text) != (record.limits, record.text):
        check_burst(read(new.text), new.limits)
    if request.state is not None:
        starts = record.state == "paused" and request.state == "active"
        new = replace(new, state=request.state)
        if starts:
            new = _begin_anew(replace(new, lost=UNSET), placement_of(new), moment)
    return record if new == record else _mark(replace(new, updated_at=moment.now))


def _matches_the_same(pattern: AnyPattern, text: str) -> bool:
    """Whether a pattern differs from that of a registered text in nothing but annotations and spelling."""
    return [print_pattern(without_annotations(each)) for each in _readable(text)] == [
        print_pattern(without_annotations(pattern))
    ]


def _begin_anew(record: PatternRecord, placement: Placement, moment: Moment) -> PatternRecord:
    """Return the record of a pattern that is matched there from now on.

    Of several streams, or of parts, it has where each ends: a merge that begins later goes back there. A pattern that each part
    matches by itself starts in each where that ends.
    """
    placed = replace(record, stream=placement.stream, local=placement.is_local or UNSET, by_vertex=placement.by_vertex or UNSET)
    ends = tuple(moment.ends.get(each, 0) for each in placed.source_streams)
    start = None if placement.is_local else moment.ends.get(placement.stream)
    return replace(placed, start=start, source_ends=ends if is_merged(placement.stream) else UNSET)


def refuse_circle(new: PatternRecord, registered: Iterable[PatternRecord]) -> None:
    """Do nothing if no view reads its own stream, directly or through other views, after a registration.

    Raises:
        ProblemError: one does; with the place in the new text where the circle closes, if it does there.
    Complexity: O(registrations), and the texts of the views among them, if the new one is a view; else O(1).
    """
    if new.view is not True:
        return
    views = [new, *(each for each in registered if each.view is True and each.name != new.name)]
    # A walk that begins with what the new one reads, and comes back there, does so from the new one.
    views.sort(key=lambda each: each.name not in new.reads.streams)
    try:
        refuse_view_cycles(pattern for each in views for pattern in _readable(each.text))
    except InvalidPatternError as error:
        raise ProblemError(409, "view-circle", error.reason, extra=place_of(error.in_text(new.text))) from error


@lru_cache(maxsize=_MOST_VIEWS)
def _readable(text: str) -> tuple[AnyPattern, ...]:
    """Return the patterns of a registered text; none of an unreadable one that another program wrote."""
    try:
        return parse(text)
    except InvalidPatternError:
        return ()


def readers(view: str, registered: Iterable[PatternRecord]) -> list[PatternRecord]:
    """Return the registrations that read the stream of a view, by their names. Complexity: O(registrations)."""
    reading = (each for each in registered if view in {each.stream, *each.reads.streams} and each.name != view)
    return sorted(reading, key=lambda each: each.name)


def without_view(view: str, record: PatternRecord, moment: datetime) -> PatternRecord:
    """Return the record of a pattern whose view goes: it waits until its user resumes it, with the reason."""
    lost = f"it reads the view {view!r}, which was deleted"
    return _mark(replace(record, state="paused", lost=lost, updated_at=moment))


def refuse_if_read(view: str, names: Sequence[str], count: int) -> None:
    """Do nothing if no pattern reads the view to delete; `names` are those of the `count` patterns that may be named.

    Raises:
        ProblemError: patterns do; it names them.
    """
    if count:
        named = [repr(each) for each in names[:_MOST_NAMED]]
        rest = count - len(named)
        more = [f"{rest} more"] if named and rest else [f"{rest} that you may not see"] if rest else []
        shown = " and ".join([", ".join(named), *more]) if named else more[0]
        detail = (
            f"patterns read the view {view!r}: {shown}. Delete or change them first, or ask with ?force=true: "
            "they fail then, with this reason"
        )
        raise ProblemError(409, "view-in-use", detail)


def renew(record: PatternRecord, version: int, moment: Moment) -> PatternRecord:
    """Return the record of a pattern that continues after a limit ended it."""
    placement = placement_of(record)
    return _mark(_begin_anew(replace(record, state="active", version=version, updated_at=moment.now), placement, moment))


def check_match(record: PatternRecord, if_match: str | None) -> None:
    """Do nothing if a change is allowed: its caller has seen the record as it is, and says so by its strong ETag (RFC 9110).

    Raises:
        ProblemError: the caller does not say what was seen, or something else.
    """
    if if_match is None:
        detail = "say which state of the pattern is to be changed: the header If-Match with its ETag, or * for any"
        raise ProblemError(428, "precondition-required", detail)
    given = {each.strip() for each in if_match.split(",")}
    strong = {each.strip('"') for each in given if not each.startswith("W/")}
    if "*" not in given and record.etag not in strong:
        detail = f"pattern {record.name!r} has changed meanwhile: its ETag is now {record.etag!r}"
        raise ProblemError(412, "precondition-failed", detail)


def _mark(record: PatternRecord) -> PatternRecord:
    """Return the record with an ETag of its content."""
    content = encode_pattern(replace(record, etag=""))
    return replace(record, etag=f"{record.version}-{hashlib.blake2b(content, digest_size=6).hexdigest()}")
