"""Records of presets with a pattern over them, and what loops over the raw records find."""

from __future__ import annotations

from typing import Final

from graphtide_testing.preset_cases.case import PresetCase
from graphtide_testing.preset_cases.flows import FLOWS
from graphtide_testing.preset_cases.hosts import HOSTS
from graphtide_testing.preset_cases.logs import LOGS
from graphtide_testing.preset_cases.networks import NETWORKS
from graphtide_testing.preset_cases.transfers import TRANSFERS
from graphtide_testing.preset_cases.zeek import ZEEK

PRESET_CASES: Final = (*FLOWS, *HOSTS, *LOGS, *NETWORKS, *TRANSFERS, *ZEEK)

__all__ = ["PRESET_CASES", "PresetCase"]
