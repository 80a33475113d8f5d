"""Names the workloads: streams, and the windows that patterns are drawn for.

The patterns of a window of w are drawn from the first w edges of the stream, with the stream's seed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from graphtide_bench.workloads.queries import draw, draw_many
from graphtide_bench.workloads.stream import StreamRecipe, generate

if TYPE_CHECKING:
    from graphtide_bench.workloads.queries import DrawnPattern


@dataclass(frozen=True, slots=True)
class Workload:
    """A stream and the windows, in ticks, that it is matched with.

    Attributes:
        name: one letter.
        summary: what is special about it.
        recipe: of the stream.
        windows: in ticks.
    """

    name: str
    summary: str
    recipe: StreamRecipe
    windows: tuple[int, ...]

    def of_length(self, edges: int) -> Workload:
        """Return the same workload over a stream of that length: a prefix of this one, or a continuation."""
        return replace(self, recipe=replace(self.recipe, edges=edges))

    def patterns(self, drawn_from: int) -> tuple[DrawnPattern, ...]:
        """Return the patterns drawn from the first `drawn_from` edges: the shapes that were found, in three orders."""
        return draw(islice(generate(self.recipe), drawn_from), self.recipe.seed)

    def many_patterns(self, drawn_from: int, number: int) -> tuple[DrawnPattern, ...]:
        """Return `number` patterns, each drawn on its own."""
        return draw_many(islice(generate(self.recipe), drawn_from), self.recipe.seed, number)


WORKLOADS: Final[dict[str, Workload]] = {
    workload.name: workload
    for workload in (
        Workload(
            "B",
            "200,000 edges in 18 classes of labels",
            StreamRecipe(seed=8, edges=200_000, vertices=20_000, vertex_labels=3, edge_labels=2, alpha=0.5, closing=0.1),
            (10_000, 20_000, 50_000),
        ),
        Workload(
            "E",
            "1,000,000 edges in 32 classes of labels",
            StreamRecipe(seed=11, edges=1_000_000, vertices=50_000, vertex_labels=4, edge_labels=2, alpha=0.5, closing=0.05),
            (50_000,),
        ),
        Workload(
            "F",
            "100,000 edges, one vertex label, three skewed edge labels: hardly anything to select by",
            StreamRecipe(
                seed=13,
                edges=100_000,
                vertices=20_000,
                vertex_labels=1,
                edge_labels=3,
                alpha=0.5,
                closing=0.1,
                label_skew=1.5,
            ),
            (10_000,),
        ),
        Workload(
            "T",
            "60,000 edges, four of them at each timestamp",
            StreamRecipe(
                seed=17,
                edges=60_000,
                vertices=3_000,
                vertex_labels=3,
                edge_labels=2,
                alpha=0.6,
                closing=0.15,
                edges_per_tick=4,
            ),
            (1_000,),
        ),
    )
}

MANY_LABELS: Final = Workload(
    "L",
    "200,000 edges with 2,000 edge labels: room for thousands of patterns that differ",
    StreamRecipe(seed=19, edges=200_000, vertices=20_000, vertex_labels=3, edge_labels=2_000, alpha=0.5, closing=0.1),
    (20_000,),
)

FLOWS: Final = Workload(
    "N",
    "100,000 edges as of network flows: one vertex label, seven skewed edge labels, hubs",
    StreamRecipe(
        seed=29, edges=100_000, vertices=50_000, vertex_labels=1, edge_labels=7, alpha=0.7, closing=0.05, label_skew=2.5
    ),
    (20_000,),
)

TYPED: Final = Workload(
    "M",
    "100,000 edges as of a social network: five skewed vertex labels, nine skewed edge labels, hubs",
    StreamRecipe(
        seed=31, edges=100_000, vertices=10_000, vertex_labels=5, edge_labels=9, alpha=0.7, closing=0.05, label_skew=1.5
    ),
    (30_000,),
)

SWAPPING: Final = Workload(
    "S",
    "1,000,000 edges whose six skewed edge labels swap frequencies half-way",
    StreamRecipe(
        seed=23,
        edges=1_000_000,
        vertices=20_000,
        vertex_labels=1,
        edge_labels=6,
        alpha=0.6,
        closing=0.05,
        label_skew=1.5,
        swap_after=500_000,
    ),
    (40_000,),
)
