"""Values of options as typer makes them, without the library that it validates them with, where they need no validation.

That library takes a fifth of the time of a short command. Texts, paths and defaults are as they are given; all else goes
typer's own way, which loads it. Where a version of typer is built otherwise, everything goes its way.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # typer's own copy of click.
    from typer._click import Command, Context


def let_pass(command: Command) -> None:
    """Let values of a command's options pass that need no validation, that of `--help` among them."""
    for param in command.get_params(command.context_class(command)):
        if hasattr(param, "_runtime_param") and hasattr(param, "type_descriptor"):
            param._runtime_param = _AsGiven()  # noqa: SLF001 - typer has no other place for it


class _AsGiven:
    """Coerces the value of one parameter, as typer's `RuntimeParam` does."""

    def coerce(self, value: Any, param: Any, ctx: Context) -> Any:
        """Return the value as the function of the command takes it.

        Raises:
            BadParameter: the parameter does not take it.
        """
        descriptor = param.type_descriptor
        asked = descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        is_plain = descriptor.parameter_info.parser is None and descriptor.file_annotation is None
        if is_plain and asked in (str, int, float) and type(value) is asked:
            return value
        if is_plain and asked == list[str] and isinstance(value, list | tuple) and all(type(each) is str for each in value):
            return list(value)
        if is_plain and asked is Path and isinstance(value, str) and _needs_no_look(value, descriptor.parameter_info):
            return Path(value)
        from typer._coercion import build_runtime_param  # noqa: PLC0415 - what it needs is to be loaded for this alone

        return build_runtime_param(descriptor).coerce(value, param=param, ctx=ctx)


def _needs_no_look(path: str, info: Any) -> bool:
    """Return whether a path is as it is given: nothing is asked of it but that it can be read, if it is there."""
    is_asked = info.exists or info.resolve_path or info.writable or not info.file_okay or not info.dir_okay or info.path_type
    return not is_asked and (not Path(path).exists() or os.access(path, os.R_OK))
