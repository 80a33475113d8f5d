"""A deployment whose console a test uses: where it answers, and how to fill it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class ServedConsole:
    """Where a deployment answers.

    Attributes:
        url: of the deployment.
        http: a client of it.
        planted: how many exfiltrations are in the stream `flows`.
    """

    url: str
    http: httpx2.Client
    planted: int = 0

    def register(self, text: str) -> None:
        """Register a pattern."""
        self.http.post("/api/v1/patterns", json={"text": text}).raise_for_status()

    def send(self, stream: str, lines: str, kind: str = "edges", type: str = "application/x-ndjson") -> None:
        """Send records."""
        answer = self.http.post(f"/api/v1/streams/{stream}/{kind}", content=lines, headers={"content-type": type})
        assert answer.status_code in {202, 422}, answer.text

    def matches(self, pattern: str) -> int:
        """Return how many matches of a pattern the log has."""
        return len(self.http.get(f"/api/v1/patterns/{pattern}/matches?limit=1000").json()["matches"])
