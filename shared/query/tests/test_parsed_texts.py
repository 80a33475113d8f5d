"""Patterns of texts are kept while the texts have so many characters in all."""

from __future__ import annotations

from graphtide_query import parse
from graphtide_query.language.parsed import ParsedTexts

PATTERNS = parse("PATTERN p MATCH (a)-[e]->(b) ON s WINDOW 1")


def test_a_text_that_is_parsed_again_gives_the_same_patterns() -> None:
    text = "PATTERN again MATCH (a)-[e]->(b) ON s WINDOW 1"
    assert parse(text) is parse(text)


def test_texts_used_longest_ago_go_where_all_have_too_many_characters() -> None:
    kept = ParsedTexts(most=10)
    for text in ("aaaa", "bbbb"):
        kept.put(text, "", PATTERNS)
    assert kept.get("aaaa", "") is PATTERNS
    kept.put("cccc", "", PATTERNS)
    assert [text for text in ("aaaa", "bbbb", "cccc") if kept.get(text, "") is not None] == ["aaaa", "cccc"]


def test_a_text_that_is_put_twice_counts_once() -> None:
    kept = ParsedTexts(most=10)
    for text in ("aaaaa", "aaaaa", "bbbbb"):
        kept.put(text, "", PATTERNS)
    assert kept.get("aaaaa", "") is PATTERNS


def test_a_text_larger_than_all_may_be_is_not_kept_and_drives_out_none() -> None:
    kept = ParsedTexts(most=10)
    kept.put("aaaa", "", PATTERNS)
    kept.put("b" * 11, "", PATTERNS)
    assert (kept.get("aaaa", ""), kept.get("b" * 11, "")) == (PATTERNS, None)


def test_a_text_is_kept_for_the_language_that_it_was_parsed_in() -> None:
    kept = ParsedTexts()
    kept.put("a", ("more",), PATTERNS)
    assert kept.get("a", ()) is None
