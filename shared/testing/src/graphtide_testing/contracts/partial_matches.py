"""What a store of views of partial matches must do.

An implementation's tests subclass the suite and give it the fixture `store`. Patterns are new in every test.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from graphtide_core.ports.partial_matches import PartialMatchStore


class PartialMatchContract:
    """Views by pattern and part, each for a while."""

    @pytest.fixture
    def pattern(self) -> str:
        """A pattern that no other test uses; its name has what keys of Redis give a meaning to."""
        return f"{{a}}:*é {uuid.uuid4().hex}"

    def test_there_is_none_before_the_first(self, store: PartialMatchStore, pattern: str) -> None:
        """Removing nothing is not an error."""
        store.remove(pattern, "a")
        assert store.views(pattern) == {}

    def test_each_part_has_its_newest_view(self, store: PartialMatchStore, pattern: str) -> None:
        """Any bytes will do, none too."""
        store.put(pattern, "a", b"old", 60)
        store.put(pattern, "b", b"", 60)
        store.put(pattern, "a", b"\x00\xff", 60)
        store.put(f"{pattern}2", "a", b"other", 60)
        assert store.views(pattern) == {"a": b"\x00\xff", "b": b""}

    def test_a_removed_part_is_gone_and_others_are_not(self, store: PartialMatchStore, pattern: str) -> None:
        """Removing twice is not an error."""
        store.put(pattern, "a", b"1", 60)
        store.put(pattern, "b", b"2", 60)
        store.remove(pattern, "a")
        store.remove(pattern, "a")
        assert store.views(pattern) == {"b": b"2"}
        store.remove(pattern, "b")
        assert store.views(pattern) == {}

    def test_a_view_expires_by_itself(self, store: PartialMatchStore, pattern: str) -> None:
        """A view of another part that lasts longer stays, whichever came first."""
        store.put(pattern, "a", b"1", 60)
        store.put(pattern, "b", b"2", 0.2)
        store.put(f"{pattern}2", "b", b"2", 0.2)
        store.put(f"{pattern}2", "a", b"1", 60)
        wait_until(lambda: store.views(pattern) == store.views(f"{pattern}2") == {"a": b"1"}, 30)

    def test_a_view_that_is_put_again_lasts_from_then_on(self, store: PartialMatchStore, pattern: str) -> None:
        """The first expiry does not hold any more."""
        store.put(pattern, "a", b"1", 0.2)
        store.put(pattern, "a", b"2", 60)
        store.put(f"{pattern}2", "a", b"1", 0.2)
        wait_until(lambda: store.views(f"{pattern}2") == {}, 30)
        assert store.views(pattern) == {"a": b"2"}
