//! A statement over records whose fields are texts: CSV in every dialect, and logs of Zeek.
//!
//! A path of one name is the column that is called so; one of more steps is missing. A value has the type that its text looks
//! like, or that the log says. An end, a label, an id or a time is read of the text as it is written.

use graphtide_graph::value::ValueRef;

use super::nulls::Nulls;
use super::paths::{Role, Step};
use super::reading::Statement;
use crate::csv::fields::FieldsOf;
use crate::error::Refused;
use crate::types::{AttributeType, Projection, refuse};
use crate::writer::{Target, Writer};

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
pub(crate) struct Record<'r> {
    pub(crate) line: u64,
    pub(crate) bytes: &'r [u8],
    pub(crate) fields: FieldsOf<'r>,
    /// Of each column that is read: where it is.
    pub(crate) places: &'r [Option<usize>],
    /// The columns that are read, and their types.
    pub(crate) columns: &'r Projection,
    /// Words for missing values that the stream itself says.
    pub(crate) nulls: &'r [String],
    pub(crate) has_decimal_comma: bool,
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

    /// Writes what a record gives, or rejects it.
    #[inline]
    pub(crate) fn take(&mut self, writer: &mut Writer, target: &mut Target<'_>, record: Record<'_>) {
        let Self { statement, slots: read } = self;
        let (line, bytes) = (record.line, record.bytes);
        if let Err(error) = statement.write((writer, target), (line, bytes), |slots, _, nulls| record.read(read, slots, nulls))
        {
            writer.reject(target, line, &error, bytes);
        }
    }
}

impl<'r> Record<'r> {
    fn read(&self, read: &[Slot], slots: &mut [ValueRef<'r>], nulls: &Nulls) -> Result<(), Refused> {
        let has_nulls = nulls.if_any().is_some() || !self.nulls.is_empty();
        if !has_nulls && !self.has_decimal_comma {
            self.read_plain(read, slots);
            return Ok(());
        }
        for Slot { column, slot, role } in read {
            let Some(place) = self.places[*column] else { continue };
            let text = self.fields.get(place);
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
    fn read_plain(&self, read: &[Slot], slots: &mut [ValueRef<'r>]) {
        let (places, fields) = (self.places, self.fields);
        for Slot { column, slot, role } in read {
            let Some(place) = places[*column] else { continue };
            let text = fields.get(place);
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
    fn value(&self, column: usize, text: &'r str) -> Result<ValueRef<'r>, Refused> {
        let kind = self.columns.types[column];
        let read = if self.has_decimal_comma { kind.read_comma(text) } else { AttributeType::read(kind, text) };
        read.ok_or_else(|| refuse(&self.columns.names[column], text, kind).into())
    }
}
