"""Hints for streaming graph queries written as in other languages, or nearly right; chosen by the expected terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lark import Token

    from graphtide_query.language.unexpected import Unexpected

RESULT_FIRST: Final = "start with the result: CONSTRUCT (u)-[:label]->(v) MATCH …, or SELECT u, v MATCH …"
RULE_ENDS: Final = "a rule ends with a dot"
IN_BRACKETS: Final = "write the length in parentheses: WINDOW(24h) SLIDE(1h)"

WINDOW_NEEDED: Final = "state with the stream how long its edges are valid: ON stream WINDOW(24h)"

_LENGTH: Final = "for a path of any length, write -/:label+/-> in a streaming graph query: CONSTRUCT (u)-[:near]->(v) MATCH …"
_LABEL: Final = "write a label of edges as :label, a derived one as ~name; p<:label+> names the path p"
_NEXT: Final = "separate consecutive labels by spaces and alternatives by |: -/:a :b* | :c/->"
_BOUNDS: Final = "a path has no bounds: for two or three, write :a :a :a?; for one or more, write :a+"
_DIRECTION: Final = "a path needs a direction: -/:a+/-> or <-/:a+/-"

_CLAUSES: Final[Mapping[str, str]] = {
    "FROM": "name the stream after the MATCH that reads it: MATCH (u)-[:label]->(v) ON stream WINDOW(24h)",
    "UNION": "write alternatives as OPTIONAL blocks of MATCH, or as several rules with one head: near(x, y) <- follows(x, y).",
    "WITHIN": "state with the stream how long its edges are valid: ON stream WINDOW(24h)",
    "FILTER": "write conditions in WHERE",
    "ORDER": "a query has no order: it reports results as they become valid",
    "GROUP": "a query has no aggregates: it reports each result",
    "LIMIT": "a query has no end: it reports results as they become valid",
    "REPORT": "a query reports each result when it becomes valid, when it stays valid for longer, and when it is withdrawn",
    "PARTITION": "a query has no partitions: one name is one vertex",
    "CREATE": "write a view as GRAPH VIEW name AS ( CONSTRUCT … )",
    "SLIDE": "write the slide after its window: ON stream WINDOW(24h) SLIDE(1h)",
}


def graph_hint(at: Unexpected) -> str:
    """Return what to do about a sign or word in a streaming graph query; empty without a hint."""
    kind, found, names, before = at.kind, at.found, at.names, at.before
    return (
        _hint_for_beginning(kind, found, names, at.last)
        or _hint_for_clause(kind, found, names, before)
        or _hint_for_column(found, names, "" if at.last is None else at.last.upper())
        or _hint_for_rule(kind, found, names, before)
        or _hint_for_path(kind, found, names, before)
    )


def _hint_for_beginning(kind: str, found: str, names: frozenset[str], last: Token | None) -> str:
    if kind == "_MATCH" and "CONSTRUCT" in names:
        return RESULT_FIRST
    if kind == "ON" and "ON" not in names and names >= {"CONSTRUCT", "HEAD"}:
        return "ON comes after the MATCH or the rules that read the stream: MATCH (u)-[:label]->(v) ON …"
    if names == {"NAME"} and found == "(" and last is not None and last.type in {"_QUERY", "PATH", "SELECT", "INPUT"}:
        named = f"{last.upper()} is followed by a name"
        return f"{named}; to use the word as the head of a rule, write it in backticks: `{last.lower()}`(x, y) <- …"
    if names == {"EQUALS"}:
        return f"write the path after an equals sign: {'PATH' if last is None else last} = (u)-[:label]->(v)"
    return ""


def _hint_for_clause(kind: str, found: str, names: frozenset[str], before: str) -> str:
    word = found.upper()
    if kind == "_MATCH" and before == "OPTIONAL":
        return "write OPTIONAL without MATCH: OPTIONAL (u)-[:label]->(v)"
    if names == {"WINDOW"}:
        return WINDOW_NEEDED
    if names == {"LPAR"} and before in {"WINDOW", "SLIDE"}:
        return IN_BRACKETS
    if names == {"LPAR"} and before == "_AS":
        return "write the query of a view in parentheses: GRAPH VIEW name AS ( CONSTRUCT … )"
    if found == "," and "RPAR" in names and ("NAME" in names or before == "NAME") and not names & {"COMMA", "DOT", "AND"}:
        return "write the slide after the window: WINDOW(24h) SLIDE(1h)"
    if names & {"OPTIONAL", "OUTPUT"} and word in _CLAUSES:
        return _CLAUSES[word]
    if word == "CREATE" and "_GRAPH" in names:
        return _CLAUSES[word]
    return ""


def _hint_for_column(found: str, names: frozenset[str], last: str) -> str:
    if "?" in found and names == {"NAME"}:
        return "a variable is a name without a sign before it: u"
    if last == "SELECT" and found == "*":
        return "name columns one by one: SELECT u, v"
    if names == {"COMMA", "_MATCH", "_AS"} or (names >= {"COMMA", "_MATCH", "_AS"} and "OPTIONAL" in names):
        if found == ".":
            return "a column is a vertex, which is reported by its id: SELECT u"
        if last == "DISTINCT":
            return "results are a set, so leave DISTINCT out: SELECT u, v"
        if found == "(":
            return "SELECT names vertices of MATCH; functions stand in WHERE"
    return ""


def _hint_for_rule(kind: str, found: str, names: frozenset[str], before: str) -> str:
    if names == {"LPAR"} and before == "SLASH":
        return _NEXT
    if names == {"RULE"}:
        return "a rule has a body: RL(x, y) <- follows(x, y), likes(x, m)."
    if "_RULE_END" in names and names & {"COMMA", "_AS"}:
        if kind in {"AND", "OR"} or found in {"&", "∧"}:
            return "separate atoms by commas; write alternatives as several rules with one head"
        if found in {"+", "*", "?", "^"} and before == "RPAR":
            return "write closure at the predicate: follows+(x, y)"
        return RULE_ENDS
    if {"LPAR", "MAYBE"} <= names and "COLON" not in names:
        if found == "." or kind in {"COMPARISON", "LESS"}:
            return "write conditions after the atoms: RL(x, y) <- follows(x, y) WHERE x.id <> y.id."
        if kind in {"NAME", "HEAD"}:
            return "an atom is a predicate with two ends, follows(x, y); rules have no negation"
    if names >= {"NAME", "SLASH", "LPAR"} and "MINUS" not in names and found in {"!", "¬", "~"}:
        return "rules have no negation: a rule states what must exist"
    if kind == "WHERE" and "OUTPUT" in names:
        return "write WHERE before the dot of its rule"
    return ""


def _hint_for_path(kind: str, found: str, names: frozenset[str], before: str) -> str:
    if {"COLON", "TILDE"} <= names or names & {"PATH_CLOSE", "BACK_PATH_CLOSE", "MORE"}:
        return _hint_in_path(kind, found, names, before)
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


def _hint_in_path(kind: str, found: str, names: frozenset[str], before: str) -> str:
    if kind in {"NAME", "HEAD"} and "TILDE" in names:
        return _LABEL
    if found == "{":
        return f"{_BOUNDS}; only edges have attributes: write -[:a {{x: 1}}]-> in a PATH, and its ~name here"
    if found == "[":
        return "write labels between slashes: -/:a+/->; write an edge as -[:a]->"
    if found.startswith("/") and "MORE" in names:
        return "an angle bracket is not closed: -/p<:a+>/->"
    if found.startswith("/"):
        is_turned = kind in {"PATH_CLOSE", "BACK_PATH_CLOSE"} or found.replace(" ", "") in {"/-", "/->"}
        return _DIRECTION if is_turned else _NEXT
    if found in {"*", "+", "?"} or kind == "POWER":
        if before in {"STAR", "PLUS", "MAYBE", "POWER"}:
            return "group a repetition before you repeat it: (:a+)?"
        return "write a repetition after its operand: :a+, (:a :b)*"
    if found[:1] in {"-", ">"} and names & {"PATH_CLOSE", "BACK_PATH_CLOSE"}:
        return "a path ends with a slash and an arrow: -/:a+/-> or <-/:a+/-"
    return ""
