"""Workers of one process read records side by side from the first one on."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

FIRST_LOOKS: Final = """
import sys
from threading import Barrier, Thread

from graphtide_testing.wire_examples import PLANS
from graphtide_wire import control

sys.setswitchinterval(1e-6)
values = [control.encode_plan(plan) for plan in PLANS.values()]
together = Barrier(8)


def look():
    together.wait()
    for value in values:
        control.decode_plan(value)


threads = [Thread(target=look) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
"""In a process of its own, since a type is looked at for the first time once; about every second one crashed."""


def test_threads_that_read_a_kind_of_record_for_the_first_time_together_do_not_end_the_process() -> None:
    ended = [subprocess.run([sys.executable, "-c", FIRST_LOOKS], check=False).returncode for _ in range(5)]
    assert ended == [0] * 5
