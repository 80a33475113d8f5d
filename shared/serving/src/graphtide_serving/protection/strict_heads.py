"""Heads of requests as RFC 9112 writes them, so that no proxy before this server reads another request in the same bytes.

h11 takes a line that ends in LF alone, and a request with both Content-Length and Transfer-Encoding. A proxy may read either in
another way, and what it takes for the body of one request, the server takes for the next one. So such a head is refused with
400, and the connection ends. Cost: three searches a head.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import h11
from h11._receivebuffer import ReceiveBuffer

if TYPE_CHECKING:
    from collections.abc import Sequence

_LENGTH: Final = re.compile(rb"\ncontent-length[ \t]*:", re.IGNORECASE)
_CODING: Final = re.compile(rb"\ntransfer-encoding[ \t]*:", re.IGNORECASE)


class StrictHeads(ReceiveBuffer):
    """The buffer of a connection of h11 that refuses such heads. It relies on h11's own buffer, whose tests here say so."""

    _in_head = False

    def maybe_extract_lines(self) -> Sequence[bytearray] | None:  # type: ignore[override]  # as narrow as is needed
        """Return the lines up to the first blank one, if that is there.

        Raises:
            RemoteProtocolError: servers may read this head in different ways.
        """
        self._in_head = True
        try:
            return super().maybe_extract_lines()
        finally:
            self._in_head = False

    def _extract(self, count: int) -> bytearray:
        taken = super()._extract(count)
        if self._in_head:
            _check(taken)
        return taken


def _check(head: bytearray) -> None:
    if head.count(b"\n") != head.count(b"\r\n"):
        message = "a line of the head ends without CR"
        raise h11.RemoteProtocolError(message)
    if _LENGTH.search(head) and _CODING.search(head):
        message = "both Content-Length and Transfer-Encoding"
        raise h11.RemoteProtocolError(message)
