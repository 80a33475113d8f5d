"""Pods as processes: each container is a command in its image's tree, with variables, files, user and network of its manifest.

Containers that end are started again as `restartPolicy` says. Probes decide which are ready and which are started again. A pod
that is stopped has its `preStop` and its grace, which may be lengthened. A machine that runs all pods of a cluster at once is
slower than their nodes. What resources a container has is not bounded; what a NetworkPolicy says is not enforced.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from threading import Thread
from typing import TYPE_CHECKING, Final

from graphtide_testing.cluster.manifests import ManifestError
from graphtide_testing.cluster.network import Network
from graphtide_testing.cluster.probes import Probe
from graphtide_testing.cluster.running import Container, Running
from graphtide_testing.cluster.services import Services
from graphtide_testing.cluster.surroundings import command_of, containers, variables
from graphtide_testing.cluster.volumes import find_mounts, write_volumes
from graphtide_testing.images.sandbox import Sandbox
from graphtide_testing.orphans import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphtide_testing.cluster.manifests import Manifests, Pod
    from graphtide_testing.cluster.network import Place
    from graphtide_testing.images.building import Image

_TICK: Final = 0.1
_FIRST_PAUSE: Final = 1.0
_MOST_PAUSE: Final = 20.0


class Kubelet:
    """Runs the pods of a release."""

    def __init__(
        self,
        manifests: Manifests,
        folder: Path,
        images: Mapping[str, Image],
        hosts: Mapping[str, str],
        sources: Path | None = None,
        *,
        patience: float = 1.0,
    ) -> None:
        """Give every pod an address and every Service its own; nothing runs yet.

        Args:
            manifests: of the release.
            folder: where volumes and outputs go.
            images: by the part of their names before `:` or `@`.
            hosts: addresses of what is outside of the cluster, by name.
            sources: folder of this machine that programs of images are run from, seen at its own place; None is none.
            patience: how many times as long as its manifest says a pod may take to end.

        Raises:
            ManifestError: a manifest asks for what is not there, or is not known here.
        """
        self._manifests, self._folder, self._images, self._sources = manifests, folder, images, sources
        self._patience = patience
        self._network = Network()
        self.pods = {pod.name: self._prepared(pod) for pod in manifests.pods()}
        self._services = Services(manifests, self._network, list(self.pods.values()))
        self._hosts = self._services.hosts(hosts)
        # Names are asked of the file above alone.
        (folder / "resolv.conf").touch()

    def start(self, pods: Sequence[Running]) -> None:
        """Start pods."""
        for running in pods:
            running.begun = time.monotonic()
            running.thread = Thread(target=self._run, args=(running,), name=running.pod.name, daemon=True)
            running.thread.start()

    def stop(self, pods: Sequence[Running]) -> None:
        """Stop pods, all at once, and wait until they have ended."""
        for running in pods:
            running.is_ending.set()
        for running in pods:
            if running.thread is not None:
                running.thread.join()

    def end(self) -> None:
        """End everything at once."""
        for running in self.pods.values():
            running.is_ending.set()
            for container in running.containers:
                if container.process is not None:
                    container.process.kill()
        self._network.end()

    def address(self, service: str, port: str) -> Place:
        """Return where the first ready pod of a Service listens, for clients outside of the cluster.

        Raises:
            ManifestError: none is ready.
        """
        return self._services.address(service, port)

    def _prepared(self, pod: Pod) -> Running:
        logs = self._folder / "logs"
        logs.mkdir(exist_ok=True)
        held = [Container(spec["name"], spec, logs / f"{pod.name}.{spec['name']}.log") for spec, _ in containers(pod)]
        return Running(pod, self._network.join(pod.name), held)

    def _run(self, running: Running) -> None:
        """Run a pod from its first container to its end."""
        try:
            ready = self._run_first(running)
            if ready:
                running.phase = "Running"
                self._run_together(running)
        except (ManifestError, OSError) as error:
            running.phase, running.reason = "Failed", str(error)
        running.ready = False

    def _run_first(self, running: Running) -> bool:
        """Run the containers that must end before the others begin; return whether they did as they should."""
        firsts = {spec["name"] for spec, is_first in containers(running.pod) if is_first}
        for container in [each for each in running.containers if each.name in firsts]:
            while True:
                process = self._start(running, container)
                while process.poll() is None and not running.is_ending.wait(_TICK):
                    pass
                if process.poll() is None:
                    process.kill()
                    return False
                container.statuses.append(process.returncode)
                if process.returncode == 0:
                    break
                running.reason = f"{container.name} ended with {process.returncode}"
                if running.pod.spec.get("restartPolicy") == "Never":
                    running.phase = "Failed"
                    return False
                if running.is_ending.wait(_pause(container)):
                    return False
        running.containers = [each for each in running.containers if each.name not in firsts]
        return True

    def _run_together(self, running: Running) -> None:
        for container in running.containers:
            self._start(running, container)
        while not running.is_ending.wait(_TICK):
            for container in running.containers:
                self._look_at(running, container)
            if running.pod.is_job and running.has_ended:
                running.phase = "Failed" if any(each.statuses[-1] for each in running.containers) else "Succeeded"
                return
            running.ready = all(_is_ready(each) for each in running.containers)
            if running.ready and running.ready_after is None:
                running.ready_after = time.monotonic() - running.begun
        running.ready = False
        self._end_in_good_order(running)

    def _look_at(self, running: Running, container: Container) -> None:
        process = container.process
        if process is None:
            if container.again_at and time.monotonic() >= container.again_at:
                self._start(running, container)
            return
        if process.poll() is not None:
            self._has_ended(running, container, f"{container.name} ended with {process.returncode}")
            return
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = container.probes.get(name)
            if probe is None:
                continue
            probe.ask_if_due()
            container.asked[name] = container.asked.get(name, 0) + probe.asked
            probe.asked = 0
            if name == "startupProbe" and probe.holds:
                # It is asked no more.
                del container.probes[name]
            if name != "readinessProbe" and probe.holds is False:
                process.kill()
                process.wait()
                self._has_ended(running, container, f"{name} of {container.name}: {probe.configured}")
                return
            if name == "readinessProbe" and not probe.holds and probe.configured:
                running.reason = probe.configured
            if name == "startupProbe":
                return

    def _has_ended(self, running: Running, container: Container, why: str) -> None:
        process, container.process = container.process, None
        container.statuses.append(process.returncode if process is not None else 0)
        policy = running.pod.spec.get("restartPolicy", "Always")
        is_again = policy == "Always" or (policy == "OnFailure" and container.statuses[-1] != 0)
        container.again_at = time.monotonic() + _pause(container) if is_again else 0.0
        running.reason = why if container.statuses[-1] else running.reason

    def _end_in_good_order(self, running: Running) -> None:
        begun, grace = time.monotonic(), self._patience * running.pod.spec.get("terminationGracePeriodSeconds", 30)
        for container in running.containers:
            hook = container.spec.get("lifecycle", {}).get("preStop", {})
            if "sleep" in hook:
                time.sleep(hook["sleep"]["seconds"])
            elif hook:
                message = f"container {container.name}: preStop {', '.join(hook)} is not known here"
                raise ManifestError(message)
        left = [each for each in running.containers if each.process is not None]
        for container in left:
            if container.process is not None:
                container.process.send_signal(signal.SIGTERM)
        for container in left:
            process = container.process
            if process is None:
                continue
            try:
                process.wait(max(0.0, begun + grace - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                running.reason = f"{container.name} did not end within {grace:g} seconds"
            container.statuses.append(process.returncode)
            container.process = None
        running.ended_after = time.monotonic() - begun
        running.phase = "Failed" if any(each.statuses and each.statuses[-1] for each in left) else "Succeeded"

    def _start(self, running: Running, container: Container) -> subprocess.Popen[bytes]:
        pod, spec, container.starts = running.pod, container.spec, container.starts + 1
        image = self._image(spec["image"])
        own = self._folder / "pods" / pod.name
        own.mkdir(parents=True, exist_ok=True)
        volumes = write_volumes(self._manifests, pod, own / "volumes", self._folder / "claims")
        may_write, read_only = find_mounts(spec, volumes)
        configured = variables(self._manifests, pod, spec, running.address)
        security = {**pod.spec.get("securityContext", {}), **spec.get("securityContext", {})}
        own_user, _, own_group = image.user.partition(":")
        user = f"{security.get('runAsUser', own_user)}:{security.get('runAsGroup', own_group)}"
        if security.get("runAsNonRoot") and user.startswith("0:"):
            message = f"container {spec['name']} must not run as root, and would"
            raise ManifestError(message)
        if security.get("privileged") or security.get("capabilities", {}).get("add"):
            message = f"container {spec['name']}: more rights than those of a user are not known here"
            raise ManifestError(message)
        scratch = own / f"{spec['name']}.{container.starts}"
        (own / "hosts").write_text(f"{self._hosts}{running.address} {pod.name}\n")
        (own / "hostname").write_text(f"{pod.name}\n")
        sandbox = Sandbox(
            image.layers,
            scratch,
            None if security.get("readOnlyRootFilesystem") else scratch / "written",
            mounts=may_write,
            read_only={
                "/etc/hosts": own / "hosts",
                "/etc/resolv.conf": self._folder / "resolv.conf",
                "/etc/hostname": own / "hostname",
                **({} if self._sources is None else {str(self._sources): self._sources}),
                **read_only,
            },
            hidden=[each for each in ("/tmp",) if each not in may_write],  # noqa: S108 - of the room, not of this machine
        )
        surroundings = {"HOME": "/", "HOSTNAME": pod.name, **image.environment, **configured}
        # By this one variable, which no manifest has, a test run finds its processes when it is over.
        surroundings |= {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
        command = command_of(spec, (image.entrypoint, image.command), configured)
        inside = sandbox.command(command, surroundings, user, spec.get("workingDir", image.folder))
        with container.output.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - the manifest's own command
                self._network.inside(pod.name, inside), stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        container.process, container.again_at = process, 0.0
        container.probes = {
            name: Probe(name, spec[name], spec, running.address)
            for name in ("startupProbe", "livenessProbe", "readinessProbe")
            if name in spec
        }
        return process

    def _image(self, name: str) -> Image:
        repository = name.partition("@")[0].partition(":")[0]
        if repository not in self._images:
            message = f"there is no image {name}"
            raise ManifestError(message)
        return self._images[repository]


def _is_ready(container: Container) -> bool:
    if container.process is None or "startupProbe" in container.probes:
        return False
    probe = container.probes.get("readinessProbe")
    return probe is None or probe.holds is True


def _pause(container: Container) -> float:
    return min(_MOST_PAUSE, _FIRST_PAUSE * 2.0 ** (container.starts - 1))
