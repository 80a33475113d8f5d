"""Text in XML and HTML: what means something there is escaped, what cannot stand there at all is a mark of its place."""

from __future__ import annotations

import re
from html import escape

_IMPOSSIBLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write: most control characters, and halves of surrogate pairs."""


def markup(text: str) -> str:
    """Return a text as XML and HTML write it, in an element or in an attribute. Labels and ids of a stream may be any text."""
    return escape(_IMPOSSIBLE.sub("\ufffd", text))
