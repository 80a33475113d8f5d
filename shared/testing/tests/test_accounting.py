"""An account finds each kind of wrong, and nothing in what is right."""

from __future__ import annotations

import pytest
from graphtide_testing.accounting import Account, Reported

OFFSETS = [1, 2, 3, 4, 5, 6]


def account() -> Account:
    """A name that was registered at 2, replaced at 4, and still active."""
    made = Account()
    made.register(1, 2)
    made.replace(2, 4)
    return made


def test_versions_that_meet_where_the_second_was_registered_are_right() -> None:
    assert account().flaws([(1, 2), (1, 3), (2, 4), (2, 5), (2, 6)], OFFSETS) == []


def test_the_first_version_may_end_later_than_the_second_was_registered() -> None:
    assert account().flaws([(1, 2), (1, 3), (1, 4), (2, 5), (2, 6)], OFFSETS) == []


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        ([(1, 2), (1, 2), (1, 3), (2, 4), (2, 5), (2, 6)], "version 1 reported 2 2 times"),
        ([(1, 2), (1, 3), (1, 4), (2, 4), (2, 5), (2, 6)], "follows"),
        ([(1, 2), (2, 3), (2, 4), (2, 5), (2, 6)], "version 2 reported 3, before its start"),
        ([(1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (2, 6)], "1 was reported before the start"),
        ([(1, 2), (2, 4), (2, 5), (2, 6)], "3 was not reported, and 4 was"),
        ([(1, 2), (1, 3), (2, 4), (2, 5)], "1 from 6 on were not reported"),
        ([(1, 2), (1, 3), (2, 4), (2, 5), (2, 6), (7, 6)], "version 7 is unknown"),
    ],
)
def test_what_is_wrong_is_said(reported: list[Reported], said: str) -> None:
    assert any(said in flaw for flaw in account().flaws(reported, OFFSETS))


def test_a_pause_leaves_a_gap_and_a_deletion_ends_anywhere() -> None:
    made = Account()
    made.register(1, 1)
    made.pause()
    made.resume(5)
    assert made.flaws([(1, 1), (1, 2), (1, 5), (1, 6)], OFFSETS) == []
    assert made.flaws([(1, 1), (1, 2), (1, 6)], OFFSETS) == ["5 was not reported, and 6 was", "1 from 5 on were not reported"]
    made.delete()
    assert made.flaws([(1, 1), (1, 5)], OFFSETS) == []


def test_a_version_that_was_given_again_belongs_to_the_life_that_reported_it() -> None:
    made = account()
    made.delete()
    made.register(2, 6)
    assert made.flaws([(1, 2), (1, 3), (2, 6)], OFFSETS) == []
    assert made.flaws([(1, 2), (1, 3), (2, 4), (2, 6)], OFFSETS) == []
    assert made.flaws([(1, 2), (1, 3), (2, 4)], OFFSETS) == ["1 from 6 on were not reported"]
