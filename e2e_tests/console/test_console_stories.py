"""What people do with the console from beginning to end, as they see it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from graphtide_testing.waiting import wait_until
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from graphtide_testing.console import ServedConsole
    from playwright.sync_api import Page, Route

BEGIN: Final = 1_704_067_200.0
ZEEK: Final = "\n".join(
    [
        "#separator \\x09",
        "#set_separator\t,",
        "#empty_field\t(empty)",
        "#unset_field\t-",
        "#path\tconn",
        "#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes"
        "\tconn_state\thistory\torig_pkts\tresp_pkts",
        "#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tstring\tinterval\tcount\tcount\tstring\tstring\tcount\tcount",
        f"{BEGIN}\tC1\t10.0.0.1\t5000\t10.0.0.2\t22\ttcp\tssh\t1.0\t100\t200\tSF\tS\t3\t4",
        f"{BEGIN + 20}\tC2\t10.0.0.2\t5001\t10.0.0.3\t443\ttcp\tssl\t1.0\t5000\t200\tSF\tS\t3\t4",
        f"{BEGIN + 30}\tC3\t10.0.0.9\t5002\t10.0.0.3\t53\tudp\tdns\t-\t-\t-\tS0\tD\t1\t0",
        "",
    ]
)


HOP: Final = """PATTERN hop
MATCH (a)-[x:tcp]->(b)-[y:tcp]->(c)
ORDER x < y
WHERE x.port = 22 AND y.bytes > 4000
ON zeek_conn WINDOW 2m"""


def write(page: Page, label: str, text: str) -> None:
    """Write a text into an editor in place of what is there."""
    editor = page.get_by_label(label)
    editor.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def test_a_preset_that_is_chosen_before_the_editor_is_there_is_read(empty: ServedConsole, page: Page, tmp_path: Path) -> None:
    """Code of the editor is loaded when the page needs it, which takes a while on a slow network."""
    log = tmp_path / "conn.log"
    log.write_text(ZEEK)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/CodeEditor*.js", hold)
    page.goto(f"{empty.url}/console/streams/zeek_early/statement")
    page.get_by_label("Begin from a preset").select_option("zeek-conn")
    page.get_by_label("File with sample records").set_input_files(log)
    expect(page.get_by_text("Loading")).to_be_visible()
    for route in held:
        route.continue_()
    expect(page.get_by_text("3 records: 3 edges and events, 0 not of the stream, 0 rejected")).to_be_visible()


def test_an_analyst_gets_from_a_file_to_a_match_that_is_understood(empty: ServedConsole, page: Page, tmp_path: Path) -> None:
    log = tmp_path / "conn.log"
    log.write_text(ZEEK)

    # The statement of a Zeek file, with what it makes of the file beside it.
    page.goto(f"{empty.url}/console/streams")
    page.get_by_label("Name of a new stream").fill("zeek_conn")
    page.get_by_role("button", name="Describe a new stream").click()
    page.get_by_label("Begin from a preset").select_option("zeek-conn")
    page.get_by_label("File with sample records").set_input_files(log)
    expect(page.get_by_text("3 records: 3 edges and events, 0 not of the stream, 0 rejected")).to_be_visible()
    expect(page.get_by_text("(10.0.0.1:ip)-[tcp]->(10.0.0.2:ip)")).to_be_visible()
    page.get_by_role("button", name="Register the statement").click()
    expect(page.get_by_text("The statement is registered.")).to_be_visible()
    assert empty.http.get("/api/v1/streams/zeek_conn").json()["statement"]["version"] == 1

    # A pattern with an error, which is shown where it is and mended.
    page.get_by_role("link", name="Write a pattern").click()
    write(page, "Text of the pattern", HOP.removesuffix(" 2m"))
    expect(page.get_by_text("Line 5, column").first).to_be_visible()
    expect(page.get_by_role("button", name="Register")).to_be_disabled()
    write(page, "Text of the pattern", HOP)
    expect(page.get_by_text("Valid: hop on zeek_conn")).to_be_visible()
    expect(page.get_by_role("img", name="Drawing of the pattern: a to b by x; b to c by y; x before y")).to_be_visible()

    # It is tried on a few records, and registered.
    edges = tmp_path / "edges.jsonl"
    first = {"ts": 1000, "src": "a", "dst": "b", "label": "tcp", "port": 22, "bytes": 1}
    second = {"ts": 2000, "src": "b", "dst": "c", "label": "tcp", "port": 443, "bytes": 5000}
    edges.write_text("".join(f"{json.dumps(each)}\n" for each in (first, second)))
    page.get_by_label("or on a file").set_input_files(edges)
    expect(page.get_by_text("1 match", exact=True)).to_be_visible()
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_text("hop is registered.")).to_be_visible()

    # Records come, and the match is seen with its edges in order.
    page.get_by_role("link", name="Watch its matches").click()
    expect(page.get_by_text("No match yet.")).to_be_visible()
    empty.send("zeek_conn", ZEEK, type="text/plain")
    row = page.get_by_role("row").filter(has_text="10.0.0.2")
    expect(row).to_be_visible()
    row.get_by_text("a 10.0.0.1").click()
    expect(page.get_by_role("heading", name="Match of hop")).to_be_visible()
    expect(page.get_by_role("img", name="Timeline. x after 0 ms: 10.0.0.1 → 10.0.0.2 (tcp); y after 20 s")).to_be_visible()
    expect(page.get_by_role("cell", name="C2", exact=True)).to_be_visible()

    decide(empty, page)


def decide(empty: ServedConsole, page: Page) -> None:
    """Acknowledge the match of a page, mute what it is about, and end the mute."""
    page.get_by_role("button", name="Acknowledge").click()
    page.get_by_label("Note").fill("a backup")
    page.get_by_role("dialog").get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_text("seen by anyone")).to_be_visible()
    page.get_by_role("button", name="Mute …").click()
    page.get_by_role("dialog").get_by_role("combobox").first.select_option("10.0.0.1")
    page.get_by_label("Reason").fill("the backup server")
    page.get_by_role("dialog").get_by_role("button", name="Mute", exact=True).click()
    expect(page.get_by_text("muted", exact=True)).to_be_visible()
    (mute,) = empty.http.get("/api/v1/mutes").json()["mutes"]
    assert (mute["pattern"], mute["key"], mute["reason"]) == ("hop", {"vertex": "10.0.0.1"}, "the backup server")
    page.goto(f"{empty.url}/console/matches")
    expect(page.get_by_text("seen by anyone")).to_be_visible()
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_role("heading", name="Mutes")).to_have_count(0)


def test_somebody_is_alerted_of_severe_matches(empty: ServedConsole, alert_files: Path, page: Page) -> None:
    page.goto(f"{empty.url}/console/alerts")
    page.get_by_role("button", name="New target").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("on-call")
    form.get_by_label("Kind").select_option("file")
    form.get_by_label("Name of a file").fill("../on-call")
    form.get_by_label("Least severity").select_option("high")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("is not the name of a file")
    form.get_by_label("Name of a file").fill("on-call.jsonl")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="file: on-call.jsonl")).to_be_visible()

    for name, severity in (("loud", "critical"), ("quiet", "low")):
        text = (
            f"PATTERN {name} MATCH (a)-[x:{name}]->(b) ON rings WINDOW 1h SEVERITY {severity} MESSAGE '{{a.id}} rings {{b.id}}'"
        )
        empty.register(text)
    empty.send("rings", "".join(f'{{"ts":1,"src":"ann","dst":"bob","label":"{name}"}}\n' for name in ("loud", "quiet")))
    expect(page.get_by_role("row").filter(has_text="on-call").get_by_role("cell").nth(4)).to_have_text("1")
    (alert,) = (json.loads(line) for line in (alert_files / "on-call.jsonl").read_text().splitlines())
    assert (alert["pattern"], alert["severity"], alert["message"]) == ("loud", "critical", "ann rings bob")

    # The matches of both are seen as sentences, or those of one severity alone.
    page.get_by_role("link", name="Matches").click()
    expect(page.get_by_role("row").filter(has_text="ann rings bob")).to_have_count(2)
    page.get_by_label("Severity").select_option("high")
    expect(page.get_by_role("row").filter(has_text="ann rings bob")).to_have_count(1)
    page.get_by_text("ann rings bob").click()
    expect(page.get_by_role("heading", name="Match of loud")).to_be_visible()
    expect(page.get_by_text("critical", exact=True)).to_be_visible()

    page.get_by_role("link", name="Alerts").click()
    page.get_by_role("button", name="Test on-call").click()
    expect(page.get_by_text("Test of on-call: it was delivered.")).to_be_visible()
    page.get_by_role("button", name="Delete on-call").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("Nobody is alerted yet.")).to_be_visible()


def test_dead_alerts_are_sent_again(empty: ServedConsole, alert_files: Path, page: Page) -> None:
    # A folder is in the way of the file, until somebody takes it away.
    (alert_files / "late.jsonl").mkdir()
    target = {"kind": "file", "address": "late.jsonl", "patterns": "late"}
    empty.http.put("/api/v1/targets/late", json=target).raise_for_status()
    empty.register("PATTERN late MATCH (a)-[x:late]->(b) ON rings WINDOW 1h")
    empty.send("rings", '{"ts":5,"src":"ann","dst":"bob","label":"late"}\n')
    page.goto(f"{empty.url}/console/alerts")
    page.get_by_role("button", name="Dead alerts of late: 1").click()
    (alert_files / "late.jsonl").rmdir()
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_text("it was delivered")).to_be_visible()
    assert len((alert_files / "late.jsonl").read_text().splitlines()) == 1


def test_somebody_finds_out_why_nothing_matched(empty: ServedConsole, page: Page) -> None:
    empty.register("PATTERN why MATCH (a)-[x:asks]->(b)-[y:answers]->(a) ORDER x < y ON talk WINDOW 1h")
    empty.send("talk", "".join(f'{{"ts":{n},"src":"a{n}","dst":"b","label":"asks"}}\n' for n in range(1, 6)))
    page.goto(f"{empty.url}/console/patterns/why/plan")
    expect(page.get_by_role("heading", name="Steps")).to_be_visible()
    expect(page.get_by_role("img", name="Steps of the plan.")).to_be_visible()
    page.get_by_role("link", name="Almost complete").click()
    expect(page.get_by_role("heading", name="Nearest to a match")).to_be_visible()


def test_a_dead_letter_is_mended_and_sent_again(empty: ServedConsole, page: Page) -> None:
    good, bad = (f'{{"ts": {ts}, "src": "a", "dst": "{dst}", "label": "x"}}' for ts, dst in ((5, "b"), ('"late"', "c")))
    empty.send("mended", f"{good}\n{bad}\n")
    page.goto(f"{empty.url}/console/streams/mended/dead-letters")
    page.get_by_text("is not an integer").first.click()
    record = page.get_by_label("Record")
    expect(record).to_have_value(bad)
    record.fill(bad.replace('"late"', "6"))
    page.get_by_role("button", name="Send it mended").click()
    expect(page.get_by_text("The record was sent again.")).to_be_visible()

    def newest() -> list[str]:
        return [each["dst"] for each in empty.http.get("/api/v1/streams/mended/edges?last=5").json()["edges"]]

    wait_until(lambda: newest() == ["c", "b"], 60, pause=0.2)


def test_a_pattern_is_searched_in_history(empty: ServedConsole, page: Page) -> None:
    empty.send("past", "".join(f'{{"ts":{n},"src":"a{n}","dst":"b","label":"asks"}}\n' for n in range(1, 6)))
    wait_until(lambda: len(empty.http.get("/api/v1/streams/past/edges").json()["edges"]) == 5, 60, pause=0.2)
    empty.register("PATTERN old MATCH (a)-[x:asks]->(b) ON past WINDOW 1h")
    page.goto(f"{empty.url}/console/history")
    page.get_by_label("Pattern").select_option("old")
    page.get_by_role("button", name="Choose times").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    assert empty.matches("old") == 5


def test_a_pattern_is_paused_resumed_changed_and_deleted(empty: ServedConsole, page: Page) -> None:
    empty.register("PATTERN mine MATCH (a)-[x:asks]->(b) ON own WINDOW 1h")
    page.goto(f"{empty.url}/console/patterns/mine")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()

    # Somebody else changes it while it is edited: that is shown, and nothing is lost.
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_text("Valid: mine on own")).to_be_visible()
    etag = empty.http.get("/api/v1/patterns/mine").headers["ETag"]
    theirs = {"text": "PATTERN mine MATCH (a)-[x:asks]->(b) ON own WINDOW 2h"}
    empty.http.patch("/api/v1/patterns/mine", json=theirs, headers={"If-Match": etag}).raise_for_status()
    write(page, "Text of the pattern", "PATTERN mine MATCH (a)-[x:asks]->(b) ON own WINDOW 3h")
    page.get_by_role("button", name="Save as the next version").click()
    expect(page.get_by_role("alert").filter(has_text="changed")).to_be_visible()
    page.goto(f"{empty.url}/console/patterns/mine/versions")
    expect(page.get_by_text("+ PATTERN mine MATCH (a)-[x:asks]->(b) ON own WINDOW 2h")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_role("heading", name="Patterns", exact=True)).to_be_visible()
    assert empty.http.get("/api/v1/patterns/mine").status_code == 404


def test_a_pattern_is_drawn(empty: ServedConsole, page: Page) -> None:
    page.goto(f"{empty.url}/console/editor")
    page.get_by_role("button", name="Draw it").click()
    for _ in range(3):
        page.get_by_role("button", name="Add a vertex").click()
    for source, target, label in (("a", "b", "pays"), ("b", "c", "pays"), ("c", "a", "owns")):
        page.get_by_label("label of the next edge").fill(label)
        page.get_by_role("button", name=f"From {source}").click()
        page.get_by_role("button", name=f"To {target}").click()
    expect(page.get_by_text("Valid: drawn on edges")).to_be_visible()
    drawn = "Drawing of the pattern: a to b by e1; b to c by e2; c to a by e3; e1 before e2, e2 before e3"
    expect(page.get_by_role("img", name=drawn)).to_be_visible()


def test_earlier_matches_are_searched_by_vertex(empty: ServedConsole, page: Page) -> None:
    empty.register("PATTERN sought MATCH (a)-[x:asks]->(b) ON sought WINDOW 1h")
    empty.send("sought", "".join(f'{{"ts":{n},"src":"s{n}","dst":"t","label":"asks"}}\n' for n in range(1, 6)))
    wait_until(lambda: empty.matches("sought") == 5, 60, pause=0.2)
    page.goto(f"{empty.url}/console/matches?pattern=sought")
    page.get_by_text("Search earlier matches").click()
    page.get_by_label("Vertex", exact=True).fill("s3")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.get_by_text("1 shown")).to_be_visible()
    expect(page.get_by_text("a s3, b t")).to_be_visible()
    page.get_by_role("button", name="Back to live").click()
    expect(page.get_by_text("5 shown")).to_be_visible()
