//! CSV as RFC 4180 has it: a header, quotes where wanted, LF or CRLF, line ends within quotes.
//!
//! Beyond the RFC it reads some things as the csv module of Python does. A byte order mark and empty lines are skipped. A quote
//! within an unquoted field stands for itself, and text behind a closing quote belongs to the field. A [`Dialect`] separates
//! fields otherwise, or names the columns elsewhere. Cost: one pass over many records at once where all are
//! plain, and a few passes of `memchr` over each other one.

pub(crate) mod fields;
mod header;
pub(crate) mod table;

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::SharedSymbols;
use graphtide_graph::value::ValueRef;

use crate::bulk;
use crate::column::Column;
use crate::columns::{ColumnNames, Layout};
use crate::decoder::{Decoder, Options};
use crate::dialect::{Delimiter, Dialect, Heading};
use crate::error::{DecodeError, RowError, shorten};
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD, Piece, Splitter, WholeLines};
use crate::statement::csv::{CsvStatement, Record};
use crate::statement::reading::Statement;
use crate::times::{Times, not_ticks};
use crate::types::{AttributeType, Projection, SETTLED_BY, Settled, is_text, refuse};
use crate::writer::{Draft, Label, Target, Writer};
use crate::zeek::Zeek;
use fields::{Fields, FieldsOf};
use header::{Header, is_blank};
use table::{Form, Places};

/// Decoder of a CSV stream.
#[derive(Clone, Debug)]
pub struct CsvDecoder {
    attributes: Projection,
    types: Types,
    names: ColumnNames,
    dialect: Dialect,
    times: Option<Times>,
    /// What stands for a missing value.
    nulls: Vec<String>,
    zeek: Option<Zeek>,
    splitter: Splitter,
    writer: Writer,
    header: Option<Header>,
    fields: Fields,
    /// Where the fields of many records are.
    places: Places,
    /// What reads records in place of all that, where there is a statement.
    statement: Option<Box<CsvStatement>>,
}

/// How the types of the attributes come about.
#[derive(Clone, Debug)]
struct Types {
    /// Whether a value may differ from its declared type, so that records are checked before they are written.
    can_refuse: bool,
    /// What was declared of them.
    declared: Vec<AttributeType>,
    /// Whether the first block is still to settle which columns hold texts.
    to_settle: bool,
    settled: Vec<Settled>,
}

impl CsvDecoder {
    /// Makes a decoder.
    pub fn new(options: Options, dialect: Dialect, symbols: SharedSymbols) -> Self {
        let attributes = Projection::new(options.attributes, options.declared);
        let can_refuse = can_refuse(&attributes.types);
        let zeek = matches!(dialect.heading, Heading::Zeek).then(|| Zeek::new(&options.nulls));
        let quotes = if zeek.is_some() { None } else { dialect.quoted() };
        let quote = dialect.quote.unwrap_or(b'"');
        let names = if options.label.is_some() { options.columns.without_label() } else { options.columns };
        let writer = Writer::new(symbols, options.keep_raw, options.substitutes).labelling(options.label.as_deref());
        Self {
            types: Types { can_refuse, declared: attributes.types.clone(), to_settle: false, settled: Vec::new() },
            attributes,
            names,
            dialect,
            times: options.times,
            nulls: options.nulls,
            zeek,
            splitter: Splitter::new(quotes).quoted_by(quote).without_comments(&options.comment),
            writer,
            header: None,
            fields: Fields::quoted_by(quote),
            places: Places::default(),
            statement: None,
        }
    }

    /// Lets a statement read the records.
    #[must_use]
    pub(crate) fn by(self, statement: Statement) -> Self {
        let (statement, columns) = CsvStatement::new(statement);
        let attributes = Projection::new(columns, Vec::new());
        let types = Types { can_refuse: false, declared: attributes.types.clone(), to_settle: false, settled: Vec::new() };
        Self { names: ColumnNames::of_no_column(), statement: Some(Box::new(statement)), attributes, types, ..self }
    }

    /// Lets the first block settle which columns hold texts, where nothing is declared of them.
    #[must_use]
    pub fn settling(mut self) -> Self {
        // Zeek says it.
        self.types.to_settle = self.zeek.is_none();
        self
    }

    fn has(&self, column: Column) -> bool {
        self.header.as_ref().is_some_and(|header| header.layout.get(column).is_some())
    }

    /// Settles by the beginning of a stream which columns hold texts; what is cut at the block's end is not looked at.
    ///
    /// It is decoded afterwards like any block. Cost: one more pass over at most [`SETTLED_BY`] bytes.
    fn settle(&mut self, block: &[u8]) -> Result<(), DecodeError> {
        let Self { attributes, types, names, dialect, nulls, fields, .. } = self;
        let mut splitter = self.splitter.clone();
        splitter.feed(&block[..block.len().min(SETTLED_BY)]);
        let delimiter = &dialect.delimiter;
        // Where no line has the names, the first is looked at, too.
        let whole = (!dialect.heading.is_line()).then(|| splitter.clone());
        let header = loop {
            let Some(first) = splitter.next() else { return Ok(()) };
            if !is_blank(&first, delimiter) {
                break Header::read(&first, dialect, fields, names, &attributes.names)?;
            }
        };
        let mut splitter = whole.unwrap_or(splitter);
        let mut open: Vec<usize> =
            (0..header.columns.len()).filter(|place| !header.layout.columns.contains(&Some(*place))).collect();
        types.to_settle = false;
        while let Some(piece) = splitter.next()
            && !open.is_empty()
        {
            let Piece::Record { line, bytes, quoted } = piece else { continue };
            let Ok(fields) = fields.split_by(bytes, delimiter, nulls, quoted) else { continue };
            if fields.len() != header.columns.len() {
                continue;
            }
            open.retain(|place| {
                let text = fields.get(*place);
                let shows = is_text(text, dialect.has_decimal_comma);
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

    /// Decodes what was fed, and behind it whole lines of the rest of the block; returns how many bytes of that.
    fn drain(
        &mut self,
        (last, block): (bool, &[u8]),
        batch: &mut EdgeBatch,
        dead: &mut Vec<DeadLetter>,
    ) -> Result<usize, DecodeError> {
        let Self { attributes, types, names, dialect, times, nulls, zeek, splitter, writer, header, fields, places, statement } =
            self;
        let symbols = writer.symbols.clone();
        let mut target = Target { symbols: &mut symbols.lock(), batch, dead };
        let (mut ended, mut rest) = (false, block);
        // Most streams have neither lines that say how they are written nor lines of blanks.
        let has_other_lines = zeek.is_some() || matches!(dialect.delimiter, Delimiter::Blanks);
        // A statement says itself how times and missing values are written.
        let has_own = statement.is_none() && (times.is_some() || !nulls.is_empty());
        let is_plain = !has_other_lines && !has_own && !dialect.has_decimal_comma;
        let plain = dialect.delimiter.quoted().filter(|_| is_plain);
        while !ended {
            if let (Some(delimiter), Some(header)) = (plain, &header) {
                let fed = splitter.whole_lines();
                let (is_fed, lines) = (fed.is_some(), fed.or_else(|| splitter.whole_lines_of(rest)));
                let form = Form { delimiter, quote: splitter.quote(), width: header.columns.len() };
                let written =
                    lines.map(|lines| write_lines((lines, form), places, (header, attributes), statement, writer, &mut target));
                if written.is_some_and(|written| pass(splitter, (&mut rest, is_fed), written)) {
                    continue;
                }
            }
            // Pieces borrow the splitter, so the two ways to get one cannot be one expression that tries the other.
            let piece = if let Some(piece) = splitter.next() {
                piece
            } else if last && let Some(piece) = splitter.finish() {
                ended = true;
                piece
            } else {
                break;
            };
            if has_other_lines {
                if is_blank(&piece, &dialect.delimiter) {
                    continue;
                }
                if let Some(zeek) = zeek
                    && let Piece::Record { bytes, .. } = piece
                    && bytes.starts_with(b"#")
                {
                    if zeek.take(bytes)? {
                        *header = Some(Header::of_columns(zeek.columns().to_vec(), names, &attributes.names)?);
                        zeek.settle(&types.declared, attributes);
                        types.can_refuse = can_refuse(&attributes.types);
                    }
                    dialect.delimiter = zeek.delimiter();
                    *nulls = zeek.nulls();
                    continue;
                }
            }
            if header.is_none() {
                *header = Some(Header::read(&piece, dialect, fields, names, &attributes.names)?);
                if dialect.heading.is_line() {
                    continue;
                }
            }
            let Some(header) = header else { continue };
            let (line, bytes, result) = match piece {
                Piece::Record { line, bytes, quoted } => {
                    let place = (line, bytes);
                    let columns = (&*header, &*attributes, types.can_refuse);
                    if let Some(statement) = statement {
                        let split = match dialect.delimiter {
                            Delimiter::Byte(delimiter) => fields.split(bytes, delimiter, quoted),
                            _ => fields.split_by(bytes, &dialect.delimiter, &[], quoted),
                        };
                        match split.and_then(|fields| header.check(fields).map(|()| fields)) {
                            Ok(fields) => {
                                let (places, columns) = (header.layout.attributes.as_slice(), &*attributes);
                                let nulls: &[String] = if zeek.is_some() { nulls } else { &[] };
                                let has_decimal_comma = dialect.has_decimal_comma;
                                let record = Record { line, bytes, fields, places, columns, nulls, has_decimal_comma };
                                statement.take(writer, &mut target, &record);
                            }
                            Err(error) => writer.reject(&mut target, line, &error, bytes),
                        }
                        continue;
                    }
                    let result = if let Some(delimiter) = plain {
                        fields.split(bytes, delimiter, quoted).and_then(|fields| {
                            write(writer, &mut target, columns, place, fields, parse_ts, AttributeType::read)
                        })
                    } else {
                        let other = Otherwise { dialect, times: times.as_ref(), nulls };
                        other.write(writer, &mut target, columns, place, fields, quoted)
                    };
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
        Ok(block.len() - rest.len())
    }
}

/// Passes lines that were written at once, as [`write_lines`] says; returns whether they were. They were fed, or are of the rest.
fn pass(splitter: &mut Splitter, (rest, is_fed): (&mut &[u8], bool), written: Result<(usize, usize), usize>) -> bool {
    match written {
        Ok(passed) if is_fed => splitter.pass_lines(passed),
        Ok((bytes, count)) => {
            splitter.count_lines(count);
            *rest = &rest[bytes..];
        }
        Err(bytes) if is_fed => splitter.leave_lines(bytes),
        Err(_) => {}
    }
    written.is_ok()
}

/// Writes lines at once; returns how many bytes and lines that are. Fails with how many bytes are to be read one by one.
fn write_lines(
    (lines, form): (WholeLines<'_>, Form),
    places: &mut Places,
    (header, attributes): (&Header, &Projection),
    statement: &mut Option<Box<CsvStatement>>,
    writer: &mut Writer,
    target: &mut Target<'_>,
) -> Result<(usize, usize), usize> {
    let table = places.find(lines, form)?;
    let layout = &header.layout;
    let is_written = match statement {
        None => bulk::write_all(table, (layout, attributes), writer, target),
        Some(statement) => statement.take_all(table, (&layout.attributes, attributes), writer, target),
    };
    let (bytes, count) = table.extent();
    if is_written { Ok((bytes, count)) } else { Err(bytes) }
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
        // What is whole in a block is read where it is.
        let (cut, rest) = self.splitter.cut(block);
        self.splitter.feed(cut);
        let read = self.drain((false, rest), batch, dead)?;
        self.splitter.feed(&rest[read..]);
        self.drain((false, b""), batch, dead).map(drop)
    }

    /// Decodes a last record without a line end. A stream without a header is an error.
    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        self.drain((true, b""), batch, dead)?;
        match self.dialect.heading {
            Heading::Line | Heading::Replaced(_) | Heading::Zeek if self.header.is_none() => Err(DecodeError::NoHeader),
            _ => Ok(()),
        }
    }

    fn begin_piece(&mut self, line: u64) {
        self.splitter.restart(line);
        if self.dialect.heading.is_line() {
            return;
        }
        // The piece begins as a file does: no piece before it had its header.
        self.splitter.expect_mark();
        if matches!(self.dialect.heading, Heading::Numbers | Heading::Zeek) {
            self.header = None;
        }
        if let Some(zeek) = &mut self.zeek {
            zeek.restart();
            self.dialect.delimiter = zeek.delimiter();
            self.nulls = zeek.nulls();
        }
    }

    fn settled(&self) -> &[Settled] {
        &self.types.settled
    }

    fn columns(&self) -> Option<&[String]> {
        self.header.as_ref().map(|header| header.columns.as_slice())
    }

    fn has_zoneless_times(&self) -> bool {
        match &self.statement {
            Some(by) => by.statement.had_zoneless(),
            None => self.times.as_ref().is_some_and(Times::had_zoneless),
        }
    }

    fn has_ids(&self) -> bool {
        self.statement.as_ref().map_or_else(|| self.has(Column::Id), |by| by.statement.has_ids())
    }

    fn has_operations(&self) -> bool {
        self.statement.as_ref().map_or_else(|| self.has(Column::Operation), |by| by.statement.has_operations())
    }

    fn discovered(&self) -> &[String] {
        self.statement.as_ref().map_or(&[], |by| by.statement.others())
    }

    fn filtered(&self) -> u64 {
        self.statement.as_ref().map_or(0, |by| by.statement.filtered())
    }
}

/// Whether a value may differ from one of these types.
fn can_refuse(types: &[AttributeType]) -> bool {
    types.iter().any(|kind| !matches!(kind, AttributeType::Any | AttributeType::String))
}

/// How records are read that are not as RFC 4180 has them: apart from the others, which nothing here may slow down.
#[derive(Clone, Copy)]
struct Otherwise<'a> {
    dialect: &'a Dialect,
    times: Option<&'a Times>,
    /// What stands for a missing value.
    nulls: &'a [String],
}

impl Otherwise<'_> {
    #[inline(never)]
    fn write(
        self,
        writer: &mut Writer,
        target: &mut Target<'_>,
        columns: (&Header, &Projection, bool),
        (line, bytes): (u64, &[u8]),
        fields: &mut Fields,
        quoted: bool,
    ) -> Result<(), RowError> {
        let fields = fields.split_by(bytes, &self.dialect.delimiter, self.nulls, quoted)?;
        let read_ts = |text: &str| self.times.map_or_else(|| parse_ts(text), |times| times.read(text));
        let read = if self.dialect.has_decimal_comma { AttributeType::read_comma } else { AttributeType::read };
        write(writer, target, columns, (line, bytes), fields, read_ts, read)
    }
}

/// Writes a record of these fields; the columns say whether a value may differ from its type.
#[inline]
fn write<'t>(
    writer: &mut Writer,
    target: &mut Target<'_>,
    (header, projection, can_refuse): (&Header, &Projection, bool),
    (line, raw): (u64, &[u8]),
    fields: FieldsOf<'t>,
    read_ts: impl Fn(&'t str) -> Result<Time, RowError>,
    read: impl Fn(AttributeType, &'t str) -> Option<ValueRef<'t>>,
) -> Result<(), RowError> {
    let layout = &header.layout;
    header.check(fields)?;
    if can_refuse {
        check_types(projection, layout, fields, &read)?;
    }
    let text = |column: Column| layout.get(column).map(|place| fields.get(place));
    let ts = read_ts(text(Column::Ts).unwrap_or_default())?;
    let key = |column: Column| text(column).map(KeyRef::parse);
    let label = |column: Column| text(column).map(Label::Text);
    let draft = Draft {
        is_event: layout.is_events,
        ts,
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
        .map(|(place, kind)| place.and_then(|place| read(*kind, fields.get(place))).unwrap_or(ValueRef::Null));
    writer.write(target, line, &draft, attributes, raw)
}

/// Refuses a record with a value that is not of the type that was declared.
fn check_types<'t>(
    projection: &Projection,
    layout: &Layout,
    fields: FieldsOf<'t>,
    read: impl Fn(AttributeType, &'t str) -> Option<ValueRef<'t>>,
) -> Result<(), RowError> {
    for ((kind, name), place) in projection.types.iter().zip(&projection.names).zip(&layout.attributes) {
        let Some(text) = place.map(|place| fields.get(place)) else { continue };
        if read(*kind, text).is_none() {
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
        not_ticks(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records as `ts src dst id note`, and dead letters, of `input` cut into blocks of `step` bytes.
    fn decode(input: &[u8], step: usize) -> Result<(Vec<String>, Vec<DeadLetter>), DecodeError> {
        let options = Options { attributes: vec!["note".into()], ..Options::default() };
        let mut decoder = CsvDecoder::new(options, Dialect::new(Delimiter::Byte(b',')), SharedSymbols::default());
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
