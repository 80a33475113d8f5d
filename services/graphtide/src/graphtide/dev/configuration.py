"""`python -m graphtide.dev.configuration FILE` writes every setting of every service, which the documentation holds.

Names, types, bounds and defaults are those of the settings' classes; meanings are in their docstrings under `Attributes`.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
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
from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic.fields import FieldInfo
    from pydantic_settings import BaseSettings

PROGRAMS: Final[dict[str, type[BaseSettings]]] = {
    "graphtide-ingestion": IngestionSettings,
    "graphtide-admin-api": AdminApiSettings,
    "graphtide-planner": PlannerSettings,
    "graphtide-statistics": StatisticsSettings,
    "graphtide-matcher-timing": TimingSettings,
    "graphtide-matcher-sjtree": SjTreeSettings,
    "graphtide-matcher-simulation": SimulationSettings,
    "graphtide-matcher-algebra": AlgebraSettings,
    "graphtide-matcher-event-pattern": EventPatternSettings,
    "graphtide-preprocess": PreprocessSettings,
    "graphtide-backfill": BackfillSettings,
    "graphtide-alerts": AlertsSettings,
}
"""The settings of each program."""

_HEAD: Final = """\
# Configuration

Look up the environment variables of every service. A variable is the service's prefix and the setting, with `__` between a
group and its member; `…` stands for the prefix. Lists and objects are JSON. An unset variable has its default. A bad value ends
the service at its start with an error that names it. The variables of [OpenTelemetry](telemetry.md#where-it-goes), `OTEL_*`,
apply too.

A *secret* appears in no log and no error. `python -m graphtide.dev.configuration docs/reference/configuration.md` writes this
page from the settings' classes.
"""

_MATCHER: Final = "graphtide-matcher-"

_FEWEST_SHARED: Final = 5
"""Settings that the same programs share have a table of their own if there are so many of them."""

_NAMES: Final = {bool: "`true`, `false`", int: "integer", float: "number", str: "text", Path: "path", SecretStr: "text"}
_BOUNDS: Final = ((Ge, "ge", "from {}"), (Gt, "gt", "above {}"), (Le, "le", "to {}"), (Lt, "lt", "below {}"))
_ATTRIBUTE: Final = re.compile(r"^(\w+): (.*)$")


class Setting(NamedTuple):
    """One variable: its name with the prefix, what it may be, its default as it is written, and its meaning."""

    name: str
    type: str
    default: str | None
    is_secret: bool
    meaning: str


def settings_of(program: str) -> list[Setting]:
    """Return the settings of a program, in the order of their classes."""
    model = PROGRAMS[program]
    default = _Defaults(model, is_given=True)
    return list(_settings(model, _prefix(program), default))


def page() -> str:
    """Return the page of the documentation."""
    shared = _share()
    return "\n".join(
        [
            _HEAD,
            *(_table(f"## Settings of {_title(programs)}", "", settings, "…") for programs, settings in shared.items()),
            *(_section(program, shared) for program in PROGRAMS),
        ]
    )


def _share() -> dict[tuple[str, ...], list[Setting]]:
    """Return settings that are the same but for the prefix, by the programs that have them; those of most programs first."""
    having: dict[Setting, list[str]] = {}
    for program in PROGRAMS:
        for each in settings_of(program):
            having.setdefault(each._replace(name=each.name.removeprefix(_prefix(program))), []).append(program)
    found: dict[tuple[str, ...], list[Setting]] = {}
    for setting, programs in having.items():
        found.setdefault(tuple(programs), []).append(setting)
    ordered = sorted(found.items(), key=lambda each: -len(each[0]))
    return {programs: settings for programs, settings in ordered if len(programs) > 1 and len(settings) >= _FEWEST_SHARED}


def _prefix(program: str) -> str:
    return str(PROGRAMS[program].model_config.get("env_prefix", ""))


def _title(programs: tuple[str, ...]) -> str:
    """Name a set of programs: all, or all but a few, or each."""
    if len(programs) == len(PROGRAMS):
        return "every service"
    others = [program for program in PROGRAMS if program not in programs]
    with_, without = _names(programs), _names(others)
    return " and ".join(with_) if len(with_) <= len(without) else f"every service except {' and '.join(without)}"


def _names(programs: Sequence[str]) -> list[str]:
    """Return the names of programs; matchers are named together if all are among them."""
    matchers = [program for program in PROGRAMS if program.startswith(_MATCHER)]
    if not set(matchers) <= set(programs):
        return [program.removeprefix("graphtide-") for program in programs]
    rest = [program.removeprefix("graphtide-") for program in programs if program not in matchers]
    return [*rest, "matcher services"]


class _Defaults:
    """The defaults of a model's fields: those of its class, or of the value that a field of another model has."""

    def __init__(self, model: type[BaseModel], value: BaseModel | None = None, *, is_given: bool) -> None:
        self._model = model
        self._value = value
        self._is_given = is_given

    def of(self, name: str, field: FieldInfo) -> object:
        """Return a default, `PydanticUndefined` without one."""
        if not self._is_given:
            return PydanticUndefined
        return getattr(self._value, name) if self._value is not None else field.get_default(call_default_factory=True)


def _settings(model: type[BaseModel], prefix: str, defaults: _Defaults) -> Iterator[Setting]:
    meanings = _meanings(model)
    for name, field in model.model_fields.items():
        default = defaults.of(name, field)
        group = _group(field.annotation)
        if group is not None:
            value = default if isinstance(default, BaseModel) else None
            yield from _settings(group, f"{prefix}{name.upper()}__", _Defaults(group, value, is_given=value is not None))
            continue
        if name not in meanings:
            message = f"{model.__name__}.{name} has no meaning in a docstring"
            raise ValueError(message)
        configured = [_kind(field.annotation), *_bounds(field.metadata)]
        is_secret = _is_secret(field.annotation)
        yield Setting(prefix + name.upper(), ", ".join(configured), _write_default(default), is_secret, meanings[name])


def _group(annotation: object) -> type[BaseModel] | None:
    """Return the model whose fields are settings of their own; None where the field is one."""
    for each in (annotation, *get_args(annotation)) if get_origin(annotation) in {Union, UnionType} else (annotation,):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


def _meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of attributes."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        _, _, section = (inspect.cleandoc(each.__doc__) if each.__doc__ and each is not object else "").partition(
            "Attributes:\n"
        )
        name = ""
        for line in section.splitlines():
            configured = _ATTRIBUTE.match(line.removeprefix("    "))
            if configured is not None and line.startswith("    ") and not line.startswith("     "):
                name = configured[1]
                found[name] = configured[2]
            elif name and line.strip():
                found[name] += " " + line.strip()
    return found


def _kind(annotation: Any) -> str:
    """Return what values there are, in words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(parts[0])
    if origin in {Union, UnionType}:
        return " or ".join(_kind(each) for each in parts if each is not NoneType)
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in parts)
    if origin in {list, tuple, frozenset}:
        return "JSON list"
    if origin is dict:
        return "JSON object"
    if issubclass(annotation, Enum):
        return ", ".join(f"`{each.value}`" for each in annotation)
    return _NAMES[annotation]


def _bounds(metadata: list[Any]) -> Iterator[str]:
    for kind, name, words in _BOUNDS:
        for each in metadata:
            if isinstance(each, kind):
                yield words.format(f"{getattr(each, name):,}" if getattr(each, name) < 10**9 else getattr(each, name))


def _is_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(_is_secret(each) for each in get_args(annotation))


def _write_default(default: object) -> str | None:
    """Return a default as it would be written; None without one."""
    match default:
        case None:
            return None
        case _ if default is PydanticUndefined:
            return None
        case SecretStr():
            return default.get_secret_value()
        case Enum():
            return str(default.value)
        case bool():
            return str(default).lower()
        case str() | int() | float() | Path():
            return str(default)
        case frozenset():
            return json.dumps(sorted(default))
        case _:
            return json.dumps(default)


def _section(program: str, shared: Mapping[tuple[str, ...], Sequence[Setting]]) -> str:
    """Return the section of a program: links to the tables that it shares, and its own settings."""
    prefix = _prefix(program)
    links, elsewhere = [], set()
    for programs, settings in shared.items():
        if program in programs:
            links.append(f"[{_title(programs)}](#settings-of-{_title(programs).replace(' ', '-')})")
            elsewhere |= {prefix + each.name for each in settings}
    own = [each for each in settings_of(program) if each.name not in elsewhere]
    text = f"Prefix `{prefix}`; also the settings of {', of '.join(links)}."
    return _table(f"## {program}", text, own, "")


def _table(heading: str, text: str, settings: Iterable[Setting], before: str) -> str:
    lines = [
        heading,
        "",
        *([text, ""] if text else []),
        "| variable | value | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*lines, *(_row(each, before) for each in settings)]) + "\n"


def _row(setting: Setting, before: str) -> str:
    default = f"`{setting.default}`" if setting.default else ""
    value = f"{setting.type}; secret" if setting.is_secret else setting.type
    return f"| `{before}{setting.name}` | {value} | {default} | {setting.meaning} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
