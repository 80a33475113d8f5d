"""How often a caller may call: a bucket of tokens each, filled at a steady rate."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """Buckets by caller; safe for threads. Memory: `most_callers` buckets, those of the longest silent go first.

    Attributes:
        per_second: calls a second, for as long as one likes.
        burst: calls at once after a rest.
    """

    def __init__(self, per_second: float, burst: int, most_callers: int = 10_000) -> None:
        """Allow a rate, and so many calls at once after a rest."""
        self.per_second = per_second
        self.burst = burst
        self._most = most_callers
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._lock = Lock()

    def wait(self, caller: str, now: float) -> float:
        """Take a token and return 0.0, or return the seconds until there is one; `now` in seconds that never go back."""
        with self._lock:
            bucket = self._buckets.pop(caller, None) or _Bucket(float(self.burst), now)
            self._buckets[caller] = bucket
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
            bucket.tokens = min(float(self.burst), bucket.tokens + (now - bucket.at) * self.per_second)
            bucket.at = now
            if bucket.tokens >= 1.0:
                bucket.tokens -= 1.0
                return 0.0
            return (1.0 - bucket.tokens) / self.per_second
