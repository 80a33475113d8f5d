"""Where the history of a backfill is: a place, or one for each of several streams by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import typer
from graphtide_core.formats import columnar_first

from graphtide.cli.arguments import choice
from graphtide.cli.history_format import format_by_names
from graphtide.cli.streams import reading_of
from graphtide.record import columns_to_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_backfill.application.pieces import History

    from graphtide.options import MatchOptions

SOURCES: Final = {name: name for name in (*columnar_first(), "kafka")}
"""What `--source` may be."""


class Given(NamedTuple):
    """History as the command line has it.

    Attributes:
        places: by the names of streams; that of one stream without a name is empty.
        source: what all of them are; None is by their names or statements.
    """

    places: Mapping[str, str]
    source: str | None

    @property
    def names(self) -> frozenset[str]:
        """The names of the streams; none of one without a name."""
        return frozenset(name for name in self.places if name)

    def by_option(self) -> dict[str, str]:
        """Return the places by what the command line calls each."""
        return {f"--input {name}" if name else "LOCATION": place for name, place in self.places.items()}


def places_of(location: str | None, inputs: Sequence[str] | None, source: str | None) -> Given:
    """Return where history is.

    Raises:
        BadParameter: it is nowhere, or is given in both ways, or a name is given twice.
    """
    if (location is None) == (inputs is None):
        message = "give the place of history, or --input NAME=LOCATION for each of several streams"
        raise typer.BadParameter(message, param_hint="LOCATION")
    if location is not None:
        return Given({"": location}, source)
    places: dict[str, str] = {}
    for pair in inputs or ():
        name, separator, place = pair.partition("=")
        if not separator or not name or not place:
            message = f"{pair!r} is not NAME=LOCATION, for example social_stream=social.csv"
            raise typer.BadParameter(message, param_hint="--input")
        if name in places:
            message = f"stream {name!r} is given twice: {places[name]} and {place}"
            raise typer.BadParameter(message, param_hint="--input")
        places[name] = place
    return Given(places, source)


def history_of(given: Given, options: MatchOptions) -> tuple[History, bool]:
    """Return history, and whether it is of topics.

    Raises:
        BadParameter: it cannot be what the command line and a statement say.
        UnreadableStreamError: files show no format, or several; or there is no such topic.
    """
    from graphtide_backfill import bootstrap  # noqa: PLC0415 - Spark is an extra

    kinds = {name: _kind(name, place, given.source, options) for name, place in given.places.items()}
    are_topics = "kafka" in kinds.values()
    if are_topics:
        topics = {name: bootstrap.ordered_topic(*topic_of(place, _option(name))) for name, place in given.places.items()}
        return (bootstrap.ordered_topics(topics) if given.names else topics[""]), True
    found = {name: _files(name, place, kinds[name], options) for name, place in given.places.items()}
    return (bootstrap.named_streams(found) if given.names else found[""]), False


def _option(name: str) -> str:
    return "--input" if name else "LOCATION"


def _kind(name: str, location: str, source: str | None, options: MatchOptions) -> str:
    """Return what the history of a stream is: a format of files, or `kafka`.

    Raises:
        BadParameter: it cannot be what the command line and the statement say.
        UnreadableStreamError: the files show no format, or several.
    """
    stated = reading_of(options, None, None).for_stream(name or None).stated_format
    given = None if source is None else choice(source, SOURCES, "--source")
    if options.record_options.stream and (given == "kafka" or options.types):
        what = "types are those of the expressions" if options.types else "an ordered topic has edges already"
        message = f"a STREAM statement reads files, and {what}"
        raise typer.BadParameter(message, param_hint="--type" if options.types else "--source")
    return given or (format_by_names(location) if stated is None else stated.value)


def _files(name: str, location: str, kind: str, options: MatchOptions) -> History:
    from graphtide_backfill import bootstrap  # noqa: PLC0415 - see above

    records = reading_of(options, None, None).for_stream(name or None).record_options
    if records.stream:
        return bootstrap.statement_files(location, records.stream[0], kind)
    return bootstrap.files(location, kind, columns_to_read(options.columns), records.delimiter, options.declared)


def topic_of(text: str, option: str) -> tuple[str, str]:
    """Read `brokers/topic`.

    Raises:
        BadParameter: it is none.
    """
    brokers, separator, topic = text.rpartition("/")
    if not separator or not brokers or not topic:
        message = f"{text!r} is not brokers/topic, for example localhost:9092/graphtide.ordered.flows.v1"
        raise typer.BadParameter(message, param_hint=option)
    return brokers, topic
