"""What a sender of edges is answered: what was kept, what was rejected, and what ordering did if the sender waited for that."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec
from fastapi.responses import JSONResponse
from graphtide_serving.http import ProblemError
from graphtide_wire.bodies.sent import OrderedVerdict, RejectedEdge, RejectionsByCode

if TYPE_CHECKING:
    from fastapi import Response
    from graphtide_ordering.raw_decoding import Refused
    from graphtide_wire.verdicts import VerdictRecord

    from graphtide_ingestion.application.receiving import NewStream

_NOT_KNOWN: Final = (
    "the log keeps the edges, and they were not all ordered within wait_seconds: they wait for the watermark, or the sequencer "
    "has just started again or is another program"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a sender whose body was read: the document of status 202, or that no edge of it could be used.

    If the sender waited for the ordering of its edges, the status is 200 where that is known.

    Attributes:
        accepted: edges that the log keeps.
        rejected: edges that were rejected.
        errors: the first of those.
        reasons: how many were rejected for each reason, and the first of each.
        filtered: records that are not of the stream, as its statement says.
        new: the stream, if it is made for these edges.
        waited: whether the sender waited.
        verdict: what ordering did with the edges; None if that is not known.
    """

    accepted: int
    rejected: int
    errors: tuple[Refused, ...]
    reasons: tuple[tuple[int, Refused], ...] = ()
    filtered: int = 0
    new: NewStream | None = None
    waited: bool = False
    verdict: VerdictRecord | None = None

    def response(self) -> Response:
        """Return the answer."""
        errors = [{"line": each.line, "code": each.code.value, "reason": each.reason} for each in self.errors]
        document = {"accepted": self.accepted, "rejected": self.rejected, "errors": errors, **describe_new_stream(self.new)}
        reasons = [RejectionsByCode(first.code.value, count, first.line, first.reason) for count, first in self.reasons]
        document |= {"reasons": msgspec.to_builtins(reasons)} if reasons else {}
        document |= {"filtered": self.filtered} if self.filtered else {}
        document |= self._ordering()
        if self.rejected and not self.accepted:
            edges = f"all {self.rejected:,} edges" if self.rejected > 1 else "the only edge"
            became = "became dead letters" if self.rejected > 1 else "became a dead letter"
            if self.new is not None and not self.new.is_there:
                became = "cannot be used, and no stream was made"
            first = f"; the first, line {self.errors[0].line}: {self.errors[0].reason}" if self.errors else ""
            detail = f"{edges} of the request {became}{first}"
            return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "all-rejected", detail, more=document).response()
        return JSONResponse(document, HTTPStatus.ACCEPTED if self.verdict is None else HTTPStatus.OK)

    def _ordering(self) -> dict[str, object]:
        if not self.waited:
            return {}
        verdict = self.verdict
        if verdict is None:
            return {"ordering": None, "note": _NOT_KNOWN}
        errors = [RejectedEdge(each.line, each.code, each.reason) for each in verdict.examples]
        counts = (verdict.ordered, verdict.replaced, verdict.duplicates, verdict.late, verdict.rejected)
        return {"ordering": msgspec.to_builtins(OrderedVerdict(*counts, tuple(errors)))}


def describe_new_stream(new: NewStream | None) -> dict[str, object]:
    """Return what an answer says of a stream that was made for a request; nothing where none was."""
    if new is None or not new.is_there:
        return {}
    return {"created": True, **({"similar": list(new.made.similar)} if new.made.similar else {})}
