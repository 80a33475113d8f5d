"""A Dockerfile's stages, carried out into folders: each stage is the layers of its base and one of its own.

`COPY` takes from the context or from layers that were made here. `RUN` runs in a room of the layers, where it sees this machine
only as far as the stand-in of the base lets it. What a stage is given from elsewhere is named by the caller.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from graphtide_testing.images.dockerfile import DockerfileError, argument, parse, replace_arguments
from graphtide_testing.images.sandbox import ROOT_USER, Sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphtide_testing.images.context import Context
    from graphtide_testing.images.dockerfile import Instruction

_OF_THE_NETWORK: Final = ("/etc/resolv.conf", "/etc/hosts")
_OF_THE_BUILDER: Final = ("PIP_", "UV_", "HTTP", "NO_PROXY", "SSL_", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTRIES_")
"""Beginnings of variables that say how this machine reaches registries; engines hand such over, too."""


@dataclass(frozen=True, slots=True)
class Image:
    """What came of a stage.

    Attributes:
        layers: folders, the topmost first.
        environment: variables of its programs.
        folder: where they begin.
        user: who runs them, as `UID:GID`.
        entrypoint: words before every command.
        command: what runs if nothing else is said.
        labels: its metadata.
    """

    layers: tuple[Path, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = ROOT_USER
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


class BuildError(Exception):
    """A step failed; the message has its line and what it wrote."""


class Builder:
    """Builds stages of one Dockerfile."""

    def __init__(
        self,
        text: str,
        context: Context,
        folder: Path,
        *,
        arguments: Mapping[str, str],
        bases: Mapping[str, Image],
        given: Mapping[str, Image],
        caches: Path,
        hidden: Sequence[str] = (),
    ) -> None:
        """Build in a folder.

        Args:
            text: the Dockerfile.
            context: what `COPY` takes.
            folder: where layers go.
            arguments: values of `ARG`.
            bases: stand-ins of images by the part of their names before `:`.
            given: stages that are not built, but given.
            caches: where caches of `RUN` outlive it.
            hidden: folders of this machine that steps see empty.
        """
        self._file = parse(text)
        self._context, self._folder, self._caches, self._hidden = context, folder, caches, hidden
        self._arguments, self._bases = arguments, bases
        self._made: dict[str, Image] = dict(given)

    def build(self, name: str) -> Image:
        """Return the image of a stage, built once.

        Raises:
            BuildError: a step fails.
            DockerfileError: a step is not known, or takes from an image that is not made here.
        """
        if name not in self._made:
            self._made[name] = self._built(name)
        return self._made[name]

    def _built(self, name: str) -> Image:
        stage = self._file.stages[name]
        first = {key: default for key, default in self._file.arguments.items() if default is not None} | dict(self._arguments)
        base = replace_arguments(stage.base, first)
        begun = self.build(base) if base in self._file.stages else self._bases[base.partition(":")[0]]
        own = self._folder / name
        own.mkdir(parents=True)
        image = replace(begun, layers=(own, *begun.layers))
        known: dict[str, str] = {}
        for number, step in enumerate(stage.instructions):
            if step.keyword == "ARG":
                argument_name, default = argument(step)
                value = first.get(argument_name, default)
                if value is not None:
                    known[argument_name] = value
            else:
                image = self._carried_out(step, image, known, self._folder / f"{name}.{number}")
        return image

    def _carried_out(self, step: Instruction, image: Image, known: Mapping[str, str], scratch: Path) -> Image:
        variables = {**known, **image.environment}
        match step.keyword:
            case "ENV":
                configured = {name: replace_arguments(value, variables, step.line) for name, value in step.pairs()}
                return replace(image, environment={**image.environment, **configured})
            case "LABEL":
                labels = {name: replace_arguments(value, variables, step.line) for name, value in step.pairs()}
                return replace(image, labels={**image.labels, **labels})
            case "WORKDIR":
                (image.layers[0] / step.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
                return replace(image, folder=step.text)
            case "USER":
                return replace(image, user=step.text)
            case "ENTRYPOINT":
                return replace(image, entrypoint=step.command())
            case "CMD":
                return replace(image, command=step.command())
            case "COPY":
                self._copy(step, image)
            case "RUN":
                self._run(step, image, known, scratch)
            case _:
                message = f"line {step.line}: {step.keyword}"
                raise DockerfileError(message)
        return image

    def _copy(self, step: Instruction, image: Image) -> None:
        *sources, target = step.text.split()
        into = image.layers[0] / os.path.join(image.folder, target).lstrip("/")
        is_folder = target.endswith("/") or len(sources) > 1
        for source in sources:
            found = self._from_stage(step, source) if step.flags else self._from_context(step, source)
            for path, file in found:
                # A file is copied by its name, a folder by what is in it.
                place = into / (path or file.name) if is_folder or path else into
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, place, follow_symlinks=False)

    def _from_context(self, step: Instruction, source: str) -> list[tuple[str, Path]]:
        start = self._context.folder / source
        found = [(os.path.relpath(path, source) if start.is_dir() else "", path) for path in self._context.files(source)]
        if not found:
            message = f"line {step.line}: nothing of {source} gets to the builder"
            raise BuildError(message)
        return [(name, self._context.folder / path) for name, path in found]

    def _from_stage(self, step: Instruction, source: str) -> list[tuple[str, Path]]:
        """Find what a stage has in layers made here, the topmost first; what its base has is not at hand."""
        layers = [each for each in self.build(step.flags[0][1]).layers if each != Path("/")]
        found: dict[str, Path] = {}
        for start in (layer / source.lstrip("/") for layer in layers):
            if start.is_file() or start.is_symlink():
                return [("", start)]
            for place, folders, names in os.walk(start):
                links = [each for each in folders if Path(place, each).is_symlink()]
                for name in (*names, *links):
                    file = Path(place, name)
                    found.setdefault(os.path.relpath(file, start), file)
        if not found and not any((layer / source.lstrip("/")).is_dir() for layer in layers):
            message = f"line {step.line}: {step.flags[0][1]} has no {source}"
            raise BuildError(message)
        return list(found.items())

    def _run(self, step: Instruction, image: Image, known: Mapping[str, str], scratch: Path) -> None:
        caches = {target: self._caches / target.strip("/").replace("/", "-") for target in step.caches()}
        mounts = {"/tmp": scratch / "tmp", **caches}  # noqa: S108 - of the room, not of this machine
        for each in mounts.values():
            each.mkdir(parents=True, exist_ok=True)
        sandbox = Sandbox(
            image.layers[1:],
            scratch,
            image.layers[0],
            mounts=mounts,
            read_only={each: Path(each) for each in _OF_THE_NETWORK if Path(each).exists()},
            hidden=self._hidden,
        )
        surroundings = {name: value for name, value in os.environ.items() if name.upper().startswith(_OF_THE_BUILDER)}
        environment = {"HOME": "/root", **surroundings, **known, **image.environment}
        done = subprocess.run(  # noqa: S603 - the Dockerfile's own command
            sandbox.command(["/bin/sh", "-c", step.text], environment, image.user, image.folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            message = f"line {step.line}: {step.text}\nended with {done.returncode}:\n{done.stdout[-4000:]}"
            raise BuildError(message)


def this_machine(folder: Path, links: Mapping[str, Path], environment: Mapping[str, str]) -> Image:
    """Return this machine as the stand-in of a base that has these links, by their places, to what this machine has elsewhere.

    Users of that machine may look into the home of root: targets of links may be installed there.
    """
    for home in (folder, folder / "root"):
        home.mkdir(parents=True, exist_ok=True)
        home.chmod(0o755)
    for place, target in links.items():
        link = folder / place.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return Image((folder, Path("/")), {"PATH": path, **environment})


def this_python() -> dict[str, Path]:
    """Return the links that put this Python into `/usr/local`, where official images of Python have theirs."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.base_prefix) / "bin" / version
    links = {f"/usr/local/bin/{name}": program for name in ("python", "python3", version)}
    return {
        **links,
        "/usr/local/bin/pip": program.with_name("pip"),
        f"/usr/local/lib/{version}": Path(sysconfig.get_path("stdlib")),
    }
