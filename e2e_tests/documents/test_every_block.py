"""What the README and the documents show is true: every block is run, or checked as far as it goes without what it needs.

A page is a story. Its blocks run in their order, in a folder that has what a reader has: what the demo leaves. What blocks are,
`graphtide_testing.documents.blocks` says. With GRAPHTIDE_WRITE_DOCUMENTS=1 in the environment, outputs that differ are written
into the pages.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import ExitStack
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
import pytest
import yaml
from graphtide.cli.app import app
from graphtide.dev.deployment import DevOptions, application
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_alerts.settings import AlertsSettings
from graphtide_core.ids import EdgeId, PatternName
from graphtide_core.match import match_id
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_preprocess.settings import Settings as PreprocessSettings
from graphtide_query import parse, parse_streams_and_patterns
from graphtide_testing.charts import TOOLS, render
from graphtide_testing.data import real_stream
from graphtide_testing.documents.blocks import Block, blocks_of, codes_of, headings_of, links_of
from graphtide_testing.documents.downloads import DOWNLOADS
from graphtide_testing.documents.exchanges import Answer, Request, exchanges
from graphtide_testing.documents.outputs import ANY, difference, is_shown, is_shown_json
from graphtide_testing.documents.shells import Shell
from graphtide_testing.orphans import VARIABLE
from graphtide_testing.servers.process import free_ports
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from typer.main import get_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic_settings import BaseSettings

pytestmark = pytest.mark.timeout(900)

ROOT: Final = Path(__file__).parents[2]
WRITTEN: Final = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "charts/graphtide/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
PAGES: Final = {str(page.relative_to(ROOT)): page for page in WRITTEN}
WRITES: Final = os.environ.get("GRAPHTIDE_WRITE_DOCUMENTS") == "1"
DEMO: Final = "$ .venv/bin/graphtide demo\n"
WITHOUT_SPARK: Final = (sys.executable, str(Path(__file__).with_name("without_spark.py")))

FRAME: Final = "shared/bench/src/graphtide_bench/frame/script.py"
LEFT_OUT: Final = {
    ("README.md", "make demo "): "sets up all that the repository needs; the demo itself is run below it",
    ("CONTRIBUTING.md", "make setup "): "sets up all that the repository needs, and runs all of its tests",
    ("CONTRIBUTING.md", ".venv/bin/python -m graphtide_testing.mutation "): "takes half an hour; it has tests of its own",
    ("docs/benchmarks/method.md", "graphtide bench subgraph "): "takes hours",
    ("docs/benchmarks/reading.md", "python shared/bench/services/start.py "): "measures for minutes",
    (
        "docs/benchmarks/reading.md",
        "graphtide generate network --records 1200000 --output net.csv --pattern net.gtp\ngraphtide match one",
    ): "writes a hundred megabytes",
    (
        "docs/benchmarks/reading.md",
        "graphtide generate network --records 1200000 --output net.csv --pattern net.gtp\ngraphtide match net",
    ): "writes a hundred megabytes",
    ("docs/benchmarks/reading.md", "graphtide match net.gtp "): "reads what the block that writes it leaves",
    ("docs/benchmarks/spark.md", "python shared/bench/services/backfill.py "): "takes an hour, on Spark",
    ("docs/benchmarks/graph-queries.md", "graphtide bench algebra "): "needs a public stream that is not part of the project",
    ("charts/graphtide/README.md", "helm install "): "needs a cluster",
    ("docs/how-to/consume-matches.md", "import json"): "needs Kafka, and runs until it is ended; it has a test of its own",
    ("docs/how-to/install.md", "kubectl create "): "needs a cluster",
    ("docs/how-to/install.md", "helm install "): "needs a cluster",
    ("docs/how-to/install.md", "helm template "): "what Helm makes of these values, the tests of the chart look at",
    ("docs/how-to/upgrade.md", "helm upgrade "): "needs a cluster",
    ("docs/reference/backfill.md", "graphtide backfill demo/exfiltration.gtp localhost:9092/"): "needs Kafka",
    ("docs/reference/preprocess.md", "make servers-up "): "needs Kafka, and runs until it is ended",
    ("docs/tutorials/circles.md", "curl "): "downloads; what it would bring is made of the stream at hand",
    ("docs/tutorials/flood.md", "curl "): "downloads; what it would bring is made of the stream at hand",
    ("docs/tutorials/jams.md", "curl "): "downloads; what it would bring is made of the stream at hand",
    ("docs/reference/preprocess.md", "from graphtide_preprocess import windows"): "needs a session of Spark; see the slow test",
}
"""Blocks that are not run here, by their page and beginning, and why; they are checked without being run."""

PRINTED: Final = ("text", "mermaid")
"""Blocks that are the output of the block before them."""

SETTINGS: Final[Mapping[str, type[BaseSettings]]] = {
    "GRAPHTIDE_ADMIN_API_": AdminApiSettings,
    "GRAPHTIDE_ALERTS_": AlertsSettings,
    "GRAPHTIDE_INGESTION_": IngestionSettings,
    "GRAPHTIDE_PREPROCESS_": PreprocessSettings,
}

BROWSER: Final = """
globalThis.key = "any";
globalThis.show = (...match) => { console.log(JSON.stringify(match)); process.exit(0); };
const page = globalThis.fetch;
globalThis.fetch = (address, more) => page(new URL(address, URL_OF_SERVER), more);
globalThis.EventSource = class {
  constructor(address) { this.listeners = {}; this.read(address); }
  addEventListener(type, listener) { this.listeners[type] = listener; }
  async read(address) {
    let text = "";
    for await (const chunk of (await fetch(address)).body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      for (let end; (end = text.indexOf("\\n\\n")) >= 0; text = text.slice(end + 2)) {
        const fields = Object.fromEntries(text.slice(0, end).split("\\n").map((line) => line.split(/: ?(.*)/s, 2)));
        this.listeners[fields.event]?.({lastEventId: fields.id, data: fields.data});
      }
    }
  }
};
"""
"""What a browser has and Node.js has not."""


class Story:
    """The blocks of a page as they are run, one after the other."""

    def __init__(self, folder: Path, transcript: str, server: Callable[[], str], programs: list[Path]) -> None:
        """Begin in a folder that has what a reader has; the transcript is that of the demo."""
        (self.port,) = free_ports(1)
        self._folder = folder
        self._shell = Shell(folder, programs, GRAPHTIDE_SERVER=f"http://localhost:{self.port}")
        self._transcript = transcript
        self._server = server
        # The services of the test write to standard output, too.
        self._names: dict[str, object] = {"print": lambda *what: self._said.append(" ".join(map(str, what)))}
        self._said: list[str] = []
        self._answer: httpx2.Response | None = None
        self._lacks = ""

    def end(self) -> None:
        """End the page: no request may lack its answer, and blocks that were left out are named."""
        assert self._answer is None, "no answer is shown to the last request"
        if self._lacks:
            pytest.skip(f"all ran but what needs {self._lacks}")

    def run(self, block: Block, below: Block | None) -> None:
        """Run a block; below stands what it prints, if it is one of `PRINTED`."""
        output = below if below is not None and below.language in PRINTED else None
        match block.language:
            case "sh":
                came = self._run(block)
                if output is not None:
                    assert_shown(output, came)
            case "console":
                is_demo = block.text.startswith(DEMO)
                assert_shown(block, self._transcript if is_demo else self._shell.transcript(block.text))
            case "python":
                assert_shown(output or block, self._python(block), shown=None if output else "")
            case "graphtide":
                (self._folder / name_of_text(block)).write_text(block.text)
            case "csv":
                (self._folder / block.name).write_text(block.text)
            case "json" | "yaml":
                assert_data(block)
            case "http":
                for each in exchanges(block.text):
                    self._exchange(each, block)
            case "js":
                self._in_a_browser(block)
            case "synopsis":
                assert_whole_synopsis(block)
            case _:
                assert block.language in {*PRINTED, "diagram"}, block.place

    def _run(self, block: Block) -> str:
        text = block.text.replace("dev up", f"dev up --port {self.port}").replace(":8080", f":{self.port}")
        ran = self._shell.run(text)
        assert ran.status == 0, f"{block.place} ended with {ran.status}:\n{ran.output}{ran.errors}"
        assert_settings(ran.environment, block)
        return ran.output

    def _python(self, block: Block) -> str:
        self._said.clear()
        text = block.text.replace("http://localhost:8080", self._server()) if ":8080" in block.text else block.text
        exec(compile(text, block.place, "exec"), self._names)  # noqa: S102 - our own text
        return "\n".join(self._said)

    def _exchange(self, each: Request | Answer, block: Block) -> None:
        if isinstance(each, Request) and each.is_pattern:
            assert_route(each.method, each.target, block)
        elif isinstance(each, Request):
            assert self._answer is None, f"{block.place}: no answer is shown to what was asked for before"
            body = f"{each.body}\n" if each.body else None
            self._answer = httpx2.request(
                each.method, self._server() + each.target, headers=dict(each.headers), content=body, timeout=60
            )
        else:
            answer, self._answer = self._answer, None
            assert answer is not None, f"{block.place}: nothing was asked for"
            assert answer.status_code == each.status, f"{block.place}: {answer.text}"
            headers = {name: answer.headers.get(name) for name in each.headers}
            assert headers == each.headers, block.place
            assert is_shown_json(json.loads(each.body), answer.json()), f"{block.place}: {answer.text}"

    def _in_a_browser(self, block: Block) -> None:
        for address in re.findall(r"""["'`](/api/[^"'`?]*)""", block.text):
            assert address in describe()["paths"], f"{block.place}: {address}"
        if shutil.which("node") is None:
            self._lacks = "Node.js, to run what is for browsers"
            return
        script = BROWSER.replace("URL_OF_SERVER", json.dumps(self._server())) + block.text
        done = subprocess.run(
            ["node", "--input-type=module", "--eval", script], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"{block.place}: {done.stderr}"
        place, record = json.loads(done.stdout)
        assert re.fullmatch(r"\d+-\d+(\.\d+-\d+)*", place)
        assert_match_record(record, block)


def assert_shown(block: Block, came: str, shown: str | None = None) -> None:
    """Check that a block shows what came, or write it there."""
    shown = block.text if shown is None else shown
    if WRITES and shown is block.text and ANY not in shown.splitlines() and not is_shown(shown, came):
        block.replace("\n".join(line.rstrip() for line in came.strip("\n").splitlines()) + "\n")
        return
    assert is_shown(shown, came), f"{block.place}\n{difference(shown, came)}"


def assert_data(block: Block) -> None:
    """Check that JSON is the record of a match, and YAML values that the chart takes."""
    if block.language == "json":
        assert_match_record(json.loads(block.text), block)
    else:
        assert render(yaml.safe_load(block.text)).manifests, block.place


def assert_match_record(record: dict[str, Any], block: Block) -> None:
    """Check members, and that the id is that of the edges."""
    needed = {"match_id", "query", "kind", "detected_at", "first_ts", "last_ts", "edges", "vertices"}
    of_components = {"component", "merged", "split_from", "truncated", "counts"}
    named = {name: edges if isinstance(edges, list) else [edges] for name, edges in record["edges"].items()}
    is_component = any(isinstance(edges, list) for edges in record["edges"].values())
    assert needed <= record.keys() <= needed | {"completeness"} | (of_components if is_component else set()), block.place
    edges = [(name, EdgeId(edge)) for name, several in named.items() for edge in several]
    assert record["match_id"] == match_id(PatternName(record["query"]), 1, edges, frozenset()), block.place
    assert record["first_ts"] <= record["last_ts"] <= record["detected_at"], block.place


def assert_route(method: str, target: str, block: Block) -> None:
    """Check that the address is described as it is written."""
    assert method.lower() in describe()["paths"].get(target, {}), f"{block.place}: {method} {target}"


def describe() -> dict[str, Any]:
    """Return the description of the whole interface."""
    found: dict[str, Any] = json.loads((ROOT / "docs/reference/openapi.json").read_text("utf-8"))
    return found


def assert_settings(environment: Mapping[str, str], block: Block) -> None:
    """Check that variables of services are settings of theirs, and have values that they take."""
    given = {name for name in environment if name.startswith("GRAPHTIDE_")} - {"GRAPHTIDE_SERVER", VARIABLE}
    for prefix, settings in SETTINGS.items():
        own = sorted(name for name in given if name.startswith(prefix))
        given.difference_update(own)
        with pytest.MonkeyPatch.context() as patch:
            for name in own:
                patch.setenv(name, environment[name])
            read: object = settings() if own else None
        for name in own:
            value = read
            for field in name.removeprefix(prefix).lower().split("__"):
                assert hasattr(value, field), f"{block.place}: {name}"
                value = getattr(value, field)
    assert not given, f"{block.place}: no service reads {given}"


def parse_block(arguments: list[str]) -> Any:
    """Read a command line as the program does, and return the context of its verb.

    Raises:
        typer.exceptions.TyperException: the verb or an option is unknown, or an argument is missing.
    """
    context: Any = get_command(app).make_context("graphtide", arguments)
    while hasattr(context.command, "resolve_command"):
        name, verb, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])  # noqa: SLF001 - see click
        context = verb.make_context(name, rest, parent=context)
    return context


def name_of_text(block: Block) -> str:
    """Return the name of the file of a pattern, or of statements; the text is valid."""
    if block.name:
        parse_streams_and_patterns(block.text)
        return block.name
    (pattern,) = parse(block.text)
    return f"{pattern.name}.gtp"


def assert_whole_synopsis(block: Block) -> None:
    """Check that a synopsis has the options of its verb, all of them."""
    program, verb, *_ = block.text.split()
    assert program == "graphtide"
    assert named_options(block.text) == every_verb()[verb,] - {"--help"}, block.place


def assert_can_be_run(block: Block) -> None:
    """Check the commands of a block as far as that goes without running them."""
    lines = block.text.replace("\\\n", " ").splitlines()
    for line in filter(str.strip, lines):
        words = shlex.split(line, comments=True)
        environment = {}
        while words and (variable := re.fullmatch(r"([A-Z_]+)=(.*)", words[0])) is not None:
            environment[variable[1]] = variable[2]
            del words[0]
        assert_settings(environment, block)
        if words[:1] == ["taskset"]:
            words = words[3:]
        match words:
            case [program, *arguments] if program.endswith("graphtide"):
                parse_block(arguments)
            case ["curl", option, address]:
                assert option.startswith("--remote-name"), f"{block.place}: {line}"
                assert address.startswith("https://"), f"{block.place}: {line}"
            case ["helm" | "kubectl" as program, *rest]:
                verb = list(takewhile(lambda word: not word.startswith("-") and word != "graphtide", rest))
                assert named_options(line) <= options_of_tool(program, *verb[:3]), f"{block.place}: {line}"
                files = [word for word in rest if word.startswith("charts/")]
                assert all((ROOT / file).exists() for file in files), f"{block.place}: {line}"
            case ["make", *targets]:
                assert set(targets) <= make(), f"{block.place}: {line}"
            case ["python", script, *_]:
                assert named_options(line) <= options_of_script(script), f"{block.place}: {line}"
            case [".venv/bin/python", "-m", module, *_]:
                (main,) = ROOT.glob(f"*/*/src/{module.replace('.', '/')}/__main__.py")
                assert named_options(line) <= options_of_script(str(main.relative_to(ROOT))), f"{block.place}: {line}"
            case _:
                pytest.fail(f"{block.place}: nothing checks {line!r}")


def make() -> set[str]:
    """Return the targets of the Makefile."""
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def options_of_script(script: str) -> set[str]:
    """Return the options that a program of the repository takes, those of the benchmarks' frame included."""
    text = (ROOT / script).read_text("utf-8")
    found = set(re.findall(r'\.(?:add_argument|option)\("(--[\w-]+)"', text))
    return found | options_of_script(FRAME) if "Script(__file__" in text else found


@cache
def options_of_tool(program: str, *verb: str) -> set[str]:
    """Return the options that helm or kubectl takes with a verb, by what it says itself."""
    said = subprocess.run(
        [TOOLS / program, *verb, "--help"], capture_output=True, text=True, check=True, env={"HOME": "/nonexistent"}
    )
    return set(re.findall(r"(--[a-z][\w-]*)", said.stdout)) | {"--namespace"}


def named_options(text: str) -> set[str]:
    """Return the options that a text names."""
    return set(re.findall(r"(?<!\S)\[?(--[a-z][\w-]*)", text))


@cache
def every_verb() -> dict[tuple[str, ...], set[str]]:
    """Return the options of every verb, by the words that call it; those of the program itself are under no words."""
    found = {}
    waiting: list[tuple[tuple[str, ...], Any]] = [((), get_command(app).make_context("graphtide", [], resilient_parsing=True))]
    while waiting:
        words, context = waiting.pop()
        command = context.command
        found[words] = {name for each in command.params for name in each.opts if name.startswith("--")} | {"--help"}
        for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
            inner = command.get_command(context, name).make_context(name, [], parent=context, resilient_parsing=True)
            waiting.append(((*words, name), inner))
    return found


def assert_imports(block: Block) -> None:
    """Check that a block of Python can be read, and that what it imports is there."""
    imports = [line for line in ast.parse(block.text).body if isinstance(line, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module(list(imports), []), block.place, "exec"), {})  # noqa: S102 - our own text


def is_left_out(block: Block) -> bool:
    """Return whether a block is not run here."""
    return any(PAGES[page] == block.page and block.text.startswith(beginning) for page, beginning in LEFT_OUT)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """What the demo leaves, and what it says."""
    folder = tmp_path_factory.mktemp("demo") / "reader"
    folder.mkdir()
    programs(folder, *WITHOUT_SPARK)
    return folder / "demo", Shell(folder, []).transcript(DEMO)


def programs(folder: Path, *command: str) -> list[Path]:
    """Put the program where the README has it, and return where a shell is to look for programs."""
    own = folder / ".venv" / "bin"
    own.mkdir(parents=True)
    (own / "graphtide").write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    (own / "graphtide").chmod(0o755)
    return [own, Path(sys.executable).parent]


@pytest.fixture
def server() -> Iterator[Callable[[], str]]:
    """What starts all services at the first call, and gives their URL."""
    with ExitStack() as stack:
        started: list[str] = []

        def url() -> str:
            if not started:
                started.append(stack.enter_context(serve(application(DevOptions(low_latency=True)))))
                wait_until(lambda: httpx2.get(f"{started[0]}/readyz").status_code == 200, 120)
            return started[0]

        yield url


WITH_BLOCKS: Final = [name for name, page in PAGES.items() if "```" in page.read_text("utf-8")]


def test_the_list_of_what_is_left_out_is_no_longer_than_it_must_be() -> None:
    for page, beginning in LEFT_OUT:
        assert sum(block.text.startswith(beginning) for block in blocks_of(PAGES[page])) == 1, (page, beginning)


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_every_block_does_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: tuple[Path, str], server: Callable[[], str]
) -> None:
    run_page(PAGES[name], tmp_path, monkeypatch, demo, server, *WITHOUT_SPARK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["docs/tutorials/services.md", "docs/reference/backfill.md"])
def test_blocks_run_on_spark(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: tuple[Path, str], server: Callable[[], str]
) -> None:
    run_page(PAGES[name], tmp_path, monkeypatch, demo, server, str(Path(sys.executable).with_name("graphtide")))


@pytest.mark.slow
def test_windows_of_a_notebook_are_made_on_spark() -> None:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it is slow to load

    (block,) = (block for block in blocks_of(PAGES["docs/reference/preprocess.md"]) if block.language == "python")
    spark = SparkSession.builder.master("local[1]").getOrCreate()
    names: dict[str, Any] = {"spark": spark}
    try:
        exec(compile(block.text, block.place, "exec"), names)  # noqa: S102 - our own text
        assert {row["label"] for row in names["found"].edges().collect()} == {"http", "tcp"}
    finally:
        spark.stop()


def download(page: Path, folder: Path) -> None:
    """Write what the page has its reader download; skip the page where the stream that it is made of is not at hand."""
    name = str(page.relative_to(ROOT))
    if name in DOWNLOADS:
        stream, write = DOWNLOADS[name]
        write(real_stream(stream), folder)


def run_page(
    page: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    demo: tuple[Path, str],
    server: Callable[[], str],
    *program: str,
) -> None:
    """Run the blocks of a page."""
    reader = folder / "reader"
    reader.mkdir()
    download(page, reader)
    (reader / "demo").symlink_to(demo[0])
    monkeypatch.chdir(reader)
    story = Story(reader, demo[1], server, programs(reader, *program))
    blocks = blocks_of(page)
    for above, block, below in zip([None, *blocks], blocks, [*blocks[1:], None], strict=False):
        if block.language in PRINTED:
            is_output = above is not None and above.language in {"sh", "python"} and not is_left_out(above)
            assert is_output, f"{block.place} is the output of no block"
        if not is_left_out(block):
            story.run(block, below)
        elif block.language == "python":
            assert_imports(block)
        else:
            assert_can_be_run(block)
    story.end()


def test_commands_and_options_in_the_text_are_there(subtests: pytest.Subtests) -> None:
    for name, page in PAGES.items():
        with subtests.test(name):
            verbs = every_verb()
            for code in codes_of(page):
                match code.split():
                    case ["graphtide", "VERB", *_]:
                        pass
                    case ["graphtide", *words]:
                        called = [tuple(words[:count]) for count in (2, 1) if tuple(words[:count]) in verbs]
                        verb = called[0] if called else ()
                        assert called or words[0].startswith("-"), code
                        assert named_options(code) <= verbs[verb], code
                    case ["make", target, *_]:
                        assert target in make(), code
                    case ["python", script, *_] if script.endswith(".py"):
                        assert named_options(code) <= options_of_script(script), code
                    case [option, *_] if option in named_options(option) and "reference" in name:
                        assert any(option in options for options in verbs.values()), code


def test_links_lead_to_files_and_their_headings(subtests: pytest.Subtests) -> None:
    for name, page in PAGES.items():
        with subtests.test(name):
            for link in links_of(page):
                target = (page.parent / link.path).resolve() if link.path else page
                assert target.exists(), link
                if link.heading:
                    assert link.heading in headings_of(target), link
