"""What a user can do about what a run lost, as the command line and Python write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.time import Duration

if TYPE_CHECKING:
    from graphtide_core.time import TimeUnit


_BOUNDS: Final = {"partial matches": ("partial", "matches"), "bytes": ("state", "bytes"), "keys": ("state", "bytes")}
"""Words that name a bound in reports, and those of its option; the others are bounds on work."""


class Remedies(NamedTuple):
    """How options are written.

    Attributes:
        unit: what times of the stream count.
        late: what allows a lateness, with `{lateness}` in it.
        ahead: what says how far ahead of the clock a record may be.
        without_ids: what reads a stream without its ids.
        typed: what declares a column `{column}` to hold numbers.
        formatted: what says the format of a stream.
        limits: what raises a limit of the bound `{name}`.
        mark: what is between the words of that name.
    """

    unit: TimeUnit
    late: str
    ahead: str
    without_ids: str
    typed: str
    formatted: str
    limits: str
    mark: str

    def limit(self, limit: str) -> str:
        """Return what raises a limit, by the words that a report has for it."""
        words = next((words for known, words in _BOUNDS.items() if known in limit), ("work",))
        return self.limits.format(name=self.mark.join(words))

    def lateness(self, ticks: int) -> str:
        """Return what allows so many ticks of lateness."""
        return self.late.format(lateness=Duration(ticks, self.unit.value))


def by_command_line(unit: TimeUnit) -> Remedies:
    """Return what to do on the command line."""
    return Remedies(
        unit,
        "--lateness {lateness}",
        "--max-ahead",
        "--column id=",
        "--type {column}:number",
        "--format",
        "--limit-{name}",
        "-",
    )


def by_python(unit: TimeUnit) -> Remedies:
    """Return what to do in Python."""
    return Remedies(
        unit,
        "MatchOptions(lateness='{lateness}')",
        "MatchOptions(max_ahead=…)",
        "MatchOptions(columns={'id': ''})",
        "MatchOptions(types={{{column!r}: 'number'}})",
        "MatchOptions(format=…)",
        "MatchOptions(limit_{name}=…)",
        "_",
    )
