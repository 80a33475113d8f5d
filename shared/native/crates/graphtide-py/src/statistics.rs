//! Statistics of a stream as Python sees them: counts as tuples, with names for labels.

use graphtide_graph::statistics::{DegreeMoments, Direction, PathCount, Settings, Snapshot, Statistics, Window};
use graphtide_graph::symbol::SharedSymbols;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

/// Paths as native integers of 64 bits, ascending by key: keys, the lesser number of two ends above the greater, and counts. An
/// end is numbered by the place of its type, doubled, plus 1 where the edge comes in.
type Paths<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A time and a later one.
type Times = Option<(i64, i64)>;

/// Times of the first record and the newest, of the first live edge and the last, vertices, moments out and in, types, paths.
type SnapshotRow<'py> = (Times, Times, u64, Moments, Moments, Vec<TypeRow>, Option<Paths<'py>>);

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
    fn push<'py>(
        &mut self,
        py: Python<'py>,
        batch: &PyEdgeBatch,
        classes: Option<Vec<u32>>,
        most: usize,
    ) -> PyResult<Vec<SnapshotRow<'py>>> {
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
        Ok(closed.iter().map(|snapshot| row(py, snapshot, &self.symbols)).collect())
    }

    fn snapshot<'py>(&self, py: Python<'py>) -> SnapshotRow<'py> {
        row(py, &self.inner.snapshot(), &self.symbols)
    }
}

fn row<'py>(py: Python<'py>, snapshot: &Snapshot, symbols: &SharedSymbols) -> SnapshotRow<'py> {
    let types = {
        let symbols = symbols.lock();
        let name = |symbol| symbols.name(symbol).to_owned();
        let kinds = snapshot.types.iter();
        kinds
            .map(|(kind, count)| (name(kind.source_label), name(kind.label), name(kind.target_label), kind.class, *count))
            .collect()
    };
    let paths = snapshot.paths.as_ref().map(|paths| packed(py, paths));
    let (out_degrees, in_degrees) = (moments(snapshot.out_degrees), moments(snapshot.in_degrees));
    (snapshot.seen, snapshot.bounds, snapshot.vertices, out_degrees, in_degrees, types, paths)
}

fn packed<'py>(py: Python<'py>, paths: &[PathCount]) -> Paths<'py> {
    let end = |(place, way): (u32, Direction)| u64::from(place) << 1 | u64::from(way == Direction::In);
    let rows = paths.iter().map(|path| {
        let [one, other] = path.ends.map(end);
        (one.min(other) << 32 | one.max(other), path.count)
    });
    let mut rows: Vec<(u64, u64)> = rows.collect();
    // They come in the order of the types' codes, which that of their places need not be.
    rows.sort_unstable();
    let bytes =
        |numbers: &mut dyn Iterator<Item = u64>| PyBytes::new(py, &numbers.flat_map(u64::to_ne_bytes).collect::<Vec<_>>());
    (bytes(&mut rows.iter().map(|row| row.0)), bytes(&mut rows.iter().map(|row| row.1)))
}

fn moments(moments: DegreeMoments) -> Moments {
    (moments.vertices, moments.sum, moments.squares, moments.most)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyStatistics>()
}
