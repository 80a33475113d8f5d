"""The commands and what they are called.

A verb's module is imported when the verb is used, and no earlier. Help, completion and every other verb do without it and the
libraries that it needs. A verb of an extra that is not installed is in the lists, and says how to get it when it is used.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from graphtide.cli.coercion import let_pass
from graphtide.cli.examples import show_examples
from graphtide.cli.quiet import Quiet, add_quiet
from graphtide.cli.signals import starting, status_of_interrupt
from graphtide.extras import needing

if TYPE_CHECKING:
    # typer's own copy of click.
    from typer._click import Command, Context, HelpFormatter

_ON_STREAMS: Final = "Commands"
_WITH_A_SERVER: Final = "With a server"


class Verb(NamedTuple):
    """A command before it is loaded.

    Attributes:
        module: where its function, or its `typer.Typer`, is.
        attribute: the function's name there.
        help: what the list of commands says: the first paragraph of its own help.
        panel: the list that shows it.
        extra: the one that its module comes with, if every installation does not have it.
    """

    module: str
    attribute: str
    help: str
    panel: str = _ON_STREAMS
    extra: str | None = None


VERBS: Final = {
    "match": Verb(
        "graphtide.cli.match",
        "match",
        "Find every match of the patterns in a stream, each when its last edge arrives.",
    ),
    "explain": Verb(
        "graphtide.cli.explain",
        "explain",
        "Show the plan of each pattern: decomposition, join order, estimated and actual cardinalities.",
    ),
    "validate": Verb(
        "graphtide.cli.validate",
        "validate",
        "Check a pattern file; status 2 and the place of the first error if it is invalid.",
    ),
    "generate": Verb(
        "graphtide.cli.generate",
        "generate",
        "Write a seeded stream with planted instances of a pattern, near misses, and what was planted.",
    ),
    "statistics": Verb(
        "graphtide.cli.statistics",
        "statistics",
        "Count the edge types, 2-edge paths and degrees of a stream, over all of it or over windows of time.",
    ),
    "streams": Verb(
        "graphtide.cli.statements",
        "app",
        "Check STREAM statements, which say what the records of a stream mean, and list those that come with graphtide.",
    ),
    "backfill": Verb(
        "graphtide.cli.backfill",
        "backfill",
        "Find every match of the patterns in history: the same as on the live stream, in slices of time on Spark.",
    ),
    "preprocess": Verb("graphtide.cli.preprocess", "app", "Look at the job that orders streams on Spark."),
    "capacity": Verb(
        "graphtide.cli.capacity",
        "capacity",
        "Say what a deployment needs for a load: partitions, cores, memory, Redis and disk of Kafka.",
    ),
    "demo": Verb(
        "graphtide.cli.demo",
        "demo",
        "Generate a day of network flows with planted exfiltrations and near misses, find them, and check what was found.",
    ),
    "dev": Verb("graphtide.cli.dev", "app", "Run all services in one process, to try things."),
    "bench": Verb(
        "graphtide_bench.cli",
        "app",
        "Measure the engines over seeded workloads; every run checks its matches.",
        extra="bench",
    ),
    "apply": Verb(
        "graphtide.cli.server",
        "apply",
        "Register the STREAM statements and patterns of a file, or update registered ones to match it.",
        _WITH_A_SERVER,
    ),
    "get": Verb("graphtide.cli.server", "get", "List patterns and their status.", _WITH_A_SERVER),
    "describe": Verb(
        "graphtide.cli.server",
        "describe",
        "Show a pattern in full: its text, status, host and plan.",
        _WITH_A_SERVER,
    ),
    "wait": Verb(
        "graphtide.cli.server",
        "wait",
        "Wait until patterns are in a state; status 1 if one fails, or takes too long.",
        _WITH_A_SERVER,
    ),
    "tail": Verb(
        "graphtide.cli.server",
        "tail",
        "Write the last matches of a pattern, and then new ones as they are reported, one JSON object a line.",
        _WITH_A_SERVER,
    ),
    "partial": Verb(
        "graphtide.cli.partial",
        "partial",
        "Write the partial matches of a pattern that are nearest to completion, one JSON object a line.",
        _WITH_A_SERVER,
    ),
    "results": Verb(
        "graphtide.cli.server",
        "results",
        "Write the results of a streaming graph query that are valid at a time, one JSON object a line.",
        _WITH_A_SERVER,
    ),
    "pause": Verb(
        "graphtide.cli.server",
        "pause",
        "Pause patterns; matches that complete meanwhile are never reported.",
        _WITH_A_SERVER,
    ),
    "resume": Verb(
        "graphtide.cli.server",
        "resume",
        "Resume patterns from now on; one that a limit ended continues as its next version.",
        _WITH_A_SERVER,
    ),
    "delete": Verb("graphtide.cli.server", "delete", "Delete patterns.", _WITH_A_SERVER),
    "round-trip": Verb(
        "graphtide.cli.round_trip",
        "round_trip",
        "Register a pattern, send two edges that match it, wait for the match, and delete the pattern; status 1 if none comes.",
        _WITH_A_SERVER,
    ),
}
"""Every command by its name, in the order of the list."""

_BEGIN: Final = """\
Begin here:

  graphtide demo                        find planted attacks in a generated day of network flows
  graphtide dev up --demo               see streams, patterns and matches live in your browser
  graphtide streams presets             list statements for files that many people have: Zeek, CloudTrail, PaySim
  graphtide streams check PRESET FILE   see the first ten records of a file as edges
  graphtide match PATTERNS FILE         find the matches of patterns in a file: CSV, JSON Lines, Parquet, Arrow
  graphtide explain PATTERNS FILE       see how a pattern is matched, and why nothing matched
"""
"""What somebody who gave no command may do next."""


@cache
def load(name: str) -> Command:
    """Return the command of a verb, its module imported.

    Raises:
        FatalError: the verb needs an extra that is not installed.
    """
    verb = VERBS[name]
    with needing(verb.extra, name) if verb.extra else nullcontext():
        made = getattr(import_module(verb.module), verb.attribute)
    if not isinstance(made, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(name)(made)
        made = alone
    command = get_command(made)
    add_quiet(command)
    let_pass(command)
    show_examples(name, command)
    return command


class _Unloaded(TyperCommand):
    """Stands for a command in lists; to use it gets a context of the command itself."""

    def __init__(self, name: str, verb: Verb) -> None:
        """Know what the list of commands says."""
        super().__init__(name, help=verb.help, rich_help_panel=verb.panel, rich_markup_mode=None)

    def make_context(self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: Any) -> Context:
        """Load the command, and let it make the context."""
        with starting():
            return load(str(self.name)).make_context(info_name, args, parent, **extra)


class _Commands(TyperGroup):
    """All commands; a signal ends each of them with an exit status that names the signal."""

    def __init__(self, **settings: Any) -> None:
        """Fill the list; nothing is loaded yet."""
        super().__init__(**settings)
        for name, verb in VERBS.items():
            self.add_command(_Unloaded(name, verb))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the options before the command; that of completion is among them by now."""
        let_pass(self)
        if not args and not ctx.resilient_parsing:
            typer.echo(f"{_BEGIN}\n{ctx.get_help()}")
            raise typer.Exit
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            from graphtide.cli.status import say_interrupted  # noqa: PLC0415 - others do without

            say_interrupted(error)
            raise typer.Exit(status_of_interrupt(error)) from error

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the lists of commands."""
        panels: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name in self.list_commands(ctx):
            panels[VERBS[name].panel].append((name, VERBS[name].help))
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


app = typer.Typer(
    name="graphtide",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Panels and colours of help would cost more time than the longest verb takes to start.
    rich_markup_mode=None,
)


def _show_version(asked: bool) -> None:
    if asked:
        from graphtide import __version__  # noqa: PLC0415 - it looks for the package's metadata

        typer.echo(f"graphtide {__version__}")
        raise typer.Exit


@app.callback()
def graphtide(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Find patterns in streams of graph edges the moment they complete."""
