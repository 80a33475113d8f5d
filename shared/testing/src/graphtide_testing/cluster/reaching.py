"""`python -m graphtide_testing.cluster.reaching`: who reaches whom, where each pod has a network namespace with its policies.

Reads pods and policies as JSON, `{"pods": [{"name", "namespace", "labels", "namespace_labels", "ports"}], "policies": […]}`;
writes what was reached, `[[source, target, port], …]`. Every pod listens at its ports, and every other tries to connect.
It is to run `apart`, as root: the namespaces go with the process.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graphtide_testing.cluster.network import Network, apart
from graphtide_testing.cluster.policies import Peer, rules
from graphtide_testing.servers.tools import program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PATIENCE: Final = 5.0
"""Seconds for a connection on one machine: what is not allowed is refused at once."""

_CLONE_NEWNET: Final = 0x40000000


def find_reached(pods: Sequence[dict[str, Any]], policies: Sequence[dict[str, Any]]) -> set[tuple[str, str, int]]:
    """Return each pair of pods that connected, with the port; pods as in the JSON, `policies` are manifests.

    Raises:
        OSError: it could not be tried: this is not root, or a program is missing.
    """
    command = apart([sys.executable, "-m", "graphtide_testing.cluster.reaching"])
    program("nft")
    given = json.dumps({"pods": pods, "policies": policies})
    ended = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=300)  # noqa: S603 - ours
    if ended.returncode:
        raise OSError(ended.stderr)
    return {(source, target, port) for source, target, port in json.loads(ended.stdout)}


def main() -> None:
    """Make the namespaces, let every pod call every other, and return the calls that connected."""
    given = json.load(sys.stdin)
    network = Network()
    pods = [Peer(address=network.join(each["name"]), **each) for each in given["pods"]]
    found: list[tuple[str, str, int]] = []
    with ExitStack() as stack:
        for pod in pods:
            with _inside(pod):
                subprocess.run(["nft", "-f", "-"], input=rules(pod, given["policies"], pods), text=True, check=True)  # noqa: S607
                for port in pod.ports.values():
                    stack.enter_context(socket.create_server((pod.address, port), backlog=len(pods)))
        for source, target in permutations(pods, 2):
            with _inside(source):
                found += [(source.name, target.name, port) for port in target.ports.values() if _answers(target, port)]
    network.end()
    sys.stdout.write(json.dumps(found))


def _answers(target: Peer, port: int) -> bool:
    try:
        socket.create_connection((target.address, port), timeout=_PATIENCE).close()
    except TimeoutError:
        raise
    except OSError:
        return False
    return True


@contextmanager
def _inside(pod: Peer) -> Iterator[None]:
    """Let this thread be in a pod's network; what it opens meanwhile stays there."""
    with Path("/proc/self/ns/net").open("rb") as own, Path("/run/netns", pod.name).open("rb") as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(own.fileno())


def _enter(namespace: int) -> None:
    # The standard library has it from Python 3.12 on.
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(namespace, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
