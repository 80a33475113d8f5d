"""Hints for event patterns written as in other languages, or nearly right; chosen by the terminals that were expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_query.language.unexpected import Unexpected

_CLAUSES: Final = frozenset({"WHERE", "ORDER", "UNDER", "REPORT", "ON", "WINDOW", "PARTITION", "SKIP", "RETURN", "WITHIN"})
_CONDITION: Final = "write conditions in WHERE, after the event expression"
_GROUPED: Final = "write events as SEQ(a:A, b:B), AND(…) or OR(…); write a graph after MATCH"

_AFTER_EVENT: Final[Mapping[str, str]] = {
    "(": "write equal attributes in braces, a:A {x: 1}; write other conditions in WHERE",
    "|": "for either of two events, write OR(a:A, b:B)",
    "-": "separate parts by commas; SEQ(a:A, b:B) orders them",
    "NAME": "separate parts by commas",
    "AND": "AND comes before its parts: AND(a:A, b:B)",
    "OR": "OR comes before its parts: OR(a:A, b:B)",
}
_AT_A_PART: Final[Mapping[str, str]] = {
    "(": "group parts by SEQ(…), AND(…) or OR(…)",
    ")": "SEQ, AND and OR need at least one part",
    "!": "write an event that must not come as NOT c:C",
}


def event_hint(at: Unexpected) -> str:
    """Return what to do about a sign or word in an event expression or in a function; empty if there is no hint."""
    kind, found, names, before = at.kind, at.found, at.names, at.before
    if found == "*" and before == "LPAR" and names >= {"NAME", "RPAR", "STRING"}:
        return "count(a) counts the events of the iteration a"
    if names == {"NAME"} and found == "*" and before == "DOT":
        return "RETURN * reports all attributes of the records; name those of one event one by one: RETURN a.x, a.y"
    if "PLUS" in names and not names & {"MINUS", "MAYBE"}:
        return _hint_after_event(kind, found, may_have_type="COLON" in names)
    if {"SEQ", "NOT", "COLON"} <= names:
        return _AT_A_PART.get(found, "")
    if names == {"RPAR", "COMMA"} and before == "RPAR" and found in {"+", "*", "?", "{"}:
        return "repeat a single event: a group cannot be repeated"
    if {"RBRACE", "INTEGER"} <= names and found == ",":
        return "state the smallest number, too: a:A{1,5}"
    if names == {"RBRACE", "COMMA"} and found == "." and before == "INTEGER":
        return "for two to five events, write a:A{2,5}"
    return _GROUPED if names == {"_MATCH", "SEQ", "AND", "OR"} and kind not in _CLAUSES else ""


def _hint_after_event(kind: str, found: str, *, may_have_type: bool) -> str:
    if found == "=" and may_have_type:
        return "write a type after a colon: a:A"
    if found == "." and may_have_type:
        return _CONDITION
    return _AFTER_EVENT.get(kind if kind in _AFTER_EVENT else found[:1], "")
