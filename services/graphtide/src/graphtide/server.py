"""A server's control plane, as its routes have it; `graphtide.Client` is made of this."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import quote, urlencode

import httpx2
import msgspec
from graphtide_core.errors import FatalError, TransientError
from graphtide_wire.bodies.matches import MatchesPage, ResultsPage
from graphtide_wire.bodies.partial_matches import PartialMatchesPage
from graphtide_wire.bodies.patterns import Pattern, PatternsPage, PatternStatistics
from graphtide_wire.bodies.sent import SentPage
from graphtide_wire.bodies.streams import Stream, StreamDetails, StreamSchema, StreamsPage

from graphtide.server_errors import ALL_REJECTED, UNREACHABLE, UnavailableError, error_of
from graphtide.server_types import DeadLetterAt, DeadLettersPage, Event, MatchAt, MatchRecord

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from types import TracebackType

_TIMEOUT_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 5.0
_TIMEOUT: Final = httpx2.Timeout(_TIMEOUT_SECONDS, connect=_CONNECT_SECONDS)
_PAUSE_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 60.0
"""A stream of events that gives no sign of life for so long is dead: the server gives one every quarter of it."""

_LONGEST_PAGE: Final = 1_000
_RESULTS_OF_A_PAGE: Final = 10_000

_Page = TypeVar("_Page", PatternsPage, MatchesPage, ResultsPage, DeadLettersPage)

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is, and what shows the caller: an API key, or a token of the OpenID provider."""

    url: str
    api_key: str | None = None
    token: str | None = None


class Server:
    """Talks to a server. All may raise as `_check` and, where the server is not reached, `UnavailableError`."""

    def __init__(self, access: Access) -> None:
        """Prepare; nothing is sent yet."""
        headers = {"X-API-Key": access.api_key} if access.api_key else {}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        self._url = access.url
        if not access.url.lower().startswith(("http://", "https://")):
            message = f"{access.url!r} is not a URL of a server"
            scheme, separator, _ = access.url.partition("://")
            raise FatalError(
                f"{message}: add http://, as in http://{access.url}"
                if not separator
                else f"{message}: {scheme}:// is neither http:// nor https://"
            )
        try:
            self._http = httpx2.Client(base_url=access.url.rstrip("/") + "/api/v1", headers=headers, timeout=_TIMEOUT)
        except (httpx2.InvalidURL, ValueError) as error:
            message = f"{access.url!r} is not a URL of a server: {error}"
            raise FatalError(message) from error

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Give back its connections."""
        self.close()

    def close(self) -> None:
        """Give back its connections."""
        self._http.close()

    def patterns(self, stream: str | None = None) -> list[Pattern]:
        """Return all patterns, or those on one stream, by their names."""
        asked = {} if stream is None else {"stream": stream}
        return [each for page in self._pages("/patterns", asked, PatternsPage) for each in page.patterns]

    def pattern(self, name: str) -> Pattern | None:
        """Return a pattern; None if it is not registered."""
        answer = self._request("GET", _path(name))
        # The address of a name such as `p:pause` is that of an action, so no pattern is registered under it.
        is_missing = answer.status_code == 404 or (answer.status_code == 405 and ":" in name)
        return None if is_missing else _pattern(_check(answer))

    def stream(self, name: str) -> StreamDetails | None:
        """Return a stream, its progress and its statement; None if the stream is unknown."""
        answer = self._request("GET", _stream_path(name))
        return None if answer.status_code == 404 else msgspec.json.decode(_check(answer).content, type=StreamDetails)

    def put_stream(self, name: str, text: str) -> StreamDetails:
        """Register the STREAM statement of a stream, or replace it."""
        answer = self._send("PUT", _stream_path(name), {"text": text})
        return msgspec.json.decode(answer.content, type=StreamDetails)

    def delete_statement(self, stream: str) -> None:
        """Delete the STREAM statement of a stream."""
        self._send("DELETE", f"{_stream_path(stream)}/statement")

    def streams(self) -> list[Stream]:
        """Return all streams, by their names."""
        return msgspec.json.decode(self._send("GET", "/streams").content, type=StreamsPage).streams

    def schema(self, stream: str) -> StreamSchema:
        """Return what is known of a stream's attributes."""
        return msgspec.json.decode(self._send("GET", f"{_stream_path(stream)}/schema").content, type=StreamSchema)

    def declare(self, stream: str, types: dict[str, Json]) -> StreamSchema:
        """Declare types of attributes, in place of those declared before."""
        answer = self._send("PUT", f"{_stream_path(stream)}/schema", {"attributes": types})
        return msgspec.json.decode(answer.content, type=StreamSchema)

    def delete_stream(self, name: str) -> None:
        """Delete a stream with all its edges."""
        self._send("DELETE", _stream_path(name))

    def behind(self, name: str) -> int | None:
        """Return how many edges wait for a pattern; None if no matcher runs it."""
        return msgspec.json.decode(self._send("GET", f"{_path(name)}/statistics").content, type=PatternStatistics).behind

    def matches(self, name: str, most: int) -> Iterator[MatchAt]:
        """Yield the newest matches, the newest first."""
        asked = {"limit": str(min(most, _LONGEST_PAGE))}
        found = (each for page in self._pages(f"{_path(name)}/matches", asked, MatchesPage) for each in page.matches)
        read = (MatchAt(each.place, msgspec.json.decode(each.match, type=MatchRecord)) for each in found)
        return islice(read, most)

    def partial_matches(self, name: str, vertex: str | None, min_steps: int, most: int) -> PartialMatchesPage:
        """Return the partial matches of a pattern that are nearest to completion."""
        asked = {"min_steps": str(min_steps), "limit": str(most)} | ({} if vertex is None else {"vertex": vertex})
        answer = self._send("GET", f"{_path(name)}/partial-matches?{urlencode(asked)}")
        return msgspec.json.decode(answer.content, type=PartialMatchesPage)

    def results(self, name: str, at: str | None, version: int | None) -> Iterator[ResultsPage]:
        """Yield the results that are valid at an instant, page by page."""
        asked = {} if at is None else {"at": at}
        asked |= {} if version is None else {"version": str(version)}
        return self._pages(f"{_path(name)}/results", asked | {"limit": str(_RESULTS_OF_A_PAGE)}, ResultsPage)

    def dead_letters(self, stream: str | None, most: int) -> Iterator[DeadLetterAt]:
        """Yield the newest records that could not be used, of one stream or of each, the newest first."""
        asked = {"limit": str(min(most, _LONGEST_PAGE)), **({} if stream is None else {"stream": stream})}
        found = (each for page in self._pages("/dead-letters", asked, DeadLettersPage) for each in page.dead_letters)
        return islice(found, most)

    def send(self, stream: str, lines: bytes, headers: dict[str, str], wait_ordered: float | None = None) -> SentPage:
        """Send edges as JSON Lines, and wait for their ordering for some seconds, if any are given.

        An answer that no edge could be used is a page of errors, as for some edges.
        """
        asked = "" if wait_ordered is None else f"?wait=ordered&wait_seconds={wait_ordered:g}"
        answer = self._post(
            f"{_stream_path(stream)}/edges{asked}",
            lines,
            {"Content-Type": "application/x-ndjson", **headers},
            _TIMEOUT_SECONDS + (wait_ordered or 0.0),
        )
        if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY and error_of(answer).code == ALL_REJECTED:
            return msgspec.json.decode(answer.content, type=SentPage)
        return msgspec.json.decode(_check(answer).content, type=SentPage)

    def replay(self, stream: str, place: str, edge: bytes) -> None:
        """Send JSON of an edge in place of a dead letter, or the letter as it was where that is empty."""
        headers = {"Content-Type": "application/json"} if edge else {}
        _check(self._post(f"/dead-letters/{quote(stream, safe='')}/{place}:replay", edge, headers))

    def register(self, body: dict[str, Json]) -> Pattern:
        """Register a pattern."""
        return _pattern(self._send("POST", "/patterns", body))

    def change(self, seen: Pattern, body: dict[str, Json]) -> Pattern:
        """Change a pattern as it was seen."""
        return _pattern(self._send("PATCH", _path(seen.name), body, {"If-Match": f'"{seen.etag}"'}))

    def change_any(self, name: str, body: dict[str, Json]) -> Pattern:
        """Change a pattern in its current version."""
        return _pattern(self._send("PATCH", _path(name), body, {"If-Match": "*"}))

    def act(self, name: str, action: str) -> Pattern:
        """Let a pattern `pause` or `resume`."""
        return _pattern(self._send("POST", f"{_path(name)}:{action}"))

    def delete(self, name: str, etag: str | None = None, *, force: bool = False) -> None:
        """Delete a pattern, as it was seen or in its current version; a view that others read with `force` alone."""
        self._send(
            "DELETE",
            f"{_path(name)}?force=true" if force else _path(name),
            headers={"If-Match": "*" if etag is None else f'"{etag}"'},
        )

    def plan(self, name: str, form: str = "text") -> str | None:
        """Explain a pattern's plan as text, json or dot; None if it has none yet."""
        answer = self._request("GET", f"{_path(name)}/plan?format={form}")
        return None if answer.status_code == 404 else _check(answer).text

    def _pages(self, path: str, asked: dict[str, str], kind: type[_Page]) -> Iterator[_Page]:
        """Yield the pages of a list."""
        cursor = None
        while True:
            with self._reached():
                answer = self._http.get(path, params=asked if cursor is None else {**asked, "cursor": cursor})
            page = msgspec.json.decode(_check(answer).content, type=kind)
            yield page
            if page.next is None:
                return
            cursor = page.next

    def follow(self, name: str, after: str | None = None, last: int = 0) -> Generator[Event, None, None]:
        """Yield matches as they are reported; come back by itself where the connection ends.

        Args:
            name: the pattern's.
            after: place after which to begin.
            last: without a place, how many of the newest matches come first.
        """
        while True:
            try:
                for event in self._events(f"{_path(name)}/matches:stream?last={last}", after):
                    after = event.place
                    yield event
            except TransientError:
                if after is None:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def follow_partial_matches(self, name: str, vertex: str | None, min_steps: int | None) -> Generator[Event, None, None]:
        """Yield partial matches as they come close, as JSON; come back by itself where the connection ends.

        Those that were close before come first, also where the connection ended.
        """
        asked = ({} if vertex is None else {"vertex": vertex}) | ({} if min_steps is None else {"min_steps": str(min_steps)})
        address = f"{_path(name)}/partial-matches:stream" + (f"?{urlencode(asked)}" if asked else "")
        has_begun = False
        while True:
            try:
                for event in self._events(address):
                    has_begun = True
                    yield event
            except TransientError:
                if not has_begun:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _events(self, address: str, after: str | None = None) -> Iterator[Event]:
        headers = {"Last-Event-ID": after} if after else {}
        timeout = httpx2.Timeout(_SILENCE_SECONDS, connect=5.0)
        with self._reached(), self._http.stream("GET", address, headers=headers, timeout=timeout) as answer:
            if answer.is_error:
                answer.read()
                _check(answer)
            place = ""
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "id":
                    place = value
                elif field == "data":
                    yield Event(place, value)

    def _post(self, path: str, body: bytes, headers: dict[str, str], seconds: float = _TIMEOUT_SECONDS) -> httpx2.Response:
        with self._reached():
            timeout = httpx2.Timeout(seconds, connect=_CONNECT_SECONDS)
            return self._http.post(path, content=body, headers=headers, timeout=timeout)

    def _send(
        self, method: str, path: str, body: dict[str, Json] | None = None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        return _check(self._request(method, path, body, headers))

    def _request(
        self, method: str, path: str, body: dict[str, Json] | None = None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        with self._reached():
            return self._http.request(method, path, json=body, headers=headers)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Raise that the server is not reached where it is not."""
        try:
            yield
        except httpx2.TransportError as error:
            message = f"the server {self._url} cannot be reached: {str(error) or type(error).__name__}"
            raise UnavailableError(UNREACHABLE, message) from error


def _path(name: str) -> str:
    return f"/patterns/{quote(name, safe='')}"


def _stream_path(name: str) -> str:
    return f"/streams/{quote(name, safe='')}"


def _pattern(answer: httpx2.Response) -> Pattern:
    return msgspec.json.decode(answer.content, type=Pattern)


def _check(answer: httpx2.Response) -> httpx2.Response:
    """Return the answer if it is a success.

    Raises:
        RefusedPatternError: the server says that a text is wrong, and where.
        UnavailableError: it cannot serve now.
        RefusedError: it refuses.
    """
    if answer.is_error:
        raise error_of(answer)
    return answer
