"""Apache Kafka as one process that is broker and controller (KRaft), small and quick to start."""

from __future__ import annotations

import base64
import os
import subprocess
import uuid
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from graphtide_testing.servers.process import Process, ServerError, free_ports
from graphtide_testing.servers.tools import kafka_jars, program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphtide_testing.servers.allowances import Allowance
    from graphtide_testing.servers.process import Usage
    from graphtide_testing.servers.security import Security

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}{secure}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}{advertised}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL
log.dirs={data}
auto.create.topics.enable=false
broker.heartbeat.interval.ms=500
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
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


class KafkaServer:
    """A Kafka that keeps its data and its port in `folder`, over crashes and restarts."""

    def __init__(
        self, folder: Path, security: Security | None = None, address: str = "127.0.0.1", name: str | None = None
    ) -> None:
        """Look after the server of this folder; it need not have one yet.

        With `security`, it has a second, secure listener: at this address, called by this name, the address by default.
        """
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
        classpath = f"{kafka_jars()}{os.sep}*"
        java = program("java")
        if not self._properties.exists():
            self._format(java, classpath)
        self._process.start([java, *_JVM, "-cp", classpath, "kafka.Kafka", str(self._properties)], self.answers)
        if self._security and self._security.may:
            self._allow(self._security.may)

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

    def _allow(self, rules: Sequence[Allowance]) -> None:
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

    def _format(self, java: str, classpath: str) -> None:
        """Write the settings and make empty storage."""
        self._folder.mkdir(parents=True, exist_ok=True)
        port, controller, secure = free_ports(3)
        listener, advertised = (f",SECURE://{at}:{secure}" if self._security else "" for at in (self._address, self._name))
        data = self._folder / "kafka-data"
        settings = _PROPERTIES.format(broker=port, controller=controller, secure=listener, advertised=advertised, data=data)
        settings += self._security.properties() if self._security else ""
        draft = self._folder / "kafka.properties.new"
        draft.write_text(settings)
        (self._folder / "kafka.port").write_text(str(port))
        (self._folder / "kafka.secure_port").write_text(str(secure))
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        users = self._security.of_storage() if self._security else []
        tool = [java, *_JVM, "-cp", classpath, "kafka.tools.StorageTool"]
        done = subprocess.run(  # noqa: S603 - made here, of our own parts
            # An id may begin with a dash, so it must not stand alone.
            [*tool, "format", f"--cluster-id={cluster}", "-c", str(draft), *users],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            message = f"Kafka's storage cannot be formatted:\n{(done.stdout + done.stderr).strip()[-2000:]}"
            raise ServerError(message)
        draft.rename(self._properties)
