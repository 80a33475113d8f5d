"""What a user may do in Kafka, as a `KafkaUser` of Strimzi says it, for brokers without an operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs do not say that it exports these
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

if TYPE_CHECKING:
    from pathlib import Path

AccessRule = AclBinding
"""A rule: one operation on resources of a name, or a prefix, by one user."""

_RESOURCES: Final = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactionalId": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,
}
_PATTERNS: Final = {"prefix": ResourcePatternType.PREFIXED, "literal": ResourcePatternType.LITERAL}


def access_rules(manifest: Path, user: str) -> list[AccessRule]:
    """Return what the user of a manifest may do, each operation on each resource, as rules for a user of this name."""
    (configured,) = yaml.safe_load_all(manifest.read_text("utf-8"))
    return [
        AccessRule(
            _RESOURCES[rule["resource"]["type"]],
            rule["resource"]["name"],
            _PATTERNS[rule["resource"]["patternType"]],
            f"User:{user}",
            "*",
            _operation(operation),
            AclPermissionType.ALLOW,
        )
        for rule in configured["spec"]["authorization"]["acls"]
        for operation in rule["operations"]
    ]


def _operation(name: str) -> AclOperation:
    """Return the operation of Strimzi's name, such as `DescribeConfigs`."""
    return AclOperation[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()]
