"""The chart sets what the services can be set, both ways: no name is unknown, and none is missing."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_alerts.settings import AlertsSettings
from graphtide_backfill.settings import BackfillSettings
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_matcher_algebra.settings import Settings as AlgebraSettings
from graphtide_matcher_event_pattern.settings import Settings as EventPatternSettings
from graphtide_matcher_simulation.settings import Settings as SimulationSettings
from graphtide_matcher_sjtree.settings import Settings as SjTreeSettings
from graphtide_matcher_timing.settings import Settings as TimingSettings
from graphtide_planner.settings import PlannerSettings
from graphtide_preprocess.settings import Settings as PreprocessSettings
from graphtide_statistics.settings import StatisticsSettings
from graphtide_testing.charts import CHART, SETS, render
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_settings import BaseSettings

SETTINGS: list[type[BaseSettings]] = [
    AdminApiSettings,
    AlertsSettings,
    AlgebraSettings,
    BackfillSettings,
    EventPatternSettings,
    IngestionSettings,
    PlannerSettings,
    PreprocessSettings,
    SimulationSettings,
    SjTreeSettings,
    StatisticsSettings,
    TimingSettings,
]

NOT_CONFIGURED = {
    "INGESTION_TICKET_SECRET": "tickets are those of the admin API",
    "HEALTH__HOSTS": "health is asked under addresses and names of the cluster, which are known anyway",
    "SCALING__SERVER": "the address that every cluster has",
    "SCALING__TOKEN": "where every pod has it",
    "SCALING__AUTHORITIES": "where every pod has them",
    "SCALING__IDENTITY": "the name of the pod, which it knows",
}
"""How names end that the chart leaves alone, each with the reason."""

OTHERS = {
    "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_METRICS_EXPORTER", "OTEL_RESOURCE_ATTRIBUTES",
    "GRAPHTIDE_SERVER", "GRAPHTIDE_EDGES_SERVER", "GRAPHTIDE_API_KEY",
}  # fmt: skip
"""Names that are OpenTelemetry's, or those of the command line, which the round trip uses."""


def prefix(settings: type[BaseSettings]) -> str:
    return settings.model_config["env_prefix"]


def names(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Yield the names of a model's variables, those of models inside it after theirs and `__`."""
    for name, field in model.model_fields.items():
        inner = [each for each in (field.annotation, *getattr(field.annotation, "__args__", ())) if isinstance(each, type)]
        models = [each for each in inner if issubclass(each, BaseModel)]
        if models and getattr(field.annotation, "__origin__", None) not in {list, dict}:
            yield from names(models[0], f"{before}{name.upper()}__")
        else:
            yield f"{before}{name.upper()}"


@cache
def list_variables() -> dict[str, set[str]]:
    """Return the names of variables that some pod of some set has, with their values."""
    found: dict[str, set[str]] = {}
    for values in SETS:
        release = render(over=values)
        for _, pod in release.pods():
            for name, value in release.environment(pod).items():
                found.setdefault(name, set()).add(json.dumps(value))
    return found


def of(settings: type[BaseSettings]) -> set[str]:
    return {name.removeprefix(prefix(settings)) for name in list_variables() if name.startswith(prefix(settings))}


@pytest.mark.parametrize("settings", SETTINGS, ids=prefix)
def test_every_name_is_one_of_the_service(settings: type[BaseSettings]) -> None:
    assert of(settings) - set(names(settings)) == set()


@pytest.mark.parametrize("settings", SETTINGS, ids=prefix)
def test_every_setting_can_be_set(settings: type[BaseSettings]) -> None:
    left = {f"{prefix(settings)}{name}" for name in set(names(settings)) - of(settings)}
    assert {name for name in left if not name.endswith(tuple(NOT_CONFIGURED))} == set()


def test_no_name_is_nobodys() -> None:
    known = tuple(map(prefix, SETTINGS))
    assert {name for name in list_variables() if not name.startswith(known)} == OTHERS


def test_what_the_chart_leaves_unset_is_a_setting_and_is_not_set() -> None:
    every = {f"{prefix(settings)}{name}" for settings in SETTINGS for name in names(settings)}
    assert all(any(name.endswith(end) for name in every) for end in NOT_CONFIGURED)
    assert not any(name.endswith(tuple(NOT_CONFIGURED)) for name in list_variables())


@pytest.mark.parametrize("values", SETS)
def test_every_service_takes_what_the_chart_sets(values: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings read it, so that each value is of its type and within its bounds; what is in Secrets is stood in for."""
    keys = json.dumps([{"name": "ann", "hash": "0" * 64, "scopes": ["edges:write"]}])
    stand_ins = {"API_KEYS": keys, "TICKET_SECRET": "s" * 32, "SHARD": "1"}
    release, read = render(over=values), 0
    for _, pod in release.pods():
        environment = release.environment(pod)
        for settings in SETTINGS:
            mine = {name: value for name, value in environment.items() if name.startswith(prefix(settings))}
            if not mine:
                continue
            with monkeypatch.context() as patch:
                for name, value in mine.items():
                    stand_in = stand_ins.get(name.removeprefix(prefix(settings)), "word")
                    patch.setenv(name, value if isinstance(value, str) else stand_in)
                settings()
                read += 1
    assert read >= len(set(SETTINGS) - {BackfillSettings, PreprocessSettings})


SECTIONS: dict[str, tuple[type[BaseSettings], dict[str, str]]] = {
    "ingestion.settings": (IngestionSettings, {}),
    "sequencer.settings": (IngestionSettings, {}),
    "statistics.settings": (StatisticsSettings, {}),
    "alerts.settings": (AlertsSettings, {}),
    "planner.settings": (PlannerSettings, {}),
    "adminApi.settings": (AdminApiSettings, {}),
    "matcherDefaults.settings": (TimingSettings, {}),
    "preprocess.settings": (PreprocessSettings, {"statistics": "the statistics service counts, unless it is taken away"}),
    "backfill.settings": (BackfillSettings, {"master": "a pod has the cores that it is given, not those of its node"}),
}
"""Where values stand for settings of a service, with those that differ from the service's own default, and why."""


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def plain(value: Any) -> Any:
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return value


@pytest.mark.parametrize("section", SECTIONS)
def test_values_are_those_that_the_service_has_by_itself(section: str) -> None:
    settings, others = SECTIONS[section]
    values: Any = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    for name in section.split("."):
        values = values[name]
    own: Any = settings()
    for name, value in values.items():
        # Services without HTTP of their own have it in a room of settings.
        holder = own.health if name == "stuckSeconds" and hasattr(own, "health") else own
        default = plain(getattr(holder, snake(name)))
        assert (value == default) is (name not in others), name


def test_values_of_scaling_are_those_that_the_planner_has_by_itself() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))["planner"]["scaling"]["settings"]
    own = PlannerSettings().scaling
    # Some way below the limit of a matcher's resources, as the planner's own is said to be.
    assert values.pop("memoryBytes") == 1536 * 1024**2
    assert values == {name: getattr(own, snake(name)) for name in values}
