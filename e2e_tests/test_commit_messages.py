"""The hook takes messages of the form that `docs/style.md` asks for, and says what is wrong with others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[1]
GOOD: Final = "matcher: plans read their past first\n\nA plan that was added early missed 25 matches.\n"


def check(message: str, folder: Path) -> tuple[int, list[str]]:
    """Run the hook as pre-commit does; return its status and its lines."""
    (command,) = (hook["entry"] for hook in hooks() if hook["stages"] == ["commit-msg"])
    file = folder / "COMMIT_EDITMSG"
    file.write_text(message, "utf-8")
    _, *script = command.split()
    ran = subprocess.run([sys.executable, *script, file], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stderr.splitlines()


def hooks() -> list[dict[str, Any]]:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    found: list[dict[str, Any]] = local["hooks"]
    return found


@pytest.mark.parametrize(
    "message",
    [
        GOOD,
        f"{GOOD}\n# Please enter the commit message.\n# ------------------------ >8 ------------------------\ndiff --git\n",
        "Merge branch 'main'\n",
        'Revert "matcher: plans"\n\nThis reverts commit 1.\n',
        "fixup! matcher: plans\n",
    ],
)
def test_a_message_with_scope_and_reason_passes(message: str, tmp_path: Path) -> None:
    assert check(message, tmp_path) == (0, [])


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (GOOD.replace("matcher: ", ""), "The first line is 'plans read their past first'."),
        ("matcher: plans\n", "There is no body."),
        ("matcher: plans\n\n# Please enter the commit message.\n", "There is no body."),
        ("matcher: plans\nA reason.\n", "The second line is not empty."),
        (f"matcher: {'x' * 100}\n\nA reason.\n", "The first line has 109 characters."),
    ],
)
def test_a_message_of_another_form_is_refused_with_its_fault(message: str, fault: str, tmp_path: Path) -> None:
    status, (said,) = check(message, tmp_path)
    assert status == 1
    assert said.startswith(f"commit message: {fault}")


def test_a_message_with_nothing_in_it_has_both_faults(tmp_path: Path) -> None:
    status, said = check("\n# Please enter the commit message.\n", tmp_path)
    assert (status, len(said)) == (1, 2)
