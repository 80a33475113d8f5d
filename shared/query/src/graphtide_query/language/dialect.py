"""Describe how a family extends the grammar, so that one text may have patterns of several families.

There is still one grammar: LALR(1) over all rules. A text is read once, and its errors name what each family expects.
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
        grammar: rules and terminals in the notation of `grammar.lark`. It extends `pattern` by its own rule, and defines what
            that grammar does not have.
        rules: a class with a method for each of these rules, as `builder.Builder` has. The rule of `pattern` returns the name
            of the pattern, with its place, and the pattern.
        keywords: terminals that begin with its own keywords, as errors name them.
    """

    grammar: str
    rules: type[Transformer[Any, Any]]
    keywords: tuple[str, ...] = ()
