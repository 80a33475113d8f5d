"""Hints for what people write of streaming graph queries in other languages, or nearly right: by what could stand there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lark import Token

RESULT_FIRST: Final = "what is reported comes first: CONSTRUCT (u)-[:label]->(v) MATCH …, or SELECT u, v MATCH …"
RULE_ENDS: Final = "a rule ends with a dot"
IN_BRACKETS: Final = "the length stands in parentheses: WINDOW(24h) SLIDE(1h)"

WINDOW_NEEDED: Final = "how long its edges are valid is said with the stream: ON stream WINDOW(24h)"

_LENGTH: Final = "a path of any length is -/:label+/->, in a streaming graph query: CONSTRUCT (u)-[:near]->(v) MATCH …"
_LABEL: Final = "a label of edges is written :label, a derived one ~name; p<:label+> gives the path the name p"
_NEXT: Final = "labels one after the other are separated by spaces, either of two by |: -/:a :b* | :c/->"
_BOUNDS: Final = "a path has no bounds: two or three are :a :a :a?, one or more :a+"
_DIRECTION: Final = "a path needs a direction: -/:a+/-> or <-/:a+/-"

_CLAUSES: Final[Mapping[str, str]] = {
    "FROM": "the stream is named behind what is read from it: MATCH (u)-[:label]->(v) ON stream WINDOW(24h)",
    "UNION": "alternatives are OPTIONAL blocks of a MATCH, or several rules of one head: near(x, y) <- follows(x, y).",
    "WITHIN": "how long an edge is valid is said with its stream: ON stream WINDOW(24h)",
    "FILTER": "conditions stand in WHERE",
    "ORDER": "a query has no order: its results are told as they become valid",
    "GROUP": "a query has no aggregates: it tells each result",
    "LIMIT": "a query has no end: its results are told as they become valid",
    "REPORT": "a query tells each result when it becomes valid, when it stays valid for longer, and when it is withdrawn",
    "PARTITION": "a query has no partitions: vertices of one name are one",
    "CREATE": "a view is written GRAPH VIEW name AS ( CONSTRUCT … )",
    "SLIDE": "a slide stands behind its window: ON stream WINDOW(24h) SLIDE(1h)",
}


def graph_hint(kind: str, found: str, accepted: Collection[str], last: Token | None) -> str:
    """Return what to do about a sign or word in a streaming graph query; empty if there is no hint.

    Args:
        kind: its terminal, empty if it is none.
        found: what stands there.
        accepted: the terminals that could.
        last: the token before.
    """
    names = set(accepted)
    before = "" if last is None else last.type
    return (
        _of_beginnings(kind, found, names, last)
        or _of_clauses(kind, found, names, before)
        or _of_columns(found, names, "" if last is None else last.upper())
        or _of_rules(kind, found, names, before)
        or _of_paths(kind, found, names, before)
    )


def _of_beginnings(kind: str, found: str, names: set[str], last: Token | None) -> str:
    if kind == "_MATCH" and "CONSTRUCT" in names:
        return RESULT_FIRST
    if kind == "ON" and "ON" not in names and names >= {"CONSTRUCT", "HEAD"}:
        return "ON stands behind what is read from the stream: MATCH (u)-[:label]->(v) ON …, or rules and then ON"
    if names == {"NAME"} and found == "(" and last is not None and last.type in {"_QUERY", "PATH", "SELECT", "INPUT"}:
        named = f"{last.upper()} is followed by a name"
        return f"{named}; as the head of a rule the word is written in backticks: `{last.lower()}`(x, y) <- …"
    if names == {"EQUALS"}:
        return f"what is named is drawn behind an equals sign: {'PATH' if last is None else last} = (u)-[:label]->(v)"
    return ""


def _of_clauses(kind: str, found: str, names: set[str], before: str) -> str:
    word = found.upper()
    if kind == "_MATCH" and before == "OPTIONAL":
        return "OPTIONAL stands alone: OPTIONAL (u)-[:label]->(v)"
    if names == {"WINDOW"}:
        return WINDOW_NEEDED
    if names == {"LPAR"} and before in {"WINDOW", "SLIDE"}:
        return IN_BRACKETS
    if names == {"LPAR"} and before == "_AS":
        return "what a view is stands in parentheses: GRAPH VIEW name AS ( CONSTRUCT … )"
    if found == "," and "RPAR" in names and ("NAME" in names or before == "NAME") and not names & {"COMMA", "DOT", "AND"}:
        return "a slide is said behind the window: WINDOW(24h) SLIDE(1h)"
    if names & {"OPTIONAL", "OUTPUT"} and word in _CLAUSES:
        return _CLAUSES[word]
    if word == "CREATE" and "_GRAPH" in names:
        return _CLAUSES[word]
    return ""


def _of_columns(found: str, names: set[str], last: str) -> str:
    if "?" in found and names == {"NAME"}:
        return "a variable is a name without a sign before it: u"
    if last == "SELECT" and found == "*":
        return "columns are named one by one: SELECT u, v"
    if names == {"COMMA", "_MATCH", "_AS"} or (names >= {"COMMA", "_MATCH", "_AS"} and "OPTIONAL" in names):
        if found == ".":
            return "a column is a vertex, and is told by its id: SELECT u"
        if last == "DISTINCT":
            return "results are a set, so that DISTINCT says nothing: SELECT u, v"
        if found == "(":
            return "a query has no functions: SELECT names vertices of MATCH"
    return ""


def _of_rules(kind: str, found: str, names: set[str], before: str) -> str:
    if names == {"LPAR"} and before == "SLASH":
        return _NEXT
    if names == {"RULE"}:
        return "a rule has a body: RL(x, y) <- follows(x, y), likes(x, m)."
    if "_RULE_END" in names and names & {"COMMA", "_AS"}:
        if kind in {"AND", "OR"} or found in {"&", "∧"}:
            return "atoms are separated by commas; alternatives are rules of one head"
        if found in {"+", "*", "?", "^"} and before == "RPAR":
            return "closure stands at the predicate: follows+(x, y)"
        return RULE_ENDS
    if {"LPAR", "MAYBE"} <= names and "COLON" not in names:
        if found == "." or kind in {"COMPARISON", "LESS"}:
            return "conditions stand behind the atoms: RL(x, y) <- follows(x, y) WHERE x.id <> y.id."
        if kind in {"NAME", "HEAD"}:
            return "an atom is a predicate with two ends, follows(x, y); there is no negation"
    if names >= {"NAME", "SLASH", "LPAR"} and "MINUS" not in names and found in {"!", "¬", "~"}:
        return "there is no negation: a rule says what there must be"
    if kind == "WHERE" and "OUTPUT" in names:
        return "WHERE stands before the dot of its rule"
    return ""


def _of_paths(kind: str, found: str, names: set[str], before: str) -> str:
    if {"COLON", "TILDE"} <= names or names & {"PATH_CLOSE", "BACK_PATH_CLOSE", "MORE"}:
        return _in_path(kind, found, names, before)
    if names == {"LESS"} and before == "NAME" and found[0] in "/*+?|:^~-(":
        return _LABEL
    if names == {"INTEGER"} and before == "STAR":
        return f"-[e *4]-> is four edges between the same two vertices; {_LENGTH}"
    if "FORWARD_CLOSE" in names or "BACKWARD_CLOSE" in names:
        if found in {"+", "?"}:
            return _LENGTH
        if found == "." and before == "INTEGER":
            return f"{_BOUNDS}; {_LENGTH}"
    return ""


def _in_path(kind: str, found: str, names: set[str], before: str) -> str:
    if kind in {"NAME", "HEAD"} and "TILDE" in names:
        return _LABEL
    if found == "{":
        return f"{_BOUNDS}; attributes are of edges: -[:a {{x: 1}}]->, in a PATH, and ~name of it here"
    if found == "[":
        return "between slashes stands an expression of labels: -/:a+/->; an edge is -[:a]->"
    if found.startswith("/") and "MORE" in names:
        return "an angle bracket is not closed: -/p<:a+>/->"
    if found.startswith("/"):
        is_turned = kind in {"PATH_CLOSE", "BACK_PATH_CLOSE"} or found.replace(" ", "") in {"/-", "/->"}
        return _DIRECTION if is_turned else _NEXT
    if found in {"*", "+", "?"} or kind == "POWER":
        if before in {"STAR", "PLUS", "MAYBE", "POWER"}:
            return "a repetition of what is repeated is grouped: (:a+)?"
        return "a repetition stands behind what is repeated: :a+, (:a :b)*"
    if found[:1] in {"-", ">"} and names & {"PATH_CLOSE", "BACK_PATH_CLOSE"}:
        return "a path ends with a slash and an arrow: -/:a+/-> or <-/:a+/-"
    return ""
