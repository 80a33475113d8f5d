"""What all tests share: how hard Hypothesis tries. `HYPOTHESIS_PROFILE=slow` tries harder, as `make test-slow` does."""

import os

import pytest
from hypothesis import HealthCheck, settings

# Suites that tests subclass shall say what differs, as tests do.
pytest.register_assert_rewrite("graphtide_testing.contracts")

pytest_plugins = [
    "graphtide_testing.bytecode",
    "graphtide_testing.garbage",
    "graphtide_testing.log_settings",
    "graphtide_testing.orphans",
    "graphtide_testing.recoveries",
    "graphtide_testing.scheduling",
    "graphtide_testing.seeds",
    "graphtide_testing.servers.fixtures",
]

# The same examples at every run: a failure in a change's tests is the change's. `graphtide_testing.seeds` adds a few.
settings.register_profile(
    "fast", max_examples=16, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("slow", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
