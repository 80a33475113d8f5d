"""The classes of Apache Kafka, loaded and checked once, so that each start of a broker takes half the processor time.

The virtual machine writes them to a file when a first broker ends (`-XX:ArchiveClassesAtExit`), and maps that file afterwards
(class data sharing, JEP 350). A file of another version or other jars is ignored: a broker then starts as without one.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from graphtide_testing.servers.tools import kafka_jars, once, program

if TYPE_CHECKING:
    from collections.abc import Callable


def kafka_classes(run: Callable[[Path, str], None]) -> list[str]:
    """Return the options of a virtual machine that maps the file; make it first if there is none.

    Args:
        run: starts a broker in a folder with one more option, and ends it in good order.

    Raises:
        ServerError: the broker does not start, or what it needs is missing.
    """
    archive = archive_of_kafka()
    with once("classes"):
        if not archive.exists():
            with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
                made = Path(folder) / "classes.jsa"
                run(Path(folder) / "broker", f"-XX:ArchiveClassesAtExit={made}")
                # Where the machine writes none, an empty file says so, and is ignored.
                made.touch()
                made.rename(archive)
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr"]


def archive_of_kafka() -> Path:
    """Return the file of the classes of these jars for this virtual machine; it need not be there yet.

    Raises:
        ServerError: the jars or Java are missing.
    """
    jars, java = kafka_jars(), Path(program("java")).resolve()
    machine = hashlib.sha256(f"{java} {java.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    return jars.with_name(f"{jars.name}-{machine}.jsa")
