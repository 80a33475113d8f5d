"""The help of every command has an example, and the examples do what they say."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from graphtide.cli.app import VERBS, app, load
from graphtide.cli.examples import EXAMPLES
from typer.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer._click import Command

FILES = {
    "payments.gts": "STREAM payments EDGE (payer)-['pays']->(payee) AT ts\n",
    "payments.csv": "ts,payer,payee\n1,ann,bob\n2,bob,eve\n",
    "edges.csv": "ts,src,dst,label\n1,ann,bob,knows\n",
    "before.json": "{}",
    "after.json": "{}",
}
WITHOUT_A_SERVER = (
    "generate",
    "match",
    "explain",
    "validate",
    "statistics",
    "streams presets",
    "streams check",
    "backfill",
    "capacity",
    "demo",
)


def commands(name: str, command: Command) -> Iterator[tuple[str, Command]]:
    """Yield a command, or each in a group, by its whole name."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
        return
    for under, each in inner.items():
        yield from commands(f"{name} {under}", each)


ALL = dict(pair for verb in VERBS for pair in commands(verb, load(verb)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_an_example_of_each_command_and_of_no_other() -> None:
    assert set(EXAMPLES) == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_help_has_an_example(name: str) -> None:
    shown = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert shown.stdout.count("Example: ") == 1
    assert f"Example: graphtide {name} {EXAMPLES[name]}".rstrip() in " ".join(shown.stdout.split())


@pytest.mark.parametrize("name", ALL)
def test_the_options_of_an_example_are_those_of_its_command(name: str, folder: Path) -> None:
    CliRunner().invoke(app, ["generate", *shlex.split(EXAMPLES["generate"])])
    assert (folder / "flows.csv").exists()
    with ALL[name].make_context(name, shlex.split(EXAMPLES[name])) as context:
        assert context.command is ALL[name]


def test_examples_that_need_no_server_succeed_one_after_the_other(folder: Path) -> None:
    for name in WITHOUT_A_SERVER:
        ended = CliRunner().invoke(app, [*name.split(), *shlex.split(EXAMPLES[name])])
        assert ended.exit_code == 0, (name, ended.output, ended.exception)
    assert len((folder / "matches.jsonl").read_text().splitlines()) == 5
