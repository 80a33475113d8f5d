"""The Dockerfile pins what it builds on, takes what it needs and nothing else, and its images run as nobody without a shell."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_testing.images.context import Context
from graphtide_testing.images.dockerfile import argument, parse

if TYPE_CHECKING:
    from graphtide_testing.images.dockerfile import BuildStage

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging/images"
TEXT = (FOLDER / "Dockerfile").read_text("utf-8")
STAGES = parse(TEXT).stages
IMAGES = ("graphtide", "graphtide-spark")
FILES = {"job.py /opt/graphtide/job.py", "passwd packaging/images/group /etc/"}
"""What is copied out of the repository as it is, all of it from the Dockerfile's folder."""
LABELS = {"base.digest", "base.name", "created", "description", "licenses", "revision", "title", "version"}
ENGINE = """\
#!{python}
import sys
from pathlib import Path
with Path({calls!r}).open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
match sys.argv[1:]:
    case ["info", *_] if {broken!r}:
        sys.exit("no answer from the engine")
    case ["image", "inspect", *_, base]:
        print(f"{{base.partition(':')[0]}}@sha256:{{'ab' * 32}}")
"""
"""A docker that notes what it is asked for, and knows one digest."""


def of(stage: BuildStage, keyword: str) -> list[str]:
    return [step.text for step in stage.instructions if step.keyword == keyword]


def build() -> Any:
    spec = importlib.util.spec_from_file_location("build", FOLDER / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["build"] = module
    spec.loader.exec_module(module)
    return module


def test_hadolint_finds_nothing() -> None:
    found = subprocess.run(
        [Path(sys.prefix) / "bin/hadolint", FOLDER / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "")


def test_every_base_is_an_earlier_stage_or_has_a_digest_that_must_be_given() -> None:
    earlier: set[str] = set()
    for name, stage in STAGES.items():
        pinned = re.fullmatch(r"[a-z]+(/[a-z]+)?:[\w.-]+@\$\{([A-Z]+_DIGEST)\}", stage.base)
        assert stage.base in earlier or pinned is not None, stage.base
        if pinned is not None:
            assert parse(TEXT).arguments[pinned[2]] is None
        earlier.add(name)


def test_builds_use_the_pinned_bases() -> None:
    pinned = {stage.base for stage in STAGES.values() if "@" in stage.base}
    assert {f"{base}@${{{name}}}" for name, base in build().bases(TEXT).items()} == pinned


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_as_nobody_without_a_shell_in_a_tree_that_is_read_only(image: str) -> None:
    stage = STAGES[image]
    assert of(stage, "USER") == ["10001:10001"]
    (command,) = (step.command() for step in stage.instructions if step.keyword == "CMD")
    assert command == ("graphtide", "--help")
    configured = dict(pair for step in stage.instructions if step.keyword == "ENV" for pair in step.pairs())
    assert configured["PYTHONDONTWRITEBYTECODE"] == "1"
    assert configured["PATH"].startswith("/opt/graphtide/bin:")


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_says_what_it_is(image: str) -> None:
    (labels,) = (dict(step.pairs()) for step in STAGES[image].instructions if step.keyword == "LABEL")
    assert {name.removeprefix("org.opencontainers.image.") for name in labels} == LABELS
    assert labels["org.opencontainers.image.title"] == image
    base = STAGES[image].base
    while base in STAGES:
        base = STAGES[base].base
    assert labels["org.opencontainers.image.base.name"] == base.partition("@")[0]
    given = {argument(step) for step in STAGES[image].instructions if step.keyword == "ARG"}
    assert given == {(name, None) for name in ("CREATED", "PYTHON_DIGEST", "REVISION", "VERSION")}


def test_images_are_put_together_of_what_other_stages_made() -> None:
    assert [of(STAGES[image], "RUN") for image in IMAGES] == [[], []]


def test_the_user_of_the_images_has_a_name_and_a_home_that_can_be_a_volume() -> None:
    assert "graphtide:x:10001:10001:graphtide:/tmp:/usr/sbin/nologin" in (FOLDER / "passwd").read_text().splitlines()
    assert "graphtide:x:10001:" in (FOLDER / "group").read_text().splitlines()


def test_tools_and_sources_stay_behind() -> None:
    for image in IMAGES:
        copied = [step for step in STAGES[image].instructions if step.keyword == "COPY"]
        assert {step.text.removeprefix("packaging/images/") for step in copied if not step.flags} <= FILES
        assert not [step for step in copied if ("from", "tools") in step.flags or "/build" in step.text]


def test_the_builder_gets_sources_alone() -> None:
    suffixes = {Path(each).suffix for each in Context(ROOT).files()}
    console = {".css", ".html", ".json", ".svg", ".ts", ".tsx"}
    assert suffixes <= {"", ".gtp", ".gts", ".lark", ".md", ".py", ".pyi", ".rs", ".toml", ".txt", ".typed", ".xml"} | console
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    kept = set(Context(ROOT).files())
    assert not [each for each in kept if "/tests/" in each and not each.startswith("shared/native/crates/")]
    assert {"constraints.txt", "packaging/graphtide/pyproject.toml", "shared/native/Cargo.toml"} <= kept
    # Of a clone all of it is there.
    assert {each for each in tracked if re.match(r"(shared|services)/\w+/src/", each)} <= kept


def engine(folder: Path, *, broken: bool = False) -> None:
    (folder / "docker").write_text(ENGINE.format(python=sys.executable, calls=str(folder / "calls"), broken=broken))
    (folder / "docker").chmod(0o755)
    git = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    (folder / "git").symlink_to(git)


def images(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build with the programs of a folder alone."""
    line = [sys.executable, str(FOLDER / "build.py"), "--version", "1.2.3", "--digests", str(folder / "digests")]
    return subprocess.run(line, env={**os.environ, "PATH": str(folder)}, capture_output=True, text=True, check=False)


def test_both_images_are_built_on_bases_that_are_written_down(tmp_path: Path) -> None:
    given = f"RUST_DIGEST=sha256:{'12' * 32}"
    (tmp_path / "digests").write_text(f"{given}\n")
    engine(tmp_path)
    done = images(tmp_path)
    assert done.returncode == 0, done.stderr
    digests = (tmp_path / "digests").read_text().splitlines()
    assert [line.partition("=")[0] for line in digests] == [
        "PYTHON_DIGEST",
        "RUST_DIGEST",
        "NODE_DIGEST",
        "MAVEN_DIGEST",
        "SPARK_DIGEST",
    ]
    assert given in digests
    calls = (tmp_path / "calls").read_text().splitlines()
    assert not [call for call in calls if "rust" in call and "pull" in call]
    built = [call for call in calls if call.startswith("build ")]
    assert [re.findall(r"--target (\S+) --tag (\S+)", call) for call in built] == [
        [("graphtide", "graphtide:1.2.3")],
        [("graphtide-spark", "graphtide-spark:1.2.3")],
    ]
    for call in built:
        assert {f"--build-arg {line}" for line in digests} <= set(re.findall(r"--build-arg \S+", call))
        assert re.search(r"--build-arg REVISION=[0-9a-f]{40} ", call)
        assert "--build-arg VERSION=1.2.3 " in call
    # The second time, the registry is not asked.
    assert images(tmp_path).returncode == 0
    assert not [call for call in (tmp_path / "calls").read_text().splitlines()[len(calls) :] if call.startswith("pull")]


def test_without_an_engine_it_is_said_what_is_missing(tmp_path: Path) -> None:
    engine(tmp_path, broken=True)
    done = images(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("missing: docker, podman or buildah. Install one (Debian: apt-get install buildah). ")
    assert "docker does not answer: no answer from the engine; podman is not installed; buildah is not installed" in done.stderr


def test_a_digest_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "digests").write_text("RUST_DIGEST=sha256:12\n")
    engine(tmp_path)
    done = images(tmp_path)
    assert done.returncode == 1
    assert "'RUST_DIGEST=sha256:12' is not NAME=sha256:… with 64 hexadecimal digits" in done.stderr
