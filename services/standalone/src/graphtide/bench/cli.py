"""The commands of `graphtide bench`. Options that take several values take them with commas between."""

# No deferred annotations here: typer reads them when a command runs.
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from graphtide_core.errors import FatalError
from graphtide_core.plan import SjTreeStrategy, Storage
from graphtide_query.planner import AUTO, ENGINES
from rich.console import Console

from graphtide.bench import concurrency as on_threads
from graphtide.bench import known, subgraph
from graphtide.bench import many as at_once
from graphtide.bench import memory as in_memory
from graphtide.bench.cache import DEFAULT_CACHE
from graphtide.bench.compare import compare as compare_reports
from graphtide.bench.measure import SOURCES
from graphtide.bench.report import Report, read, this_machine
from graphtide.bench.summary import by_pattern
from graphtide.bench.workload import WORKLOADS

app = typer.Typer(help="Measure the engines over seeded workloads; every run checks its matches.", no_args_is_help=True)

_STORAGES = tuple(storage.value for storage in Storage)
_WIDTH = 150
_WITH_AUTO = (*ENGINES, AUTO)
_ALL_ENGINES = ",".join(_WITH_AUTO)

Engines = Annotated[str, typer.Option("--engine", help=f"Any of {_ALL_ENGINES}.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Runs of each case; the median counts.")]
Output = Annotated[Path | None, typer.Option("--output", help="Write the results as JSON.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write the tables as Markdown.")]
Cache = Annotated[Path, typer.Option("--cache", help="Folder of generated streams.")]


@app.command("subgraph")
def subgraph_command(
    *,
    workload: Annotated[str, typer.Option("--workload", help=f"Streams: any of {','.join(WORKLOADS)}.")] = "B",
    window: Annotated[str, typer.Option("--window", help="Windows in ticks; the workload's own if not given.")] = "",
    drawn_from: Annotated[
        int | None, typer.Option("--drawn-from", min=1, help="Edges to draw patterns from; as many as the window if not given.")
    ] = None,
    engine: Engines = _ALL_ENGINES,
    storage: Annotated[str, typer.Option("--storage", help=f"Any of {','.join(_STORAGES)}.")] = Storage.MS_DAG.value,
    pattern: Annotated[str, typer.Option("--pattern", help="Only patterns with one of these in their names.")] = "",
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    with_reader: Annotated[
        bool, typer.Option("--with-reader", help="Also read the stream, as CSV and Arrow, in the time.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every workload, window, engine, storage and strategy.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Stream B, window 20,000, one run.")] = False,
    details: Annotated[bool, typer.Option("--details", help="Show every pattern too.")] = False,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match one pattern at a time."""
    names, windows, engines, storages = _split(workload), _numbers(window, "--window"), _split(engine), _split(storage)
    if everything:
        names, windows, engines, storages = tuple(WORKLOADS), (), _WITH_AUTO, _STORAGES
    if quick:
        names, windows, repeats = ("B",), (20_000,), 1
    settings = subgraph.Settings(
        workloads=tuple(WORKLOADS[name] for name in _known(names, WORKLOADS, "--workload")),
        cache=cache,
        windows=windows,
        drawn_from=drawn_from,
        engines=_known(engines, _WITH_AUTO, "--engine"),
        storages=tuple(Storage(name) for name in _known(storages, _STORAGES, "--storage")),
        strategies=tuple(SjTreeStrategy) if everything else (None,),
        sources=SOURCES if with_reader else SOURCES[:1],
        pattern=_split(pattern),
        repeats=repeats,
    )
    with _running() as progress:
        found = subgraph.run(settings, progress)
        if not found:
            message = f"no pattern has {pattern!r} in its name"
            raise typer.BadParameter(message, param_hint="--pattern")
        report = Report("subgraph", this_machine(), known.check(found), measurements=found)
    if details:
        _console().print(by_pattern(found).to_rich())
    _hand_out(report, output, markdown)


@app.command("memory")
def memory_command(
    *,
    edges: Annotated[str, typer.Option("--edges", help="Lengths of stream E.")] = "200000,1000000",
    engine: Engines = _ALL_ENGINES,
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Measure resident memory as the stream gets longer, and the state of each storage."""
    lengths, engines = _numbers(edges, "--edges"), _known(_split(engine), _WITH_AUTO, "--engine")
    with _running() as progress:
        resident = in_memory.resident(lengths, engines, cache, progress=progress)
        storages = in_memory.storages(repeats, cache, progress)
        checked = f"{in_memory.check(resident)} {known.check(storages)}"
        report = Report("memory", this_machine(), checked, measurements=storages, resident=resident)
    _hand_out(report, output, markdown)


@app.command("many")
def many_command(
    *,
    patterns: Annotated[str, typer.Option("--patterns", help="How many patterns in one pass.")] = "1,1000,10000",
    engine: Engines = _ALL_ENGINES,
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match many patterns in one pass."""
    numbers, engines = _numbers(patterns, "--patterns"), _known(_split(engine), _WITH_AUTO, "--engine")
    with _running() as progress:
        runs = at_once.run(numbers, engines, repeats, cache, progress)
        report = Report("many", this_machine(), at_once.check(runs), many=runs)
    _hand_out(report, output, markdown)


@app.command("concurrency")
def concurrency_command(
    *,
    threads: Annotated[str, typer.Option("--threads", help="Numbers of threads.")] = "1,2,4",
    pattern: Annotated[str, typer.Option("--pattern", help="Only patterns with one of these in their names.")] = ",".join(
        on_threads.PATTERNS
    ),
    repeats: Repeats = 3,
    output: Output = None,
    markdown: Markdown = None,
    cache: Cache = Path(DEFAULT_CACHE),
) -> None:
    """Match one pattern on several threads."""
    numbers = _numbers(threads, "--threads")
    with _running() as progress:
        found = on_threads.run(numbers, _split(pattern), repeats, cache, progress)
        report = Report("concurrency", this_machine(), known.check(found), measurements=found)
    _hand_out(report, output, markdown)


@app.command("compare")
def compare_command(
    before: Annotated[Path, typer.Argument(help="A JSON file of an earlier run.")],
    after: Annotated[Path, typer.Argument(help="A JSON file of a later run.")],
    markdown: Markdown = None,
) -> None:
    """Compare two runs."""
    with _running():
        earlier, later = read(before), read(after)
        table = compare_reports(earlier, later)
    console = _console()
    console.print(table.to_rich())
    console.print(f"before: {earlier.machine}\nafter:  {later.machine}", highlight=False)
    if markdown is not None:
        markdown.write_text(f"Before: {earlier.machine}\n\nAfter: {later.machine}\n\n{table.to_markdown()}", encoding="utf-8")


@contextmanager
def _running() -> Iterator[Callable[[str], None]]:
    """Give what tells the progress; turn a failure into a message and exit status 1."""
    console = Console(stderr=True)
    try:
        with console.status("starting") as status:
            yield status.update
    except FatalError as error:
        console.print(f"failed: {error}", style="red", highlight=False)
        raise typer.Exit(1) from error


def _hand_out(report: Report, output: Path | None, markdown: Path | None) -> None:
    report.show(_console())
    if output is not None:
        report.write(output)
    if markdown is not None:
        markdown.write_text(report.to_markdown(), encoding="utf-8")


def _console() -> Console:
    """Return a console that is wide enough for the tables where nothing says how wide it is."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in _split(text))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error
    if any(number < 1 for number in numbers):
        message = "numbers must be at least 1"
        raise typer.BadParameter(message, param_hint=option)
    return numbers


def _known(names: tuple[str, ...], choices: Collection[str], option: str) -> tuple[str, ...]:
    for name in names:
        if name not in choices:
            message = f"{name!r} is not one of {', '.join(choices)}"
            raise typer.BadParameter(message, param_hint=option)
    return names
