"""Calls of functions: of any over any parts, and of some over what a generated pattern reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from graphtide_core.functions import DATE_PARTS, FUNCTIONS
from graphtide_core.predicate import FunctionCall, Literal
from hypothesis import strategies as st

if TYPE_CHECKING:
    from graphtide_core.predicate import Expression
    from hypothesis.strategies import DrawFn, SearchStrategy

    from graphtide_testing.strategies.choices import Choices

ZONES: Final = st.sampled_from(["UTC", "+0530", "+02:00", "-11:30", "Europe/Berlin", "America/St_Johns"])
_REGEXES: Final = st.sampled_from(["a(b)c", r"(?P<h>\S+) [^\]\"]+", "x", r"(?i)^(\d{1,3})\.", "(?:a|b)*?$"])


@st.composite
def calls(draw: DrawFn, part: SearchStrategy[Any]) -> FunctionCall[Any]:
    """A call of any function, of such parts and of constants where it takes nothing else."""
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    function = FUNCTIONS[name]
    count = draw(st.integers(function.least, min(function.most, function.least + 2)))
    arguments: list[Any] = [draw(part) for _ in range(count)]
    match name:
        case "regexp_extract":
            arguments[1:] = [Literal(draw(_REGEXES)), Literal(0)][: count - 1]
        case "round":
            arguments[1:] = [Literal(draw(st.integers(0, 15)))][: count - 1]
        case "date_part":
            arguments[0] = Literal(draw(st.sampled_from(DATE_PARTS)))
            arguments[2:] = [Literal(draw(ZONES))][: count - 2]
        case "cidr_contains":
            arguments[0] = Literal(draw(st.sampled_from(["10.0.0.0/8", "2001:db8::/32", "10.0.0.1"])))
    return FunctionCall(name, tuple(arguments))


def draw_call(choices: Choices, value: Expression) -> Expression:
    """Return the value, or now and then a function of it: often what it got, so that matches remain."""
    if not choices.rarely(6):
        return value
    match choices.integer(0, 8):
        case 0:
            return FunctionCall("lower", (FunctionCall("upper", (value,)),))
        case 1:
            return FunctionCall("coalesce", (value, Literal(choices.one_of((0, "p")))))
        case 2:
            return FunctionCall("abs", (value,))
        case 3:
            return FunctionCall("least", (value, Literal(choices.one_of((1, "q", 2.5)))))
        case 4:
            return FunctionCall("to_number", (FunctionCall("concat", (value, Literal("0"))),))
        case 5:
            return FunctionCall("regexp_extract", (value, Literal(choices.one_of(("[a-z]+", "(.)$", "1")))))
        case 6:
            return FunctionCall("round", (value,))
        case 7:
            return FunctionCall("length", (FunctionCall("hash", (value,)),))
        case _:
            return FunctionCall("replace", (value, Literal("p"), Literal("q")))
