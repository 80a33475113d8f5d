"""The formats that streams are read from: one entry each, which the command line, readers, HTTP, Spark and backfills ask.

An entry is data. It names its code (`package.module:name`) and does not import it, because help texts and records on the log
need neither the extension nor pyarrow. `graphtide_native.decoders` loads decoders; the packages that read and write tables load
theirs with `pkgutil.resolve_name`.
Invariant: names, suffixes, media types and magic bytes belong to one format each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPRESSED_SUFFIXES: Final = (".gz", ".zst", ".bz2", ".xz", ".zip")
"""Suffixes that follow the suffix of a text format."""


@dataclass(frozen=True, slots=True)
class HttpBody:
    """How a text format is sent over HTTP and kept on the log.

    Attributes:
        media_types: all that name the format; the first is the one on the log.
        edge: a body of one edge, for the description of the API.
        event: a body of one event, likewise.
        is_text: whether the description calls the body a string; a line of JSON has no schema there.
    """

    media_types: tuple[str, ...]
    edge: str
    event: str
    is_text: bool = True


@dataclass(frozen=True, slots=True)
class Tables:
    """The code of a columnar format, each part as `package.module:name`.

    Attributes:
        reader: a function of an open source and `ReaderOptions`; returns a reader.
        rows: a function of a path; yields the record batches of the file.
        history: a `TableHistory`: the columns and pieces of a file for backfills, and how they write matches.
        matches: a function of an open file, a schema and the columns of few words; returns a writer of tables of matches.
    """

    reader: str
    rows: str
    history: str
    matches: str


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """How a stream is written.

    At most one of `decoder` and `tables` is given. A `decoder` makes it a text format, which is decoded block by block and may
    be compressed or come through a pipe. `tables` makes it a columnar one, which is read from a file. With neither it is a text
    format that a STREAM statement alone reads.

    Attributes:
        value: its name in options and messages.
        title: its name in documents.
        suffixes: of its files; the first is the one that messages suggest.
        decoder: a function of a `Decoding` that returns a `Decoder`, as `package.module:name`.
        has_header: whether the stream begins with a header line that names its columns: they can be renamed over HTTP, and go
            with every raw record. Its fields have no types, so the beginning settles them.
        http: how it is sent; None if it is not.
        tables: the code of a columnar format.
        matches: of a text format, the function that makes a writer of tables of matches, as `package.module:name`. It takes an
            open file, a schema and the columns of few words. None if matches are not written in it as rows.
        database: of a file with tables of its own, a class that takes matches, as `package.module:name`. It is made of a path,
            the patterns and a unit of time.
        generated: a function that writes generated records, as `package.module:name`. It takes an open file and a `Table` of
            the records. None if generators do not write the format.
        magic: the first bytes of its files, by which they are known; empty if any text may begin so.
        is_of_lines: whether it is text, whose records are found by their lines.
    """

    value: str
    title: str
    suffixes: tuple[str, ...]
    decoder: str | None = None
    has_header: bool = False
    http: HttpBody | None = None
    tables: Tables | None = None
    magic: bytes = b""
    is_of_lines: bool = True
    generated: str | None = None
    matches: str | None = None
    database: str | None = None

    @property
    def is_text(self) -> bool:
        """Whether it is decoded block by block."""
        return self.tables is None

    @property
    def media_type(self) -> str:
        """Its media type on the log.

        Raises:
            ValueError: it is not sent.
        """
        if self.http is None:
            message = f"streams are not sent as {self.value}"
            raise ValueError(message)
        return self.http.media_types[0]

    def __repr__(self) -> str:
        """Return its name, for messages of tests."""
        return f"<StreamFormat {self.value}>"


CSV: Final = StreamFormat(
    "csv",
    "CSV",
    suffixes=(".csv",),
    decoder="graphtide_native.decoders:csv",
    has_header=True,
    http=HttpBody(("text/csv",), edge="ts,src,dst,label\n1,a,b,x\n", event="ts,type,speed\n1,reading,17.5\n"),
    generated="graphtide_generate.writer:write_csv",
    matches="graphtide.match_csv:csv_rows",
)

JSON_LINES: Final = StreamFormat(
    "jsonl",
    "JSON Lines",
    suffixes=(".jsonl", ".ndjson"),
    decoder="graphtide_native.decoders:json_lines",
    http=HttpBody(
        ("application/x-ndjson", "application/jsonl"),
        edge='{"ts":1,"src":"a","dst":"b","label":"x"}\n',
        event='{"ts":1,"type":"reading","speed":17.5}\n',
        is_text=False,
    ),
    generated="graphtide_generate.writer:write_json_lines",
)

PARQUET: Final = StreamFormat(
    "parquet",
    "Parquet",
    suffixes=(".parquet",),
    tables=Tables(
        reader="graphtide.readers.columnar:read_parquet",
        rows="graphtide_native.table_batches:read_parquet",
        history="graphtide_backfill.adapters.columnar:PARQUET_HISTORY",
        matches="graphtide.match_files:parquet_writer",
    ),
    magic=b"PAR1",
    generated="graphtide_generate.writer:write_parquet",
)

ARROW: Final = StreamFormat(
    "arrow",
    "Arrow",
    suffixes=(".arrow", ".feather", ".ipc"),
    tables=Tables(
        reader="graphtide.readers.columnar:read_arrow",
        rows="graphtide_native.table_batches:read_arrow",
        history="graphtide_backfill.adapters.columnar:ARROW_HISTORY",
        matches="graphtide.match_files:arrow_writer",
    ),
    magic=b"ARROW1",
    generated="graphtide_generate.writer:write_arrow",
)

JSON: Final = StreamFormat("json", "JSON", suffixes=(".json",), decoder="graphtide_native.decoders:json")

ZEEK: Final = StreamFormat(
    "zeek", "log of Zeek", suffixes=(".zeek",), decoder="graphtide_native.decoders:zeek", magic=b"#separat"
)

DEFAULT: Final = JSON_LINES
"""The format of standard input, and of bodies and raw records that do not name one."""

FORMATS: Final[dict[str, StreamFormat]] = {each.value: each for each in (CSV, JSON_LINES, PARQUET, ARROW, JSON, ZEEK)}
"""Every format by its name: the one place that adds one."""


REGEX: Final = StreamFormat("regex", "lines of a regular expression", suffixes=())

XML: Final = StreamFormat("xml", "XML", suffixes=(".xml",))

AVRO: Final = StreamFormat("avro", "Avro", suffixes=(".avro",), magic=b"Obj\x01", is_of_lines=False)

PROTOBUF: Final = StreamFormat("protobuf", "messages of Protobuf", suffixes=(".binpb",), is_of_lines=False)

SYSLOG: Final = StreamFormat("syslog", "messages of syslog", suffixes=())

_STATED_ALONE: Final = {each.value: each for each in (REGEX, XML, SYSLOG, AVRO, PROTOBUF)}
"""Formats that no stream has without a STREAM statement."""


SQLITE: Final = StreamFormat(
    "sqlite", "SQLite", suffixes=(".sqlite", ".sqlite3"), database="graphtide.match_sqlite:MatchDatabase"
)
"""A format of matches alone."""


def stated_format(name: str) -> StreamFormat:
    """Return the format that a STREAM statement names."""
    return FORMATS.get(name) or _STATED_ALONE[name]


def by_suffix(suffix: str) -> StreamFormat | None:
    """Return the format of files with a suffix in lower case; None if there is none."""
    return next((each for each in FORMATS.values() if suffix in each.suffixes), None)


def by_media_type(media_type: str) -> StreamFormat | None:
    """Return the format that a media type in lower case names; None if there is none."""
    return next((each for each in FORMATS.values() if each.http is not None and media_type in each.http.media_types), None)


def on_log(media_type: str) -> StreamFormat | None:
    """Return the format of raw records of this content type in lower case: the log has one name for each."""
    found = by_media_type(media_type)
    return found if found is not None and found.media_type == media_type else None


def by_magic(head: bytes) -> StreamFormat | None:
    """Return the format of files that begin with these bytes; None if they show none."""
    return next((each for each in FORMATS.values() if each.magic and head.startswith(each.magic)), None)


def media_types() -> dict[str, StreamFormat]:
    """Return the formats that are sent, by all their media types, with those of the default first."""
    sent = sorted(FORMATS.values(), key=lambda each: each is not DEFAULT)
    return {kind: each for each in sent if each.http is not None for kind in each.http.media_types}


def suffixes() -> list[str]:
    """Return the suffixes of all formats."""
    return [suffix for each in FORMATS.values() for suffix in each.suffixes]


def match_formats() -> dict[str, StreamFormat]:
    """Return the formats of files that matches are written to, by suffix: lines, and all that tables can be written in."""
    written = [DEFAULT, *(each for each in FORMATS.values() if each.tables is not None or each.matches is not None), SQLITE]
    return {suffix: each for each in dict.fromkeys(written) for suffix in each.suffixes}


def written_suffixes() -> dict[str, StreamFormat]:
    """Return the formats by the suffixes that new files get: all of a text format's, the first of a columnar one's."""
    return {suffix: each for each in FORMATS.values() for suffix in (each.suffixes if each.is_text else each.suffixes[:1])}


def columnar_suffixes() -> list[str]:
    """Return the suffixes that new files of columnar formats get."""
    return [suffix for suffix, each in written_suffixes().items() if not each.is_text]


def columnar_first() -> dict[str, StreamFormat]:
    """Return the formats by their names in the order in which backfills list them: they read columns fastest."""
    return {each.value: each for each in sorted(FORMATS.values(), key=lambda each: each.is_text)}


def one_of(words: Iterable[str]) -> str:
    """Return words as `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
