"""The ports to what runs replicas: their number, asking for others, and the right to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from graphtide_core.errors import TransientError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Replicas:
    """How many replicas of a service are asked for, and how many of them are ready; `version` of what was seen."""

    asked: int
    ready: int
    version: str


class ConflictError(TransientError):
    """Another client has changed it since it was seen."""


class ThrottledError(TransientError):
    """There are too many requests.

    Attributes:
        seconds: how long to wait before the next.
    """

    def __init__(self, seconds: float) -> None:
        """Say how long to wait."""
        super().__init__(f"there are too many requests; the next one may come in {seconds:g} s")
        self.seconds = seconds


class Cluster(Protocol):
    """What runs the replicas of matcher services."""

    def open(self) -> None:
        """Look at all services, and follow them from then on.

        Raises:
            TransientError: it does not answer.
            FatalError: we may not, or it is not such a cluster.
        """
        ...

    def seen(self) -> Mapping[str, Replicas]:
        """Return the services, as they were last.

        Raises:
            TransientError: they are not followed any more; open again.
            FatalError: we may not any more.
        """
        ...

    def scale(self, service: str, replicas: int, seen: Replicas) -> None:
        """Ask for so many replicas.

        Raises:
            ConflictError: the service is not as it was seen.
            ThrottledError: later.
            TransientError: it does not answer; whether the replicas are asked for shows in what is seen.
            FatalError: we may not, or there is no such service.
        """
        ...

    def try_out(self, service: str, replicas: int, seen: Replicas) -> None:
        """Ask whether that could be asked for, and change nothing; raises as `scale` does."""
        ...

    def close(self) -> None:
        """Follow nothing any more; never fails, and may be called twice."""
        ...


class Leadership(Protocol):
    """The right to ask for replicas, which one process at once has."""

    def hold(self) -> bool:
        """Take or keep the right; return whether it is ours for now. Costs nothing where it was kept a moment ago.

        Raises:
            ThrottledError: later; what was ours may run out meanwhile.
            FatalError: we may not.
        """
        ...

    def release(self) -> None:
        """Give the right back, so that another need not wait until it runs out; never fails."""
        ...
