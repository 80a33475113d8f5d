"""How Schemathesis writes bodies in types that it does not know."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def lines(_: schemathesis.SerializationContext, value: Any) -> bytes:
    """Write a value as one line."""
    return json.dumps(value).encode() + b"\n"
