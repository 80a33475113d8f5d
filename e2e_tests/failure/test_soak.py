"""A short soak: under a random mix of faults every match comes once, adversaries are limited, and no process ends by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from graphtide_testing.resident_memory import Patience
from graphtide_testing.soak import Soak

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.timeout(1800)
def test_a_deployment_under_faults_of_all_kinds_matches_everything_once(tmp_path: Path) -> None:
    lines: list[str] = []
    soak = Soak(tmp_path, seed=3, rate=100, minutes=1.5)
    try:
        soak.start()
        soak.run(lines.append)
        wrong = soak.settle()
    finally:
        soak.end()
    assert wrong == {}, lines
    # There was something to be right about, and faults of all kinds.
    assert soak.completed == soak.load.completing > 4_000
    assert {*soak.faults.done} == {"records", "checkpoints", "adversaries", "simulations", "odd headers"}
    assert min(soak.fleet.killed, soak.faults.slow.made, soak.letters["future"], soak.letters["malformed"]) > 0
    # It is too short for a slope; growth by half would be no noise.
    lives = [
        life for lives in soak.memory.values() for life in lives.measured_lives(Patience(warm_seconds=30, measured_seconds=30))
    ]
    assert lives
    assert all(life[-1].resident_bytes < 1.5 * life[0].resident_bytes for life in lives)
