"""Check that a commit message is `scope: what`, an empty line, and a body that says why: `python .ci/commit_message.py FILE`.

Git's own messages (merges, reverts, fixups) pass. The rule is in `docs/style.md`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_MADE_BY_GIT = re.compile(r"(Merge|Revert) |(fixup|squash|amend)! ")
_SUBJECT = re.compile(r"[a-z0-9][a-z0-9_. /-]*: \S.*")
_LONGEST = 100
_CUT = "# ------------------------ >8 ------------------------"


def faults(message: str) -> list[str]:
    """Return what is wrong with a message, one sentence for each fault."""
    written = message.partition(_CUT)[0]
    subject, *rest = [line for line in written.strip().splitlines() if not line.startswith("#")] or [""]
    if _MADE_BY_GIT.match(subject):
        return []
    found = []
    if not _SUBJECT.fullmatch(subject):
        found.append(f"The first line is {subject!r}. Write `scope: what`, such as `matcher: plans read their past first`.")
    if len(subject) > _LONGEST:
        found.append(f"The first line has {len(subject)} characters. Write at most {_LONGEST}.")
    if rest and rest[0].strip():
        found.append("The second line is not empty. Leave it empty.")
    if not any(line.strip() for line in rest):
        found.append("There is no body. Say in a few lines why the change is made.")
    return found


def main(path: str) -> int:
    """Print the faults of the message in a file; return 1 if there are any."""
    found = faults(Path(path).read_text("utf-8"))
    sys.stderr.writelines(f"commit message: {each}\n" for each in found)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
