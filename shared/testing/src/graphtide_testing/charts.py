"""The Helm chart as it is rendered: manifests by kind and name, and the messages about refused values."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).parents[4]
CHART: Final = ROOT / "charts" / "graphtide"
TOOLS: Final = ROOT / ".cache" / "chart-tools" / "bin"
_HELM: Final = TOOLS / "helm"

RELEASE: Final = "tide"
NAMESPACE: Final = "streams"

SETS: Final = {
    "default": (),
    "minimal": ("values-minimal.yaml",),
    "production": ("values-production.yaml",),
    "full": ("ci/full-values.yaml",),
    "other": ("ci/full-values.yaml", "ci/other-values.yaml"),
}
"""Values that the chart is checked with: files, each over those before it."""

Manifest = dict[str, Any]


class RefusedError(Exception):
    """Helm refuses values; the text is what it says."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Manifests of a release.

    Attributes:
        manifests: in Helm's order.
    """

    manifests: tuple[Manifest, ...]

    def of(self, kind: str) -> dict[str, Manifest]:
        """Return the manifests of a kind by their names, without what all names of the release begin with."""
        found = {each["metadata"]["name"]: each for each in self.manifests if each["kind"] == kind}
        return {name.removeprefix(f"{RELEASE}-graphtide-").removeprefix(f"{RELEASE}-"): each for name, each in found.items()}

    def one(self, kind: str, name: str) -> Manifest:
        """Return the manifest of this kind and name."""
        return self.of(kind)[name]

    def pods(self) -> Iterator[tuple[str, Manifest]]:
        """Yield every pod, with the kind and the name of the object that has its template."""
        for each in self.manifests:
            where = f"{each['kind']}/{each['metadata']['name']}"
            match each["kind"]:
                case "Pod":
                    yield where, each
                case "Deployment" | "StatefulSet" | "Job":
                    yield where, each["spec"]["template"]
                case "SparkApplication":
                    for part in ("driver", "executor"):
                        yield f"{where}/{part}", each["spec"][part]["template"]

    def environment(self, pod: Manifest) -> dict[str, object]:
        """Return the variables of a pod's container: texts, and for those of Secrets and fields where they come from."""
        (container,) = pod["spec"]["containers"]
        configured: dict[str, object] = {}
        for source in container.get("envFrom", ()):
            name = source["configMapRef"]["name"]
            configured |= next(
                each["data"] for each in self.manifests if (each["kind"], each["metadata"]["name"]) == ("ConfigMap", name)
            )
        for each in container.get("env", ()):
            configured[each["name"]] = each["value"] if "value" in each else each["valueFrom"]
        return configured


def render(values: Mapping[str, object] | None = None, *, over: str = "default") -> Rendered:
    """Return what the chart makes of values, put over those of a set.

    Raises:
        RefusedError: Helm says no.
    """
    return _render(json.dumps(values or {}, sort_keys=True), over)


@cache
def _render(values: str, over: str) -> Rendered:
    written = helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, *files(over), "--values", "-", given=values)
    # The faster loader reads the same.
    return Rendered(tuple(each for each in yaml.load_all(written, yaml.CSafeLoader) if each))


def files(values: str) -> list[str]:
    """Return the options of Helm that name the files of a set."""
    return [part for name in SETS[values] for part in ("--values", str(CHART / name))]


def helm(*arguments: str, given: str = "") -> str:
    """Run Helm; return what it wrote.

    Raises:
        RefusedError: it ended otherwise than well.
        FileNotFoundError: it is not there; `make chart` gets it.
    """
    if not _HELM.exists():
        message = f"{_HELM} is not there: `make chart` gets it"
        raise FileNotFoundError(message)
    ended = subprocess.run([_HELM, *arguments], input=given, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 - ours
    if ended.returncode:
        raise RefusedError(ended.stderr)
    return ended.stdout
