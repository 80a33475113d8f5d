"""Texts in other encodings than UTF-8, which is what decoders read."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from graphtide_core.errors import UnreadableStreamError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def encode_again(blocks: Iterable[bytes], encoding: str, name: str) -> Iterator[bytes]:
    """Yield the bytes of a text in UTF-8; `name` is what messages call it.

    Raises:
        UnreadableStreamError: they are not of the encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in blocks:
            if text := decoder.decode(block):
                yield text.encode()
        if text := decoder.decode(b"", final=True):
            yield text.encode()
    except UnicodeError as error:
        message = f"{name}: it is not a text in {encoding} ({error})"
        raise UnreadableStreamError(message) from error
