"""Count the changes of a package that its tests notice.

`python -m graphtide_testing.mutation PACKAGE_SRC --tests PATH… --mutants 200 --seed 1`. Run it in the folder where pytest runs.
The same seed picks the same mutants of the same sources, so two suites can be compared on one package. The exit status is 0,
however many survive. It is 2 if the tests cannot decide: they fail on the unchanged package, or do not import it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_testing.mutation.mutants import Mutant, mutants
from graphtide_testing.mutation.trials import NothingRunsError, Outcome, TestsFailError, Trials

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the sampled mutants one after the other, and print each that survives, then the counts."""
    options = _options().parse_args(arguments)
    package: Path = options.package
    if not package.is_dir():
        sys.stderr.write(f"{package} is not a folder. Name the package itself, as shared/core/src/graphtide_core.\n")
        return 2
    every = all_mutants(package)
    chosen = sample(every, options.mutants, options.seed)
    outcomes: Counter[Outcome] = Counter()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="graphtide-mutation-") as folder:
        trials = Trials(package, options.tests, options.deselect, Path(folder), options.start_seconds)
        try:
            baseline = trials.baseline()
        except (TestsFailError, NothingRunsError) as error:
            sys.stderr.write(f"{error}\n")
            return 2
        passed = f"{len(baseline.seconds)} tests pass in {sum(baseline.seconds.values()):.1f} s"
        _print(f"{passed}; trying {len(chosen)} of {len(every)} mutants")
        for path, mutant in chosen:
            outcome = trials.outcome(path, mutant, baseline)
            outcomes[outcome] += 1
            if options.every or outcome in {Outcome.SURVIVED, Outcome.NOT_RUN}:
                _print(f"{outcome.value}: {package / path}:{mutant.line}: {_short(mutant.before)}  ->  {_short(mutant.after)}")
    killed = outcomes[Outcome.KILLED] + outcomes[Outcome.TIMED_OUT]
    _print(
        f"{len(chosen)} mutants: {killed} killed ({outcomes[Outcome.TIMED_OUT]} by time), "
        f"{len(chosen) - killed} survived ({outcomes[Outcome.NOT_RUN]} on lines that no test runs); "
        f"{time.monotonic() - started:.0f} s"
    )
    return 0


def all_mutants(package: Path) -> list[tuple[str, Mutant]]:
    """Return the mutants of all modules but `__main__`, with their path inside the package, in the order of the text."""
    return [
        (str(file.relative_to(package)), mutant)
        for file in sorted(package.rglob("*.py"))
        if file.name != "__main__.py"
        for mutant in mutants(file.read_text())
    ]


def sample(every: Sequence[tuple[str, Mutant]], size: int, seed: int) -> list[tuple[str, Mutant]]:
    """Return `size` of them, or all if there are fewer, in the order of the text."""
    if size >= len(every):
        return list(every)
    at = random.Random(seed).sample(range(len(every)), size)  # noqa: S311 - a sample, no secret
    return [every[position] for position in sorted(at)]


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m graphtide_testing.mutation", description=__doc__)
    parser.add_argument("package", type=Path, metavar="PACKAGE_SRC", help="folder of the package to change copies of")
    parser.add_argument("--tests", nargs="+", required=True, metavar="PATH", help="tests to run, as pytest takes them")
    parser.add_argument("--deselect", nargs="+", default=(), metavar="ID", help="tests that cannot pass on a copy")
    parser.add_argument("--mutants", type=int, default=200, help="how many mutants to try")
    parser.add_argument("--seed", type=int, default=1, help="picks the mutants")
    parser.add_argument("--start-seconds", type=float, default=60.0, help="seconds that a trial may take to start")
    parser.add_argument("--every", action="store_true", help="print killed mutants, too")
    return parser


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
