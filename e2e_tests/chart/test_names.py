"""Names and labels that Kubernetes takes, for any name of the release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from graphtide_testing.charts import CHART, RefusedError, Rendered, files, helm
from yaml import CSafeLoader, load_all

if TYPE_CHECKING:
    from collections.abc import Iterator

LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
SERVICE = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
OBJECT = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
HASH = "-" + "0" * 10
"""As Kubernetes puts it behind the name of a StatefulSet in the label of a revision."""

EXECUTORS_MOST = 47
"""Characters that Spark takes before the numbers of executors in the names of their pods."""

LONGEST = 53
"""As long as Helm lets the name of a release be."""

OFTEN = {1, 2, 10, 20, 30, *range(38, LONGEST + 1)}
"""Lengths that are looked at in every run: names of objects are cut from about 40 on."""

ALL = "other"
"""The set with most kinds of objects."""


def release(name: str, values: str = ALL) -> Rendered:
    options = ["--set", "fullnameOverride=", "--set", "nameOverride="]
    written = helm("template", name, str(CHART), "--namespace", "n", *files(values), *options)
    return Rendered(tuple(each for each in load_all(written, CSafeLoader) if each))


def labels(manifest: Any) -> Iterator[str]:
    """Yield the values of all labels and of what selects by them, wherever they stand."""
    if isinstance(manifest, dict):
        for name, inner in manifest.items():
            if name in {"labels", "matchLabels", "commonLabels"} and isinstance(inner, dict):
                yield from (value for value in inner.values() if isinstance(value, str))
            yield from labels(inner)
    elif isinstance(manifest, list):
        for inner in manifest:
            yield from labels(inner)


def check(made: Rendered, name: str) -> None:
    for each in made.manifests:
        kind, called = each["kind"], each["metadata"]["name"]
        pattern = SERVICE if kind == "Service" else OBJECT
        assert pattern.fullmatch(called), f"{name}: {kind} {called}"
        if kind == "StatefulSet":
            assert LABEL.fullmatch(f"{called}{HASH}"), f"{name}: revisions of {called}"
        if kind == "SparkApplication":
            assert len(called) <= EXECUTORS_MOST, called
        for value in labels(each):
            assert LABEL.fullmatch(value), f"{name}: {value} in {kind} {called}"
    names = [(each["kind"], each["metadata"]["name"]) for each in made.manifests]
    assert len(names) == len(set(names)), name
    there = {called for kind, called in names if kind == "ServiceAccount"}
    maps = {called for kind, called in names if kind == "ConfigMap"}
    services = {called for kind, called in names if kind == "Service"}
    for where, pod in made.pods():
        spec = pod["spec"]
        if "executor" not in where:
            assert spec["serviceAccountName"] in there, where
        for container in spec["containers"]:
            found = {each["configMapRef"]["name"] for each in container.get("envFrom", ()) if "configMapRef" in each}
            assert found <= maps, where
    assert {each["spec"]["serviceName"] for each in made.of("StatefulSet").values()} <= services


@pytest.mark.parametrize(
    "length", [pytest.param(each, marks=[] if each in OFTEN else [pytest.mark.slow]) for each in range(1, LONGEST + 1)]
)
def test_a_release_may_be_called_by_a_name_of_any_length(length: int) -> None:
    name = ("production-of-the-team-that-detects-fraud-in-payments-of-all")[:length].rstrip("-").ljust(length, "x")
    check(release(name), name)


@pytest.mark.parametrize("values", ["default", "minimal", "production"])
def test_names_are_right_in_every_set_of_values(values: str) -> None:
    check(release("x" * 53, values), values)


def test_long_names_that_differ_at_their_end_alone_stay_different() -> None:
    one, other = ({each["metadata"]["name"] for each in release("r" * 52 + end).manifests} for end in "ab")
    assert not one & other


def test_dots_in_the_name_of_a_release_are_hyphens_in_names_of_objects() -> None:
    check(release("v1.2"), "v1.2")
    assert "v1-2-graphtide-planner" in {each["metadata"]["name"] for each in release("v1.2").manifests}


def test_a_name_that_no_service_may_begin_with_is_refused_with_what_to_write() -> None:
    with pytest.raises(RefusedError, match=r"begin with a letter.*write fullnameOverride"):
        release("1st")


def test_names_that_fit_are_not_changed() -> None:
    made = release("tide", "default")
    assert made.one("StatefulSet", "matcher-event-pattern")["metadata"]["name"] == "tide-graphtide-matcher-event-pattern"
