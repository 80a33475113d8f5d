"""Pods run and are probed as their manifests say: variables, files, probes, order and network."""

from __future__ import annotations

import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from graphtide_testing.cluster.manifests import ManifestError, Manifests, Pod, port_of
from graphtide_testing.cluster.network import apart
from graphtide_testing.cluster.probes import Probe
from graphtide_testing.cluster.surroundings import command_of, containers, expand, quantity, variables
from graphtide_testing.cluster.volumes import find_mounts, write_volumes
from graphtide_testing.images.sandbox import overlays_in, why_not

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HELD = """
kind: ConfigMap
metadata: {name: settings}
data: {ONE: "1", TWO: "2", file.conf: "a = b\\n"}
---
kind: Secret
metadata: {name: login}
stringData: {word: hidden, user: me}
"""
SET = """
kind: StatefulSet
metadata: {name: shards}
spec:
  replicas: 2
  serviceName: shards
  volumeClaimTemplates: [{metadata: {name: kept}}]
  template:
    metadata: {labels: {app: shards}, annotations: {note: "x"}}
    spec: {containers: [{name: c, image: i}], serviceAccountName: account}
"""


def manifests(text: str = HELD) -> Manifests:
    return Manifests(yaml.safe_load_all(text), "space")


def list_settings(container: str, pod: Pod | None = None) -> dict[str, str]:
    return variables(manifests(), pod or manifests(SET).pods()[1], yaml.safe_load(container), "10.0.0.9")


def test_a_controller_makes_pods_with_names_and_labels_of_their_own() -> None:
    first, second = manifests(SET).pods()
    assert (first.name, second.name, second.namespace) == ("shards-0", "shards-1", "space")
    given = {"statefulset.kubernetes.io/pod-name": "shards-1", "apps.kubernetes.io/pod-index": "1"}
    assert second.labels == {"app": "shards", **given}
    assert [each["persistentVolumeClaim"]["claimName"] for each in second.spec["volumes"]] == ["kept-shards-1"]
    deployment = SET.replace("StatefulSet", "Deployment").replace("  replicas: 2\n", "")
    assert [each.name for each in manifests(deployment).pods()] == ["shards-0"]


def test_hooks_have_their_weights_and_jobs_end() -> None:
    job = """
kind: Job
metadata: {name: topics, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-weight: "-5"}}
spec: {template: {spec: {restartPolicy: OnFailure, containers: []}}}
---
kind: Pod
metadata: {name: try, annotations: {helm.sh/hook: test}}
spec: {restartPolicy: Never, containers: []}
"""
    topics, attempt = manifests(job).pods()
    assert (sorted(topics.hooks), topics.weight, topics.is_job) == (["pre-install", "pre-upgrade"], -5, True)
    assert (sorted(attempt.hooks), attempt.weight, attempt.is_job) == (["test"], 0, True)


def test_what_is_not_known_or_stands_twice_is_refused() -> None:
    with pytest.raises(ManifestError, match="DaemonSet d: a kind that is not known here"):
        manifests("kind: DaemonSet\nmetadata: {name: d}\n")
    with pytest.raises(ManifestError, match="ConfigMap settings stands there twice"):
        manifests(f"{HELD}---{HELD}")
    with pytest.raises(ManifestError, match="hostNetwork is not known here"):
        list(containers(Pod("p", "s", {}, {}, {"hostNetwork": True, "containers": []})))
    with pytest.raises(ManifestError, match="has no port web"):
        port_of({"name": "c", "ports": [{"name": "http", "containerPort": 80}]}, "web")


def test_variables_come_from_where_the_manifest_says_and_later_ones_win() -> None:
    container = """
name: c
resources: {limits: {cpu: 1500m, memory: 1Gi}}
envFrom:
  - configMapRef: {name: settings}
  - secretRef: {name: login}
    prefix: MY_
  - configMapRef: {name: none, optional: true}
env:
  - {name: TWO, value: two}
  - {name: BOTH, value: "$(ONE)-$(TWO)-$(THREE)-$$(ONE)"}
  - {name: WORD, valueFrom: {secretKeyRef: {name: login, key: word}}}
  - {name: LEFT_OUT, valueFrom: {configMapKeyRef: {name: settings, key: none, optional: true}}}
  - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
  - {name: SHARD, valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}}
  - {name: ADDRESS, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
  - {name: CORES, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
  - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}}
"""
    assert list_settings(container) == {
        "ONE": "1",
        "TWO": "two",
        "file.conf": "a = b\n",
        "MY_word": "hidden",
        "MY_user": "me",
        "BOTH": "1-two-$(THREE)-$(ONE)",
        "WORD": "hidden",
        "NAME": "shards-1",
        "SHARD": "1",
        "ADDRESS": "10.0.0.9",
        "CORES": "2",
        "MEMORY": "1024",
    }


@pytest.mark.parametrize(
    ("container", "said"),
    [
        ("{name: c, envFrom: [{secretRef: {name: none}}]}", "there is no Secret none"),
        ("{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: login, key: none}}}]}", "Secret login has no key none"),
        ("{name: c, env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]}", "field status.phase is not known"),
        ("{name: c, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}", "c has no limits.cpu"),
        ("{name: c, env: [{name: A, valueFrom: {fileKeyRef: {}}}]}", "valueFrom fileKeyRef is not known here"),
    ],
)
def test_a_variable_that_cannot_be_had_is_refused(container: str, said: str) -> None:
    with pytest.raises(ManifestError, match=said):
        list_settings(container)


def test_commands_take_the_place_of_the_image_and_arguments_come_after() -> None:
    image = (("entry",), ("default",))
    assert command_of({}, image, {}) == ["entry", "default"]
    assert command_of({"args": ["$(A)"]}, image, {"A": "b"}) == ["entry", "b"]
    assert command_of({"command": ["own"]}, image, {}) == ["own"]
    assert command_of({"command": ["own"], "args": ["x"]}, image, {}) == ["own", "x"]
    assert expand("$$(A) $(A) $(B)", {"A": "1"}) == "$(A) 1 $(B)"


def test_amounts_are_numbers() -> None:
    assert [quantity(each) for each in ("2", "500m", "1Gi", "3M")] == [2.0, 0.5, 2.0**30, 3e6]
    with pytest.raises(ManifestError, match="ten is not an amount"):
        quantity("ten")


def test_files_of_volumes_are_written_with_their_modes(tmp_path: Path) -> None:
    volumes = """
- {name: all, configMap: {name: settings}}
- name: some
  secret:
    secretName: login
    defaultMode: 0400
    items: [{key: word, path: deep/word}, {key: user, path: user, mode: 0444}]
- {name: empty, emptyDir: {sizeLimit: 1Mi}}
- {name: kept, persistentVolumeClaim: {claimName: claim}}
- name: both
  projected:
    sources:
      - configMap: {name: settings, items: [{key: ONE, path: one}]}
      - downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}
"""
    pod = Pod("p", "space", {}, {}, {"volumes": yaml.safe_load(volumes), "containers": []})
    found = write_volumes(manifests(), pod, tmp_path / "own", tmp_path / "claims")
    texts = {
        f"{name}/{file.relative_to(place)}": (file.read_text(), f"{file.stat().st_mode & 0o777:o}")
        for name, place in found.items()
        for file in sorted(place.rglob("*"))
        if file.is_file()
    }
    assert texts == {
        "all/ONE": ("1", "644"),
        "all/TWO": ("2", "644"),
        "all/file.conf": ("a = b\n", "644"),
        "some/deep/word": ("hidden", "400"),
        "some/user": ("me", "444"),
        "both/one": ("1", "644"),
        "both/name": ("p", "644"),
    }
    assert found["kept"] == tmp_path / "claims/claim"
    assert f"{found['empty'].stat().st_mode & 0o777:o}" == "777"
    (found["kept"] / "mine").touch()
    # What a container left is there when it comes again.
    assert (write_volumes(manifests(), pod, tmp_path / "own", tmp_path / "claims")["kept"] / "mine").exists()
    container = yaml.safe_load(
        "{name: c, volumeMounts: [{name: empty, mountPath: /scratch}, "
        "{name: all, mountPath: /etc/one, subPath: ONE, readOnly: true}]}"
    )
    assert find_mounts(container, found) == ({"/scratch": found["empty"]}, {"/etc/one": found["all"] / "ONE"})


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ("{name: v, configMap: {name: none}}", "there is no ConfigMap none"),
        ("{name: v, secret: {secretName: login, items: [{key: none, path: x}]}}", "Secret login has no key none"),
        ("{name: v, hostPath: {path: /}}", "volume v of kind hostPath is not known here"),
    ],
)
def test_a_volume_that_cannot_be_had_is_refused(tmp_path: Path, volume: str, said: str) -> None:
    pod = Pod("p", "space", {}, {}, {"volumes": [yaml.safe_load(volume)], "containers": []})
    with pytest.raises(ManifestError, match=said):
        write_volumes(manifests(), pod, tmp_path / "own", tmp_path / "claims")


@pytest.fixture
def moody() -> Iterator[tuple[list[int], list[str], int]]:
    """Statuses that a server gives in their order, the last for ever, the paths that it was asked for, and its port."""
    statuses: list[int] = []
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('x-own', '')}".strip())
            self.send_response(statuses.pop(0) if len(statuses) > 1 else statuses[0])
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield statuses, asked, server.server_port
    server.shutdown()
    server.server_close()


def probe(port: int, **configured: Any) -> Probe:
    container = {"name": "c", "ports": [{"name": "http", "containerPort": port}]}
    get = {"path": "/livez", "port": "http", "httpHeaders": [{"name": "x-own", "value": "me"}]}
    return Probe("livenessProbe", {"httpGet": get, "periodSeconds": 0, **configured}, container, "127.0.0.1")


def test_a_probe_holds_after_as_many_answers_alike_as_it_says(moody: tuple[list[int], list[str], int]) -> None:
    statuses, asked, port = moody
    statuses += [200, 503, 503, 302, 503, 503, 503, 200]
    each = probe(port, failureThreshold=3)
    held = []
    for _ in range(8):
        each.ask_if_due()
        held.append(each.holds)
    assert held == [True, True, True, True, True, True, False, True]
    assert (each.asked, set(asked), each.configured) == (8, {"/livez me"}, "503 ")


def test_a_probe_waits_for_its_time(moody: tuple[list[int], list[str], int]) -> None:
    statuses, asked, port = moody
    statuses.append(200)
    late, slow = probe(port, initialDelaySeconds=1000), probe(port, periodSeconds=1000)
    for each in (late, slow):
        each.ask_if_due()
        each.ask_if_due()
    assert (late.holds, slow.holds, len(asked)) == (None, True, 1)


def test_an_absent_container_fails_and_ports_alone_can_be_asked(moody: tuple[list[int], list[str], int]) -> None:
    absent = probe(1, failureThreshold=1)
    absent.ask_if_due()
    assert absent.holds is False
    there = Probe("readinessProbe", {"tcpSocket": {"port": moody[2]}}, {"name": "c"}, "127.0.0.1")
    there.ask_if_due()
    assert there.holds is True
    with pytest.raises(ManifestError, match="startupProbe is neither httpGet nor tcpSocket"):
        Probe("startupProbe", {"exec": {"command": ["x"]}}, {"name": "c"}, "127.0.0.1")


STORY = """
import json, sys, time
from pathlib import Path
import yaml
from graphtide_testing.cluster.kubelet import Kubelet
from graphtide_testing.cluster.manifests import Manifests
from graphtide_testing.cluster.network import NODE
from graphtide_testing.images.building import this_machine, this_python
from graphtide_testing.waiting import wait_until
folder = Path(sys.argv[1])
image = this_machine(folder / "image", this_python(), {})
manifests = Manifests(yaml.safe_load_all((folder / "manifests.yaml").read_text()), "space")
kubelet = Kubelet(manifests, folder, {"image": image}, {"outside": NODE})
pods = kubelet.pods
try:
    kubelet.start([pods["web-0"], pods["web-1"]])
    wait_until(lambda: pods["web-0"].ready and pods["web-1"].ready, 60, lambda: pods["web-0"].reason)
    kubelet.start([pods["caller"], pods["weak-0"]])
    wait_until(lambda: pods["caller"].phase != "Pending" and pods["caller"].phase != "Running", 60)
    kubelet.start([pods["stubborn"]])
    wait_until(lambda: pods["stubborn"].phase in {"Succeeded", "Failed"}, 60)
    wait_until(lambda: pods["weak-0"].containers[0].starts >= 2, 60)
    kubelet.stop([pods["web-0"], pods["web-1"]])
finally:
    kubelet.end()
print(json.dumps({
    "phases": {name: each.phase for name, each in pods.items() if name not in {"weak-0", "stubborn"}},
    "said": (folder / "logs/caller.call.log").read_text(),
    "first": (folder / "logs/caller.first.log").read_text(),
    "web": [each.containers[0].statuses for each in (pods["web-0"], pods["web-1"])],
    "weak": pods["weak-0"].containers[0].statuses[:1],
    "stubborn": [pods["stubborn"].phase, pods["stubborn"].containers[0].statuses],
}))
"""

WEB = """
import http.server, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"{os.environ['NAME']} {os.uname().nodename} {os.getuid()}".encode())
http.server.HTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
"""

CALL = """
import pathlib, socket, urllib.request
answers = {urllib.request.urlopen(url).read().decode() for url in ["http://web.space.svc"] * 4 + ["http://web"]}
print(sorted(answers), pathlib.Path("/files/word").read_text(), socket.gethostbyname("outside"))
for place in ("/new", "/files/new", "/scratch/new"):
    try:
        pathlib.Path(place).touch()
        print("wrote", place)
    except OSError as error:
        print(error.strerror)
"""


AGAIN = """
import pathlib, sys
tried = pathlib.Path("/scratch/tried")
if not tried.exists():
    tried.touch()
    sys.exit("not yet")
"""


def story() -> str:
    restricted = {"runAsUser": 4321, "runAsGroup": 4321, "runAsNonRoot": True, "readOnlyRootFilesystem": True}
    name = {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    web = {
        "name": "web",
        "image": "image:1",
        "command": ["python", "-c", WEB],
        "env": [name],
        "ports": [{"name": "http", "containerPort": 8000}],
        "startupProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1, "failureThreshold": 60},
        "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
        "securityContext": restricted,
    }
    mounts = [{"name": "files", "mountPath": "/files", "readOnly": True}, {"name": "scratch", "mountPath": "/scratch"}]
    volumes = [{"name": "files", "secret": {"secretName": "login"}}, {"name": "scratch", "emptyDir": {}}]
    call = {"image": "image", "volumeMounts": mounts, "securityContext": restricted}
    first = {"name": "first", **call, "command": ["python", "-c", "print('first')"]}
    weak = {"name": "weak", "image": "image", "command": ["python", "-c", "raise SystemExit(3)"]}
    labels = {"app": "web"}
    written_down: str = yaml.safe_dump_all(
        [
            *yaml.safe_load_all(HELD),
            {
                "kind": "Deployment",
                "metadata": {"name": "web"},
                "spec": {"replicas": 2, "template": {"metadata": {"labels": labels}, "spec": {"containers": [web]}}},
            },
            {
                "kind": "Service",
                "metadata": {"name": "web"},
                "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
            },
            {"kind": "Deployment", "metadata": {"name": "weak"}, "spec": {"template": {"spec": {"containers": [weak]}}}},
            {
                "kind": "Job",
                "metadata": {"name": "stubborn"},
                "spec": {
                    "template": {
                        "spec": {
                            "restartPolicy": "OnFailure",
                            "containers": [
                                {"name": "try", **call, "volumeMounts": mounts[1:], "command": ["python", "-c", AGAIN]}
                            ],
                            "volumes": volumes[1:],
                        }
                    }
                },
            },
            {
                "kind": "Pod",
                "metadata": {"name": "caller"},
                "spec": {
                    "restartPolicy": "Never",
                    "initContainers": [first],
                    "containers": [{"name": "call", **call, "command": ["python", "-c", CALL]}],
                    "volumes": volumes,
                    "securityContext": {"fsGroup": 4321},
                },
            },
        ]
    )
    return written_down


def test_pods_call_each_other_by_the_names_of_services(tmp_path: Path) -> None:
    if (reason := why_not() or overlays_in(tmp_path / "tried")) is not None:
        pytest.skip(reason)
    tmp_path.chmod(0o755)
    (tmp_path / "manifests.yaml").write_text(story())
    ran = subprocess.run(
        apart([sys.executable, "-c", STORY, str(tmp_path)]), capture_output=True, text=True, check=False, timeout=240
    )
    assert ran.returncode == 0, ran.stderr
    found = yaml.safe_load(ran.stdout)
    assert found["phases"] == {"web-0": "Succeeded", "web-1": "Succeeded", "caller": "Succeeded"}
    assert found["said"].splitlines() == [
        "['web-0 web-0 4321', 'web-1 web-1 4321'] hidden 10.77.0.1",
        "Read-only file system",
        "Read-only file system",
        "wrote /scratch/new",
    ]
    assert (found["first"], found["web"], found["weak"]) == ("first\n", [[0], [0]], [3])
    assert found["stubborn"] == ["Succeeded", [1, 0]]
