"""Bind and print DESCRIPTION, SEVERITY, TAGS and MESSAGE: what a pattern of any family says to people and alerts.

A message is filled from the match record alone, so it names ids of what the record has and fields that RETURN adds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from graphtide_core.annotations import NO_ANNOTATIONS, Annotations, Severity
from graphtide_core.errors import InvalidPatternError, Location
from graphtide_core.message_template import TemplateError, placeholders
from graphtide_core.suggestion import did_you_mean, show

from graphtide_query.language import ast
from graphtide_query.language.clauses import find_clause, place_errors
from graphtide_query.language.spelling import list_names, write_constant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    from graphtide_core.any_pattern import AnyPattern

    _P = TypeVar("_P", bound=AnyPattern)

KEYWORDS: Final = frozenset({"DESCRIPTION", "SEVERITY", "TAGS", "MESSAGE"})


class MessageNames(NamedTuple):
    """What a message may name.

    Attributes:
        parts: those whose ids the record of a match has.
        fields: those that it has.
        returnable: the parts whose attributes RETURN can add.
    """

    parts: frozenset[str]
    fields: frozenset[str] = frozenset()
    returnable: frozenset[str] = frozenset()


def annotate(pattern: _P, clauses: Iterable[object], names: MessageNames) -> _P:
    """Return the pattern with the annotations that its clauses state; `names` are those of the record of a match.

    Raises:
        InvalidPatternError: a clause comes twice, a text is empty or too long, or the severity is unknown. Or the message
            names what the match record does not have; with its place.
    Complexity: linear in the clauses and the names of the pattern.
    """
    found = [each for each in clauses if isinstance(each, ast.Annotation)]
    if not found:
        return pattern
    said = _bind(found)
    template = find_clause(found, ast.MessageTemplate, "MESSAGE")
    if template is not None:
        said = replace(said, message=_bind_message(template.template, names))
    return replace(pattern, annotations=said)


def _bind(clauses: Iterable[ast.Annotation]) -> Annotations:
    said = NO_ANNOTATIONS
    description = find_clause(clauses, ast.Description, "DESCRIPTION")
    if description is not None:
        with place_errors(description.text.location):
            said = replace(said, description=_text(description.text))
    level = find_clause(clauses, ast.SeverityLevel, "SEVERITY")
    if level is not None:
        said = replace(said, severity=_bind_severity(level.level))
    tags = find_clause(clauses, ast.Tags, "TAGS", "separate tags by commas: TAGS 'a', 'b'")
    if tags is not None:
        bound: tuple[str, ...] = ()
        for tag in tags.tags:
            bound = (*bound, _text(tag))
            with place_errors(tag.location):
                said = replace(said, tags=bound)
    return said


def _bind_severity(level: ast.Name) -> Severity:
    try:
        return Severity(level.text.lower())
    except ValueError:
        levels = [each.value for each in Severity]
        message = f"there is no severity {show(level.text)}"
        hint = did_you_mean(level.text.lower(), levels) or "one of " + ", ".join(levels)
        raise InvalidPatternError(message, level.location, hint=hint) from None


def _bind_message(template: ast.Constant, named: MessageNames) -> str:
    text = _text(template)
    try:
        with place_errors(template.location):
            Annotations(message=text)
        found = placeholders(text)
    except InvalidPatternError as error:
        cause = error.__context__
        if isinstance(cause, TemplateError):
            raise InvalidPatternError(cause.reason, _place(template, cause.offset, 1), hint=cause.hint) from None
        raise
    for each in found:
        _refuse_unknown(each.name, _place(template, each.offset + 1, max(1, len(each.name))), named)
    return text


def _refuse_unknown(name: str, place: Location, named: MessageNames) -> None:
    if name in named.fields:
        return
    part, _, attribute = name.rpartition(".")
    if part in named.parts:
        if attribute == "id":
            return
        message = f"the record of a match has no {show(name)}"
        has_more = part in named.returnable
        hint = f"add it to the record by RETURN {name}" if has_more else f"it has the id alone: {{{part}.id}}"
        raise InvalidPatternError(message, place, hint=hint)
    known = {f"{each}.id" for each in named.parts} | named.fields
    message = f"the message names {show(name)}, which a match does not have"
    hint = did_you_mean(name, sorted(known)) or f"it has {list_names(known).replace('`', '')}"
    if name in named.parts:
        hint = f"write {{{name}.id}}"
    raise InvalidPatternError(message, place, hint=hint)


def _text(constant: ast.Constant) -> str:
    return str(constant.value)


def _place(constant: ast.Constant, offset: int, length: int) -> Location:
    """Return the place of a part of a text; of the whole text where escapes move its characters."""
    whole = constant.location
    has_escapes = whole.length != len(_text(constant)) + 2
    return whole if has_escapes else Location(whole.line, whole.column + 1 + offset, length)


def write_annotations(annotations: Annotations) -> Iterator[str]:
    """Yield the clauses, a line each."""
    if annotations.description is not None:
        yield f"DESCRIPTION {write_constant(annotations.description)}"
    if annotations.severity is not None:
        yield f"SEVERITY {annotations.severity.value}"
    if annotations.tags:
        yield f"TAGS {', '.join(map(write_constant, annotations.tags))}"
    if annotations.message is not None:
        yield f"MESSAGE {write_constant(annotations.message)}"
