"""Plans laid open, of one pattern or several: for people, for programs and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, overload

from graphtide_query import explain as explanation
from graphtide_query.explain import Explanation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FORMATS: Final[Mapping[str, Callable[[Sequence[Explanation]], str]]] = {
    "text": explanation.to_text,
    "json": explanation.to_json,
    "dot": explanation.to_dot,
    "mermaid": explanation.to_mermaid,
    "svg": explanation.to_svg,
    "html": explanation.to_html,
}
"""How explanations are written, by the names of the formats."""


@dataclass(frozen=True, slots=True, repr=False)
class Explanations(Sequence[Explanation]):
    """What `graphtide.explain` says: an `Explanation` for each pattern, in their order.

    It prints as text. A notebook shows settings and a picture of each plan. Of a stream that was analyzed it shows the match
    funnel and why there was no match or not more of them.
    """

    explanations: tuple[Explanation, ...]

    @overload
    def __getitem__(self, place: int) -> Explanation: ...
    @overload
    def __getitem__(self, place: slice) -> Explanations: ...
    def __getitem__(self, place: int | slice) -> Explanation | Explanations:
        """Return the explanation of one pattern, or those of some."""
        return Explanations(self.explanations[place]) if isinstance(place, slice) else self.explanations[place]

    def __len__(self) -> int:
        """Return the number of patterns."""
        return len(self.explanations)

    def __str__(self) -> str:
        """Return the text."""
        return self.to_text()

    def __repr__(self) -> str:
        """Return the text, which is what an interactive session should show."""
        return self.to_text()

    def to_text(self) -> str:
        """Return the plans as indented text."""
        return explanation.to_text(self.explanations)

    def to_json(self) -> str:
        """Return the plans as a JSON array of objects, times as the stream counts them."""
        return explanation.to_json(self.explanations)

    def to_dot(self) -> str:
        """Return the plans as one Graphviz digraph."""
        return explanation.to_dot(self.explanations)

    def to_mermaid(self) -> str:
        """Return the plans as one Mermaid flowchart, which documents on GitHub and others show."""
        return explanation.to_mermaid(self.explanations)

    def to_svg(self) -> str:
        """Return the plans as one picture. Graphviz is not needed."""
        return explanation.to_svg(self.explanations)

    def to_html(self) -> str:
        """Return the plans as a part of a page, pictures included."""
        return explanation.to_html(self.explanations)

    _repr_svg_ = to_svg
    _repr_html_ = to_html
