"""HTTP bodies of answers to sent edges."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from graphtide_wire.bodies import MAY_BE_LEFT_OUT, Body


class RejectedEdge(Body, frozen=True):
    """A rejected edge: its line in the body, or its place in a batch of events."""

    schema: ClassVar[str | None] = "RefusedEdge"

    line: int | None
    code: str
    reason: str


class SentPage(Body, frozen=True):
    """How many edges the log keeps, how many were rejected, and the first of those.

    `created` says that the stream was made for these edges; `similar` names streams that are called much the same.
    """

    schema: ClassVar[str | None] = "Accepted"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "accepted": 1,
            "rejected": 1,
            "errors": [{"line": 2, "code": "malformed", "reason": 'ts "x" is not an integer'}],
        },
        {"accepted": 2, "rejected": 0, "errors": [], "created": True, "similar": ["flows"]},
    )

    accepted: int
    rejected: int
    errors: list[RejectedEdge]
    created: Annotated[bool, MAY_BE_LEFT_OUT] = False
    similar: Annotated[tuple[str, ...], MAY_BE_LEFT_OUT] = ()
