"""Since when the edges that a pass selects are complete, and have the attributes that plans read.

Plans come while a pass runs, and each may want edges and attributes that no plan before it wanted. A checkpoint holds the
selected edges; its readers see by this whether they are all that a plan needs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphtide_matcher_host.assignment import Assignment

ALWAYS: Final = -(2**63)
"""The time of the first edge that can be."""


class Coverage:
    """What the selected edges of a pass cover.

    Attributes:
        attributes: those that edges are decoded with.
    """

    def __init__(self, attributes: Sequence[str], assignments: Iterable[Assignment]) -> None:
        """Cover the needs of plans since the first edge."""
        self.attributes = tuple(attributes)
        self._counts = Counter(form for each in assignments for form in each.forms)
        self._forms_since: dict[str, int] = {}
        self._attributes_since: dict[str, int] = {}
        self._forms: Mapping[str, int] | None = None

    @property
    def forms(self) -> Mapping[str, int]:
        """Canonical forms of the query edges that plans have, with the time since which all such edges were selected.

        It is the same object until plans come or go.
        """
        if self._forms is None:
            self._forms = {form: self._forms_since.get(form, ALWAYS) for form in self._counts}
        return self._forms

    @property
    def attributes_since(self) -> dict[str, int]:
        """The time since which the selected edges have each attribute."""
        return {each: self._attributes_since.get(each, ALWAYS) for each in self.attributes}

    def restore(self, forms: Mapping[str, int], attributes: Mapping[str, int]) -> None:
        """Take over since when edges were selected elsewhere, and had attributes."""
        self._forms_since = {form: time for form, time in forms.items() if form in self._counts and time > ALWAYS}
        self._attributes_since = dict(attributes)
        self._forms = None

    def extend(self, attributes: Sequence[str], since: int) -> None:
        """Decode edges with more attributes since a time; the present ones come first among them."""
        self._attributes_since |= dict.fromkeys(attributes[len(self.attributes) :], since)
        self.attributes = tuple(attributes)

    def add(self, assignment: Assignment, since: int) -> None:
        """Select for one more plan; what no other plan wants, since a time."""
        self._forms_since |= {form: since for form in assignment.forms if form not in self._counts and since > ALWAYS}
        self._counts.update(assignment.forms)
        self._forms = None

    def remove(self, assignment: Assignment) -> None:
        """Stop selecting for a plan."""
        self._counts.subtract(assignment.forms)
        for form in assignment.forms:
            if not self._counts[form]:
                del self._counts[form]
                self._forms_since.pop(form, None)
        self._forms = None
