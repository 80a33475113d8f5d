"""`--quiet`, which every command takes before and after its name: no progress and no notes.

Errors, and sentences about what was lost, are said all the same.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.main import get_command

if TYPE_CHECKING:
    # typer's own copy of click.
    from typer._click import Command, Parameter

_KEY: Final = "graphtide.quiet"


def _keep(context: typer.Context, asked: bool) -> None:
    # Contexts of one command line share it, so a later word of it does not undo the first.
    if asked:
        context.meta[_KEY] = True


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", expose_value=False, callback=_keep, help="Show no progress and no notes.")
]
"""The option; its function is called without it."""


def is_quiet() -> bool:
    """Return whether the running command shows no progress and no notes."""
    from typer._click.globals import get_current_context  # noqa: PLC0415 - typer does not hand it on

    context = get_current_context(silent=True)
    return context is not None and _KEY in context.meta


def add_quiet(command: Command) -> None:
    """Let a command, and each in a group, take the option."""
    for each in getattr(command, "commands", {}).values():
        add_quiet(each)
    command.params.append(copy(_option()))


@cache
def _option() -> Parameter:
    carrier = typer.Typer(add_completion=False, rich_markup_mode=None)
    carrier.command()(_carry)
    return get_command(carrier).params[0]


def _carry(*, quiet: Quiet = False) -> None:
    """Carry the option."""
