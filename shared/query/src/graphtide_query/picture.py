"""Draw plans as SVG: a box for each node, arrows from its inputs, the match at the bottom.

Layers are counted from the bottom, so that what a join reads lies right above it. In a layer, boxes are in the order that their
neighbours have. Text has a fixed width, as the widths of letters are unknown here. Equal plans give equal texts.

Complexity: O(nodes log nodes + inputs).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from graphtide_query.markup import markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LETTER: Final = 7.3
"""Width of a letter of the font, and a little more."""
_LINE: Final = 16
_PADDING: Final = 10
_BETWEEN: Final = 24
_LAYERS_APART: Final = 36
_MARGIN: Final = 16
_TITLE: Final = 28
_LONGEST_LINE: Final = 110
_SWEEPS: Final = 4


@dataclass(frozen=True, slots=True)
class Box:
    """A node: its name, the names of those it reads, and the lines of text in it."""

    name: str
    inputs: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def width(self) -> float:
        """Its width."""
        return max(len(line) for line in self.lines) * _LETTER + 2 * _PADDING

    @property
    def height(self) -> float:
        """Its height."""
        return len(self.lines) * _LINE + _PADDING


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes under a title, inputs first, with notes below them."""

    title: str
    boxes: tuple[Box, ...]
    notes: tuple[str, ...] = ()


def to_svg(drawings: Sequence[Drawing]) -> str:
    """Return the drawings as one picture, the first at the top."""
    parts: list[str] = []
    width, top = 0.0, 0.0
    for drawing in drawings:
        layout = _Layout(_shorten(drawing))
        parts += [f'<g transform="translate(0 {top:.0f})">', *layout.drawn(), "</g>"]
        width, top = max(width, layout.width), top + layout.height
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {top:.0f}" width="{width:.0f}" '
            f'height="{top:.0f}" font-family="monospace" font-size="12">',
            '<defs><marker id="graphtide-arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs>',
            f'<rect width="{width:.0f}" height="{top:.0f}" fill="white"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


class _Layout:
    """Where the boxes of one drawing stand."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        layers = _layers(drawing.boxes)
        rows = [_row_width(layer) for layer in layers]
        texts = [len(line) * _LETTER for line in (drawing.title, *drawing.notes)]
        self.width = max([*rows, *texts], default=0.0) + 2 * _MARGIN
        heights = [max(box.height for box in layer) + _LAYERS_APART for layer in layers]
        tops = [_TITLE, *accumulate(heights, initial=_TITLE)][1:]
        self._notes_at = tops[-1] - (_LAYERS_APART - _BETWEEN if layers else 0)
        self.height = self._notes_at + len(drawing.notes) * _LINE + _MARGIN
        self._at: dict[str, tuple[float, float]] = {}
        for layer, top, row in zip(layers, tops, rows, strict=False):
            left = (self.width - row) / 2
            for box in layer:
                self._at[box.name] = left, top
                left += box.width + _BETWEEN

    def drawn(self) -> Iterator[str]:
        """Yield the elements, arrows below boxes."""
        yield f'<text x="{_MARGIN}" y="18" font-weight="bold">{markup(self._drawing.title)}</text>'
        boxes = {box.name: box for box in self._drawing.boxes}
        for box in self._drawing.boxes:
            yield from (self._arrow(boxes[name], box) for name in box.inputs)
        for box in self._drawing.boxes:
            yield from self._box(box)
        for number, note in enumerate(self._drawing.notes):
            yield _text(_MARGIN, self._notes_at + (number + 0.5) * _LINE, note)

    def _arrow(self, source: Box, target: Box) -> str:
        left, top = self._at[source.name]
        x, y = left + source.width / 2, top + source.height
        left, below = self._at[target.name]
        to = left + target.width / 2
        middle = (y + below) / 2
        path = f"M{x:.1f} {y:.1f}C{x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {below:.1f}"
        return f'<path d="{path}" fill="none" stroke="#444" marker-end="url(#graphtide-arrow)"/>'

    def _box(self, box: Box) -> Iterator[str]:
        left, top = self._at[box.name]
        yield (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="4" '
            'fill="#f4f7fb" stroke="#0072B2"/>'
        )
        for number, line in enumerate(box.lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            yield _text(left + _PADDING, top + _PADDING / 2 + (number + 0.5) * _LINE, line, weight)


def _layers(boxes: Sequence[Box]) -> list[list[Box]]:
    """Return the boxes by layers, the top one first: each as low as what reads it allows."""
    depth: dict[str, int] = {}
    for box in reversed(boxes):
        below = depth.setdefault(box.name, 0)
        for name in box.inputs:
            depth[name] = max(depth.get(name, 0), below + 1)
    layers: list[list[Box]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for box in boxes:
        layers[len(layers) - 1 - depth[box.name]].append(box)
    readers: dict[str, list[str]] = {}
    for box in boxes:
        for name in box.inputs:
            readers.setdefault(name, []).append(box.name)
    for _ in range(_SWEEPS):
        for layer in layers:
            _order(layer, layers, {box.name: box.inputs for box in layer})
        for layer in reversed(layers):
            _order(layer, layers, {box.name: readers.get(box.name, ()) for box in layer})
    return layers


def _order(layer: list[Box], layers: Sequence[Sequence[Box]], beside: Mapping[str, Sequence[str]]) -> None:
    """Put a layer in the order of the mean place of the boxes beside; one without any stays where it is."""
    place = {box.name: (number + 0.5) / len(each) for each in layers for number, box in enumerate(each)}

    def wanted(box: Box) -> float:
        names = beside[box.name]
        return sum(place[name] for name in names) / len(names) if names else place[box.name]

    layer.sort(key=wanted)


def _row_width(layer: Sequence[Box]) -> float:
    return sum(box.width for box in layer) + _BETWEEN * (len(layer) - 1)


def _shorten(drawing: Drawing) -> Drawing:
    """Cut lines that no picture has room for; ids of a stream may be of any length."""
    boxes = tuple(Box(box.name, box.inputs, tuple(map(_short, box.lines))) for box in drawing.boxes)
    return Drawing(_short(drawing.title), boxes, tuple(map(_short, drawing.notes)))


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" dy="0.35em" xml:space="preserve"{more}>{markup(text)}</text>'
