"""Rendered manifests: the objects in them, and the pods that controllers would make of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Object = dict[str, Any]
"""An object of Kubernetes as YAML gives it."""

KINDS: Final = frozenset(
    {
        "ConfigMap",
        "Deployment",
        "HTTPRoute",
        "HorizontalPodAutoscaler",
        "Ingress",
        "Job",
        "NetworkPolicy",
        "PersistentVolumeClaim",
        "Pod",
        "PodDisruptionBudget",
        "PrometheusRule",
        "Role",
        "RoleBinding",
        "ScaledObject",
        "Secret",
        "Service",
        "ServiceAccount",
        "ServiceMonitor",
        "StatefulSet",
    }
)
"""Kinds that are known here. An unknown kind is an error: it may start processes that would silently not run."""

_HOOK: Final = "helm.sh/hook"
_WEIGHT: Final = "helm.sh/hook-weight"


class ManifestError(ValueError):
    """A manifest asks for what is not there, or for what is not known here."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of the manifests.

    Attributes:
        name: of it, which is its host's name, too.
        namespace: where it is.
        labels: of it.
        annotations: of it.
        spec: as the manifest has it.
        hooks: when Helm runs it; none runs with the release.
        weight: of that hook: lower ones run first.
        is_job: whether it is to end.
    """

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Object
    hooks: frozenset[str] = frozenset()
    weight: int = 0
    is_job: bool = False


class Manifests:
    """The objects of a release in one namespace."""

    def __init__(self, documents: Iterable[Object | None], namespace: str) -> None:
        """Take objects; empty documents are left out.

        Raises:
            ManifestError: one is of a kind that is not known here, or stands there twice.
        """
        self.namespace = namespace
        self._objects: dict[tuple[str, str], Object] = {}
        for document in documents:
            if document:
                self.add(document)

    def add(self, document: Object) -> None:
        """Take one more object.

        Raises:
            ManifestError: as above.
        """
        key = (document["kind"], document["metadata"]["name"])
        if key[0] not in KINDS:
            message = f"{key[0]} {key[1]}: a kind that is not known here"
            raise ManifestError(message)
        if key in self._objects:
            message = f"{key[0]} {key[1]} stands there twice"
            raise ManifestError(message)
        self._objects[key] = document

    def all_of(self, kind: str) -> list[Object]:
        """Return the objects of a kind, in their order."""
        return [document for (of, _), document in self._objects.items() if of == kind]

    def data(self, kind: str, name: str, *, is_optional: bool = False) -> Mapping[str, str] | None:
        """Return what a ConfigMap or Secret holds, as text; None if it is not there and need not be.

        Raises:
            ManifestError: it must be there.
        """
        found = self._objects.get((kind, name))
        if found is None:
            if is_optional:
                return None
            message = f"there is no {kind} {name}"
            raise ManifestError(message)
        if kind == "Secret" and "data" in found:
            message = f"Secret {name} holds data in base64; give it as stringData"
            raise ManifestError(message)
        held: Mapping[str, str] = found.get("stringData" if kind == "Secret" else "data") or {}
        return held

    def pods(self) -> list[Pod]:
        """Return all pods, those of hooks among them."""
        found = []
        for document in self._objects.values():
            match document["kind"]:
                case "Deployment":
                    count = document["spec"].get("replicas", 1)
                    found += [self._pod(document, f"-{number}") for number in range(count)]
                case "StatefulSet":
                    count = document["spec"].get("replicas", 1)
                    found += [self._pod(document, f"-{number}", number) for number in range(count)]
                case "Job":
                    found.append(self._pod(document, "", is_job=True))
                case "Pod":
                    is_job = document["spec"].get("restartPolicy", "Always") != "Always"
                    found.append(self._of(document, document, document["metadata"]["name"], is_job=is_job))
        return found

    def _pod(self, owner: Object, suffix: str, ordinal: int | None = None, *, is_job: bool = False) -> Pod:
        name = f"{owner['metadata']['name']}{suffix}"
        pod = self._of(owner, owner["spec"]["template"], name, is_job=is_job)
        if ordinal is None:
            return pod
        given = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
        claims = [
            {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": f"{claim['metadata']['name']}-{name}"}}
            for claim in owner["spec"].get("volumeClaimTemplates", [])
        ]
        spec = {**pod.spec, "volumes": [*pod.spec.get("volumes", []), *claims], "subdomain": owner["spec"].get("serviceName")}
        return Pod(name, pod.namespace, {**pod.labels, **given}, pod.annotations, spec, pod.hooks, pod.weight)

    def _of(self, owner: Object, template: Object, name: str, *, is_job: bool) -> Pod:
        metadata, configured = template.get("metadata", {}), owner["metadata"].get("annotations") or {}
        hooks = frozenset(filter(None, re.split(r",\s*", configured.get(_HOOK, ""))))
        return Pod(
            name,
            owner["metadata"].get("namespace", self.namespace),
            metadata.get("labels") or {},
            metadata.get("annotations") or {},
            template["spec"],
            hooks,
            int(configured.get(_WEIGHT, 0)),
            is_job,
        )


def port_of(container: Object, port: int | str) -> int:
    """Return the number of a port, given by its number or its name.

    Raises:
        ManifestError: the container has none of this name.
    """
    if isinstance(port, int):
        return port
    for each in container.get("ports", []):
        if each.get("name") == port:
            return int(each["containerPort"])
    message = f"container {container['name']} has no port {port}"
    raise ManifestError(message)
