"""Build, bind and print REPORT: which matches are emitted, with DISTINCT and ONE PER."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.one_per import OnePer
from graphtide_core.pattern import Report

from graphtide_query.language import ast
from graphtide_query.language.clauses import bind_time
from graphtide_query.language.expression_printer import write_value
from graphtide_query.language.expressions import bind_expression
from graphtide_query.language.tokens import locate, span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from graphtide_core.any_pattern import MatchedPattern
    from lark import Token

    from graphtide_query.language.expressions import Names

_REPORTS = {report.name: report for report in Report}


def build_reporting(keyword: Token, said: Sequence[Token | ast.OnePer]) -> ast.Reporting:
    """Return the node of the clause; its place covers its words up to the keys."""
    words = [part for part in said if not isinstance(part, ast.OnePer)]
    one_per = next((part for part in said if isinstance(part, ast.OnePer)), None)
    report = next((_REPORTS[word.type] for word in words if word.type in _REPORTS), None)
    place = span(locate(keyword), locate(words[-1])) if words else locate(keyword)
    return ast.Reporting(report, any(word.type == "DISTINCT" for word in words), one_per, place)


def bind_one_per(reporting: ast.Reporting, names: Names) -> OnePer | None:
    """Return the bound of ONE PER, if it is stated.

    Raises:
        InvalidPatternError: as `bind_expression` and `bind_time`.
    """
    if reporting.one_per is None:
        return None
    keys = tuple(bind_expression(key, names) for key in reporting.one_per.keys)
    return OnePer(keys, bind_time(reporting.one_per.every.amount, reporting.one_per.every.unit, "the time of EVERY"))


def write_report(pattern: MatchedPattern, *, usual: Report) -> str:
    """Spell the clause, without its keyword; empty if it states only the `usual` report."""
    return " ".join(_write_parts(pattern, usual))


def _write_parts(pattern: MatchedPattern, usual: Report) -> Iterator[str]:
    if pattern.is_distinct:
        yield "DISTINCT"
    if pattern.report is not usual:
        yield pattern.report.value.upper()
    if pattern.one_per is not None:
        yield f"ONE PER {', '.join(map(write_value, pattern.one_per.keys))} EVERY {pattern.one_per.every}"
