"""Bodies of HTTP answers that servers write and clients read, each written once.

A server answers with these structures and describes them in its document (`graphtide_serving.described`); a client reads them.
What an answer has beyond these members is passed over, so a newer server may say more. Members that an older server did not
have yet have a default, and a server gives them all the same.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

MAY_BE_LEFT_OUT: Final = msgspec.Meta(extra={"may be left out": True})
"""Marks a member that a server leaves out where it says nothing."""

TIME: Final = "2026-01-01T12:00:00Z"
"""A moment in examples."""


class Body(msgspec.Struct, frozen=True):
    """An answer, or a part of one."""

    schema: ClassVar[str | None] = None
    """What the document of a server calls it, if otherwise than the class."""

    examples: ClassVar[tuple[dict[str, Any], ...]] = ()


def one_of(*words: str) -> msgspec.Meta:
    """Mark a text that is one of some words; a client takes others, too, which a newer server may have."""
    return msgspec.Meta(extra={"one of": words})
