"""What a run counts in windows: features that patterns read, and what EMIT gives, each stream's by its own statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.stream_windows import StreamWindows
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.time import TimeUnit
    from graphtide_native.features import StreamFeatures
    from graphtide_native.records import EdgeBatch

_NONE = StreamWindows()


class CountedFeatures:
    """Gives the records of streams the values of features, and between them what EMIT gives.

    Attributes:
        names: attributes that are counted, each once.
        labels: labels and types of what EMIT gives, and of its ends, each once.
        inputs: attributes that are read for it, each once.
    """

    def __init__(self, definitions: Sequence[StreamDefinition], read: Collection[str], unit: TimeUnit) -> None:
        """Take the features whose names patterns read; others cost nothing."""
        self._stated: dict[str, StreamWindows] = {each.name: each.windows.read_by(read) for each in definitions}
        self._first = definitions[0].name if definitions else None
        self._read = tuple(read)
        self._unit = unit
        self._counted: dict[str, StreamFeatures] = {}
        self._unseen = {name: dict.fromkeys(windows.inputs) for name, windows in self._stated.items()}
        self.names = tuple(dict.fromkeys(name for each in self._stated.values() for name in each.names if name in read))
        self.inputs = tuple(dict.fromkeys(name for each in self._stated.values() for name in each.inputs))
        self.labels = tuple(dict.fromkeys(self._labels()))

    def _labels(self) -> Iterator[str]:
        for each in (emission for windows in self._stated.values() for emission in windows.emissions):
            yield each.label
            yield from (end.label for end in each.ends or () if end.label is not None)

    def names_of(self, stream: str | None = None) -> list[str]:
        """Return the attributes that are counted of a stream; None is the only stream."""
        return list(self._windows_of(stream).names)

    def _windows_of(self, stream: str | None) -> StreamWindows:
        name = self._first if stream is None else stream
        return _NONE if name is None else self._stated.get(name, _NONE)

    def refuse_unknown(self, columns: Sequence[str], stream: str | None = None) -> None:
        """Do nothing if a stream with these columns has what is read to count; None is the only stream.

        Raises:
            InvalidPatternError: it does not, so nothing would be counted.
        """
        self._windows_of(stream).refuse_unknown_inputs(columns)

    def add_to(self, batch: EdgeBatch, time: int | None, stream: str | None = None) -> EdgeBatch:
        """Return the next batch of a stream with what is counted.

        Args:
            batch: in order, and without duplicates.
            time: no earlier record follows; None if nothing is known.
            stream: its name; None is the only stream.
        """
        name = self._first if stream is None else stream
        if name is None or not (windows := self._windows_of(name)):
            return batch
        if name not in self._counted:
            # Runs without features do without the module.
            from graphtide_native.features import StreamFeatures  # noqa: PLC0415

            self._counted[name] = StreamFeatures(windows, self._unit, self._read)
        if unseen := self._unseen[name]:
            for seen, _ in batch.values_among([*unseen]):
                del unseen[seen]
        counted = self._counted[name]
        added = counted.add_to(batch)
        given = None if time is None else counted.advance(time)
        return added if given is None else added.followed_by([given])

    def losses(self) -> list[str]:
        """Return sentences about attributes that no record had, and windows that were too long or had too many keys to hold."""
        unseen = [
            f"no record of stream {name} had the attribute {show(each)}, which its windows read"
            for name in self._counted
            for each in self._unseen[name]
        ]
        shed = [
            f"{each.shed:,} records of stream {name} left the windows of its features early: they hold {each.held:,}. "
            "Shorten OVER, or state WHERE"
            for name, each in self._counted.items()
            if each.shed
        ]
        uncounted = [
            f"{each.uncounted:,} records of stream {name} are in no window of EMIT, which had too many keys or records. "
            "Shorten EVERY, or state WHERE"
            for name, each in self._counted.items()
            if each.uncounted
        ]
        return unseen + shed + uncounted
