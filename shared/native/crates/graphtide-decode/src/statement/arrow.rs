//! A statement over rows of Arrow: fields of structs by their names, items of lists by their positions.
//!
//! A path that leads to a struct, a list or a map is missing. Timestamps and dates are times whatever the statement says of how
//! times are written, but for the zone. As values they are texts of ISO 8601, as attributes without a statement are. Cost: each
//! column that is read is prepared once a batch, each row is gathered once.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use graphtide_graph::value::ValueRef;

use super::nulls::Nulls;
use super::paths::Step;
use super::reading::Statement;
use crate::arrow_columns::Values;
use crate::error::DecodeError;
use crate::writer::{Target, Writer};

/// A statement that reads rows.
#[derive(Clone, Debug)]
pub(crate) struct ArrowStatement {
    pub(crate) statement: Statement,
}

/// The values at the end of a path.
struct Leaf<'a> {
    /// From a row to a place in the values.
    hops: Vec<Hop>,
    values: Values<'a>,
}

/// A level between a row and a value.
enum Hop {
    /// A struct, which may be missing in some rows.
    Struct(Option<NullBuffer>),
    /// A list, and the position of an item.
    List {
        offsets: OffsetBuffer<i32>,
        nulls: Option<NullBuffer>,
        position: usize,
    },
    LargeList {
        offsets: OffsetBuffer<i64>,
        nulls: Option<NullBuffer>,
        position: usize,
    },
    FixedSizeList {
        size: usize,
        nulls: Option<NullBuffer>,
        position: usize,
    },
}

impl Hop {
    /// The place of an item behind this level; None where it is missing.
    #[inline]
    fn pass(&self, place: usize) -> Option<usize> {
        let is_there = |nulls: &Option<NullBuffer>| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(place));
        match self {
            Self::Struct(nulls) => is_there(nulls).then_some(place),
            Self::List { offsets, nulls, position } => {
                let (start, end) = (offsets[place].as_usize(), offsets[place + 1].as_usize());
                (is_there(nulls) && *position < end - start).then(|| start + position)
            }
            Self::LargeList { offsets, nulls, position } => {
                let (start, end) = (offsets[place].as_usize(), offsets[place + 1].as_usize());
                (is_there(nulls) && *position < end - start).then(|| start + position)
            }
            Self::FixedSizeList { size, nulls, position } => {
                (is_there(nulls) && position < size).then(|| place * size + position)
            }
        }
    }
}

impl<'a> Leaf<'a> {
    /// Follows a path from the columns of a batch; None where it leads to nothing, or to what is no value.
    fn find(rows: &'a RecordBatch, steps: &[Step]) -> Option<Self> {
        let (Step::Name(name), steps) = steps.split_first()? else { return None };
        let place = rows.schema_ref().index_of(name).ok()?;
        let (mut field, mut array): (&Field, &ArrayRef) = (rows.schema_ref().field(place), rows.column(place));
        let mut hops = Vec::new();
        for step in steps {
            let nulls = array.nulls().cloned();
            match (step, field.data_type()) {
                (Step::Name(name), DataType::Struct(fields)) => {
                    let (place, of_field) = fields.find(name)?;
                    hops.push(Hop::Struct(nulls));
                    (field, array) = (of_field, array.as_struct_opt()?.column(place));
                }
                (Step::Position(position), DataType::List(item)) => {
                    let list = array.as_list_opt::<i32>()?;
                    hops.push(Hop::List { offsets: list.offsets().clone(), nulls, position: *position as usize });
                    (field, array) = (item, list.values());
                }
                (Step::Position(position), DataType::LargeList(item)) => {
                    let list = array.as_list_opt::<i64>()?;
                    hops.push(Hop::LargeList { offsets: list.offsets().clone(), nulls, position: *position as usize });
                    (field, array) = (item, list.values());
                }
                (Step::Position(position), DataType::FixedSizeList(item, size)) => {
                    let list = array.as_fixed_size_list_opt()?;
                    hops.push(Hop::FixedSizeList { size: usize::try_from(*size).ok()?, nulls, position: *position as usize });
                    (field, array) = (item, list.values());
                }
                _ => return None,
            }
        }
        Some(Self { hops, values: Values::of_field(field, array)? })
    }

    #[inline]
    fn get(&self, row: usize) -> ValueRef<'_> {
        let place = self.hops.iter().try_fold(row, |place, hop| hop.pass(place));
        place.map_or(ValueRef::Null, |place| self.values.get(place))
    }
}

impl ArrowStatement {
    pub(crate) fn new(statement: Statement) -> Self {
        Self { statement }
    }

    /// Refuses a schema with a column that is read and of a type that no value has. Refuses one with two columns of one name
    /// that is read.
    pub(crate) fn check(&mut self, schema: &Schema) -> Result<(), DecodeError> {
        let mut is_moment = false;
        for (slot, path) in self.statement.paths.all().iter().enumerate() {
            let Some(Step::Name(name)) = path.steps.first() else { continue };
            if schema.fields().iter().filter(|field| *field.name() == **name).count() > 1 {
                return Err(DecodeError::RepeatedColumn { name: name.to_string() });
            }
            let Some(field) = end_of(schema.fields(), &path.steps) else { continue };
            if !field.data_type().is_nested() && !Values::can_be(field.data_type()) {
                return Err(no_value(field));
            }
            is_moment |= self.statement.is_time(slot) && is_moment_type(field.data_type());
        }
        self.statement.read_moments(is_moment);
        Ok(())
    }

    /// Writes what rows give; `render` shows a row that is rejected.
    pub(crate) fn decode(
        &mut self,
        rows: &RecordBatch,
        writer: &mut Writer,
        target: &mut Target<'_>,
        render: impl Fn(&RecordBatch, usize) -> Vec<u8>,
    ) {
        let paths = self.statement.paths.all();
        let leaves: Vec<Option<Leaf<'_>>> = paths.iter().map(|path| Leaf::find(rows, &path.steps)).collect();
        for row in 0..rows.num_rows() {
            let line = writer.ordinal() + 1;
            let place: (u64, &[u8]) = (line, &[]);
            let result = self.statement.write((writer, target), place, |slots, _, nulls| {
                gather(&leaves, row, slots, nulls);
                Ok(())
            });
            if let Err(error) = result {
                writer.reject(target, line, &error, &render(rows, row));
            }
        }
    }
}

fn gather<'r>(leaves: &'r [Option<Leaf<'_>>], row: usize, slots: &mut [ValueRef<'r>], nulls: &Nulls) {
    for (slot, leaf) in slots.iter_mut().zip(leaves) {
        *slot = match leaf.as_ref().map_or(ValueRef::Null, |leaf| leaf.get(row)) {
            ValueRef::Text(text) if nulls.contain(text) => ValueRef::Null,
            value => value,
        };
    }
}

/// The field at the end of a path.
fn end_of<'s>(fields: &'s Fields, steps: &[Step]) -> Option<&'s Field> {
    let (Step::Name(name), steps) = steps.split_first()? else { return None };
    let mut field: &Field = fields.find(name)?.1;
    for step in steps {
        field = match (step, field.data_type()) {
            (Step::Name(name), DataType::Struct(fields)) => fields.find(name)?.1,
            (Step::Position(_), DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _)) => item,
            _ => return None,
        };
    }
    Some(field)
}

fn is_moment_type(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
}

fn no_value(field: &Field) -> DecodeError {
    DecodeError::ColumnType {
        name: field.name().clone(),
        found: field.data_type().to_string(),
        expected: "a truth value, a number, a text, a date or a time",
    }
}
