//! Labels and batches as Python sees them: handles that travel between decoder, sequencer and matcher.
//!
//! Invariant: a batch never changes once Python holds it, so it is shared without a lock and read without the GIL.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use graphtide_decode::{arrow_writer, raw_batch};
use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch, Operation, block};
use graphtide_graph::merge::{Head, merge};
use graphtide_graph::part::{self, PartKey};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::value::ValueRef;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// A table of labels that a decoder and a matcher share.
#[pyclass(frozen, name = "Symbols", module = "graphtide_native._native")]
#[derive(Default)]
pub(crate) struct PySymbols {
    pub(crate) inner: SharedSymbols,
}

#[pymethods]
impl PySymbols {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.inner.lock().len()
    }

    fn learn(&self, name: &str) {
        self.inner.lock().intern(name);
    }
}

/// What is at hand of a stream: records, the first that was not merged, the time from which on they stay, the stream's name.
type PyHead<'py> = (PyRef<'py, PyEdgeBatch>, usize, Option<Time>, String);

/// A batch of records, with what it takes to print them.
#[pyclass(frozen, name = "EdgeBatch", module = "graphtide_native._native")]
pub(crate) struct PyEdgeBatch {
    pub(crate) inner: Arc<EdgeBatch>,
    pub(crate) symbols: SharedSymbols,
    pub(crate) attributes: Arc<[String]>,
}

impl PyEdgeBatch {
    /// A batch of the same stream with other records.
    pub(crate) fn with(&self, records: EdgeBatch) -> Self {
        Self { inner: Arc::new(records), symbols: self.symbols.clone(), attributes: Arc::clone(&self.attributes) }
    }

    /// The records with columns that are the first of these, or all of them where they are not that already.
    fn as_in(&self, attributes: &[String]) -> Arc<EdgeBatch> {
        if attributes.starts_with(&self.attributes) {
            return Arc::clone(&self.inner);
        }
        Arc::new(self.inner.laid_out(&self.columns(attributes)))
    }

    /// Where the batch has each of these attributes, if it does.
    pub(crate) fn columns(&self, attributes: &[String]) -> Vec<Option<usize>> {
        let own: HashMap<&str, usize> = self.attributes.iter().map(String::as_str).zip(0..).collect();
        attributes.iter().map(|name| own.get(name.as_str()).copied()).collect()
    }
}

/// The attributes of all batches, each once.
fn all_of(heads: &[PyHead<'_>]) -> Arc<[String]> {
    let mut seen = HashSet::new();
    let names = heads.iter().flat_map(|(batch, ..)| batch.attributes.iter());
    names.filter(|name| seen.insert(name.as_str())).cloned().collect()
}

#[pymethods]
impl PyEdgeBatch {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    #[getter]
    fn held_bytes(&self) -> usize {
        self.inner.bytes()
    }

    #[getter]
    fn attributes(&self) -> Vec<String> {
        self.attributes.to_vec()
    }

    #[getter]
    fn ts(&self) -> Vec<i64> {
        self.inner.ts().to_vec()
    }

    #[getter]
    fn last_ts(&self) -> Option<i64> {
        self.inner.ts().last().copied()
    }

    #[getter]
    fn edges(&self) -> u64 {
        self.inner.edges(0..self.inner.len())
    }

    #[getter]
    fn ordinals(&self) -> Vec<u64> {
        (0..self.inner.len()).map(|row| self.inner.ordinal(row)).collect()
    }

    fn is_ordered_from(&self, ts: i64) -> bool {
        self.inner.ts().first().is_none_or(|&first| first >= ts) && self.inner.ts().is_sorted()
    }

    fn later_than(slf: PyRef<'_, Self>, py: Python<'_>, ts: i64) -> PyResult<Py<Self>> {
        let inner = &slf.inner;
        if inner.ts().iter().all(|&each| each > ts) {
            return Ok(slf.into());
        }
        let kept = py.detach(|| inner.at((0..inner.len()).filter(|&index| inner.ts()[index] > ts)));
        Py::new(py, slf.with(kept))
    }

    fn part(&self, py: Python<'_>, start: usize, stop: usize) -> Self {
        let inner = &self.inner;
        self.with(py.detach(|| inner.at(start..stop.min(inner.len()))))
    }

    fn raw_text<'py>(&self, py: Python<'py>, first: u64) -> Bound<'py, PyBytes> {
        let inner = &self.inner;
        PyBytes::new(py, &py.detach(|| inner.raw_text(first)))
    }

    fn followed_by(&self, py: Python<'_>, others: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        if others.iter().any(|other| other.inner.width() != self.inner.width()) {
            return Err(PyValueError::new_err("the batches have other attributes"));
        }
        let others: Vec<_> = others.into_iter().map(|other| Arc::clone(&other.inner)).collect();
        Ok(self.with(py.detach(|| {
            let mut joined = EdgeBatch::clone(&self.inner);
            for other in others {
                (0..other.len()).for_each(|row| joined.push_from(&other, row));
            }
            joined
        })))
    }

    /// The records of these places of batches, one after another; each is copied once.
    #[staticmethod]
    fn joined(py: Python<'_>, parts: Vec<(PyRef<'_, Self>, usize, usize)>) -> PyResult<Self> {
        let Some((first, ..)) = parts.first() else {
            return Err(PyValueError::new_err("no batch is there to be joined"));
        };
        if parts.iter().any(|(batch, ..)| batch.inner.width() != first.inner.width()) {
            return Err(PyValueError::new_err("the batches have other attributes"));
        }
        let like = first.with(EdgeBatch::new(first.inner.width()));
        let parts: Vec<_> = parts.into_iter().map(|(batch, start, stop)| (Arc::clone(&batch.inner), start, stop)).collect();
        Ok(like.with(py.detach(|| {
            let mut joined = EdgeBatch::new(like.inner.width());
            for (batch, start, stop) in parts {
                (start..stop.min(batch.len())).for_each(|row| joined.push_from(&batch, row));
            }
            joined
        })))
    }

    #[staticmethod]
    fn merged(py: Python<'_>, heads: Vec<PyHead<'_>>) -> PyResult<(Self, Vec<usize>)> {
        let Some((widest, ..)) = heads.iter().max_by_key(|(batch, ..)| batch.attributes.len()) else {
            return Err(PyValueError::new_err("no stream is there to be merged"));
        };
        let mut widest = widest.with(EdgeBatch::default());
        if heads.iter().any(|(batch, ..)| !widest.attributes.starts_with(&batch.attributes)) {
            widest.attributes = all_of(&heads);
        }
        let at_hand = |(batch, start, before, name): PyHead<'_>| (batch.as_in(&widest.attributes), start, before, name);
        let streams: Vec<_> = heads.into_iter().map(at_hand).collect();
        let (symbols, width) = (widest.symbols.clone(), widest.attributes.len());
        let (merged, places) = py.detach(|| {
            let of = |name: &str| symbols.lock().intern(name);
            let heads: Vec<_> = streams
                .iter()
                .map(|&(ref batch, start, before, ref name)| Head { batch, start, before, stream: of(name) })
                .collect();
            merge(&heads, width)
        });
        Ok((widest.with(merged), places))
    }

    fn numbered(&self, py: Python<'_>, first: u64) -> Self {
        let inner = &self.inner;
        let mut number = first;
        let numbered = |row: usize| {
            let own = number;
            number += u64::from(inner.is_edge(row));
            (row, own)
        };
        self.with(py.detach(|| inner.renumbered((0..inner.len()).map(numbered))))
    }

    fn placed(&self, py: Python<'_>, first: u64) -> Self {
        let inner = &self.inner;
        self.with(py.detach(|| inner.renumbered((0..inner.len()).zip(first..))))
    }

    fn as_one_stream(&self, py: Python<'_>, first: u64) -> (Self, u64) {
        let (one, next) = py.detach(|| self.inner.as_one_stream(first));
        (self.with(one), next)
    }

    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let written = py.detach(|| arrow_writer::write(&self.inner, &self.symbols.lock(), &self.attributes));
        written.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    #[getter]
    fn raw_bytes(&self) -> usize {
        self.inner.raw_bytes()
    }

    #[getter]
    fn next_line(&self) -> Option<u64> {
        self.inner.next_line()
    }

    fn to_raw_batch<'py>(&self, py: Python<'py>, line: u64, ordinal: u64, ordinals: u64) -> PyResult<Bound<'py, PyBytes>> {
        let part = raw_batch::Part { line, ordinal, ordinals };
        let written = py.detach(|| raw_batch::write(&self.inner, &self.symbols.lock(), &self.attributes, part));
        written.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn divide(&self, py: Python<'_>, key: Option<&str>, parts: u32) -> Vec<Self> {
        let key = PartKey::named(key, &self.attributes);
        let inner = &self.inner;
        let divided = py.detach(|| {
            let places = part::divide(inner, &self.symbols.lock(), key, parts);
            places.into_iter().map(|places| inner.at(places)).collect::<Vec<_>>()
        });
        divided.into_iter().map(|records| self.with(records)).collect()
    }

    fn narrowed(&self, py: Python<'_>, labels: Option<Vec<String>>, attributes: Vec<String>) -> Self {
        let wanted: Option<Vec<_>> =
            labels.map(|labels| labels.iter().map(|label| self.symbols.lock().intern(label)).collect());
        let place = |name| self.attributes.iter().position(|own| *own == name);
        let columns: Vec<usize> = attributes.into_iter().filter_map(place).collect();
        let attributes = columns.iter().map(|&column| self.attributes[column].clone()).collect();
        let kept = py.detach(|| self.inner.narrowed(wanted.as_deref(), &columns));
        Self { inner: Arc::new(kept), symbols: self.symbols.clone(), attributes }
    }

    #[pyo3(signature = (attributes = Vec::new()))]
    fn bare(&self, py: Python<'_>, attributes: Vec<String>) -> Self {
        let columns = self.columns(&attributes);
        let bare = py.detach(|| self.inner.bare(&columns));
        Self { inner: Arc::new(bare), symbols: self.symbols.clone(), attributes: attributes.into() }
    }

    fn pack<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| block::pack(&self.inner, &self.symbols.lock(), &self.attributes)))
    }

    #[staticmethod]
    fn unpack(py: Python<'_>, block: &[u8], symbols: &PySymbols, attributes: Vec<String>, first: u64) -> PyResult<Self> {
        let read = py.detach(|| block::unpack(block, &mut symbols.inner.lock(), &attributes, first));
        let inner = Arc::new(read.map_err(|error| PyValueError::new_err(error.to_string()))?);
        Ok(Self { inner, symbols: symbols.inner.clone(), attributes: attributes.into() })
    }

    fn labels_among(&self, py: Python<'_>, edges: Vec<String>, vertices: Vec<String>) -> (u64, Vec<String>, Vec<String>) {
        let (numbers, symbols) = {
            let mut symbols = self.symbols.lock();
            ([&edges, &vertices].map(|names| names.iter().map(|name| symbols.intern(name)).collect::<Vec<_>>()), symbols.len())
        };
        let (records, used) = py.detach(|| self.inner.labels_used(symbols));
        let [edges, vertices] = [(edges, 0), (vertices, 1)].map(|(names, place): (Vec<String>, usize)| {
            let found = names.into_iter().zip(&numbers[place]).filter(|(_, symbol)| used[place][symbol.0 as usize]);
            found.map(|(name, _)| name).collect()
        });
        (records, edges, vertices)
    }

    fn values_among(&self, py: Python<'_>, attributes: Vec<String>) -> Vec<(String, bool)> {
        let columns = self.columns(&attributes);
        let found: Vec<_> = py.detach(|| {
            let found = columns.into_iter().map(|column| column.and_then(|column| self.inner.values_in(column)));
            found.collect()
        });
        attributes.into_iter().zip(found).filter_map(|(name, numbers)| numbers.map(|numbers| (name, numbers))).collect()
    }

    fn to_records<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        (0..self.inner.len()).map(|row| self.record(py, row)).collect()
    }
}

impl PyEdgeBatch {
    fn names<const N: usize>(&self, wanted: [Symbol; N]) -> [String; N] {
        let symbols = self.symbols.lock();
        wanted.map(|symbol| symbols.name(symbol).to_owned())
    }

    fn record<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyDict>> {
        let row = self.inner.row(index);
        let record = PyDict::new(py);
        record.set_item("ordinal", row.ordinal)?;
        record.set_item("line", row.line)?;
        record.set_item("ts", row.ts)?;
        let operation = match row.operation {
            Operation::Insert => "insert",
            Operation::Delete => "delete",
        };
        record.set_item("op", operation)?;
        for (name, key) in [("src", row.source), ("dst", row.target)] {
            record.set_item(name, key.to_string())?;
        }
        record.set_item("id", row.id.to_string())?;
        record.set_item("made", row.id.is_made())?;
        let labels = self.names([row.label, row.source_label, row.target_label]);
        for (name, label) in ["label", "src_label", "dst_label"].into_iter().zip(labels) {
            record.set_item(name, label)?;
        }
        if row.stream != Symbol::ABSENT {
            let [stream] = self.names([row.stream]);
            record.set_item("stream", stream)?;
        }
        let attributes = PyDict::new(py);
        for (name, value) in self.attributes.iter().zip(self.inner.attributes(index)) {
            match value {
                ValueRef::Null => attributes.set_item(name, py.None())?,
                ValueRef::Bool(truth) => attributes.set_item(name, truth)?,
                ValueRef::Int(number) => attributes.set_item(name, number)?,
                ValueRef::Float(number) => attributes.set_item(name, number)?,
                ValueRef::Text(text) => attributes.set_item(name, text)?,
            }
        }
        record.set_item("attributes", attributes)?;
        record.set_item("raw", PyBytes::new(py, row.raw))?;
        Ok(record)
    }
}

/// A dead letter as Python takes it: line, reason, bytes.
pub(crate) type PyDeadLetter<'py> = (u64, String, Bound<'py, PyBytes>);

/// Hands dead letters over, leaving none.
pub(crate) fn take_letters<'py>(py: Python<'py>, letters: &mut Vec<DeadLetter>) -> Vec<PyDeadLetter<'py>> {
    letters.drain(..).map(|letter| (letter.line, letter.reason, PyBytes::new(py, &letter.raw))).collect()
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PySymbols>()?;
    m.add_class::<PyEdgeBatch>()
}
