"""Apache Kafka as processes that are broker and controller at once (KRaft), small and quick to start: one, or several."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from graphtide_testing.servers.class_archive import kafka_classes
from graphtide_testing.servers.process import Process, ServerError, Usage, free_ports
from graphtide_testing.servers.tools import kafka_jars, program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_testing.servers.access_rules import AccessRule
    from graphtide_testing.servers.security import Security

_PROPERTIES = """\
process.roles=broker,controller
node.id={number}
controller.quorum.voters={voters}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}{secure}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}{advertised}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL
log.dirs={data}
auto.create.topics.enable=false
broker.heartbeat.interval.ms=500
default.replication.factor={replicas}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=4
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=4
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=4194304
num.network.threads=2
num.io.threads=2
background.threads=2
"""

# The session of a broker is as long as Kafka has it: on a busy machine a lone broker whose session ends has no leaders for a
# while, and its coordinator of groups, should it load just then, knows nothing of what was committed.

# What transactions leave behind is young: with little room for it, collecting it holds the broker up for tens of milliseconds.
_JVM = (
    "-Xms384m",
    "-Xmx512m",
    "-Xmn224m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


@dataclass(frozen=True, slots=True)
class Node:
    """Which node of a cluster a server is.

    Attributes:
        number: from 1 on.
        controllers: ports of the controllers of all nodes.
        cluster: id of the cluster.
    """

    number: int
    controllers: tuple[int, ...]
    cluster: str


def nodes(count: int) -> list[Node]:
    """Return the nodes of a new cluster."""
    ports = tuple(free_ports(count))
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return [Node(number, ports, cluster) for number in range(1, count + 1)]


class KafkaServer:
    """A Kafka that keeps its data and its port in `folder`, over crashes and restarts."""

    def __init__(
        self,
        folder: Path,
        security: Security | None = None,
        address: str = "127.0.0.1",
        name: str | None = None,
        *,
        node: Node | None = None,
    ) -> None:
        """Look after the server of this folder; it need not have one yet. It is a cluster by itself, or a node of one.

        With `security`, it has a second, secure listener: at this address, called by this name, the address by default.
        """
        self._node = node
        self._folder = folder.resolve()
        self._security = security
        self._address, self._name = address, name or address
        self._process = Process("kafka", self._folder)

    @property
    def bootstrap(self) -> str:
        """The address for clients; known once the server was started for the first time."""
        return f"127.0.0.1:{(self._folder / 'kafka.port').read_text()}"

    @property
    def secure_bootstrap(self) -> str:
        """The address of the secure listener."""
        return f"{self._name}:{(self._folder / 'kafka.secure_port').read_text()}"

    def start(self) -> None:
        """Start it, with the data it had; return when it answers clients.

        Raises:
            ServerError: it does not start, or what it needs is missing.
        """
        self.start_with(kafka_classes(run_once))
        if self._security and self._security.may:
            self._allow(self._security.may)

    def start_with(self, options: list[str]) -> None:
        """Start it as `start` does, with these options of the virtual machine, and without rules of who may do what.

        Raises:
            ServerError: it does not start, or what it needs is missing.
        """
        if not self._properties.exists():
            self._write_properties()
        java = [program("java"), *_JVM, *options, "-cp", f"{kafka_jars()}{os.sep}*"]
        if not (self._data / "meta.properties").exists():
            self._format(java)
        self._process.start([*java, "kafka.Kafka", str(self._properties)], self.answers)

    def answers(self) -> bool:
        """Return whether a broker stands ready behind the address."""
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "socket.timeout.ms": 1000})
        try:
            return bool(client.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def is_running(self) -> bool:
        """Return whether its process is there."""
        return self._process.is_running()

    def usage(self) -> Usage:
        """Return what it takes."""
        return self._process.usage()

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()

    def stop(self) -> None:
        """End it in good order."""
        self._process.stop()

    def forget(self) -> None:
        """Lose the disk, while the server does not run: the same cluster starts at the same address, with nothing in it."""
        shutil.rmtree(self._data, ignore_errors=True)

    def _allow(self, rules: Sequence[AccessRule]) -> None:
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            for made in client.create_acls(list(rules)).values():
                made.result()
        except KafkaException as error:
            self.kill()
            message = f"Kafka does not take the rules of who may do what: {error}"
            raise ServerError(message) from error

    @property
    def _properties(self) -> Path:
        return self._folder / "kafka.properties"

    @property
    def _data(self) -> Path:
        return self._folder / "kafka-data"

    def _write_properties(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (node,) = [self._node] if self._node else nodes(1)
        port, secure = free_ports(2)
        listener, advertised = (f",SECURE://{at}:{secure}" if self._security else "" for at in (self._address, self._name))
        settings = _PROPERTIES.format(
            number=node.number,
            voters=",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(node.controllers, 1)),
            replicas=len(node.controllers),
            in_sync=len(node.controllers) // 2 + 1,
            broker=port,
            controller=node.controllers[node.number - 1],
            secure=listener,
            advertised=advertised,
            data=self._data,
        )
        settings += self._security.properties() if self._security else ""
        (self._folder / "kafka.port").write_text(str(port))
        (self._folder / "kafka.secure_port").write_text(str(secure))
        (self._folder / "kafka.cluster").write_text(node.cluster)
        # A process that finds the settings finds the rest.
        draft = self._folder / "kafka.properties.new"
        draft.write_text(settings)
        draft.rename(self._properties)

    def _format(self, java: list[str]) -> None:
        """Make empty storage."""
        self.forget()
        users = self._security.of_storage() if self._security else []
        cluster = (self._folder / "kafka.cluster").read_text()
        # An id may begin with a dash, so it must not stand alone.
        tool = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(self._properties), *users]
        done = subprocess.run(  # noqa: S603 - made here, of our own parts
            [*java, *tool],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            self.forget()
            message = f"Kafka's storage cannot be formatted:\n{(done.stdout + done.stderr).strip()[-2000:]}"
            raise ServerError(message)


def run_once(folder: Path, option: str) -> None:
    """Start a broker with one more option of its virtual machine, and end it in good order.

    Raises:
        ServerError: it does not start.
    """
    server = KafkaServer(folder)
    server.start_with([option])
    server.stop()


class KafkaBrokers(KafkaServer):
    """A Kafka of several brokers, whose topics have a replica on each: methods of a server act on all of them.

    Attributes:
        brokers: all of them; each can crash, lose its disk and come back by itself.
    """

    def __init__(self, folder: Path, count: int) -> None:
        """Look after so many brokers, with a folder each in this one."""
        super().__init__(folder)
        self.brokers = [KafkaServer(folder / f"broker-{node.number}", node=node) for node in nodes(count)]

    @property
    def bootstrap(self) -> str:
        """The addresses for clients; known once the brokers were started for the first time."""
        return ",".join(each.bootstrap for each in self.brokers)

    def start(self) -> None:
        """Start all of them, with the data they had; return when each answers clients.

        Raises:
            ServerError: one does not start, or what it needs is missing.
        """
        # None of them answers before most are there.
        with ThreadPoolExecutor() as pool:
            list(pool.map(KafkaServer.start, self.brokers))

    def is_running(self) -> bool:
        """Return whether all of their processes are there."""
        return all(each.is_running() for each in self.brokers)

    def usage(self) -> Usage:
        """Return what they take together."""
        found = [each.usage() for each in self.brokers]
        return Usage(sum(each.cpu_seconds for each in found), sum(each.resident_bytes for each in found))

    def kill(self) -> None:
        """End them as a crash does."""
        for each in self.brokers:
            each.kill()

    def stop(self) -> None:
        """End them in good order."""
        for each in self.brokers:
            each.stop()

    def forget(self) -> None:
        """Lose all disks, while no server runs."""
        for each in self.brokers:
            each.forget()
