"""Targets of alerts: kept in the log, and read from it anew, as they are few and seldom asked for."""

from __future__ import annotations

import re
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from graphtide_core.errors import InvalidPatternError, PoisonRecordError
from graphtide_core.mail_url import parse_mail_url
from graphtide_core.message_template import parse_template
from graphtide_core.outbound_addresses import RefusedAddressError, check_host, parse_url
from graphtide_log.follower import Follower
from graphtide_wire.targets import AlertCounts, TargetRecord, decode_counts, decode_target, encode_end_of_target, encode_target
from msgspec.structs import replace

from graphtide_admin_api.domain.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from graphtide_core.outbound_addresses import AllowedAddresses, Resolve, Target
    from graphtide_core.ports.clock import Clock
    from graphtide_core.ports.log import Log, Message, Record
    from graphtide_wire.topics import Topics

MOST_TARGETS: Final = 100

_FILE: Final = re.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_FLUSH_SECONDS: Final = 10.0
_R = TypeVar("_R")


class Targets:
    """The targets of a deployment; safe for threads. All may raise `TransientError`. Complexity: O(targets) each."""

    def __init__(self, log: Log, topics: Topics, clock: Clock, allowed: AllowedAddresses, resolve: Resolve) -> None:
        """Work on a log; addresses are checked by what is `allowed`, and looked up by `resolve`."""
        self._log = log
        self._topics = topics
        self._clock = clock
        self._allowed = allowed
        self._resolve = resolve

    def all(self) -> list[TargetRecord]:
        """Return the targets, by their names."""
        return sorted(self._newest(self._topics.targets, decode_target), key=lambda each: each.name)

    def counts(self) -> dict[tuple[str, datetime], AlertCounts]:
        """Return what became of the matches for each target, by its name and when it was made."""
        return {(each.target, each.created_at): each for each in self._newest(self._topics.alert_counts, decode_counts)}

    def get(self, name: str) -> TargetRecord:
        """Return a target.

        Raises:
            ProblemError: there is none.
        """
        for each in self.all():
            if each.name == name:
                return each
        raise ProblemError(404, "not-found", f"there is no target {name!r}")

    def put(self, given: TargetRecord) -> tuple[TargetRecord, bool]:
        """Make a target, or replace it; return it, and whether it is new. A new one starts where matches end now.

        Raises:
            ProblemError: its address or template cannot be, or there are too many.
        """
        self._check(given)
        known = {each.name: each for each in self.all()}
        old = known.get(given.name)
        if old is None:
            if len(known) >= MOST_TARGETS:
                raise ProblemError(409, "too-many-targets", f"there are {MOST_TARGETS} targets already; delete one first")
            made = replace(given, created_at=self._clock.now(), starts=self._ends())
        else:
            made = replace(given, created_at=old.created_at, starts=old.starts)
        self._write(encode_target(self._topics.targets, made))
        return made, old is None

    def delete(self, name: str) -> None:
        """Delete a target; what was not delivered to it is not any more. Raises as `get`."""
        self.get(name)
        self._write(encode_end_of_target(self._topics.targets, name))

    def _check(self, given: TargetRecord) -> None:
        try:
            if given.template is not None:
                parse_template(given.template)
            if given.kind != "file":
                check_host(_server_of(given).host, self._resolve, self._allowed)
        except (RefusedAddressError, InvalidPatternError) as error:
            raise ProblemError(422, "invalid-target", str(error)) from error
        except OSError as error:
            detail = f"the host of the address cannot be looked up: {error.strerror or error}"
            raise ProblemError(422, "invalid-target", detail) from error
        if given.kind == "file" and _FILE.fullmatch(given.address) is None:
            raise ProblemError(
                422, "invalid-target", f"{given.address!r} is not the name of a file: up to 100 of A-Z a-z 0-9 . _ -"
            )

    def _newest(self, topic: str, decode: Callable[[Record], _R]) -> Collection[_R]:
        """Return the newest record of each key of a topic; one that cannot be read counts as none."""
        self._log.admin().ensure(self._topics.of_deployment())
        found: dict[bytes, _R] = {}
        with closing(Follower(self._log, topic)) as follower:
            for record in follower.to_the_end():
                found.pop(record.key or b"", None)
                if record.value is not None:
                    with suppress(PoisonRecordError):
                        found[record.key or b""] = decode(record)
        return found.values()

    def _ends(self) -> tuple[int, ...]:
        with closing(self._log.reader(None)) as reader:
            places = reader.partitions(self._topics.matches)
            ends = reader.ends(places)
        return tuple(ends[place][1] for place in places)

    def _write(self, message: Message) -> None:
        with closing(self._log.writer()) as writer:
            writer.write([message])
            writer.flush(_FLUSH_SECONDS)


def _server_of(given: TargetRecord) -> Target:
    """Return the server of a target's URL.

    Raises:
        RefusedAddressError: it is no URL of the target's kind, or a password would go without TLS.
    """
    if given.kind != "email":
        return parse_url(given.address)
    route = parse_mail_url(given.address)
    if route.is_plain and given.secret is not None:
        message = "a password is sent over TLS alone; leave tls=none or the secret out"
        raise RefusedAddressError(message)
    return route.server
