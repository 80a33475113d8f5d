"""Escape text for XML and HTML; characters that they cannot have are replaced by a mark."""

from __future__ import annotations

import re
from html import escape

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have: most control characters, and halves of surrogate pairs."""


def markup(text: str) -> str:
    """Return a text as XML and HTML write it, in an element or in an attribute. Labels and ids of a stream may be any text."""
    return escape(_IMPOSSIBLE.sub("\ufffd", text))
