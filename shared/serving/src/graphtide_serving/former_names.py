"""Read settings by their former names, so that a renamed environment variable still works.

The present name takes precedence. A former name warns, once for each start.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic.fields import FieldInfo


class FormerNames(PydanticBaseSettingsSource):
    """Environment variables under former names; put it after all other sources."""

    def __init__(self, settings_cls: type[BaseSettings], former: Mapping[str, str]) -> None:
        """Take the former name of each renamed field, without the prefix."""
        super().__init__(settings_cls)
        self._former = former

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of a field under its former name, None if that is not set."""
        del field
        prefix = self.config.get("env_prefix", "").upper()
        former = f"{prefix}{self._former[field_name].upper()}"
        value = os.environ.get(former)
        if value is not None:
            message = f"{former} is deprecated: use {prefix}{field_name.upper()}"
            warnings.warn(message, FutureWarning, stacklevel=3)
        return value, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values that are set under former names, by the present names of their fields."""
        fields = self.settings_cls.model_fields
        found = {name: self.get_field_value(fields[name], name)[0] for name in self._former}
        return {name: value for name, value in found.items() if value is not None}
