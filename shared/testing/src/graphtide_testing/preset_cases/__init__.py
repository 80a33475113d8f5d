"""Records of presets with a pattern over them, and what loops over the raw records find."""

from __future__ import annotations

from typing import Final

from graphtide_testing.preset_cases.case import PresetCase
from graphtide_testing.preset_cases.logs import LOGS
from graphtide_testing.preset_cases.transfers import TRANSFERS

PRESET_CASES: Final = (*LOGS, *TRANSFERS)

__all__ = ["PRESET_CASES", "PresetCase"]
