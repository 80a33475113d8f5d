"""The service is the host under its own name, with settings from its own variables."""

from __future__ import annotations

import pytest
from graphtide_matcher_algebra.bootstrap import SERVICE, matcher
from graphtide_matcher_algebra.settings import Settings
from graphtide_testing.contracts.matcher_service import MatcherServiceContract, Parts


class TestMatcherAlgebra(MatcherServiceContract):
    """The service."""

    @pytest.fixture
    def parts(self) -> Parts:
        """What it consists of."""
        return Parts(SERVICE, Settings, matcher)
