"""Words that a term of the field replaced occur only where they are right, each with the reason.

The list has the words that have no other use here. Others, such as turn, room or reach, are also plain English, and a list
of words cannot tell their meanings apart: reviewers do.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]

ELSEWHERE: Final = (
    r"(^|/)LICENSE$",
    r"^CHANGELOG\.md$",
    r"shared/testing/tests/test_(words|naming)\.py$",
    r"\.(json|svg|png|parquet|gz)$",
)
"""Files that are not checked: licences, the record of what changed, this list, and data."""

FORMER: Final = {
    "tell": r"tell|tells|telling|told|retold|untold",
    "hindsight": r"hindsight",
    "standing": r"standing",
    "figures": r"figures?",
    "wish": r"wish|wishes|wished",
    "crowd": r"crowds?|crowded",
    "company": r"company",
    "put aside": r"aside",
    "unfit": r"unfit",
    "doubt": r"doubts?|doubted|doubtful",
    "judge": r"judge|judges|judged|judging|judgement",
    "residue": r"residues?",
    "frontier": r"frontiers?",
    "arrangement": r"arrangements?|arranged|arranges",
    "enrol": r"enrols?|enrolled",
    "allowance": r"allowances?",
    "whoever": r"whoever",
}
"""Former words, and their forms."""


def compile_forms(forms: str) -> re.Pattern[str]:
    """Return the pattern that finds these forms as words, and as parts of names."""
    return re.compile(rf"(?<![a-z])(?:{forms})(?![a-z])", re.IGNORECASE)


ANY: Final = compile_forms("|".join(FORMER.values()))
"""Finds any of them: most texts have none, so most texts are searched once."""

RIGHT: Final = {
    "tell": (
        (r"\.tell\(\)", "the method of files"),
        (r'rename=\{.*"told"', "a member of stored state keeps its name"),
    ),
    "standing": (
        (r"\bstanding queries\b", "the term of Quine"),
        (r"\.standing\b|\bstanding[:=]|[\"`]standing[\"`.]", "a member of an HTTP answer keeps its name"),
    ),
    "figures": (
        (r"(?i)figures?[ _]\d|graphtide_bench/simulation/|^\| figure \|", "a drawing in a paper"),
        (r"\.figures\b|\bfigures[:=]|[\"`]figures[\"`.]", "a member of an HTTP answer or of stored state keeps its name"),
        (r"(?i)figures_seconds", "the former name of a setting"),
    ),
    "wish": ((r'rename=\{.*"wishes"', "a member of stored state keeps its name"),),
    "residue": ((r"products of two residues", "arithmetic modulo a prime"),),
    "frontier": (
        (r"sj_decomposition|test_sj_tree", "the frontier of a growing subgraph, in the file named so"),
        (r'"frontier"', "a member of a control record keeps its name"),
    ),
}
"""Lines, or files, in which a word is right, with the reason."""


def check() -> list[str]:
    """Return the files of the checkout that have words."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if not any(re.search(each, path) for each in ELSEWHERE)]


def uses(path: str, text: str) -> list[tuple[str, str]]:
    """Return the former words of a text that have no reason there, each with where it is."""
    found: list[tuple[str, str]] = []
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if ANY.search(line)] if ANY.search(text) else []
    for word, forms in FORMER.items() if lines else ():
        pattern = compile_forms(forms)
        reasons = [each for each, _ in RIGHT.get(word, ()) if not re.search(each, path)]
        if len(reasons) < len(RIGHT.get(word, ())):
            continue
        for number, line in lines:
            if pattern.search(line) and not any(re.search(each, line) for each in reasons):
                found.append((word, f"{path}:{number}: {line.strip()}"))
    return found


def test_a_former_word_occurs_only_where_it_is_right() -> None:
    found = []
    for path in check():
        try:
            text = (ROOT / path).read_text("utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        found += uses(path, text)
    assert found == []


def test_a_former_word_is_found_in_names_too() -> None:
    assert [word for word, _ in uses("a.py", "def is_told(self): ...")] == ["tell"]
    assert [word for word, _ in uses("a.py", "def unfold(self): ...")] == []


def test_every_reason_is_needed() -> None:
    texts = {path: (ROOT / path).read_text("utf-8", "ignore") for path in check() if (ROOT / path).is_file()}
    idle = [
        (word, reason)
        for word, reasons in RIGHT.items()
        for reason, _ in reasons
        if not any(re.search(reason, path) or re.search(reason, text, re.MULTILINE) for path, text in texts.items())
    ]
    assert idle == []
