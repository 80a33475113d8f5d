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
        former = self._former.get(field_name)
        return (None if former is None else os.environ.get(self._variable(former))), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the values that are set under former names, by the present names of their fields."""
        found: dict[str, Any] = {}
        for name, former in self._former.items():
            value = os.environ.get(self._variable(former))
            if value is None:
                continue
            message = f"{self._variable(former)} is deprecated: use {self._variable(name)}"
            warnings.warn(message, FutureWarning, stacklevel=2)
            found[name] = value
        return found

    def _variable(self, name: str) -> str:
        return f"{self.config.get('env_prefix', '')}{name}".upper()
