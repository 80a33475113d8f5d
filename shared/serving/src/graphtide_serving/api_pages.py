"""The description of an API as a page for browsers, made of the description alone: it loads nothing else."""

from __future__ import annotations

import json
import re
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from starlette.responses import HTMLResponse

from graphtide_serving.shared_problems import split_name, statuses_by_api

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fastapi import FastAPI
    from starlette.requests import Request

PATH: Final = "/docs"

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SCHEMAS: Final = "#/components/schemas/"
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
}
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ccc }
details { border: 1px solid #ddd; border-radius: 4px; margin: .4rem 0; padding: .3rem .7rem }
summary { cursor: pointer } summary b { display: inline-block; width: 4.5rem; font-family: monospace }
code, pre { font: 13px/1.45 ui-monospace, monospace; background: #f5f5f5 } pre { padding: .6rem; overflow-x: auto }
table { border-collapse: collapse; margin: .5rem 0 } td { vertical-align: top; padding: .15rem .8rem .15rem 0 }
"""


def serve_page(app: FastAPI) -> None:
    """Let an application answer `/docs` with the page of its description; both are for everyone."""

    async def page(_: Request) -> HTMLResponse:
        return HTMLResponse(page_of(app.openapi()), headers=_HEADERS)

    app.router.add_route(PATH, page, ["GET"], include_in_schema=False)


def merge(first: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Return one description of what several applications serve side by side; title and servers are those of the first.

    Raises:
        ValueError: two of them describe one method of a path, or call two things by one name.
    """
    paths: dict[str, Any] = {}
    components: dict[str, dict[str, Any]] = {}
    tags: dict[str, Any] = {}
    for each in (first, *others):
        for path, item in each["paths"].items():
            _join(paths.setdefault(path, {}), item, path)
        for kind, named in each.get("components", {}).items():
            _join(components.setdefault(kind, {}), named)
        tags |= {tag["name"]: tag for tag in each.get("tags", [])}
    ordered = {kind: dict(sorted(named.items())) for kind, named in components.items()}
    return {**first, "paths": paths, "components": ordered, "tags": list(tags.values())}


def page_of(description: Mapping[str, Any]) -> str:
    """Return the page of a description in OpenAPI 3.1."""
    info = description["info"]
    title = f"{info['title']} {info['version']}"
    parts = [f"<h1>{escape(title)}</h1>", _text(info.get("summary", "")), _text(info.get("description", ""))]
    parts.append("<p>For programs: <a href='openapi.json'>openapi.json</a>, in OpenAPI 3.1.</p>")
    schemes = description.get("components", {}).get("securitySchemes", {})
    parts += ["<h2>Who calls</h2><ul>", *(_scheme(name, each) for name, each in schemes.items()), "</ul>"]
    reported = {tag["name"]: tag.get("description", "") for tag in description.get("tags", [])}
    order = {name: place for place, name in enumerate(reported)}
    operations = sorted(_operations(description), key=lambda each: order.get(_tag(each[2]), len(order)))
    for tag, group in groupby(operations, key=lambda each: _tag(each[2])):
        parts += [f"<h2>{escape(tag)}</h2>", _text(reported.get(tag, "")), *(_operation(*each) for each in group)]
    problems = statuses_by_api(description.get("components", {}).get("responses", {}))
    parts += ["<h2>Problems</h2>", *(_problems(api, meanings) for api, meanings in problems.items())] if problems else []
    schemas = description.get("components", {}).get("schemas", {})
    parts += ["<h2>Bodies</h2>", *(_schema(name, each) for name, each in schemas.items())]
    body = "\n".join(part for part in parts if part)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _join(all_of_them: dict[str, Any], more: Mapping[str, Any], path: str = "") -> None:
    for name, each in more.items():
        if all_of_them.setdefault(name, each) != each:
            message = f"two descriptions differ in {name} {path}".rstrip()
            raise ValueError(message)


def _operations(description: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, item in description["paths"].items():
        for method in _METHODS:
            if method in item:
                yield method, path, item[method]


def _tag(operation: Mapping[str, Any]) -> str:
    return str((operation.get("tags") or ["others"])[0])


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    name = escape(operation["operationId"])
    needed = sorted({scope for each in operation.get("security", []) for scopes in each.values() for scope in scopes})
    scopes = f"<p>Needs the scope {', '.join(f'<code>{escape(each)}</code>' for each in needed)}.</p>" if needed else ""
    parameters = (
        [
            f"<code>{escape(each['name'])}</code>",
            escape(each["in"]),
            _type(each.get("schema", {})),
            _line(each.get("description")),
        ]
        for each in operation.get("parameters", [])
    )
    responses = operation.get("responses", {})
    answers = (
        [escape(str(status)), _line(each.get("description")), _bodies(each.get("content", {}))]
        for status, each in responses.items()
        if "$ref" not in each
    )
    problems = [split_name(each["$ref"]) for each in responses.values() if "$ref" in each]
    body = operation.get("requestBody", {})
    given = f"<h4>Body</h4>{_text(body.get('description', ''))}{_bodies(body['content'])}" if body else ""
    title = f"<b>{method.upper()}</b> <code>{escape(path)}</code> {escape(operation.get('summary', ''))}"
    reported = [
        _text(operation.get("description", "")),
        scopes,
        _table("Parameters", parameters),
        given,
        _table("Answers", answers),
        _links(problems),
    ]
    return f"<details id='{name}'><summary>{title}</summary>{''.join(reported)}</details>"


def _links(problems: Iterable[tuple[str, str]]) -> str:
    """Return a line that leads to the problems of an operation, by API and status."""
    links = [f"<a href='#problem-{escape(api)}-{escape(status)}'>{escape(status)}</a>" for api, status in problems]
    return f"<p>Problems: {', '.join(links)}.</p>" if links else ""


def _problems(api: str, meanings: Mapping[str, str]) -> str:
    rows = (
        [f"<span id='problem-{escape(api)}-{escape(status)}'>{escape(status)}</span>", _line(meaning)]
        for status, meaning in meanings.items()
    )
    return _table(escape(api), rows)


def _bodies(content: Mapping[str, Any]) -> str:
    return "".join(
        f"<div><code>{escape(kind)}</code> {_type(each.get('schema', {}))}{_example(each)}</div>"
        for kind, each in content.items()
    )


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = (
        [f"<code>{escape(field)}</code>", _type(each), "" if field in required else "optional", _line(each.get("description"))]
        for field, each in schema.get("properties", {}).items()
    )
    fields = _table("Members", rows)
    return (
        f"<details id='schema-{escape(name)}'><summary><code>{escape(name)}</code></summary>"
        f"{_text(schema.get('description', ''))}{fields}{_example(schema)}</details>"
    )


def _scheme(name: str, scheme: Mapping[str, Any]) -> str:
    shown = (
        f"{scheme['in']} <code>{escape(scheme['name'])}</code>"
        if "in" in scheme
        else f"HTTP {escape(scheme.get('scheme', ''))}"
    )
    return f"<li>{escape(name)}: {shown}. {_line(scheme.get('description'))}</li>"


def _type(schema: Mapping[str, Any]) -> str:
    """Return what a schema allows, in a few words."""
    if "$ref" in schema:
        name = escape(schema["$ref"].removeprefix(_SCHEMAS))
        return f"<a href='#schema-{name}'>{name}</a>"
    for either in ("anyOf", "oneOf", "allOf"):
        if either in schema:
            return " or ".join(_type(each) for each in schema[either])
    if "enum" in schema:
        return " or ".join(f"<code>{escape(json.dumps(each))}</code>" for each in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(json.dumps(schema['const']))}</code>"
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    return escape(str(kind or "any JSON"))


def _example(schema: Mapping[str, Any]) -> str:
    given = schema.get("examples")
    example = schema.get("example", given[0] if isinstance(given, list) and given else None)
    if example is None:
        return ""
    text = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
    return f"<pre>{escape(text)}</pre>"


def _table(title: str, rows: Iterable[list[str]]) -> str:
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<h4>{title}</h4><table>{''.join(lines)}</table>" if lines else ""


def _text(text: str) -> str:
    """Return paragraphs; words in backticks are code."""
    return "".join(f"<p>{_line(part)}</p>" for part in text.split("\n\n") if part.strip())


def _line(text: str | None) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text or "", quote=False))
