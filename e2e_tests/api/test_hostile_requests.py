"""Requests made up from the services' own descriptions, good ones and bad ones, never bring about an error of the server.

Schemathesis makes them: of every route, with values of every kind in paths, queries, headers and bodies.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import schemathesis
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_ingestion.bootstrap import bootstrap as ingestion
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_log.memory import MemoryLog
from graphtide_serving.access.keys import hash_key
from graphtide_testing.serving import serve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemathesis import Case

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

BODIES = (
    "application/x-ndjson",
    "text/csv",
    "application/json",
    "application/cloudevents+json",
    "application/cloudevents-batch+json",
)
PARTS = (
    b'{"ts":1,"src":"a","dst":"b","label":"x"}',
    b'{"specversion":"1.0","type":"t","source":"s","id":"1","data":',
    b"ts,src,dst,label",
    b"1,a,b,x",
    b'"',
    b"[",
    b"]",
    b"}",
    b",",
    b"\n",
    b"\xef\xbb\xbf",
    b"9" * 400,
)
HERE = Path(__file__).parent
KEY = "root"
UNBOUNDED = {
    "api_keys": [{"name": KEY, "hash": hash_key(KEY), "scopes": ["admin"]}],
    "requests_per_second": 1e6,
    "burst": 1_000_000,
}
EVENTS = ".*matches:stream$"
"""Answers that never end; the service's own tests read them."""


@pytest.fixture(scope="module")
def control_url() -> Iterator[str]:
    with serve(admin_api(AdminApiSettings.model_validate(UNBOUNDED), MemoryLog())) as url:
        yield url


@pytest.fixture(scope="module")
def ingestion_url() -> Iterator[str]:
    settings = IngestionSettings.model_validate({**UNBOUNDED, "streams": ("s",), "create_streams": True})
    with serve(ingestion(MemoryLog(), settings).app) as url:
        yield url


HARD = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("service", ["control_url", "ingestion_url"])
def test_every_check_of_schemathesis_holds(request: pytest.FixtureRequest, service: str, tmp_path: Path) -> None:
    url = request.getfixturevalue(service)
    asked: list[str | Path] = [Path(sys.executable).with_name("st"), "--config-file", HERE / "schemathesis.toml", "--no-color"]
    asked += [
        "run",
        f"{url}/openapi.json",
        "--max-examples",
        "50",
        "--exclude-path-regex",
        EVENTS,
        "-H",
        f"X-API-Key: {KEY}",
    ]
    done = subprocess.run(
        asked,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test cases" in done.stdout.lower()


@pytest.mark.parametrize("service", ["control_url", "ingestion_url"])
def test_what_fits_the_description_is_refused_only_for_a_reason_that_the_description_names(
    request: pytest.FixtureRequest, service: str
) -> None:
    url = request.getfixturevalue(service)
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(path_regex=EVENTS)
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        with suppress(Unsatisfiable):
            HARD(given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))(names_its_reason))()


def names_its_reason(case: Case[Any]) -> None:
    """Ask, and compare a refusal with what the description says of its status."""
    answer = case.call(headers={"X-API-Key": KEY})
    if answer.status_code >= 400:
        code = answer.json()["code"]
        reference = case.operation.definition.raw["responses"][str(answer.status_code)]["$ref"]
        problems = case.operation.schema.raw_schema["components"]["responses"]
        assert f"`{code}`" in problems[reference.rpartition("/")[2]]["description"], answer.text
        assert code != "invalid-request", answer.text


@HARD
@given(
    st.sampled_from([*BODIES, "application/xml", ""]),
    st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=20)), max_size=8).map(b"".join),
)
def test_ingestion_makes_no_error_of_its_own_of_any_body(ingestion_url: str, kind: str, body: bytes) -> None:
    headers = {"content-type": kind, "X-API-Key": KEY}
    answer = httpx2.post(f"{ingestion_url}/api/v1/streams/s/edges", content=body, headers=headers)
    assert answer.status_code in {202, 400, 413, 415, 422}, answer.text
