"""Hints for what people write of events in other languages, or nearly right: by what could stand where it does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lark import Token

_CLAUSES: Final = frozenset({"WHERE", "ORDER", "UNDER", "REPORT", "ON", "WINDOW", "PARTITION", "SKIP", "RETURN", "WITHIN"})
_CONDITION: Final = "conditions stand in WHERE, behind the arrangement"
_GROUPED: Final = "events are arranged by SEQ(a:A, b:B), AND(…) and OR(…); a graph is drawn behind MATCH"

_BEHIND_AN_EVENT: Final[Mapping[str, str]] = {
    "(": "what attributes equal stands in braces, a:A {x: 1}; other conditions stand in WHERE",
    "|": "either of two events is OR(a:A, b:B)",
    "-": "parts are separated by commas; SEQ(a:A, b:B) puts them in order",
    "NAME": "parts are separated by commas",
    "AND": "AND stands before the parts that it joins: AND(a:A, b:B)",
    "OR": "OR stands before the parts that it joins: OR(a:A, b:B)",
}
_AT_A_PART: Final[Mapping[str, str]] = {
    "(": "parts are grouped by SEQ(…), AND(…) or OR(…)",
    ")": "SEQ, AND and OR hold at least one part",
    "!": "what must not come is written NOT c:C",
}


def event_hint(kind: str, found: str, accepted: Collection[str], last: Token | None) -> str:
    """Return what to do about a sign or word in the arrangement of events or in a function of them; empty if there is no hint.

    Args:
        kind: its terminal, empty if it is none.
        found: what stands there.
        accepted: the terminals that could.
        last: the token before.
    """
    before = "" if last is None else last.type
    names = set(accepted)
    if names == {"NAME"} and found == "*" and before == "LPAR":
        return "count(a) counts the events of the iteration a"
    if names == {"NAME"} and found == "*" and before == "DOT":
        return "RETURN * tells all that the records state; attributes of one event are named one by one"
    if "PLUS" in names and not names & {"MINUS", "MAYBE"}:
        return _behind_an_event(kind, found, may_have_type="COLON" in names)
    if {"SEQ", "NOT", "COLON"} <= names:
        return _AT_A_PART.get(found, "")
    if names == {"RPAR", "COMMA"} and before == "RPAR" and found in {"+", "*", "?", "{"}:
        return "an event is repeated, a group of them is not"
    if {"RBRACE", "INTEGER"} <= names and found == ",":
        return "a repetition says how many at least, too: a:A{1,5}"
    if names == {"RBRACE", "COMMA"} and found == "." and before == "INTEGER":
        return "two to five are a:A{2,5}"
    return _GROUPED if names == {"_MATCH", "SEQ", "AND", "OR"} and kind not in _CLAUSES else ""


def _behind_an_event(kind: str, found: str, *, may_have_type: bool) -> str:
    if found == "=" and may_have_type:
        return "a type is written behind a colon: a:A"
    if found == "." and may_have_type:
        return _CONDITION
    return _BEHIND_AN_EVENT.get(kind if kind in _BEHIND_AN_EVENT else found[:1], "")
