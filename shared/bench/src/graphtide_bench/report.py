"""Holds what a run of benchmarks found and on which machine, as JSON, as Markdown and on a terminal."""

# No deferred annotations here: msgspec reads them.
import hashlib
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from graphtide_core.errors import FatalError
from graphtide_native import _native
from rich.console import Console

from graphtide_bench.adaptation import AdaptationRun, by_way
from graphtide_bench.algebra.measure import AlgebraRun
from graphtide_bench.algebra.tables import by_plan
from graphtide_bench.contrast import ContrastRun, by_case
from graphtide_bench.counting import CountingRun, counted_rates
from graphtide_bench.from_scratch import FromScratchRun, against_scratch
from graphtide_bench.many import ManyRun, by_number
from graphtide_bench.measure import Measurement
from graphtide_bench.memory import Resident, by_length
from graphtide_bench.selectivity import RelativeSelectivities, SelectivityRun, gains, partial_matches, times
from graphtide_bench.simulation.measure import SimulationRun
from graphtide_bench.simulation.tables import by_experiment, by_stretch, by_weight
from graphtide_bench.simulation.weights import fit
from graphtide_bench.summary import by_pattern, by_storage, by_stream, by_threads, growth
from graphtide_bench.table import Table

_BUILD = hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:8]
_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Machine:
    """What the figures were measured on, and when.

    Attributes:
        cpu: its model.
        cores: how many.
        system: operating system and architecture.
        python: its version.
        date: of the day the run ended, in UTC.
        load: processes that wanted a core, on average over the run's last minute, this one among them.
        build: digest of the native extension: figures of two builds differ by more than noise.
    """

    cpu: str
    cores: int
    system: str
    python: str
    date: str
    load: float
    build: str

    def __str__(self) -> str:
        """Return one line."""
        where = f"{self.cpu}, {self.cores} cores, {self.system}, Python {self.python}"
        return f"{where}, {self.date}, load {self.load:.1f}, build {self.build}"


@dataclass(frozen=True, slots=True)
class Report:
    """What one command measured.

    Attributes:
        command: its name.
        machine: where.
        checked: what was asserted of the results.
        measurements: of single patterns.
        resident: memory of whole processes.
        many: of many patterns in one pass.
        adaptation: of a stream that changes.
        selectivity: of strategies over selectivity.
        relative: Relative Selectivities.
        contrasts: of workloads that set engines apart.
        from_scratch: against VF2.
        counting: of statistics.
        simulation: of dual simulation.
        algebra: of streaming graph queries.
    """

    command: str
    machine: Machine
    checked: str
    measurements: tuple[Measurement, ...] = ()
    resident: tuple[Resident, ...] = ()
    many: tuple[ManyRun, ...] = ()
    adaptation: tuple[AdaptationRun, ...] = ()
    selectivity: tuple[SelectivityRun, ...] = ()
    relative: tuple[RelativeSelectivities, ...] = ()
    contrasts: tuple[ContrastRun, ...] = ()
    from_scratch: tuple[FromScratchRun, ...] = ()
    counting: tuple[CountingRun, ...] = ()
    simulation: tuple[SimulationRun, ...] = ()
    algebra: tuple[AlgebraRun, ...] = ()

    def tables(self) -> tuple[Table, ...]:
        """Return the tables that say most about this command's results."""
        found: list[Table | None] = []
        if self.resident:
            found.append(by_length(self.resident))
        if self.many:
            found.append(by_number(self.many))
        if self.adaptation:
            found.append(by_way(self.adaptation))
        if self.selectivity:
            found.extend(table(self.selectivity) for table in (times, partial_matches, gains))
        if self.contrasts:
            found.append(by_case(self.contrasts))
        if self.from_scratch:
            found.append(against_scratch(self.from_scratch))
        if self.counting:
            found.append(counted_rates(self.counting))
        found.extend(by_plan(self.algebra))
        if self.simulation:
            found.extend((*by_experiment(self.simulation), by_stretch(self.simulation), by_weight(fit(self.simulation))))
        if self.measurements:
            match self.command:
                case "memory":
                    found.append(by_storage(self.measurements))
                case "concurrency":
                    found.append(by_threads(self.measurements))
                case _:
                    found.extend((by_stream(self.measurements), growth(self.measurements)))
        return tuple(table for table in found if table is not None)

    def to_markdown(self) -> str:
        """Return the tables, and below them every pattern where there are summaries above."""
        tables = list(self.tables())
        if self.command == "subgraph":
            tables.append(by_pattern(self.measurements))
        return "\n".join([f"{self.machine}\n", f"{self.checked}\n", *(table.to_markdown() for table in tables)])

    def show(self, console: Console) -> None:
        """Draw the tables on a terminal."""
        for table in self.tables():
            console.print(table.to_rich())
        console.print(f"{self.machine}", highlight=False)
        console.print(self.checked, highlight=False)

    def write(self, path: Path) -> None:
        """Write the report as JSON, which `read` reads."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")


def read(path: Path) -> Report:
    """Read a report.

    Raises:
        FatalError: there is no such file, or it is not a report.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        message = f"{path}: cannot be read ({error.strerror or error})"
        raise FatalError(message) from error
    except msgspec.DecodeError as error:
        message = f"{path}: this is not a report of benchmarks ({error})"
        raise FatalError(message) from error


def this_machine() -> Machine:
    """Describe the machine that this runs on."""
    return Machine(
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        date=datetime.now(UTC).date().isoformat(),
        load=os.getloadavg()[0],
        build=_BUILD,
    )


def _cpu() -> str:
    """Return the processor's model; only Linux has it in a file."""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())
