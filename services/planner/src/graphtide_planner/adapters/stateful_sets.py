"""Matcher services as StatefulSets of one namespace: listed once and watched from then on, scaled by their subresource.

The watch runs in a thread of its own. It begins where the list ended. Bookmarks move it forward while nothing happens, so it
can continue there when the server ends it, which it does again and again. If the server has forgotten that place (410 Gone),
all are listed anew. Any other end of it is raised to the next reader, and the owner opens anew.

To scale is a merge patch of `spec.replicas` that names the version of what was seen. If anything has changed since, the API
refuses it (409 Conflict) and nothing is lost but a moment.
"""

from __future__ import annotations

from http import HTTPStatus
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import structlog
from graphtide_core.errors import FatalError, TransientError
from graphtide_telemetry import events
from urllib3.exceptions import HTTPError

from graphtide_planner.adapters.api import MERGE_PATCH, GoneError, MissingError
from graphtide_planner.application.cluster import Replicas, ThrottledError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from urllib3 import BaseHTTPResponse

    from graphtide_planner.adapters.api import Api

_LOG = structlog.get_logger()

Form = TypeVar("Form")

WATCH_SECONDS: Final = 60
"""How long the server is asked to let a watch last."""

_SILENT_SECONDS: Final = 75.0
"""A watch that says nothing for so long, not even that it ends, is broken."""

_END_SECONDS: Final = 5.0
_TRIES: Final = 5
_FIRST_PAUSE: Final = 0.2


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct):
    replicas: int = 1


class _Status(msgspec.Struct, rename="camel"):
    ready_replicas: int = 0


class _StatefulSet(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _StatefulSets(msgspec.Struct):
    metadata: _Metadata
    items: list[_StatefulSet] = []


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Failure(msgspec.Struct):
    code: int = 0
    message: str = ""


class StatefulSets:
    """A `Cluster` of StatefulSets."""

    def __init__(self, api: Api, namespace: str, names: Mapping[str, str], *, watch_seconds: int = WATCH_SECONDS) -> None:
        """Prepare; nothing is asked yet. `names` are the StatefulSets of services."""
        self._api = api
        self._path = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
        self._names = dict(names)
        self._services = {name: service for service, name in names.items()}
        self._watch_seconds = watch_seconds
        self._lock = Lock()
        self._seen: dict[str, Replicas] = {}
        self._trouble: Exception | None = None
        self._stop = Event()
        self._answer: BaseHTTPResponse | None = None
        self._thread: Thread | None = None

    def open(self) -> None:
        """List them, and watch them from then on; raises as `Api.request`."""
        self.close()
        version = self._listed()
        self._trouble, self._stop = None, Event()
        self._thread = Thread(target=self._follow, args=(version, self._stop), name="stateful-sets", daemon=True)
        self._thread.start()

    def seen(self) -> Mapping[str, Replicas]:
        """Return the services that have a StatefulSet, as they were last.

        Raises:
            TransientError: they are not watched any more.
            FatalError: they may not be watched any more.
        """
        with self._lock:
            if self._trouble is not None:
                raise self._trouble
            if self._thread is None:
                message = "the StatefulSets are not watched"
                raise TransientError(message)
            return dict(self._seen)

    def scale(self, service: str, replicas: int, seen: Replicas) -> None:
        """Ask for so many replicas; raises as `Api.request`."""
        self._patch(service, replicas, seen, {})

    def try_out(self, service: str, replicas: int, seen: Replicas) -> None:
        """Let the API check the same request, our rights included, and change nothing; raises as `Api.request`."""
        self._patch(service, replicas, seen, {"dryRun": "All"})

    def close(self) -> None:
        """Watch no longer; returns when the thread has ended, which takes no longer than its answer to be cut off."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with self._lock:
            if self._answer is not None:
                _cut_off(self._answer)
        thread.join(_END_SECONDS)
        if thread.is_alive():
            _LOG.error(events.REPLICAS_UNFOLLOWED, error=f"the watch did not end within {_END_SECONDS:g} s")

    def _patch(self, service: str, replicas: int, seen: Replicas, query: Mapping[str, str]) -> None:
        body = {"metadata": {"resourceVersion": seen.version}, "spec": {"replicas": replicas}}
        path = f"{self._path}/{self._names[service]}/scale"
        try:
            self._api.request("PATCH", path, body, query=query, kind=MERGE_PATCH)
        except MissingError as error:
            message = f"service {service!r} has no StatefulSet {self._names[service]!r}"
            raise TransientError(message) from error

    def _listed(self) -> str:
        """Take all that there are; return the version of the list."""
        found = _decode(self._api.request("GET", self._path), _StatefulSets)
        with self._lock:
            self._seen.clear()
            for each in found.items:
                self._take(each)
        return found.metadata.resource_version

    def _take(self, each: _StatefulSet) -> None:
        service = self._services.get(each.metadata.name)
        if service is not None:
            self._seen[service] = Replicas(each.spec.replicas, each.status.ready_replicas, each.metadata.resource_version)

    def _follow(self, version: str, stop: Event) -> None:
        """Watch until `stop`; what ends it is kept for the next reader. `version` is where to begin."""
        failures = 0
        while not stop.is_set():
            try:
                for newer in self._watched(version, stop):
                    version, failures = newer, 0
            except GoneError:
                version = self._anew(version, stop)
            except ThrottledError as error:
                stop.wait(error.seconds)
            except TransientError as error:
                failures += 1
                if failures >= _TRIES:
                    self._give_up(error, stop)
                    return
                stop.wait(_FIRST_PAUSE * 2**failures)
            except Exception as error:
                self._give_up(error, stop)
                return

    def _anew(self, version: str, stop: Event) -> str:
        """List what there is, as the server forgot where we were; keep the old place if that fails, and get the error again."""
        try:
            return self._listed()
        except ThrottledError as error:
            stop.wait(error.seconds)
        except TransientError as error:
            _LOG.warning(events.REPLICAS_UNFOLLOWED, error=str(error))
            stop.wait(1.0)
        return version

    def _give_up(self, error: Exception, stop: Event) -> None:
        if stop.is_set():
            return
        _LOG.warning(events.REPLICAS_UNFOLLOWED, error=str(error))
        foreseen = isinstance(error, TransientError | FatalError)
        with self._lock:
            self._trouble = error if foreseen else FatalError(f"watching StatefulSets ended in {error!r}")

    def _watched(self, version: str, stop: Event) -> Iterator[str]:
        """Take the server's events until it ends the watch; yield the version after each.

        Raises:
            GoneError: it does not know the version any more.
            TransientError: it went away.
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(self._watch_seconds),
        }
        with self._api.stream(self._path, query, _SILENT_SECONDS) as answer:
            with self._lock:
                if stop.is_set():
                    return
                self._answer = answer
            try:
                for line in _lines(answer):
                    if stop.is_set():
                        return
                    yield self._event_text(_decode(line, _Event))
            except HTTPError as error:
                if not stop.is_set():
                    message = f"the watch of StatefulSets broke: {error}"
                    raise TransientError(message) from error
            finally:
                with self._lock:
                    self._answer = None

    def _event_text(self, event: _Event) -> str:
        if event.type == "ERROR":
            failure = _decode(bytes(event.object), _Failure)
            raise (GoneError if failure.code == HTTPStatus.GONE else TransientError)(failure.message)
        found = _decode(bytes(event.object), _StatefulSet)
        with self._lock:
            if event.type == "DELETED":
                self._seen.pop(self._services.get(found.metadata.name, ""), None)
            elif event.type in {"ADDED", "MODIFIED"}:
                self._take(found)
        return found.metadata.resource_version


def _lines(answer: BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the lines of an answer, each as soon as it is whole."""
    rest = b""
    for block in answer.stream(amt=None):
        *lines, rest = (rest + block).split(b"\n")
        yield from (line for line in lines if line)


def _cut_off(answer: BaseHTTPResponse) -> None:
    """End an answer that another thread reads."""
    try:
        answer.shutdown()
    except (OSError, ValueError):
        # It has just ended by itself.
        return


def _decode(value: bytes, form: type[Form]) -> Form:
    try:
        return msgspec.json.decode(value, type=form)
    except msgspec.DecodeError as error:
        message = f"the Kubernetes API said something else than expected: {error}"
        raise TransientError(message) from error
