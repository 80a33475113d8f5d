//! How the columns of a table of matches follow from its patterns.

use std::sync::Arc;

use arrow_array::builder::Int64Builder;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_schema::ArrowError;
use graphtide_engine::output::MatchRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// How a pattern is encoded: the number of its name, its version. Of each output it is the number of its label, if it has one,
/// and the column of each of its parts. Then come the columns of what it returns.
type PatternColumns = (i32, i32, Vec<(Option<i32>, Vec<usize>)>, Vec<usize>);

/// The columns of a table of some patterns.
#[pyclass(frozen, name = "TableLayout", module = "graphtide_native._native")]
pub(crate) struct TableLayout {
    pub(super) unit: Unit,
    /// Columns that have the name of a part, and whether they hold lists.
    pub(super) named: Vec<(String, bool)>,
    pub(super) changes: bool,
    pub(super) counts: bool,
    pub(super) results: bool,
    pub(super) fields: Vec<String>,
    pub(super) queries: StringArray,
    pub(super) labels: StringArray,
    patterns: Vec<Encoded>,
}

/// What times count.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

/// How a pattern is encoded.
pub(super) struct Encoded {
    pub(super) query: i32,
    pub(super) version: i32,
    outputs: Vec<Output>,
    /// For each column of fields, the place among those of the pattern.
    pub(super) fields: Vec<Option<usize>>,
}

/// How an output of a pattern is encoded.
pub(super) struct Output {
    pub(super) label: Option<i32>,
    /// The column of each part.
    pub(super) columns: Vec<usize>,
    /// For each column the part, if there is one.
    pub(super) parts: Vec<Option<usize>>,
}

#[pymethods]
impl TableLayout {
    #[new]
    fn new(
        unit: &str,
        named: Vec<(String, bool)>,
        families: (bool, bool, bool),
        fields: Vec<String>,
        queries: Vec<String>,
        labels: Vec<String>,
        patterns: Vec<PatternColumns>,
    ) -> PyResult<Self> {
        let (changes, counts, results) = families;
        let unit = match unit {
            "s" => Unit::Second,
            "ms" => Unit::Millisecond,
            "us" => Unit::Microsecond,
            "ns" => Unit::Nanosecond,
            _ => return Err(PyValueError::new_err(format!("there is no unit {unit:?}"))),
        };
        let inverse = |columns: &[usize], width: usize| {
            let mut places = vec![None; width];
            for (place, &column) in columns.iter().enumerate() {
                if let Some(slot) = places.get_mut(column) {
                    *slot = Some(place);
                }
            }
            places
        };
        let patterns = patterns.into_iter().map(|(query, version, outputs, of_fields)| Encoded {
            query,
            version,
            outputs: outputs
                .into_iter()
                .map(|(label, columns)| Output { label, parts: inverse(&columns, named.len()), columns })
                .collect(),
            fields: inverse(&of_fields, fields.len()),
        });
        let patterns = patterns.collect();
        let [queries, labels] = [queries, labels].map(StringArray::from);
        Ok(Self { unit, named, changes, counts, results, fields, queries, labels, patterns })
    }
}

impl TableLayout {
    /// How the pattern of a match is encoded.
    pub(super) fn of(&self, found: &MatchRef<'_>) -> Result<&Encoded, ArrowError> {
        self.patterns.get(found.pattern.place()).ok_or_else(|| unknown("pattern"))
    }
}

impl Encoded {
    /// How an output is encoded.
    pub(super) fn output(&self, number: usize) -> Result<&Output, ArrowError> {
        self.outputs.get(number).ok_or_else(|| unknown("output"))
    }
}

fn unknown(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("a match is of another {what} than the table"))
}

impl Unit {
    /// Ticks as timestamps.
    pub(super) fn times(self, mut builder: Int64Builder) -> ArrayRef {
        fn of<T: ArrowTimestampType>(ticks: &Int64Array) -> ArrayRef {
            Arc::new(ticks.reinterpret_cast::<T>().with_timezone("UTC"))
        }
        let ticks = builder.finish();
        match self {
            Self::Second => of::<TimestampSecondType>(&ticks),
            Self::Millisecond => of::<TimestampMillisecondType>(&ticks),
            Self::Microsecond => of::<TimestampMicrosecondType>(&ticks),
            Self::Nanosecond => of::<TimestampNanosecondType>(&ticks),
        }
    }
}
