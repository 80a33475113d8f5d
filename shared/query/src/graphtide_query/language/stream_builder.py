"""The reductions of STREAM statements; see `builder`, which has those that they share with patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphtide_core.record_expression import ItemWhere
from lark import Token, Transformer, v_args

from graphtide_query.language import ast, stream_ast
from graphtide_query.language.binder import check_names
from graphtide_query.language.spelling import read_integer, read_string
from graphtide_query.language.table_binder import bind_statements
from graphtide_query.language.tokens import locate, name_of, optional_name, span
from graphtide_query.views import refuse_view_cycles

if TYPE_CHECKING:
    from graphtide_core.any_pattern import AnyPattern
    from graphtide_core.record_expression import PathStep
    from graphtide_core.stream_definition import StreamDefinition

    from graphtide_query.language.stream_ast import RecordNode

_Named = tuple[ast.Name, "stream_ast.StreamNode | stream_ast.TableNode | AnyPattern"]


def _text_of(token: Token) -> ast.Constant:
    return ast.Constant(read_string(token, locate(token)), locate(token))


def _column_of(token: Token) -> ast.Name:
    return name_of(token) if token.type == "NAME" else ast.Name(read_string(token, locate(token)), locate(token))


@v_args(inline=True)
class StreamRules(Transformer[Token, object]):
    """Builds nodes of statements, and binds them at the end of the text, which has their tables; holds no state."""

    def start(self, earlier: list[_Named], last: _Named) -> tuple[StreamDefinition | AnyPattern, ...]:
        """File."""
        tables: list[stream_ast.TableNode] = []
        streams: list[stream_ast.StreamNode] = []
        patterns: list[tuple[ast.Name, AnyPattern]] = []
        for name, each in (*earlier, last):
            match each:
                case stream_ast.TableNode():
                    tables.append(each)
                case stream_ast.StreamNode():
                    streams.append(each)
                case _:
                    patterns.append((name, each))
        bound = bind_statements(tables, streams)
        check_names(patterns)
        refuse_view_cycles(tuple(pattern for _, pattern in patterns))
        return (*bound, *(pattern for _, pattern in patterns))

    def stream_statement(self, token: Token, *clauses: stream_ast.StreamClause) -> tuple[ast.Name, stream_ast.StreamNode]:
        """`STREAM name clauses`."""
        name = name_of(token)
        return name, stream_ast.StreamNode(name, clauses)

    # ---- tables

    def table_statement(
        self, token: Token, file: Token, *clauses: stream_ast.TableClause
    ) -> tuple[ast.Name, stream_ast.TableNode]:
        """`TABLE name FROM 'file' clauses`."""
        name = name_of(token)
        return name, stream_ast.TableNode(name, _text_of(file), clauses)

    def table_key(self, keyword: Token, column: Token) -> stream_ast.KeyNode:
        """`KEY id`."""
        return stream_ast.KeyNode(name_of(column), locate(keyword))

    def reload(self, keyword: Token, time: ast.Time) -> stream_ast.ReloadNode:
        """`RELOAD 5m`."""
        return stream_ast.ReloadNode(time, locate(keyword))

    def join(self, keyword: Token, table: Token, alias: Token | None, _on: Token, condition: RecordNode) -> stream_ast.JoinNode:
        """`JOIN risk AS payer ON src = payer.id`."""
        return stream_ast.JoinNode(name_of(table), optional_name(alias), condition, locate(keyword))

    # ---- the format

    def record_format(
        self, keyword: Token, name: Token, pattern: Token | None, *options: stream_ast.OptionNode | Token
    ) -> stream_ast.FormatNode:
        """`FORMAT csv (DELIMITER ';')`."""
        stated = tuple(each for each in options if isinstance(each, stream_ast.OptionNode))
        text = None if pattern is None else _text_of(pattern)
        return stream_ast.FormatNode(name_of(name), text, stated, locate(keyword))

    def format_option(self, option: Token, value: Token | stream_ast.FieldNode | tuple[ast.Name, ...]) -> stream_ast.OptionNode:
        """`DELIMITER ';'`."""
        return stream_ast.OptionNode(name_of(option), _text_of(value) if isinstance(value, Token) else value)

    def columns(self, _bracket: Token, *names: Token) -> tuple[ast.Name, ...]:
        """`(ts, 'id.orig_h')`."""
        return tuple(map(_column_of, names))

    # ---- edges and events

    def record_edge(
        self, keyword: Token, source: stream_ast.EndNode, *others: Token | RecordNode | stream_ast.EndNode | None
    ) -> stream_ast.EdgeNode:
        """`EDGE (src:ip)-[proto]->(dst:ip)`."""
        *arrow, target = others
        label = next((each for each in arrow if each is not None and not isinstance(each, Token)), None)
        return stream_ast.EdgeNode(source, label, target, locate(keyword))  # type: ignore[arg-type]  # as the rule orders them

    def labelled_end(self, _bracket: Token, value: RecordNode, label: RecordNode | None) -> stream_ast.EndNode:
        """`(src:ip)`."""
        return stream_ast.EndNode(value, label)

    def constant_label(self, *tokens: Token) -> ast.Constant:
        """`ip`, or `:pay`."""
        name = name_of(tokens[-1])
        return ast.Constant(name.text, name.location)

    def record_event(self, keyword: Token, kind: RecordNode) -> stream_ast.EventNode:
        """`EVENT kind`."""
        return stream_ast.EventNode(kind, locate(keyword))

    # ---- the other clauses

    def record_time(self, keyword: Token, value: RecordNode, unit: Token | None) -> stream_ast.TimeNode:
        """`AT ts IN s`."""
        return stream_ast.TimeNode(value, optional_name(unit), locate(keyword))

    def time_format(self, keyword: Token, text: Token) -> stream_ast.TimeFormatNode:
        """`FORMAT '%Y-%m-%d'`."""
        return stream_ast.TimeFormatNode(_text_of(text), locate(keyword))

    def time_zone(self, keyword: Token, text: Token) -> stream_ast.ZoneNode:
        """`ZONE 'Europe/Berlin'`."""
        return stream_ast.ZoneNode(_text_of(text), locate(keyword))

    def time_before(self, keyword: Token, text: Token) -> stream_ast.BeforeNode:
        """`BEFORE '2027-01-01'`."""
        return stream_ast.BeforeNode(_text_of(text), locate(keyword))

    def stream_unit(self, keyword: Token, unit: Token) -> stream_ast.UnitNode:
        """`UNIT ms`."""
        return stream_ast.UnitNode(name_of(unit), locate(keyword))

    def record_id(self, keyword: Token, value: RecordNode) -> stream_ast.IdNode:
        """`ID uid`."""
        return stream_ast.IdNode(value, locate(keyword))

    def set(self, keyword: Token, *values: tuple[ast.Name, RecordNode]) -> stream_ast.SetNode:
        """`SET bytes = orig_bytes + resp_bytes`."""
        return stream_ast.SetNode(values, locate(keyword))

    def assignment(
        self, name: Token, _sign: Token, value: RecordNode | stream_ast.AggregateNode
    ) -> tuple[ast.Name, RecordNode | stream_ast.AggregateNode]:
        """`name = value`."""
        return name_of(name), value

    def summary(self, function: Token, _bracket: Token, *of: Token) -> stream_ast.AggregateNode:
        """`count(*)`, `count(DISTINCT dst)`."""
        return stream_ast.AggregateNode(name_of(function), None if len(of) == 1 else name_of(of[1]), len(of) > 1)

    def record_where(self, keyword: Token, condition: RecordNode) -> stream_ast.FilterNode:
        """`WHERE condition`."""
        return stream_ast.FilterNode(condition, locate(keyword))

    def delete_where(self, first: Token, _where: Token, condition: RecordNode) -> stream_ast.DeleteNode:
        """`DELETE WHERE condition`."""
        return stream_ast.DeleteNode(condition, locate(first))

    def update_where(self, first: Token, _where: Token, condition: RecordNode) -> stream_ast.UpdateNode:
        """`UPDATE WHERE condition`."""
        return stream_ast.UpdateNode(condition, locate(first))

    def nulls(self, keyword: Token, *texts: Token) -> stream_ast.NullNode:
        """`NULL '-', '(empty)'`."""
        return stream_ast.NullNode(tuple(map(_text_of, texts)), locate(keyword))

    def lateness(self, keyword: Token, time: ast.Time) -> stream_ast.LatenessNode:
        """`LATENESS 30s`."""
        return stream_ast.LatenessNode(time, locate(keyword))

    def duplicates(self, keyword: Token, policy: Token) -> stream_ast.DuplicatesNode:
        """`DUPLICATES UPDATE`."""
        return stream_ast.DuplicatesNode(name_of(policy), locate(keyword))

    def stream_clock(self, keyword: Token, clock: Token) -> stream_ast.ClockNode:
        """`CLOCK live`."""
        return stream_ast.ClockNode(name_of(clock), locate(keyword))

    def stream_partition(self, keyword: Token, value: Token | RecordNode, parts: Token | None) -> stream_ast.PartitionNode:
        """`PARTITION BY host PARTS 8`, `PARTITION BY VERTEX`."""
        place = locate(keyword if parts is None else parts)
        number = None if parts is None else ast.Constant(read_integer(parts, place), place)
        return stream_ast.PartitionNode(None if isinstance(value, Token) else value, number, locate(keyword))

    def feature(self, keyword: Token, name: Token, _sign: Token, function: Token, _bracket: Token, *rest: object) -> object:
        """`FEATURE sent = sum(bytes) PER src OVER 1m`."""
        *argument, keys, over, against, exclude = rest
        of = argument[-1]
        return stream_ast.FeatureNode(
            name_of(name),
            name_of(function),
            None if not isinstance(of, Token) or of.type == "STAR" else name_of(of),
            len(argument) == 2 and argument[0] is not None,
            keys if isinstance(keys, tuple) else (),
            over,  # type: ignore[arg-type]  # as the rule orders them
            against,  # type: ignore[arg-type]
            exclude is not None,
            locate(keyword),
        )

    def emit(
        self,
        keyword: Token,
        given: stream_ast.EdgeNode | stream_ast.EventNode,
        keys: tuple[tuple[ast.Name, ast.Name | None], ...] | None,
        every: ast.Time,
    ) -> stream_ast.EmitNode:
        """`EMIT EDGE (src)-[:burst]->(dst) EVERY 1m`."""
        return stream_ast.EmitNode(given, keys or (), every, locate(keyword))

    def emitted_keys(self, *keys: tuple[ast.Name, ast.Name | None]) -> tuple[tuple[ast.Name, ast.Name | None], ...]:
        """`src AS host, port`."""
        return keys

    def emitted_key(self, of: Token, name: Token | None) -> tuple[ast.Name, ast.Name | None]:
        """`src AS host`."""
        return name_of(of), optional_name(name)

    def having(self, keyword: Token, condition: RecordNode) -> stream_ast.HavingNode:
        """`HAVING n > 100`."""
        return stream_ast.HavingNode(condition, locate(keyword))

    def names(self, *names: Token) -> tuple[ast.Name, ...]:
        """`src, dst`."""
        return tuple(map(name_of, names))

    # ---- expressions over a record

    def field_path(self, *tokens: Token) -> stream_ast.FieldNode:
        """`OUTER.a.b[0].c[key = 'x']`."""
        outer = sum(each.type == "OUTER" for each in tokens)
        steps: list[PathStep] = []
        for each in tokens[outer:]:
            match each.type:
                case "INTEGER":
                    steps.append(read_integer(each, locate(each)))
                case "STRING":
                    steps.append(ItemWhere(str(steps.pop()), read_string(each, locate(each))))
                case "NAME":
                    steps.append(name_of(each).text)
        return stream_ast.FieldNode(tuple(steps), span(locate(tokens[0]), locate(tokens[-1])), outer)
