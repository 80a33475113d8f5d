"""What a caller did wrong, or cannot have now: RFC 9457 problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import GraphtideError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.errors import InvalidPatternError

Extra = str | int | list[str]


class ProblemError(GraphtideError):
    """An answer other than success.

    Attributes:
        status: of HTTP.
        code: what it is, for programs.
        detail: what it is, for people.
        extra: further members of the document.
        headers: headers of the answer.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        extra: Mapping[str, Extra] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the parts."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})


def no_pattern(name: str) -> ProblemError:
    """Return the problem that a pattern is not registered."""
    return ProblemError(404, "not-found", f"there is no pattern {name!r}")


def invalid_pattern(error: InvalidPatternError) -> ProblemError:
    """Return the problem of a text that is not a pattern, with its place."""
    return ProblemError(422, "invalid-pattern", error.reason, extra=place_of(error))


def place_of(error: InvalidPatternError) -> dict[str, Extra]:
    """Return where a text is wrong and what could be there, as far as that is known."""
    extra: dict[str, Extra] = {}
    if error.line is not None and error.column is not None:
        extra |= {"line": error.line, "column": error.column}
    if error.source_line:
        extra["source_line"] = error.source_line
    if error.expected:
        extra["expected"] = list(error.expected)
    if error.hint:
        extra["hint"] = error.hint
    return extra
