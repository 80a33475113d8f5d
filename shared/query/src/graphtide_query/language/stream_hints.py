"""Hints for STREAM statements written as in other languages, or nearly right; chosen by the terminals that were expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.suggestion import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphtide_query.language.unexpected import Unexpected

EXAMPLE: Final = "STREAM name EDGE (src)-[kind]->(dst) AT ts"

CLAUSES: Final = frozenset(
    {"FORMAT", "EDGE", "EVENT", "AT", "ZONE", "BEFORE", "UNIT", "ID", "SET", "WHERE", "DELETE", "UPDATE", "NULL", "LATENESS"}
    | {"DUPLICATES", "CLOCK", "PARTITION", "FEATURE", "EMIT", "HAVING", "JOIN"}
)
"""Terminals that begin a clause."""

CLAUSE: Final = "a clause (FORMAT, EDGE, EVENT, AT, UNIT, ID, SET, WHERE, DELETE, UPDATE, NULL, LATENESS, FEATURE, …)"
OF_TABLE: Final = frozenset({"FORMAT", "KEY", "AT", "ZONE", "BEFORE", "WHERE", "NULL", "RELOAD"})
"""Terminals that begin a clause of a table."""

CLAUSE_OF_TABLE: Final = "a clause (FORMAT, KEY, AT, WHERE, NULL, RELOAD)"
OPTION: Final = "an option (DELIMITER, HEADER, COLUMNS, COMMENT, QUOTE, DECIMAL, ENCODING, UNNEST, …)"

_TABLE: Final = "a table has a file and a key: TABLE risk FROM 'risk.csv' KEY id"
_JOIN: Final = "a JOIN says which value is the key of the table: JOIN risk ON src = risk.id SET score = risk.score"
_BOTH_ENDS: Final = "an EDGE needs both ends, the source first: EDGE (src:label)-[label]->(dst:label)"
_LABEL: Final = "a label is a name or a text; one that a field states stands in parentheses: (src:(kind))"
_OPTION_NAMES: Final = frozenset(
    {"DELIMITER", "HEADER", "COLUMNS", "COMMENT", "QUOTE", "DECIMAL", "ENCODING", "UNNEST"}
    | {"SCHEMA", "DESCRIPTOR", "MESSAGE", "ROW"}
)
_OF_PATTERNS: Final = frozenset(
    {"MATCH", "SEQ", "ORDER", "UNDER", "REPORT", "RETURN", "ON", "WINDOW", "WITHIN", "SKIP", "OPTIONAL", "SLIDE"}
)
_INSTEAD: Final[Mapping[str, str]] = {
    "FILTER": "write conditions in WHERE",
    "AND": "a condition comes after WHERE",
    "TIME": "say where the time of a record is by AT: AT ts IN s",
    "TIMESTAMP": "say where the time of a record is by AT: AT ts IN s",
    "KEY": "say what identifies a record by ID: ID uid",
    "PRIMARY": "say what identifies a record by ID: ID uid",
    "NODE": "vertices are the ends of edges: EDGE (src:label)-[label]->(dst:label)",
    "VERTEX": "vertices are the ends of edges: EDGE (src:label)-[label]->(dst:label)",
    "FROM": "a statement says what records mean; where they are is said when it is run",
    "COMPRESSION": "a compressed file is known by its first bytes, so no option states it",
    "INSERT": "records insert unless DELETE WHERE or UPDATE WHERE says otherwise",
    "UNSET": "without SET, all fields are attributes; SET states those that there are",
    "IN": "IN states the unit of a time, right behind it: AT ts IN s",
    ";": "write statements one after the other, without a separator",
    ",": "separate clauses by spaces; write EDGE or EVENT again for each edge and event",
}


def stream_hint(at: Unexpected) -> str:
    """Return what to do about a sign or word in a STREAM statement; empty if there is no hint."""
    kind, found, names, before = at.kind, at.found, at.names, at.before
    if "LATENESS" in names:
        return _hint_for_clause(kind, found, names)
    return (
        _hint_in_table(found, names)
        or _hint_in_windows(names)
        or _hint_in_edge(found, names, before)
        or _hint_in_value(found, names, before)
        or _hint_at_word(kind, found, names, before)
    )


def _hint_for_clause(kind: str, found: str, names: frozenset[str]) -> str:
    word = found.upper()
    if word in _OF_PATTERNS:
        return f"{word} is for patterns, PATTERN name MATCH …; a STREAM statement says what records mean"
    if word in _OPTION_NAMES and "OPTION" not in names:
        return f"{word} is an option of a format: FORMAT csv ({word} …)"
    if found == "," and "PLUS" in names and "COMPARISON" not in names:
        return "make one value of several fields: concat(a, '-', b), or the first that is there: coalesce(a, b)"
    if found == "." and "DOT" not in names:
        return "a function returns a value without fields: write the path inside, lower(a.b)"
    if word in _INSTEAD:
        return _INSTEAD[word]
    if found == "=" and "COMPARISON" not in names:
        return "put a condition in parentheses where a value is needed"
    if kind == "NAME":
        return did_you_mean(found, sorted(CLAUSES | (_OPTION_NAMES if "OPTION" in names else frozenset())))
    return ""


def _hint_in_table(found: str, names: frozenset[str]) -> str:
    if "RELOAD" in names:
        return did_you_mean(found, sorted(OF_TABLE))
    if "_FROM" in names:
        return _TABLE
    if "ON" in names and "_AS" in names:
        return _JOIN
    return ""


def _hint_in_windows(names: frozenset[str]) -> str:
    if names == {"EDGE", "EVENT"}:
        return "EMIT EDGE (src)-[:burst]->(dst) EVERY 1m SET n = count(*), or EMIT EVENT 'scan' PER src AS host EVERY 1m"
    if "_EVERY" in names:
        return "EMIT has windows: EMIT EDGE (src)-[:burst]->(dst) EVERY 1m SET n = count(*)"
    if {"STAR", "DISTINCT"} <= names:
        return "count(*) counts records, count(DISTINCT dst) different values, sum(bytes) adds those of an attribute"
    if "_OVER" in names:
        return "a feature has a window: FEATURE sent = count(*) PER src OVER 1m"
    return ""


def _hint_in_edge(found: str, names: frozenset[str], before: str) -> str:
    if names == {"LPAR"} and before in {"EDGE", "FORWARD", "FORWARD_CLOSE"}:
        return _BOTH_ENDS
    if names == {"FORWARD", "FORWARD_OPEN"}:
        return _BOTH_ENDS if found[0] in "-<=" else "an EDGE has an arrow between its ends: EDGE (src)-[label]->(dst)"
    if (found == ")" and before == "LPAR" and "RPAR" not in names) or (found == "," and {"COLON", "RPAR"} <= names):
        return _BOTH_ENDS
    if found[0] == "]" and "FORWARD_CLOSE" in names:
        return "an EDGE has an arrow from its source to its target: -[label]->"
    if found == "." and names == {"RPAR"}:
        return _LABEL
    if names == {"NAME", "STRING", "LPAR"} and before == "COLON":
        return _LABEL
    return ""


def _hint_in_value(found: str, names: frozenset[str], before: str) -> str:
    if found == "*" and before == "LPAR":
        return "functions over a window stand in SET of EMIT, and HAVING reads their names: SET n = count(*) HAVING n > 100"
    if names == {"INTEGER", "NAME"} and before == "LSQB":
        return "write a position from 0, a[0], or a condition, a[key = 'x']; a field stands behind a dot: a.`b c`"
    if names == {"STRING"} and before in {"NULL", "ZONE", "BEFORE", "COMMA"}:
        return "write a text in quotation marks: NULL '-', 'NA', ZONE 'Europe/Berlin'"
    if before == "OPTION":
        return "the value comes right behind the option: DELIMITER ';', HEADER none, COLUMNS (a, b)"
    if names == {"EQUALS"}:
        if found == ".":
            return "an attribute has one name: SET user = userIdentity.arn; quote one with dots by backticks"
        return "write an equals sign behind the name"
    return ""


def _hint_at_word(kind: str, found: str, names: frozenset[str], before: str) -> str:
    if names == {"WHERE"}:
        return "write DELETE WHERE or UPDATE WHERE and a condition"
    if kind == "STRING" and before in {"UNIT", "_IN", "CLOCK", "DUPLICATES", "LATENESS"}:
        return f"write it without quotation marks: {before.lstrip('_')} {found[1:-1]}"
    if names == {"RULE"} and before == "RPAR":
        return "a name with parentheses begins a rule of Datalog; an edge begins with EDGE, an event with EVENT"
    return ""
