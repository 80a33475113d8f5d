//! Batches of records as Arrow IPC streams, which [`ArrowDecoder`](crate::ArrowDecoder) reads back as they were.
//!
//! Columns `ts`, `src`, `dst`, `id` and the three labels come first. There is `op` only if some record is a deletion. There is
//! [`MADE`] only if some id was made, because its text is the same as that of one that was given. There is [`EVENT`] only if
//! some record is an event, whose ends are empty, and [`STREAM`] only if records know their stream. Then come the attributes
//! that some record has. A column of attributes has the type that its values agree on. Where they do not agree it holds texts
//! of JSON, and the metadata of its field say so. An attribute whose name is a column's is left out: readers could not
//! distinguish the two. Cost: one pass a column.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::ValueRef;

use crate::column::Column;

/// Key of the metadata of a field that say how its values are written.
pub const ENCODING: &str = "graphtide.encoding";

/// Column that says which ids were made because the record had none.
pub const MADE: &str = "graphtide.made";

/// Column that says which records are events, where some are.
pub const EVENT: &str = "graphtide.event";

/// Column with the stream of each record, if there are several.
pub const STREAM: &str = "graphtide.stream";

/// Values are texts of JSON.
pub const JSON: &str = "json";

/// The columns of labels, and which of a record's three each is.
pub(crate) const LABELS: [(Column, usize); 3] = [(Column::Label, 1), (Column::SourceLabel, 0), (Column::TargetLabel, 2)];

/// Label in place of one past the bound of the table of labels.
const OTHER: &str = "\u{2026}";

/// Writes a batch; `attributes` are the names of its values.
pub fn write(batch: &EdgeBatch, symbols: &SymbolTable, attributes: &[String]) -> Result<Vec<u8>, ArrowError> {
    let mut written = Written::default();
    written.ends(batch);
    let ids = texts(batch, |row, array| batch.id(row).with_text(|text| array.append_value(text)));
    written.add(given(Column::Id, &ids), ids);
    for column in LABELS {
        written.labels(batch, symbols, column)?;
    }
    written.operations(batch)?;
    if let Some(made) = made(batch) {
        written.add(field(MADE, &made).with_nullable(false), made);
    }
    written.events(batch);
    if (0..batch.len()).any(|row| batch.stream(row) != Symbol::ABSENT) {
        let array = labels((0..batch.len()).map(|row| batch.stream(row)), symbols, false)?;
        written.add(field(STREAM, &array), array);
    }
    written.attributes(batch, attributes, &[MADE, EVENT, STREAM]);
    written.stream(HashMap::new())
}

/// Columns in the order of the stream.
#[derive(Debug, Default)]
pub(crate) struct Written {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Written {
    /// Adds a column.
    pub(crate) fn add(&mut self, field: Field, array: ArrayRef) {
        self.fields.push(field);
        self.arrays.push(array);
    }

    /// Adds times and ends.
    pub(crate) fn ends(&mut self, batch: &EdgeBatch) {
        let ts: ArrayRef = Arc::new(Int64Array::from(batch.ts().to_vec()));
        self.add(given(Column::Ts, &ts), ts);
        for (column, array) in [
            (Column::Source, texts(batch, |row, array| batch.source(row).with_text(|text| array.append_value(text)))),
            (Column::Target, texts(batch, |row, array| batch.target(row).with_text(|text| array.append_value(text)))),
        ] {
            self.add(given(column, &array), array);
        }
    }

    /// Adds the labels of edges, or those of one of their ends: a column, and which label of three it is.
    pub(crate) fn labels(
        &mut self,
        batch: &EdgeBatch,
        symbols: &SymbolTable,
        (column, place): (Column, usize),
    ) -> Result<(), ArrowError> {
        let is_of_edges = column == Column::Label;
        let array = labels(batch.labels().iter().map(|labels| labels[place]), symbols, is_of_edges)?;
        self.add(given(column, &array).with_nullable(!is_of_edges), array);
        Ok(())
    }

    /// Adds what records do, if some record is a deletion.
    pub(crate) fn operations(&mut self, batch: &EdgeBatch) -> Result<(), ArrowError> {
        if batch.operations().contains(&Operation::Delete) {
            let array = operations(batch)?;
            self.add(given(Column::Operation, &array), array);
        }
        Ok(())
    }

    /// Adds which records are events, if some are.
    pub(crate) fn events(&mut self, batch: &EdgeBatch) {
        if let Some(array) = events(batch) {
            self.add(field(EVENT, &array).with_nullable(false), array);
        }
    }

    /// Adds the attributes that some record has, but for those that are called as a column or a mark.
    pub(crate) fn attributes(&mut self, batch: &EdgeBatch, attributes: &[String], marks: &[&str]) {
        for (place, name) in attributes.iter().enumerate() {
            let is_column = Column::ALL.iter().any(|column| *column != Column::Type && column.name() == name);
            if is_column || marks.contains(&name.as_str()) {
                continue;
            }
            match attribute(batch, place) {
                None => {}
                Some((array, false)) => self.add(field(name, &array), array),
                Some((array, true)) => {
                    let metadata = HashMap::from([(ENCODING.to_owned(), JSON.to_owned())]);
                    self.add(field(name, &array).with_metadata(metadata), array);
                }
            }
        }
    }

    /// Returns all as an IPC stream whose schema has these metadata.
    pub(crate) fn stream(self, metadata: HashMap<String, String>) -> Result<Vec<u8>, ArrowError> {
        let rows = RecordBatch::try_new(Arc::new(Schema::new_with_metadata(self.fields, metadata)), self.arrays)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
        writer.write(&rows)?;
        writer.into_inner()
    }
}

/// The field of a column that every record has a value of.
fn given(column: Column, array: &ArrayRef) -> Field {
    field(column.name(), array).with_nullable(false)
}

/// The field of a column.
pub(crate) fn field(name: &str, array: &ArrayRef) -> Field {
    Field::new(name, array.data_type().clone(), true)
}

/// The texts that `append` adds, one for each record.
fn texts(batch: &EdgeBatch, append: impl Fn(usize, &mut StringBuilder)) -> ArrayRef {
    let mut builder = StringBuilder::with_capacity(batch.len(), 8 * batch.len());
    (0..batch.len()).for_each(|row| append(row, &mut builder));
    Arc::new(builder.finish())
}

/// Labels: an absent one is missing, or empty if each record must have one.
fn labels(labels: impl Iterator<Item = Symbol>, symbols: &SymbolTable, is_required: bool) -> Result<ArrayRef, ArrowError> {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for label in labels {
        match label {
            // A deletion need not state the edge's label.
            Symbol::ABSENT if is_required => _ = builder.append("")?,
            Symbol::ABSENT => builder.append_null(),
            Symbol::OTHER => _ = builder.append(OTHER)?,
            symbol => _ = builder.append(symbols.name(symbol))?,
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn operations(batch: &EdgeBatch) -> Result<ArrayRef, ArrowError> {
    let mut builder = StringDictionaryBuilder::<Int32Type>::new();
    for operation in batch.operations() {
        builder.append(match operation {
            Operation::Insert => "insert",
            Operation::Delete => "delete",
        })?;
    }
    Ok(Arc::new(builder.finish()))
}

fn made(batch: &EdgeBatch) -> Option<ArrayRef> {
    let made: BooleanArray = (0..batch.len()).map(|row| Some(batch.id(row).is_made())).collect();
    (made.true_count() > 0).then(|| Arc::new(made) as ArrayRef)
}

fn events(batch: &EdgeBatch) -> Option<ArrayRef> {
    let events: BooleanArray = (0..batch.len()).map(|row| Some(batch.is_event(row))).collect();
    (events.true_count() > 0).then(|| Arc::new(events) as ArrayRef)
}

/// What the values of an attribute are, as far as they were looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Bool,
    Int,
    Float,
    Text,
    Mixed,
}

/// The column of an attribute, and whether it holds texts of JSON; None if no record has it.
fn attribute(batch: &EdgeBatch, place: usize) -> Option<(ArrayRef, bool)> {
    let values = || (0..batch.len()).map(|row| batch.attribute(row, place));
    let kind = values().fold(Kind::Nothing, |kind, value| {
        let found = match value {
            ValueRef::Null => return kind,
            ValueRef::Bool(_) => Kind::Bool,
            ValueRef::Int(_) => Kind::Int,
            ValueRef::Float(_) => Kind::Float,
            ValueRef::Text(_) => Kind::Text,
        };
        if kind == Kind::Nothing || kind == found { found } else { Kind::Mixed }
    });
    let array: ArrayRef = match kind {
        Kind::Nothing => return None,
        Kind::Bool => {
            let mut builder = BooleanBuilder::with_capacity(batch.len());
            values()
                .for_each(|value| builder.append_option(if let ValueRef::Bool(truth) = value { Some(truth) } else { None }));
            Arc::new(builder.finish())
        }
        Kind::Int => {
            let mut builder = Int64Builder::with_capacity(batch.len());
            values()
                .for_each(|value| builder.append_option(if let ValueRef::Int(number) = value { Some(number) } else { None }));
            Arc::new(builder.finish())
        }
        Kind::Float => {
            let mut builder = Float64Builder::with_capacity(batch.len());
            values()
                .for_each(|value| builder.append_option(if let ValueRef::Float(number) = value { Some(number) } else { None }));
            Arc::new(builder.finish())
        }
        Kind::Text => {
            let mut builder = StringBuilder::new();
            values().for_each(|value| builder.append_option(if let ValueRef::Text(text) = value { Some(text) } else { None }));
            Arc::new(builder.finish())
        }
        Kind::Mixed => {
            let mut builder = StringBuilder::new();
            values().for_each(|value| builder.append_option(literal(value)));
            Arc::new(builder.finish())
        }
    };
    Some((array, kind == Kind::Mixed))
}

/// A value as JSON; an infinite number, which JSON cannot say, is missing.
fn literal(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Bool(truth) => Some(truth.to_string()),
        ValueRef::Int(number) => Some(number.to_string()),
        ValueRef::Float(number) => serde_json::to_string(&number).ok().filter(|text| text != "null"),
        ValueRef::Text(text) => serde_json::to_string(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use graphtide_graph::symbol::SharedSymbols;

    use super::*;
    use crate::{ArrowDecoder, Decoder, JsonLinesDecoder, Options};

    const NAMES: [&str; 6] = ["truth", "whole", "real", "text", "mixed", "ts"];

    fn options() -> Options {
        Options { attributes: NAMES.map(str::to_owned).to_vec(), ..Options::default() }
    }

    fn rows(batch: &EdgeBatch, symbols: &SharedSymbols) -> Vec<String> {
        let symbols = symbols.lock();
        (0..batch.len())
            .map(|index| {
                let row = batch.row(index);
                let labels = [row.source_label, row.label, row.target_label].map(|symbol| symbols.name(symbol).to_owned());
                // The record's own time stands in for an attribute of that name.
                let values: Vec<_> = batch.attributes(index).take(NAMES.len() - 1).collect();
                format!("{} {:?} {:?} {:?} {:?} {labels:?} {values:?}", row.ts, row.operation, row.source, row.target, row.id)
            })
            .collect()
    }

    #[test]
    fn what_is_written_is_read_back() -> Result<(), Box<dyn std::error::Error>> {
        let input = concat!(
            r#"{"ts":-1,"src":"a","dst":5,"label":"x","src_label":"s","truth":true,"whole":1,"real":0.1,"text":"","mixed":1}"#,
            "\n",
            r#"{"ts":0,"src":"007","dst":"b","label":"y","id":"e","dst_label":"t","text":"\u00fc\"","mixed":"1"}"#,
            "\n",
            r#"{"ts":0,"id":"e","op":"delete","mixed":false}"#,
            "\n",
            r#"{"ts":2,"src":"a","dst":"a","label":"x","truth":false,"real":-2.5,"mixed":1.0}"#,
            "\n",
            r#"{"ts":2,"src":"a","dst":"a","label":"x","id":"3"}"#,
            "\n",
        );
        let symbols = SharedSymbols::default();
        let (mut given, mut dead) = (EdgeBatch::new(NAMES.len()), Vec::new());
        JsonLinesDecoder::new(options(), symbols.clone()).feed(input.as_bytes(), &mut given, &mut dead)?;
        for count in [0, 1, given.len()] {
            let mut part = EdgeBatch::new(NAMES.len());
            (0..count).for_each(|row| part.push_from(&given, row));
            let bytes = write(&part, &symbols.lock(), &options().attributes)?;
            let mut read = EdgeBatch::new(NAMES.len());
            let mut decoder = ArrowDecoder::new(options(), 1000, symbols.clone())?;
            decoder.feed(&bytes, &mut read, &mut dead)?;
            assert_eq!(rows(&read, &symbols), rows(&part, &symbols));
            assert_eq!((dead.len(), decoder.has_operations()), (0, count == given.len()));
        }
        Ok(())
    }
}
