"""Several ways of authentication."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphtide_serving.access.callers import Authentication, Caller


class Several:
    """An `Authentication` that asks others, one after the other."""

    def __init__(self, ways: Sequence[Authentication]) -> None:
        """Ask these."""
        self._ways = ways

    def caller(self, api_key: str | None, bearer: str | None) -> Caller | None:
        """Return the first answer."""
        answers = (way.caller(api_key, bearer) for way in self._ways)
        return next((answer for answer in answers if answer is not None), None)
