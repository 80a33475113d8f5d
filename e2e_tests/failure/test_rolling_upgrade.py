"""Matchers that are upgraded one after the other while edges come, and taken back: no match is lost, and none comes twice.

A StatefulSet rolls so: the highest shard is stopped, another version takes its place, and the next shard follows when
that is ready. Versions run side by side all the while, over the same topics and checkpoints.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

import httpx2
import pytest
from graphtide_testing.chaos import SHARDS, Chaos
from graphtide_testing.telemetry import metrics_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VERSIONS: Final = ("0.1.0", "99.0.0")


def next_version(folder: Path) -> dict[str, str]:
    """Return what makes a process say that it is the next version; its code is at hand in one version alone."""
    metadata = folder / f"graphtide_telemetry-{VERSIONS[1]}.dist-info/METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: graphtide-telemetry\nVersion: {VERSIONS[1]}\n")
    return {"PYTHONPATH": str(folder)}


class Rollout:
    """Matchers of a deployment that are replaced in the order of a StatefulSet."""

    def __init__(self, chaos: Chaos) -> None:
        self._chaos = chaos
        self.side_by_side: set[frozenset[str]] = set()

    def roll(self, surroundings: Mapping[str, str]) -> None:
        for service, shards in SHARDS.items():
            for name in [f"{service}.{shard}" for shard in reversed(range(shards))]:
                self._chaos.fleet.replace(name, surroundings, partial(self._is_ready, name), partial(self._chaos.go_on, 1))
                self.side_by_side.add(frozenset(filter(None, map(self.version, self._chaos.health))))
                self._chaos.go_on(5)

    def version(self, name: str) -> str | None:
        """Return the version that a matcher says that it is of; None while it does not answer."""
        with suppress(httpx2.TransportError):
            emitted = metrics_of(httpx2.get(f"http://127.0.0.1:{self._chaos.health[name]}/metrics").text)
            (info,) = (each for each in emitted if each.startswith("target_info"))
            return next(version for version in VERSIONS if f'service_version="{version}"' in info)
        return None

    def _is_ready(self, name: str) -> bool:
        with suppress(httpx2.TransportError):
            return httpx2.get(f"http://127.0.0.1:{self._chaos.health[name]}/readyz").status_code == 200
        return False


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.timeout(1800)
def test_every_match_is_accounted_for_over_an_upgrade_and_back(tmp_path: Path) -> None:
    chaos, newer = Chaos(Random(1), tmp_path), next_version(tmp_path / "next")
    try:
        chaos.start()
        chaos.go_on(20)
        rollout = Rollout(chaos)
        rollout.roll(newer)
        assert {rollout.version(name) for name in chaos.health} == {VERSIONS[1]}
        rollout.roll({})
        assert {rollout.version(name) for name in chaos.health} == {VERSIONS[0]}
        assert frozenset(VERSIONS) in rollout.side_by_side
        assert chaos.settle() == {}
        assert chaos.ended == []
    finally:
        chaos.end()
