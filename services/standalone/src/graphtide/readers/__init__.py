"""Streams from files, standard input, tables and iterables, as batches for the matcher."""

from graphtide.readers.dead_letters import DeadLetterFile
from graphtide.readers.opening import open_stream
from graphtide.readers.reader import Reader, ReaderOptions, StreamFormat, Unfit

__all__ = ["DeadLetterFile", "Reader", "ReaderOptions", "StreamFormat", "Unfit", "open_stream"]
