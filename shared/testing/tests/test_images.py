"""Steps of a Dockerfile are carried out as engines do, and what is not known is refused by its line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from graphtide_testing.images.building import Builder, BuildError, Image, this_machine
from graphtide_testing.images.context import Context
from graphtide_testing.images.dockerfile import DockerfileError, parse
from graphtide_testing.images.sandbox import Sandbox, overlays_in, why_not

SHELL = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
LABELS = 'LABEL title="two words" \\\n      # not a step\n      of="$NAME"\n'


def builder(text: str, folder: Path, ignored: str = "", **arguments: str) -> Builder:
    """Return a builder of a context with the files `a/one`, `a/b/two` and `three`."""
    files = folder / "context"
    for name in ("a/one", "a/b/two", "three"):
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(name)
    (files / ".dockerignore").write_text(ignored)
    return Builder(
        text,
        Context(files),
        folder / "layers",
        arguments=arguments,
        bases={"nothing": Image(()), "machine": this_machine(folder / "machine", {}, {})},
        given={},
        caches=folder / "caches",
    )


def tree(folder: Path) -> dict[str, str]:
    return {str(each.relative_to(folder)): each.read_text() for each in sorted(folder.rglob("*")) if each.is_file()}


@pytest.fixture
def rooms(tmp_path: Path) -> None:
    if (reason := why_not() or overlays_in(tmp_path / "tried")) is not None:
        pytest.skip(reason)


@pytest.mark.parametrize(
    ("text", "configured"),
    [
        ("FROM x AS a\nVOLUME /data\n", "line 2: VOLUME is none of"),
        ("FROM x AS a\n\n# of no use\nCOPY --chown=1:1 . /\n", "line 4: COPY --chown"),
        ("FROM x AS a\nRUN --network=none true\n", "line 2: RUN --network"),
        ("FROM x AS a\nRUN cat <<END\n", "line 2: RUN cat"),
        ("FROM x\n", "line 1: a stage is FROM IMAGE AS NAME"),
        ("ENV a=b\n", "line 1: ENV before the first stage"),
    ],
)
def test_what_is_not_known_is_refused_by_its_line(text: str, configured: str) -> None:
    with pytest.raises(DockerfileError, match=configured):
        parse(text)


@pytest.mark.parametrize(
    ("step", "configured"),
    [
        ("RUN --mount=type=bind,target=/x true", "line 2: --mount=type=bind,target=/x is not a cache"),
        ("CMD graphtide --help", "line 2: CMD needs a shell"),
        ("ENV name value", "line 2: ENV name without ="),
        ("ENV name=$OTHER", "line 2: OTHER has no value"),
    ],
)
def test_a_step_that_cannot_be_carried_out_is_refused(tmp_path: Path, step: str, configured: str) -> None:
    with pytest.raises(DockerfileError, match=configured):
        builder(f"FROM nothing:1 AS a\n{step}\n", tmp_path).build("a")


def test_a_stage_has_what_its_steps_say(tmp_path: Path) -> None:
    text = (
        "ARG NAME\nFROM nothing:1@${NAME} AS a\nARG NAME\n"
        + LABELS
        + 'ENV A=1 B=$NAME/x\nWORKDIR /w\nUSER 7:8\nENTRYPOINT ["e"]\nCMD ["c", "d"]\n'
    )
    image = builder(text, tmp_path, NAME="given").build("a")
    assert image.labels == {"title": "two words", "of": "given"}
    assert image.environment == {"A": "1", "B": "given/x"}
    assert (image.folder, image.user, image.entrypoint, image.command) == ("/w", "7:8", ("e",), ("c", "d"))


def test_a_base_without_its_digest_is_not_built_on(tmp_path: Path) -> None:
    with pytest.raises(DockerfileError, match="DIGEST has no value"):
        builder("ARG DIGEST\nFROM nothing:1@${DIGEST} AS a\n", tmp_path).build("a")


def test_files_are_copied_by_name_and_folders_by_what_is_in_them(tmp_path: Path) -> None:
    text = (
        "FROM nothing:1 AS a\nWORKDIR /w\nCOPY a /all\nCOPY three a/one many/\nCOPY three renamed\n"
        "FROM nothing:1 AS b\nCOPY --from=a /all /\n"
    )
    made = builder(text, tmp_path)
    assert tree(made.build("b").layers[0]) == {"b/two": "a/b/two", "one": "a/one"}
    assert tree(made.build("a").layers[0]) == {
        "all/b/two": "a/b/two",
        "all/one": "a/one",
        "w/many/one": "a/one",
        "w/many/three": "three",
        "w/renamed": "three",
    }


@pytest.mark.parametrize(
    ("ignored", "files"),
    [
        ("", ["a/b/two", "a/one", "three", ".dockerignore"]),
        ("a/b\n.dockerignore", ["a/one", "three"]),
        ("*\n!a/*\na/b", ["a/one"]),
        ("*\n!**/two", ["a/b/two"]),
        ("# all\n*\n", []),
    ],
)
def test_of_patterns_that_match_the_last_decides(tmp_path: Path, ignored: str, files: list[str]) -> None:
    builder("FROM nothing:1 AS a\n", tmp_path, ignored)
    assert sorted(Context(tmp_path / "context").files()) == sorted(files)


def test_what_does_not_get_to_the_builder_cannot_be_copied(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="line 2: nothing of three gets to the builder"):
        builder("FROM nothing:1 AS a\nCOPY three /\n", tmp_path, "three").build("a")
    with pytest.raises(BuildError, match="line 3: a has no /none"):
        builder("FROM nothing:1 AS a\nFROM nothing:1 AS b\nCOPY --from=a /none /\n", tmp_path / "other").build("b")


@pytest.mark.usefixtures("rooms")
def test_steps_write_into_the_layer_of_their_stage_alone(tmp_path: Path) -> None:
    text = (
        "FROM machine:1 AS a\nENV WHO=me\nRUN mkdir /made && echo $WHO >/made/by && rm -rf /etc/passwd\n"
        "FROM a AS b\nRUN --mount=type=cache,target=/kept \\\n"
        "  test ! -e /etc/passwd && cat /made/by >>/kept/said && cp /kept/said /said\n"
    )
    image = builder(text, tmp_path).build("b")
    assert tree(image.layers[0])["said"] == "me\n"
    assert tree(tmp_path / "caches") == {"kept/said": "me\n"}
    assert Path("/etc/passwd").exists()
    assert not Path("/made").exists()


@pytest.mark.usefixtures("rooms")
def test_a_step_that_fails_says_its_line_and_what_it_wrote(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"line 2: (.|\n)*ended with 3:\nno luck"):
        builder("FROM machine:1 AS a\nRUN echo no luck; exit 3\n", tmp_path).build("a")


@pytest.mark.usefixtures("rooms")
def test_a_room_is_read_only_and_its_user_has_no_rights(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir(mode=0o777)
    (tmp_path / "volume").chmod(0o777)
    (tmp_path / "secret").write_text("hidden")
    room = Sandbox(
        [Path("/")],
        tmp_path / "scratch",
        mounts={"/volume": tmp_path / "volume"},
        read_only={"/run/secrets/word": tmp_path / "secret"},
        hidden=("/home",),
    )
    configured = (
        'id -u; id -G; cat /run/secrets/word; ls /home; echo "${HOME-none}"; grep CapEff /proc/self/status;'
        "touch /volume/new; touch /new; touch /tmp/new; touch /run/secrets/word"
    )
    ran = subprocess.run(
        room.command(["/bin/sh", "-c", configured], SHELL, "4321:8765", "/volume"), capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines() == ["4321", "8765", "hiddennone", "CapEff:\t0000000000000000"]
    assert ran.stderr.count("Read-only file system") + ran.stderr.count("Permission denied") == 3, ran.stderr
    assert (tmp_path / "volume/new").stat().st_uid == 4321


@pytest.mark.usefixtures("rooms")
def test_a_folder_can_be_seen_inside_of_another(tmp_path: Path) -> None:
    for name in ("outer", "inner/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "inner/deep/word").write_text("found")
    seen = {"/outer/in": tmp_path / "inner"}
    room = Sandbox([Path("/")], tmp_path / "scratch", mounts={"/outer": tmp_path / "outer"}, read_only=seen)
    configured = "cat /outer/in/deep/word; touch /outer/new; touch /outer/in/new"
    ran = subprocess.run(room.command(["/bin/sh", "-c", configured], SHELL), capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr.count("Read-only file system")) == ("found", 1)
    assert (tmp_path / "outer/new").exists()


@pytest.mark.usefixtures("rooms")
def test_a_signal_reaches_the_command_and_its_status_is_returned(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"]
    room = Sandbox([Path("/")], tmp_path / "scratch")
    with subprocess.Popen(room.command(command, SHELL), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(60) == 7
