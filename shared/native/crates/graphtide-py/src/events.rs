//! Detection of event patterns as Python sees it: a plan in JSON, batches of records, occurrences as rows.

use std::sync::Arc;

use graphtide_engine::limits::Bounds;
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_events::plan::PlanSpec;
use graphtide_events::{Detector, Occurrences, Options, Setup};
use graphtide_graph::batch::{EdgeBatch, Operation, Row};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::value::ValueRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use crate::records::{PyEdgeBatch, PySymbols};

/// Detection of the patterns of a plan.
#[pyclass(name = "EventDetector", module = "graphtide_native._native")]
pub(crate) struct PyEventDetector {
    inner: Detector,
    symbols: SharedSymbols,
}

/// What was found, whether instances were given up at a bound, and how many records were cut.
type Found = (PyOccurrences, bool, u64);

/// Live instances, most ever, bytes.
type UsageRow = (usize, usize, usize);

#[pymethods]
impl PyEventDetector {
    #[new]
    #[allow(clippy::fn_params_excessive_bools)] // each is a name in Python
    fn new(
        plan: &[u8],
        symbols: &PySymbols,
        width: usize,
        deletions: bool,
        may_change: bool,
        allowance: Option<u64>,
        partial_matches: Option<u64>,
        state_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let bounds = Bounds { partial_matches: partial_matches.unwrap_or(u64::MAX), bytes: state_bytes.unwrap_or(u64::MAX) };
        let options = Options { deletions, bounds };
        let setup = Setup { options, may_change, allowance: allowance.unwrap_or(u64::MAX) };
        let inner = Detector::new(&read(plan)?, &symbols.inner, width, setup);
        let inner = inner.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner, symbols: symbols.inner.clone() })
    }

    fn push(&mut self, py: Python<'_>, batch: &PyEdgeBatch) -> Found {
        let records = Arc::clone(&batch.inner);
        let Self { inner, symbols } = self;
        let symbols = symbols.clone();
        py.detach(|| {
            let mut found = Occurrences::default();
            let progress = inner.push(&records, 0, &mut found, &mut Meter::unbounded(&Unhurried));
            (PyOccurrences { inner: found, symbols }, progress.has_limited, progress.cut)
        })
    }

    fn advance(&mut self, py: Python<'_>, now: i64) -> PyOccurrences {
        let Self { inner, symbols } = self;
        let symbols = symbols.clone();
        py.detach(|| {
            let mut found = Occurrences::default();
            inner.advance(now, &mut found, &mut Meter::unbounded(&Unhurried));
            PyOccurrences { inner: found, symbols }
        })
    }

    fn finish(&mut self, py: Python<'_>) -> PyOccurrences {
        let Self { inner, symbols } = self;
        let symbols = symbols.clone();
        py.detach(|| {
            let mut found = Occurrences::default();
            inner.finish(&mut found, &mut Meter::unbounded(&Unhurried));
            PyOccurrences { inner: found, symbols }
        })
    }

    fn replan(&mut self, py: Python<'_>, plan: &[u8], carried: Vec<Option<u32>>) -> PyResult<()> {
        let plan = read(plan)?;
        let inner = &mut self.inner;
        let replanned = py.detach(|| inner.replan(&plan, &carried, &mut Meter::unbounded(&Unhurried)));
        replanned.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn usage(&self) -> UsageRow {
        let usage = self.inner.usage();
        (usage.live, usage.peak, usage.bytes)
    }

    fn instances(&self) -> Vec<(usize, usize)> {
        self.inner.instances().collect()
    }
}

fn read(plan: &[u8]) -> PyResult<PlanSpec> {
    serde_json::from_slice(plan).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Occurrences in the order in which they were found.
#[pyclass(frozen, name = "Occurrences", module = "graphtide_native._native")]
pub(crate) struct PyOccurrences {
    inner: Occurrences,
    symbols: SharedSymbols,
}

/// Pattern, branch, kind, time, count, types and ids of the events of each slot.
type OccurrenceRow = (u32, u32, &'static str, i64, u64, Vec<Vec<(String, String)>>);

#[pymethods]
impl PyOccurrences {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    #[getter]
    fn matches(&self) -> u64 {
        self.inner.matches()
    }

    fn rows(&self) -> Vec<OccurrenceRow> {
        let symbols = self.symbols.lock();
        let row = |place| {
            let found = self.inner.get(place);
            let types = found.types.iter().map(|&kind| symbols.name(kind).to_owned());
            let mut ids = types.zip(found.ids().map(|id| id.to_string()));
            let slots = found.lengths.iter().map(|&length| ids.by_ref().take(length as usize).collect()).collect();
            (found.pattern, found.branch, found.kind.name(), found.detected_at, found.count, slots)
        };
        (0..self.inner.len()).map(row).collect()
    }
}

/// Makes a batch of events, which have no ends, of columns; an operation that is true is a deletion.
#[pyfunction]
fn event_batch(
    symbols: &PySymbols,
    attributes: Vec<String>,
    ts: Vec<i64>,
    types: Vec<Bound<'_, PyString>>,
    ids: Vec<Bound<'_, PyString>>,
    deletions: Vec<bool>,
    columns: Vec<Vec<Bound<'_, PyAny>>>,
) -> PyResult<PyEdgeBatch> {
    let rows = ts.len();
    let is_whole = [types.len(), ids.len(), deletions.len()] == [rows; 3] && columns.len() == attributes.len();
    if !is_whole || columns.iter().any(|column| column.len() != rows) {
        return Err(PyValueError::new_err("the columns are not of one length"));
    }
    let mut batch = EdgeBatch::new(attributes.len());
    let mut table = symbols.inner.lock();
    for row in 0..rows {
        let values = columns.iter().map(|column| value(&column[row])).collect::<PyResult<Vec<_>>>()?;
        let operation = if deletions[row] { Operation::Delete } else { Operation::Insert };
        let record = Row {
            ordinal: row as u64,
            line: row as u64 + 1,
            ts: ts[row],
            operation,
            source: KeyRef::Text(""),
            target: KeyRef::Text(""),
            label: table.intern(types[row].to_str()?),
            source_label: Symbol::ABSENT,
            target_label: Symbol::ABSENT,
            id: IdRef::Given(KeyRef::parse(ids[row].to_str()?)),
            raw: b"",
        };
        batch.push(&record, values);
    }
    drop(table);
    Ok(PyEdgeBatch { inner: Arc::new(batch), symbols: symbols.inner.clone(), attributes: attributes.into() })
}

fn value<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<ValueRef<'a>> {
    if value.is_none() {
        Ok(ValueRef::Null)
    } else if let Ok(truth) = value.cast::<PyBool>() {
        Ok(ValueRef::Bool(truth.is_true()))
    } else if let Ok(number) = value.cast::<PyInt>() {
        Ok(ValueRef::Int(number.extract()?))
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(ValueRef::Float(number.extract()?))
    } else {
        Ok(ValueRef::Text(value.cast::<PyString>()?.to_str()?))
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyEventDetector>()?;
    m.add_class::<PyOccurrences>()?;
    m.add_function(wrap_pyfunction!(event_batch, m)?)
}
