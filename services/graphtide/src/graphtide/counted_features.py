"""The features of a run: those of the streams' statements that patterns read, each stream's with its own windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.stream_features import refuse_unknown_inputs
from graphtide_core.suggestion import show

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from graphtide_core.stream_definition import StreamDefinition
    from graphtide_core.stream_features import Feature
    from graphtide_core.time import TimeUnit
    from graphtide_native.features import StreamFeatures
    from graphtide_native.records import EdgeBatch


class CountedFeatures:
    """Gives the records of streams the values of features.

    Attributes:
        names: of the features, each once.
        inputs: attributes that they read, each once.
    """

    def __init__(self, definitions: Sequence[StreamDefinition], read: Collection[str], unit: TimeUnit) -> None:
        """Take the features whose names patterns read; others cost nothing."""
        self._stated: dict[str, tuple[Feature, ...]] = {
            each.name: tuple(one for one in each.features if one.name in read) for each in definitions
        }
        self._first = definitions[0].name if definitions else None
        self._unit = unit
        self._counted: dict[str, StreamFeatures] = {}
        self._unseen = {name: dict.fromkeys(_inputs(features)) for name, features in self._stated.items()}
        self.names = tuple(dict.fromkeys(each.name for each in self._all()))
        self.inputs = tuple(dict.fromkeys(_inputs(self._all())))

    def _all(self) -> Iterable[Feature]:
        return (each for features in self._stated.values() for each in features)

    def names_of(self, stream: str | None = None) -> list[str]:
        """Return the names of a stream's features; None is the only stream."""
        name = self._first if stream is None else stream
        return [each.name for each in self._stated.get(name, ())] if name is not None else []

    def refuse_unknown(self, columns: Sequence[str], stream: str | None = None) -> None:
        """Do nothing if a stream with these columns has what its features read; None is the only stream.

        Raises:
            InvalidPatternError: it does not, so a feature would count nothing.
        """
        name = self._first if stream is None else stream
        if name is not None:
            refuse_unknown_inputs(self._stated.get(name, ()), columns)

    def add_to(self, batch: EdgeBatch, stream: str | None = None) -> EdgeBatch:
        """Return the next batch of a stream, in order and without duplicates, with its features; None is the only stream."""
        name = self._first if stream is None else stream
        if name is None or not (features := self._stated.get(name)):
            return batch
        if name not in self._counted:
            # Runs without features do without the module.
            from graphtide_native.features import StreamFeatures  # noqa: PLC0415

            self._counted[name] = StreamFeatures(features, self._unit)
        if unseen := self._unseen[name]:
            for seen, _ in batch.values_among([*unseen]):
                del unseen[seen]
        return self._counted[name].add_to(batch)

    def losses(self) -> list[str]:
        """Return sentences about attributes that features read and no record had, and windows that were too long to hold."""
        unseen = [
            f"no record of stream {name} had the attribute {show(each)}, which its features read"
            for name in self._counted
            for each in self._unseen[name]
        ]
        return unseen + [
            f"{each.shed:,} records of stream {name} left the windows of its features early: they hold {each.held:,}. "
            "Shorten OVER, or state WHERE"
            for name, each in self._counted.items()
            if each.shed
        ]


def _inputs(features: Iterable[Feature]) -> Iterator[str]:
    return (name for each in features for name in each.inputs())
