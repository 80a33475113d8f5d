"""A Kubernetes API server for tests, in this process: StatefulSets and leases over HTTPS, as clients of the real one meet them.

It speaks the protocol and runs nothing: a test says how many pods are ready. Objects have versions. A list says its own, and a
watch continues there with events, and with bookmarks where the client allows them. Where the server has forgotten that place,
it gives 410 Gone. Writes that name another version than the object's get 409. Bodies are held against the API's own schemas.
Every request is noted by what a Role would have to allow, whether or not it was answered.
"""

from __future__ import annotations

import copy
import json
import re
import ssl
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

import jsonschema
import kubernetes_validate
import trustme

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Json = dict[str, Any]

NAMESPACE: Final = "graphtide"

_VERSION: Final = "1.37"
_PATH: Final = re.compile(
    r"/apis/(?P<group>[a-z0-9.]+)/v1/namespaces/(?P<namespace>[a-z0-9-]+)/(?P<resource>[a-z]+)"
    r"(?:/(?P<name>[a-z0-9.-]+)(?:/(?P<sub>scale))?)?"
)
_MICROSECONDS: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_GROUPS: Final = {"statefulsets": "apps", "leases": "coordination.k8s.io"}
_REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
}
_PATIENCE: Final = 10.0


class Call(NamedTuple):
    """A request, as a rule of a Role names it; `resource` with its subresource."""

    verb: str
    group: str
    resource: str
    name: str = ""


class _Refusal(Exception):
    """An answer other than what was asked for."""

    def __init__(self, code: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.headers = headers or {}

    def status(self) -> Json:
        """Return the body."""
        reason = _REASONS.get(self.code, "InternalError")
        configured = {"status": "Failure", "message": str(self), "reason": reason, "code": self.code}
        return {"apiVersion": "v1", "kind": "Status", "metadata": {}, **configured}


class _Event(NamedTuple):
    version: int
    resource: str
    type: str
    object: Json


@dataclass
class KubernetesApi:
    """The objects of one namespace, and how the server behaves; change it under `changed`.

    Attributes:
        token: that clients have to show; another is refused.
        forbidden: what our service account may not, as a verb and a resource.
        gone_as: how a watch from a place that was forgotten is refused: as HTTP does, or as an event.
        bookmark_seconds: between two bookmarks of a watch.
        calls: what was asked, in order.
        bodies: what was written, with the call.
    """

    token: str = "a-token"  # noqa: S105 - of a server of the tests
    forbidden: set[tuple[str, str]] = field(default_factory=set)
    gone_as: Literal["status", "event"] = "event"
    bookmark_seconds: float = 0.1
    calls: list[Call] = field(default_factory=list)
    bodies: list[tuple[Call, Json]] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)
    is_ended: bool = False
    _objects: dict[tuple[str, str], Json] = field(default_factory=dict)
    _events: list[_Event] = field(default_factory=list)
    _version: int = 100
    _forgotten: int = 0
    _watches: int = 0
    _refusals: list[_Refusal] = field(default_factory=list)

    def put_stateful_set(self, name: str, replicas: int, ready: int | None = None) -> None:
        """Let there be a StatefulSet; all its pods are ready unless it is said otherwise."""
        with self.changed:
            known = self._objects.get(("statefulsets", name))
            made = copy.deepcopy(known) if known is not None else _stateful_set(name)
            made["spec"]["replicas"] = replicas
            made["status"] = {"replicas": replicas, "readyReplicas": replicas if ready is None else ready}
            self._store("statefulsets", name, made)

    def delete_stateful_set(self, name: str) -> None:
        """Let there be none."""
        with self.changed:
            gone = self._objects.pop(("statefulsets", name))
            self._notify("statefulsets", "DELETED", gone)

    def replicas(self, name: str) -> int:
        """Return how many replicas are asked for."""
        with self.changed:
            found: int = self._objects["statefulsets", name]["spec"]["replicas"]
            return found

    def lease(self, name: str) -> Json | None:
        """Return the specification of a lease."""
        with self.changed:
            found = self._objects.get(("leases", name))
            return copy.deepcopy(found["spec"]) if found is not None else None

    def forget(self) -> None:
        """Forget all events, and end all watches: they cannot continue."""
        with self.changed:
            self._events.clear()
            self._version += 1
            self._forgotten = self._version
            self.end_watches()

    def end_watches(self) -> None:
        """End all watches that run, as a server does from time to time."""
        with self.changed:
            self._watches += 1
            self.changed.notify_all()

    def refuse(self, code: int, times: int = 1, headers: dict[str, str] | None = None) -> None:
        """Refuse the next requests."""
        with self.changed:
            self._refusals += [_Refusal(code, "refused by the test", headers)] * times

    def rules(self) -> set[tuple[str, str, str]]:
        """Return verb, group and resource of all that was asked."""
        with self.changed:
            return {(call.verb, call.group, call.resource) for call in self.calls}

    def answered(self, call: Call, body: Json | None, kind: str, query: dict[str, str]) -> Json:
        """Return the answer to a request that is not a watch.

        Raises:
            _Refusal: another one.
        """
        with self.changed:
            if body is not None:
                self.bodies.append((call, body))
            resource = call.resource.partition("/")[0]
            key = (resource, call.name)
            if call.verb == "list":
                items = [value for (of, _), value in sorted(self._objects.items()) if of == resource]
                kinds = {"statefulsets": ("apps/v1", "StatefulSetList"), "leases": ("coordination.k8s.io/v1", "LeaseList")}
                version, name = kinds[resource]
                metadata = {"resourceVersion": str(self._version)}
                return copy.deepcopy({"apiVersion": version, "kind": name, "metadata": metadata, "items": items})
            if call.verb == "create" and body is not None:
                key = (resource, body.get("metadata", {}).get("name", ""))
                if key in self._objects:
                    raise _Refusal(409, f'{resource} "{key[1]}" already exists')
                _check(body)
                return self._store(resource, key[1], body)
            found = self._objects.get(key)
            if found is None:
                raise _Refusal(404, f'{resource} "{call.name}" not found')
            if call.verb == "get":
                return copy.deepcopy(found)
            if body is None:
                raise _Refusal(400, "a body is wanted")
            if call.resource == "statefulsets/scale" and call.verb == "patch":
                return self._scaled(call.name, found, body, kind, is_trial=query.get("dryRun") == "All")
            if call.verb == "update":
                _check(body)
                self._check_version(call.name, found, body)
                return self._store(resource, call.name, body)
            raise _Refusal(400, f"this server does not know {call}")

    def watched(self, resource: str, since: int, seconds: float, epoch: int, *, bookmarks: bool) -> Iterator[Json]:
        """Yield changes to objects of a resource since a version, for so many seconds; `epoch` is what `admit` returned."""
        with self.changed:
            if since < self._forgotten:
                yield {"type": "ERROR", "object": self._too_old(since).status()}
                return
        until, marked = time.monotonic() + seconds, time.monotonic()
        while True:
            with self.changed:
                news = [each for each in self._events if each.version > since and each.resource == resource]
                # Of before the wait: a bookmark must not go past what comes meanwhile.
                version, is_over = self._version, self.is_ended or self._watches != epoch
                if not news and not is_over:
                    self.changed.wait(min(0.05, self.bookmark_seconds))
            for each in news:
                since = each.version
                yield {"type": each.type, "object": each.object}
            if news:
                continue
            if is_over or time.monotonic() > until:
                return
            if bookmarks and time.monotonic() - marked >= self.bookmark_seconds:
                marked, since = time.monotonic(), version
                configured = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"resourceVersion": str(version)}}
                yield {"type": "BOOKMARK", "object": configured}

    def admit_watch(self, since: int) -> None:
        """Do nothing if a watch may begin at a version.

        Raises:
            _Refusal: that version is forgotten, and this server says so at once.
        """
        with self.changed:
            if since < self._forgotten and self.gone_as == "status":
                raise self._too_old(since)

    def admit(self, call: Call, token: str | None) -> int:
        """Note a request, and return the epoch of watches that it belongs to, which `end_watches` ends, if it may be answered.

        Raises:
            _Refusal: it may not.
        """
        with self.changed:
            self.calls.append(call)
            if token != f"Bearer {self.token}":
                raise _Refusal(401, "Unauthorized")
            if self._refusals:
                raise self._refusals.pop(0)
            if (call.verb, call.resource) in self.forbidden:
                raise _Refusal(403, f'cannot {call.verb} resource "{call.resource}" in API group "{call.group}"')
            return self._watches

    def _too_old(self, since: int) -> _Refusal:
        return _Refusal(410, f"too old resource version: {since} ({self._forgotten})")

    def _scaled(self, name: str, found: Json, patch: Json, kind: str, *, is_trial: bool) -> Json:
        if kind != "application/merge-patch+json":
            raise _Refusal(415, f"this server patches by merge patches, not by {kind}")
        scale = _scale(found)
        merged = {**scale, **patch, "metadata": {**scale["metadata"], **patch.get("metadata", {})}}
        merged["spec"] = {**scale["spec"], **patch.get("spec", {})}
        _check(merged)
        self._check_version(name, found, merged)
        changed = copy.deepcopy(found)
        changed["spec"]["replicas"] = merged["spec"]["replicas"]
        if is_trial:
            return _scale(changed)
        return _scale(self._store("statefulsets", name, changed))

    def _check_version(self, name: str, found: Json, body: Json) -> None:
        version = body.get("metadata", {}).get("resourceVersion")
        if version is not None and version != found["metadata"]["resourceVersion"]:
            raise _Refusal(409, f'Operation cannot be fulfilled on "{name}": the object has been modified')

    def _store(self, resource: str, name: str, made: Json) -> Json:
        is_new = (resource, name) not in self._objects
        stored = copy.deepcopy(made)
        self._version += 1
        stored["metadata"] |= {"name": name, "namespace": NAMESPACE, "resourceVersion": str(self._version)}
        self._objects[resource, name] = stored
        self._notify(resource, "ADDED" if is_new else "MODIFIED", stored)
        return copy.deepcopy(stored)

    def _notify(self, resource: str, type: str, of: Json) -> None:
        if type == "DELETED":
            self._version += 1
            of["metadata"]["resourceVersion"] = str(self._version)
        self._events.append(_Event(self._version, resource, type, copy.deepcopy(of)))
        self.changed.notify_all()


class KubernetesServer:
    """The API on a port of this machine.

    Attributes:
        url: where it is.
        token: file that the token is in; a test writes another into it, and gives that to `api`.
        authorities: file of the certificate that its own is signed by.
        api: what it answers from.
    """

    def __init__(self, api: KubernetesApi, folder: Path) -> None:
        """Listen; nothing is answered before `running`."""
        authority = trustme.CA()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        self.authorities = folder / "ca.crt"
        authority.cert_pem.write_to_path(self.authorities)
        self.token = folder / "token"
        self.token.write_text(api.token + "\n")
        (folder / "namespace").write_text(NAMESPACE)
        self.api = api
        self._server = _Server(("127.0.0.1", 0), _handler(api))
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Answer while the block runs."""
        thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self.api.changed:
                self.api.is_ended = True
                self.api.changed.notify_all()
            self._server.shutdown()
            self._server.server_close()
            thread.join(_PATIENCE)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that cut the connection off; fail for everything else."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type] # as the library gives them


def _handler(api: KubernetesApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def answer(self) -> None:
            try:
                self._answer()
            except _Refusal as refusal:
                self._send(refusal.code, refusal.status(), refusal.headers)
            except (OSError, ValueError):
                # The client went away.
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = answer

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            call = _call(self.command, parts.path, query)
            epoch = api.admit(call, self.headers.get("Authorization"))
            if call.verb != "watch":
                self._send(200, api.answered(call, body, self.headers.get("Content-Type") or "", query))
                return
            since, seconds = int(query.get("resourceVersion") or 0), float(query.get("timeoutSeconds") or 30)
            api.admit_watch(since)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            bookmarks = query.get("allowWatchBookmarks") == "true"
            for event in api.watched(call.resource, since, seconds, epoch, bookmarks=bookmarks):
                line = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")

        def _send(self, code: int, value: Json, headers: dict[str, str] | None = None) -> None:
            body = json.dumps(value).encode()
            self.send_response(code)
            for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _call(method: str, path: str, query: dict[str, str]) -> Call:
    found = _PATH.fullmatch(path)
    if found is None or found["namespace"] != NAMESPACE or _GROUPS.get(found["resource"]) != found["group"]:
        raise _Refusal(404, f"the server could not find the requested resource {path}")
    name, resource = found["name"] or "", found["resource"] + (f"/{found['sub']}" if found["sub"] else "")
    if method == "GET" and not name:
        verb = "watch" if query.get("watch") == "true" else "list"
    else:
        verb = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}[method]
    return Call(verb, found["group"], resource, name)


def _check(body: Json) -> None:
    """Refuse what the API's schema does, and times that its decoder would not read."""
    try:
        kubernetes_validate.validate(body, _VERSION, strict=True)
    except jsonschema.ValidationError as error:
        raise _Refusal(422, error.message) from error
    except (KeyError, kubernetes_validate.SchemaNotFoundError) as error:
        raise _Refusal(400, f"no such kind: {error}") from error
    for name in ("acquireTime", "renewTime"):
        configured = body.get("spec", {}).get(name)
        if configured is not None and not _MICROSECONDS.fullmatch(configured):
            raise _Refusal(400, f"{name}: {configured!r} is not a time with microseconds")
    if body["kind"] == "Lease" and (body["spec"].get("leaseDurationSeconds") or 1) < 1:
        raise _Refusal(422, "spec.leaseDurationSeconds: must be greater than 0")
    if body["kind"] == "Scale" and body["spec"].get("replicas", 0) < 0:
        raise _Refusal(422, "spec.replicas: must be greater than or equal to 0")


def _stateful_set(name: str) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "matcher", "image": "graphtide"}]}}
    spec = {"serviceName": name, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "spec": spec}


def _scale(of: Json) -> Json:
    metadata = {each: of["metadata"][each] for each in ("name", "namespace", "resourceVersion")}
    replicas = of["spec"]["replicas"]
    status = {"replicas": of.get("status", {}).get("replicas", 0)}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": metadata,
        "spec": {"replicas": replicas},
        "status": status,
    }
