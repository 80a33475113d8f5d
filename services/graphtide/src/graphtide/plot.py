"""Charts as SVG: lines and stacked areas, linear or logarithmic axes, a legend, several charts one below the other.

Plain values in, one text out; equal charts give equal texts. The style is fixed: people who see few colours can distinguish
these (Okabe and Ito's), and after all of them lines are dashed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, Final

from graphtide_query.markup import markup

from graphtide.date_ticks import Tick, date_ticks, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
_DASHES: Final = ("", "6 3", "2 2", "8 2 2 2")
_WIDTH, _HEIGHT = 900, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 270, 36, 52
_TICKS: Final = 6
_FEW_POWERS: Final = 100
"""With a smaller ratio of its ends, a logarithmic axis has ticks at 2 and 5 times the powers of ten, too."""
_LEGEND_LINE: Final = 17
_LONGEST_NAME: Final = 38
_MOST_MARKS: Final = 60
"""A line with at most so many points marks each of them."""


class Kind(Enum):
    """How series are drawn."""

    LINES = "lines"
    STACKED = "stacked"


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows.

    A logarithmic one leaves out what is not above zero. A `whole` one has ticks at integers alone. One of `dates` shows seconds
    since the epoch as dates, and has no other title than that.
    """

    title: str
    logarithmic: bool = False
    whole: bool = False
    dates: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, in the order of x."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Series over two axes. Stacked ones have the same x everywhere and no negative y; the first lies at the bottom."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    kind: Kind = Kind.LINES


def to_svg(charts: Sequence[Chart]) -> str:
    """Return one drawing of the charts, the first at the top.

    Raises:
        ValueError: stacked series differ in their x, or a stacked chart has a logarithmic y, where heights would not add up.
    """
    height = _HEIGHT * max(1, len(charts))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    for place, chart in enumerate(charts):
        parts += [f'<g transform="translate(0 {place * _HEIGHT})">', *_chart(chart), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    whole: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = log10(value), log10(low), log10(high)
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round values between the ends."""
        if self.logarithmic:
            first, last = floor(log10(self.low)), ceil(log10(self.high))
            factors = (1, 2, 5) if self.high / self.low <= _FEW_POWERS else (1,)
            powers = range(first, last + 1, max(1, ceil((last - first) / _TICKS)))
            ticks = [factor * 10.0**power for power in powers for factor in factors]
            return [tick for tick in ticks if self.low * (1 - 1e-9) <= tick <= self.high * (1 + 1e-9)]
        step = _step(self.low, self.high)
        if self.whole:
            step = max(1.0, step)
        return [step * number for number in range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1)]


def _scale(values: Sequence[float], axis: Axis, start: float, end: float, *, from_zero: bool) -> _Scale:
    shown = [value for value in values if isfinite(value) and (value > 0 or not axis.logarithmic)]
    low, high = min(shown, default=1.0), max(shown, default=10.0)
    if axis.logarithmic:
        low, high = _round_ends(low, high)
        return _Scale(low, high if high > low else low * 10, start, end, logarithmic=True)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
        step = _step(low, high) if high > low else 1.0
        low, high = floor(low / step) * step, ceil(high / step - 1e-9) * step
    return _Scale(low, high if high > low else low + 1, start, end, logarithmic=False, whole=axis.whole)


def _round_ends(low: float, high: float) -> tuple[float, float]:
    """Return the nearest numbers around a range that are 1, 2 or 5 times a power of ten; of a long range, powers of ten."""
    factors = (1, 2, 5) if high / low <= _FEW_POWERS else (1,)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    rounds = [factor * 10.0**power for power in powers for factor in factors]
    below = max(each for each in rounds if each <= low * (1 + 1e-9))
    return below, min(each for each in rounds if each >= high * (1 - 1e-9))


def _step(low: float, high: float) -> float:
    """Return a round step that makes about `_TICKS` of the range."""
    rough = (high - low) / _TICKS
    power = 10.0 ** floor(log10(rough))
    return float(next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9)) * power)


def _chart(chart: Chart) -> Iterator[str]:
    stacked = chart.kind is Kind.STACKED
    if stacked and chart.y.logarithmic:
        message = "heights on a logarithmic axis do not add up; stack on a linear one"
        raise ValueError(message)
    lines = _stack(chart.series) if stacked else [series.points for series in chart.series]
    points = [point for line in lines for point in line]
    x = _scale([x for x, _ in points], chart.x, _LEFT, _WIDTH - _RIGHT, from_zero=False)
    y = _scale([y for _, y in points], chart.y, _HEIGHT - _BOTTOM, _TOP, from_zero=True)
    yield f'<text x="{_LEFT}" y="22" font-size="14" font-weight="bold">{markup(chart.title)}</text>'
    yield from _grid(chart, x, y)
    if stacked:
        bottoms: list[Sequence[tuple[float, float]]] = [[(at, 0.0) for at, _ in line] for line in lines[:1]]
        bottoms += lines[:-1]
        for place, (bottom, top) in enumerate(zip(bottoms, lines, strict=True)):
            outline = _points([*top, *reversed(bottom)], x, y)
            yield f'<polygon points="{outline}" fill="{_colour(place)}" fill-opacity="{_opacity(place)}"/>'
    else:
        for place, line in enumerate(lines):
            yield from _line(place, [p for p in line if _show(p, chart)], x, y)
    yield from _legend(chart)


def _stack(series: Sequence[Series]) -> list[Sequence[tuple[float, float]]]:
    for one, other in pairwise(series):
        if [x for x, _ in one.points] != [x for x, _ in other.points]:
            message = f"the series {one.name!r} and {other.name!r} cannot be stacked: their x differ"
            raise ValueError(message)
    heights = [0.0] * (len(series[0].points) if series else 0)
    lines: list[Sequence[tuple[float, float]]] = []
    for each in series:
        heights = [height + y for height, (_, y) in zip(heights, each.points, strict=True)]
        lines.append([(x, height) for (x, _), height in zip(each.points, heights, strict=True)])
    return lines


def _show(point: tuple[float, float], chart: Chart) -> bool:
    x, y = point
    return isfinite(x) and isfinite(y) and (x > 0 or not chart.x.logarithmic) and (y > 0 or not chart.y.logarithmic)


def _line(place: int, line: Sequence[tuple[float, float]], x: _Scale, y: _Scale) -> Iterator[str]:
    dash = _DASHES[place // len(_COLOURS) % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield f'<polyline points="{_points(line, x, y)}" fill="none" stroke="{_colour(place)}" stroke-width="1.8"{dashed}/>'
    if len(line) <= _MOST_MARKS:
        for at, value in line:
            yield f'<circle cx="{x(at):.1f}" cy="{y(value):.1f}" r="2.4" fill="{_colour(place)}"/>'


def _points(line: Sequence[tuple[float, float]], x: _Scale, y: _Scale) -> str:
    return " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in line)


def _grid(chart: Chart, x: _Scale, y: _Scale) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for tick in y.ticks():
        at = f"{y(tick):.1f}"
        yield f'<line x1="{_LEFT}" y1="{at}" x2="{right}" y2="{at}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{at}" text-anchor="end" dy="0.35em">{_number(tick)}</text>'
    dated = date_ticks(x.low, x.high, _TICKS) if chart.x.dates else [Tick(tick, _number(tick)) for tick in x.ticks()]
    for tick, text in dated:
        at = f"{x(tick):.1f}"
        yield f'<line x1="{at}" y1="{bottom}" x2="{at}" y2="{bottom + 5}" stroke="#444"/>'
        yield f'<text x="{at}" y="{bottom + 19}" text-anchor="middle">{text}</text>'
    title = title_of(x.low, x.high) if chart.x.dates else chart.x.title
    yield f'<line x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#444"/>'
    middle, height = (_LEFT + right) / 2, (_TOP + bottom) / 2
    yield f'<text x="{middle:.0f}" y="{_HEIGHT - 12}" text-anchor="middle">{markup(title)}</text>'
    yield (
        f'<text x="18" y="{height:.0f}" text-anchor="middle" transform="rotate(-90 18 {height:.0f})">'
        f"{markup(chart.y.title)}</text>"
    )


def _legend(chart: Chart) -> Iterator[str]:
    left = _WIDTH - _RIGHT + 16
    entries = list(enumerate(chart.series))
    if chart.kind is Kind.STACKED:
        entries.reverse()
    for line, (place, series) in enumerate(entries[: (_HEIGHT - _TOP - _BOTTOM) // _LEGEND_LINE]):
        at = _TOP + 8 + line * _LEGEND_LINE
        opacity = f' fill-opacity="{_opacity(place)}"' if chart.kind is Kind.STACKED else ""
        name = series.name if len(series.name) <= _LONGEST_NAME else series.name[: _LONGEST_NAME - 1] + "…"
        yield f'<rect x="{left}" y="{at - 5}" width="12" height="10" fill="{_colour(place)}"{opacity}/>'
        yield (
            f'<text x="{left + 18}" y="{at}" dy="0.35em" font-size="11">{markup(name)}'
            f"<title>{markup(series.name)}</title></text>"
        )


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _opacity(place: int) -> float:
    """Return how dense an area is: less each time the colours come around."""
    return round(max(0.25, 0.9 - 0.3 * (place // len(_COLOURS))), 2)


def _number(value: float) -> str:
    """Return a short form: 2.5M, 10k, 0.001."""
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.4g}{suffix}"
    return "0" if abs(value) < 1e-12 else f"{value:.4g}"
