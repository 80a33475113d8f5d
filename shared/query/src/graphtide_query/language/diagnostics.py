"""Word the errors of the grammar so that a person can act on them.

Every error names what was found, what was expected and, if the mistake is common, what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.suggestion import did_you_mean, show
from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from graphtide_query.language.annotations import KEYWORDS as ANNOTATIONS
from graphtide_query.language.event_hints import event_hint
from graphtide_query.language.graph_hints import RULE_ENDS, WINDOW_NEEDED, graph_hint
from graphtide_query.language.spelling import KEYWORDS, write_name
from graphtide_query.language.stream_hints import CLAUSE as STREAM_CLAUSE
from graphtide_query.language.stream_hints import CLAUSE_OF_TABLE, OF_TABLE, stream_hint
from graphtide_query.language.stream_hints import CLAUSES as STREAM_CLAUSES
from graphtide_query.language.stream_hints import EXAMPLE as STREAM_EXAMPLE
from graphtide_query.language.stream_hints import OPTION as FORMAT_OPTION
from graphtide_query.language.unexpected import Unexpected

if TYPE_CHECKING:
    from collections.abc import Collection

    from lark import Token
    from lark.exceptions import UnexpectedInput

EXAMPLE = "PATTERN name MATCH (a)-[e]->(b) ON stream WINDOW 10m"

_EDGE = "an edge such as -[e]-> or <-[e]-"
_VALUE = "a value such as e.bytes, 10 or 'text'"
_TIMES = "'*' and how many edges"
_REPEATED = "a repetition (+ {3} {2,5} {2,})"
_EVERYTHING = "'*'"
_COMPARISON = "a comparison (= <> < <= > >=)"
_OPERATOR = "an operator (+ - * / %)"
_PATH = "a path such as -/:label+/->"
_STEP = "a label (:a ^:a ~derived)"
_TIMES_OF = "a repetition (* + ?)"
_CLAUSE = "a clause (WHERE, ORDER, UNDER, REPORT, RETURN, ON, WINDOW)"
_EVENT_CLAUSE = "a clause (WHERE, PARTITION BY, SKIP TILL, REPORT, RETURN, ON, WITHIN)"
_GCORE_CLAUSE = "a clause (MATCH, OPTIONAL, ON, WHERE, RETURN)"
_OPTIONS = "a clause (ON, WHERE)"
_RULES_CLAUSE = "a clause (ON, OUTPUT, RETURN)"

_WORDS = {
    "_VIEW": "VIEW",
    "PATH": "PATH",
    "CONSTRUCT": "CONSTRUCT",
    "SELECT": "SELECT",
    "INPUT": "INPUT",
    "HEAD": "a rule",
    "RULE": "'<-'",
    "EQUALS": "'='",
    "NOW": "NOW",
    "SLIDE": "SLIDE",
    "INTERNAL": "INTERNAL",
    "_MATCH": "MATCH",
    "SEQ": "SEQ",
    "NAME": "a name",
    "COLON": "':'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LPAR": "'('",
    "RPAR": "')'",
    "FORWARD": _EDGE,
    "FORWARD_OPEN": _EDGE,
    "FORWARD_CLOSE": "']->'",
    "BACKWARD": _EDGE,
    "BACKWARD_OPEN": _EDGE,
    "BACKWARD_CLOSE": "']-'",
    "PATH_CLOSE": "'/->'",
    "BACK_PATH_CLOSE": "'/-'",
    "MORE": "'>'",
    "BAR": "'|'",
    "_RULE_END": "'.'",
    "DOT": "'.' and an attribute",
    "COMMA": "','",
    "INTEGER": "a number",
    "FLOAT": "a number",
    "STRING": "a string",
    "TRUE": "TRUE",
    "FALSE": "FALSE",
    "NULL": "NULL",
    "COMPARISON": _COMPARISON,
    "LESS": "'<'",
    "PLUS": _OPERATOR,
    "MINUS": "'-'",
    "STAR": _OPERATOR,
    "SLASH": _OPERATOR,
    "PERCENT": _OPERATOR,
    "_IN": "IN",
    "OPTION": FORMAT_OPTION,
    "_STARTS": "STARTS WITH",
    "_WITH": "WITH",
    "_IS": "IS NULL",
    "NOT": "NOT",
    "AND": "AND",
    "OR": "OR",
    "EDGE": "EDGE",
    "_ISOMORPHISM": "ISOMORPHISM",
    "_DUAL": "DUAL SIMULATION",
    "_SIMULATION": "SIMULATION",
    "ALL": "ALL",
    "MAXIMAL": "MAXIMAL",
    "INSTANCES": "INSTANCES",
    "CHANGES": "CHANGES",
    "DISTINCT": "DISTINCT",
    "EXISTS": "EXISTS",
    "_ONE": "ONE PER",
    "_PER": "PER",
    "_EVERY": "EVERY",
    "EVENT": "EVENT",
    "_OVER": "OVER",
    "_PARTS": "PARTS",
    "VERTEX": "VERTEX",
    "_AGAINST": "AGAINST",
    "EXCLUDE": "EXCLUDE CURRENT",
    "_CURRENT": "CURRENT",
    "_BY": "BY",
    "_TILL": "TILL",
    "NEXT": "NEXT",
    "ANY": "ANY",
    "_AS": "AS",
    "_TIMEOUT": "TIMEOUT",
    "WHERE": _CLAUSE,
    "ORDER": _CLAUSE,
    "UNDER": _CLAUSE,
    "REPORT": _CLAUSE,
    "ON": _CLAUSE,
    "WINDOW": _CLAUSE,
    "PARTITION": _EVENT_CLAUSE,
    "SKIP": _EVENT_CLAUSE,
    "RETURN": _CLAUSE,
    "WITHIN": _EVENT_CLAUSE,
    "OPTIONAL": _GCORE_CLAUSE,
    "OUTPUT": _RULES_CLAUSE,
    "_GRAPH": "GRAPH VIEW",
    "_PATTERN": "PATTERN",
    "_QUERY": "QUERY",
    "$END": "the end of the text",
}
"""The name of each terminal, in the order of the message."""

_CONSTANTS = frozenset({"INTEGER", "FLOAT", "STRING", "TRUE", "FALSE", "NULL"})

_BEGINNINGS = frozenset({"PATH", "CONSTRUCT", "SELECT", "INPUT", "_GRAPH"})
_STEPS = frozenset({"COLON", "TILDE", "CARET"})
_REPETITIONS = frozenset({"STAR", "PLUS", "MAYBE", "POWER"})

_OF_EVENTS = frozenset({"PARTITION", "SKIP", "WITHIN", "EXISTS"})
_OF_EDGES = {
    "WINDOW": "for events, write WITHIN",
    "ORDER": "SEQ orders events",
    "UNDER": "events of a match are always different events",
}

_INSTEAD = {
    "==": "compare values by a single =",
    "&&": "join conditions by AND",
    "||": "join conditions by OR",
    "!": "negate a condition by NOT; write <> for unequal",
    ";": "write patterns one after the other, without a separator",
    "|": "a label is one name; for one of several, leave it out and compare the label of the edge in WHERE",
    "*": "write the number of parallel edges after the label: -[e:call *4]->",
}
"""What to write instead of common mistakes."""


def explain(
    error: UnexpectedInput, accepted: Collection[str], last: Token | None, text: str, keywords: Collection[str] = ()
) -> InvalidPatternError:
    """Word the error; `accepted` are the terminals that could have followed `last`, the last token that fits.

    `keywords` are those of dialects.
    """
    own = tuple(word.lstrip("_") for word in keywords if word in accepted)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return _explain_end(accepted, text, own)
    # lark declares the position None and sets it in every error it raises.
    start = cast("int | None", error.pos_in_stream) or 0
    found = str(error.token) if isinstance(error, UnexpectedToken) else text[start]
    location = Location(error.line, error.column, len(found))
    if isinstance(error, UnexpectedCharacters) and found in "\"'`":
        message = f"{found} opens a quotation that is not closed"
        hint = "quote names by backticks" if found == "`" else "a string ends on its line; write \\n for a line break"
        return InvalidPatternError(message, location, hint=hint)
    kind = error.token.type if isinstance(error, UnexpectedToken) else ""
    # A bracket after a name matters only at the head of a rule.
    kind = "NAME" if kind == "HEAD" else kind
    if found.upper() == "STREAM" and "_PATTERN" in accepted and "_STREAM" not in accepted:
        message = "a STREAM statement is not a pattern"
        instead = "this text is read for patterns; graphtide_query.parse_streams reads STREAM statements"
        return InvalidPatternError(message, location, hint=instead)
    at = Unexpected(kind, found, frozenset(accepted), last)
    hint = (
        _hint_by_text(text, start)
        or (stream_hint(at) if "_STREAM" in keywords else "")
        or graph_hint(at)
        or _hint_by_kind(kind, found, accepted, last)
        or event_hint(at)
        or _hint_by_sign(found, start, accepted, last)
    )
    message = f"unexpected {show(found)}"
    return InvalidPatternError(message, location, expected=(*_name_expected(accepted), *own), hint=hint)


def _explain_end(accepted: Collection[str], text: str, own: tuple[str, ...]) -> InvalidPatternError:
    """Word the error of a text that ends too early; its place is the last significant character."""
    if "_STREAM" in accepted:
        message = "the text holds no statement"
        return InvalidPatternError(message, Location(1, 1), hint=f"write {STREAM_EXAMPLE}")
    if "_PATTERN" in accepted:
        message = "the text holds no pattern"
        return InvalidPatternError(message, Location(1, 1), hint=f"write {EXAMPLE}")
    said = text.rstrip()
    location = Location(said.count("\n") + 1, len(said) - 1 - said.rfind("\n"))
    message = "the text ends too early"
    hint = RULE_ENDS if "_RULE_END" in accepted else WINDOW_NEEDED if set(accepted) == {"WINDOW"} else ""
    return InvalidPatternError(message, location, expected=(*_name_expected(accepted), *own), hint=hint)


def _name_expected(accepted: Collection[str]) -> tuple[str, ...]:
    """Name the terminals, each once; values and operators are one item each."""
    names = set(accepted)
    words: list[str] = []
    if names == {"WINDOW"}:
        return ("WINDOW(24h)",)
    if names == {"WHERE"}:
        return ("WHERE",)
    if "LATENESS" in names:
        words.append(STREAM_CLAUSE)
        names -= STREAM_CLAUSES
    if "RELOAD" in names:
        words.append(CLAUSE_OF_TABLE)
        names -= OF_TABLE
    if names == {"ON", "_AS"}:
        return ("ON", "AS")
    if "FORWARD" in names and "BACKWARD" not in names:
        return ("-->", "-[label]->")
    words += _take_graph_query_names(names)
    if {"NAME", *_CONSTANTS} <= names:
        words.append(_VALUE)
        names -= {"NAME", "MINUS", *_CONSTANTS}
    if _is_after_event(names):
        words.append(_REPEATED)
        names.discard("PLUS")
    elif "PLUS" in names:
        names.discard("MINUS")
    elif "STAR" in names:
        words.append(_EVERYTHING if _VALUE in words else _TIMES)
        names.discard("STAR")
    if "WITHIN" in names:
        names -= {"WHERE", "REPORT", "RETURN", "ON"}
    if "COMPARISON" in names:
        names -= {"LESS", "NOT"}
    words += [word for terminal, word in _WORDS.items() if terminal in names]
    return tuple(dict.fromkeys(words))


def _take_graph_query_names(names: set[str]) -> list[str]:
    """Return the names that only streaming graph queries have, and remove them from `names`."""
    words: list[str] = []
    if "OPTIONAL" in names:
        words += [_PATH] if "PATH_OPEN" in names else []
        names -= {"_MATCH", "ON", "WHERE", "RETURN"}
    if "OUTPUT" in names:
        names -= {"ON", "RETURN"}
    if "ON" in names and not names & {"WINDOW", "WITHIN"}:
        words.append(_OPTIONS)
        names -= {"ON", "WHERE"}
    if "_RULE_END" in names and "WHERE" in names:
        words.append("WHERE")
        names.discard("WHERE")
    names -= {"PATH_OPEN", "BACK_PATH_OPEN"}
    if "_PATTERN" in names:
        names -= _BEGINNINGS if "OUTPUT" in names else {*_BEGINNINGS, "HEAD"}
    if "SLASH" in names and "PERCENT" not in names:
        words += ["'/'"]
        names.discard("SLASH")
    if "TILDE" in names:
        words.append(_STEP)
        names -= {*_STEPS, "LPAR"}
    if "MAYBE" in names:
        words.append(_TIMES_OF)
    if words and "PERCENT" not in names and "COMPARISON" not in names:
        names -= {*_REPETITIONS, "MINUS"} if names & {"MAYBE", "MORE", "PATH_CLOSE", "BACK_PATH_CLOSE"} else set()
    return words


def _is_after_event(accepted: Collection[str]) -> bool:
    """Return whether the repetition of an event may follow."""
    return "PLUS" in accepted and "MINUS" not in accepted and "MAYBE" not in accepted


def _hint_by_text(text: str, start: int) -> str:
    """Return what to do about a sign of two characters; the error is at either of them."""
    if "/*" in (text[start - 1 : start + 1], text[start : start + 2]):
        return "a comment that starts with /* is not closed"
    if text[start - 1 : start + 1] == "==":
        return _INSTEAD["=="]
    pair = text[start : start + 2]
    return _INSTEAD.get(pair, "") if len(pair) > 1 else ""


def _hint_by_kind(kind: str, found: str, accepted: Collection[str], last: Token | None) -> str:
    """Return what to do about a word of the language at a place where it cannot stand."""
    if kind in {"COMPARISON", "LESS", "_IN", "_IS", "_STARTS"} and "AND" in accepted:
        return "comparisons do not chain: join two by AND, as in 1 < e.bytes AND e.bytes < 3"
    if kind == "STRING" and "NAME" in accepted:
        return "quote a name by backticks, as in `my name`"
    if last is not None and last.upper() in KEYWORDS and last.type == "NAME":
        return f"{last} was read as a name: is a name missing before it?"
    if last is not None and last.upper() in KEYWORDS and kind == "DOT":
        return f"{last} is a keyword here; to use it as a name, write {write_name(last)}"
    if kind == "NAME":
        return did_you_mean(found, sorted({word.removeprefix("_") for word in accepted} & (KEYWORDS | ANNOTATIONS)))
    if found.upper() in {"DISTINCT", "ONE"} and "ON" in accepted:
        return "REPORT states which matches are emitted: REPORT DISTINCT …, REPORT … ONE PER a.x EVERY 10m"
    return _hint_by_family(found.upper(), accepted)


def _hint_by_family(word: str, accepted: Collection[str]) -> str:
    """Return what to do about a clause of the other kind of patterns."""
    if "WINDOW" in accepted and word in _OF_EVENTS:
        return f"{word} is for patterns of events, PATTERN name SEQ(a:A, b:B) …; this is a pattern of edges"
    if "WITHIN" in accepted and word in _OF_EDGES:
        return f"{word} is for patterns of edges, PATTERN name MATCH (a)-[e]->(b) …; {_OF_EDGES[word]}"
    return ""


def _hint_by_sign(found: str, start: int, accepted: Collection[str], last: Token | None) -> str:
    """Return what to do about a sign at a place where it cannot stand."""
    if "FORWARD_CLOSE" in accepted and found.startswith("]"):
        return "an edge needs a direction: -[e]-> or <-[e]-"
    if found == ">" and last is not None and last.type in {"BACKWARD", "BACKWARD_CLOSE"}:
        return "an edge has one direction: -[e]-> or <-[e]-"
    if found in {"*", "?"} and _is_after_event(accepted):
        return "an iteration has at least one event: a:A+, a:A{2,5}; to allow none, write a pattern without it"
    if found == "=" and set(accepted) == {"COLON"}:
        return "braces compare an attribute with a constant, {x: 1}; write other conditions in WHERE"
    if "FORWARD" in accepted and found[0] in "-<=":
        return "write an edge as -->, <--, -[e]-> or <-[e]-"
    if found == "." and {"COMMA", "WITHIN"} <= set(accepted) and "DOT" not in accepted:
        return "name an attribute of all events without a variable: PARTITION BY user"
    if found[0] in "-./:@" and last is not None and last.type == "NAME" and last.end_pos == start:
        return "quote a name that has characters other than letters, digits and _ by backticks, as in `my-stream`"
    return _INSTEAD.get(found, "")
