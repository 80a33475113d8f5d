"""Chaos over several shards and producers: no match is lost, repeated, or reported before its pattern's start."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from graphtide_testing.chaos import Chaos

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_match_is_accounted_for_after_any_kills(tmp_path: Path, seed: int) -> None:
    chaos = Chaos(Random(seed), tmp_path)
    try:
        chaos.start()
        chaos.run(40)
        chaos.be_calm(10)
        assert chaos.settle() == {}
        assert chaos.answered > 0, "graph queries must be among the patterns"
        assert chaos.enemy.odd > 0, "the enemy must have written odd records"
        assert chaos.waited, "matches must come in the calm time"
    finally:
        chaos.end()
