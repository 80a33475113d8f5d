"""What a server refuses or cannot do, as errors.

ServerError                  all of them: `code`, `status`, `detail` and `problem` say what the server said
├── RefusedError             the same request will be refused again
│   ├── NotFoundError        what it is about is not there
│   └── EdgesRejectedError   none of the edges sent could be used
├── RefusedPatternError      the text of a pattern or statement is wrong, and where; also an `InvalidPatternError`
└── UnavailableError         the same request may succeed later; the server may not have been reached at all

Codes are those of the problem documents of docs/reference/http.md and ingestion.md. Those that no server said are `unreachable`
and `not-graphtide`.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from graphtide_core.errors import FatalError, GraphtideError, InvalidPatternError, Location, TransientError

from graphtide.server_types import RejectedEdge

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2


ALL_REJECTED: Final = "all-rejected"
"""Code of a request without a usable edge."""

NOT_FOUND: Final = "not-found"
MALFORMED: Final = "malformed"
UNREACHABLE: Final = "unreachable"
NOT_GRAPHTIDE: Final = "not-graphtide"

_LATER: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


class ServerError(GraphtideError):
    """A server did not do what it was asked to.

    Attributes:
        code: what is wrong, for programs.
        detail: what is wrong, for people.
        status: of the answer; None without an answer.
        problem: the problem document; empty without one.
        retry_after: seconds after which to ask again, if the server says so.
    """

    code: str
    detail: str
    status: int | None
    problem: Mapping[str, Any]
    retry_after: float | None

    def __init__(
        self,
        code: str,
        detail: str,
        status: int | None = None,
        problem: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        """Keep the parts; the text has status and detail."""
        super().__init__(detail if status is None else f"the server says {status}: {detail}")
        self._keep(code, detail, status, problem, retry_after)

    def _keep(
        self,
        code: str,
        detail: str,
        status: int | None,
        problem: Mapping[str, Any] | None,
        retry_after: float | None,
    ) -> None:
        self.code = code
        self.detail = detail
        self.status = status
        self.problem = dict(problem or {})
        self.retry_after = retry_after


class RefusedError(ServerError, FatalError):
    """The same request will be refused again: `code` says why."""


class NotFoundError(RefusedError):
    """What the request is about is not there."""


class EdgesRejectedError(RefusedError):
    """None of the edges that were sent could be used."""

    @property
    def errors(self) -> list[RejectedEdge]:
        """The first edges that were rejected."""
        return msgspec.convert(self.problem["errors"], list[RejectedEdge])


class UnavailableError(ServerError, TransientError):
    """The server cannot serve now, or is not reached. Whether a change holds is not known."""


_OF_TEXTS: Final = frozenset({"invalid-pattern", "invalid-statement"})
"""Codes of problems that have a place in a text."""


class RefusedPatternError(ServerError, InvalidPatternError):
    """The server says that the text of a pattern or statement is wrong, and where."""

    def __init__(self, detail: str, status: int, problem: Mapping[str, Any]) -> None:
        """Keep the parts; the text points at the place."""
        line = problem.get("line")
        place = Location(line, problem.get("column") or 1) if isinstance(line, int) else None
        InvalidPatternError.__init__(
            self,
            detail,
            place,
            source_line=problem.get("source_line") or "",
            expected=tuple(problem.get("expected") or ()),
            hint=problem.get("hint") or "",
        )
        self._keep(str(problem.get("code")), detail, status, problem, None)

    __str__ = InvalidPatternError.__str__


class _Problem(msgspec.Struct, frozen=True):
    """The members that every problem document has."""

    status: int
    detail: str
    code: str = ""


def error_of(answer: httpx2.Response) -> ServerError:
    """Return the error that an answer is; the answer was read whole."""
    try:
        known = msgspec.json.decode(answer.content, type=_Problem)
        document: dict[str, Any] = msgspec.json.decode(answer.content)
    except msgspec.DecodeError:
        detail = f"the server answered {answer.status_code}, and not as a graphtide server does"
        return RefusedError(NOT_GRAPHTIDE, detail)
    if known.code in _OF_TEXTS:
        return RefusedPatternError(known.detail, known.status, document)
    after = answer.headers.get("retry-after", "")
    seconds = float(after) if after.isascii() and after.isdigit() else None
    if known.status in _LATER:
        kind: type[ServerError] = UnavailableError
    elif known.code == ALL_REJECTED:
        kind = EdgesRejectedError
    else:
        kind = NotFoundError if known.status == HTTPStatus.NOT_FOUND else RefusedError
    return kind(known.code, known.detail, known.status, document, seconds)
