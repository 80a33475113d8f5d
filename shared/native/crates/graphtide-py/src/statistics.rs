//! Statistics of a stream as Python sees them: figures as tuples, with names for labels.

use graphtide_graph::statistics::{DegreeMoments, Direction, Settings, Snapshot, Statistics, Window};
use graphtide_graph::symbol::{SharedSymbols, SymbolTable};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::records::{PyEdgeBatch, PySymbols};

/// Running statistics of a stream.
#[pyclass(name = "Statistics", module = "graphtide_native._native")]
pub(crate) struct PyStatistics {
    inner: Statistics,
    symbols: SharedSymbols,
}

/// Vertices above zero, sum, sum of squares, greatest.
type Moments = (u64, u64, u64, u64);

/// Labels of source, edge and target, class, count.
type TypeRow = (String, String, String, u32, u64);

/// For each of two edges the place of its type and whether it comes in; count.
type PathRow = (u32, bool, u32, bool, u64);

/// A time and a later one.
type Times = Option<(i64, i64)>;

/// Times of the first record and the newest, of the first live edge and the last, vertices, moments out and in, types, paths.
type SnapshotRow = (Times, Times, u64, Moments, Moments, Vec<TypeRow>, Option<Vec<PathRow>>);

#[pymethods]
impl PyStatistics {
    #[new]
    fn new(symbols: &PySymbols, window: Option<i64>, tumbling: bool, paths: bool, deletions: bool) -> Self {
        let window = match window {
            None => Window::Everything,
            Some(length) if tumbling => Window::Tumbling(length),
            Some(length) => Window::Sliding(length),
        };
        Self { inner: Statistics::new(Settings { window, paths, deletions }), symbols: symbols.inner.clone() }
    }

    /// Takes the first `most` records of a batch, and the class of each of the batch's; returns the windows that ended.
    fn push(
        &mut self,
        py: Python<'_>,
        batch: &PyEdgeBatch,
        classes: Option<Vec<u32>>,
        most: usize,
    ) -> PyResult<Vec<SnapshotRow>> {
        let records = &*batch.inner;
        let rows = 0..most.min(records.len());
        let inner = &mut self.inner;
        let mut closed = Vec::new();
        match classes {
            None => py.detach(|| inner.push_rows(records, rows, |_| 0, &mut closed)),
            Some(classes) if classes.len() == records.len() => {
                py.detach(|| inner.push_rows(records, rows, |row| classes[row], &mut closed));
            }
            Some(classes) => {
                let (given, wanted) = (classes.len(), records.len());
                return Err(PyValueError::new_err(format!("{given} classes for {wanted} records")));
            }
        }
        let symbols = self.symbols.lock();
        Ok(closed.iter().map(|snapshot| row(snapshot, &symbols)).collect())
    }

    fn snapshot(&self) -> SnapshotRow {
        row(&self.inner.snapshot(), &self.symbols.lock())
    }
}

fn row(snapshot: &Snapshot, symbols: &SymbolTable) -> SnapshotRow {
    let name = |symbol| symbols.name(symbol).to_owned();
    let kinds = snapshot.types.iter();
    let types = kinds
        .map(|(kind, count)| (name(kind.source_label), name(kind.label), name(kind.target_label), kind.class, *count))
        .collect();
    let paths = snapshot.paths.as_ref().map(|paths| {
        let rows = paths.iter().map(|path| {
            let [(one, one_way), (other, other_way)] = path.ends;
            (one, one_way == Direction::In, other, other_way == Direction::In, path.count)
        });
        rows.collect()
    });
    let (out_degrees, in_degrees) = (moments(snapshot.out_degrees), moments(snapshot.in_degrees));
    (snapshot.seen, snapshot.bounds, snapshot.vertices, out_degrees, in_degrees, types, paths)
}

fn moments(moments: DegreeMoments) -> Moments {
    (moments.vertices, moments.sum, moments.squares, moments.most)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyStatistics>()
}
