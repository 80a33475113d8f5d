//! JSON Lines: one object a line, in any order of keys.
//!
//! `ts` is an integer; `src`, `dst` and `id` are texts or integers, so that `5` and `"5"` name one vertex; labels and `op` are
//! texts. A record with a `type`, a text, and without `src`, `dst` and `label` is an event. Every other key is an attribute,
//! and so are the members of an object `attributes`. A list or an object as the value of an attribute is missing, and is
//! counted as [`UnusableValues`]. null is missing everywhere. Objects may also stand anywhere in a text of JSON, see
//! [`JsonLinesDecoder::anywhere`]. Cost: one pass over each record, two where they stand anywhere; no tree is
//! built. Lines that are written alike are read at once.

use std::collections::HashMap;

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::SharedSymbols;
use memchr::memchr;
use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

use crate::bulk;
use crate::column::Column;
use crate::columns::Layout;
use crate::decoder::{Decoder, Options};
use crate::error::{DecodeError, RowError, shorten};
use crate::json_objects::JsonObjects;
use crate::json_record::{ATTRIBUTES, Fields, Keys, Scalar, refuse_json};
use crate::json_table::AlikeLines;
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD, Piece, Splitter, lines};
use crate::statement::json::JsonStatement;
use crate::statement::paths::Step;
use crate::statement::reading::Statement;
use crate::times::{Times, not_ticks};
use crate::types::{AttributeType, Projection, refuse};
use crate::unusable_values::{self, UnusableValues};
use crate::writer::{Draft, Label, Target, Writer, check_text};

/// Decoder of a stream of JSON Lines.
#[derive(Clone, Debug)]
pub struct JsonLinesDecoder {
    attributes: Projection,
    /// What is declared of some of them, by place.
    declared: Vec<(usize, AttributeType)>,
    options: Options,
    /// What the stream calls the time.
    ts: String,
    keys: Keys,
    records: Records,
    alike: AlikeLines,
    writer: Writer,
    seen: Seen,
    /// What reads records in place of all that, where there is a statement.
    statement: Option<Box<JsonStatement>>,
}

/// Where records are.
#[derive(Clone, Debug)]
enum Records {
    Lines(Splitter),
    Anywhere(JsonObjects),
}

impl Records {
    #[inline]
    fn next(&mut self) -> Option<Piece<'_>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Anywhere(objects) => objects.next(),
        }
    }

    fn finish(&mut self) -> Option<Piece<'_>> {
        match self {
            Self::Lines(lines) => lines.finish(),
            Self::Anywhere(objects) => objects.finish(),
        }
    }

    fn feed(&mut self, block: &[u8]) {
        match self {
            Self::Lines(lines) => lines.feed(block),
            Self::Anywhere(objects) => objects.feed(block),
        }
    }

    /// Cuts a block behind what is begun.
    fn cut<'b>(&self, block: &'b [u8]) -> (&'b [u8], &'b [u8]) {
        match self {
            Self::Lines(lines) => lines.cut(block),
            Self::Anywhere(_) => (block, b""),
        }
    }

    /// What broke the text off behind the records so far.
    fn broken(&self) -> Result<(), DecodeError> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Anywhere(objects) => objects.broken().cloned().map_or(Ok(()), Err),
        }
    }
}

/// What any record so far had.
#[derive(Clone, Debug, Default)]
struct Seen {
    ids: bool,
    operations: bool,
    /// Attributes that were not asked for, in the order they came up.
    others: Vec<String>,
    unusable_values: Vec<UnusableValues>,
}

/// How many times lines may be alike for a few lines alone, before the rest of a text is read one by one.
const PATIENCE: usize = 4;

/// Lines that are too few to be worth more than a look.
const FEW: usize = 8;

impl Seen {
    /// Notes what records have, if they were written at once.
    fn note(&mut self, layout: &Layout, is_written: bool) {
        self.ids |= is_written && layout.get(Column::Id).is_some();
        self.operations |= is_written && layout.get(Column::Operation).is_some();
    }

    fn discover(&mut self, name: &str) {
        if self.others.len() < MAX_DISCOVERED && !self.others.iter().any(|other| *other == name) {
            self.others.push(name.to_owned());
        }
    }
}

/// Attributes that are discovered at most: a stream that invents names without end must not fill memory.
pub(crate) const MAX_DISCOVERED: usize = 256;

impl JsonLinesDecoder {
    /// Makes a decoder.
    pub fn new(options: Options, symbols: SharedSymbols) -> Self {
        let (attributes, declared, keys) = projected(&options);
        let writer = Writer::new(symbols, options.keep_raw, options.substitutes).labelling(options.label.as_deref());
        Self {
            declared,
            ts: options.columns.get(Column::Ts).to_owned(),
            keys,
            attributes,
            alike: AlikeLines::default(),
            records: Records::Lines(Splitter::new(None).without_comments(&options.comment)),
            writer,
            seen: Seen::default(),
            statement: None,
            options,
        }
    }

    /// Reads records wherever in JSON they are: one after another, over several lines or not, or as elements of a list. They
    /// may be in lists under the keys of a path such as `["Records"]`.
    #[must_use]
    pub fn anywhere(self, path: Vec<String>) -> Self {
        self.at(path.into_iter().map(|name| Step::Name(name.into())).collect())
    }

    /// The same with a path of steps, which may be positions in lists, too.
    #[must_use]
    pub(crate) fn at(self, path: Box<[Step]>) -> Self {
        Self { records: Records::Anywhere(JsonObjects::new(path)), ..self }
    }

    /// Lets a statement read the records.
    #[must_use]
    pub(crate) fn by(self, statement: Statement) -> Self {
        Self { statement: Some(Box::new(JsonStatement::new(statement))), ..self }
    }

    /// Lets a statement read the records under a path, with what is around them. What is read as a whole is the outermost
    /// object that it reads of.
    #[must_use]
    pub(crate) fn by_with_surroundings(self, statement: Statement, path: &[Step]) -> Self {
        let statement = JsonStatement::new(statement);
        let names = path.iter().enumerate().rev().filter(|(_, step)| matches!(step, Step::Name(_)));
        let levels = statement.levels_around();
        let outermost = names.map(|(place, _)| place).take(levels).last().unwrap_or(path.len());
        let (outside, inside) = path.split_at(outermost);
        let statement = if levels == 0 { statement } else { statement.in_documents(inside.into()) };
        Self { statement: Some(Box::new(statement)), ..self }.at(outside.into())
    }

    /// Lets a statement read the records under a path, in lines that are whole texts of JSON each.
    #[must_use]
    pub(crate) fn by_in_lines(self, statement: Statement, path: Box<[Step]>) -> Self {
        Self { statement: Some(Box::new(JsonStatement::new(statement).in_documents(path))), ..self }
    }

    /// Decodes what was fed, and behind it whole lines of the rest of the block; returns how many bytes of that.
    fn drain(&mut self, (last, block): (bool, &[u8]), batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> usize {
        if self.statement.is_some() {
            self.drain_by_statement(last, batch, dead);
            return 0;
        }
        let Self { attributes, declared, ts, keys, records, alike, writer, seen, options, .. } = self;
        let symbols = writer.symbols.clone();
        let target = Target { symbols: &mut symbols.lock(), batch, dead };
        // What else is to be known of a value than its kind is looked for in each record.
        let is_plain = options.times.is_none() && options.nulls.is_empty() && !options.discover;
        let mut taking = Taking { attributes, declared, ts, keys, writer, seen, options, target };
        let mut rest = block;
        loop {
            if let Records::Lines(splitter) = records {
                let fed = splitter.whole_lines();
                let (is_fed, lines) = (fed.is_some(), fed.or_else(|| splitter.whole_lines_of(rest)));
                if let Some((first, text)) = lines.map(|lines| (lines.line, lines.text()))
                    && !text.is_empty()
                {
                    let passed = (text.len(), taking.take_all(first, text, is_plain.then_some(&mut *alike)));
                    if is_fed {
                        splitter.pass_lines(passed);
                    } else {
                        splitter.count_lines(passed.1);
                        rest = &rest[passed.0..];
                    }
                    continue;
                }
            }
            let piece = if let Some(piece) = records.next() {
                piece
            } else if last && let Some(piece) = records.finish() {
                piece
            } else {
                break;
            };
            match piece {
                Piece::Record { bytes, .. } if is_blank(bytes) => {}
                Piece::Record { line, bytes, .. } => {
                    // Checked once for the whole line, texts need no second look.
                    let text = std::str::from_utf8(bytes);
                    taking.take(line, bytes, text.map_err(|error| RowError::NotUtf8 { offset: error.valid_up_to() }));
                }
                Piece::TooLong { line, head } => {
                    taking.take(line, head, Err(RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD }));
                }
                // Quotes protect nothing here, so none is left open; a line that ends within one is not JSON.
                Piece::OpenQuote { line, bytes } => taking.take(line, bytes, Err(RowError::OpenQuote)),
            }
        }
        block.len() - rest.len()
    }

    /// Apart from records without a statement, which nothing here may slow down.
    #[inline(never)]
    fn drain_by_statement(&mut self, last: bool, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) {
        let Self { records, writer, statement: Some(statement), .. } = self else { return };
        let symbols = writer.symbols.clone();
        let mut target = Target { symbols: &mut symbols.lock(), batch, dead };
        loop {
            let piece = if let Some(piece) = records.next() {
                piece
            } else if last && let Some(piece) = records.finish() {
                piece
            } else {
                break;
            };
            match piece {
                Piece::Record { line, bytes, .. } => {
                    if !is_blank(bytes) {
                        statement.take(writer, &mut target, line, bytes);
                    }
                }
                Piece::TooLong { line, head } => {
                    let error = RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD };
                    writer.reject(&mut target, line, &error, head);
                }
                Piece::OpenQuote { line, bytes } => writer.reject(&mut target, line, &RowError::OpenQuote, bytes),
            }
        }
    }
}

/// What takes records, with all that it needs.
struct Taking<'d> {
    attributes: &'d Projection,
    declared: &'d [(usize, AttributeType)],
    ts: &'d str,
    keys: &'d mut Keys,
    writer: &'d mut Writer,
    seen: &'d mut Seen,
    options: &'d Options,
    target: Target<'d>,
}

impl Taking<'_> {
    /// Takes whole lines, those that are written alike at once; returns how many there are.
    fn take_all(&mut self, first: u64, text: &str, alike: Option<&mut AlikeLines>) -> usize {
        let (mut at, mut line) = (0, first);
        if let Some(alike) = alike {
            alike.begin(text);
            let mut patience = PATIENCE;
            while patience > 0 && at < text.len() {
                let table = alike.table(text, (at, line), self.keys);
                let found = table.map(|table| (table.end(), table.count));
                let is_written = table.is_some_and(|table| {
                    let is_written = bulk::write_all(table, (table.layout(), self.attributes), self.writer, &mut self.target);
                    self.seen.note(table.layout(), is_written);
                    is_written
                });
                let (end, count) = if let Some(found) = found {
                    alike.pass_table();
                    found
                } else {
                    alike.pass_line(text);
                    (memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end + 1), 1)
                };
                patience -= usize::from(count < FEW);
                if !is_written {
                    self.take_each(line, &text[at..end]);
                }
                (at, line) = (end, line + count as u64);
            }
        }
        (line - first) as usize + self.take_each(line, &text[at..])
    }

    /// Takes whole lines one by one; returns how many there are.
    fn take_each(&mut self, first: u64, text: &str) -> usize {
        let mut count = 0;
        for (line, text) in (first..).zip(lines(text)) {
            count += 1;
            if !is_blank(text.as_bytes()) {
                self.take(line, text.as_bytes(), Ok(text));
            }
        }
        count
    }

    #[inline]
    fn take(&mut self, line: u64, bytes: &[u8], text: Result<&str, RowError>) {
        let Self { attributes, declared, ts, keys, writer, seen, options, target } = self;
        let Options { times, nulls, .. } = options;
        let result = text.and_then(|text| {
            let mut fields = parse(keys, text)?;
            if !nulls.is_empty() {
                fields.drop_nulls(nulls);
            }
            check_types(&fields, declared, &attributes.names)?;
            let ts = parse_ts(fields.get(Column::Ts), times.as_ref())?;
            write(writer, target, (seen, keys.kind()), attributes.wanted(), (line, ts), &fields, bytes)
        });
        if let Err(error) = result {
            let error = if times.is_some() { error } else { as_written(error, ts, bytes) };
            writer.reject(target, line, &error, bytes);
        }
    }
}

impl Decoder for JsonLinesDecoder {
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
        let (rows, letters) = (batch.len(), dead.len());
        // What is whole in a block is read where it is.
        let (cut, rest) = self.records.cut(block);
        self.records.feed(cut);
        let read = self.drain((false, rest), batch, dead);
        self.records.feed(&rest[read..]);
        self.drain((false, b""), batch, dead);
        // What came before is handed on first.
        if batch.len() > rows || dead.len() > letters { Ok(()) } else { self.records.broken() }
    }

    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        self.drain((true, b""), batch, dead);
        self.records.broken()
    }

    fn begin_piece(&mut self, line: u64) {
        match &mut self.records {
            Records::Lines(lines) => {
                lines.restart(line);
                // Only here does a piece begin as a file does: in CSV the header came before.
                lines.expect_mark();
            }
            Records::Anywhere(objects) => objects.restart(line),
        }
    }

    fn columns(&self) -> Option<&[String]> {
        None
    }

    fn has_zoneless_times(&self) -> bool {
        match &self.statement {
            Some(by) => by.statement.had_zoneless(),
            None => self.options.times.as_ref().is_some_and(Times::had_zoneless),
        }
    }

    fn has_ids(&self) -> bool {
        self.statement.as_ref().map_or(self.seen.ids, |by| by.statement.has_ids())
    }

    fn has_operations(&self) -> bool {
        self.statement.as_ref().map_or(self.seen.operations, |by| by.statement.has_operations())
    }

    fn discovered(&self) -> &[String] {
        self.statement.as_ref().map_or(&self.seen.others, |by| by.statement.others())
    }

    fn filtered(&self) -> u64 {
        self.statement.as_ref().map_or(0, |by| by.statement.filtered())
    }

    fn unusable_values(&self) -> &[UnusableValues] {
        &self.seen.unusable_values
    }

    fn project(&mut self, attributes: Vec<String>) {
        self.options.attributes = attributes;
        (self.attributes, self.declared, self.keys) = projected(&self.options);
        self.seen.others.clear();
    }
}

/// What is decoded of a record, what is declared of it by place, and the keys that mean something.
fn projected(options: &Options) -> (Projection, Vec<(usize, AttributeType)>, Keys) {
    let attributes = Projection::new(options.attributes.clone(), options.declared.clone());
    let declared = attributes.types.iter().copied().enumerate().filter(|(_, kind)| *kind != AttributeType::Any).collect();
    let keys = Keys::new(&options.columns, &attributes.names, options.discover);
    let keys = if options.times.is_some() { keys.with_times_as_written() } else { keys };
    (attributes, declared, keys)
}

#[inline]
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[inline]
fn parse<'t>(keys: &mut Keys, text: &'t str) -> Result<Fields<'t>, RowError> {
    let mut fields = keys.no_fields();
    if keys.flat(text, &mut fields) {
        return Ok(fields);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let fields = (&*keys).deserialize(&mut deserializer).map_err(|error| refuse_json(&error))?;
    deserializer.end().map_err(|error| refuse_json(&error))?;
    Ok(fields)
}

/// Refuses a record with a value that is not of the type that was declared.
#[inline]
fn check_types(fields: &Fields<'_>, declared: &[(usize, AttributeType)], names: &[String]) -> Result<(), RowError> {
    for (place, kind) in declared {
        let value = &fields.attributes[*place];
        if *value == Scalar::Nested || !kind.fits(value.attribute()) {
            return Err(refuse(&names[*place], &value.shown(), *kind));
        }
    }
    Ok(())
}

/// Returns the error with the number of a bad time as it was written: a parsed one may be another.
#[cold]
fn as_written(error: RowError, name: &str, line: &[u8]) -> RowError {
    if !matches!(error, RowError::NotInteger { .. } | RowError::OutOfRange { .. }) {
        return error;
    }
    let fields = serde_json::from_slice::<HashMap<String, &RawValue>>(line).unwrap_or_default();
    match fields.get(name).map(|value| value.get()) {
        Some(number) if number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            if number.contains(['.', 'e', 'E']) {
                not_ticks(number)
            } else {
                RowError::OutOfRange { column: Column::Ts.name(), text: shorten(number) }
            }
        }
        _ => error,
    }
}

#[inline]
fn write(
    writer: &mut Writer,
    target: &mut Target<'_>,
    (seen, kind): (&mut Seen, Option<&str>),
    attributes: &[String],
    (line, ts): (u64, i64),
    fields: &Fields<'_>,
    raw: &[u8],
) -> Result<(), RowError> {
    let mut buffers = [itoa::Buffer::new(); 3];
    let [source, destination, id] = &mut buffers;
    let is_event = is_event(fields);
    let label = if is_event { Column::Type } else { Column::Label };
    let draft = Draft {
        is_event,
        ts,
        source: parse_key(fields.get(Column::Source), Column::Source, source)?,
        target: parse_key(fields.get(Column::Target), Column::Target, destination)?,
        label: parse_text(fields.get(label), label)?.map(Label::Text),
        source_label: parse_text(fields.get(Column::SourceLabel), Column::SourceLabel)?.map(Label::Text),
        target_label: parse_text(fields.get(Column::TargetLabel), Column::TargetLabel)?.map(Label::Text),
        stream: None,
        id: parse_key(fields.get(Column::Id), Column::Id, id)?.map(IdRef::Given),
        operation: parse_text(fields.get(Column::Operation), Column::Operation)?,
    };
    seen.ids |= draft.id.is_some();
    seen.operations |= draft.operation.is_some();
    let mut fits = fields.attributes_fit;
    for (value, name) in fields.attributes.iter().zip(attributes) {
        match value {
            Scalar::Text(text) => check_text(text, name)?,
            Scalar::Nested => fits = false,
            _ => {}
        }
    }
    let values = fields.attributes.iter().take(attributes.len()).map(Scalar::attribute);
    writer.write(target, line, &draft, values, raw)?;
    if !fits {
        count_unusable(&mut seen.unusable_values, attributes, line, fields);
    }
    for name in &fields.others {
        seen.discover(name);
    }
    if let Some(kind) = kind.filter(|_| !is_event && !matches!(fields.get(Column::Type), Scalar::Null | Scalar::Nested)) {
        seen.discover(kind);
    }
    Ok(())
}

/// Whether a record is an event: it has a type, and nothing that makes an edge.
#[inline]
fn is_event(fields: &Fields<'_>) -> bool {
    let is_missing = |column: &Column| *fields.get(*column) == Scalar::Null;
    !is_missing(&Column::Type) && Column::OF_EDGES.iter().all(is_missing)
}

#[cold]
fn count_unusable(seen: &mut Vec<UnusableValues>, attributes: &[String], line: u64, fields: &Fields<'_>) {
    if !fields.attributes_fit {
        unusable_values::count(seen, ATTRIBUTES, "no object of attributes", line);
    }
    for (value, name) in fields.attributes.iter().zip(attributes) {
        if *value == Scalar::Nested {
            unusable_values::count(seen, name, "a list or object", line);
        }
    }
}

#[inline]
fn parse_ts(value: &Scalar<'_>, times: Option<&Times>) -> Result<i64, RowError> {
    match (value, times) {
        (Scalar::Int(ts), None) => Ok(*ts),
        (Scalar::Int(ts), Some(times)) => times.read(itoa::Buffer::new().format(*ts)),
        (Scalar::Text(text), Some(times)) => times.read(text),
        (Scalar::Written(number), Some(times)) => times.read(number),
        _ => Err(refuse_ts(value, times)),
    }
}

#[cold]
fn refuse_ts(value: &Scalar<'_>, times: Option<&Times>) -> RowError {
    let column = Column::Ts.name();
    match (value, times) {
        (Scalar::Null, _) => RowError::Missing { column },
        (_, Some(times)) => times.not_time(&value.shown()),
        (Scalar::Unsigned(number), None) => RowError::OutOfRange { column, text: number.to_string() },
        (_, None) => not_ticks(&value.shown()),
    }
}

#[inline]
fn parse_key<'a>(value: &'a Scalar<'_>, column: Column, buffer: &'a mut itoa::Buffer) -> Result<Option<KeyRef<'a>>, RowError> {
    match value {
        Scalar::Null => Ok(None),
        Scalar::Text(text) => Ok(Some(KeyRef::parse(text))),
        Scalar::Int(number) => Ok(Some(KeyRef::parse(buffer.format(*number)))),
        Scalar::Unsigned(number) => Ok(Some(KeyRef::parse(buffer.format(*number)))),
        Scalar::Bool(_) | Scalar::Float(_) | Scalar::Written(_) | Scalar::Nested => {
            Err(RowError::NotKey { column: column.name() })
        }
    }
}

#[inline]
fn parse_text<'a>(value: &'a Scalar<'_>, column: Column) -> Result<Option<&'a str>, RowError> {
    match value {
        Scalar::Null => Ok(None),
        Scalar::Text(text) => Ok(Some(text)),
        Scalar::Bool(_) | Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Float(_) | Scalar::Written(_) | Scalar::Nested => {
            Err(RowError::NotText { column: column.name() })
        }
    }
}

#[cfg(test)]
mod tests {
    use graphtide_graph::value::ValueRef;

    use super::*;
    use crate::columns::ColumnNames;

    #[test]
    fn a_rejected_time_is_reported_as_it_was_written() -> Result<(), DecodeError> {
        let cases = [
            ("99999999999999999999", "ts \"99999999999999999999\" does not fit in 64 bits"),
            ("-9223372036854775809", "ts \"-9223372036854775809\" does not fit in 64 bits"),
            ("9223372036854775808", "ts \"9223372036854775808\" does not fit in 64 bits"),
            ("1.50", "ts \"1.50\" is not an integer"),
            ("1e20", "ts \"1e20\" is not an integer"),
            ("\"1.50\"", "ts \"1.50\" is not an integer"),
        ];
        for (written, reason) in cases {
            let names = [("ts".to_owned(), "at".to_owned())];
            let options = Options { columns: ColumnNames::new(names)?, ..Options::default() };
            let mut decoder = JsonLinesDecoder::new(options, SharedSymbols::default());
            let (mut batch, mut dead) = (EdgeBatch::new(0), Vec::new());
            let line = format!("{{\"at\":1,\"src\":\"a\",\"dst\":\"b\",\"label\":\"x\",\"at\":{written}}}\n");
            decoder.feed(line.as_bytes(), &mut batch, &mut dead)?;
            assert_eq!(dead.iter().map(|letter| letter.reason.as_str()).collect::<Vec<_>>(), [reason]);
        }
        Ok(())
    }

    #[test]
    fn values_that_no_attribute_can_have_are_missing_and_counted() -> Result<(), DecodeError> {
        let edge = r#""src":"a","dst":"b","label":"x""#;
        let lines = [
            format!("{{\"ts\":1,{edge},\"n\":[1],\"m\":{{}},\"other\":[]}}"),
            "{\"ts\":2,\"n\":[1]}".to_owned(),
            format!("{{\"ts\":3,{edge},\"attributes\":{{\"n\":{{}}}}}}"),
            format!("{{\"ts\":4,{edge},\"n\":null,\"attributes\":[1]}}"),
            format!("{{\"ts\":5,{edge},\"attributes\":null}}\n"),
        ];
        let options = Options { attributes: vec!["n".into(), "m".into()], ..Options::default() };
        let mut decoder = JsonLinesDecoder::new(options, SharedSymbols::default());
        let (mut batch, mut dead) = (EdgeBatch::new(2), Vec::new());
        decoder.feed(lines.join("\n").as_bytes(), &mut batch, &mut dead)?;
        assert_eq!((batch.len(), dead.len(), batch.attribute(0, 0)), (4, 1, ValueRef::Null));
        let unusable_values =
            |name: &str, found: &str, records, line| UnusableValues { name: name.into(), found: found.into(), records, line };
        assert_eq!(
            decoder.unusable_values(),
            [
                unusable_values("n", "a list or object", 2, 1),
                unusable_values("m", "a list or object", 1, 1),
                unusable_values("attributes", "no object of attributes", 1, 4)
            ]
        );
        Ok(())
    }

    #[test]
    fn attributes_that_nobody_asked_for_are_discovered_if_wanted() -> Result<(), DecodeError> {
        let input = concat!(
            r#"{"ts":1,"src":"a","dst":"b","label":"x","n":1,"deep":{"k":1},"none":null,"m":"t","attributes":{"o":true,"n":2}}"#,
            "\n{\"ts\":1,\"lost\":1}\n",
        );
        let others = |discover| {
            let options = Options { attributes: vec!["n".into()], discover, ..Options::default() };
            let mut decoder = JsonLinesDecoder::new(options, SharedSymbols::default());
            let (mut batch, mut dead) = (EdgeBatch::new(1), Vec::new());
            decoder.feed(input.as_bytes(), &mut batch, &mut dead)?;
            assert_eq!((batch.attribute(0, 0), dead.len()), (ValueRef::Int(2), 1));
            Ok::<_, DecodeError>(decoder.discovered().to_vec())
        };
        assert_eq!(others(true)?, ["m", "o"]);
        assert!(others(false)?.is_empty());
        Ok(())
    }

    #[test]
    fn records_and_dead_letters_do_not_depend_on_blocks() -> Result<(), DecodeError> {
        let input = concat!(
            r#"{"ts":-1,"src":"a\u00fc","dst":42,"label":"x","skipped":{"deep":[1,{}]},"attributes":{"n":1.5}}"#,
            "\r\n\n{\"ts\":1.0}\n",
            r#"{"id":"7","op":"delete","ts":3,"n":true}"#,
        );
        let letter = DeadLetter { line: 3, reason: "ts \"1.0\" is not an integer".into(), raw: b"{\"ts\":1.0}".to_vec() };
        for step in 1..=input.len() {
            let options = Options { attributes: vec!["n".into()], keep_raw: true, ..Options::default() };
            let mut decoder = JsonLinesDecoder::new(options, SharedSymbols::default());
            let (mut batch, mut dead) = (EdgeBatch::new(1), Vec::new());
            for block in input.as_bytes().chunks(step) {
                decoder.feed(block, &mut batch, &mut dead)?;
            }
            decoder.finish(&mut batch, &mut dead)?;
            assert_eq!(dead, std::slice::from_ref(&letter), "blocks of {step}");
            assert_eq!((batch.len(), batch.source(0), batch.target(0)), (2, KeyRef::Text("aü"), KeyRef::Number(42)));
            assert_eq!((batch.attribute(0, 0), batch.attribute(1, 0)), (ValueRef::Float(1.5), ValueRef::Bool(true)));
            assert_eq!((batch.id(0), batch.id(1), batch.row(1).line), (IdRef::Made(0), IdRef::Given(KeyRef::Number(7)), 4));
            assert_eq!(batch.raw(1), br#"{"id":"7","op":"delete","ts":3,"n":true}"#);
            assert!(decoder.has_ids() && decoder.has_operations());
        }
        Ok(())
    }
}
