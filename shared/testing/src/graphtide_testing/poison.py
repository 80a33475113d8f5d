"""Records that no process of a deployment would write: genuine ones that were changed, and random bytes."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from graphtide_core.ports.log import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from graphtide_core.ports.log import Record

NUMBERS: Final = (-1, 0, 1, 63, 64, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 1e300)
TEXTS: Final = ("", "p1", "s", "nowhere", "NO STREAM", "\u0000", "x" * 3000, "running", "stopped", "paused", "matcher_sjtree")
LISTS: Final[tuple[object, ...]] = ([], [[]], [[0, 1], [1, 0]], [[0]], [[5, 9]])
STRANGE: Final[tuple[object, ...]] = (None, True, {}, *NUMBERS, *TEXTS, *LISTS)
KEYS: Final = (b"", b"\xff\xfe", b"p1", "\N{FIRE}".encode(), None)


def strange_record(topic: str, genuine: Sequence[Record], rng: Random) -> Message:
    """Return a record for a topic: mostly one of the genuine, damaged, under its key and headers or others."""
    known = [record for record in genuine if record.value is not None]
    model = rng.choice(known) if known and rng.random() < 0.9 else None
    key = model.key if model is not None and rng.random() < 0.8 else rng.choice(KEYS)
    value = damage(model.value or b"", rng) if model is not None else rng.randbytes(rng.randint(0, 40))
    return Message(topic, key, value, _headers(model, rng))


def unreadable_record(topic: str, genuine: Sequence[Record], rng: Random) -> Message:
    """Return a record for a topic under the key and headers of a genuine one, or others, with a value that cannot be read."""
    known = [record for record in genuine if record.value is not None]
    model = rng.choice(known) if known else None
    value = model.value or b"" if model is not None else b""
    # Less than half of a record says nothing: neither JSON nor Arrow nor a match ends there.
    value = value[: rng.randint(0, len(value) // 2)] + rng.choice((b"", b"\xff" + rng.randbytes(rng.randint(0, 40))))
    return Message(topic, model.key if model is not None else None, value or b"\xff", _headers(model, rng))


def damage(value: bytes, rng: Random) -> bytes:
    """Return the value with bytes changed, cut or added; or with one of its JSON values changed, if it is JSON."""
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict) and rng.random() < 0.7:
        _change(document, rng)
        return json.dumps(document).encode()
    changed = bytearray(value)
    for _ in range(rng.randint(1, 4)):
        match rng.randint(0, 2):
            case 0 if changed:
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            case 1:
                del changed[rng.randint(0, len(changed)) :]
            case _:
                changed[rng.randint(0, len(changed)) :] = rng.randbytes(rng.randint(0, 30))
    return bytes(changed)


def _headers(model: Record | None, rng: Random) -> tuple[tuple[str, bytes], ...]:
    headers = list(model.headers) if model is not None and rng.random() < 0.9 else []
    if headers and rng.random() < 0.3:
        place = rng.randrange(len(headers))
        headers[place] = (headers[place][0], damage(headers[place][1], rng))
    return tuple(headers)


def _change(document: Any, rng: Random) -> None:
    for _ in range(rng.randint(1, 3)):
        places = list(_places(document))
        if not places:
            # The last was taken out.
            return
        holder, key = rng.choice(places)
        if rng.random() < 0.15 and isinstance(holder, dict):
            del holder[key]
        else:
            # A copy: what is changed next may lie within it.
            holder[key] = deepcopy(rng.choice(STRANGE))


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    members = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in members:
        yield document, key
        yield from _places(value)
