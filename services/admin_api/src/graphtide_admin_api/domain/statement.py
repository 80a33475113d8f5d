"""Read the text of a STREAM statement that a user registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import InvalidPatternError, UnreadableStreamError
from graphtide_core.suggestion import did_you_mean
from graphtide_ordering.statements import check_decodable
from graphtide_query import parse_streams_and_patterns

from graphtide_admin_api.domain.problems import ProblemError, place_of
from graphtide_admin_api.domain.registration import MOST_TEXT

if TYPE_CHECKING:
    from collections.abc import Collection

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit


def read_statement(stream: str, text: str, unit: TimeUnit) -> StreamDefinition:
    """Return the definition of a stream that a text has; streams of the deployment count their times in this unit.

    Raises:
        ProblemError: the text is too long, or wrong at a place. Or it is not one statement, or is another stream's. Or it
            states a format that services do not read, a clause that they do not follow, or another unit than theirs.
    """
    definition = read_any_statement(text)
    if definition.name != stream:
        raise ProblemError(422, "name-differs", f"the statement is of stream {definition.name!r}, not of {stream!r}")
    try:
        check_decodable(definition)
    except UnreadableStreamError as error:
        raise _invalid(str(error)) from error
    if definition.unit is not unit:
        detail = (
            f"the statement counts times in {definition.unit.value}, and the streams of this deployment in {unit.value}: "
            f"write UNIT {unit.value}. It says what a tick of the stream is; AT … IN says what the records have"
        )
        raise _invalid(detail)
    return definition


def read_any_statement(text: str) -> StreamDefinition:
    """Return the definition that a text has, of whichever stream.

    Raises:
        ProblemError: the text is too long, or wrong at a place, or it is not one statement.
    """
    if len(text) > MOST_TEXT:
        detail = f"the text has {len(text):,} characters, it may have {MOST_TEXT:,}"
        raise _invalid(detail)
    try:
        streams, patterns = parse_streams_and_patterns(text)
    except InvalidPatternError as error:
        found = error.in_text(text)
        raise ProblemError(422, "invalid-statement", found.reason, extra=place_of(found)) from error
    if patterns:
        names = ", ".join(str(each.name) for each in patterns)
        detail = f"the text has patterns beside the statement ({names}): register them by themselves"
        raise _invalid(detail)
    if len(streams) != 1:
        names = f": {', '.join(str(each.name) for each in streams)}" if streams else ""
        detail = f"a stream has one STREAM statement, this text has {len(streams)}{names}"
        raise _invalid(detail)
    return streams[0]


def unknown_inputs(definition: StreamDefinition, seen: Collection[str]) -> list[str]:
    """Return a sentence for each attribute that a FEATURE or EMIT reads, no SET states, and no record of the stream had.

    Args:
        definition: of the stream.
        seen: attributes that records had; nothing is returned if there are none yet, and not all are stated.
    """
    are_stated = bool(definition.sets or (definition.clauses and all(each.sets for each in definition.clauses)))
    if not are_stated and not seen:
        return []
    known = {*definition.stated_attributes(), *(() if are_stated else seen)}
    found = definition.windows.unknown_inputs(known)
    return [f"{text}{_hint(name, known)}" for name, text in sorted(found.items())]


def _hint(name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, sorted(known))
    return f"; {hint}" if hint else ""


def _invalid(detail: str) -> ProblemError:
    return ProblemError(422, "invalid-statement", detail)
