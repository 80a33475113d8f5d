"""The machine that results are from."""

# No deferred annotations here: msgspec reads them.
import hashlib
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from graphtide_native import _native

_BUILD = hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()[:8]
_CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of the measurements, and their date.

    Attributes:
        cpu: its model.
        cores: how many.
        system: operating system and architecture.
        python: its version.
        date: of the day the run ended, in UTC.
        load: processes that wanted a core, on average over the run's last minute, this one among them.
        build: digest of the native extension: measurements of two builds differ by more than noise.
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


def resident_bytes(process: int | str = "self") -> int:
    """Return the bytes of memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _cpu() -> str:
    """Return the processor's model; only Linux has it in a file."""
    try:
        lines = _CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())
