"""Scopes may name patterns and streams; a caller may do what one of them says, and nothing else."""

from __future__ import annotations

import pytest
from graphtide_core.errors import FatalError
from graphtide_serving.access.callers import Caller
from graphtide_serving.access.rights import NAMED, SCOPES, check, name_rights
from graphtide_serving.access.settings import AccessSettings, KeySettings
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text("ab-*:=", min_size=1, max_size=4)
GRANTS = st.builds("{}:{}{}".format, st.sampled_from(sorted(NAMED)), st.sampled_from(["", "stream="]), NAMES)


def covers(granted: str, scope: str, pattern: str | None, stream: str | None) -> bool:
    """Whether one granted text covers a subject: the rule, written once more and slowly."""
    if granted in {scope, "admin"}:
        return True
    if not granted.startswith(f"{scope}:"):
        return False
    name = granted[len(scope) + 1 :]
    if name.startswith("stream="):
        name, subject = name[len("stream=") :], stream
    else:
        subject = pattern
    if subject is None or not name or "*" in name[:-1]:
        return False
    return subject.startswith(name[:-1]) if name[-1] == "*" else subject == name


@given(st.sets(GRANTS | st.sampled_from(sorted(SCOPES)), max_size=4), st.sampled_from(sorted(SCOPES)), NAMES, NAMES)
def test_a_caller_may_do_what_one_scope_covers(scopes: set[str], scope: str, pattern: str, stream: str) -> None:
    caller = Caller("ann", frozenset(scopes))
    for of_pattern, of_stream in ((None, None), (pattern, None), (None, stream), (pattern, stream)):
        expected = any(covers(each, scope, of_pattern, of_stream) for each in scopes)
        assert caller.may(scope, pattern=of_pattern, stream=of_stream) == expected


@given(st.sets(GRANTS, max_size=3), st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=3))
def test_a_merged_stream_needs_rights_to_all_of_it(scopes: set[str], streams: list[str]) -> None:
    caller = Caller("ann", frozenset(scopes))
    for scope in NAMED:
        assert caller.may(scope, stream=".".join(streams)) == all(caller.may(scope, stream=each) for each in streams)
        assert caller.may(scope, stream=f"{streams[0]}#8") == caller.may(scope, stream=streams[0])


def test_a_right_to_a_name_is_none_to_everything() -> None:
    caller = Caller("ann", frozenset({"patterns:read:*", "matches:read:stream=*"}))
    assert [caller.may_some(scope) for scope in ("patterns:read", "matches:read", "patterns:write")] == [True, True, False]
    assert not any(caller.may(scope) for scope in SCOPES)


@pytest.mark.parametrize(
    "scope", ["patterns:write:payments-*", "matches:read:stream=flows", "patterns:read:a:b", *sorted(SCOPES)]
)
def test_scopes_that_are_some(scope: str) -> None:
    assert check([scope]) == {scope}


@pytest.mark.parametrize(
    "scope",
    [
        "patterns:write:", "patterns:write:pay*ments", "patterns:write:**", "patterns:read:stream=", "admin:p", "edges:write:p",
        "patterns", "patterns:delete:p", "patterns:read:a\nb", "matches:read:stream=a.b", "edges:write:stream=flows", "",
    ],
)  # fmt: skip
def test_what_is_no_scope_is_refused_and_grants_nothing(scope: str) -> None:
    with pytest.raises(ValueError, match="there is no scope"):
        check(["patterns:read", scope])
    with pytest.raises(FatalError, match="there is no scope"):
        AccessSettings(api_keys=[KeySettings(name="a", hash="0" * 64, scopes=[scope])]).authentication()
    caller = Caller("ann", frozenset({scope}))
    assert not any(caller.may_some(each) for each in SCOPES)


def test_a_message_names_what_is_enough() -> None:
    assert name_rights("matches:read") == "'matches:read'"
    assert name_rights("matches:read", "p", "b.a") == (
        "'matches:read' or 'matches:read:p' or 'matches:read:stream=a' with 'matches:read:stream=b'"
    )
