"""A server's control plane, as a client sees it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import quote

import httpx2
import msgspec
from graphtide_core.errors import FatalError, InvalidPatternError, Location, TransientError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

_TIMEOUT: Final = httpx2.Timeout(30.0, connect=5.0)
_PAUSE_SECONDS: Final = 1.0
_SILENCE_SECONDS: Final = 60.0
"""A stream of events that gives no sign of life for so long is dead: the server gives one every quarter of it."""

Json = bool | int | float | str | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is, and what shows who calls: an API key, or a token of the OpenID provider."""

    url: str
    api_key: str | None = None
    token: str | None = None


class Placement(msgspec.Struct, frozen=True):
    """Which plan a pattern has, and who runs it."""

    engine: str
    service: str
    shard: int
    epoch: int


class Figures(msgspec.Struct, frozen=True):
    """What a pattern's host counted."""

    matches: int
    partial_matches: int
    state_bytes: int
    position: int | None
    work: int | None = None


class Limits(msgspec.Struct, frozen=True):
    """Bounds on a pattern's state and work, and what happens at them."""

    partial_matches: int | None
    state_bytes: int | None
    policy: str
    work: int | None = None


class Pattern(msgspec.Struct, frozen=True):
    """A pattern of the server: what was asked, and how it stands."""

    name: str
    version: int
    text: str
    stream: str
    engine: str
    limits: Limits
    wanted: str
    state: str
    reason: str | None
    start: int | None
    updated_at: str
    etag: str
    placement: Placement | None
    figures: Figures | None
    warnings: tuple[str, ...] = ()


class StreamStanding(msgspec.Struct, frozen=True):
    """How far a stream was put in order, and what is odd about it."""

    epoch: int
    watermark: int | None
    newest: int | None
    read: int
    late: int
    future: int
    note: str | None


class _Stream(msgspec.Struct, frozen=True):
    standing: StreamStanding | None


class Event(NamedTuple):
    """A match that was reported: its place, and its record as JSON."""

    place: str
    record: str


class _Problem(msgspec.Struct, frozen=True):
    """A problem document."""

    status: int
    detail: str
    code: str = ""
    line: int | None = None
    column: int | None = None
    source_line: str = ""
    expected: tuple[str, ...] = ()
    hint: str = ""


class _Patterns(msgspec.Struct, frozen=True):
    patterns: list[Pattern]


class Server:
    """Talks to a server. All may raise as `_checked` and, where the server is not reached, `TransientError`."""

    def __init__(self, access: Access) -> None:
        """Prepare; nothing is sent yet."""
        headers = {"X-API-Key": access.api_key} if access.api_key else {}
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        self._url = access.url
        if not access.url.lower().startswith(("http://", "https://")):
            message = f"{access.url!r} is no URL of a server"
            scheme, separator, _ = access.url.partition("://")
            raise FatalError(
                f"{message}: add http://, as in http://{access.url}"
                if not separator
                else f"{message}: {scheme}:// is neither http:// nor https://"
            )
        try:
            self._http = httpx2.Client(base_url=access.url.rstrip("/") + "/api/v1", headers=headers, timeout=_TIMEOUT)
        except (httpx2.InvalidURL, ValueError) as error:
            message = f"{access.url!r} is no URL of a server: {error}"
            raise FatalError(message) from error

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Give back its connections."""
        self._http.close()

    def patterns(self) -> list[Pattern]:
        """Return all patterns, by their names."""
        return msgspec.json.decode(self._send("GET", "/patterns").content, type=_Patterns).patterns

    def pattern(self, name: str) -> Pattern | None:
        """Return a pattern; None if it is not registered."""
        answer = self._request("GET", _path(name))
        return None if answer.status_code == 404 else _pattern(_checked(answer))

    def stream(self, name: str) -> StreamStanding | None:
        """Return how a stream stands; None if nothing of it was put in order, or the server does not tell."""
        answer = self._request("GET", f"/streams/{quote(name, safe='')}")
        return None if answer.status_code == 404 else msgspec.json.decode(_checked(answer).content, type=_Stream).standing

    def register(self, body: dict[str, Json]) -> Pattern:
        """Register a pattern."""
        return _pattern(self._send("POST", "/patterns", body))

    def change(self, seen: Pattern, body: dict[str, Json]) -> Pattern:
        """Change a pattern as it was seen."""
        return _pattern(self._send("PATCH", _path(seen.name), body, {"If-Match": f'"{seen.etag}"'}))

    def act(self, name: str, action: str) -> Pattern:
        """Let a pattern `pause` or `resume`."""
        return _pattern(self._send("POST", f"{_path(name)}:{action}"))

    def delete(self, name: str) -> None:
        """Delete a pattern, whatever it is by now."""
        self._send("DELETE", _path(name), headers={"If-Match": "*"})

    def plan(self, name: str, form: str = "text") -> str | None:
        """Explain a pattern's plan as text, json or dot; None if it has none yet."""
        answer = self._request("GET", f"{_path(name)}/plan?format={form}")
        return None if answer.status_code == 404 else _checked(answer).text

    def follow(self, name: str, after: str | None = None, last: int = 0) -> Iterator[Event]:
        """Yield matches as they are reported; come back by itself where the connection ends.

        Args:
            name: the pattern's.
            after: place after which to begin.
            last: without a place, how many of the newest matches come first.
        """
        while True:
            try:
                for event in self._events(name, after, last):
                    after = event.place
                    yield event
            except TransientError:
                if after is None:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _events(self, name: str, after: str | None, last: int) -> Iterator[Event]:
        headers = {"Last-Event-ID": after} if after else {}
        timeout = httpx2.Timeout(_SILENCE_SECONDS, connect=5.0)
        address = f"{_path(name)}/matches:stream?last={last}"
        with self._reached(), self._http.stream("GET", address, headers=headers, timeout=timeout) as answer:
            if answer.is_error:
                answer.read()
                _checked(answer)
            place = ""
            for line in answer.iter_lines():
                field, _, value = line.partition(": ")
                if field == "id":
                    place = value
                elif field == "data":
                    yield Event(place, value)

    def _send(
        self, method: str, path: str, body: dict[str, Json] | None = None, headers: dict[str, str] | None = None
    ) -> httpx2.Response:
        return _checked(self._request(method, path, body, headers))

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
            raise TransientError(message) from error


def _path(name: str) -> str:
    return f"/patterns/{quote(name, safe='')}"


def _pattern(answer: httpx2.Response) -> Pattern:
    return msgspec.json.decode(answer.content, type=Pattern)


def _checked(answer: httpx2.Response) -> httpx2.Response:
    """Return the answer if it is a success.

    Raises:
        InvalidPatternError: the server says that a text is wrong, and where.
        TransientError: it cannot serve now.
        FatalError: it refuses.
    """
    if not answer.is_error:
        return answer
    try:
        problem = msgspec.json.decode(answer.content, type=_Problem)
    except msgspec.DecodeError as error:
        message = f"the server answered {answer.status_code}, and not as a graphtide server does"
        raise FatalError(message) from error
    if problem.code == "invalid-pattern":
        place = Location(problem.line, problem.column or 1) if problem.line is not None else None
        raise InvalidPatternError(
            problem.detail, place, source_line=problem.source_line, expected=problem.expected, hint=problem.hint
        )
    message = f"the server says {problem.status}: {problem.detail}"
    raise TransientError(message) if problem.status in {429, 503} else FatalError(message)
