"""Run the tests of a package against mutants of it, each in a process of its own, on a copy of the package.

The copy is first on the path of Python; the sources in the checkout are only read. One run of all tests under coverage says
which tests run which line, and how long each takes. A trial then runs the tests of the mutant's line alone, quickest first,
until one fails. Code that runs at import concerns every test.

Lines that a test runs in another process are not seen. Nor is what a cache that outlives a test hides from the tests after it.
Such a mutant counts as survived. A bound on time and memory makes endless loops and lists count as killed.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coverage import CoverageData

from graphtide_testing.mutation.chosen_tests import CHOSEN, SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from graphtide_testing.mutation.mutants import Mutant

_MEMORY: Final = 8 << 30
_SLOWER: Final = 10.0
"""A trial may take this many times what its tests took before."""
_PASSED: Final = 0


class Outcome(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    TIMED_OUT = "killed by time"
    SURVIVED = "survived"
    NOT_RUN = "survived, no test runs it"


class TestsFailError(Exception):
    """The tests fail on the package as it is, so that trials would say nothing."""

    def __init__(self, output: str) -> None:
        """Keep the end of what pytest printed."""
        super().__init__(f"the tests must pass before anything is changed. The end of their output:\n{output[-2000:]}")


class NothingRunsError(Exception):
    """No test runs a line of the package."""

    def __init__(self, package: str) -> None:
        """Say which package."""
        super().__init__(f"no test runs a line of {package}. Name tests that import it.")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the tests do with the package as it is."""

    seconds: dict[str, float]
    """By the test's id."""
    tests_by_line: dict[str, dict[int, frozenset[str]]]
    """By the path inside the package, then by line."""

    def tests_of(self, path: str, mutant: Mutant) -> list[str]:
        """Return the tests that may notice the mutant, quickest first."""
        by_line = self.tests_by_line.get(path, {})
        tests = {test for line in mutant.lines for test in by_line.get(line, ())}
        if not mutant.in_function:
            tests = set(self.seconds)
        return sorted(tests, key=lambda test: (self.seconds[test], test))


class Trials:
    """A copy of a package, and the tests that are run on it."""

    def __init__(
        self, package: Path, tests: Sequence[str], deselected: Sequence[str], folder: Path, start_seconds: float
    ) -> None:
        """Copy the package below `folder`, which the caller deletes; a trial gets `start_seconds` for starting pytest."""
        self._folder = folder
        self._tests = list(tests)
        self._deselected = [f"--deselect={each}" for each in deselected]
        self._start_seconds = start_seconds
        self._copy = folder / "path" / package.name
        shutil.copytree(package, self._copy, ignore=shutil.ignore_patterns("__pycache__"))

    def baseline(self) -> Baseline:
        """Run every test on the unchanged copy.

        Raises:
            TestsFailError: One fails.
            NothingRunsError: None runs a line of the package.
        """
        seconds, data = self._folder / "seconds.json", self._folder / "coverage"
        options = [f"--cov={self._copy}", "--cov-context=test", "--cov-report="]
        result = self._pytest([*options, *self._tests], {SECONDS: str(seconds), "COVERAGE_FILE": str(data)}, limit=None)
        if result.returncode != _PASSED:
            raise TestsFailError(result.stdout)
        measured: dict[str, float] = json.loads(seconds.read_text())
        coverage = CoverageData(str(data))
        coverage.read()
        by_file = {
            str(Path(file).relative_to(self._copy)): {
                line: _tests_of_contexts(contexts, measured) for line, contexts in coverage.contexts_by_lineno(file).items()
            }
            for file in coverage.measured_files()
        }
        if not any(tests for by_line in by_file.values() for tests in by_line.values()):
            raise NothingRunsError(self._copy.name)
        return Baseline(measured, by_file)

    def outcome(self, path: str, mutant: Mutant, baseline: Baseline) -> Outcome:
        """Change the copy, run the tests that may notice, and change the copy back."""
        tests = baseline.tests_of(path, mutant)
        if not tests:
            return Outcome.NOT_RUN
        chosen = self._folder / "chosen.json"
        chosen.write_text(json.dumps(tests))
        limit = self._start_seconds + _SLOWER * sum(baseline.seconds[test] for test in tests)
        source = self._copy / path
        before = source.read_bytes()
        source.write_bytes(mutant.applied_to(before))
        try:
            files = dict.fromkeys(test.partition("::")[0] for test in tests)
            result = self._pytest(["-x", *files], {CHOSEN: str(chosen)}, limit)
        except subprocess.TimeoutExpired:
            return Outcome.TIMED_OUT
        finally:
            source.write_bytes(before)
        return Outcome.SURVIVED if result.returncode == _PASSED else Outcome.KILLED

    def _pytest(
        self, arguments: Iterable[str], environment: dict[str, str], limit: float | None
    ) -> subprocess.CompletedProcess[str]:
        plugins = ["-p", "graphtide_testing.mutation.chosen_tests", "-p", "no:cacheprovider"]
        # With -P the working directory is not on the path before the copy.
        command = [sys.executable, "-P", "-m", "pytest", "-q", *plugins, *self._deselected, *arguments]
        path = os.pathsep.join(filter(None, [str(self._copy.parent), os.environ.get("PYTHONPATH")]))
        # Bytecode of one mutant must not be taken for that of the next; failing examples are not examples of the checkout.
        own = {
            "PYTHONPATH": path,
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self._folder / "hypothesis"),
        }
        with subprocess.Popen(  # noqa: S603 - made here, of our own parts
            command,
            env={**os.environ, **own, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_bound_memory,  # noqa: PLW1509 - no threads here
        ) as process:
            try:
                output, _ = process.communicate(timeout=limit)
            finally:
                _end(process)
        return subprocess.CompletedProcess(command, process.returncode, output)


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def _bound_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _tests_of_contexts(contexts: Iterable[str], tests: Iterable[str]) -> frozenset[str]:
    """Return the tests that contexts of coverage name: `id|phase`. What one sets up may serve all tests of its file."""
    found: set[str] = set()
    for context in contexts:
        test, _, phase = context.rpartition("|")
        if phase == "run":
            found.add(test)
        elif phase:
            file = test.partition("::")[0]
            found.update(other for other in tests if other.partition("::")[0] == file)
    return frozenset(found)
