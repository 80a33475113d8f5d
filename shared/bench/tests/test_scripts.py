"""Every benchmark that is a script uses the frame: its options, its rows, its report."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from graphtide_bench.frame import script
from graphtide_bench.frame.compare import compare
from graphtide_bench.frame.kinds import KINDS, Kind
from graphtide_bench.frame.report import Report, read
from graphtide_bench.frame.runs import Spread, repeat
from graphtide_core.errors import FatalError

ROOT = Path(__file__).parents[1]
STARTED = '\nif __name__ == "__main__":'
OWN_PROTOCOLS = ("peak.py",)
"""Started by another module, which speaks to it in JSON."""
COMMAND = re.compile(r"python (?:-m )?(shared/bench/services/\w+\.py|graphtide_bench(?:\.\w+)+)([^`\n]*)")
OPTION = re.compile(r"--[a-z][a-z-]*")
SCRIPTS = sorted(
    path
    for path in (*(ROOT / "services").glob("*.py"), *(ROOT / "src").rglob("*.py"))
    if STARTED in path.read_text(encoding="utf-8") and path.name not in OWN_PROTOCOLS
)


def test_scripts_are_found_and_none_is_called_measure() -> None:
    assert {path.stem for path in SCRIPTS} >= {"throughput", "ingestion", "preprocess", "backfill", "plans", "budget"}
    assert "measure" not in {path.stem for path in ROOT.rglob("*.py")}


def commands() -> dict[str, set[str]]:
    """Return the options that documents, the Makefile and scripts themselves name, by the script."""
    pages = [*ROOT.parents[1].glob("docs/**/*.md"), *ROOT.parents[1].glob("*.md"), ROOT.parents[1] / "Makefile", *SCRIPTS]
    found: dict[str, set[str]] = {}
    for page in pages:
        for module, options in COMMAND.findall(page.read_text(encoding="utf-8").replace("\n[", " [")):
            found.setdefault(module, set()).update(OPTION.findall(options))
    return found


def test_commands_in_documents_are_scripts() -> None:
    named = {str(path.relative_to(ROOT.parents[1])) for path in SCRIPTS}
    named |= {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in SCRIPTS if ROOT / "src" in path.parents
    }
    assert set(commands()) <= named
    assert not {page.name for page in ROOT.parents[1].glob("docs/**/*.md") if "bench/measure.py" in page.read_text("utf-8")}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_has_the_options_of_the_frame_and_those_that_documents_name(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # In this process, so that what all scripts import is imported once.
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    monkeypatch.syspath_prepend(path.parent)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert not ended.value.code
    known = set(OPTION.findall(capsys.readouterr().out.partition("options:")[2]))
    assert {"--output", "--markdown"} <= known
    own = (str(path.relative_to(ROOT.parents[1])), ".".join(path.with_suffix("").parts[-3:]))
    assert {option for name in own for option in commands().get(name, ())} <= known


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_hands_out_rows_and_nothing_else(path: Path) -> None:
    called = [ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    assert called.count("Script") == 1
    assert {"script.add", "script.hand_out"} <= set(called)
    assert not {"print", "sys.stdout.write", "argparse.ArgumentParser"} & set(called)


SCRIPT = """
import sys
from graphtide_bench.frame.script import Script

script = Script(__file__, "Doubles.")
script.option("--number", type=int, default=1)
script.option("--apart", action="store_true")
asked = script.arguments()
if asked.number == 13:
    sys.exit("an unlucky number")
rows = script.apart("--number", asked.number) if asked.apart else [{"case": "double", "is": {"value": 2 * asked.number}}]
for row in rows:
    script.add(row)
script.hand_out("Checked.")
"""


def run(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True, check=False)


def test_rows_are_shown_written_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "doubles.py"
    path.write_text(SCRIPT, encoding="utf-8")
    for number in (3, 6):
        written = ("--output", str(tmp_path / f"{number}.json"), "--markdown", str(tmp_path / f"{number}.md"))
        ran = run(path, "--apart", "--number", str(number), *written)
        assert ran.returncode == 0, ran.stderr
        assert "Checked." in ran.stdout
    before, after = read(tmp_path / "3.json"), read(tmp_path / "6.json")
    assert before.command == "doubles"
    (row,) = before.of_kind(script.ROWS)
    assert row == {"case": "double", "is": {"value": 6}, "load": row["load"]}
    assert "| case | is value | load |\n| --- | ---: | ---: |\n| double | 6 | " in (tmp_path / "3.md").read_text("utf-8")
    assert compare(before, after).rows == (("is value", "1", "2.00x", "2.00x double", "2.00x double"),)
    failed = run(path, "--apart", "--number", "13")
    assert failed.returncode != 0
    assert "an unlucky number" in failed.stderr


def test_columns_of_all_rows_make_the_table() -> None:
    (table,) = script.table_of([{"case": "a", "edges_per_second": 1_200}, {"case": "b", "seconds": 0.5, "each": [1, 2]}])
    assert table.header == ("case", "each", "edges per second", "seconds")
    assert table.rows == (("a", "", "1,200", ""), ("b", "1, 2", "", "0.5"))
    assert table.names == 2


def test_a_kind_of_results_has_a_tag_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two kinds of results have the tag 'rows'"):
        Kind("rows", dict)
    assert KINDS["rows"] is script.ROWS
    Report.of("x", "", (script.ROWS, [{"case": "a"}])).write(tmp_path / "report.json")
    text = (tmp_path / "report.json").read_text("utf-8").replace('"rows"', '"lines"')
    (tmp_path / "report.json").write_text(text, "utf-8")
    with pytest.raises(FatalError, match=r"unknown kinds of results: lines; known are .*rows"):
        read(tmp_path / "report.json")


def test_cases_alternate_and_the_first_passes_do_not_count() -> None:
    order: list[str] = []
    found = repeat([lambda: order.append("a"), lambda: order.append("b")], 2, warm=1)
    assert order == ["a", "b"] * 3
    assert len(found) == 2
    assert all(each.wall.least <= each.wall.median <= each.wall.greatest for each in found)


def test_a_spread_is_the_median_between_the_extremes() -> None:
    found = Spread.of((3.0, 1.0, 2.0))
    assert found == Spread(2.0, 1.0, 3.0)
    assert found.share == 1.0
    assert Spread(2.0, 1.0, 3.6).rounded(0) == {"median": 2, "least": 1, "greatest": 4}
    row = {"case": "a", "ms": Spread(2_000.0, 1.26, 3_000.0).rounded(1)}
    assert script.table_of([row])[0].rows == (("a", "2,000.0 (1.3 to 3,000.0)"),)
    assert list(script.values_of([row])) == [("ms", "a", 2_000.0)]
