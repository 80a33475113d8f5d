"""A renamed setting is read under its former name too, with a warning."""

from __future__ import annotations

import pytest
from graphtide_serving.former_names import FormerNames
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict


class Renamed(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="GRAPHTIDE_TEST_")

    counts_seconds: float = 2.0

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *sources: PydanticBaseSettingsSource, **others: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (*sources, *others.values(), FormerNames(settings_cls, {"counts_seconds": "figures_seconds"}))


def test_a_former_name_is_read_with_a_warning_that_gives_the_present_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHTIDE_TEST_FIGURES_SECONDS", "0.5")
    with pytest.warns(FutureWarning, match="GRAPHTIDE_TEST_FIGURES_SECONDS is deprecated: use GRAPHTIDE_TEST_COUNTS_SECONDS"):
        assert Renamed().counts_seconds == 0.5


def test_the_present_name_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHTIDE_TEST_FIGURES_SECONDS", "0.5")
    monkeypatch.setenv("GRAPHTIDE_TEST_COUNTS_SECONDS", "0.25")
    with pytest.warns(FutureWarning):
        assert Renamed().counts_seconds == 0.25


def test_without_a_former_name_nothing_warns(recwarn: pytest.WarningsRecorder) -> None:
    assert Renamed().counts_seconds == 2.0
    assert not list(recwarn)
