"""Changing registrations, one after the other, however many processes serve the API.

The writer holds a transactional id that is one for the deployment. Taking it shuts out the writer that had it. Reading the
topic after that gives exactly what is registered: until another writer takes the id, no other one has written. So what a change
is decided on is what it replaces: a change that another one has overtaken is not written, and is decided anew.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from graphtide_core.errors import FencedError, PoisonRecordError, TransientError
from graphtide_core.ports.log import Message
from graphtide_log.follower import Follower
from graphtide_wire import control
from graphtide_wire.pattern_versions import VersionRecord, encode_version, version_key

from graphtide_admin_api.domain.registration import readers, refuse_circle, refuse_if_read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphtide_core.ports.log import Log, LogTransactor
    from graphtide_wire.control import PatternRecord
    from graphtide_wire.topics import Topics

    from graphtide_admin_api.application.view import View

    Change = Callable[[PatternRecord | None], PatternRecord | None]
    """Returns the next state from the registered one; None is nothing. Raises if the change must not be."""

    Losing = Callable[[str, Sequence[PatternRecord]], Sequence[PatternRecord]]
    """Returns the next state of registrations that read a view to delete. Raises if the view must stay."""

MOST_VERSIONS: Final = 20
"""Texts of a pattern that are kept."""

_ATTEMPTS: Final = 5
_SEEN_SECONDS: Final = 5.0


def _refuse(view: str, reading: Sequence[PatternRecord]) -> Sequence[PatternRecord]:
    refuse_if_read(view, [each.name for each in reading], len(reading))
    return ()


class Registry:
    """Writes registrations; safe for threads."""

    def __init__(self, log: Log, topics: Topics, view: View) -> None:
        """Prepare; the id is taken at the first change."""
        self._log = log
        self._topics = topics
        self._view = view
        self._lock = Lock()
        self._transactor: LogTransactor | None = None
        self._held: dict[str, PatternRecord] = {}

    def change(
        self, name: str, change: Change, losing: Losing = _refuse, *, refuse: Change | None = None
    ) -> PatternRecord | None:
        """Change a registration, and return it as it is now once the view shows it.

        Where a view goes by that, `losing` says what becomes of those that read it, in the same transaction. `refuse` decides
        as `change` does and has no effect: it and all checks come first, so that what is refused leaves nothing behind.

        Raises:
            TransientError: the log does not answer, or others change all the time. Whether the change holds is then not known.
        """
        with self._lock:
            new = self._changed(name, change, losing, refuse)
        self._view.wait_for(name, new.etag if new is not None else None, _SEEN_SECONDS)
        return new

    def exclusively(self, stream: str, act: Callable[[list[str]], None]) -> None:
        """Call `act` with the names of the patterns that read a stream, merged or not; nothing is changed here meanwhile.

        Changes of other processes that overtake it are not written by them before they have looked again.

        Raises:
            TransientError: the log does not answer.
        """
        with self._lock:
            try:
                # Changes of an earlier writer are seen, and a writer about to write is shut out.
                self._close()
                self._open()
                act(sorted(name for name, record in self._held.items() if stream in {record.stream, *record.reads.streams}))
            except TransientError:
                self._close()
                raise

    def close(self) -> None:
        """Give back the id."""
        with self._lock:
            self._close()

    def _changed(self, name: str, change: Change, losing: Losing, refuse: Change | None) -> PatternRecord | None:
        for _ in range(_ATTEMPTS):
            try:
                transactor = self._opened(name)
                old = self._held.get(name)
                if refuse is not None:
                    self._losing(old, refuse(old), name, losing)
                new = change(old)
                others = self._losing(old, new, name, losing)
                if new != old:
                    self._write(transactor, {name: new} | {each.name: each for each in others})
            except FencedError:
                self._close()
                continue
            except TransientError:
                self._close()
                raise
            return new
        message = "others change registrations all the time"
        raise TransientError(message)

    def _losing(
        self, old: PatternRecord | None, new: PatternRecord | None, name: str, losing: Losing
    ) -> Sequence[PatternRecord]:
        """Return what a change makes of those that read the view which goes by it; raises if the change must not be."""
        if new is not None:
            refuse_circle(new, self._held.values())
        goes = old is not None and old.view is True and (new is None or new.view is not True)
        return losing(name, readers(name, self._held.values())) if goes else ()

    def _opened(self, name: str) -> LogTransactor:
        """Return the transactor, opened anew if the view shows that another process has written."""
        held, seen = self._held.get(name), self._view.pattern(name)
        if self._transactor is not None and held == seen:
            return self._transactor
        self._close()
        return self._open()

    def _open(self) -> LogTransactor:
        """Take the id, and read what is registered."""
        self._transactor = transactor = self._log.transactor(f"{self._topics.prefix}.registry")
        transactor.open()
        self._held = {}
        follower = Follower(self._log, self._topics.patterns)
        try:
            for record in follower.to_the_end():
                key = (record.key or b"").decode(errors="replace")
                self._held.pop(key, None)
                if record.value is not None:
                    self._hold(key, record.value)
        finally:
            follower.close()
        return transactor

    def _hold(self, key: str, value: bytes) -> None:
        try:
            self._held[key] = control.decode_pattern(value)
        except PoisonRecordError:
            # It cannot be shown, so it counts as none: a registration of the name replaces it.
            return

    def _write(self, transactor: LogTransactor, changed: Mapping[str, PatternRecord | None]) -> None:
        values = {name: control.encode_pattern(new) if new is not None else None for name, new in changed.items()}
        transactor.begin()
        transactor.write([Message(self._topics.patterns, name.encode(), value) for name, value in values.items()])
        transactor.write([each for name, new in changed.items() if new is not None for each in self._versions(name, new)])
        transactor.commit(f"{self._topics.prefix}.registry", {})
        for name, new in changed.items():
            self._held.pop(name, None)
            if new is not None:
                self._held[name] = new

    def _versions(self, name: str, new: PatternRecord) -> list[Message]:
        """Return the records that a text is a version of its pattern, and that the oldest version is forgotten."""
        old = self._held.get(name)
        if old is not None and (old.version, old.text) == (new.version, new.text):
            return []
        topic, record = self._topics.versions, VersionRecord(name, new.version, new.text, new.updated_at)
        messages = [Message(topic, version_key(name, new.version), encode_version(record))]
        if new.version > MOST_VERSIONS:
            messages.append(Message(topic, version_key(name, new.version - MOST_VERSIONS), None))
        return messages

    def _close(self) -> None:
        if self._transactor is not None:
            self._transactor.close()
            self._transactor = None
