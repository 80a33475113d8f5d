"""The network of a cluster on one machine: a namespace and an address a pod, names in `/etc/hosts`, and Services that pass on.

All of it is made inside namespaces of the process that asks for it (`apart` starts one so). It goes with the last process
there, and the machine sees nothing of it.
"""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

NODE: Final = "10.77.0.1"
"""The address of the machine itself, under which pods reach what runs outside of the cluster."""

_BRIDGE: Final = "pods"
_BLOCK: Final = 65_536
_SECONDS: Final = 120.0
"""How long it may take to begin listening."""

Place = tuple[str, int]
"""An address and a port."""


def apart(command: Sequence[str]) -> list[str]:
    """Return what runs a command in namespaces of mounts, network and processes of its own; it takes root.

    Every process that the command starts ends with it, and it ends with its parent.
    """
    prepare = "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip link set lo up"
    inside = ["/bin/sh", "-c", f'{prepare} && exec "$@"', "sh", *command]
    alone = ["--mount", "--net", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return ["unshare", *alone, *inside]


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a Service: its number, and the endpoints that now get its connections, round robin."""

    number: int
    endpoints: Callable[[], Sequence[Place]]


class Network:
    """The bridge that all pods are at; the process is in namespaces of its own."""

    def __init__(self) -> None:
        """Make the bridge."""
        self._pods = self._services = 0
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="services", daemon=True)
        self._thread.start()
        _ip("link", "add", _BRIDGE, "type", "bridge")
        _ip("address", "add", f"{NODE}/16", "dev", _BRIDGE)
        _ip("link", "set", _BRIDGE, "up")

    def join(self, pod: str) -> str:
        """Give a pod a namespace and return its address."""
        self._pods += 1
        address, outside = f"10.77.{1 + self._pods // 250}.{self._pods % 250 + 1}", f"pod{self._pods}"
        _ip("netns", "add", pod)
        _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", pod)
        _ip("link", "set", outside, "master", _BRIDGE, "up")
        _ip("-n", pod, "address", "add", f"{address}/16", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", pod, "link", "set", device, "up")
        return address

    @staticmethod
    def inside(pod: str, command: Sequence[str]) -> list[str]:
        """Return what runs a command in the namespace of a pod, as a host of its name; it is one process with the command."""
        named = ["unshare", "--uts", "/bin/sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", pod]
        return ["nsenter", f"--net=/run/netns/{pod}", *named, *command]

    def serve(self, ports: Sequence[Port]) -> str:
        """Give a Service an address and return it; connections are refused while it has no endpoints."""
        self._services += 1
        address = f"10.77.200.{self._services}"
        _ip("address", "add", f"{address}/16", "dev", _BRIDGE)
        for port in ports:
            round_robin = _RoundRobin(port.endpoints)
            self._call(asyncio.start_server(round_robin.pass_on, address, port.number))
        return address

    def end(self) -> None:
        """Pass nothing on any more."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _call(self, work: Coroutine[object, object, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)


class _RoundRobin:
    """Passes connections on to endpoints, round robin."""

    def __init__(self, endpoints: Callable[[], Sequence[Place]]) -> None:
        self._endpoints = endpoints
        self._turn = 0

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on, and close it when either side has."""
        with suppress(OSError):
            if places := self._endpoints():
                self._turn += 1
                other_reader, other_writer = await asyncio.open_connection(*places[self._turn % len(places)])
                await asyncio.gather(_pour(reader, other_writer), _pour(other_reader, writer))
        writer.close()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await reader.read(_BLOCK):
            writer.write(block)
            await writer.drain()
        writer.write_eof()
        return
    writer.close()


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)  # noqa: S603, S607 - of our own parts
    if done.returncode != 0:
        message = f"ip {' '.join(arguments)}: {done.stderr.strip()}"
        raise OSError(message)
