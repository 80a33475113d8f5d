"""Programs in a file system of layers, each in a mount namespace of its own: what a container is, without an engine.

Layers are folders, the topmost first; the last may be `/`, this machine. Nothing of what is mounted is seen outside, and it is
gone with the last process inside. It needs root, and a kernel that lets overlays be mounted there.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT_USER: Final = "0:0"
_PROGRAMS: Final = ("chroot", "mount", "setpriv", "unshare")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Where programs run.

    Attributes:
        layers: folders, the topmost first.
        scratch: an empty folder of its own, for what mounting needs.
        written: the layer that takes what programs write; None is a tree that is read-only.
        mounts: folders of this machine by where they are seen; what is written there is written.
        read_only: files and folders of this machine by where they are seen and cannot be written.
        hidden: folders that are seen empty.
    """

    layers: Sequence[Path]
    scratch: Path
    written: Path | None = None
    mounts: Mapping[str, Path] = field(default_factory=dict)
    read_only: Mapping[str, Path] = field(default_factory=dict)
    hidden: Sequence[str] = ()

    def command(
        self, command: Sequence[str], environment: Mapping[str, str], user: str = ROOT_USER, folder: str = "/"
    ) -> list[str]:
        """Return what runs a command inside, with these variables and no others, as `UID:GID`, in a folder of it.

        It is one process: a signal reaches the command, and its status is the command's.
        """
        root, machine, points = (self._folder(name) for name in ("root", "machine", "points"))
        if self.written is not None:
            self.written.mkdir(parents=True, exist_ok=True)
        seen = {**self.mounts, **self.read_only}
        for place in (*seen, *self.hidden, "/proc", "/dev"):
            point = points / place.lstrip("/")
            point.parent.mkdir(parents=True, exist_ok=True)
            if place in seen and seen[place].is_file():
                point.touch()
            else:
                point.mkdir(exist_ok=True)
        # This machine's file system holds the other layers, which no overlay takes together: it is an overlay of its own below.
        lower = [machine if each == Path("/") else each for each in (points, *self.layers)]
        steps = [
            _overlay([Path("/")], machine, self._folder("changes"), self._folder("inner")),
            _overlay(lower, root, self.written, self._folder("outer")),
            ["mount", "--rbind", "/proc", f"{root}/proc"],
            ["mount", "--rbind", "/dev", f"{root}/dev"],
        ]
        steps += [["mount", "-t", "tmpfs", "-o", "ro", "hidden", f"{root}{place}"] for place in self.hidden]
        for place in sorted(seen):
            self._make_room_in_another(place, seen)
            steps.append(["mount", "--bind", str(seen[place]), f"{root}{place}"])
            steps += [["mount", "-o", "remount,bind,ro", f"{root}{place}"]] if place in self.read_only else []
        uid, gid = user.split(":")
        rights = ["--reuid", uid, "--regid", gid, "--clear-groups", "--no-new-privs"]
        rights += ["--inh-caps=-all", "--bounding-set=-all"] if uid != "0" else []
        configured = [f"{name}={value}" for name, value in environment.items()]
        enter = ["chroot", str(root), "setpriv", *rights, "env", "-i", f"--chdir={folder}", *configured, *command]
        script = " && ".join([*(shlex.join(step) for step in steps), f"exec {shlex.join(enter)}"])
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script]

    @staticmethod
    def _make_room_in_another(place: str, seen: Mapping[str, Path]) -> None:
        """Make the point where a folder is mounted, if that is inside of another that is mounted."""
        above = max((each for each in seen if place.startswith(f"{each}/")), key=len, default=None)
        if above is not None and seen[place].is_dir():
            (seen[above] / place.removeprefix(f"{above}/")).mkdir(parents=True, exist_ok=True)

    def _folder(self, name: str) -> Path:
        folder = self.scratch / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _overlay(lower: Sequence[Path], at: Path, written: Path | None, work: Path) -> list[str]:
    """Return the command that mounts layers, with one on top that is written to unless there is none."""
    options = f"lowerdir={':'.join(map(str, lower))}"
    if written is not None:
        options += f",upperdir={written},workdir={work}"
    return ["mount", "-t", "overlay", "overlay", "-o", options, str(at)]


def why_not() -> str | None:
    """Return why there can be no rooms here; None if there can."""
    if os.geteuid() != 0:
        return "namespaces and mounts take root"
    missing = [each for each in _PROGRAMS if shutil.which(each) is None]
    if missing:
        return f"missing: {', '.join(missing)} (Debian: util-linux, coreutils)"
    return None


def overlays_in(folder: Path) -> str | None:
    """Return why layers of this folder cannot be mounted; None if they can."""
    sandbox = Sandbox([Path("/")], folder / "scratch", folder / "written")
    tried = subprocess.run(  # noqa: S603 - made here, of our own parts
        sandbox.command(["true"], {"PATH": os.environ["PATH"]}), capture_output=True, text=True, check=False
    )
    return None if tried.returncode == 0 else tried.stderr.strip()
