"""A Dockerfile as its stages and instructions; what this reader does not know, it refuses by line."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KNOWN: Final = {"ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "FROM", "LABEL", "RUN", "USER", "WORKDIR"}

_FLAGS: Final = {"COPY": {"from"}, "RUN": {"mount"}}
_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class DockerfileError(ValueError):
    """A Dockerfile says what this reader does not know; the message has the line."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        line: 1-based, where it begins.
        keyword: one of `KNOWN`.
        flags: names and values, in their order.
        text: the rest after the flags, on one line.
    """

    line: int
    keyword: str
    flags: tuple[tuple[str, str], ...]
    text: str

    def command(self) -> tuple[str, ...]:
        """Return the command of an `ENTRYPOINT` or `CMD` in its form without a shell.

        Raises:
            DockerfileError: it has the form with one.
        """
        if not self.text.startswith("["):
            message = f"line {self.line}: {self.keyword} needs a shell; write it as a list"
            raise DockerfileError(message)
        return tuple(json.loads(self.text))

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield names and values of an `ENV` or `LABEL`, variables not yet replaced.

        Raises:
            DockerfileError: one has no `=`.
        """
        for word in shlex.split(self.text):
            name, is_given, value = word.partition("=")
            if not is_given:
                message = f"line {self.line}: {self.keyword} {word} without ="
                raise DockerfileError(message)
            yield name, value

    def caches(self) -> Iterator[str]:
        """Yield where a `RUN` has caches that outlive it.

        Raises:
            DockerfileError: something else is to be mounted.
        """
        for _, value in self.flags:
            configured = dict(part.split("=", 1) for part in value.split(","))
            if configured.keys() != {"type", "target"} or configured["type"] != "cache":
                message = f"line {self.line}: --mount={value} is not a cache"
                raise DockerfileError(message)
            yield configured["target"]


@dataclass(frozen=True, slots=True)
class BuildStage:
    """A stage: its name, the image or stage that it begins with, variables not yet replaced, and what follows."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """A whole file: arguments before all stages, with their defaults, and the stages in their order."""

    arguments: Mapping[str, str | None]
    stages: Mapping[str, BuildStage]


def parse(text: str) -> Dockerfile:
    """Read a Dockerfile.

    Raises:
        DockerfileError: it is none, or uses what this reader does not know.
    """
    arguments: dict[str, str | None] = {}
    begun: list[tuple[str, str, list[Instruction]]] = []
    for each in _instructions(text):
        if each.keyword == "FROM":
            words = each.text.split()
            if len(words) != 3 or words[1] != "AS":
                message = f"line {each.line}: a stage is FROM IMAGE AS NAME"
                raise DockerfileError(message)
            begun.append((words[2], words[0], []))
        elif begun:
            begun[-1][2].append(each)
        elif each.keyword == "ARG":
            name, default = argument(each)
            arguments[name] = default
        else:
            message = f"line {each.line}: {each.keyword} before the first stage"
            raise DockerfileError(message)
    return Dockerfile(arguments, {name: BuildStage(name, base, tuple(steps)) for name, base, steps in begun})


def argument(instruction: Instruction) -> tuple[str, str | None]:
    """Return the name of an `ARG` and its default, None if it has none."""
    name, has_default, default = instruction.text.partition("=")
    return name, default if has_default else None


def replace_arguments(text: str, variables: Mapping[str, str], line: int = 0) -> str:
    """Return a text with the values of its variables.

    Raises:
        DockerfileError: one has no value.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in variables:
            message = f"line {line}: {name} has no value"
            raise DockerfileError(message)
        return variables[name]

    return _VARIABLE.sub(value, text)


def _instructions(text: str) -> Iterator[Instruction]:
    lines, at = text.splitlines(), 0
    parts: list[str]
    while at < len(lines):
        first, parts = at + 1, []
        while at < len(lines):
            line = lines[at].strip()
            at += 1
            if line.startswith("#") or not line:
                if parts:
                    continue
                break
            parts.append(line.removesuffix("\\").strip())
            if not line.endswith("\\"):
                break
        if parts:
            yield _instruction(first, " ".join(parts))


def _instruction(line: int, text: str) -> Instruction:
    keyword, _, rest = text.partition(" ")
    if keyword not in KNOWN:
        message = f"line {line}: {keyword} is none of {', '.join(sorted(KNOWN))}"
        raise DockerfileError(message)
    flags = []
    while (found := re.match(r"--([a-z]+)=(\S+)\s+", rest)) is not None:
        if found[1] not in _FLAGS.get(keyword, ()):
            message = f"line {line}: {keyword} --{found[1]}"
            raise DockerfileError(message)
        flags.append((found[1], found[2]))
        rest = rest[found.end() :]
    if rest.startswith("--") or "<<" in rest:
        message = f"line {line}: {keyword} {rest.split()[0]}"
        raise DockerfileError(message)
    return Instruction(line, keyword, tuple(flags), rest)
