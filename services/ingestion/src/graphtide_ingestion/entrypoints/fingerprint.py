"""Distinguish two requests with one idempotency key: a digest of the body and of the headers that give it a meaning."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from fastapi import Request
from starlette.requests import ClientDisconnect

from graphtide_ingestion.entrypoints import bodies

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message

_MEANING = ("content-type", "graphtide-producer")


class Fingerprint:
    """Of one request, made while its body is read."""

    def __init__(self, request: Request) -> None:
        """Begin with what is known before the body is."""
        self._digest = hashlib.blake2b(digest_size=16)
        reported = [request.headers.get(name, "") for name in _MEANING]
        self._digest.update(repr([*reported, request.url.query]).encode())
        self._request = request

    def reading(self) -> Request:
        """Return the request, whose body is taken into account as it is read."""

        async def receive() -> Message:
            message = await self._request.receive()
            self._digest.update(message.get("body", b""))
            return message

        return Request(self._request.scope, receive)

    async def read(self, most: int, give_back: Callable[[int], None]) -> None:
        """Read a body of `most` bytes at most, and keep nothing of it.

        Raises:
            ProblemError: it is longer, or breaks off.
        """
        read = 0
        try:
            async for block in self.reading().stream():
                read += len(block)
                give_back(len(block))
                if read > most:
                    raise bodies.too_large(most)
        except ClientDisconnect as error:
            raise bodies.broken_off(0) from error

    def is_of(self, other: Fingerprint) -> bool:
        """Return whether two requests, whose bodies were read, are the same."""
        return self._digest.digest() == other._digest.digest()
