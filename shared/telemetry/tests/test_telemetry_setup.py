"""A process reports what it is asked to, and nothing over the network unless it is given an address.

Providers are a process's own, once and for all, so each case is a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
import structlog
from opentelemetry import _logs, metrics, trace
from graphtide_telemetry import events
from graphtide_telemetry.logs import to_standard_error
from graphtide_telemetry.settings import TelemetrySettings
from graphtide_telemetry.setup import exposition, set_up
from graphtide_telemetry.tracing import TRACER, context_of, within

to_standard_error()
for _ in range(2):
    set_up("graphtide-planner", TelemetrySettings(trace_ratio=float(sys.argv[1])))
tracer, log = trace.get_tracer(TRACER), structlog.get_logger()
with tracer.start_as_current_span("of a request without a trace") as begun:
    pass
parent = context_of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
with tracer.start_as_current_span("of a request with one", within(parent)) as going_on:
    log.info(events.WORK_OPENED, worker="w")
log.info(events.WORK_ENDED, worker="w")
found = {
    "begun": begun.is_recording() or begun.get_span_context().trace_flags.sampled,
    "span": f"{going_on.get_span_context().span_id:016x}",
    "providers": [type(each()).__module__.split(".")[1] for each in
        (trace.get_tracer_provider, _logs.get_logger_provider, metrics.get_meter_provider)],
    "metrics_served": "process_memory_usage_bytes" in exposition().decode(),
    "name": 'service_name="graphtide-planner"' in exposition().decode(),
}
print(json.dumps(found))
import os; os._exit(0)
"""

NOWHERE = "http://127.0.0.1:9"


def run_configured(ratio: float = 0.0, **environment: str) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Return what a process says of itself, and its log."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-c", SCRIPT, str(ratio)]
    ended = subprocess.run(command, env=plain | environment, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(ended.stdout), [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]


def test_without_an_endpoint_there_are_metrics_alone_and_traces_go_through_as_they_came() -> None:
    found, log = run_configured(1.0)
    assert found["providers"] == ["trace", "_logs", "sdk"]
    assert (found["begun"], found["span"], found["metrics_served"], found["name"]) == (False, "b7ad6b7169203331", True, True)
    inside, outside = log
    assert (inside["trace_id"], inside["span_id"]) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")
    assert outside == {"event": "work.ended", "level": "info", "timestamp": outside["timestamp"], "worker": "w"}


@pytest.mark.parametrize(("ratio", "taken"), [(0.0, False), (1.0, True)])
def test_with_an_endpoint_the_ratio_says_which_traces_begin_here_and_sampled_ones_go_on(ratio: float, taken: bool) -> None:
    found, (inside, _) = run_configured(ratio, OTEL_EXPORTER_OTLP_ENDPOINT=NOWHERE)
    assert found["providers"] == ["sdk", "sdk", "sdk"]
    assert found["begun"] is taken
    assert (inside["trace_id"], inside["span_id"]) == ("0af7651916cd43dd8448eb211c80319c", found["span"])
    assert found["span"] != "b7ad6b7169203331"


def test_the_sampler_of_the_environment_takes_the_place_of_the_ratio() -> None:
    assert run_configured(0.0, OTEL_EXPORTER_OTLP_ENDPOINT=NOWHERE, OTEL_TRACES_SAMPLER="always_on")[0]["begun"] is True


def test_a_signal_goes_where_its_own_variable_says_and_nowhere_by_none() -> None:
    found, _ = run_configured(OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=f"{NOWHERE}/v1/logs")
    assert found["providers"] == ["trace", "sdk", "sdk"]
    found, _ = run_configured(OTEL_EXPORTER_OTLP_ENDPOINT=NOWHERE, OTEL_LOGS_EXPORTER="none")
    assert found["providers"] == ["sdk", "_logs", "sdk"]


def test_all_of_it_can_be_turned_off() -> None:
    found, _ = run_configured(OTEL_SDK_DISABLED="true", OTEL_EXPORTER_OTLP_ENDPOINT=NOWHERE)
    assert (found["providers"], found["metrics_served"]) == (["trace", "_logs", "metrics"], False)
