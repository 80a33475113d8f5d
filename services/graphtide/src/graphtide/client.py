"""A client of a server: patterns are registered, edges go in, matches come out.

All words are the server's own: docs/reference/http.md and ingestion.md have the states, places and codes of problems.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

import msgspec
from graphtide_core.time import TimeUnit
from graphtide_query import parse_streams, print_pattern

from graphtide.readers.times import ticks
from graphtide.sending import Sending, line_of
from graphtide.server import Access, Server
from graphtide.server_errors import NOT_FOUND, NotFoundError
from graphtide.server_types import MatchAt, MatchRecord, Results
from graphtide.stream import Stream as StreamStatement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.edge import Edge
    from graphtide_native.spec import Limits
    from graphtide_wire.bodies.partial_matches import PartialMatchesPage

    from graphtide.sending import Edges, Sent
    from graphtide.server import Json
    from graphtide.server_types import AttributeSchema, DeadLetterAt, Pattern, Stream, StreamDetails, StreamSchema

URL: Final = "http://localhost:8080"
"""Where `graphtide dev up` serves."""

_BETWEEN_LOOKS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Description:
    """All that a server says of a pattern.

    Attributes:
        pattern: what was registered, and its status.
        plan: the plan as text; None if it has none yet.
        stream: its stream, and how far that was put in order; None if there is none yet.
        behind: edges that wait for it; None if no matcher runs it.
    """

    pattern: Pattern
    plan: str | None
    stream: StreamDetails | None
    behind: int | None


class Client:
    """A server's client. A context manager: leaving its block closes it. Several threads may use it.

    What the server refuses is a `ServerError` with its `code`; see `graphtide.server_errors` for the kinds. A server that is
    not reached, or cannot serve now, is an `UnavailableError`.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        token: str | None = None,
        edges_url: str | None = None,
        time_unit: TimeUnit | str = TimeUnit.MILLISECOND,
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            url: of the control plane.
            api_key: shows the caller.
            token: the same, of an OpenID Connect provider.
            edges_url: of ingestion, where that is another address; `graphtide dev up` has both under one.
            time_unit: what times of streams count, for edges whose time is a `datetime` or a text.

        Raises:
            FatalError: that is not a URL.
            ValueError: there is no such unit.
        """
        self._unit = TimeUnit(time_unit)
        self._server = Server(Access(url, api_key, token))
        self._edges = self._server if edges_url is None else Server(Access(edges_url, api_key, token))

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Give back its connections."""
        self._server.close()
        self._edges.close()

    def register(
        self,
        pattern: str | AnyPattern,
        *,
        engine: str | None = None,
        limits: Limits | None = None,
        state: str | None = None,
    ) -> Pattern:
        """Register a pattern; its matches are reported from the end of its stream on.

        Args:
            pattern: text of one pattern, or a parsed one.
            engine: name of an engine; the server's choice if not given.
            limits: bounds on its state and work; the server's if not given.
            state: `active` or `paused`.

        Raises:
            RefusedPatternError: the text is wrong.
            RefusedError: there is a pattern of this name (`exists`), or it cannot be as asked.
        """
        return self._server.register(_body(pattern, engine, limits, state))

    def change(
        self,
        pattern: str | Pattern,
        *,
        text: str | AnyPattern | None = None,
        engine: str | None = None,
        limits: Limits | None = None,
        state: str | None = None,
    ) -> Pattern:
        """Change what is given of a pattern: as it was seen, or, by its name, its current version.

        Raises:
            NotFoundError: there is none.
            RefusedPatternError: the text is wrong.
            RefusedError: it has changed since it was seen (`precondition-failed`), or it cannot be as asked.
        """
        body = _body(text, engine, limits, state)
        return self._server.change_any(pattern, body) if isinstance(pattern, str) else self._server.change(pattern, body)

    def patterns(self, stream: str | None = None) -> list[Pattern]:
        """Return all patterns, or those on one stream, by their names."""
        return self._server.patterns(stream)

    def get(self, name: str) -> Pattern:
        """Return a pattern and its status.

        Raises:
            NotFoundError: there is none.
        """
        found = self._server.pattern(name)
        if found is None:
            raise NotFoundError(NOT_FOUND, f"the server has no pattern {name!r}")
        return found

    def describe(self, name: str) -> Description:
        """Return all that the server says of a pattern. Raises as `get`."""
        pattern = self.get(name)
        return Description(pattern, self._server.plan(name), self._server.stream(pattern.stream), self._server.behind(name))

    def plan(self, name: str, format: str = "text") -> str | None:
        """Return the plan that a pattern has, as `text`, `json` or `dot`; None if it has none. Raises as `get`."""
        self.get(name)
        return self._server.plan(name, format)

    def pause(self, name: str) -> Pattern:
        """Pause a pattern; matches that complete meanwhile are never reported. Raises as `get`."""
        return self._server.act(name, "pause")

    def resume(self, name: str) -> Pattern:
        """Let a pattern continue from now. Raises as `get`."""
        return self._server.act(name, "resume")

    def delete(self, pattern: str | Pattern, *, force: bool = False) -> None:
        """Delete a pattern: as it was seen, or, by its name, its current version; reported matches stay.

        Args:
            pattern: the pattern, or its name.
            force: delete a view that patterns read; they fail then.

        Raises:
            NotFoundError: there is none.
            RefusedError: it has changed since it was seen (`precondition-failed`), or patterns read it (`view-in-use`).
        """
        if isinstance(pattern, str):
            self._server.delete(pattern, force=force)
        else:
            self._server.delete(pattern.name, pattern.etag, force=force)

    def wait(self, name: str, state: str = "running", seconds: float = 60.0) -> Pattern:
        """Return a pattern as soon as it is in a state. Raises as `get`, and TimeoutError where it is not in time."""
        deadline = time.monotonic() + seconds
        while (pattern := self.get(name)).state != state:
            if pattern.state == "failed" or time.monotonic() > deadline:
                reason = "" if pattern.reason is None else f": {pattern.reason}"
                message = f"{name} is {pattern.state}{reason}, not {state}"
                raise TimeoutError(message)
            time.sleep(_BETWEEN_LOOKS)
        return pattern

    def streams(self) -> list[Stream]:
        """Return all streams, by their names."""
        return self._server.streams()

    def stream(self, name: str) -> StreamDetails:
        """Return a stream, its statement, and how far it was put in order.

        Raises:
            NotFoundError: there is none.
        """
        found = self._server.stream(name)
        if found is None:
            raise NotFoundError(NOT_FOUND, f"the server has no stream {name!r}")
        return found

    def put_stream(self, statement: StreamStatement | str) -> StreamDetails:
        """Register the STREAM statement of a stream, or replace it: how its records become edges and events from now on.

        Another text is a new version; the same text changes nothing. The stream is made if it is not there.

        Args:
            statement: it names its stream; a `graphtide.Stream`, or a text, whose comments are kept.

        Returns:
            The stream with its statement.

        Raises:
            InvalidPatternError: the text is not one statement; with line, column and a hint.
            RefusedError: the server refuses it, with the reason.
        """
        stream = statement if isinstance(statement, StreamStatement) else StreamStatement(statement)
        is_whole = isinstance(statement, str) and parse_streams(statement) == (stream.definition,)
        return self._server.put_stream(stream.name, statement if isinstance(statement, str) and is_whole else str(stream))

    def delete_statement(self, stream: str) -> None:
        """Delete the STREAM statement of a stream: from the next record on, records are read as the edges that they are.

        Raises:
            NotFoundError: it has none.
        """
        self._server.delete_statement(stream)

    def schema(self, stream: str) -> dict[str, AttributeSchema]:
        """Return what is known of a stream's attributes, by their names; empty where there is nothing, or no stream."""
        return _by_name(self._server.schema(stream))

    def declare(self, stream: str, types: Mapping[str, str]) -> dict[str, AttributeSchema]:
        """Declare types of a stream's attributes: an edge with a value of another type becomes a dead letter.

        Args:
            stream: its name; it need not be there yet.
            types: `string`, `integer`, `number` or `boolean` by attribute, in place of all that was declared before.

        Returns:
            What is known from now on, as `schema` does.

        Raises:
            RefusedError: there is no such type, or the name is a record's own field (`reserved-attribute`).
        """
        return _by_name(self._server.declare(stream, dict(types)))

    def delete_stream(self, name: str) -> None:
        """Delete a stream with all its edges and dead letters; matches that were reported stay.

        Raises:
            NotFoundError: there is none.
            RefusedError: a pattern reads it (`stream-in-use`).
        """
        self._server.delete_stream(name)

    def matches(self, name: str, *, after: str | None = None, last: int = 0) -> Iterator[MatchAt]:
        """Return matches as they are reported, without end; after a break of the connection it continues where it was.

        Args:
            name: the pattern's.
            after: place of a match seen before, after which to begin.
            last: without a place, how many of the newest matches come first, up to 1,000.

        Raises:
            NotFoundError: there is no such pattern.
            RefusedError: that is not a place, or the like; while iterating.
            UnavailableError: the server is not reached before the first match.
        """
        self.get(name)
        return self._followed(name, after, last)

    def newest_matches(self, name: str, most: int = 100) -> list[MatchAt]:
        """Return the newest matches and retractions of all versions of a pattern, the newest first. Raises as `get`."""
        return list(self._server.matches(name, most))

    def partial_matches(
        self, name: str, *, vertex: str | None = None, min_steps: int = 1, most: int = 100
    ) -> PartialMatchesPage:
        """Return the partial matches of a pattern that are nearest to completion, and how many there are by step of its plan.

        Args:
            name: the pattern's.
            vertex: a data vertex that they bind; any if not given.
            min_steps: query edges that they bind at least.
            most: of them, up to 1,000.

        Raises:
            NotFoundError: there is no such pattern, or the server shows no partial matches (`no-partial-matches`).
            UnavailableError: the server is not reached, or the Redis of the views does not answer.
        """
        return self._server.partial_matches(name, vertex, min_steps, most)

    def results(self, name: str, at: int | str | datetime | None = None, *, version: int | None = None) -> Results:
        """Return the results of a streaming graph query that are valid at an instant.

        Args:
            name: the query's.
            at: ticks of the stream, or a date and time, which the server reads where it is a text. If not given, it is now, as
                far as the query has read.
            version: of the query; that which is registered if not given.

        Raises:
            NotFoundError: there is no such query, or no such version.
            RefusedError: the pattern is not a graph query (`no-graph-query`), or not a time of its stream (`invalid-time`).
            UnavailableError: the server is not reached, or works out too many of these at once.
            ValueError: the `datetime` is not a whole number of ticks.
        """
        asked = None if at is None else str(ticks(at, self._unit) if isinstance(at, datetime) else at)
        pages = list(self._server.results(name, asked, version))
        first, last = pages[0], pages[-1]
        return Results(
            first.version,
            first.at,
            last.read_to,
            [msgspec.json.decode(each, type=MatchRecord) for page in pages for each in page.results],
            complete=all(page.complete for page in pages),
            notes=tuple(dict.fromkeys(note for page in pages for note in page.notes)),
        )

    def dead_letters(self, stream: str | None = None, most: int = 100) -> list[DeadLetterAt]:
        """Return the newest records that could not be used, of one stream or of each, the newest of each stream first."""
        return list(self._server.dead_letters(stream, most))

    def send(
        self,
        stream: str,
        edges: Edges,
        *,
        producer: str | None = None,
        idempotency_key: str | None = None,
        patience: float = 30.0,
        wait_ordered: float | None = None,
    ) -> Sent:
        """Send edges, or one, in requests of some thousand; return when the log keeps them.

        A request is sent when its edges are there: of a source that is slow, send what there is. An edge that could not be used
        costs its neighbours nothing. If an error ends it, edges that have ids may all be sent again, because those that the log
        has are dropped. Send others again with the `idempotency_key` that they were sent with.

        Args:
            stream: its name.
            edges: edges, dictionaries, named tuples or dataclasses, as `graphtide.match` takes them.
            producer: name of the sender; its edges keep their order, and have a watermark of their own.
            idempotency_key: a name for these edges in this order; requests that were answered within the last ten minutes are
                not done again.
            patience: seconds to keep trying while the server answers that it gets too much at once and took nothing.
            wait_ordered: seconds, up to 60, that each request waits until its edges are put in order; `Sent.ordering` says
                then what became of them. By default no request waits.

        Raises:
            EdgesRejectedError: there were edges, and none could be used.
            ServerError: a request was not done, those before it were; a note of the error says how many edges were kept.
            TypeError: those are not edges.
        """
        headers = {} if producer is None else {"Graphtide-Producer": producer}
        sending = Sending(
            self._edges,
            stream,
            self._unit,
            headers=headers,
            key=idempotency_key,
            patience=patience,
            wait_ordered=wait_ordered,
        )
        return sending.send_all(edges)

    def replay(self, letter: DeadLetterAt, edge: Edge | Mapping[str, object] | None = None) -> None:
        """Send a dead letter again, from its own producer: an edge in its place, or the letter as it was.

        The letter stays where it is. Where the edge has an id and the log has it already, it is dropped.

        Raises:
            EdgesRejectedError: that cannot be used either.
            NotFoundError: the letter is no longer there (`unknown-letter`).
            RefusedError: a line of CSV cannot be sent as it was (`columns-unknown`).
            TypeError: that is not an edge.
        """
        self._edges.replay(letter.stream, letter.place, b"" if edge is None else line_of(edge, self._unit))

    def _followed(self, name: str, after: str | None, last: int) -> Iterator[MatchAt]:
        with contextlib.closing(self._server.follow(name, after, last)) as events:
            for event in events:
                yield MatchAt(event.place, event.match)


def _by_name(schema: StreamSchema) -> dict[str, AttributeSchema]:
    return {attribute.name: attribute for attribute in schema.attributes}


def _body(text: str | AnyPattern | None, engine: str | None, limits: Limits | None, state: str | None) -> dict[str, Json]:
    body: dict[str, Json] = {}
    if text is not None:
        body["text"] = text if isinstance(text, str) else print_pattern(text)
    if engine is not None:
        body["engine"] = engine
    if limits is not None:
        bounds = {name: getattr(limits, name) for name in ("partial_matches", "state_bytes", "policy", "work")}
        body["limits"] = {name: value for name, value in bounds.items() if value is not None}
    if state is not None:
        body["state"] = state
    return body
