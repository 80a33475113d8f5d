"""Statements for records that many people have: print one, change it, or use it as it is.

A preset is a file of this folder, `NAME.gts`, whose first line says of what it is. The layout is that of the format's own
documentation; each has a sample with the values that it gives among the tests. `NAME.gtp` is a pattern over it, to begin with;
the JSON form of a log, `NAME-json`, has that of the log.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from graphtide_core.errors import InvalidPatternError
from graphtide_core.suggestion import did_you_mean, show

_SUFFIX, _PATTERN_SUFFIX = ".gts", ".gtp"


@cache
def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, sorted."""
    found = (each.name for each in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


def read_preset(name: str) -> str:
    """Return the text of a preset.

    Raises:
        InvalidPatternError: there is none of that name.
    """
    _check(name)
    return files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def read_preset_pattern(name: str) -> str:
    """Return the text of a pattern over a preset; its first line says what it finds.

    Raises:
        InvalidPatternError: there is no preset of that name.
    """
    _check(name)
    return files(__name__).joinpath(name.removesuffix("-json") + _PATTERN_SUFFIX).read_text(encoding="utf-8")


def describe_preset(name: str) -> str:
    """Return what a preset is of, in a sentence.

    Raises:
        InvalidPatternError: there is none of that name.
    """
    first, _, _ = read_preset(name).partition("\n")
    return first.removeprefix("//").strip()


def _check(name: str) -> None:
    if name not in preset_names():
        message = f"there is no preset {show(name)}"
        hint = did_you_mean(name, preset_names()) or f"the presets are {', '.join(preset_names())}"
        raise InvalidPatternError(message, hint=hint)
