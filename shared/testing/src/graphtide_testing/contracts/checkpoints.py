"""What a keeper of checkpoints must do.

An implementation's tests subclass the suite and give it the fixture `store`. Keys are new in every test.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

import pytest

from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from graphtide_core.ports.checkpoints import CheckpointStore


class CheckpointContract:
    """Manifests and their segments, replaced together."""

    @pytest.fixture
    def key(self) -> str:
        """A key that no other test uses."""
        return uuid.uuid4().hex

    def test_there_is_none_before_the_first(self, store: CheckpointStore, key: str) -> None:
        """It has no segments either, but asking for none gives none."""
        assert store.manifest(key) is None
        assert store.segments(key, ["a"]) is None
        assert store.segments(key, []) == []

    def test_what_was_saved_is_given_back_in_the_order_asked(self, store: CheckpointStore, key: str) -> None:
        """Any bytes will do, none too."""
        store.save(key, b"m\x00\xff", {"a": b"\x00\xff", "b": b"", "c": b"3"}, [])
        assert store.manifest(key) == b"m\x00\xff"
        assert store.segments(key, ["c", "a", "b"]) == [b"3", b"\x00\xff", b""]

    def test_segments_neither_added_nor_kept_are_dropped(self, store: CheckpointStore, key: str) -> None:
        """One that is gone makes the whole of no use."""
        store.save(key, b"1", {"a": b"1", "b": b"2"}, [])
        store.save(key, b"2", {"c": b"3"}, ["b"])
        assert store.manifest(key) == b"2"
        assert store.segments(key, ["b", "c"]) == [b"2", b"3"]
        assert store.segments(key, ["a", "b"]) is None

    def test_a_segment_that_was_not_there_is_not_kept(self, store: CheckpointStore, key: str) -> None:
        """Keeping makes nothing."""
        store.save(key, b"1", {}, ["a"])
        assert store.segments(key, ["a"]) is None

    def test_a_segment_of_the_same_name_is_replaced(self, store: CheckpointStore, key: str) -> None:
        """The last one counts."""
        store.save(key, b"1", {"a": b"1"}, [])
        store.save(key, b"2", {"a": b"2"}, ["a"])
        assert store.segments(key, ["a"]) == [b"2"]

    def test_what_expired_is_gone_and_others_are_not(self, store: CheckpointStore, key: str) -> None:
        """Expiring nothing is not an error, nor is expiring twice."""
        store.save(key, b"1", {"a": b"1"}, [])
        store.save(f"{key}2", b"2", {"a": b"2"}, [])
        store.expire(key, 0)
        store.expire(key, 0)
        assert (store.manifest(key), store.segments(key, ["a"])) == (None, None)
        assert (store.manifest(f"{key}2"), store.segments(f"{key}2", ["a"])) == (b"2", [b"2"])

    def test_what_is_to_expire_is_there_until_then(self, store: CheckpointStore, key: str) -> None:
        """Whole."""
        store.save(key, b"1", {"a": b"1"}, [])
        store.expire(key, 60)
        assert (store.manifest(key), store.segments(key, ["a"])) == (b"1", [b"1"])

    def test_what_is_saved_again_does_not_expire(self, store: CheckpointStore, key: str) -> None:
        """Not what was kept of before either."""
        store.save(key, b"1", {"a": b"1"}, [])
        store.expire(key, 1)
        expired = time.monotonic() + 1.1
        store.save(key, b"2", {"b": b"2"}, ["a"])
        wait_until(lambda: time.monotonic() >= expired, 10)
        assert (store.manifest(key), store.segments(key, ["a", "b"])) == (b"2", [b"1", b"2"])
