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


class RejectionsByCode(Body, frozen=True):
    """How many edges were rejected for one reason, and the first of them."""

    code: str
    count: int
    line: int | None
    reason: str


class OrderedVerdict(Body, frozen=True):
    """What became of the edges when they were put in order: how many of them went out, and how many did not, and why.

    `replaced` are those of the `ordered` ones that replaced what had their id. `rejected` could not be used for another reason
    than that they were `late`. `errors` has the first of both.
    """

    ordered: int
    replaced: int
    duplicates: int
    late: int
    rejected: int
    errors: tuple[RejectedEdge, ...] = ()


class SentPage(Body, frozen=True):
    """How many edges the log keeps, how many were rejected, and the first of those.

    `reasons` counts rejected edges by their codes. `filtered` are records that are not of the stream, as its statement says.
    `created` says that the stream was made for these edges; `similar` names streams that are called much the same. With
    `?wait=ordered`, `ordering` says what became of the edges; it is null where that is not known, and `note` says why.
    """

    schema: ClassVar[str | None] = "Accepted"
    examples: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "accepted": 1,
            "rejected": 1,
            "errors": [{"line": 2, "code": "malformed", "reason": 'ts "x" is not an integer'}],
            "reasons": [{"code": "malformed", "count": 1, "line": 2, "reason": 'ts "x" is not an integer'}],
        },
        {"accepted": 2, "rejected": 0, "errors": [], "created": True, "similar": ["flows"]},
    )

    accepted: int
    rejected: int
    errors: list[RejectedEdge]
    reasons: Annotated[tuple[RejectionsByCode, ...], MAY_BE_LEFT_OUT] = ()
    filtered: Annotated[int, MAY_BE_LEFT_OUT] = 0
    ordering: Annotated[OrderedVerdict | None, MAY_BE_LEFT_OUT] = None
    note: Annotated[str | None, MAY_BE_LEFT_OUT] = None
    created: Annotated[bool, MAY_BE_LEFT_OUT] = False
    similar: Annotated[tuple[str, ...], MAY_BE_LEFT_OUT] = ()
