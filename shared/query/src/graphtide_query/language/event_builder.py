"""The grammar's reductions for event patterns; see `builder`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.event_expression import OPERATORS
from graphtide_core.event_pattern import Selection
from lark import Token, Transformer, v_args

from graphtide_query.language import ast, event_ast
from graphtide_query.language.event_binder import bind_event_pattern
from graphtide_query.language.spelling import read_integer
from graphtide_query.language.tokens import constant_of, locate, name_of, negate_number, number_of, optional_name, span, text_of

if TYPE_CHECKING:
    from graphtide_core.event_pattern import EventPattern

_Token = Token | None
_Properties = tuple[ast.Property, ...] | None


@v_args(inline=True)
class EventRules(Transformer[Token, object]):
    """Builds nodes of event patterns, and binds the nodes of a pattern; holds no state."""

    def event_pattern(
        self, token: Token, root: event_ast.EventGroup, *clauses: event_ast.Clause
    ) -> tuple[ast.Name, EventPattern]:
        """`PATTERN name SEQ(…) clauses`."""
        name = name_of(token)
        return name, bind_event_pattern(event_ast.EventPatternNode(name, root, clauses))

    # ---- the event expression

    def event_expression(self, word: Token, _bracket: Token, *parts: event_ast.Part) -> event_ast.EventGroup:
        """`SEQ(a, b)`."""
        return event_ast.EventGroup(OPERATORS[word.type], parts, locate(word))

    def absent(self, keyword: Token, part: event_ast.Part) -> event_ast.Not:
        """`NOT a`."""
        return event_ast.Not(part, locate(keyword))

    def event(self, name: Token, kind: _Token, repeat: event_ast.Repeat | None, properties: _Properties) -> event_ast.Event:
        """`name:type{2,5} {…}`."""
        return event_ast.Event(name_of(name), optional_name(kind), repeat, properties or (), locate(name))

    def unnamed_event(
        self, colon: Token, kind: Token, repeat: event_ast.Repeat | None, properties: _Properties
    ) -> event_ast.Event:
        """`:type`."""
        return event_ast.Event(None, name_of(kind), repeat, properties or (), span(locate(colon), locate(kind)))

    def at_least_once(self, plus: Token) -> event_ast.Repeat:
        """`+`."""
        return event_ast.Repeat(1, None, locate(plus))

    def exactly(self, number: Token) -> event_ast.Repeat:
        """`{3}`."""
        count, place = read_integer(number, locate(number)), locate(number)
        return event_ast.Repeat(count, count, place)

    def between(self, least: Token, most: _Token) -> event_ast.Repeat:
        """`{2,5}`, `{2,}`."""
        place = locate(least)
        return event_ast.Repeat(read_integer(least, place), None if most is None else read_integer(most, place), place)

    # ---- the clauses

    def partition(self, keyword: Token, *names: Token) -> event_ast.Partition:
        """`PARTITION BY user, host`."""
        return event_ast.Partition(tuple(map(name_of, names)), locate(keyword))

    def within(self, keyword: Token, time: ast.Time) -> event_ast.Within:
        """`WITHIN 10m`."""
        return event_ast.Within(time, locate(keyword))

    def time(self, minus: _Token, amount: Token, unit: _Token) -> ast.Time:
        """`10m`."""
        number = constant_of(amount) if minus is None else negate_number(minus, number_of(amount), locate(amount))
        return ast.Time(number, optional_name(unit))

    def skip(self, keyword: Token, what: Token) -> event_ast.Skip:
        """`SKIP TILL NEXT`."""
        return event_ast.Skip(Selection(what.lower()), span(locate(keyword), locate(what)))

    def keys(self, *keys: ast.Expression) -> tuple[ast.Expression, ...]:
        """`a.user, b.host`."""
        return keys

    def one_per(self, keys: tuple[ast.Expression, ...], every: ast.Time) -> ast.OnePer:
        """`ONE PER a.user EVERY 10m`."""
        return ast.OnePer(keys, every)

    def returning(self, keyword: Token, *items: ast.Returned | ast.Everything) -> ast.Returning:
        """`RETURN a.x, sum(b.y) AS total`."""
        return ast.Returning(items, locate(keyword))

    def returned(self, value: ast.Expression, name: _Token) -> ast.Returned:
        """`sum(b.y) AS total`."""
        return ast.Returned(value, optional_name(name))

    def everything(self, star: Token) -> ast.Everything:
        """`*`."""
        return ast.Everything(locate(star))

    def description(self, keyword: Token, text: Token) -> ast.Description:
        """`DESCRIPTION 'text'`."""
        return ast.Description(text_of(text), locate(keyword))

    def severity(self, keyword: Token, level: Token) -> ast.SeverityLevel:
        """`SEVERITY high`."""
        return ast.SeverityLevel(name_of(level), locate(keyword))

    def tags(self, keyword: Token, *tags: Token) -> ast.Tags:
        """`TAGS 'a', 'b'`."""
        return ast.Tags(tuple(map(text_of, tags)), locate(keyword))

    def message(self, keyword: Token, template: Token) -> ast.MessageTemplate:
        """`MESSAGE 'seen: {v.id}'`."""
        return ast.MessageTemplate(text_of(template), locate(keyword))

    def on_timeout(self, keyword: Token) -> event_ast.OnTimeout:
        """`ON TIMEOUT`."""
        return event_ast.OnTimeout(locate(keyword))
