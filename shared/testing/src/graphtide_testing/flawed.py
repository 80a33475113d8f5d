"""A log with records whose headers cannot be read: what a Kafka reader gives where a header name is not UTF-8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from graphtide_core.ports.log import Record

FLAWED: Final = (("flawed", b""),)
"""Headers of a message that readers get as a record with a flaw."""


@dataclass
class FlawedLog:
    """A log, or a reader of it, that gives records with `FLAWED` headers as records whose headers cannot be read."""

    of: Any

    def __getattr__(self, name: str) -> Any:
        """Return what the log has."""
        return getattr(self.of, name)

    def reader(self, group: str | None) -> FlawedLog:
        """Return a reader."""
        return FlawedLog(self.of.reader(group))

    def poll(self, timeout: float, most: int) -> list[Record]:
        """Return records, as a reader does."""
        return [
            record._replace(headers=(), flaw="a header has a name that is not UTF-8") if record.headers == FLAWED else record
            for record in self.of.poll(timeout, most)
        ]
