"""The template of a message about a match: text with placeholders in braces, filled from the match record alone.

`{v.id}` is the id of an edge, vertex or event; `{took}` and `{e.bytes}` are fields that RETURN adds. `{{` and `}}` are braces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import InvalidPatternError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_PIECE: Final = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")
_LISTED: Final = 5
"""Values of a list that a message shows."""

MOST_VALUE: Final = 200
"""Characters of a value that a message shows."""

_ID: Final = ".id"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """What stands in braces, without spaces around it, and where its opening brace is: a 0-based offset."""

    name: str
    offset: int


class TemplateError(InvalidPatternError):
    """A template cannot be read.

    Attributes:
        offset: of the first character that is wrong, from 0.
    """

    def __init__(self, reason: str, offset: int, hint: str) -> None:
        """Keep the offset beside the reason."""
        super().__init__(reason, hint=hint)
        self.offset = offset


@lru_cache(maxsize=1_024)
def parse_template(text: str) -> tuple[str | Placeholder, ...]:
    """Return the literal texts and placeholders of a template, in order.

    Raises:
        TemplateError: a brace is not closed or not opened, or nothing stands in a pair.
    Complexity: O(len(text)).
    """
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[str | Placeholder]:
    literal, end = "", 0
    for found in _PIECE.finditer(text):
        piece, start = found[0], found.start()
        literal += text[end:start]
        end = found.end()
        if piece in {"{{", "}}"}:
            literal += piece[0]
            continue
        if len(piece) == 1:
            what = "has a brace that is not closed" if piece == "{" else "closes a brace that is not open"
            message = f"the message {what}"
            raise TemplateError(message, start, f"write {piece * 2} for a brace")
        name = piece[1:-1].strip()
        if not name:
            message = "the message has braces without a name"
            raise TemplateError(message, start, "name a value of the match: {v.id}; write {{ for a brace")
        if literal:
            yield literal
        literal = ""
        yield Placeholder(name, start)
    literal += text[end:]
    if literal:
        yield literal


def placeholders(text: str) -> tuple[Placeholder, ...]:
    """Return the placeholders of a template.

    Raises:
        TemplateError: as `parse_template`.
    """
    return tuple(each for each in parse_template(text) if isinstance(each, Placeholder))


def fill_template(template: Iterable[str | Placeholder], match: Mapping[str, object]) -> str:
    """Return the message of a match record. A value that the match lacks is `?`; long values and lists are cut.

    Complexity: O(template + values that it shows).
    """
    return "".join(each if isinstance(each, str) else _show(_value(match, each.name)) for each in template)


def render_message(template: str, match: Mapping[str, object]) -> str | None:
    """Return the message of a match record; None where the template cannot be read, which a registration refuses."""
    try:
        return fill_template(parse_template(template), match)
    except TemplateError:
        return None


def _value(match: Mapping[str, object], name: str) -> object:
    fields = match.get("fields")
    if isinstance(fields, dict) and name in fields:
        return fields[name]
    if not name.endswith(_ID):
        return None
    part = name.removesuffix(_ID)
    for group in ("vertices", "edges", "events", "bindings"):
        named = match.get(group)
        if isinstance(named, dict) and part in named:
            return named[part]
    return match.get(part) if part in {"src", "dst"} else None


def _show(value: object) -> str:
    match value:
        case None:
            return "?"
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            more = f" and {len(value) - _LISTED} more" if len(value) > _LISTED else ""
            return ", ".join(map(_show, value[:_LISTED])) + more
        case _:
            text = str(value)
            return text if len(text) <= MOST_VALUE else text[: MOST_VALUE - 1] + "…"
