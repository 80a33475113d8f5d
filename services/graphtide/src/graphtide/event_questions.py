"""Questions whether events are a match of an event pattern: read from text, with the records that bear on them.

Cost: the records of a few windows around the events that are asked about are kept.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import CutShortError
from graphtide_core.event_answer import EventAnswer, Obstacle
from graphtide_core.event_expression import Or, choices, events
from graphtide_core.event_pattern import EventPattern
from graphtide_core.ids import EdgeId

from graphtide.event_inquiry import Inquiry, Row, repeats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.time import TimeUnit
    from graphtide_native.stages import Stages

_PAIR: Final = re.compile(r"([^=,\s]+)=([^,]+)")


@dataclass(slots=True)
class Question:
    """Whether events are a match of a pattern; `take` the stream's records, then ask for the `answer`.

    Attributes:
        pattern: the pattern.
        asked: ids by names of the pattern's required events.
        unit: what a tick of the stream's time is.
    """

    pattern: EventPattern
    asked: Mapping[str, tuple[EdgeId, ...]]
    unit: TimeUnit
    _rows: deque[Row] = field(default_factory=deque)
    _newest: int | None = None

    def take(self, rows: Iterable[Row]) -> None:
        """Keep those that bear on the question, and those that may."""
        lookback, ids = 2 * self.pattern.match_lookback(self.unit), set(chain.from_iterable(self.asked.values()))
        for row in rows:
            if not row.deletes and row.id in ids:
                self._newest = row.ts
            elif self._newest is None:
                while self._rows and self._rows[0].ts < row.ts - lookback:
                    self._rows.popleft()
            elif row.ts > self._newest + lookback:
                continue
            self._rows.append(row)

    @property
    def kept(self) -> int:
        """How many records are kept."""
        return len(self._rows)

    def answer(self, stages: Stages) -> EventAnswer:
        """Say whether the events are a match, as far as the records say that were taken, of a run with these stages."""
        plain = replace(self.pattern, one_per=None, returns=None)
        inquiry = Inquiry(plain, self.asked, list(self._rows), stages)
        try:
            return inquiry.answer()
        except CutShortError:
            return EventAnswer(self.pattern.name, self.asked, obstacle=Obstacle.UNDECIDED)


def questions(patterns: Iterable[AnyPattern], texts: Iterable[str], unit: TimeUnit) -> tuple[list[Question], list[str]]:
    """Read `a=17,b=21` as a question of each event pattern with such events; return the texts that are not questions, too.

    Raises:
        ValueError: a text asks for several events in one place, or for events of two branches.
    """
    # Such a question is of event patterns alone: of no other a match can be named by what is in its places.
    of_events = [pattern for pattern in patterns if isinstance(pattern, EventPattern)]
    found: list[Question] = []
    others: list[str] = []
    for text in texts:
        pairs = [_PAIR.fullmatch(part.strip()) for part in text.split(",")]
        asked: dict[str, tuple[EdgeId, ...]] = {}
        for name, id in (pair.groups() for pair in pairs if pair is not None):
            asked[name] = (*asked.get(name, ()), EdgeId(id))
        able = [] if None in pairs else [pattern for pattern in of_events if asked.keys() <= repeats(pattern).keys()]
        for pattern in able:
            for one, other in combinations(asked, 2):
                if any(_excludes(choice, one, other) for choice in choices(pattern.root)):
                    message = (
                        f"{one!r} and {other!r} are in two branches of an OR in pattern {pattern.name!r}: no match has both"
                    )
                    raise ValueError(message)
            for name, ids in asked.items():
                if len(ids) > 1 and repeats(pattern)[name] is None:
                    message = f"{name!r} is one event of pattern {pattern.name!r}, and {len(ids)} are asked about"
                    raise ValueError(message)
        found += [Question(pattern, asked, unit) for pattern in able]
        others += [] if able else [text]
    return found, others


def _excludes(choice: Or, one: str, other: str) -> bool:
    """Whether two events are in different branches of an OR."""
    branches = [{event.name for event in events(part)} for part in choice.parts]
    return any(one in own and other in beside for own in branches for beside in branches if own is not beside)
