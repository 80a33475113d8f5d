"""Services of a release: pods call them by name, and they lead to the ready pods alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide_testing.cluster.manifests import ManifestError
from graphtide_testing.cluster.network import Port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_testing.cluster.manifests import Manifests, Object
    from graphtide_testing.cluster.network import Network, Place
    from graphtide_testing.cluster.running import Running


class Services:
    """The Services of a release over its pods."""

    def __init__(self, manifests: Manifests, network: Network, pods: Sequence[Running]) -> None:
        """Look at pods at the time of each call; nothing listens yet."""
        self._manifests, self._network, self._pods = manifests, network, pods

    def hosts(self, outside: Mapping[str, str]) -> str:
        """Give each Service an address, and return `/etc/hosts` of all pods; `outside` are addresses of others, by name.

        A Service without an address of its own (`clusterIP: None`) leads to its pods; each pod has a name there.
        """
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in outside.items())]
        for service in self._manifests.all_of("Service"):
            name = service["metadata"]["name"]
            selected = self._selected(service)
            if service["spec"].get("clusterIP") == "None":
                addresses = [each.address for each in selected]
                lines += [f"{each.address} {self._in_domain(f'{each.pod.name}.{name}')}" for each in selected]
            else:
                ports = [Port(each["port"], _Endpoints(self, service, each)) for each in service["spec"]["ports"]]
                addresses = [self._network.serve(ports)]
            lines += [f"{address} {self._in_domain(name)}" for address in addresses]
        return "\n".join([*lines, ""])

    def address(self, service: str, port: str) -> Place:
        """Return where the first pod that a Service leads to listens.

        Raises:
            ManifestError: there is none.
        """
        (found,) = [each for each in self._manifests.all_of("Service") if each["metadata"]["name"] == service]
        (configured,) = [each for each in found["spec"]["ports"] if each["name"] == port]
        places = self.endpoints(found, configured)
        if not places:
            message = f"no pod of {service} is ready"
            raise ManifestError(message)
        return places[0]

    def endpoints(self, service: Object, port: Object) -> list[Place]:
        """Return where a port of a Service leads to now."""
        takes_all = service["spec"].get("publishNotReadyAddresses", False)
        target: int | str = port.get("targetPort") or port["port"]
        return [
            (each.address, number)
            for each in self._selected(service)
            if each.ready or takes_all
            for number in _numbers(each, target)
        ]

    def _selected(self, service: Object) -> list[Running]:
        wanted = service["spec"].get("selector", {}).items()
        return [each for each in self._pods if wanted and wanted <= each.pod.labels.items()]

    def _in_domain(self, name: str) -> str:
        space = self._manifests.namespace
        return f"{name} {name}.{space} {name}.{space}.svc {name}.{space}.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class _Endpoints:
    """Where a port of a Service leads to whenever it is asked."""

    services: Services
    service: Object
    port: Object

    def __call__(self) -> list[Place]:
        return self.services.endpoints(self.service, self.port)


def _numbers(running: Running, target: int | str) -> list[int]:
    """Return the ports of a pod that a target means: its number, or those of its name."""
    if isinstance(target, int):
        return [target]
    declared = [port for container in running.containers for port in container.spec.get("ports", [])]
    return [int(port["containerPort"]) for port in declared if port.get("name") == target]
