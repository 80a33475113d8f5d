"""Routes that refuse what they do not know: unknown query parameters, and bodies of another form."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import msgspec
from fastapi import Request, Response
from fastapi.datastructures import Default, DefaultPlaceholder
from fastapi.dependencies.utils import get_flat_params, get_typed_return_annotation
from fastapi.params import Query
from fastapi.routing import APIRoute
from graphtide_core.suggestion import did_you_mean
from graphtide_wire.bodies import Body

from graphtide_serving.described import describe
from graphtide_serving.http import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

JSON: Final = "application/json"

SERVERS: Final[list[dict[str, Any]]] = [
    {"url": "/", "description": "The server of this description."},
    {"url": "http://localhost:8080", "description": "`graphtide dev up`, which serves all routes; or the control plane alone."},
    {"url": "http://localhost:8081", "description": "Ingestion alone."},
]
"""Where the routes are, for descriptions."""

_AS_RETURNED: Final = Default(None)

_MOST_BRACKETS: Final = 50_000
_MOST_COMMAS: Final = 200_000
"""Most values of a body, texts included: more than any route takes would hold up the event loop during decoding."""

_UTF_8: Final = frozenset({"utf-8", "utf8", "us-ascii"})
_MOST_SHOWN: Final = 100


def operation_id(route: APIRoute) -> str:
    """Return the name of an operation for generated clients: that of its function, which is unique and stable."""
    return route.name


class StrictRoute(APIRoute):
    """A route that refuses unknown query parameters, so that a misspelt one is not ignored.

    It may return a body of `graphtide_wire.bodies`.
    """

    def __init__(
        self, path: str, endpoint: Callable[..., object], *, response_model: Any = _AS_RETURNED, **options: Any
    ) -> None:
        """Describe what the function returns, unless a model is given."""
        returned = get_typed_return_annotation(endpoint)
        if isinstance(response_model, DefaultPlaceholder) and isinstance(returned, type) and issubclass(returned, Body):
            response_model = describe(returned)
        super().__init__(path, endpoint, response_model=response_model, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """Return the handler of requests."""
        handle = super().get_route_handler()
        known = [each.alias for each in get_flat_params(self.dependant) if isinstance(each.field_info, Query)]

        async def strictly(request: Request) -> Response:
            refuse_unknown_parameters(request, known)
            return await handle(request)

        return strictly


class JsonRoute(StrictRoute):
    """A route whose body is JSON as RFC 8259 has it: in UTF-8, no half of a surrogate pair, no NaN, not nested too deeply."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[object, object, Response]]:
        """Return the handler of requests."""
        handle = super().get_route_handler()
        takes_body = self.body_field is not None

        async def strictly(request: Request) -> Response:
            if takes_body:
                refuse_but_json(request)
            return await handle(_JsonRequest(request.scope, request.receive))

        return strictly


class _JsonRequest(Request):
    async def json(self) -> object:
        body = await self.body()
        if body.count(b"[") + body.count(b"{") > _MOST_BRACKETS or body.count(b",") > _MOST_COMMAS:
            message = "it holds too many values"
            raise json.JSONDecodeError(message, "", 0)
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise json.JSONDecodeError(str(error), "", 0) from error


def refuse_unknown_parameters(request: Request, known: Iterable[str]) -> None:
    """Do nothing if a request has no other query parameters than these.

    Raises:
        ProblemError: it has one; it is named, with the one that may be meant.
    """
    names = sorted(known)
    for given in request.query_params:
        if given not in names:
            shown = given[:_MOST_SHOWN].encode(errors="backslashreplace").decode()
            hint = did_you_mean(given[:_MOST_SHOWN], names)
            has = f"it has {', '.join(names)}" if names else "it has none"
            detail = f"there is no query parameter {shown!r} here; {hint or has}"
            more = {"parameter": shown, "hint": hint} if hint else {"parameter": shown}
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "unknown-parameter", detail, more=more)


def media_type(request: Request, taken: Iterable[str], what: str) -> str:
    """Return the type of a request's body, which is one of those taken: `what`, in UTF-8, not compressed.

    Raises:
        ProblemError: 415, which names the types that are taken.
    """
    names = sorted(taken)
    kind, charset = declared_type(request)
    if kind not in names:
        reported = (
            f"the content type {kind[:_MOST_SHOWN]!r} is not one of {what}" if kind else f"a body of {what} has a Content-Type"
        )
        raise _refuse_format(request, names, "unsupported-media-type", f"{reported}: {', '.join(names)}")
    if charset not in _UTF_8:
        detail = f"the body is to be in UTF-8, not in {charset[:_MOST_SHOWN]!r}"
        raise _refuse_format(request, names, "unsupported-media-type", detail)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise _refuse_format(request, names, "unsupported-encoding", "compressed bodies are not taken")
    return kind


def refuse_but_json(request: Request) -> None:
    """Do nothing if the body of a request is JSON, of a type of its own (`…+json`) or not.

    Do nothing if it has no type and no bytes.

    Raises:
        ProblemError: as `media_type`.
    """
    kind, _ = declared_type(request)
    if kind or has_body(request):
        media_type(request, [JSON, *([kind] if kind.startswith("application/") and kind.endswith("+json") else [])], "JSON")


def has_body(request: Request) -> bool:
    """Return whether a request says that it has a body."""
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def declared_type(request: Request) -> tuple[str, str]:
    """Return the type that a request declares, in lower case without parameters, and the character set: UTF-8 by default."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    named = (parameter.partition("=") for parameter in parameters.split(";"))
    charset = next((value for name, _, value in named if name.strip().lower() == "charset"), "utf-8")
    return kind.strip().lower(), charset.strip().strip('"').lower()


def _refuse_format(request: Request, names: list[str], code: str, detail: str) -> ProblemError:
    """Return the problem; its headers name what is taken, as RFC 9110 and, for PATCH, RFC 5789 have it."""
    headers = {"Accept": ", ".join(names)}
    if request.method == "PATCH":
        headers["Accept-Patch"] = headers["Accept"]
    if code == "unsupported-encoding":
        headers["Accept-Encoding"] = "identity"
    return ProblemError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, code, detail, headers=headers)
