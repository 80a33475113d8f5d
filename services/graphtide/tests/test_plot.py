"""Charts as SVG: what is drawn where."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from graphtide.plot import Axis, Chart, Kind, Series, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def draw(*charts: Chart) -> ET.Element:
    return ET.fromstring(to_svg(charts))  # noqa: S314 - our own text


def points(element: ET.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in element.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def chart(*series: Series, kind: Kind = Kind.LINES, logarithmic: bool = False) -> Chart:
    return Chart("t < 1", Axis("x", logarithmic), Axis("y", logarithmic), series, kind)


def test_equal_ratios_are_equal_lengths_on_logarithmic_axes_and_what_they_cannot_show_is_left_out() -> None:
    (line,) = draw(chart(Series("s", ((0, 5), (1, 1), (10, 0), (10, 10), (100, 100))), logarithmic=True)).iter(f"{SVG}polyline")
    (x1, y1), (x2, y2), (x3, y3) = points(line)
    assert (x2 - x1, y1 - y2) == pytest.approx((x3 - x2, y2 - y3), abs=0.2)


def test_stacked_areas_lie_on_each_other_up_to_their_sum() -> None:
    shares = Series("a", ((0, 0.25), (1, 0.75))), Series("b", ((0, 0.75), (1, 0.25)))
    lower, upper = draw(chart(*shares, kind=Kind.STACKED)).iter(f"{SVG}polygon")
    assert points(upper)[2:] == points(lower)[1::-1]
    tops = {y for _, y in points(upper)[:2]}
    assert len(tops) == 1


def test_names_and_titles_are_escaped_and_charts_stand_below_each_other() -> None:
    root = draw(chart(Series("(a)-[x]->(b) & more", ((0, 1), (1, 2)))), chart(Series("c", ((0, 1),))))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"t < 1", "(a)-[x]->(b) & more", "c"} <= set(texts)
    assert [group.attrib["transform"] for group in root.iter(f"{SVG}g")] == ["translate(0 0)", "translate(0 340)"]


@pytest.mark.parametrize("values", [(), ((5, 5),), ((0, 0), (1, 0)), ((0, -3), (1, 4)), ((0, 1e9), (1, 2e9))])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_few_or_strange_points_are_drawn_all_the_same(values: tuple[tuple[float, float], ...], logarithmic: bool) -> None:
    assert draw(chart(Series("s", values), logarithmic=logarithmic)).tag == f"{SVG}svg"


def test_what_cannot_be_stacked_is_refused() -> None:
    with pytest.raises(ValueError, match="their x differ"):
        draw(chart(Series("a", ((0, 1),)), Series("b", ((1, 1),)), kind=Kind.STACKED))
    with pytest.raises(ValueError, match="stack on a linear one"):
        draw(chart(Series("a", ((1, 1),)), kind=Kind.STACKED, logarithmic=True))


def tick_labels(one: Chart) -> set[str]:
    return {text.text or "" for text in draw(one).iter(f"{SVG}text")}


def test_a_short_logarithmic_axis_has_ticks_at_two_and_five_and_a_long_one_at_powers_alone() -> None:
    short = Chart("t", Axis("x"), Axis("y", logarithmic=True), (Series("s", ((0.5, 0.013), (0.7, 0.11))),))
    assert {"0.01", "0.02", "0.05", "0.1", "0.2"} <= tick_labels(short)
    long = Chart("t", Axis("x"), Axis("y", logarithmic=True), (Series("s", ((0.5, 0.013), (0.7, 110.0))),))
    assert {"0.01", "1", "100", "1k"} <= tick_labels(long)
    assert tick_labels(long).isdisjoint({"0.02", "20", "500"})


def test_an_axis_of_whole_numbers_has_ticks_at_integers_alone() -> None:
    line = Series("s", ((3.0, 10.0), (5.0, 20.0)))
    assert "3.5" in tick_labels(Chart("t", Axis("x"), Axis("y"), (line,)))
    labels = tick_labels(Chart("t", Axis("x", whole=True), Axis("y"), (line,)))
    assert {"3", "4", "5"} <= labels
    assert "3.5" not in labels
