"""Rights: a scope, of everything or of what a name says.

`patterns:write:payments-*` is the scope `patterns:write` of patterns whose names begin so. `matches:read:stream=flows` is
`matches:read` of the patterns that read this stream, and of the stream itself. A `*` may only end a name.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.ids import StreamName
from graphtide_core.merged_streams import is_merged, logical_stream, sources

if TYPE_CHECKING:
    from collections.abc import Iterable

READ_PATTERNS: Final = "patterns:read"
WRITE_PATTERNS: Final = "patterns:write"
READ_MATCHES: Final = "matches:read"
WRITE_MATCHES: Final = "matches:write"
WRITE_EDGES: Final = "edges:write"
ADMIN: Final = "admin"
SCOPES: Final = frozenset({READ_PATTERNS, WRITE_PATTERNS, READ_MATCHES, WRITE_MATCHES, WRITE_EDGES, ADMIN})
NAMED: Final = frozenset({READ_PATTERNS, WRITE_PATTERNS, READ_MATCHES, WRITE_MATCHES})
"""Scopes that a name may follow."""

_ANY: Final = "*"
_BY_STREAM: Final = "stream="
_MOST_CALLERS: Final = 1_024


class Right(NamedTuple):
    """A scope of what has a name: of a pattern, or of a stream and all that reads it alone."""

    scope: str
    name: str
    is_stream: bool


class NamedRights(NamedTuple):
    """The names of one scope of a caller, and how names may begin: of patterns, and of streams."""

    patterns: frozenset[str]
    pattern_starts: tuple[str, ...]
    streams: frozenset[str]
    stream_starts: tuple[str, ...]

    def covers_pattern(self, name: str) -> bool:
        """Whether a pattern has one of the names."""
        return name in self.patterns or name.startswith(self.pattern_starts)

    def covers_stream(self, stream: str) -> bool:
        """Whether a stream has one of the names; a merged one if all that it is merged from have."""
        of = sources(logical_stream(StreamName(stream)))
        return all(each in self.streams or each.startswith(self.stream_starts) for each in of)


def read_right(text: str) -> Right | None:
    """Return the right that a text names, such as `patterns:read:payments-*`; None if it is none, or a scope of everything."""
    kind, _, rest = text.partition(":")
    verb, _, name = rest.partition(":")
    scope = f"{kind}:{verb}"
    is_stream = name.startswith(_BY_STREAM)
    name = name.removeprefix(_BY_STREAM)
    # A merged stream is not named as one: rights to all that it is merged from are a right to it.
    is_name = bool(name) and _ANY not in name[:-1] and name.isprintable() and not (is_stream and is_merged(name))
    return Right(scope, name, is_stream) if scope in NAMED and is_name else None


@lru_cache(maxsize=_MOST_CALLERS)
def named_rights(scopes: frozenset[str], scope: str) -> NamedRights | None:
    """Return what the scopes of a caller name of one scope; None if nothing. Complexity: O(scopes) at the first call."""
    rights = [right for text in scopes if (right := read_right(text)) is not None and right.scope == scope]
    if not rights:
        return None
    of_patterns, of_streams = ([each.name for each in rights if each.is_stream == of_stream] for of_stream in (False, True))
    return NamedRights(_whole(of_patterns), _starts(of_patterns), _whole(of_streams), _starts(of_streams))


def name_rights(scope: str, pattern: str | None = None, stream: str | None = None) -> str:
    """Return the scopes for a message: that of everything, or those that are enough for a pattern or a stream."""
    ways = [repr(scope)]
    if pattern is not None:
        ways.append(repr(f"{scope}:{pattern}"))
    if stream is not None:
        of = sources(logical_stream(StreamName(stream)))
        ways.append(" with ".join(repr(f"{scope}:{_BY_STREAM}{each}") for each in of))
    return " or ".join(ways)


def check(scopes: Iterable[str]) -> frozenset[str]:
    """Return the scopes, each of everything or of what a name says.

    Raises:
        ValueError: one is unknown, or its name cannot be one.
    """
    found = frozenset(scopes)
    if unknown := sorted(each for each in found if each not in SCOPES and read_right(each) is None):
        message = (
            f"there is no scope {', '.join(unknown)}; there are {', '.join(sorted(SCOPES))}. A name may follow "
            f"{', '.join(sorted(NAMED))}, as in patterns:write:payments-* or matches:read:stream=flows; a * may only end it"
        )
        raise ValueError(message)
    return found


def _whole(names: Iterable[str]) -> frozenset[str]:
    return frozenset(each for each in names if not each.endswith(_ANY))


def _starts(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(each.removesuffix(_ANY) for each in names if each.endswith(_ANY)))
