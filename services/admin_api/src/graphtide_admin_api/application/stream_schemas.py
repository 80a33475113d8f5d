"""Declared types of a stream's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.ports.log import Message
from graphtide_wire.stream_schema import SchemaRecord, encode_schema, schema_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_core.ports.log import Log
    from graphtide_wire.stream_schema import Kind
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.view import View

_FLUSH_SECONDS: Final = 10.0
_SEEN_SECONDS: Final = 5.0


class StreamSchemas:
    """Writes declarations; safe for threads."""

    def __init__(self, log: Log, topics: Topics, view: View) -> None:
        """Work on a log."""
        self._log = log
        self._topics = topics
        self._view = view

    def declare(self, stream: str, attributes: Mapping[str, Kind]) -> None:
        """Let these types hold in place of those that were declared before, from the moment when ingestion hears of them.

        Raises:
            TransientError: the log does not answer. Whether they hold is then not known.
        """
        value = encode_schema(SchemaRecord(stream, "declared", dict(attributes))) if attributes else None
        writer = self._log.writer()
        try:
            writer.write([Message(self._topics.schemas, schema_key(stream, "declared"), value)])
            writer.flush(_FLUSH_SECONDS)
        finally:
            writer.close()
        self._view.wait_for_schema(stream, attributes, _SEEN_SECONDS)
