"""What starts: each verb loads what it needs, and no part that only another verb needs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import graphtide
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from graphtide.cli.app import VERBS, app, load
from graphtide_core.installing import line_for
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOMS_OF_SERVICES = (
    "graphtide_log",
    "graphtide_matcher_host",
    "graphtide_ordering",
    "graphtide_serving",
    "graphtide_telemetry",
)
"""Parts of our own that services alone need."""

HEAVY = (
    "asyncio",
    "fastapi",
    "graphtide_bench",
    "graphtide.explaining",
    "graphtide_generate",
    "graphtide_native",
    "graphtide_query",
    *ROOMS_OF_SERVICES,
    "httpx2",
    "lark",
    "msgspec",
    "numpy",
    "pandas",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
)
"""Libraries, and parts of our own, that take their time."""

AFTER = """
import json, sys
sys.argv = ["graphtide", *json.loads(sys.argv[1])]
from graphtide.__main__ import main
try:
    main()
except SystemExit as end:
    status = end.code
sys.stderr.write("\\n" + json.dumps([status, sorted(sys.modules)]))
"""
"""A run of the program that prints its status, and what was loaded when it ended."""

PATTERN = "PATTERN p MATCH (a)-[x:pay]->(b), (b)-[y:pay]->(c) ORDER x < y ON payments WINDOW 10s"
PAYMENTS = "ts,src,dst,label\n1,ann,bob,pay\n2,bob,eve,pay\n"


def after(*arguments: object, given: Mapping[str, str] | None = None) -> tuple[int, set[str]]:
    """Return the status of a run, and the heavy parts that were loaded in it."""
    line = json.dumps([str(each) for each in arguments])
    ended = subprocess.run(
        [sys.executable, "-c", AFTER, line], capture_output=True, text=True, timeout=300, check=True, env=given
    )
    status, modules = json.loads(ended.stderr.rpartition("\n")[2])
    return status or 0, heavy(modules)


def loaded_by(lines: str) -> tuple[str, set[str]]:
    """Return what a Python program prints, and the heavy parts that were loaded when it ended."""
    program = f"{lines}; print(json.dumps(sorted(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True)
    printed, _, modules = ended.stdout.rstrip().rpartition("\n")
    return printed, heavy(json.loads(modules))


def heavy(modules: Iterable[str]) -> set[str]:
    """Return the heavy parts that these modules belong to."""
    loaded = tuple(modules)
    return {part for part in HEAVY if any(each == part or each.startswith(f"{part}.") for each in loaded)}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "p.gtp").write_text(PATTERN)
    (tmp_path / "payments.csv").write_text(PAYMENTS)
    return tmp_path


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_and_version_load_no_verb(arguments: list[str]) -> None:
    status, parts = after(*arguments)
    assert (status, parts) == (0, set())


def test_help_of_a_verb_loads_no_library_of_its_work() -> None:
    for verb in ("match", "validate", "statistics", "backfill"):
        status, parts = after(verb, "--help")
        assert status == 0
        assert not parts & {"pyarrow", "lark", "rich", "graphtide_bench", "graphtide.explaining", "httpx2", "numpy", "pandas"}


def test_match_over_a_text_loads_what_it_matches_with(files: Path) -> None:
    status, parts = after("match", files / "p.gtp", files / "payments.csv", "--output", files / "found.jsonl")
    assert (status, len((files / "found.jsonl").read_text().splitlines())) == (0, 1)
    # Patterns are parsed with lark.
    assert parts == {"graphtide_native", "graphtide_query", "lark", "msgspec"}


def test_match_over_a_table_loads_nothing_that_pyarrow_can_do_without(files: Path) -> None:
    pq.write_table(pa.Table.from_pylist([{"ts": 1, "src": "ann", "dst": "bob", "label": "pay"}]), files / "payments.parquet")
    status, parts = after("match", files / "p.gtp", files / "payments.parquet", "--output", files / "found.jsonl")
    assert (status, parts) == (0, {"graphtide_native", "graphtide_query", "lark", "msgspec", "pyarrow"})


@pytest.mark.parametrize(
    ("arguments", "most"),
    [(["--version"], 152), (["match", "p.gtp", "payments.csv"], 436), (["validate", "p.gtp"], 339)],
    ids=["--version", "match", "validate"],
)
def test_a_short_command_loads_few_modules(files: Path, arguments: list[str], most: int) -> None:
    """Modules are what a start costs, on any machine; tables of the parser are read, not computed."""
    paths = [str(files / each) if each.startswith("p") else each for each in arguments]
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", AFTER, json.dumps(paths)], capture_output=True, text=True, timeout=300, check=True
        )
    status, modules = json.loads(ended.stderr.rpartition("\n")[2])
    assert not status
    assert len(modules) <= most
    others = ("graphtide_query.families.algebra.", "graphtide_query.families.events.")
    planners = {each for each in modules if each.startswith(others)} - {f"{each}family" for each in others}
    assert not planners, "the planners of other families"
    needless = {
        "graphtide_core.plans.algebra",
        "graphtide_core.plans.events",
        "graphtide_core.stream_definition",
        "graphtide_native.graph_spec",
        "zoneinfo",
    }
    assert not needless & {*modules}, "the plans of other families, and what statements and zones need"


def test_types_of_attributes_and_statistics_of_a_text_load_no_arrow(files: Path) -> None:
    (files / "payments.csv").write_text("ts,src,dst,label,zip,amount\n1,ann,bob,pay,01,5\n2,bob,eve,pay,02,6\n")
    (files / "schema.json").write_text('{"attributes": {"zip": "string"}}')
    stream, declared = files / "payments.csv", ("--schema", files / "schema.json", "--type", "amount:number")
    matched, parts = after(
        "match", files / "p.gtp", stream, *declared, "--statistics-from", stream, "--explain", files / "plan.txt"
    )
    assert matched == 0
    assert not parts & {"asyncio", "httpx2", "pyarrow", "rich", "graphtide_bench", *ROOMS_OF_SERVICES}
    analyzed, parts = after("explain", files / "p.gtp", "--analyze", stream)
    assert analyzed == 0
    assert not parts & {"asyncio", "httpx2", "pyarrow", "rich", "graphtide_bench", *ROOMS_OF_SERVICES}
    validated, parts = after("validate", files / "p.gtp", "--stream", stream, *declared)
    assert validated == 0
    assert not parts & {"asyncio", "httpx2", "pyarrow", "rich", "graphtide_bench", "graphtide.explaining", *ROOMS_OF_SERVICES}


@pytest.mark.parametrize("form", ["json", "plot"])
def test_statistics_draw_no_table_that_is_not_shown(form: str, files: Path) -> None:
    status, parts = after("statistics", files / "payments.csv", "--window", "1s", "--format", form, "--output", files / "drawn")
    assert status == 0
    assert not parts & {"asyncio", "httpx2", "lark", "pyarrow", "rich", "graphtide_bench", *ROOMS_OF_SERVICES}


def test_python_over_records_loads_no_arrow_and_no_event_loop() -> None:
    records = [{"ts": 1, "src": "a", "dst": "b", "label": "pay"}, {"ts": 2, "src": "b", "dst": "c", "label": "pay"}]
    lines = f"import json, sys, graphtide; found = list(graphtide.match({PATTERN!r}, {records!r})); print(len(found))"
    count, parts = loaded_by(lines)
    assert count == "1"
    assert not parts & {"asyncio", "httpx2", "numpy", "pandas", "pyarrow", "rich", "graphtide_bench", *ROOMS_OF_SERVICES}


def test_a_client_loads_no_arrow() -> None:
    _, parts = loaded_by("import json, sys, graphtide; print(graphtide.Client.__name__)")
    assert "httpx2" in parts
    assert not parts & {"numpy", "pandas", "pyarrow", "rich", "graphtide_bench", *ROOMS_OF_SERVICES}


def test_generate_of_a_text_loads_no_arrow(tmp_path: Path) -> None:
    status, parts = after("generate", "payments", "--output", tmp_path / "x.csv", "--records", 100, "--planted", 1)
    assert status == 0
    assert not parts & {"pyarrow", "lark", "rich", "graphtide_native", "graphtide_bench"}


def test_checking_or_explaining_a_pattern_loads_no_engine_and_no_http(files: Path) -> None:
    validated, parts = after("validate", files / "p.gtp")
    assert (validated, parts) == (0, {"graphtide_query", "lark"})
    explained, parts = after("explain", files / "p.gtp")
    assert explained == 0
    assert not parts & {"asyncio", "httpx2", "pyarrow", "rich", "graphtide_bench", *ROOMS_OF_SERVICES}


def test_verbs_of_a_server_load_no_engine() -> None:
    status, parts = after("tail", "unknown", "--server", "http://127.0.0.1:1")
    assert status == 1
    assert not parts & {"graphtide_native", "lark", "rich", "pyarrow", "graphtide_bench", *ROOMS_OF_SERVICES}


def test_all_services_in_one_process_load_neither_pandas_nor_spark() -> None:
    _, parts = loaded_by("import json, sys, graphtide.dev.deployment")
    assert "pyarrow" in parts
    assert parts.isdisjoint({"pandas", "pyspark"})


def test_the_package_loads_nothing_until_it_is_asked() -> None:
    emitted = "import sys, graphtide; print([m for m in sys.modules if m.startswith('graphtide')], graphtide.__version__)"
    ended = subprocess.run([sys.executable, "-c", emitted], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == f"['graphtide'] {graphtide.__version__}\n"


def test_every_name_of_the_package_is_there() -> None:
    for name in graphtide.__all__:
        assert getattr(graphtide, name) is not None
    assert set(graphtide.__all__) <= set(dir(graphtide))
    with pytest.raises(AttributeError, match="no attribute 'mtach'"):
        _ = graphtide.mtach


def test_names_for_the_checker_and_for_a_run_are_the_same() -> None:
    tree = ast.parse(Path(graphtide.__file__).read_text("utf-8"))
    for_checkers = {
        (each.module, alias.name)
        for block in tree.body
        if isinstance(block, ast.If)
        for each in ast.walk(block)
        if isinstance(each, ast.ImportFrom)
        for alias in each.names
    }
    assert {name for _, name in for_checkers} | {"__version__"} == set(graphtide.__all__)
    for module, name in for_checkers:
        assert getattr(graphtide, name) is getattr(import_module(str(module)), name)


@pytest.mark.parametrize("name", VERBS)
def test_lists_say_of_a_verb_what_it_says_of_itself(name: str) -> None:
    command = load(name)
    first = (command.help or "").partition("\n\n")[0]
    assert " ".join(first.split()) == VERBS[name].help


def test_the_list_of_commands_is_in_order() -> None:
    shown = CliRunner().invoke(app, ["--help"], terminal_width=500).stdout
    named = [line.split()[0] for line in shown.partition("Commands:")[2].splitlines() if line.startswith("  ")]
    assert [name for name in named if name in VERBS] == list(VERBS)


@pytest.mark.parametrize("arguments", [["bench", "subgraph", "--quick"], ["bench", "--help"]])
def test_a_verb_of_an_extra_that_is_not_installed_says_how_to_get_it(arguments: list[str]) -> None:
    without = f"import sys; sys.modules['graphtide_bench'] = None; {AFTER}"
    line = [sys.executable, "-c", without, json.dumps(arguments)]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=300, check=True)
    emitted, _, end = ended.stderr.splitlines()
    assert ended.stdout == ""
    assert emitted.startswith("graphtide: bench needs graphtide_bench")
    assert emitted.endswith(f", which is not installed: {line_for('bench')}")
    assert json.loads(end)[0] == 1


def test_an_unknown_verb_is_reported() -> None:
    ended = CliRunner().invoke(app, ["mtach"])
    assert ended.exit_code == 2
    assert "mtach" in ended.stderr


def test_version_is_the_one_of_the_package() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"graphtide {graphtide.__version__}\n"


def test_completion_knows_verbs_and_options() -> None:
    def offered(words: str) -> set[str]:
        given = {"_GRAPHTIDE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        return set(CliRunner().invoke(app, [], env=given, prog_name="graphtide").stdout.split())

    assert offered("graphtide ma") == {"match"}
    assert offered("graphtide match --dead") == {"--dead-letters"}
    assert offered("graphtide dev ") >= {"up"}
