"""Probes of a container, asked as kubelets ask: at the pod's address, by the port's name, as often as the manifest says."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from graphtide_testing.cluster.manifests import ManifestError, port_of

if TYPE_CHECKING:
    from graphtide_testing.cluster.manifests import Object


@dataclass
class Probe:
    """One probe of one container, between its start and its end.

    Attributes:
        name: `startupProbe`, `livenessProbe` or `readinessProbe`.
        holds: whether it counts as passed; None while it does not count yet.
        asked: how often it was asked.
        configured: the last answer that was none of success.
    """

    name: str
    spec: Object
    container: Object
    address: str
    holds: bool | None = None
    asked: int = 0
    configured: str = ""
    _in_a_row: int = 0
    _due: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Wait as long as the manifest says.

        Raises:
            ManifestError: it is none of those that are known here.
        """
        self._due += self.spec.get("initialDelaySeconds", 0)
        if not {"httpGet", "tcpSocket"} & self.spec.keys():
            message = f"container {self.container['name']}: {self.name} is neither httpGet nor tcpSocket"
            raise ManifestError(message)

    def ask_if_due(self) -> None:
        """Ask, if it is time; after so many answers alike as the manifest says, `holds` is what they say."""
        if time.monotonic() < self._due:
            return
        said = self._ask()
        # The time between two questions runs from one to the next, however long an answer takes.
        self._due = time.monotonic() + self.spec.get("periodSeconds", 10)
        self.asked += 1
        succeeded = said is None
        self.configured = self.configured if said is None else said
        self._in_a_row = max(1, self._in_a_row + 1) if succeeded else min(-1, self._in_a_row - 1)
        if self._in_a_row >= self.spec.get("successThreshold", 1):
            self.holds = True
        elif -self._in_a_row >= self.spec.get("failureThreshold", 3):
            self.holds = False

    def _ask(self) -> str | None:
        seconds = self.spec.get("timeoutSeconds", 1)
        if "tcpSocket" in self.spec:
            port = port_of(self.container, self.spec["tcpSocket"]["port"])
            try:
                socket.create_connection((self.address, port), seconds).close()
            except OSError as error:
                return str(error)
            return None
        return self._get(self.spec["httpGet"], seconds)

    def _get(self, configured: dict[str, Any], seconds: float) -> str | None:
        port = port_of(self.container, configured["port"])
        scheme, host = configured.get("scheme", "HTTP").lower(), configured.get("host", self.address)
        url = f"{scheme}://{host}:{port}{configured.get('path', '/')}"
        headers = {each["name"]: each["value"] for each in configured.get("httpHeaders", [])}
        try:
            # Kubelets do not ask whose certificate it is.
            answer = httpx2.get(url, headers={"user-agent": "kube-probe/1.37", **headers}, timeout=seconds, verify=False)
        except httpx2.TransportError as error:
            return f"{type(error).__name__}: {error}"
        return None if 200 <= answer.status_code < 400 else f"{answer.status_code} {answer.text[:500]}"
