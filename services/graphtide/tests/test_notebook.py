"""What a notebook shows of matches and patterns, and the magic of its cells."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import graphtide
import pytest
from graphtide.matches import MatchList
from graphtide.notebook import SHOWN, draw_pattern, load_ipython_extension, run_cell, show_matches
from graphtide_core.pattern import SubgraphPattern
from graphtide_core.time import TimeUnit
from graphtide_query import parse
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

HOP = "PATTERN hop MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON payments WINDOW 1h"
SCRIPT = "<script>alert(1)</script>"


def edges(count: int, begin: str = "v") -> list[dict[str, object]]:
    return [{"ts": n, "src": f"{begin}{n}", "dst": f"{begin}{n + 1}", "label": "pays", "id": f"e{n}"} for n in range(count)]


def matches(records: list[dict[str, object]], text: str = HOP) -> MatchList:
    patterns = parse(text)
    return MatchList(graphtide.match(patterns, records), patterns)


def text_of(html: str) -> str:
    """Return the text of HTML that is XML, too; raises where it is not."""
    return " ".join("".join(ET.fromstring(html).itertext()).split())  # noqa: S314 - our own


def test_a_list_shows_its_first_matches_and_says_how_many_there_are() -> None:
    found = matches(edges(30))
    shown = found._repr_html_()
    assert shown.count("<tr>") == SHOWN + 1
    assert text_of(shown).startswith("29 matches")
    assert text_of(shown).endswith("and 9 more")
    assert "a v0, b v1, c v2" in text_of(shown)
    assert "1970-01-01T00:00:00.001Z" in shown
    assert text_of(matches([])._repr_html_()) == "0 matches"
    assert text_of(matches(edges(2))._repr_html_()).startswith("1 match")


def test_matches_of_every_family_show_themselves() -> None:
    events = [{"ts": n, "type": kind, "id": f"e{n}"} for n, kind in enumerate("AAB")]
    texts = {
        "PATTERN p SEQ(a:A{2,}, b:B) ON s WITHIN 1h": events,
        "PATTERN p MATCH (a)-[x:pays]->(b) UNDER DUAL SIMULATION ON s WINDOW 1h": edges(2),
        "QUERY q reaches(x, z) <- pays(x, y), pays(y, z). ON s WINDOW(1h)": edges(3),
    }
    for text, records in texts.items():
        found = matches(records, text)
        assert len(found) > 0
        assert "<td" in found._repr_html_()


@given(st.text(max_size=30))
def test_names_of_the_data_are_text(name: str) -> None:
    records = [{**each, "src": f"{each['src']}{name}", "dst": f"{each['dst']}{name}"} for each in edges(3)]
    shown = matches(records)._repr_html_()
    text_of(shown)
    assert "<script" not in shown


def test_a_pattern_is_drawn_with_the_order_of_its_edges() -> None:
    (pattern,) = parse(
        "PATTERN p MATCH (a:ip)-[x:pays]->(b)-[y]->(a), (a)-[z]->(c), (c)-[w]->(c) ORDER x < y, x < z, z < w ON s WINDOW 1m"
    )
    assert isinstance(pattern, SubgraphPattern)
    drawn = draw_pattern(pattern)
    words = text_of(drawn)
    for each in ("1 · x:pays", "2 · y", "2 · z", "3 · w", "a:ip", "b", "c"):
        assert each in words
    assert drawn.count("<circle") == 3
    assert drawn.count("marker-end") == 4
    (plain,) = parse("PATTERN p MATCH (a)-[x:pays]->(b) ON s WINDOW 1m")
    assert isinstance(plain, SubgraphPattern)
    assert "·" not in draw_pattern(plain)


def test_names_of_a_pattern_are_text() -> None:
    (pattern,) = parse(f"PATTERN `{SCRIPT}` MATCH (`{SCRIPT}`)-[`{SCRIPT}x`:`{SCRIPT}`]->(b) ON s WINDOW 1m")
    assert isinstance(pattern, SubgraphPattern)
    drawn = draw_pattern(pattern)
    assert "<script" not in drawn
    assert SCRIPT in text_of(drawn)


class Shell:
    """What the magic needs of a notebook."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}


def test_a_cell_matches_a_variable_or_a_file_and_keeps_what_was_found(tmp_path: Path) -> None:
    shell = Shell()
    shell.user_ns["flows"] = edges(4)
    found = run_cell(shell, "flows --as hops", HOP)
    assert isinstance(found, MatchList)
    assert len(found) == 3
    assert shell.user_ns["hops"] is found
    file = tmp_path / "some flows.csv"
    file.write_text("ts,src,dst,label\n1,a,b,pays\n2,b,c,pays\n")
    found = run_cell(shell, f"'{file}'", HOP)
    assert isinstance(found, MatchList)
    assert len(found) == 1


def test_an_error_of_a_cell_shows_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cell(Shell(), "flows.csv", "PATTERN hop MATCH (a)-[x]->(b ON s WINDOW 1h") is None
    said = capsys.readouterr().err
    assert "line 1, column" in said
    assert re.search(r"^ +\^", said, re.MULTILINE)


def test_the_extension_draws_patterns_and_adds_the_magic() -> None:
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    shell = interactive.InteractiveShell.instance()
    load_ipython_extension(shell)
    shell.user_ns["flows"] = edges(4)
    done = shell.run_cell_magic("graphtide", "flows --as hops", HOP)
    assert len(done) == 3
    data, _ = shell.display_formatter.format(parse(HOP)[0], include=["image/svg+xml"])
    assert data["image/svg+xml"].startswith("<svg")
    interactive.InteractiveShell.clear_instance()


def test_show_matches_takes_the_unit_of_the_stream() -> None:
    assert "1970-01-01T00:00:01Z" in show_matches(matches(edges(3)), TimeUnit.SECOND)
