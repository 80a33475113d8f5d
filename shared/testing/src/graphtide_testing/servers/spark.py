"""A Spark standalone cluster: a master and workers on the loopback interface, as processes of this machine."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from graphtide_testing.servers.process import Process, free_ports
from graphtide_testing.servers.tools import program

_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_MEMORY = "1g"


def environment() -> dict[str, str]:
    """Return the variables under which Spark works here: this Python, and no other machine."""
    return {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}


class SparkCluster:
    """A master and some workers of one core each; data in `folder`."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        """Look after the cluster of this folder; nothing runs yet."""
        self._folder = folder.resolve()
        self._port, *self._worker_ports = free_ports(1 + workers)
        self._master = Process("spark-master", self._folder)
        self._workers = [Process(f"spark-worker-{number}", self._folder) for number in range(workers)]

    @property
    def url(self) -> str:
        """The master, as sessions name it."""
        return f"spark://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start all of it; return when it listens.

        Raises:
            ServerError: it does not start, or Java is missing.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._run(self._master, "master.Master", ["--port", str(self._port), "--webui-port", "0"], self._port)
        for number in range(len(self._workers)):
            self.start_worker(number)

    def start_worker(self, number: int) -> None:
        """Start a worker that does not run."""
        port = self._worker_ports[number]
        options = ["--cores", "1", "--memory", _MEMORY, "--port", str(port), "--webui-port", "0"]
        work = ["--work-dir", str(self._folder / f"work-{number}"), self.url]
        self._run(self._workers[number], "worker.Worker", [*options, *work], port)

    def kill_worker(self, number: int) -> None:
        """End a worker as a crash does; its executor goes with it."""
        self._workers[number].kill()

    def stop(self) -> None:
        """End all of it."""
        for process in (*self._workers, self._master):
            process.kill()

    def _run(self, process: Process, kind: str, options: list[str], port: int) -> None:
        home = _home()
        command = [program("java"), *_JVM, "-cp", f"{home / 'jars'}{os.sep}*", f"org.apache.spark.deploy.{kind}"]
        # Workers start executors with these.
        variables = environment() | {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"}
        process.start([*command, "--host", "127.0.0.1", *options], lambda: _listens(port), variables)


def _home() -> Path:
    import pyspark  # noqa: PLC0415 - most tests need no Spark, and it takes half a second

    return Path(pyspark.__file__).parent


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
