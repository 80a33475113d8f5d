"""What tests of the planner share."""

from __future__ import annotations

import pytest
from graphtide_testing.planner_world import World


@pytest.fixture
def world() -> World:
    return World()
