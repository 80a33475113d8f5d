"""Requests made up from the services' own descriptions, good ones and bad ones, never bring about an error of the server.

Schemathesis makes them: of every route, with values of every kind in paths, queries, headers and bodies.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import httpx2
import pytest
import schemathesis
from graphtide_admin_api.bootstrap import admin_api
from graphtide_admin_api.settings import AdminApiSettings
from graphtide_ingestion.bootstrap import bootstrap as ingestion
from graphtide_ingestion.settings import Settings as IngestionSettings
from graphtide_runtime.memory import MemoryLog
from graphtide_testing.serving import served
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemathesis import BaseSchema

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
EVENTS = ".*matches:stream$"
"""Answers that never end; the service's own tests read them."""


@pytest.fixture(scope="module")
def control() -> Iterator[BaseSchema]:
    app = admin_api(AdminApiSettings(insecure=True, requests_per_second=1e6, burst=1_000_000), MemoryLog())
    with served(app) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(path_regex=EVENTS)


@pytest.fixture(scope="module")
def ingestion_url() -> Iterator[str]:
    app = ingestion(MemoryLog(), IngestionSettings(insecure=True, streams=("s",), create_streams=True)).app
    with served(app) as url:
        yield url


@pytest.fixture(scope="module")
def edges(ingestion_url: str) -> BaseSchema:
    return schemathesis.openapi.from_url(f"{ingestion_url}/openapi.json")


HARD = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_the_admin_api_makes_no_error_of_its_own(control: BaseSchema, mode: GenerationMode) -> None:
    assert ask_everything(control, mode) >= {GenerationMode.POSITIVE: 16, GenerationMode.NEGATIVE: 9}[mode]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_ingestion_makes_no_error_of_its_own(edges: BaseSchema, mode: GenerationMode) -> None:
    assert ask_everything(edges, mode) >= {GenerationMode.POSITIVE: 3, GenerationMode.NEGATIVE: 1}[mode]


@HARD
@given(
    st.sampled_from([*BODIES, "application/xml", ""]),
    st.lists(st.one_of(st.sampled_from(PARTS), st.binary(max_size=20)), max_size=8).map(b"".join),
)
def test_ingestion_makes_no_error_of_its_own_of_any_body(ingestion_url: str, kind: str, body: bytes) -> None:
    answer = httpx2.post(f"{ingestion_url}/api/v1/streams/s/edges", content=body, headers={"content-type": kind})
    assert answer.status_code in {202, 400, 413, 415, 422}, answer.text


def ask_everything(schema: BaseSchema, mode: GenerationMode) -> int:
    """Ask every operation with requests that fit its description, or do not; return how many operations were asked."""
    asked = 0
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        requests = found.ok().as_strategy(generation_mode=mode)
        ask = HARD(given(requests)(lambda case: case.call_and_validate(checks=[not_a_server_error])))
        with suppress(Unsatisfiable):
            ask()
            asked += 1
    return asked
