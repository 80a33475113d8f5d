//! A part of a body as one Arrow IPC stream for the raw topic. It has what the sequencer would decode of the text. It has the
//! bytes of each record, which a dead letter needs if the record turns out to be late.
//!
//! Columns are those of [`arrow_writer`](crate::arrow_writer), with these differences. `id` is null where a record gives none,
//! since its ordinal in the stream is not known yet. [`CLAUSE`] has the number of the clause that made it, if one did. Labels
//! of ends are there only where some end has one. [`RAW`] has the bytes; of rows that one record gave, the first has them.
//! [`LINE`] and [`ORDINAL`] count from the first line and the first record of the part. They are there only where some row is
//! not on the line, or does not have the ordinal, of its place. Records that were rejected before have an ordinal and no row:
//! [`ORDINALS`] in the metadata of the schema counts all.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, BinaryArray, PrimitiveArray, RecordBatch, UInt8Array, UInt32Array};
use arrow_schema::{ArrowError, Schema};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::key::{IdRef, MOST_CLAUSES};
use graphtide_graph::symbol::{Symbol, SymbolTable};

use crate::arrow_writer::{EVENT, LABELS, MADE, STREAM, Written, field};
use crate::column::Column;
use crate::error::DecodeError;

/// Column of the bytes of each record.
pub const RAW: &str = "graphtide.raw";

/// Column of lines, from 0.
pub const LINE: &str = "graphtide.line";

/// Column of ordinals, from 0.
pub const ORDINAL: &str = "graphtide.ordinal";

/// Column of the clauses that made ids, where some did; 0 for none.
pub const CLAUSE: &str = "graphtide.clause";

/// Key of the metadata of a schema that say how many ordinals the records take.
pub const ORDINALS: &str = "graphtide.ordinals";

/// Columns that are not attributes.
pub(crate) const MARKS: [&str; 7] = [MADE, EVENT, STREAM, RAW, LINE, ORDINAL, CLAUSE];

/// Ordinals that one record of the topic takes at most.
const MAX_ORDINALS: u64 = 1 << 20;

/// Columns of one record of the topic.
const MAX_COLUMNS: usize = 2_000;

/// Bytes of a record of the topic for each of its rows, at least: few bytes must not become many rows.
const LEAST_ROW: usize = 16;

/// Where a part begins, and how many ordinals it takes.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its first line.
    pub line: u64,
    /// Its first ordinal.
    pub ordinal: u64,
    /// Its records, good or bad.
    pub ordinals: u64,
}

/// Writes the records of a part, which have their bytes; `attributes` are the names of their values.
pub fn write(batch: &EdgeBatch, symbols: &SymbolTable, attributes: &[String], part: Part) -> Result<Vec<u8>, ArrowError> {
    let mut written = Written::default();
    written.ends(batch);
    if let Some(ids) = ids(batch) {
        written.add(field(Column::Id.name(), &ids), ids);
    }
    for (column, place) in LABELS {
        if column == Column::Label || batch.labels().iter().any(|labels| labels[place] != Symbol::ABSENT) {
            written.labels(batch, symbols, (column, place))?;
        }
    }
    written.operations(batch)?;
    written.events(batch);
    if let Some(clauses) = clauses(batch) {
        written.add(field(CLAUSE, &clauses).with_nullable(false), clauses);
    }
    let raw_of = |row| if batch.continues(row) { b"" } else { batch.raw(row) };
    let raw: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..batch.len()).map(raw_of)));
    written.add(field(RAW, &raw).with_nullable(false), raw);
    let places = [
        (LINE, (0..batch.len()).map(|row| batch.row(row).line.saturating_sub(part.line) as u32).collect::<Vec<_>>()),
        (ORDINAL, (0..batch.len()).map(|row| batch.ordinal(row).saturating_sub(part.ordinal) as u32).collect()),
    ];
    for (name, places) in places {
        if places.iter().copied().ne(0..batch.len() as u32) {
            let array: ArrayRef = Arc::new(UInt32Array::from(places));
            written.add(field(name, &array).with_nullable(false), array);
        }
    }
    written.attributes(batch, attributes, &MARKS);
    written.stream(HashMap::from([(ORDINALS.to_owned(), part.ordinals.to_string())]))
}

/// The ids that records give; None if no record gives one.
fn ids(batch: &EdgeBatch) -> Option<ArrayRef> {
    if (0..batch.len()).all(|row| batch.id(row).is_made()) {
        return None;
    }
    let mut builder = StringBuilder::with_capacity(batch.len(), 8 * batch.len());
    for row in 0..batch.len() {
        match batch.id(row) {
            IdRef::Given(id) => id.with_text(|text| builder.append_value(text)),
            IdRef::Made(_) => builder.append_null(),
        }
    }
    Some(Arc::new(builder.finish()))
}

/// The clauses that made ids; None if none did.
fn clauses(batch: &EdgeBatch) -> Option<ArrayRef> {
    let clauses: UInt8Array = (0..batch.len()).map(|row| Some(batch.id(row).clause())).collect();
    clauses.values().iter().any(|clause| *clause > 0).then(|| Arc::new(clauses) as ArrayRef)
}

/// How many ordinals a record of the topic takes, if its schema says so.
///
/// Refuses a schema that would make reading costly.
pub(crate) fn ordinals(schema: &Schema) -> Result<Option<u64>, DecodeError> {
    let columns = schema.fields().len();
    if columns > MAX_COLUMNS {
        return Err(DecodeError::Arrow { reason: format!("it has {columns} columns; up to {MAX_COLUMNS} are allowed") });
    }
    let Some(text) = schema.metadata().get(ORDINALS) else { return Ok(None) };
    let ordinals = text.parse().ok().filter(|ordinals| *ordinals <= MAX_ORDINALS);
    ordinals.map(Some).ok_or_else(|| DecodeError::Arrow { reason: format!("{ORDINALS} is not a number up to {MAX_ORDINALS}") })
}

/// Refuses a record of the topic that has more rows than its bytes account for.
pub(crate) fn check_rows(rows: usize, bytes: usize) -> Result<(), DecodeError> {
    if rows.saturating_mul(LEAST_ROW) > bytes || rows as u64 > MAX_ORDINALS {
        return Err(DecodeError::Arrow {
            reason: format!("{rows} rows in {bytes} bytes; a row has at least {LEAST_ROW} of them"),
        });
    }
    Ok(())
}

/// What the rows say of their places and bytes.
pub(crate) struct Marks<'a> {
    lines: Option<&'a [u32]>,
    ordinals: Option<&'a [u32]>,
    raw: Option<&'a BinaryArray>,
    clauses: Option<&'a [u8]>,
}

impl<'a> Marks<'a> {
    /// Finds the marks of rows. Refuses ordinals that fall.
    pub(crate) fn of(rows: &'a RecordBatch) -> Result<Self, DecodeError> {
        let raw = rows.column_by_name(RAW).map(|array| {
            let raw = array.as_binary_opt::<i32>().filter(|raw| raw.null_count() == 0);
            raw.ok_or_else(|| wrong(RAW, array, "a binary without missing values"))
        });
        let ordinals = places::<UInt32Type>(rows, ORDINAL, "a 32-bit unsigned integer without missing values")?;
        if ordinals.is_some_and(|ordinals| !ordinals.is_sorted()) {
            return Err(does_not_rise());
        }
        let lines = places::<UInt32Type>(rows, LINE, "a 32-bit unsigned integer without missing values")?;
        let clauses = places::<UInt8Type>(rows, CLAUSE, "an 8-bit unsigned integer without missing values")?;
        if clauses.is_some_and(|clauses| clauses.iter().any(|clause| *clause > MOST_CLAUSES)) {
            return Err(DecodeError::Arrow { reason: format!("{CLAUSE} is past {MOST_CLAUSES}") });
        }
        Ok(Self { lines, ordinals, raw: raw.transpose()?, clauses })
    }

    /// Whether each row has the line and the ordinal of its place.
    pub(crate) fn are_in_place(&self) -> bool {
        self.lines.is_none() && self.ordinals.is_none() && self.clauses.is_none()
    }

    /// The line of a row, from 0; `before` rows of the record stand before these.
    pub(crate) fn line(&self, row: usize, before: u64) -> u64 {
        self.lines.map_or(before + row as u64, |lines| u64::from(lines[row]))
    }

    /// The ordinal of a row, likewise.
    pub(crate) fn ordinal(&self, row: usize, before: u64) -> u64 {
        self.ordinals.map_or(before + row as u64, |ordinals| u64::from(ordinals[row]))
    }

    /// The clause that made the id of each row, 0 where none did; None if none did anywhere.
    pub(crate) fn clauses(&self) -> Option<&'a [u8]> {
        self.clauses
    }

    /// The bytes of a row, if the record has them: those of the first row of its ordinal.
    pub(crate) fn raw(&self, row: usize) -> Option<&'a [u8]> {
        let first = |ordinals: &[u32]| ordinals.partition_point(|ordinal| *ordinal < ordinals[row]);
        self.raw.map(|raw| raw.value(self.ordinals.map_or(row, first)))
    }

    /// Gives the last rows of a batch, which are all of these, their bytes.
    pub(crate) fn give_raw(&self, batch: &mut EdgeBatch) {
        if let Some(raw) = self.raw {
            batch.give_raw((0..raw.len()).map(|row| raw.value(row)));
        }
    }
}

/// The ids made of the ordinal of one record, each by another clause.
#[derive(Default)]
pub(crate) struct MadeIds {
    ordinal: u64,
    clauses: u128,
}

impl MadeIds {
    /// Refuses an id that was made before: an ordinal is that of several rows only where their ids differ.
    pub(crate) fn take(&mut self, id: IdRef<'_>, ordinal: u64) -> Result<(), DecodeError> {
        if !id.is_made() {
            return Ok(());
        }
        let known = if self.ordinal == ordinal { self.clauses } else { 0 };
        let clause = 1_u128 << id.clause();
        if known & clause != 0 {
            return Err(does_not_rise());
        }
        *self = Self { ordinal, clauses: known | clause };
        Ok(())
    }
}

fn does_not_rise() -> DecodeError {
    DecodeError::Arrow { reason: format!("{ORDINAL} does not rise") }
}

fn places<'a, T: ArrowPrimitiveType>(
    rows: &'a RecordBatch,
    name: &'static str,
    expected: &'static str,
) -> Result<Option<&'a [T::Native]>, DecodeError> {
    let numbers = |array: &'a ArrayRef| {
        let numbers = array.as_primitive_opt::<T>().filter(|numbers| numbers.null_count() == 0);
        numbers.map(values).ok_or_else(|| wrong(name, array, expected))
    };
    rows.column_by_name(name).map(numbers).transpose()
}

fn values<T: ArrowPrimitiveType>(numbers: &PrimitiveArray<T>) -> &[T::Native] {
    numbers.values()
}

fn wrong(name: &str, array: &ArrayRef, expected: &'static str) -> DecodeError {
    DecodeError::ColumnType { name: name.to_owned(), found: array.data_type().to_string(), expected }
}
