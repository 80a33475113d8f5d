"""How fluid the console is while it scrolls 10,000 patterns and shows 1,000 matches a second, and how its memory grows.

`python shared/bench/services/console.py [--patterns 10000] [--rate 1000] [--seconds 60]`

The admin API runs in this process over a log in memory. No planner takes the patterns, and nobody found the matches, so the
cost is that of the console alone. It needs Chromium, and the console as `make console` builds it.
"""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

import httpx2
import structlog
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_bench.frame.script import Script
from graphtide_log.memory import MemoryLog
from graphtide_testing.serving import serve
from graphtide_testing.waiting import wait_until
from graphtide_wire import matches
from graphtide_wire.topics import Topics
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

TOPICS: Final = Topics()
_TEXT: Final = "PATTERN p{} MATCH (a)-[x:pays]->(b)-[y:pays]->(c) ORDER x < y ON s WINDOW 1h"
_BATCHES_A_SECOND: Final = 20
_AT_ONCE: Final = 16
_FRAMES: Final = """(scrolls) => new Promise((done) => {
  const body = document.querySelector(".vbody");
  const times = [];
  let last = performance.now();
  const begun = last;
  const step = (now) => {
    times.push(now - last);
    last = now;
    if (scrolls) body.scrollTop += 180;
    if (now - begun < 5000) requestAnimationFrame(step);
    else done(times.slice(1));
  };
  requestAnimationFrame(step);
})"""


def main() -> None:
    """Measure, and show a row."""
    script = Script(__file__, __doc__)
    script.option("--patterns", type=int, default=10_000)
    script.option("--rate", type=int, default=1_000, help="matches a second")
    script.option("--seconds", type=int, default=60, help="how long memory is watched")
    asked = script.arguments()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    log = MemoryLog()
    settings = AdminApiSettings(insecure=True, requests_per_second=1e6, burst=1_000_000)
    with serve(admin_api(settings, log)) as url, httpx2.Client(base_url=url, timeout=60) as http:
        wait_until(lambda: http.get("/readyz").status_code == 200, 60, pause=0.1)
        # A registration waits until it is seen, so several are under way.
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for answer in pool.map(partial(_register, http), range(asked.patterns)):
                answer.raise_for_status()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            script.add({"patterns": asked.patterns, **_scroll_patterns(page, url)})
            script.add({"matches_a_second": asked.rate, **_show_matches(page, url, log, asked.rate, asked.seconds)})
            browser.close()
    script.hand_out()


def _register(http: httpx2.Client, number: int) -> httpx2.Response:
    return http.post("/api/v1/patterns", json={"text": _TEXT.format(number)})


def _scroll_patterns(page: Page, url: str) -> dict[str, object]:
    begun = time.perf_counter()
    page.goto(f"{url}/console/patterns")
    page.get_by_role("link", name="p0", exact=True).wait_for()
    shown = time.perf_counter() - begun
    return {"shown_s": round(shown, 2), "rows_in_page": page.locator(".vrow").count(), **_frames(page, scrolls=True)}


def _show_matches(page: Page, url: str, log: MemoryLog, rate: int, seconds: int) -> dict[str, object]:
    page.goto(f"{url}/console/matches")
    page.get_by_text("open", exact=True).wait_for()
    ended = Event()
    writing = Thread(target=_write, args=(log, rate, ended), daemon=True)
    writing.start()
    session = page.context.new_cdp_session(page)
    time.sleep(10)
    frames, sizes = _frames(page, scrolls=True), list[float]()
    for _ in range(max(1, seconds // 10)):
        time.sleep(10)
        sizes.append(round(_heap(session), 1))
    ended.set()
    writing.join()
    return {**frames, "script_megabytes": sizes}


def _frames(page: Page, *, scrolls: bool) -> dict[str, object]:
    """Return how many frames a second a page had for five seconds, and how long frames took in milliseconds."""
    times: list[float] = sorted(page.evaluate(_FRAMES, arg=scrolls))
    slow = times[int(0.99 * len(times))]
    return {"frames_a_second": round(1000 * len(times) / sum(times), 1), "frame_p99_ms": round(slow, 1)}


def _heap(session: CDPSession) -> float:
    """Return the megabytes that scripts hold after a collection of garbage."""
    session.send("HeapProfiler.collectGarbage")
    found: dict[str, Any] = session.send("Runtime.getHeapUsage")
    return float(found["usedSize"]) / 1e6


def _write(log: MemoryLog, rate: int, ended: Event) -> None:
    writer, number = log.writer(), 0
    while not ended.wait(1 / _BATCHES_A_SECOND):
        batch = [_match(number + each) for each in range(rate // _BATCHES_A_SECOND)]
        writer.write([matches.encode(TOPICS.matches, each, 1, None) for each in batch])
        number += len(batch)


def _match(number: int) -> bytes:
    at = 1_704_067_200_000 + number
    record = {
        "match_id": f"{number:032x}",
        "query": f"p{number % 10}",
        "kind": "match",
        "detected_at": at,
        "first_ts": at - 500,
        "last_ts": at,
        "edges": {"x": f"e{number}", "y": f"f{number}"},
        "vertices": {"a": f"a{number % 977}", "b": f"b{number % 577}", "c": "c"},
    }
    return json.dumps(record).encode()


if __name__ == "__main__":
    main()
