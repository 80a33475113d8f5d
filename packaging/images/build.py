"""Builds the images with docker, podman or buildah, the first that is installed, on bases that it names by their digests.

The engine is asked for a digest that is not given, and gets the base for it. The file of digests says what was taken, so the
same file builds on the same bases again.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
DOCKERFILE: Final = Path(__file__).with_name("Dockerfile")
IMAGES: Final = ("graphtide", "graphtide-spark")

_BASE: Final = re.compile(r"^FROM (\S+)@\$\{(\w+)\} AS ", re.MULTILINE)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that builds images.

    Attributes:
        name: of the program.
        shows: its command that prints the digest of an image that it has.
    """

    name: str
    shows: tuple[str, ...]

    def missing(self) -> str | None:
        """Return why it cannot be used; None if it can."""
        if shutil.which(self.name) is None:
            return f"{self.name} is not installed"
        asked = self._asked("info")
        last = asked.stderr.strip().splitlines()[-1:] or ["it says nothing"]
        return f"{self.name} does not answer: {last[0]}" if asked.returncode else None

    def digest(self, base: str) -> str:
        """Get a base and return its digest.

        Raises:
            SystemExit: it cannot be had.
        """
        got = self._asked("pull", "--quiet", base)
        configured = self._asked(*self.shows, base) if got.returncode == 0 else got
        found = _DIGEST.search(configured.stdout)
        if configured.returncode != 0 or found is None:
            message = f"{self.name} does not find the digest of {base}: {configured.stderr.strip()}"
            raise SystemExit(message)
        return found[0]

    def build(self, image: str, version: str, arguments: dict[str, str]) -> None:
        """Build an image and name it with the version.

        Raises:
            SystemExit: that failed.
        """
        configured = [part for name, value in arguments.items() for part in ("--build-arg", f"{name}={value}")]
        line = [
            self.name,
            "build",
            "--file",
            str(DOCKERFILE),
            "--target",
            image,
            "--tag",
            f"{image}:{version}",
            *configured,
            str(ROOT),
        ]
        status = subprocess.run(line, env={**os.environ, "DOCKER_BUILDKIT": "1"}, check=False).returncode  # noqa: S603 - of our own parts
        if status:
            message = f"{self.name} did not build {image}"
            raise SystemExit(message)

    def _asked(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.name, *arguments], capture_output=True, text=True, check=False)  # noqa: S603 - of our own parts


ENGINES: Final = (
    Engine("docker", ("image", "inspect", "--format", "{{index .RepoDigests 0}}")),
    Engine("podman", ("image", "inspect", "--format", "{{.Digest}}")),
    Engine("buildah", ("inspect", "--type", "image", "--format", "{{.FromImageDigest}}")),
)


def bases(text: str) -> dict[str, str]:
    """Return the bases that a Dockerfile names by digests, by the arguments that give them."""
    return {found[2]: found[1] for found in _BASE.finditer(text)}


def read(file: Path) -> dict[str, str]:
    """Return the digests that a file gives, `NAME=sha256:…` a line; none without the file.

    Raises:
        SystemExit: a line is none of these.
    """
    given = {}
    for line in file.read_text("utf-8").splitlines() if file.exists() else []:
        name, _, digest = line.partition("=")
        if not _DIGEST.fullmatch(digest):
            message = f"{file}: {line!r} is not NAME=sha256:… with 64 hexadecimal digits"
            raise SystemExit(message)
        given[name] = digest
    return given


def engine() -> Engine:
    """Return the first engine that works.

    Raises:
        SystemExit: none does.
    """
    reasons = []
    for each in ENGINES:
        reason = each.missing()
        if reason is None:
            return each
        reasons.append(reason)
    message = f"missing: docker, podman or buildah. Install one (Debian: apt-get install buildah). {'; '.join(reasons)}"
    raise SystemExit(message)


def main() -> None:
    """Build both images."""
    parser = argparse.ArgumentParser(description="Build the images.")
    parser.add_argument("--version", required=True, help="of graphtide; the images' tag")
    parser.add_argument("--digests", type=Path, required=True, help="file of the bases' digests; what it lacks is added")
    given = parser.parse_args()
    builder = engine()
    needed, digests = bases(DOCKERFILE.read_text("utf-8")), read(given.digests)
    for name, base in needed.items():
        if name not in digests:
            digests[name] = builder.digest(base)
            sys.stdout.write(f"{base} is {digests[name]}\n")
    given.digests.parent.mkdir(parents=True, exist_ok=True)
    given.digests.write_text("".join(f"{name}={digests[name]}\n" for name in needed), "utf-8")
    arguments = {name: digests[name] for name in needed}
    arguments |= {"VERSION": given.version, "REVISION": _git("rev-parse", "HEAD"), "CREATED": _git("log", "-1", "--format=%cI")}
    for image in IMAGES:
        builder.build(image, given.version, arguments)
        sys.stdout.write(f"{image}:{given.version}\n")


def _git(*arguments: str) -> str:
    """Return what git says of the sources; nothing where they are not a repository."""
    asked = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 - of our own parts
    return asked.stdout.strip()


if __name__ == "__main__":
    main()
