"""What the Dockerfile's own steps make runs every service: as nobody, in a tree that is read-only.

No engine is needed: `graphtide_testing.images` carries the steps out. This machine stands in for the bases; Spark's jars for
buckets and the entrypoint of its image, which come from elsewhere, are given empty.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx2
import pytest
from graphtide_testing.images.building import Builder, Image, this_machine, this_python
from graphtide_testing.images.context import Context
from graphtide_testing.images.sandbox import Sandbox, overlays_in, why_not
from graphtide_testing.orphans import VARIABLE
from graphtide_testing.servers.process import free_ports
from graphtide_testing.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

ROOT: Final = Path(__file__).parents[2]
NOWHERE: Final = "127.0.0.1:9"
PATIENCE: Final = 120.0
HIDDEN: Final = ("/tmp",)  # noqa: S108 - of the room, not of this machine
NOTHING: Final[Mapping[str, Path]] = {}
PLAIN: Final = (
    "planner",
    "statistics",
    "matcher_timing",
    "matcher_sjtree",
    "matcher_simulation",
    "matcher_event_pattern",
    "matcher_algebra",
)
OVER_HTTP: Final = ("ingestion", "admin_api")


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    folder = tmp_path_factory.mktemp("images")
    if (reason := why_not() or overlays_in(folder / "tried")) is not None:
        pytest.skip(reason)
    if shutil.which("npm") is None:
        pytest.skip("missing: Node.js with npm, which builds the console")
    of_node = {name: os.environ[name] for name in ("PATH", "NODE_EXTRA_CA_CERTS") if name in os.environ}
    of_rust = {name: os.environ[name] for name in ("PATH", "RUSTUP_HOME") if name in os.environ}
    for name in ("jars/jars", "spark/opt"):
        (folder / name).mkdir(parents=True)
    for name in ("entrypoint.sh", "decom.sh"):
        (folder / "spark/opt" / name).touch()
    return Builder(
        (ROOT / "packaging/images/Dockerfile").read_text("utf-8"),
        Context(ROOT),
        folder / "layers",
        arguments={
            **dict.fromkeys(("NODE_DIGEST", "PYTHON_DIGEST", "RUST_DIGEST"), "that"),
            "CREATED": "now",
            "REVISION": "this",
            "VERSION": "0.1.0",
        },
        bases={
            "python": this_machine(folder / "python", this_python(), {}),
            "node": this_machine(folder / "node", {}, of_node),
            "rust": this_machine(folder / "rust", {}, of_rust),
        },
        given={"jars": Image((folder / "jars",)), "spark": Image((folder / "spark",))},
        caches=ROOT / ".cache/images",
        hidden=(str(ROOT),),
    )


def hidden_beside(mounts: Mapping[str, Path]) -> list[str]:
    """Return the folders that a container sees empty; a checkout inside of one of them is hidden with it."""
    places = {str(ROOT), *HIDDEN} - mounts.keys()
    return sorted(each for each in places if not any(each.startswith(f"{other}/") for other in (*places, *mounts)))


class Container:
    """A command in an image, with the variables and the writable folders that it is given."""

    def __init__(
        self, image: Image, folder: Path, command: list[str], configured: Mapping[str, str], mounts: Mapping[str, Path]
    ) -> None:
        """Start it."""
        self.output = folder / "output"
        sandbox = Sandbox(image.layers, folder / "scratch", mounts=mounts, hidden=hidden_beside(mounts))
        needed = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
        line = sandbox.command(command, {"HOME": "/", **image.environment, **configured, **needed}, image.user, image.folder)
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


@contextmanager
def running(
    image: Image, folder: Path, command: list[str], configured: Mapping[str, str], mounts: Mapping[str, Path] = NOTHING
) -> Iterator[Container]:
    container = Container(image, folder, command, configured, mounts)
    try:
        yield container
    finally:
        container.process.kill()
        container.process.wait()


def answers(url: str, status: int) -> bool:
    with suppress(httpx2.TransportError):
        return httpx2.get(url, timeout=30).status_code == status
    return False


def assert_starts_and_ends(
    image: Image, folder: Path, service: str, configured: Mapping[str, str], mounts: Mapping[str, Path] = NOTHING
) -> None:
    """Check that it lives, is not ready without Kafka, and ends on SIGTERM."""
    prefix, port = f"GRAPHTIDE_{service.upper()}_", configured.get("PORT") or configured["HEALTH__PORT"]
    variables = {prefix + name: value for name, value in {"KAFKA__BOOTSTRAP": NOWHERE, **configured}.items()}
    with running(image, folder, [f"graphtide-{service.replace('_', '-')}"], variables, mounts) as container:
        process = container.process
        output: Callable[[], str] = container.output.read_text
        wait_until(lambda: process.poll() is not None or answers(f"http://127.0.0.1:{port}/livez", 200), PATIENCE, output)
        assert process.poll() is None, container.output.read_text()
        assert answers(f"http://127.0.0.1:{port}/readyz", 503)
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "\nUid:\t10001\t10001\t10001\t10001\n" in status
        assert "\nCapEff:\t0000000000000000\n" in status
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, container.output.read_text()
    assert "Traceback" not in container.output.read_text()


def end(image: Image, folder: Path, *command: str, **configured: str) -> tuple[int, str]:
    with running(image, folder, list(command), configured) as container:
        return container.process.wait(PATIENCE), container.output.read_text()


@pytest.fixture(scope="module")
def services(builder: Builder) -> Image:
    return builder.build("graphtide")


@pytest.fixture(scope="module")
def on_spark(builder: Builder) -> Image:
    if shutil.which("apt-get") is None:
        pytest.skip("this machine cannot stand in for a base of Debian")
    return builder.build("graphtide-spark")


@pytest.mark.parametrize("service", PLAIN)
def test_a_service_starts_and_ends(services: Image, tmp_path: Path, service: str) -> None:
    (port,) = free_ports(1)
    assert_starts_and_ends(services, tmp_path, service, {"HEALTH__PORT": str(port)})


def test_the_admin_api_starts_and_ends(services: Image, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    assert_starts_and_ends(services, tmp_path, "admin_api", {"PORT": str(port), "INSECURE": "true"})


def test_ingestion_makes_topics_first_and_says_that_it_cannot(services: Image, tmp_path: Path) -> None:
    configured = {"GRAPHTIDE_INGESTION_INSECURE": "true", "GRAPHTIDE_INGESTION_KAFKA__BOOTSTRAP": NOWHERE}
    status, said = end(services, tmp_path, "graphtide-ingestion", **configured)
    assert (status, len(said.splitlines())) == (1, 2)
    assert said.splitlines()[1].startswith("graphtide-ingestion: asking for the topics: ")


@pytest.mark.parametrize("service", OVER_HTTP)
def test_a_service_that_nobody_could_call_says_what_to_set(services: Image, tmp_path: Path, service: str) -> None:
    name = f"graphtide-{service.replace('_', '-')}"
    status, configured = end(services, tmp_path, name)
    assert (status, len(configured.splitlines())) == (1, 1)
    assert configured.startswith(f"{name}: no caller has access: set GRAPHTIDE_{service.upper()}_API_KEYS")


def test_the_command_line_is_there_and_spark_is_not(services: Image, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert end(services, tmp_path / "one", "graphtide", "--version") == (0, "graphtide 0.1.0\n")
    status, configured = end(services, tmp_path / "two", "graphtide-preprocess")
    assert (status, configured) == (
        1,
        "graphtide-preprocess needs pyspark, which is not installed: pip install 'graphtide[spark]'\n",
    )


def test_nothing_in_the_image_can_be_written_by_its_user(services: Image, tmp_path: Path) -> None:
    look = "import os; print([p for p, _, names in os.walk('/opt') for n in ('', *names) if os.access(f'{p}/{n}', os.W_OK)])"
    status, configured = end(services, tmp_path, "python", "-c", look)
    assert (status, configured) == (0, "[]\n")


def test_every_module_was_compiled_beforehand(services: Image) -> None:
    packages = next((services.layers[0] / "opt/graphtide/lib").iterdir()) / "site-packages"
    for each in packages.glob("graphtide*/**/*.py"):
        assert list((each.parent / "__pycache__").glob(f"{each.stem}.*.pyc")), each


@pytest.fixture
def scratch(tmp_path: Path) -> dict[str, Path]:
    """Return a volume for what Spark writes, where its image looks for one."""
    folder = tmp_path / "volume"
    folder.mkdir()
    folder.chmod(0o777)
    return {HIDDEN[0]: folder}


def test_the_backfill_service_starts_and_ends(on_spark: Image, tmp_path: Path, scratch: dict[str, Path]) -> None:
    (port,) = free_ports(1)
    configured = {"HEALTH__PORT": str(port), "FOLDER": f"{HIDDEN[0]}/backfills"}
    assert_starts_and_ends(on_spark, tmp_path, "backfill", configured, scratch)


def test_the_job_says_what_to_set(on_spark: Image, tmp_path: Path) -> None:
    assert end(on_spark, tmp_path, "graphtide-preprocess") == (
        1,
        "graphtide-preprocess: set GRAPHTIDE_PREPROCESS_STREAMS and GRAPHTIDE_PREPROCESS_CHECKPOINT\n",
    )


def test_spark_runs_in_its_image(on_spark: Image, tmp_path: Path, scratch: dict[str, Path]) -> None:
    counts = "from pyspark.sql import SparkSession as S; print(S.builder.master('local[1]').getOrCreate().range(7).count())"
    configured = {"SPARK_LOCAL_IP": "127.0.0.1"}
    with running(on_spark, tmp_path, ["python", "-c", counts], configured, scratch) as container:
        assert container.process.wait(PATIENCE) == 0, container.output.read_text()
        assert "7" in container.output.read_text().splitlines()
