"""Edges on their way to a server: written as JSON Lines, in requests of some thousand, with what became of each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec
from graphtide_core.edge import Edge
from graphtide_native.records import SUBSTITUTE
from graphtide_wire.bodies.sent import OrderedVerdict

from graphtide.readers import ReaderOptions
from graphtide.readers.memory import Lines
from graphtide.readers.pacing import whole
from graphtide.server_errors import ALL_REJECTED, MALFORMED, EdgesRejectedError, ServerError, UnavailableError
from graphtide.server_types import RejectedEdge
from graphtide.session import is_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.time import TimeUnit
    from graphtide_wire.bodies.sent import SentPage

    from graphtide.server import Server

_REQUEST: Final = 5_000
_REQUEST_BYTES: Final = 4 << 20
"""Edges of a request, and about how long it is."""

_MOST_ERRORS: Final = 100
_PAUSE: Final = 1.0

Edges = Iterable[Edge | Mapping[str, object]] | Edge | Mapping[str, object]
"""Edges as `graphtide.match` takes them, or one."""


@dataclass(slots=True)
class Sent:
    """What became of edges that were sent.

    Attributes:
        accepted: edges that the log keeps.
        rejected: edges that could not be used.
        errors: the first hundred of these, with their numbers among the edges given, from 1 on.
        created: whether the stream was made for them, if the server says so.
        similar: streams that are called much the same, where it was: its name may be misspelt.
        filtered: records that are not of the stream, as its statement says.
        ordering: what happened to the edges when they were put in order, if the sender waited for it. None if it did not, or if
            that is not known of all of them. Its errors have the numbers of the edges.
    """

    accepted: int = 0
    rejected: int = 0
    errors: list[RejectedEdge] = field(default_factory=list)
    created: bool = False
    similar: tuple[str, ...] = ()
    filtered: int = 0
    ordering: OrderedVerdict | None = None


class Sending:
    """Edges of one stream on their way.

    Attributes:
        sent: what became of those that are there.
    """

    def __init__(
        self,
        server: Server,
        stream: str,
        unit: TimeUnit,
        *,
        headers: dict[str, str],
        key: str | None,
        patience: float,
        wait_ordered: float | None = None,
    ) -> None:
        """Prepare; see `graphtide.Client.send`."""
        self.sent = Sent()
        self._server = server
        self._stream = stream
        self._lines = Lines(ReaderOptions(time_unit=unit))
        self._headers = headers
        self._key = key
        self._wait_ordered = wait_ordered
        self._verdicts: list[OrderedVerdict | None] = []
        self._requests = 0
        self._given = 0
        self._deadline = time.monotonic() + patience

    def send_all(self, edges: Edges) -> Sent:
        """Send edges. Raises as `graphtide.Client.send`."""
        try:
            for chunk in _chunks(edges):
                self._send(chunk)
        except ServerError as error:
            kept = self.sent.accepted + int(error.problem.get("accepted", 0))
            error.add_note(f"the server keeps {kept:,} of the edges that were sent")
            raise
        # Those that could not be written were known before those that the server refused.
        self.sent.errors.sort(key=lambda each: each.line or 0)
        self._refuse_nothing_accepted()
        self.sent.ordering = _sum(self._verdicts)
        return self.sent

    def _send(self, chunk: Sequence[object]) -> None:
        lines = self._lines.block(chunk).split(b"\n")[:-1]
        self._reject(RejectedEdge(each.line, MALFORMED, each.reason) for each in self._lines.refused)
        self._lines.refused.clear()
        numbered = [(number, line) for number, line in enumerate(lines, self._given + 1) if line != SUBSTITUTE]
        self._given += len(chunk)
        begin, size = 0, 0
        for place, (_, line) in enumerate(numbered):
            size += len(line) + 1
            if size > _REQUEST_BYTES and place > begin:
                self._request(numbered[begin:place])
                begin, size = place, len(line) + 1
        if numbered:
            self._request(numbered[begin:])

    def _refuse_nothing_accepted(self) -> None:
        """Raise EdgesRejectedError where there were edges, and none could be used."""
        if not self.sent.rejected or self.sent.accepted:
            return
        errors = self.sent.errors
        first = f": the first ({errors[0].line}) because {errors[0].reason}" if errors else ""
        detail = f"none of the {self._given:,} edges could be used{first}"
        problem = {"code": ALL_REJECTED, "detail": detail, "errors": msgspec.to_builtins(errors)}
        raise EdgesRejectedError(ALL_REJECTED, detail, problem=problem)

    def _request(self, numbered: Sequence[tuple[int, bytes]]) -> None:
        headers = self._headers
        if self._key is not None:
            self._requests += 1
            headers = {**headers, "Idempotency-Key": f"{self._key}/{self._requests}"}
        found = self._patiently(b"".join(line + b"\n" for _, line in numbered), headers)
        if found.created:
            self.sent.created, self.sent.similar = True, found.similar
        self.sent.accepted += found.accepted
        self.sent.filtered += found.filtered
        if self._wait_ordered is not None:
            self._verdicts.append(_number_errors(found.ordering, numbered))
        self.sent.rejected += found.rejected - len(found.errors)
        self._reject(RejectedEdge(numbered[(each.line or 1) - 1][0], each.code, each.reason) for each in found.errors)

    def _patiently(self, body: bytes, headers: dict[str, str]) -> SentPage:
        while True:
            try:
                return self._server.send(self._stream, body, headers, self._wait_ordered)
            except UnavailableError as error:
                # What was kept in part is not sent again.
                took_some = error.status != HTTPStatus.TOO_MANY_REQUESTS or error.problem.get("accepted")
                pause = _PAUSE if error.retry_after is None else error.retry_after
                if took_some or time.monotonic() + pause > self._deadline:
                    raise
                time.sleep(pause)

    def _reject(self, errors: Iterable[RejectedEdge]) -> None:
        for error in errors:
            self.sent.rejected += 1
            if len(self.sent.errors) < _MOST_ERRORS:
                self.sent.errors.append(error)


def _number_errors(verdict: OrderedVerdict | None, numbered: Sequence[tuple[int, bytes]]) -> OrderedVerdict | None:
    """Return a verdict whose errors have the numbers of the edges in place of lines."""
    if verdict is None:
        return None
    errors = [
        RejectedEdge(None if each.line is None else numbered[each.line - 1][0], each.code, each.reason)
        for each in verdict.errors
    ]
    return msgspec.structs.replace(verdict, errors=tuple(errors))


def _sum(verdicts: Sequence[OrderedVerdict | None]) -> OrderedVerdict | None:
    """Return the verdict on several requests; None if that on one is not known."""
    known = [each for each in verdicts if each is not None]
    if not known or len(known) < len(verdicts):
        return None
    return OrderedVerdict(
        ordered=sum(each.ordered for each in known),
        replaced=sum(each.replaced for each in known),
        duplicates=sum(each.duplicates for each in known),
        late=sum(each.late for each in known),
        rejected=sum(each.rejected for each in known),
        errors=tuple(error for each in known for error in each.errors)[:_MOST_ERRORS],
    )


def line_of(edge: Edge | Mapping[str, object], unit: TimeUnit) -> bytes:
    """Return an edge as a line of JSON.

    Raises:
        TypeError: that is not an edge.
    """
    lines = Lines(ReaderOptions(time_unit=unit))
    line = lines.block([edge])
    for refused in lines.refused:
        raise TypeError(refused.reason)
    return line


def _chunks(edges: Edges) -> Iterator[list[object]]:
    """Return the edges in lists of some thousand.

    Raises:
        TypeError: those are not edges.
    """
    given: object = edges
    if is_record(given):
        given = [given]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        message = f"a {type(given).__name__} is not an edge: give edges, or dictionaries with the keys ts, src, dst, label"
        raise TypeError(message)
    return whole(given, _REQUEST)
