"""Streams from files, standard input, tables and iterables, as batches for the matcher."""

from graphtide_core.formats import StreamFormat

from graphtide.readers.dead_letters import DeadLetterFile
from graphtide.readers.memory import from_edges, from_table
from graphtide.readers.merged import MergedReader, Ordering
from graphtide.readers.opening import open_stream
from graphtide.readers.reader import Reader, ReaderOptions, Settled, UnusableValues

__all__ = [
    "DeadLetterFile",
    "MergedReader",
    "Ordering",
    "Reader",
    "ReaderOptions",
    "Settled",
    "StreamFormat",
    "UnusableValues",
    "from_edges",
    "from_table",
    "open_stream",
]
