//! CSV as RFC 4180 has it: a header, quotes where wanted, LF or CRLF, line ends within quotes.
//!
//! Beyond the RFC, as the csv module of Python reads it: a byte order mark and empty lines are skipped, a quote within an
//! unquoted field stands for itself, text behind a closing quote belongs to the field. Cost: a few passes of `memchr` over each
//! record.

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::SharedSymbols;
use graphtide_graph::value::ValueRef;
use memchr::{memchr, memchr_iter};

use crate::column::Column;
use crate::columns::{ColumnNames, Layout};
use crate::error::{DecodeError, RowError, shorten};
use crate::splitter::{Piece, Splitter};
use crate::types::{AttributeType, Projection, SETTLED_BY, Settled, is_text, refuse};
use crate::writer::{Draft, Label, Target, Writer};
use crate::{Decoder, KEPT_OF_LONG_RECORD, MAX_RECORD, Options};

const FORMAT: &str = "CSV";

/// Decoder of a CSV stream.
#[derive(Clone, Debug)]
pub struct CsvDecoder {
    attributes: Projection,
    types: Types,
    names: ColumnNames,
    delimiter: u8,
    splitter: Splitter,
    writer: Writer,
    header: Option<Header>,
    fields: Fields,
}

/// How the types of the attributes come about.
#[derive(Clone, Debug)]
struct Types {
    /// Whether a value may differ from its declared type, so that records are checked before they are written.
    can_refuse: bool,
    /// Whether the first block is still to settle which columns hold texts.
    to_settle: bool,
    settled: Vec<Settled>,
}

#[derive(Clone, Debug)]
struct Header {
    columns: Vec<String>,
    layout: Layout,
}

impl CsvDecoder {
    /// Makes a decoder; `delimiter` is one ASCII character.
    pub fn new(options: Options, delimiter: u8, symbols: SharedSymbols) -> Result<Self, DecodeError> {
        if !delimiter.is_ascii() || matches!(delimiter, b'"' | b'\n' | b'\r' | 0) {
            return Err(DecodeError::Delimiter { delimiter: delimiter.into() });
        }
        let attributes = Projection::new(options.attributes, options.declared);
        let can_refuse = attributes.types.iter().any(|kind| !matches!(kind, AttributeType::Any | AttributeType::String));
        Ok(Self {
            attributes,
            types: Types { can_refuse, to_settle: false, settled: Vec::new() },
            names: options.columns,
            delimiter,
            splitter: Splitter::new(Some(delimiter)),
            writer: Writer::new(symbols, options.keep_raw, options.substitutes),
            header: None,
            fields: Fields::default(),
        })
    }

    /// Lets the first block settle which columns hold texts, where nothing is declared of them.
    #[must_use]
    pub fn settling(mut self) -> Self {
        self.types.to_settle = true;
        self
    }

    fn has(&self, column: Column) -> bool {
        self.header.as_ref().is_some_and(|header| header.layout.get(column).is_some())
    }

    /// Settles by the beginning of a stream which columns hold texts; what is cut at the block's end is not looked at.
    ///
    /// It is decoded afterwards like any block. Cost: one more pass over at most [`SETTLED_BY`] bytes.
    fn settle(&mut self, block: &[u8]) -> Result<(), DecodeError> {
        let Self { attributes, types, names, delimiter, fields, .. } = self;
        let mut splitter = Splitter::new(Some(*delimiter));
        splitter.feed(&block[..block.len().min(SETTLED_BY)]);
        let Some(first) = splitter.next() else { return Ok(()) };
        let header = Header::read(&first, *delimiter, fields, names, &attributes.names)?;
        let mut open: Vec<usize> =
            (0..header.columns.len()).filter(|place| !header.layout.columns.contains(&Some(*place))).collect();
        types.to_settle = false;
        while let Some(piece) = splitter.next()
            && !open.is_empty()
        {
            let Piece::Record { line, bytes, quoted } = piece else { continue };
            let Ok(fields) = fields.split(bytes, *delimiter, quoted) else { continue };
            if fields.len() != header.columns.len() {
                continue;
            }
            open.retain(|place| {
                let text = fields.get(*place);
                let shows = is_text(text);
                if shows {
                    types.settled.push(Settled { column: header.columns[*place].clone(), line, text: shorten(text) });
                }
                !shows
            });
        }
        for (kind, name) in attributes.types.iter_mut().zip(&attributes.names) {
            if *kind == AttributeType::Any && types.settled.iter().any(|settled| settled.column == *name) {
                *kind = AttributeType::String;
            }
        }
        Ok(())
    }

    fn drain(&mut self, last: bool, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let Self { attributes, types, names, delimiter, splitter, writer, header, fields } = self;
        let symbols = writer.symbols.clone();
        let mut target = Target { symbols: &mut symbols.lock(), batch, dead };
        let mut ended = false;
        while !ended {
            // Pieces borrow the splitter, so the two ways to get one cannot be one expression that tries the other.
            let piece = if let Some(piece) = splitter.next() {
                piece
            } else if last && let Some(piece) = splitter.finish() {
                ended = true;
                piece
            } else {
                break;
            };
            let Some(header) = header else {
                *header = Some(Header::read(&piece, *delimiter, fields, names, &attributes.names)?);
                continue;
            };
            let (line, bytes, result) = match piece {
                Piece::Record { line, bytes, quoted } => {
                    let result = fields.split(bytes, *delimiter, quoted).and_then(|fields| {
                        if fields.len() != header.columns.len() {
                            return Err(RowError::FieldCount { expected: header.columns.len(), found: fields.len() });
                        }
                        if types.can_refuse {
                            check_types(attributes, &header.layout, fields)?;
                        }
                        write(writer, &mut target, &header.layout, attributes, line, fields, bytes)
                    });
                    (line, bytes, result)
                }
                Piece::TooLong { line, head } => {
                    (line, head, Err(RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD }))
                }
                Piece::OpenQuote { line, bytes } => (line, bytes, Err(RowError::OpenQuote)),
            };
            if let Err(error) = result {
                writer.reject(&mut target, line, &error, bytes);
            }
        }
        Ok(())
    }
}

impl Decoder for CsvDecoder {
    fn ordinal(&self) -> u64 {
        self.writer.ordinal()
    }

    fn start_at(&mut self, ordinal: u64) {
        self.writer.start_at(ordinal);
    }

    fn accept_until(&mut self, latest: Time) {
        self.writer.accept_until(latest);
    }

    fn feed(&mut self, block: &[u8], batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        if self.types.to_settle {
            self.settle(block)?;
        }
        self.splitter.feed(block);
        self.drain(false, batch, dead)
    }

    /// Decodes a last record without a line end. A stream without a header is an error.
    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        self.drain(true, batch, dead)?;
        if self.header.is_none() { Err(DecodeError::NoHeader) } else { Ok(()) }
    }

    fn begin_piece(&mut self, line: u64) {
        self.splitter.restart(line);
    }

    fn settled(&self) -> &[Settled] {
        &self.types.settled
    }

    fn columns(&self) -> Option<&[String]> {
        self.header.as_ref().map(|header| header.columns.as_slice())
    }

    fn has_ids(&self) -> bool {
        self.has(Column::Id)
    }

    fn has_operations(&self) -> bool {
        self.has(Column::Operation)
    }
}

impl Header {
    fn read(
        piece: &Piece<'_>,
        delimiter: u8,
        fields: &mut Fields,
        names: &ColumnNames,
        attributes: &[String],
    ) -> Result<Self, DecodeError> {
        let no_csv = |reason: &str| DecodeError::NotThisFormat { format: FORMAT, reason: reason.to_owned() };
        // Longer or shorter than a block or the bound, the first line of such a stream is the whole stream.
        let returns = || no_csv("its lines end in carriage returns alone; turn them into line feeds");
        let (bytes, quoted) = match *piece {
            Piece::Record { bytes, quoted, .. } => (bytes, quoted),
            Piece::TooLong { head: bytes, .. } | Piece::OpenQuote { bytes, .. } => {
                let has_returns = !bytes.starts_with(b"\"") && memchr(b'\r', bytes).is_some();
                return Err(if has_returns { returns() } else { no_csv("its first line has no end") });
            }
        };
        if memchr(0, bytes).is_some() {
            return Err(no_csv("its first line is binary"));
        }
        if !quoted && memchr(b'\r', bytes).is_some() {
            return Err(returns());
        }
        let fields = fields.split(bytes, delimiter, quoted).map_err(|_| no_csv("its first line is not UTF-8"))?;
        let columns: Vec<String> = (0..fields.len()).map(|place| fields.get(place).to_owned()).collect();
        if columns.iter().any(|name| name.contains('\r')) {
            return Err(returns());
        }
        let layout = Layout::resolve(names, attributes, &columns)?;
        Ok(Self { columns, layout })
    }
}

#[inline]
fn write(
    writer: &mut Writer,
    target: &mut Target<'_>,
    layout: &Layout,
    projection: &Projection,
    line: u64,
    fields: FieldsOf<'_>,
    raw: &[u8],
) -> Result<(), RowError> {
    let text = |column: Column| layout.get(column).map(|place| fields.get(place));
    let key = |column: Column| text(column).map(KeyRef::parse);
    let label = |column: Column| text(column).map(Label::Text);
    let draft = Draft {
        is_event: layout.is_events,
        ts: parse_ts(text(Column::Ts).unwrap_or_default())?,
        source: key(Column::Source),
        target: key(Column::Target),
        label: label(Column::Label),
        source_label: label(Column::SourceLabel),
        target_label: label(Column::TargetLabel),
        stream: None,
        id: key(Column::Id).map(IdRef::Given),
        operation: text(Column::Operation),
    };
    // No text of a record within the bound can be longer than a batch can hold: the other fields take their bytes too.
    const { assert!(MAX_RECORD - 4 <= graphtide_graph::key::MAX_TEXT) };
    // What is not a value of its type was refused before.
    let attributes = layout
        .attributes
        .iter()
        .zip(&projection.types)
        .take(projection.wanted)
        .map(|(place, kind)| place.and_then(|place| kind.read(fields.get(place))).unwrap_or(ValueRef::Null));
    writer.write(target, line, &draft, attributes, raw)
}

/// Refuses a record with a value that is not of the type that was declared.
fn check_types(projection: &Projection, layout: &Layout, fields: FieldsOf<'_>) -> Result<(), RowError> {
    for ((kind, name), place) in projection.types.iter().zip(&projection.names).zip(&layout.attributes) {
        let Some(text) = place.map(|place| fields.get(place)) else { continue };
        if kind.read(text).is_none() {
            return Err(refuse(name, text, *kind));
        }
    }
    Ok(())
}

#[inline]
fn parse_ts(text: &str) -> Result<i64, RowError> {
    text.parse().map_err(|_| refuse_ts(text))
}

#[cold]
fn refuse_ts(text: &str) -> RowError {
    let column = Column::Ts.name();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() && text.is_empty() {
        RowError::Empty { column }
    } else if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        RowError::OutOfRange { column, text: shorten(text) }
    } else {
        RowError::NotInteger { column, text: shorten(text) }
    }
}

/// Places of fields, kept from record to record for their memory alone.
#[derive(Clone, Debug, Default)]
struct Fields {
    places: Vec<(usize, usize)>,
    unquoted: String,
}

/// The fields of one record.
#[derive(Clone, Copy)]
struct FieldsOf<'a> {
    text: &'a str,
    places: &'a [(usize, usize)],
}

impl<'a> FieldsOf<'a> {
    #[inline]
    fn len(self) -> usize {
        self.places.len()
    }

    #[inline]
    fn get(self, place: usize) -> &'a str {
        let (start, end) = self.places[place];
        &self.text[start..end]
    }
}

impl Fields {
    /// Takes a record apart.
    #[inline]
    fn split<'a>(&'a mut self, record: &'a [u8], delimiter: u8, quoted: bool) -> Result<FieldsOf<'a>, RowError> {
        let text = std::str::from_utf8(record).map_err(|error| RowError::NotUtf8 { offset: error.valid_up_to() })?;
        self.places.clear();
        if quoted {
            self.unquote(text, delimiter);
            return Ok(FieldsOf { text: &self.unquoted, places: &self.places });
        }
        let mut start = 0;
        for end in memchr_iter(delimiter, record) {
            self.places.push((start, end));
            start = end + 1;
        }
        self.places.push((start, record.len()));
        Ok(FieldsOf { text, places: &self.places })
    }

    fn unquote(&mut self, mut rest: &str, delimiter: u8) {
        self.unquoted.clear();
        loop {
            let start = self.unquoted.len();
            if let Some(inner) = rest.strip_prefix('"') {
                rest = inner;
                while let Some(quote) = memchr(b'"', rest.as_bytes()) {
                    self.unquoted.push_str(&rest[..quote]);
                    rest = &rest[quote + 1..];
                    let Some(after) = rest.strip_prefix('"') else { break };
                    self.unquoted.push('"');
                    rest = after;
                }
            }
            let end = memchr(delimiter, rest.as_bytes());
            self.unquoted.push_str(&rest[..end.unwrap_or(rest.len())]);
            self.places.push((start, self.unquoted.len()));
            let Some(end) = end else { return };
            rest = &rest[end + 1..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records as `ts src dst id note`, and dead letters, of `input` cut into blocks of `step` bytes.
    fn decode(input: &[u8], step: usize) -> Result<(Vec<String>, Vec<DeadLetter>), DecodeError> {
        let options = Options { attributes: vec!["note".into()], ..Options::default() };
        let mut decoder = CsvDecoder::new(options, b',', SharedSymbols::default())?;
        let (mut batch, mut dead) = (EdgeBatch::new(1), Vec::new());
        for block in input.chunks(step) {
            decoder.feed(block, &mut batch, &mut dead)?;
        }
        decoder.finish(&mut batch, &mut dead)?;
        let show = |row| {
            let record = batch.row(row);
            format!("{} {} {} {} {:?}", record.ts, record.source, record.target, record.id, batch.attribute(row, 0))
        };
        Ok(((0..batch.len()).map(show).collect(), dead))
    }

    #[test]
    fn what_is_read_and_what_is_refused_does_not_depend_on_blocks() {
        let inputs = [
            "ts,src,dst,label\r1,a,b,x\r2,a,b,x\r",
            "\"ts\",src,dst,label\r1,a,b,x\r\"2\",a,b,x\r",
            "ts,src,dst,label\r1,\"a,b,x\r",
            "ts,src,dst,label,note\n1,a,b,x,y\r2,a,b,x,y\r",
            "ts,src,dst,label,note\r\n1,a\rb,c,x,\"y\r\n\n1,a,b,x,\"\n",
            "\u{feff}ts,src,dst,label\r\n1,a,b,x\"y\"\n\n\n2,\"a\"\"\",b,x\"\n\"3\"4,a,b,x",
            "ts,src\n",
            "\r\n\r\n",
            "",
        ];
        for input in inputs {
            let whole = decode(input.as_bytes(), input.len().max(1));
            for step in 1..input.len() {
                assert_eq!(decode(input.as_bytes(), step), whole, "{input:?} in blocks of {step}");
            }
        }
        let returns = "this is not CSV: its lines end in carriage returns alone; turn them into line feeds";
        for input in &inputs[..3] {
            assert_eq!(decode(input.as_bytes(), 7).map_err(|error| error.to_string()), Err(returns.to_owned()), "{input:?}");
        }
    }

    #[test]
    fn records_and_dead_letters_do_not_depend_on_blocks() {
        let input = "label,note,dst,src,ts\r\nx,,b,a,-1\n\nx,\"say \"\"ü\"\",\r\nnow\",\"b\",007,2\nx,1,b,a\nx,2.5,b,\"\",4\nx,17,42,a,5";
        let records = ["-1 a b 0 Null", "2 007 b 1 Text(\"say \\\"ü\\\",\\r\\nnow\")", "5 a 42 4 Int(17)"];
        let letter = |line, reason: &str, raw: &str| DeadLetter { line, reason: reason.into(), raw: raw.into() };
        let dead = [letter(6, "expected 5 fields, found 4", "x,1,b,a"), letter(7, "src is empty", "x,2.5,b,\"\",4")];
        for step in 1..=input.len() {
            assert_eq!(
                decode(input.as_bytes(), step),
                Ok((records.map(String::from).to_vec(), dead.to_vec())),
                "blocks of {step}"
            );
        }
    }
}
