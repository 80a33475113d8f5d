//! Matches of all families as columns of Arrow, for files and tables: no match becomes an object of Python.
//!
//! Words that come again and again are codes of a dictionary that all batches of a table share. What patterns return has the
//! types that the caller found for the whole table, by the kinds that each batch says.
//! Cost: a hash and a copy of the texts of a match; of an event pattern its events times its columns.

mod cells;
mod field_columns;
mod layout;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_pyarrow::IntoPyArrow;
use arrow_schema::ArrowError;
use graphtide_engine::expression::Operand;
use graphtide_engine::output::{FieldRef, Layout, MatchBatch, PatternNames};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use cells::Cells;
pub(crate) use layout::TableLayout;

/// What patterns are called, and what they are made of.
type Names = [Arc<PatternNames>];

/// What kinds of values a field has, as bits: scalars, then the same of values in lists, then the rest.
mod kinds {
    pub(super) const BOOLEAN: u32 = 1;
    pub(super) const INTEGER: u32 = 1 << 1;
    pub(super) const NUMBER: u32 = 1 << 2;
    pub(super) const TEXT: u32 = 1 << 3;
    /// How far those of values in lists are from those of scalars.
    pub(super) const IN_LIST: u32 = 4;
    pub(super) const LIST: u32 = 1 << 8;
    /// An integer that no floating-point number is.
    pub(super) const LARGE: u32 = 1 << 9;
    /// A list in a list.
    pub(super) const NESTED: u32 = 1 << 10;
}

/// Integers up to this are floating-point numbers without loss.
const EXACT: u64 = 1 << 53;

impl TableLayout {
    /// What kinds of values each field has.
    fn kinds(&self, batch: &MatchBatch, names: &Names) -> Result<Vec<u32>, ArrowError> {
        let mut found = vec![0; self.fields.len()];
        if self.fields.is_empty() {
            return Ok(found);
        }
        for index in 0..batch.len() {
            let row = batch.get(index, names);
            let values: Vec<FieldRef<'_>> = row.fields.iter().collect();
            for (kinds, place) in found.iter_mut().zip(&self.of(&row)?.fields) {
                match place.and_then(|place| values.get(place)) {
                    Some(FieldRef::One(value)) => *kinds |= kind(*value),
                    Some(FieldRef::List(list)) => {
                        *kinds |= kinds::LIST;
                        for value in list.iter() {
                            *kinds |= match value {
                                FieldRef::One(value) => in_list(kind(value)),
                                FieldRef::List(_) => kinds::NESTED,
                            };
                        }
                    }
                    None => {}
                }
            }
        }
        Ok(found)
    }

    /// Matches from a place on as rows; fields have these types, those of none are left out.
    fn rows(
        &self,
        batch: &MatchBatch,
        names: &Names,
        from: usize,
        types: &[Option<String>],
    ) -> Result<RecordBatch, ArrowError> {
        let rows = batch.len() - from;
        let mut cells = Cells::new(self, rows, types)?;
        let mut values = Vec::new();
        for index in from..batch.len() {
            let found = batch.get(index, names);
            let own = &names[found.pattern.place()];
            let encoded = self.of(&found)?;
            cells.head(&found, own, encoded);
            match &found.layout {
                Layout::Assignment(of) => cells.assignment(*of, own, encoded.output(0)?),
                Layout::Component(of) => cells.component(of, found.kind, own, encoded.output(0)?),
                Layout::Occurrence(of) => cells.occurrence(of, encoded.output(0)?),
                Layout::Interval(of) => cells.interval(of, found.kind, own, encoded.output(of.output as usize)?),
            }
            if !cells.fields.is_empty() {
                values.clear();
                values.extend(found.fields.iter());
                for (column, place) in cells.fields.iter_mut().zip(&encoded.fields) {
                    if let Some(column) = column {
                        column.push(place.and_then(|place| values.get(place)));
                    }
                }
            }
        }
        cells.finish(self)
    }
}

fn kind(value: Operand<'_>) -> u32 {
    match value {
        Operand::Null => 0,
        Operand::Bool(_) => kinds::BOOLEAN,
        Operand::Int(number) if number.unsigned_abs() > EXACT => kinds::INTEGER | kinds::LARGE,
        Operand::Int(_) => kinds::INTEGER,
        Operand::Float(_) => kinds::NUMBER,
        Operand::Text(_) | Operand::Digits(_) | Operand::Made(_) => kinds::TEXT,
    }
}

fn in_list(kind: u32) -> u32 {
    (kind & !kinds::LARGE) << kinds::IN_LIST | kind & kinds::LARGE
}

pub(crate) fn kinds_of(py: Python<'_>, batch: &MatchBatch, names: &Names, layout: &TableLayout) -> PyResult<Vec<u32>> {
    py.detach(|| layout.kinds(batch, names)).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn rows_of<'py>(
    py: Python<'py>,
    batch: &MatchBatch,
    names: &Names,
    layout: &TableLayout,
    types: &[Option<String>],
    from: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let from = from.min(batch.len());
    let rows = py.detach(|| layout.rows(batch, names, from, types));
    rows.map_err(|error| PyValueError::new_err(error.to_string()))?.into_pyarrow(py)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<TableLayout>()
}
