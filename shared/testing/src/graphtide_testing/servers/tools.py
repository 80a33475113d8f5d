"""What the servers need of the machine: found, installed where that is possible, or asked for by name."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_testing.servers.process import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

CACHE: Final = Path(__file__).parents[5] / ".cache"
"""The repository's folder for what can be fetched again."""

_PACKAGES: Final = {"java": "openjdk-17-jre-headless", "mvn": "maven", "redis-server": "redis-server", "nft": "nftables"}
"""Programs, and the Debian packages that bring them."""

_POM: Final = Path(__file__).with_name("kafka-pom.xml")
_COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


def program(name: str) -> str:
    """Return where the program is; install it first if it is missing and this user may.

    Raises:
        ServerError: it is missing and cannot be installed; the message says how to get it.
    """
    found = shutil.which(name)
    if found is not None:
        return found
    package = _PACKAGES[name]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _run(["apt-get", "update", "-q"], f"apt-get cannot be asked for {package}")
        _run(["apt-get", "install", "-y", "-q", "--no-install-recommends", package], f"{package} cannot be installed")
        found = shutil.which(name)
    if found is None:
        message = f"missing: {name}, for the servers of the tests. Install it (Debian: apt-get install {package})"
        raise ServerError(message)
    return found


def kafka_jars() -> Path:
    """Return the folder of Apache Kafka's jars; Maven copies them there the first time, tens of megabytes.

    Raises:
        ServerError: Maven is missing, or fails.
    """
    digest = hashlib.sha256(_POM.read_bytes()).hexdigest()[:12]
    jars = CACHE / f"kafka-{digest}"
    with once("kafka"):
        if not jars.exists():
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                copied = Path(folder) / "jars"
                command = [program("mvn"), "-q", "-B", "-f", str(_POM), _COPY, "-DincludeScope=runtime"]
                _run([*command, f"-DoutputDirectory={copied}"], "Maven cannot copy the jars of Apache Kafka")
                copied.rename(jars)
    return jars


@contextmanager
def once(name: str) -> Iterator[None]:
    """Hold the lock of a part of the cache: one process makes it, and others find it."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepare() -> None:
    """Find or fetch all programs and jars, so that starting servers takes seconds."""
    for name in _PACKAGES:
        program(name)
    kafka_jars()


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - made here, of our own parts
    if done.returncode != 0:
        message = f"{failure}:\n{(done.stdout + done.stderr).strip()[-2000:]}"
        raise ServerError(message)
