"""Schemas of Avro that a registry keeps by numbers, as Confluent's does: `GET {url}/schemas/ids/{number}`.

A schema never changes, so each is asked for once. A number that the registry does not know is asked for again after a minute.
Memory: the last schemas, and no answer past a bound. Safe for threads.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import OrderedDict
from http.client import HTTPException
from threading import Lock
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import Request, urlopen

from graphtide_core.errors import FatalError, TransientError, UnreadableStreamError

if TYPE_CHECKING:
    from graphtide_core.ports.clock import Clock

MOST_BYTES: Final = 4 << 20
_MOST_KNOWN: Final = 1_000
_AGAIN_SECONDS: Final = 60.0
_NOT_FOUND: Final = 404


class SchemaRegistry:
    """A registry. Calling it gives the schema of a number."""

    def __init__(self, url: str, clock: Clock, seconds: float = 5.0) -> None:
        """Ask the registry at a URL, each time for so many seconds at most; a user and a password stand before the host.

        Raises:
            FatalError: it is not a URL.
        """
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            message = "SCHEMA_REGISTRY is not a URL such as https://schemas.example"
            raise FatalError(message)
        host = parts.netloc.rpartition("@")[2]
        self._url = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
        self._clock = clock
        self._seconds = seconds
        self._lock = Lock()
        self._known: OrderedDict[int, bytes] = OrderedDict()
        self._unknown: OrderedDict[int, tuple[float, str]] = OrderedDict()

    def __call__(self, number: int) -> bytes:
        """Return the schema of a number.

        Raises:
            UnreadableStreamError: the registry has none, or one of another kind.
            TransientError: it does not answer.
        """
        with self._lock:
            if number in self._known:
                self._known.move_to_end(number)
                return self._known[number]
            until, reason = self._unknown.get(number, (0.0, ""))
            if reason and self._clock.monotonic() < until:
                raise UnreadableStreamError(reason)
            try:
                found = self._known[number] = self._ask(number)
            except UnreadableStreamError as error:
                self._unknown[number] = (self._clock.monotonic() + _AGAIN_SECONDS, str(error))
                raise
            finally:
                for kept in (self._known, self._unknown):
                    while len(kept) > _MOST_KNOWN:
                        kept.popitem(last=False)
            return found

    def _ask(self, number: int) -> bytes:
        where = f"{self._url}/schemas/ids/{number}"
        try:
            with urlopen(Request(where, headers=self._headers), timeout=self._seconds) as answer:  # noqa: S310 - a setting
                body = answer.read(MOST_BYTES + 1)
        except HTTPError as error:
            if error.code == _NOT_FOUND:
                message = f"the registry of schemas has no schema {number}"
                raise UnreadableStreamError(message) from error
            message = f"the registry of schemas answers {where} with {error.code} {error.reason}"
            raise TransientError(message) from error
        except (OSError, HTTPException) as error:
            message = f"the registry of schemas does not answer: {where} ({error})"
            raise TransientError(message) from error
        if len(body) > MOST_BYTES:
            message = f"the registry of schemas answers {where} with more than {MOST_BYTES:,} bytes"
            raise UnreadableStreamError(message)
        try:
            document = json.loads(body)
            schema, kind = document["schema"].encode(), document.get("schemaType", "AVRO")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            message = f"{where} is not that of a registry of schemas: check the setting SCHEMA_REGISTRY"
            raise TransientError(message) from error
        if kind != "AVRO":
            message = f"schema {number} of the registry is of {kind}, not Avro"
            raise UnreadableStreamError(message)
        found: bytes = schema
        return found
