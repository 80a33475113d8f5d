"""What a family adds to the grammar, so that its patterns are written in one text with those of others.

The grammar stays one: LALR(1) over all rules, so a text is read once, and its errors name what each family would have taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lark import Transformer


@dataclass(frozen=True, slots=True)
class Dialect:
    """An extension of the grammar.

    Attributes:
        grammar: rules and terminals in the notation of `grammar.lark`. It extends `pattern` by a rule of its own, and names
            what that grammar does not have.
        rules: a class with a method for each of these rules, as `builder.Builder` has; what `pattern` becomes is the name of
            the pattern, with its place, and the pattern.
        keywords: terminals that begin with a keyword of its own, as errors name what could have come.
    """

    grammar: str
    rules: type[Transformer[Any, Any]]
    keywords: tuple[str, ...] = ()
