//! Arrow: rows in memory, or IPC: each block is one whole stream, a schema and its record batches.
//!
//! `ts` is of an integer type, counted in the stream's unit. Or it is a timestamp of any unit or a date, converted to it and
//! rounded down. Where the options say how times are written, it may also be a text or a number. `src`, `dst` and `id` are
//! texts (plain, large, view or by a dictionary) or integers; labels and `op` are texts. Attributes are truth values, integers,
//! floating-point numbers or texts, plain or by a dictionary. They may be what the text formats make of decimals, dates, times
//! and timestamps (see `arrow_written.rs`). Columns of other types are refused. NaN is missing. A column whose field says so
//! holds texts of JSON, as [`arrow_writer`](crate::arrow_writer) writes values of several types. A record's line is its 1-based
//! row, its bytes in a dead letter are a JSON object. Cost: no copy of plain columns; each row is gathered once.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{ArrowError, Field, Schema};
use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::SharedSymbols;
use graphtide_graph::value::ValueRef;

use crate::arrow_columns::{Keys, Labels, Texts, Values, timestamps};
use crate::arrow_ticks::{Scale, Ticks};
use crate::arrow_writer::{EVENT, MADE, STREAM};
use crate::column::Column;
use crate::columns::{ColumnNames, Layout};
use crate::decoder::{Decoder, Options};
use crate::error::{DecodeError, RowError, shorten};
use crate::json_lines::MAX_DISCOVERED;
use crate::json_record::MAX_NAME;
use crate::raw_batch::{self, MARKS, MadeIds, Marks};
use crate::render::Object;
use crate::statement::arrow::ArrowStatement;
use crate::statement::reading::Statement;
use crate::times::Times;
use crate::types::AttributeType;
use crate::writer::{Draft, Target, Writer};

/// Decoder of Arrow IPC streams.
#[derive(Clone, Debug)]
pub struct ArrowDecoder {
    attributes: Vec<String>,
    declared: Vec<(String, AttributeType)>,
    names: ColumnNames,
    ticks_per_second: i64,
    times: Option<Times>,
    writer: Writer,
    columns: Option<Vec<String>>,
    layout: Layout,
    /// What a record of the raw topic needs; None where blocks are of a file, or of the ordered topic.
    raw: Option<Raw>,
    /// What reads rows in place of all that, where there is a statement.
    statement: Option<Box<ArrowStatement>>,
}

/// Where a record of the raw topic is read.
#[derive(Clone, Debug, Default)]
struct Raw {
    /// Its first line.
    line: u64,
    /// How many lines it has, but for its last line end.
    lines: u64,
    /// Its first ordinal.
    ordinal: u64,
    /// Rows read of it.
    rows: u64,
    /// Attributes that were not asked for, in the order in which they came up.
    others: Vec<String>,
}

impl ArrowDecoder {
    /// Makes a decoder; timestamps become ticks, `ticks_per_second` of them a second.
    pub fn new(options: Options, ticks_per_second: i64, symbols: SharedSymbols) -> Result<Self, DecodeError> {
        if ticks_per_second < 1 {
            return Err(DecodeError::TicksPerSecond { ticks: ticks_per_second });
        }
        Ok(Self {
            attributes: options.attributes,
            declared: options.declared,
            names: if options.label.is_some() { options.columns.without_label() } else { options.columns },
            ticks_per_second,
            times: options.times,
            writer: Writer::new(symbols, false, false).labelling(options.label.as_deref()),
            columns: None,
            layout: Layout::default(),
            raw: None,
            statement: None,
        })
    }

    /// Lets a statement read the rows.
    #[must_use]
    pub(crate) fn by(self, statement: Statement) -> Self {
        Self { statement: Some(Box::new(ArrowStatement::new(statement))), ..self }
    }

    /// Makes a decoder of records of the raw topic, which [`raw_batch`](crate::raw_batch) writes: records keep their bytes, and
    /// have lines and ordinals of their own. No record says that its id was made, or which stream it belongs to.
    pub fn of_raw_records(options: Options, ticks_per_second: i64, symbols: SharedSymbols) -> Result<Self, DecodeError> {
        let writer = Writer::new(symbols.clone(), true, false);
        Ok(Self { raw: Some(Raw::default()), writer, ..Self::new(options, ticks_per_second, symbols)? })
    }

    /// Finds the wanted columns of a schema.
    fn resolve(&mut self, schema: &Schema) -> Result<(), DecodeError> {
        let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        if let Some(statement) = &mut self.statement {
            self.columns = Some(columns);
            return statement.check(schema);
        }
        self.layout = Layout::resolve(&self.names, &self.attributes, &columns)?;
        self.columns = Some(columns);
        if self.raw.is_some() {
            // A text of the topic may have an attribute that is called so.
            let places = self.layout.attributes.iter_mut().zip(&self.attributes);
            places.filter(|(_, name)| MARKS.contains(&name.as_str())).for_each(|(place, _)| *place = None);
        }
        for field in self.layout.attributes.iter().flatten().map(|place| schema.field(*place)) {
            if !Values::can_be(field.data_type()) {
                return Err(no_attribute(field));
            }
        }
        for (name, kind) in &self.declared {
            if let Some((_, field)) = schema.fields().find(name)
                && !kind.fits_column(field.data_type())
            {
                return Err(not_declared(field, *kind));
            }
        }
        Ok(())
    }

    fn decode(&mut self, rows: &RecordBatch, target: &mut Target<'_>) -> Result<(), DecodeError> {
        if self.raw.is_some() {
            return self.decode_raw(rows, target);
        }
        if let Some(statement) = &mut self.statement {
            statement.decode(rows, &mut self.writer, target, render);
            return Ok(());
        }
        let scale = Scale { times: self.times.as_ref(), ticks_per_second: self.ticks_per_second };
        let mut columns = Columns::new(rows, &self.layout, &self.names, scale)?;
        let line = self.writer.ordinal() + 1;
        if columns.write_all(rows.num_rows(), line, &mut self.writer, target) {
            return Ok(());
        }
        for row in 0..rows.num_rows() {
            let line = self.writer.ordinal() + 1;
            if let Err(error) = columns.write(row, (line, b""), &mut self.writer, target, &self.attributes) {
                self.writer.reject(target, line, &error, &render(rows, row));
            }
        }
        Ok(())
    }

    /// Decodes rows of a record of the raw topic.
    fn decode_raw(&mut self, rows: &RecordBatch, target: &mut Target<'_>) -> Result<(), DecodeError> {
        let Self { raw: Some(raw), writer, layout, names, .. } = self else { return Ok(()) };
        let marks = Marks::of(rows)?;
        let scale = Scale { times: None, ticks_per_second: self.ticks_per_second };
        let columns = Columns::new(rows, layout, names, scale)?;
        let mut columns = Columns { made: None, streams: None, clauses: marks.clauses(), ..columns };
        let (count, before) = (rows.num_rows(), raw.rows);
        raw.rows += count as u64;
        if marks.are_in_place() && columns.write_all(count, raw.line + before, writer, target) {
            raw.lines = raw.lines.max(raw.rows);
            marks.give_raw(target.batch);
            return Ok(());
        }
        let mut made = MadeIds::default();
        for row in 0..count {
            let line = marks.line(row, before);
            raw.lines = raw.lines.max(line + 1);
            writer.start_at(raw.ordinal + marks.ordinal(row, before));
            let place = (raw.line + line, marks.raw(row).unwrap_or_default());
            if let Err(error) = columns.write(row, place, writer, target, &self.attributes) {
                let own = marks.raw(row).map_or_else(|| render(rows, row), <[u8]>::to_vec);
                writer.reject(target, place.0, &error, &own);
            } else {
                made.take(target.batch.id(target.batch.len() - 1), marks.ordinal(row, before))?;
            }
        }
        Ok(())
    }

    /// Notes the attributes of a schema that nobody asked for.
    fn discover(&mut self, schema: &Schema) {
        let Some(raw) = &mut self.raw else { return };
        for name in schema.fields().iter().map(|field| field.name()) {
            let is_known = self.attributes.contains(name) || raw.others.contains(name) || MARKS.contains(&name.as_str());
            let is_column = match self.names.find(name) {
                Some(Column::Type) => self.layout.is_events,
                column => column.is_some(),
            };
            if !is_known && !is_column && name.len() <= MAX_NAME && raw.others.len() < MAX_DISCOVERED {
                raw.others.push(name.clone());
            }
        }
    }
}

impl Decoder for ArrowDecoder {
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
        let symbols = self.writer.symbols.clone();
        let mut target = Target { symbols: &mut symbols.lock(), batch, dead };
        let mut decoder = StreamDecoder::new();
        let mut buffer = Buffer::from(block);
        let mut resolved = false;
        let mut ordinals = None;
        let first = self.writer.ordinal();
        if let Some(raw) = &mut self.raw {
            *raw = Raw { ordinal: first, line: raw.line, others: std::mem::take(&mut raw.others), ..Raw::default() };
        }
        loop {
            let rows = guarded(|| decoder.decode(&mut buffer).map_err(damaged))?;
            if let Some(schema) = decoder.schema().filter(|_| !resolved) {
                if self.raw.is_some() {
                    ordinals = raw_batch::ordinals(&schema)?;
                }
                self.resolve(&schema)?;
                self.discover(&schema);
                resolved = true;
            }
            let Some(rows) = rows else { break };
            if let Some(raw) = &self.raw {
                raw_batch::check_rows(raw.rows as usize + rows.num_rows(), block.len())?;
            }
            guarded(|| self.decode(&rows, &mut target))?;
        }
        if !resolved {
            return Err(DecodeError::Arrow { reason: "it has no schema".to_owned() });
        }
        if let Some(ordinals) = ordinals {
            let taken = self.writer.ordinal() - first;
            if taken > ordinals {
                let reason = format!("its records take {taken} ordinals, and {} says {ordinals}", raw_batch::ORDINALS);
                return Err(DecodeError::Arrow { reason });
            }
            self.writer.start_at(first + ordinals);
        }
        guarded(|| decoder.finish().map_err(damaged))
    }

    fn check_columns(&mut self, schema: &Schema) -> Result<(), DecodeError> {
        self.resolve(schema)
    }

    fn feed_rows(&mut self, rows: &RecordBatch, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let symbols = self.writer.symbols.clone();
        let mut target = Target { symbols: &mut symbols.lock(), batch, dead };
        self.resolve(rows.schema_ref())?;
        guarded(|| self.decode(rows, &mut target))
    }

    fn finish(&mut self, _: &mut EdgeBatch, _: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        Ok(())
    }

    /// Sets the first line of a record of the raw topic. Else does nothing: each block is a whole stream, and lines are counted
    /// by ordinals.
    fn begin_piece(&mut self, line: u64) {
        if let Some(raw) = &mut self.raw {
            raw.line = line;
        }
    }

    fn lines(&self, _: &[u8]) -> u64 {
        self.raw.as_ref().map_or(0, |raw| raw.lines)
    }

    fn discovered(&self) -> &[String] {
        match (&self.statement, &self.raw) {
            (Some(by), _) => by.statement.others(),
            (None, raw) => raw.as_ref().map_or(&[], |raw| &raw.others),
        }
    }

    fn filtered(&self) -> u64 {
        self.statement.as_ref().map_or(0, |by| by.statement.filtered())
    }

    fn columns(&self) -> Option<&[String]> {
        self.columns.as_deref()
    }

    fn has_zoneless_times(&self) -> bool {
        match &self.statement {
            Some(by) => by.statement.had_zoneless(),
            None => self.times.as_ref().is_some_and(Times::had_zoneless),
        }
    }

    fn has_ids(&self) -> bool {
        self.statement.as_ref().map_or_else(|| self.layout.get(Column::Id).is_some(), |by| by.statement.has_ids())
    }

    fn has_operations(&self) -> bool {
        let is_column = || self.layout.get(Column::Operation).is_some();
        self.statement.as_ref().map_or_else(is_column, |by| by.statement.has_operations())
    }
}

/// Runs a step of reading. The format's reader reports damage as an error, mostly: what it asserts, damage can break too.
fn guarded<T>(step: impl FnOnce() -> Result<T, DecodeError>) -> Result<T, DecodeError> {
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_| Err(DecodeError::Arrow { reason: "it is damaged".to_owned() }))
}

#[expect(clippy::needless_pass_by_value, reason = "maps an error")]
fn damaged(error: ArrowError) -> DecodeError {
    DecodeError::Arrow { reason: error.to_string() }
}

/// The wanted columns of one record batch.
pub(crate) struct Columns<'a> {
    pub(crate) ts: Ticks<'a>,
    /// Source and target; none where all records are events.
    pub(crate) ends: Option<[Keys<'a>; 2]>,
    /// None where all edges have the label of those that have none.
    pub(crate) label: Option<Labels<'a>>,
    pub(crate) source_label: Option<Labels<'a>>,
    pub(crate) target_label: Option<Labels<'a>>,
    pub(crate) id: Option<Keys<'a>>,
    pub(crate) made: Option<&'a BooleanArray>,
    /// The clauses that made ids where a record has none.
    pub(crate) clauses: Option<&'a [u8]>,
    pub(crate) events: Option<&'a BooleanArray>,
    pub(crate) streams: Option<Labels<'a>>,
    pub(crate) operation: Option<Texts<'a>>,
    pub(crate) attributes: Vec<Option<Values<'a>>>,
}

impl<'a> Columns<'a> {
    fn new(rows: &'a RecordBatch, layout: &Layout, names: &ColumnNames, scale: Scale<'a>) -> Result<Self, DecodeError> {
        let find = |column: Column| layout.get(column).map(|place| (column, rows.column(place)));
        let need = |column: Column| find(column).ok_or_else(|| absent(column, names));
        let keys = |(column, array): (Column, &'a ArrayRef)| {
            Keys::new(array).ok_or_else(|| wrong_type(column, names, array, "a text or an integer"))
        };
        let labels = |(column, array): (Column, &'a ArrayRef)| {
            Labels::new(array).ok_or_else(|| wrong_type(column, names, array, "a text"))
        };
        let texts = |(column, array): (Column, &'a ArrayRef)| {
            Texts::new(array).ok_or_else(|| wrong_type(column, names, array, "a text"))
        };
        let truths = |name: &str| {
            let truths = |array: &'a ArrayRef| {
                let wrong = || DecodeError::ColumnType {
                    name: name.to_owned(),
                    found: array.data_type().to_string(),
                    expected: "a boolean",
                };
                array.as_boolean_opt().ok_or_else(wrong)
            };
            rows.column_by_name(name).map(truths).transpose()
        };
        let streams = |array: &'a ArrayRef| {
            let (name, found) = (STREAM.to_owned(), array.data_type().to_string());
            Labels::new(array).ok_or(DecodeError::ColumnType { name, found, expected: "a text" })
        };
        let ends = |column: Column| keys(need(column)?);
        let attribute = |place: usize| {
            let field = rows.schema_ref().field(place);
            Values::of_field(field, rows.column(place)).ok_or_else(|| no_attribute(field))
        };
        let (_, ts) = need(Column::Ts)?;
        Ok(Self {
            ts: Ticks::new(ts, scale).ok_or_else(|| wrong_type(Column::Ts, names, ts, scale.expected()))?,
            ends: if layout.is_events { None } else { Some([ends(Column::Source)?, ends(Column::Target)?]) },
            label: find(Column::Label).map(labels).transpose()?,
            source_label: find(Column::SourceLabel).map(labels).transpose()?,
            target_label: find(Column::TargetLabel).map(labels).transpose()?,
            id: find(Column::Id).map(keys).transpose()?,
            made: truths(MADE)?,
            clauses: None,
            events: truths(EVENT)?,
            streams: rows.column_by_name(STREAM).map(streams).transpose()?,
            operation: find(Column::Operation).map(texts).transpose()?,
            attributes: layout.attributes.iter().map(|place| place.map(attribute).transpose()).collect::<Result<_, _>>()?,
        })
    }

    #[inline]
    fn write(
        &mut self,
        row: usize,
        (line, raw): (u64, &[u8]),
        writer: &mut Writer,
        target: &mut Target<'_>,
        attributes: &[String],
    ) -> Result<(), RowError> {
        let mut buffers = [itoa::Buffer::new(); 3];
        let [source, destination, id] = &mut buffers;
        let ends = self.ends.as_ref();
        let draft = Draft {
            is_event: ends.is_none() || self.events.is_some_and(|events| events.is_valid(row) && events.value(row)),
            ts: self.ts.get(row)?,
            source: ends.and_then(|[keys, _]| key(keys, row, source)),
            target: ends.and_then(|[_, keys]| key(keys, row, destination)),
            label: self.label.as_mut().and_then(|labels| labels.get(row, writer, target.symbols)),
            source_label: self.source_label.as_mut().and_then(|labels| labels.get(row, writer, target.symbols)),
            target_label: self.target_label.as_mut().and_then(|labels| labels.get(row, writer, target.symbols)),
            stream: self.streams.as_mut().and_then(|streams| streams.get(row, writer, target.symbols)),
            id: match self.id.as_ref().and_then(|keys| key(keys, row, id)) {
                Some(id) if self.made.is_some_and(|made| made.is_valid(row) && made.value(row)) => Some(made_of(id)?),
                Some(id) => Some(IdRef::Given(id)),
                None => self.clauses.map(|clauses| IdRef::made(writer.ordinal(), clauses[row])),
            },
            operation: self.operation.as_ref().and_then(|texts| texts.get(row)),
        };
        for (values, name) in self.attributes.iter().zip(attributes) {
            if let Some(values) = values {
                values.check(row, name)?;
            }
        }
        let attributes = self.attributes.iter().map(|values| values.as_ref().map_or(ValueRef::Null, |values| values.get(row)));
        writer.write(target, line, &draft, attributes, raw)
    }
}

/// Below this a number is held as one, see [`KeyRef`].
const LIMIT: u64 = 1_000_000_000_000_000_000;

#[inline]
fn key<'a>(keys: &'a Keys<'_>, row: usize, buffer: &'a mut itoa::Buffer) -> Option<KeyRef<'a>> {
    match keys {
        Keys::Texts(texts) => texts.get(row).map(KeyRef::parse),
        Keys::Signed(numbers) => numbers.get(row).map(|number| number_key(number, buffer)),
        Keys::Unsigned(numbers) => numbers.get(row).map(|number| match number {
            0..LIMIT => KeyRef::Number(number),
            _ => KeyRef::Text(buffer.format(number)),
        }),
    }
}

/// The key that the text of a number is.
#[inline]
pub(crate) fn number_key(number: i64, buffer: &mut itoa::Buffer) -> KeyRef<'_> {
    match u64::try_from(number) {
        Ok(number) if number < LIMIT => KeyRef::Number(number),
        _ => KeyRef::Text(buffer.format(number)),
    }
}

/// The id of a record that had none, from the text of its number.
fn made_of(id: KeyRef<'_>) -> Result<IdRef<'_>, RowError> {
    id.with_text(IdRef::parse_made).ok_or_else(|| RowError::NotMade { text: shorten(&id.to_string()) })
}

fn wrong_type(column: Column, names: &ColumnNames, array: &ArrayRef, expected: &'static str) -> DecodeError {
    DecodeError::ColumnType { name: names.get(column).to_owned(), found: array.data_type().to_string(), expected }
}

fn no_attribute(field: &Field) -> DecodeError {
    DecodeError::ColumnType {
        name: field.name().clone(),
        found: field.data_type().to_string(),
        expected: "a truth value, a number, a text, a date or a time",
    }
}

fn not_declared(field: &Field, kind: AttributeType) -> DecodeError {
    let (name, found) = (field.name().clone(), field.data_type().to_string());
    DecodeError::NotDeclared { name, found, declared: kind.name() }
}

/// The layout of a schema has every required column, so this cannot be seen; it is an error all the same.
fn absent(column: Column, names: &ColumnNames) -> DecodeError {
    DecodeError::Arrow { reason: format!("a record batch lacks column {:?}", names.get(column)) }
}

/// A row as a JSON object, times as the numbers they are stored as; what JSON cannot say is null.
#[cold]
fn render(rows: &RecordBatch, row: usize) -> Vec<u8> {
    let mut object = Object::default();
    for (field, array) in rows.schema().fields().iter().zip(rows.columns()) {
        let cell = array.slice(row, 1);
        let time = timestamps(&cell).map(|(numbers, _)| numbers.get(0).map_or(ValueRef::Null, ValueRef::Int));
        let values = Values::new(&cell);
        object.member(field.name(), time.unwrap_or_else(|| values.as_ref().map_or(ValueRef::Null, |values| values.get(0))));
    }
    object.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{DictionaryArray, StringArray, TimestampMicrosecondArray, UInt64Array};
    use arrow_ipc::writer::StreamWriter;

    use super::*;

    #[test]
    fn a_stream_becomes_records_and_its_bad_rows_become_json() -> Result<(), Box<dyn std::error::Error>> {
        let labels: DictionaryArray<Int8Type> = ["x", "y", "x"].into_iter().collect();
        let rows = RecordBatch::try_from_iter([
            ("src", Arc::new(UInt64Array::from(vec![5, u64::MAX, 7])) as ArrayRef),
            ("dst", Arc::new(StringArray::from(vec![Some("b"), Some("7"), None]))),
            ("label", Arc::new(labels)),
            ("ts", Arc::new(TimestampMicrosecondArray::from(vec![1999, -1, 0]))),
        ])?;
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
        writer.write(&rows)?;
        let bytes = writer.into_inner()?;

        let symbols = SharedSymbols::default();
        let mut decoder = ArrowDecoder::new(Options::default(), 1000, symbols.clone())?;
        let (mut batch, mut dead) = (EdgeBatch::new(0), Vec::new());
        decoder.feed(&bytes, &mut batch, &mut dead)?;

        assert_eq!(batch.ts(), [1, -1]);
        assert_eq!((batch.source(0), batch.source(1)), (KeyRef::Number(5), KeyRef::Text("18446744073709551615")));
        assert_eq!((batch.target(0), batch.target(1)), (KeyRef::Text("b"), KeyRef::Number(7)));
        let names: Vec<String> = batch.labels().iter().map(|[_, label, _]| symbols.lock().name(*label).to_owned()).collect();
        assert_eq!(names, ["x", "y"]);
        let raw = br#"{"src":7,"dst":null,"label":"x","ts":0}"#.to_vec();
        assert_eq!(dead, [DeadLetter { line: 3, reason: "dst is missing".into(), raw }]);
        Ok(())
    }
}
