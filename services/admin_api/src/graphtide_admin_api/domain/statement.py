"""Read the text of a STREAM statement that a user registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError, UnreadableStreamError
from graphtide_core.stream_definition import DuplicatePolicy
from graphtide_ordering.statements import check_decodable
from graphtide_query import parse_streams_and_patterns

from graphtide_admin_api.domain.problems import ProblemError, place_of
from graphtide_admin_api.domain.registration import MOST_TEXT

if TYPE_CHECKING:
    from graphtide_core.stream_definition import StreamDefinition


def read_statement(stream: str, text: str) -> StreamDefinition:
    """Return the definition of a stream that a text has.

    Raises:
        ProblemError: the text is too long, or wrong at a place; or it is not one statement, or another stream's, or states
            a format that services do not read, or a clause that they do not follow.
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
    (definition,) = streams
    if definition.name != stream:
        raise ProblemError(422, "name-differs", f"the statement is of stream {definition.name!r}, not of {stream!r}")
    try:
        check_decodable(definition)
    except UnreadableStreamError as error:
        raise _invalid(str(error)) from error
    if (clause := _not_followed(definition)) is not None:
        detail = f"services do not follow {clause} of a statement: {_INSTEAD[clause]}"
        raise _invalid(detail)
    return definition


_INSTEAD: Final = {
    "LATENESS": "GRAPHTIDE_INGESTION_LATENESS sets it for all streams",
    "CLOCK": "GRAPHTIDE_INGESTION_CLOCK_OF sets it for a stream",
    "PARTITION BY": "the key of a raw record says what keeps its order",
    "DUPLICATES": "they reject a record under an id that came before; send a deletion before the record that replaces it",
}
"""What to do in place of a clause."""


def _not_followed(definition: StreamDefinition) -> str | None:
    """Return the first clause that would mean nothing to services."""
    stated = {
        "LATENESS": definition.lateness is not None,
        "CLOCK": definition.clock is not None,
        "PARTITION BY": definition.partition_by is not None,
        "DUPLICATES": definition.duplicates not in {None, DuplicatePolicy.REJECT},
    }
    return next((clause for clause, is_stated in stated.items() if is_stated), None)


def _invalid(detail: str) -> ProblemError:
    return ProblemError(422, "invalid-statement", detail)
