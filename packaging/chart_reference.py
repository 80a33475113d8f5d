"""Makes the chart's README and its schema of values out of the comments in `values.yaml`, so that all three say the same.

`python packaging/chart_reference.py` writes `README.md` and `values.schema.json` beside them; a test compares. Above each value
stand `# --`, what it is, and perhaps `# @schema`, a JSON object of what it may be beside what its default shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

CHART: Final = Path(__file__).parents[1] / "charts" / "graphtide"

_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def _close(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has these names and no others.

    Helm shows what a schema asks for: so a constant says, of a name that is none, which there are.
    """
    refusal = f"left out, for there is no such name: write one of {', '.join(properties)}"
    return {"type": "object", "properties": properties, "additionalProperties": {"const": refusal}}


_QUANTITIES: Final = {
    "description": "Quantities by resource; null leaves one out.",
    **_close(
        {
            name: {"description": meaning, "type": ["string", "number", "null"]}
            for name, meaning in (
                ("cpu", "Cores, as 500m or 2."),
                ("memory", "Bytes, as 512Mi."),
                ("ephemeral-storage", "Bytes, as 1Gi."),
            )
        }
    ),
}

DEFINITIONS: Final[dict[str, Any]] = {
    "named": {**_close({"name": {"description": "Name of the object.", "type": "string"}}), "required": ["name"]},
    "numberOrShare": {"type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+%$"},
    "peers": {
        "type": "array",
        "items": {
            **_close(
                {
                    "podSelector": {"description": "Pods, by labels.", "type": "object"},
                    "namespaceSelector": {"description": "Namespaces, by labels.", "type": "object"},
                    "ipBlock": {"description": "Addresses.", "type": "object"},
                }
            ),
            "minProperties": 1,
        },
    },
    "port": {"type": "integer", "minimum": 1, "maximum": 65535},
    "resources": _close(
        {
            "requests": {**_QUANTITIES, "description": "Reserved on a node."},
            "limits": {**_QUANTITIES, "description": "Upper bounds."},
        }
    ),
    "secondsOrInf": {"type": ["number", "string"], "minimum": 0, "pattern": "^inf$"},
    "texts": {"type": "object", "additionalProperties": {"type": "string"}},
}
"""What several values may be."""


class CommentError(ValueError):
    """A value has no comment, or one that says nothing."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value as the file has it.

    Attributes:
        path: names that lead to it.
        default: its value if not set.
        meaning: what its comment says; None for one that only groups others.
        schema: what it may be beside what the default shows.
    """

    path: tuple[str, ...]
    default: Any
    meaning: str | None
    schema: dict[str, Any] = field(default_factory=dict)


def values(text: str) -> list[Value]:
    """Return the values of a file in its order, each after the one that it is in.

    Raises:
        CommentError: a value that holds no others has no comment.
    """
    found: list[Value] = []
    _collect(yaml.compose(text), (), text.splitlines(), yaml.safe_load(text), found)
    return found


def _collect(node: Any, path: tuple[str, ...], lines: list[str], defaults: Any, found: list[Value]) -> None:
    for name, inner in node.value:
        here = (*path, name.value)
        default = defaults[name.value]
        meaning, schema = _comment(lines, name.start_mark.line, here)
        found.append(Value(here, default, meaning, schema))
        if meaning is None:
            if not isinstance(default, dict) or not default:
                message = f"{'.'.join(here)} has no comment: write what it is above it, after '# --'"
                raise CommentError(message)
            _collect(inner, here, lines, default, found)


def _comment(lines: list[str], number: int, path: tuple[str, ...]) -> tuple[str | None, dict[str, Any]]:
    block: list[str] = []
    while number > 0 and lines[number - 1].lstrip().startswith("#"):
        number -= 1
        block.insert(0, lines[number].strip().removeprefix("#").strip())
    said = [line for line in block if not line.startswith("@schema")]
    schemas = [json.loads(line.removeprefix("@schema")) for line in block if line.startswith("@schema")]
    if not any(line.startswith("-- ") for line in said):
        return None, {}
    begun = next(index for index, line in enumerate(said) if line.startswith("-- "))
    meaning = " ".join(said[begun:]).removeprefix("-- ")
    if not meaning.endswith("."):
        message = f"the comment of {'.'.join(path)} is not a sentence: {meaning}"
        raise CommentError(message)
    return meaning, schemas[0] if schemas else {}


def schema(found: list[Value]) -> dict[str, Any]:
    """Return the schema of these values; a name that is not among them is refused."""
    definitions = {
        **DEFINITIONS,
        "pods": _inner(found, ("pods",)),
        "matcher": _inner(found, ("matcherDefaults",)),
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Values of the chart graphtide",
        **_inner(found, ()),
        "$defs": dict(sorted(definitions.items())),
    }


def _inner(found: list[Value], path: tuple[str, ...]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for value in found:
        if value.path[:-1] != path:
            continue
        if value.meaning is None:
            properties[value.path[-1]] = {"description": _group(value.path), **_inner(found, value.path)}
        else:
            properties[value.path[-1]] = {"description": value.meaning, **_one(value)}
    if not path:
        # A chart that holds this one says more there, to others.
        del properties["global"]["additionalProperties"]
    return _close(properties)


def _group(path: tuple[str, ...]) -> str:
    return f"Values of {'.'.join(path)}."


def _one(value: Value) -> dict[str, Any]:
    if "$ref" in value.schema or "type" in value.schema:
        return value.schema
    if value.default is None or (value.default in ({}, []) and not value.schema):
        message = f"the default of {'.'.join(value.path)} does not show what it may be: write '# @schema'"
        raise CommentError(message)
    return {"type": _TYPES[type(value.default)], **value.schema}


def readme(found: list[Value], chart: dict[str, Any]) -> str:
    """Return the page of the chart: how to use it, and every value."""
    rows = [
        f"| `{'.'.join(value.path)}` | {_show(value.default)} | {value.meaning.replace('|', chr(92) + '|')} |"
        for value in found
        if value.meaning is not None
    ]
    return "\n".join([*_HEAD.format(**chart).splitlines(), *rows, ""])


def _show(default: Any) -> str:
    text = json.dumps(default, ensure_ascii=False)
    return f"`{text}`" if text != '""' else ""


_HEAD: Final = """\
# The chart {name}

{description}

```sh
helm install graphtide charts/graphtide --values my-values.yaml
helm test graphtide
```

Look up every value of the chart. You provide brokers, Redis and Secrets: [installing](../../docs/how-to/install.md) lists
them, and [upgrading](../../docs/how-to/upgrade.md) says what happens to a running release. `values-minimal.yaml` has the values
that you must set, `values-production.yaml` is a deployment of several nodes with TLS, SASL and alerts. The chart refuses
unknown values and values that contradict each other, and says what to write.

Kubernetes {kubeVersion}. `make chart` checks the chart.

## Values

| value | default | meaning |
|---|---|---|
"""


def main() -> None:
    """Write both files."""
    found = values((CHART / "values.yaml").read_text("utf-8"))
    for name, text in make(found).items():
        (CHART / name).write_text(text, "utf-8")


def make(found: list[Value]) -> dict[str, str]:
    """Return the files by their names."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    return {
        "README.md": readme(found, chart),
        "values.schema.json": json.dumps(schema(found), indent=2, ensure_ascii=False) + "\n",
    }


if __name__ == "__main__":
    main()
