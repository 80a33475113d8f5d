"""Where matches go."""

from typing import Protocol


class MatchSink(Protocol):
    """Takes match records as JSON Lines, in the order of detection."""

    def write(self, lines: bytes) -> None:
        """Take whole lines, each ended by a line feed."""
        ...

    def flush(self) -> None:
        """Hand everything taken so far to the reader."""
        ...
