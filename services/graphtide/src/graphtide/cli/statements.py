"""`graphtide streams`: STREAM statements by themselves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from graphtide_core.formats import FORMATS

from graphtide.cli.arguments import MOST_AT_ONCE, URL, ApiKey, StreamFile, Token, Url, choice
from graphtide.cli.progress import ProgressBar
from graphtide.cli.status import DONE, say, status_of_share
from graphtide.cli.streams import MAX_REJECTED, Format, MaxRejected, max_rejected_of
from graphtide.stream_check import MOST_RECORDS, SHOWN

if TYPE_CHECKING:
    from graphtide.stream_check import CheckedStream

_WIDTH: Final = 120

app = typer.Typer(
    help="Check STREAM statements, which say what the records of a stream mean, and list those that come with graphtide.",
    rich_markup_mode=None,
)


@app.callback()
def streams() -> None:
    """Check STREAM statements, which say what the records of a stream mean, and list those that come with graphtide."""


@app.command()
def presets(
    name: Annotated[str | None, typer.Argument(help="Print the statement of this name.", show_default=False)] = None,
    *,
    pattern: Annotated[bool, typer.Option("--pattern", help="Print a pattern over this statement in its place.")] = False,
) -> None:
    """List the statements that come with graphtide, or print one, to use as it is or to change."""
    from graphtide_query import presets  # noqa: PLC0415 - help does without

    if name is not None:
        typer.echo(presets.read_preset_pattern(name) if pattern else presets.read_preset(name), nl=False)
        return
    if pattern:
        message = "--pattern prints the pattern over one preset: give its NAME"
        raise typer.BadParameter(message)
    width = max(map(len, presets.preset_names()))
    for each in presets.preset_names():
        typer.echo(f"{each:<{width}}  {presets.describe_preset(each)}")


@app.command("delete-statement")
def delete_statement(
    stream: Annotated[str, typer.Argument(help="Name of a stream of a server.", show_default=False)],
    *,
    server: Url = URL,
    api_key: ApiKey = None,
    token: Token = None,
) -> None:
    """Delete the statement of a stream of a server: from the next record on, records are read as edges without one."""
    from graphtide.server import Access, Server  # noqa: PLC0415 - other commands talk to no server

    with Server(Access(server, api_key, token)) as there:
        there.delete_statement(stream)
    typer.echo(f"stream {stream}: statement deleted")


@app.command()
def check(
    statement_file: Annotated[
        str, typer.Argument(help="File with one STREAM statement, or the name of a preset.", show_default=False)
    ],
    stream_file: StreamFile,
    *,
    format: Format = None,
    records: Annotated[
        int, typer.Option(min=1, max=MOST_AT_ONCE, help="Records after which no more are read; a block is read whole.")
    ] = MOST_RECORDS,
    shown: Annotated[int, typer.Option(min=0, max=1_000, help="Edges and events to show.")] = SHOWN,
    max_rejected: MaxRejected = MAX_REJECTED,
) -> None:
    """Read the beginning of a stream by a statement, and show what it makes of it.

    Writes the first edges and events as a table, and behind them the first that EMIT gives of windows. It says how many
    records gave some, were filtered or were rejected, and why.
    Status 2 if the statement is invalid, 3 if no record could be used, 5 if more were rejected than --max-rejected allows.
    """
    from graphtide_query.presets import preset_names  # noqa: PLC0415 - help does without

    from graphtide.stream import Stream  # noqa: PLC0415 - as above
    from graphtide.stream_check import check_stream  # noqa: PLC0415 - as above

    most = max_rejected_of(max_rejected)
    kind = None if format is None else choice(format, FORMATS, "--format")
    is_preset = statement_file in preset_names() and not Path(statement_file).exists()
    stream = Stream.preset(statement_file) if is_preset else Stream.from_file(statement_file)
    with ProgressBar("reading"):
        found = check_stream(stream.definition, stream_file, format=kind, shown=shown, most=records)
    typer.echo(_table(found), nl=False)
    for text in found.rejections.sentences(found.records, found.place, "their lines are in the order of the stream"):
        say(text)
    if (status := status_of_share(found.rejections.count, found.records, most)) != DONE:
        raise typer.Exit(status)


def _table(found: CheckedStream) -> str:
    from rich.console import Console  # noqa: PLC0415 - help does without tables
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table()
    for name in (found.place, "time", "id", "edge or event", "attributes"):
        table.add_column(name, overflow="fold")
    rows = (*found.shown, *found.shown_emitted)
    for each in rows:
        place = "EMIT" if each.record is None else str(each.record)
        # What is in square brackets is not markup.
        table.add_row(*map(Text, (place, each.time, each.id, each.drawn, ", ".join(each.attributes))))
    file = io.StringIO()
    if rows:
        Console(file=file, width=_WIDTH).print(table)
    whole = "" if found.is_whole else "the first "
    counted = f"{found.given:,} edges and events, {found.filtered:,} filtered, {found.rejections.count:,} rejected"
    if found.definition.windows.emissions:
        counted += f", {found.emitted:,} emitted"
    return f"{file.getvalue()}{whole}{found.records:,} record{'s' * (found.records != 1)}: {counted}\n"
