"""Runs as a process that matches a stream file block by block and says how much memory it took; `memory` starts it.

Reads a `PeakRequest` as JSON from standard input and writes a `PeakAnswer` to standard output. The process imports what a
matcher and its readers need and nothing of the benchmarks, so that the peak is theirs.
"""

# No deferred annotations here: msgspec reads them.
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
from graphtide.readers import ReaderOptions, open_stream
from graphtide_core.plans import Storage
from graphtide_core.statistics import from_json
from graphtide_native.matcher import Matcher
from graphtide_query import parse_subgraphs
from graphtide_query.families import PlannerOptions
from graphtide_query.planner import plan

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class PeakRequest:
    """What to match.

    Attributes:
        stream: path of the file.
        patterns: their text.
        engine: its name.
        storage: of partial matches.
        statistics: what the planner knows, as a snapshot in JSON.
    """

    stream: str
    patterns: str
    engine: str
    storage: Storage
    statistics: str


@dataclass(frozen=True, slots=True)
class PeakAnswer:
    """Peak resident bytes before the stream and at its end; what was read and found, and the matcher's own account of state."""

    before: int
    after: int
    edges: int
    matches: int
    peak_state_bytes: int


def answer(request: PeakRequest) -> PeakAnswer:
    """Match the stream."""
    known = from_json(request.statistics)
    planner_options = PlannerOptions(request.engine, {"timing": request.storage.value})
    plans = [plan(pattern, planner_options, statistics=known) for pattern in parse_subgraphs(request.patterns)]
    options = ReaderOptions()
    matcher = Matcher(plans, options.symbols)
    before = peak_resident_bytes()
    matches = sum(len(found) for batch in open_stream(request.stream, options).batches() for found in matcher.push(batch))
    totals = matcher.totals()
    return PeakAnswer(before, peak_resident_bytes(), totals.records, matches, totals.peak_state_bytes)


def peak_resident_bytes() -> int:
    """Return the most memory that this process has had resident.

    On Linux, `getrusage` also counts what the parent had resident when it started this process; the status file does not.
    """
    try:
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    high = next((line.split() for line in lines if line.startswith("VmHWM:")), None)
    if high is not None:
        return int(high[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Answer the request on standard input."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=PeakRequest)
    sys.stdout.buffer.write(msgspec.json.encode(answer(request)))


if __name__ == "__main__":
    main()
