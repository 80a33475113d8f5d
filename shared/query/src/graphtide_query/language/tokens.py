"""Turn tokens into the smallest nodes: names and numbers, with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.errors import Location

from graphtide_query.language import ast
from graphtide_query.language.spelling import read_float, read_integer, read_name, read_string

if TYPE_CHECKING:
    from lark import Token


def locate(token: Token) -> Location:
    """Return the place of a token."""
    return Location(token.line or 1, token.column or 1, max(1, len(token)))


def span(first: Location, last: Location) -> Location:
    """Return the place that covers both, if they are on one line; otherwise the first."""
    if first.line != last.line:
        return first
    return Location(first.line, first.column, last.column + last.length - first.column)


def name_of(token: Token) -> ast.Name:
    """Return the name that a token spells."""
    return ast.Name(read_name(token), locate(token))


def optional_name(token: Token | None) -> ast.Name | None:
    """Return the name that a token spells, if there is one."""
    return None if token is None else name_of(token)


def number_of(token: Token) -> int | float:
    """Return the number that a token spells.

    Raises:
        InvalidPatternError: too large to be read.
    """
    return read_integer(token, locate(token)) if token.type == "INTEGER" else read_float(token, locate(token))


def constant_of(token: Token) -> ast.Constant:
    """Return the number that a token spells, with its place."""
    return ast.Constant(number_of(token), locate(token))


def text_of(token: Token) -> ast.Constant:
    """Return the text that a quoted token spells, with its place.

    Raises:
        InvalidPatternError: as `read_string`.
    """
    return ast.Constant(read_string(token, locate(token)), locate(token))


def negate_number(minus: Token, number: int | float, location: Location) -> ast.Constant:
    """Return a number with the sign before it."""
    return ast.Constant(-number, span(locate(minus), location))
