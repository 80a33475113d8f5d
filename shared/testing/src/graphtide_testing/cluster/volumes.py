"""Volumes of a pod as folders: ConfigMaps and Secrets written out, empty folders, and claims that outlive the pod."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from graphtide_testing.cluster.manifests import ManifestError
from graphtide_testing.cluster.surroundings import field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from graphtide_testing.cluster.manifests import Manifests, Object, Pod

_MODE: Final = 0o644
_READ_BY_GROUP: Final = 0o440
_ANYONES_FOLDER: Final = 0o777


def write_volumes(manifests: Manifests, pod: Pod, folder: Path, claims: Path) -> dict[str, Path]:
    """Write the volumes of a pod into a folder and return where each is; claims have a folder of their own.

    Files belong to root and to the group `fsGroup`, as Kubernetes gives them. Sizes are not watched.

    Raises:
        ManifestError: a volume is of a kind that is not known here, or what it is made of is not there.
    """
    group = pod.spec.get("securityContext", {}).get("fsGroup")
    found = {}
    for volume in pod.spec.get("volumes", []):
        name = volume["name"]
        place = folder / name
        if "persistentVolumeClaim" in volume:
            place = claims / volume["persistentVolumeClaim"]["claimName"]
        if not place.exists():
            place.mkdir(parents=True)
            _fill(manifests, pod, volume, place)
            _give(place, group, is_written="emptyDir" in volume or "persistentVolumeClaim" in volume)
        found[name] = place
    return found


def find_mounts(container: Object, volumes: Mapping[str, Path]) -> tuple[dict[str, Path], dict[str, Path]]:
    """Return what a container sees of volumes by where it sees it: first what it may write, then what not.

    Raises:
        ManifestError: there is no such volume, or no such place in it.
    """
    may_write: dict[str, Path] = {}
    read_only: dict[str, Path] = {}
    for mount in container.get("volumeMounts", []):
        if mount["name"] not in volumes:
            message = f"container {container['name']}: there is no volume {mount['name']}"
            raise ManifestError(message)
        source = volumes[mount["name"]] / mount.get("subPath", "")
        if not source.exists():
            message = f"container {container['name']}: volume {mount['name']} has no {mount['subPath']}"
            raise ManifestError(message)
        (read_only if mount.get("readOnly") else may_write)[mount["mountPath"]] = source
    return may_write, read_only


def _fill(manifests: Manifests, pod: Pod, volume: Object, place: Path) -> None:
    match volume:
        case {"emptyDir": _} | {"persistentVolumeClaim": _}:
            return
        case {"configMap": configured}:
            _write(_choose(manifests, "ConfigMap", configured["name"], configured), place, configured.get("defaultMode", _MODE))
        case {"secret": configured}:
            _write(
                _choose(manifests, "Secret", configured["secretName"], configured), place, configured.get("defaultMode", _MODE)
            )
        case {"downwardAPI": configured}:
            _write(_of_the_pod(pod, configured), place, configured.get("defaultMode", _MODE))
        case {"projected": configured}:
            for source in configured["sources"]:
                _write(_project(manifests, pod, source), place, configured.get("defaultMode", _MODE))
        case _:
            kinds = ", ".join(volume.keys() - {"name"})
            message = f"pod {pod.name}: volume {volume['name']} of kind {kinds} is not known here"
            raise ManifestError(message)


def _project(manifests: Manifests, pod: Pod, source: Object) -> Iterator[tuple[str, str, int | None]]:
    match source:
        case {"configMap": configured}:
            return _choose(manifests, "ConfigMap", configured["name"], configured)
        case {"secret": configured}:
            return _choose(manifests, "Secret", configured["name"], configured)
        case {"downwardAPI": configured}:
            return _of_the_pod(pod, configured)
        case _:
            message = f"pod {pod.name}: a projected {', '.join(source)} is not known here"
            raise ManifestError(message)


def _choose(manifests: Manifests, kind: str, name: str, configured: Object) -> Iterator[tuple[str, str, int | None]]:
    """Yield paths, texts and modes."""
    is_optional = configured.get("optional", False)
    data = manifests.data(kind, name, is_optional=is_optional) or {}
    for item in configured.get("items", [{"key": key, "path": key} for key in data]):
        if item["key"] in data:
            yield item["path"], data[item["key"]], item.get("mode")
        elif not is_optional:
            message = f"{kind} {name} has no key {item['key']}"
            raise ManifestError(message)


def _of_the_pod(pod: Pod, configured: Object) -> Iterator[tuple[str, str, int | None]]:
    for item in configured["items"]:
        yield item["path"], field(pod, item["fieldRef"]["fieldPath"], ""), item.get("mode")


def _write(files: Iterator[tuple[str, str, int | None]], place: Path, default: int) -> None:
    for path, text, mode in files:
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(default if mode is None else mode)


def _give(place: Path, group: int | None, *, is_written: bool) -> None:
    """Give a volume to a group, as far as this user may; what is written by pods is anyone's."""
    place.chmod(_ANYONES_FOLDER if is_written else 0o755)
    if group is None:
        return
    for each in (place, *place.rglob("*")):
        if os.geteuid() == 0:
            os.chown(each, -1, group)
        if each.is_file():
            each.chmod(each.stat().st_mode | _READ_BY_GROUP)
