//! Sequencer and duplicate filter as Python sees them. A batch that needs no change comes back as the object it was.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_pyarrow::PyArrowType;
use graphtide_decode::order_scan::{OrderScan, ascends};
use graphtide_decode::render;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::duplicates::Duplicates;
use graphtide_graph::sequencer::{DEFAULT_MAX_PENDING, Late, Sequencer};
use pyo3::prelude::*;

use crate::records::{PyDeadLetter, PyEdgeBatch, take_letters};

/// Puts records in order.
#[pyclass(name = "Sequencer", module = "graphtide_native._native")]
pub(crate) struct PySequencer {
    inner: Sequencer,
    /// Any batch of the stream, for what is not in the records themselves.
    last: Option<Py<PyEdgeBatch>>,
    dead: Vec<DeadLetter>,
}

#[pymethods]
impl PySequencer {
    #[new]
    #[pyo3(signature = (lateness = 0, max_pending = DEFAULT_MAX_PENDING))]
    fn new(lateness: i64, max_pending: usize) -> Self {
        Self { inner: Sequencer::new(lateness, max_pending), last: None, dead: Vec::new() }
    }

    fn push(&mut self, py: Python<'_>, batch: Py<PyEdgeBatch>) -> PyResult<Py<PyEdgeBatch>> {
        let given = batch.get();
        let Self { inner, dead, .. } = self;
        let ordered = py.detach(|| {
            let mut late = Vec::new();
            let ordered = inner.push(&given.inner, &mut late);
            bury(given, &late, dead);
            ordered
        });
        self.last = Some(batch.clone_ref(py));
        match ordered {
            None => Ok(batch),
            Some(records) => Py::new(py, given.with(records)),
        }
    }

    /// None if nothing was ever pushed.
    fn advance(&mut self, py: Python<'_>, bound: Option<i64>) -> PyResult<Option<Py<PyEdgeBatch>>> {
        let inner = &mut self.inner;
        let records = py.detach(|| inner.advance(bound));
        self.handed_out(py, records)
    }

    /// None if nothing was ever pushed.
    fn set_lateness(&mut self, py: Python<'_>, lateness: i64) -> PyResult<Option<Py<PyEdgeBatch>>> {
        let inner = &mut self.inner;
        let records = py.detach(|| inner.set_lateness(lateness));
        self.handed_out(py, records)
    }

    /// None if nothing was ever pushed.
    fn settle(&mut self, py: Python<'_>, watermark: i64) -> PyResult<Option<Py<PyEdgeBatch>>> {
        let inner = &mut self.inner;
        let records = py.detach(|| inner.settle(watermark));
        self.handed_out(py, records)
    }

    /// None if nothing was ever pushed.
    fn reach(&mut self, py: Python<'_>, ts: i64) -> PyResult<Option<Py<PyEdgeBatch>>> {
        let inner = &mut self.inner;
        let records = py.detach(|| inner.reach(ts));
        self.handed_out(py, records)
    }

    /// None if nothing was ever pushed.
    fn relieve(&mut self, py: Python<'_>, most: usize) -> PyResult<Option<Py<PyEdgeBatch>>> {
        let inner = &mut self.inner;
        let records = py.detach(|| inner.relieve(most));
        self.handed_out(py, records)
    }

    /// None if nothing was ever pushed.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Option<Py<PyEdgeBatch>>> {
        let inner = &mut self.inner;
        let records = py.detach(|| inner.finish());
        self.handed_out(py, records)
    }

    fn lay_out(&mut self, py: Python<'_>, attributes: Vec<String>) -> PyResult<()> {
        let Some(last) = self.last.as_ref().map(Py::get) else { return Ok(()) };
        let columns = last.columns(&attributes);
        let inner = &mut self.inner;
        py.detach(|| inner.lay_out(&columns));
        let none = EdgeBatch::new(columns.len());
        let next = PyEdgeBatch { inner: Arc::new(none), symbols: last.symbols.clone(), attributes: attributes.into() };
        self.last = Some(Py::new(py, next)?);
        Ok(())
    }

    fn take_dead_letters<'py>(&mut self, py: Python<'py>) -> Vec<PyDeadLetter<'py>> {
        take_letters(py, &mut self.dead)
    }

    #[getter]
    fn late(&self) -> u64 {
        self.inner.late()
    }

    #[getter]
    fn forced(&self) -> u64 {
        self.inner.forced()
    }

    #[getter]
    fn pending(&self) -> usize {
        self.inner.pending()
    }

    #[getter]
    fn watermark(&self) -> Option<i64> {
        self.inner.watermark()
    }
}

impl PySequencer {
    fn handed_out(&self, py: Python<'_>, records: EdgeBatch) -> PyResult<Option<Py<PyEdgeBatch>>> {
        self.last.as_ref().map(|last| Py::new(py, last.get().with(records))).transpose()
    }
}

/// Makes dead letters of late records: their bytes if the batch kept them, else their fields.
fn bury(batch: &PyEdgeBatch, late: &[Late], dead: &mut Vec<DeadLetter>) {
    if late.is_empty() {
        return;
    }
    let records = &batch.inner;
    let symbols = batch.symbols.lock();
    for late in late {
        let raw = match records.raw(late.row) {
            b"" => render::record(records, late.row, &symbols, &batch.attributes),
            raw => raw.to_vec(),
        };
        dead.push(DeadLetter { line: records.row(late.row).line, reason: late.to_string(), raw });
    }
}

/// Drops records whose id was seen within the window, or lets them replace what had it.
#[pyclass(name = "Duplicates", module = "graphtide_native._native")]
pub(crate) struct PyDuplicates {
    inner: Duplicates,
}

#[pymethods]
impl PyDuplicates {
    #[new]
    #[pyo3(signature = (window, edges = 0, *, replaces = false))]
    fn new(window: i64, edges: u64, replaces: bool) -> Self {
        let mut inner = Duplicates::counting(window, edges);
        inner.replace(replaces);
        Self { inner }
    }

    #[getter]
    fn replaces(&self) -> bool {
        self.inner.replaces()
    }

    #[setter]
    fn set_replaces(&mut self, replaces: bool) {
        self.inner.replace(replaces);
    }

    fn filter(&mut self, py: Python<'_>, batch: Py<PyEdgeBatch>) -> PyResult<Py<PyEdgeBatch>> {
        let records: &Arc<_> = &batch.get().inner;
        let inner = &mut self.inner;
        match py.detach(|| inner.filter(records)) {
            None => Ok(batch),
            Some(kept) => Py::new(py, batch.get().with(kept)),
        }
    }

    #[getter]
    fn dropped(&self) -> u64 {
        self.inner.dropped()
    }

    #[getter]
    fn replaced(&self) -> u64 {
        self.inner.replaced()
    }
}

/// Looks at the times of a text alone.
#[pyclass(name = "OrderScan", module = "graphtide_native._native")]
struct PyOrderScan(OrderScan);

#[pymethods]
impl PyOrderScan {
    #[staticmethod]
    fn fields(delimiter: u8, before: usize, quote: Option<u8>, numbers: bool) -> Self {
        Self(OrderScan::fields(delimiter, before, quote, numbers))
    }

    #[staticmethod]
    fn json(name: &str, numbers: bool) -> Self {
        Self(OrderScan::json(name, numbers))
    }

    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> bool {
        py.detach(|| self.0.feed(block))
    }

    fn finish(&mut self) -> bool {
        self.0.finish()
    }
}

/// The last time of rows whose first column has times that are at least `newest` and ascend; none if that is not sure.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python hands it over")]
fn last_of_ascending(py: Python<'_>, rows: PyArrowType<RecordBatch>, newest: i64) -> Option<i64> {
    let mut last = newest;
    let is_ascending = py.detach(|| rows.0.columns().first().is_some_and(|column| ascends(column, &mut last)));
    is_ascending.then_some(last)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(last_of_ascending, m)?)?;
    m.add_class::<PySequencer>()?;
    m.add_class::<PyOrderScan>()?;
    m.add_class::<PyDuplicates>()
}
