"""Requests to the Kubernetes API, by its official client: each has a deadline, and errors are typed by what to do next.

The token is read from its file for every request: Kubernetes writes a new one long before the old one expires. One that is
refused all the same is read once more. Nothing else is asked again by itself, neither here nor by the client's library, which
would wait for as long as a server says.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.errors import FatalError, TransientError
from kubernetes.client import ApiClient, Configuration
from urllib3 import Retry
from urllib3.exceptions import HTTPError

from graphtide_planner.application.cluster import ConflictError, ThrottledError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from urllib3 import BaseHTTPResponse

    Query = Mapping[str, str]

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"

_THROTTLED_SECONDS: Final = 1.0
"""How long to wait where a server does not say."""

_MOST_THROTTLED_SECONDS: Final = 60.0
_LONGEST_MESSAGE: Final = 500


class MissingError(TransientError):
    """There is no such object."""


class GoneError(TransientError):
    """What was seen is too old to be followed: look anew."""


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """Where the API is, and how to call it.

    Attributes:
        server: URL.
        token: file of the bearer token.
        authorities: file of the certificates that the server's is to be signed by, in PEM.
        timeout_seconds: deadline of a request.
    """

    server: str
    token: Path
    authorities: Path
    timeout_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent; no bit of the answer may take longer than `read_seconds`."""

    method: str
    path: str
    body: object
    query: Query
    kind: str
    read_seconds: float


class Api:
    """The API of one cluster; safe for threads."""

    def __init__(self, address: ApiAddress) -> None:
        """Prepare; nothing is asked yet."""
        configuration = Configuration(host=address.server)
        configuration.ssl_ca_cert = str(address.authorities)
        configuration.retries = Retry(0, redirect=0, respect_retry_after_header=False)
        self._client = ApiClient(configuration)
        self._address = address

    def request(self, method: str, path: str, body: object = None, *, query: Query | None = None, kind: str = JSON) -> bytes:
        """Return the body of the answer.

        Raises:
            ConflictError: the object is not as it was seen.
            MissingError: there is none.
            GoneError: what was seen is too old.
            ThrottledError: later.
            TransientError: no answer, or one of a server in trouble, or the token is not valid any more.
            FatalError: we may not, or the request is wrong.
        """
        return self._asked(_Request(method, path, body, query or {}, kind, self._address.timeout_seconds)).data

    @contextmanager
    def stream(self, path: str, query: Query, read_seconds: float) -> Iterator[BaseHTTPResponse]:
        """Give an answer that comes bit by bit, each within so many seconds; raises as `request`."""
        answer = self._asked(_Request("GET", path, None, query, JSON, read_seconds))
        try:
            yield answer
        finally:
            answer.close()

    def close(self) -> None:
        """Give back the connections."""
        self._client.rest_client.close()

    def _asked(self, request: _Request) -> BaseHTTPResponse:
        answer = self._sent(request)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            # The file may have changed since it was read.
            _rest_of(answer)
            answer = self._sent(request)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise _error(request, answer)
        return answer

    def _sent(self, request: _Request) -> BaseHTTPResponse:
        method, url, headers, content, _ = self._client.param_serialize(
            method=request.method,
            resource_path=request.path,
            query_params=list(request.query.items()),
            header_params={"Accept": JSON, "Content-Type": request.kind, "Authorization": f"Bearer {self._token()}"},
            body=request.body,
        )
        timeout = (self._address.timeout_seconds, request.read_seconds)
        try:
            answer = self._client.call_api(method, url, headers, content, _request_timeout=timeout)
        except HTTPError as error:
            message = f"the Kubernetes API does not answer: {error}"
            raise TransientError(message) from error
        found: BaseHTTPResponse = answer.response
        return found

    def _token(self) -> str:
        """Return the token as it is now.

        Raises:
            FatalError: there is none.
        """
        try:
            return self._address.token.read_text("ascii").strip()
        except OSError as error:
            message = f"there is no token of a service account in {self._address.token}: {error.strerror}"
            raise FatalError(message) from error


class _Status(msgspec.Struct):
    """What the API says of a request that failed."""

    message: str = ""


_STATUS: Final = msgspec.json.Decoder(_Status)
"""Made at once, as threads that make one together crash."""


def _rest_of(answer: BaseHTTPResponse) -> bytes:
    """Return the rest of an answer, so that its connection can be used again."""
    try:
        return answer.data
    except HTTPError:
        return b""
    finally:
        answer.close()


def _error(request: _Request, answer: BaseHTTPResponse) -> Exception:
    try:
        said = _STATUS.decode(_rest_of(answer)).message[:_LONGEST_MESSAGE]
    except msgspec.DecodeError:
        said = answer.reason or ""
    message = f"{request.method} {request.path}: {answer.status}: {said}"
    match answer.status:
        case HTTPStatus.CONFLICT:
            return ConflictError(message)
        case HTTPStatus.NOT_FOUND:
            return MissingError(message)
        case HTTPStatus.GONE:
            return GoneError(message)
        case HTTPStatus.TOO_MANY_REQUESTS:
            return ThrottledError(_seconds(answer.headers.get("Retry-After", "")))
        case HTTPStatus.UNAUTHORIZED:
            return TransientError(message)
        case HTTPStatus.FORBIDDEN:
            return FatalError(f"{message}; the service account needs a Role that allows it")
        case status if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            return FatalError(message)
        case _:
            return TransientError(message)


def _seconds(retry_after: str) -> float:
    """Return how long to wait, by a header in seconds; Kubernetes sends no dates."""
    return min(_MOST_THROTTLED_SECONDS, float(retry_after)) if retry_after.isdigit() else _THROTTLED_SECONDS
