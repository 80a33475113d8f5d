"""A streaming graph query: what the algebra family answers, as a Regular Query over windows of streams.

A Regular Query is a set of rules without recursion but for closure. A rule derives edges of its head from a conjunction of
atoms, each a regular path over edges of inputs or of other heads. What it means at an instant is what the rules say of the
edges that are valid then.

Reference: paper 001, Definitions 13 to 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from graphtide_core.annotations import NO_ANNOTATIONS
from graphtide_core.graph_query_rules import EDGE, refuse_unanswerable
from graphtide_core.pattern import Report
from graphtide_core.predicate import RECORD_FIELDS, attributes
from graphtide_core.returns import MatchLayout
from graphtide_core.stream_window import WindowKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from graphtide_core.annotations import Annotations
    from graphtide_core.errors import Location
    from graphtide_core.ids import PatternName, StreamName
    from graphtide_core.predicate import Expression
    from graphtide_core.regular_rule import Rule
    from graphtide_core.stream_window import StreamWindow
    from graphtide_core.time import Duration, TimeUnit

__all__ = ["EDGE", "GraphQuery", "Input", "Output"]


@dataclass(frozen=True, slots=True)
class Input:
    """Edges of a window that rules may read: an extensional predicate.

    Attributes:
        name: what rules call it; no other input or head has it.
        window: the stream, and how long its edges are valid.
        label: of the edges; None for edges of every label.
        source_label, target_label: of their ends, as the edges state them; None for any.
        conditions: over the edge, which is called `e`; all true. They act on edges, before equal ones become one tuple.
    """

    name: str
    window: StreamWindow
    label: str | None
    source_label: str | None = None
    target_label: str | None = None
    conditions: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a query: the tuples of a head, under a label.

    Attributes:
        head: of rules.
        label: of the results.
        columns: what the results call the columns of the head; two are the source and the target of an edge.
        path: the name of an atom, in each rule of the head, whose path is reported with each result; None for none.
    """

    head: str
    label: str
    columns: tuple[str, ...]
    path: str | None = None


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """Rules over inputs, and which of their heads are reported.

    Attributes:
        name: of the query.
        inputs: the extensional predicates; those that a text declares, then the others in the order in which rules read them.
        rules: in an order in which each reads inputs and heads of rules before it alone.
        outputs: at least one.
        is_view: whether its results are a stream of edges, called after the query, that other queries may read.
        version: of the query.
        annotations: for people and alerts.
    """

    name: PatternName
    inputs: tuple[Input, ...]
    rules: tuple[Rule, ...]
    outputs: tuple[Output, ...]
    is_view: bool = False
    version: int = 1
    annotations: Annotations = NO_ANNOTATIONS
    family: ClassVar[str] = "algebra"
    match_layout: ClassVar[MatchLayout] = MatchLayout.INTERVAL
    consumes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse what no plan could answer.

        Raises:
            InvalidPatternError: nothing is read or reported; a name twice or unknown; a rule that reads a head of its own or of
                a later rule. A column without an atom; an atom that shares no variable with the others. A condition over more
                than vertices or than one edge; a slide longer than its window. A path that a rule of an output lacks.
        """
        refuse_unanswerable(self)

    @property
    def report(self) -> Report:
        """Every result, when it becomes valid and when that changes."""
        return Report.ALL

    @property
    def reports_changes(self) -> bool:
        """True: each record of a result says what changed."""
        return True

    @property
    def results_stay(self) -> bool:
        """Whether results stay valid once they are: no window takes them back."""
        return all(each.window.kind is WindowKind.INTERNAL for each in self.inputs)

    @property
    def streams(self) -> tuple[StreamName, ...]:
        """The streams that it reads, each once, in their order."""
        return tuple(dict.fromkeys(each.window.stream for each in self.inputs))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of edges that it reads, sorted; what every record has is none."""
        read = (each for input in self.inputs for condition in input.conditions for each in attributes(condition))
        return tuple(sorted({each.name for each in read if each.name not in RECORD_FIELDS}))

    def durations(self) -> Iterator[tuple[str, Duration, Location | None]]:
        """Yield each duration with its keyword and, where it is known, its place."""
        for each in self.inputs:
            yield "WINDOW", each.window.length, each.window.location
            if each.window.slide is not None:
                yield "SLIDE", each.window.slide, each.window.location

    def extent(self, unit: TimeUnit) -> int:
        """Return how many ticks an edge can be of use, as `lookback`."""
        return self.lookback(unit)

    def lookback(self, unit: TimeUnit) -> int:
        """Return how many ticks an edge can be of use: with `now` the newest time, while ts > now - lookback.

        That is its longest window and a tick more. An edge that ends just now shows that a result which is derived again has
        not ended in between.
        """
        return max(max(each.window.lookback(unit), each.window.step(unit)) for each in self.inputs) + 1
