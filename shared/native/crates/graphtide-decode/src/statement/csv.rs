//! A statement over records whose fields are texts: CSV in every dialect, and logs of Zeek.
//!
//! A path of one name is the column that is called so; one of more steps is missing. A value has the type that its text looks
//! like, or that the log says. An end, a label, an id or a time is read of the text as it is written.

use graphtide_graph::value::ValueRef;
use smallvec::{SmallVec, smallvec};

use super::nulls::Nulls;
use super::paths::{Role, Step};
use super::reading::Statement;
use crate::csv::fields::Texts;
use crate::csv::table::Table;
use crate::error::Refused;
use crate::types::{AttributeType, Projection, refuse};
use crate::writer::{Target, Writer};

/// Paths of a statement that need no memory of their own.
const SLOTS: usize = 8;

/// A statement that reads fields.
#[derive(Clone, Debug)]
pub(crate) struct CsvStatement {
    pub(crate) statement: Statement,
    slots: Vec<Slot>,
}

/// A slot, and which of the columns that are read fills it.
#[derive(Clone, Copy, Debug)]
struct Slot {
    column: usize,
    slot: usize,
    role: Role,
}

/// The fields of a record, and how they are read.
#[derive(Clone, Copy)]
pub(crate) struct Record<'r, F> {
    pub(crate) line: u64,
    pub(crate) bytes: &'r [u8],
    pub(crate) fields: F,
    /// Of each column that is read: where it is.
    pub(crate) places: &'r [Option<usize>],
    /// The columns that are read, and their types.
    pub(crate) columns: &'r Projection,
    /// Words for missing values that the stream itself says.
    pub(crate) nulls: &'r [String],
    pub(crate) has_decimal_comma: bool,
}

impl AsRef<Statement> for CsvStatement {
    fn as_ref(&self) -> &Statement {
        &self.statement
    }
}

impl CsvStatement {
    /// Makes a reader of a statement; returns it with the names of the columns that it reads.
    pub(crate) fn new(statement: Statement) -> (Self, Vec<String>) {
        Self::of(statement, |steps| if let [Step::Name(name)] = steps { Some(name.to_string()) } else { None })
    }

    /// Makes a reader of a statement for a format whose paths lead to columns so; returns it with those that it reads.
    pub(crate) fn of<C: PartialEq>(statement: Statement, column: impl Fn(&[Step]) -> Option<C>) -> (Self, Vec<C>) {
        let (mut columns, mut slots): (Vec<C>, Vec<Slot>) = (Vec::new(), Vec::new());
        for (slot, path) in statement.paths.all().iter().enumerate() {
            let Some(wanted) = column(&path.steps) else { continue };
            let column = columns.iter().position(|known| *known == wanted).unwrap_or_else(|| {
                columns.push(wanted);
                columns.len() - 1
            });
            slots.push(Slot { column, slot, role: path.role });
        }
        (Self { statement, slots }, columns)
    }

    /// Writes what all these records give, but for those that it rejects; false if each needs a look of its own. The columns
    /// that are read have these places.
    pub(crate) fn take_all(
        &mut self,
        table: Table<'_>,
        (places, columns): (&[Option<usize>], &Projection),
        writer: &mut Writer,
        target: &mut Target<'_>,
    ) -> bool {
        // A line of one empty field is no record.
        if table.width == 1 {
            return false;
        }
        let mut of_slots: SmallVec<[Option<usize>; SLOTS]> = smallvec![None; self.statement.paths.all().len()];
        for Slot { column, slot, .. } in &self.slots {
            of_slots[*slot] = places[*column];
        }
        if let Some(bulk) = self.statement.bulk((table, &of_slots), writer, target) {
            writer.append(target, bulk, table.rows());
            return true;
        }
        for row in 0..table.count {
            let (line, bytes, fields) = (table.line + row as u64, table.row(row).as_bytes(), table.fields(row));
            let (nulls, has_decimal_comma) = (&[][..], false);
            self.take(writer, target, &Record { line, bytes, fields, places, columns, nulls, has_decimal_comma });
        }
        true
    }

    /// Writes what a record gives, or rejects it.
    #[inline]
    pub(crate) fn take(&mut self, writer: &mut Writer, target: &mut Target<'_>, record: &Record<'_, impl Texts>) {
        let Self { statement, slots: read } = self;
        let (line, bytes) = (record.line, record.bytes);
        if let Err(error) = statement.write((writer, target), (line, bytes), |slots, _, nulls| record.read(read, slots, nulls))
        {
            writer.reject(target, line, &error, bytes);
        }
    }
}

impl<F: Texts> Record<'_, F> {
    fn read<'s>(&'s self, read: &[Slot], slots: &mut [ValueRef<'s>], nulls: &Nulls) -> Result<(), Refused> {
        let has_nulls = nulls.if_any().is_some() || !self.nulls.is_empty();
        if !has_nulls && !self.has_decimal_comma {
            self.read_plain(read, slots);
            return Ok(());
        }
        for Slot { column, slot, role } in read {
            let Some(place) = self.places[*column] else { continue };
            let text = self.fields.text(place);
            if text.is_empty() || (has_nulls && self.is_missing(text, nulls)) {
                continue;
            }
            let slot = &mut slots[*slot];
            if *role != Role::Value {
                *slot = ValueRef::Text(text);
            } else if self.columns.types[*column] == AttributeType::Any && !self.has_decimal_comma {
                *slot = ValueRef::infer(text);
            } else {
                *slot = self.value(*column, text)?;
            }
        }
        Ok(())
    }

    /// Reads texts that all have a value. Only the log of Zeek has types, and it has words for missing values.
    #[inline]
    fn read_plain<'s>(&'s self, read: &[Slot], slots: &mut [ValueRef<'s>]) {
        let (places, fields) = (self.places, &self.fields);
        for Slot { column, slot, role } in read {
            let Some(place) = places[*column] else { continue };
            let text = fields.text(place);
            if !text.is_empty() {
                slots[*slot] = if *role == Role::Value { ValueRef::infer(text) } else { ValueRef::Text(text) };
            }
        }
    }

    #[inline(never)]
    fn is_missing(&self, text: &str, nulls: &Nulls) -> bool {
        nulls.contain(text) || self.nulls.iter().any(|null| null == text)
    }

    #[inline(never)]
    fn value<'s>(&self, column: usize, text: &'s str) -> Result<ValueRef<'s>, Refused> {
        let kind = self.columns.types[column];
        let read = if self.has_decimal_comma { kind.read_comma(text) } else { AttributeType::read(kind, text) };
        read.ok_or_else(|| refuse(&self.columns.names[column], text, kind).into())
    }
}
