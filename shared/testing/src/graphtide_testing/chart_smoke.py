"""The Helm chart's whole system on one machine without a cluster: every pod as processes, over a secure Kafka and Redis.

`python -m graphtide_testing.chart_smoke --helm HELM [--chart FOLDER] [--values FILE] [--keep FOLDER] [--where-possible]`

Helm renders; `graphtide_testing.cluster` runs what came of it: hooks before the installation, then all pods, whose probes are
asked until each is ready, then `helm test`. A stream that Spark puts in order has its matches reported, and found again by a
backfill. At last all pods are stopped. Exits with 1 if a pod does not become ready, is started again, fails, or does not end in
good order. Brokers ask for certificates and SASL, and allow what `k8s/kafka/user.yaml` says and nothing else; Redis asks for
certificates and an ACL.

It takes root, namespaces and overlays, and says so where they are missing; with `--where-possible` that is not a failure.
Speed is not tested: every wait is bounded by minutes, since the machine may do other work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml
from graphtide_serving.access.keys import hash_key, new_key
from graphtide_serving.access.rights import SCOPES

from graphtide_testing.chart_errands import backfill
from graphtide_testing.cluster.kubelet import Kubelet
from graphtide_testing.cluster.manifests import Manifests
from graphtide_testing.cluster.network import NODE, apart
from graphtide_testing.cluster.possible import why_not
from graphtide_testing.images.building import Builder, Image, this_machine, this_python
from graphtide_testing.images.context import Context
from graphtide_testing.servers import KafkaServer, RedisServer
from graphtide_testing.servers.access_rules import access_rules
from graphtide_testing.servers.security import PASSWORD, USER, Security
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_testing.cluster.manifests import Object
    from graphtide_testing.cluster.running import Running

ROOT: Final = Path(__file__).parents[4]
RELEASE: Final = "smoke"
NAMESPACE: Final = "streams"
KAFKA: Final = "kafka.data.svc"
REDIS: Final = "redis.data.svc"
ON_SPARK: Final = "spark_flows"
"""Stream that the values leave to Spark."""

IMAGES: Final = ("graphtide", "graphtide-spark")
READY_SECONDS: Final = 1_200.0
HOOK_SECONDS: Final = 900.0
PATIENCE: Final = 15.0
"""How many times as long as its manifest says a pod may take to end: all of them end at once here, on few cores."""

_MOST_STARTS: Final = 3
_APART: Final = "GRAPHTIDE_CHART_SMOKE_APART"


def main() -> None:
    """Run it in namespaces of its own.

    Raises:
        SystemExit: with 1 if anything is not as it should be.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--helm", type=Path, required=True)
    parser.add_argument("--chart", type=Path, default=ROOT / "charts/graphtide")
    parser.add_argument("--values", type=Path, default=ROOT / "charts/graphtide/ci/smoke-values.yaml")
    parser.add_argument("--keep", type=Path, help="folder for what is written, instead of one that is deleted")
    parser.add_argument("--where-possible", action="store_true", help="end well where this machine cannot run it")
    given = parser.parse_args()
    if _APART not in os.environ and (reason := why_not()) is not None:
        as_root = f"sudo {sys.executable} -m graphtide_testing.chart_smoke --helm {given.helm}"
        _say(f"chart-smoke cannot run here: {reason}. Run it as root, on a machine that lets it: {as_root}")
        sys.exit(0 if given.where_possible else 1)
    if _APART not in os.environ:
        command = apart([sys.executable, "-m", "graphtide_testing.chart_smoke", *sys.argv[1:]])
        sys.exit(subprocess.run(command, env={**os.environ, _APART: "1"}, check=False).returncode)  # noqa: S603 - of our own parts
    with tempfile.TemporaryDirectory(prefix="graphtide-chart-", ignore_cleanup_errors=True) as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        # Processes of other users look through it.
        folder.chmod(0o755)
        flaws = Smoke(folder.resolve(), given.helm.resolve(), given.chart.resolve(), given.values.resolve()).run()
    if flaws:
        sys.stdout.write("\n".join(["", *flaws, ""]))
        sys.exit(1)


@dataclass
class Smoke:
    """One run.

    Attributes:
        folder: where all is written.
        helm: the program.
        chart: its folder.
        values: file of values; this run adds the addresses of Kafka and Redis.
        key: what callers show.
    """

    folder: Path
    helm: Path
    chart: Path
    values: Path
    key: str = field(default_factory=new_key)

    def run(self) -> list[str]:
        """Bring everything up, let it do its round trip, and end it; return what was wrong."""
        begun = time.monotonic()
        security = Security(self.folder / "certificates", (KAFKA, REDIS), access_rules(ROOT / "k8s/kafka/user.yaml", USER))
        kafka = KafkaServer(self.folder / "kafka", security, "0.0.0.0", KAFKA)  # noqa: S104 - in a network of its own
        redis = RedisServer(self.folder / "redis", security, "0.0.0.0")  # noqa: S104 - in a network of its own
        kubelet = None
        try:
            for name in ("kafka", "redis"):
                (self.folder / name).mkdir(exist_ok=True)
            kafka.start()
            redis.start()
            _say(f"Kafka and Redis are there, {time.monotonic() - begun:.0f} s")
            manifests = Manifests(self._rendered(kafka, redis), NAMESPACE)
            for secret in _secrets(security, self.key):
                manifests.add(secret)
            kubelet = Kubelet(manifests, self.folder, _images(self.folder), {KAFKA: NODE, REDIS: NODE}, ROOT, patience=PATIENCE)
            return self._lived_through(kubelet, begun)
        finally:
            if kubelet is not None:
                kubelet.end()
            kafka.kill()
            redis.kill()

    def _lived_through(self, kubelet: Kubelet, begun: float) -> list[str]:
        flaws = self._hooks(kubelet, "pre-install")
        release = [each for each in kubelet.pods.values() if not each.pod.hooks]
        if not flaws:
            kubelet.start(release)
            try:
                wait_until(lambda: all(map(_is_ready, release)) or any(map(_is_hopeless, release)), READY_SECONDS, pause=0.5)
            except AssertionError:
                flaws.append(f"not all pods are ready within {READY_SECONDS:g} s")
            flaws += [f"{each.pod.name} is not ready: {each.reason}" for each in release if not each.ready]
        if not flaws:
            _say(f"{len(release)} pods are ready, {time.monotonic() - begun:.0f} s")
            flaws += self._hooks(kubelet, "test") or self._errand(kubelet)
            kubelet.stop(release)
            flaws += [flaw for each in release for flaw in _flaws(each)]
        _say(_table(list(kubelet.pods.values())))
        _say(f"done in {time.monotonic() - begun:.0f} s")
        return [*flaws, *(self._log(each) for each in kubelet.pods.values() if flaws and each.phase != "Pending")]

    def _hooks(self, kubelet: Kubelet, hook: str) -> list[str]:
        """Run the pods of a hook one after the other, lower weights first; return what was wrong."""
        chosen = [each for each in kubelet.pods.values() if hook in each.pod.hooks]
        for running in sorted(chosen, key=lambda each: (each.pod.weight, each.pod.name)):
            kubelet.start([running])
            try:
                wait_until(lambda: running.phase in {"Succeeded", "Failed"}, HOOK_SECONDS)  # noqa: B023 - it is waited for here
            except AssertionError:
                return [f"{running.pod.name} does not end: {running.reason}"]
            if running.phase == "Failed":
                return [f"{running.pod.name} failed: {running.reason}"]
            _say(f"{running.pod.name}: {running.containers[0].output.read_text().strip().splitlines()[-1:]}")
        return []

    def _errand(self, kubelet: Kubelet) -> list[str]:
        """Let Spark put a stream in order, and go back through it; return what was wrong."""
        edges, control = (kubelet.address(f"{RELEASE}-graphtide-{name}", "http") for name in ("ingestion", "admin-api"))
        try:
            found = backfill(edges, control, self.key, ON_SPARK)
        except AssertionError as error:
            return [f"what users ask for: {error}"]
        _say(f"{ON_SPARK}, put in order on Spark: {found} matches, and the same by a backfill")
        return []

    def _rendered(self, kafka: KafkaServer, redis: RedisServer) -> list[Object | None]:
        own = self.folder / "values.yaml"
        places = {"kafka": {"bootstrap": kafka.secure_bootstrap}, "redis": {"host": REDIS, "port": redis.port}}
        own.write_text(yaml.safe_dump(places))
        line = [self.helm, "template", RELEASE, self.chart, "--namespace", NAMESPACE, "--values", self.values, "--values", own]
        done = subprocess.run([str(each) for each in line], capture_output=True, text=True, check=False)  # noqa: S603 - of our own parts
        if done.returncode != 0:
            message = f"helm does not render the chart:\n{done.stderr}"
            raise SystemExit(message)
        (self.folder / "manifests.yaml").write_text(done.stdout)
        documents: list[Object | None] = list(yaml.safe_load_all(done.stdout))
        return documents

    def _log(self, running: Running) -> str:
        ends = [f"{each.output.name}: {each.output.read_text()[-600:]}" for each in running.containers if each.output.exists()]
        return "\n".join(ends)


def _is_ready(running: Running) -> bool:
    return running.ready


def _is_hopeless(running: Running) -> bool:
    return running.phase == "Failed" or any(each.starts > _MOST_STARTS for each in running.containers)


def _secrets(security: Security, key: str) -> list[Object]:
    """Return what an operator makes before the installation; the chart's values name them."""
    files = {"ca.crt": security.authorities, "tls.crt": security.certificate, "tls.key": security.key}
    tls = {name: file.read_text() for name, file in files.items()}
    callers = [{"name": "round-trip", "hash": hash_key(key), "scopes": sorted(SCOPES)}]
    held = {
        "kafka-tls": tls,
        "kafka-user": {"username": USER, "password": PASSWORD},
        "redis-tls": tls,
        "redis-user": {"username": USER, "password": PASSWORD},
        "callers": {"api-keys": json.dumps(callers), "ticket-secret": new_key()},
        "round-trip": {"api-key": key},
    }
    return [{"kind": "Secret", "metadata": {"name": name}, "stringData": data} for name, data in held.items()]


def _images(folder: Path) -> dict[str, Image]:
    """Return the images as the last stages of their Dockerfile make them of this repository's environment and this machine."""
    environment = folder / "environment"
    for place in ("opt/graphtide", "opt/spark/jars", "jars"):
        (environment / place).mkdir(parents=True)
    for name in ("bin", "lib", "pyvenv.cfg"):
        (environment / "opt/graphtide" / name).symlink_to(Path(sys.prefix) / name)
    for script in ("entrypoint.sh", "decom.sh"):
        (environment / "opt" / script).touch()
    machine, made = this_machine(folder / "machine", this_python(), {}), Image((environment,))
    builder = Builder(
        (ROOT / "packaging/images/Dockerfile").read_text("utf-8"),
        Context(ROOT),
        folder / "images",
        arguments=dict.fromkeys(("PYTHON_DIGEST", "CREATED", "REVISION", "VERSION"), "none"),
        bases={"python": machine},
        given={"environment": made, "spark-environment": made, "jars": made, "spark": made, "spark-machine": machine},
        caches=folder,
    )
    return {name: _at_home(builder.build(name)) for name in IMAGES}


def _at_home(image: Image) -> Image:
    """Return an image that finds Spark in the environment of this repository."""
    return replace(image, environment={name: value for name, value in image.environment.items() if name != "SPARK_HOME"})


def _flaws(running: Running) -> list[str]:
    name, found = running.pod.name, []
    for container in running.containers:
        if container.starts != 1:
            found.append(f"{name}: {container.name} was started {container.starts} times, and ended with {container.statuses}")
        unasked = [probe for probe in ("startupProbe", "livenessProbe", "readinessProbe") if not container.asked.get(probe)]
        if unasked:
            found.append(f"{name}: {container.name} was not asked by {', '.join(unasked)}")
    return [*found, f"{name}: {running.reason}"] if running.phase != "Succeeded" else found


def _table(pods: Sequence[Running]) -> str:
    times = f"{'ready after':>11} {'ended after':>11}"
    lines = [f"{'pod':44} {'address':14} {times}  probes asked (startup, liveness, readiness)  ended with"]
    for each in pods:
        ready, ended = ("" if after is None else f"{after:.0f} s" for after in (each.ready_after, each.ended_after))
        for container in each.containers:
            asked: Mapping[str, int] = container.asked
            counts = ", ".join(str(asked.get(name, 0)) for name in ("startupProbe", "livenessProbe", "readinessProbe"))
            lines.append(f"{each.pod.name:44} {each.address:14} {ready:>11} {ended:>11}  {counts:43}  {container.statuses}")
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
