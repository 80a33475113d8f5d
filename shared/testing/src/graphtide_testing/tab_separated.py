"""A toy input format, `label src dst ts` with tabs between them and no header: the recipe of CONTRIBUTING.md, followed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from graphtide_core.formats import HttpBody, StreamFormat
from graphtide_native.records import CsvDecoder

if TYPE_CHECKING:
    from graphtide_native.decoders import Decoding
    from graphtide_native.records import Decoder

TAB_SEPARATED: Final = StreamFormat(
    "tabs",
    "tab-separated lines",
    suffixes=(".tabs", ".tab"),
    decoder="graphtide_testing.tab_separated:decoder",
    http=HttpBody(("text/tab-separated-values",), edge="x\ta\tb\t1\n", event="x\ta\tb\t1\n"),
)


def decoder(asked: Decoding) -> Decoder:
    """Return a decoder that knows its columns from the start; what is renamed, and the delimiter asked for, do not matter."""
    made = CsvDecoder(
        asked.symbols, asked.attributes, {}, "\t", types=asked.types, keep_raw=asked.keep_raw, substitutes=asked.substitutes
    )
    made.decode(b"label\tsrc\tdst\tts\n")
    # The header is not a line of the stream.
    made.decode_pieces([b""], 1)
    return made
