"""The documentation shows every setting of every service as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphtide.dev.configuration import PROGRAMS, page, settings_of
from graphtide_planner.settings import PlannerSettings

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "configuration.md"


def test_the_documentation_shows_the_settings() -> None:
    assert PAGE.read_text("utf-8") == page(), f"run `python -m graphtide.dev.configuration {PAGE.relative_to(ROOT)}`"


def test_every_program_that_has_settings_is_there() -> None:
    found = {path.parent.name for path in ROOT.glob("services/*/src/*/settings.py")}
    assert {settings.__module__.partition(".")[0] for settings in PROGRAMS.values()} == found


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_default_that_is_written_as_it_is_shown_changes_nothing(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, configured = PROGRAMS[program], settings_of(program)
    unreported = model()
    for each in configured:
        if each.default:
            monkeypatch.setenv(each.name, each.default)
    assert model() == unreported
    assert len({each.name for each in configured}) == len(configured)
    assert all(each.name.startswith(str(model.model_config["env_prefix"])) for each in configured)


def test_secrets_are_those_that_no_log_shows() -> None:
    secret = {
        each.name.partition("_")[2].split("_", 1)[-1] for program in PROGRAMS for each in settings_of(program) if each.is_secret
    }
    assert {"KAFKA__PASSWORD", "KAFKA__KEY_PASSWORD"} <= secret


def test_a_setting_of_a_group_is_read_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHTIDE_PLANNER_SCALING__STEP_OUT", "3")
    assert PlannerSettings().scaling.step_out == 3
    (configured,) = [each for each in settings_of("graphtide-planner") if each.name == "GRAPHTIDE_PLANNER_SCALING__STEP_OUT"]
    assert (configured.type, configured.default, configured.is_secret) == ("integer, from 1", "2", False)


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program.startswith("graphtide-matcher-")])
def test_a_matcher_reads_the_former_name_of_a_setting(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = PROGRAMS[program]
    monkeypatch.setenv(f"{model.model_config['env_prefix']}FIGURES_SECONDS", "0.5")
    with pytest.warns(FutureWarning, match="COUNTS_SECONDS"):
        assert model().model_dump()["counts_seconds"] == 0.5
