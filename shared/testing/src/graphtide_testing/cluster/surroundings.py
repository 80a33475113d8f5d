"""The environment of a container by its manifest: its variables, with values from ConfigMaps and Secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from graphtide_testing.cluster.manifests import ManifestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphtide_testing.cluster.manifests import Manifests, Object, Pod

_REFERENCE: Final = re.compile(r"\$\$|\$\((?P<name>[^)]+)\)")
_KEYED: Final = re.compile(r"metadata\.(?P<what>labels|annotations)\['(?P<key>[^']+)'\]")
_NODE: Final = "this-machine"


def variables(manifests: Manifests, pod: Pod, container: Object, address: str) -> dict[str, str]:
    """Return the variables of a container, those of `envFrom` first; a later one replaces an earlier one of its name.

    Raises:
        ManifestError: one is to come from what is not there.
    """
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        found |= _whole(manifests, source)
    for each in container.get("env", []):
        if "valueFrom" in each:
            value = _take(manifests, pod, container, each["valueFrom"], address)
            if value is not None:
                found[each["name"]] = value
        else:
            found[each["name"]] = expand(str(each.get("value", "")), found)
    return found


def command_of(container: Object, image: tuple[Sequence[str], Sequence[str]], configured: Mapping[str, str]) -> list[str]:
    """Return the command of a container; `image` has the entrypoint and command of its image."""
    entrypoint, command = image
    begin = container.get("command") or list(entrypoint)
    rest = container.get("args") or ([] if container.get("command") else list(command))
    return [expand(word, configured) for word in (*begin, *rest)]


def expand(text: str, configured: Mapping[str, str]) -> str:
    """Return a text with the values of the variables that it names as `$(NAME)`; what is not known stays, `$$` is `$`."""

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        return "$" if name is None else configured.get(name, found[0])

    return _REFERENCE.sub(value, text)


def _whole(manifests: Manifests, source: Object) -> dict[str, str]:
    prefix = source.get("prefix", "")
    for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        if key in source:
            data = manifests.data(kind, source[key]["name"], is_optional=source[key].get("optional", False))
            return {f"{prefix}{name}": value for name, value in (data or {}).items()}
    message = f"envFrom has neither a configMapRef nor a secretRef: {source}"
    raise ManifestError(message)


def _take(manifests: Manifests, pod: Pod, container: Object, source: Object, address: str) -> str | None:
    match source:
        case {"configMapKeyRef": chosen}:
            return _key(manifests, "ConfigMap", chosen)
        case {"secretKeyRef": chosen}:
            return _key(manifests, "Secret", chosen)
        case {"fieldRef": {"fieldPath": path}}:
            return field(pod, str(path), address)
        case {"resourceFieldRef": {"resource": path, **more}}:
            return _resource(container, str(path), str(more.get("divisor", "1")))
        case _:
            message = f"container {container['name']}: valueFrom {', '.join(source)} is not known here"
            raise ManifestError(message)


def _key(manifests: Manifests, kind: str, chosen: Object) -> str | None:
    is_optional = chosen.get("optional", False)
    data = manifests.data(kind, chosen["name"], is_optional=is_optional)
    if data is None or (is_optional and chosen["key"] not in data):
        return None
    if chosen["key"] not in data:
        message = f"{kind} {chosen['name']} has no key {chosen['key']}"
        raise ManifestError(message)
    return data[chosen["key"]]


def field(pod: Pod, path: str, address: str) -> str:
    """Return a field of a pod as the downward API of Kubernetes has it.

    Raises:
        ManifestError: the field is not known here.
    """
    known: dict[str, str] = {
        "metadata.name": pod.name,
        "metadata.namespace": pod.namespace,
        "spec.nodeName": _NODE,
        "spec.serviceAccountName": pod.spec.get("serviceAccountName", "default"),
        "status.podIP": address,
    }
    keyed = _KEYED.fullmatch(path)
    if keyed is not None:
        return (pod.labels if keyed["what"] == "labels" else pod.annotations).get(keyed["key"], "")
    if path not in known:
        message = f"pod {pod.name}: field {path} is not known here"
        raise ManifestError(message)
    return known[path]


def _resource(container: Object, path: str, divisor: str) -> str:
    kind, _, name = path.partition(".")
    configured = container.get("resources", {}).get(kind, {}).get(name)
    if configured is None:
        message = f"container {container['name']} has no {path}"
        raise ManifestError(message)
    # As Kubernetes does, what is not whole is rounded up.
    return str(-int(-quantity(str(configured)) // quantity(divisor)))


def quantity(text: str) -> float:
    """Return an amount as Kubernetes writes it (`500m`, `2`, `1Gi`) as a number.

    Raises:
        ManifestError: it is none.
    """
    found = re.fullmatch(r"([0-9.]+)(m|k|M|G|T|Ki|Mi|Gi|Ti)?", text)
    if found is None:
        message = f"{text} is not an amount"
        raise ManifestError(message)
    units = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    return float(found[1]) * units.get(found[2] or "", 1.0)


def containers(pod: Pod) -> Iterator[tuple[Object, bool]]:
    """Yield the containers of a pod, each with whether it must end before the next begins.

    Raises:
        ManifestError: one is to run beside the others from before them, or with the rights of the machine.
    """
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(name):
            message = f"pod {pod.name}: {name} is not known here"
            raise ManifestError(message)
    for container in pod.spec.get("initContainers", []):
        if "restartPolicy" in container:
            message = f"container {container['name']}: a container beside the others from before them is not known here"
            raise ManifestError(message)
        yield container, True
    for container in pod.spec["containers"]:
        yield container, False
