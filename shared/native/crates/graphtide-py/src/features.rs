//! Features and emissions as Python sees them.

use std::sync::Arc;

use graphtide_features::{Features, Layout};
use graphtide_graph::symbol::SharedSymbols;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::records::PyEdgeBatch;

/// Gives records the values of features, and what emissions make of windows.
#[pyclass(name = "Features", module = "graphtide_native._native")]
struct PyFeatures {
    inner: Features,
    /// The attributes that emissions keep; none keeps all.
    kept: Option<Vec<String>>,
    known: Option<Known>,
}

/// What is known of the last batch.
struct Known {
    layout: Layout,
    attributes: Arc<[String]>,
    symbols: SharedSymbols,
}

#[pymethods]
impl PyFeatures {
    #[new]
    fn new(spec: &str, kept: Option<Vec<String>>) -> PyResult<Self> {
        let inner = Features::new(spec).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner, kept, known: None })
    }

    fn add_to(&mut self, py: Python<'_>, batch: &PyEdgeBatch) -> PyEdgeBatch {
        let inner = &mut self.inner;
        let mut known = self.known.take().filter(|known| known.layout.is_for(&batch.attributes)).unwrap_or_else(|| {
            let layout = inner.lay_out(&batch.attributes, self.kept.as_deref());
            let attributes = layout.after.as_slice().into();
            Known { layout, attributes, symbols: batch.symbols.clone() }
        });
        known.symbols = batch.symbols.clone();
        let added = py.detach(|| inner.add_to(&batch.inner, &mut batch.symbols.lock(), &known.layout));
        let known = self.known.insert(known);
        known.as_batch(added)
    }

    fn advance(&mut self, py: Python<'_>, time: i64) -> Option<PyEdgeBatch> {
        let known = self.known.as_ref().filter(|_| self.inner.is_due(time))?;
        let inner = &mut self.inner;
        let given = py.detach(|| inner.advance(time, &mut known.symbols.lock(), &known.layout));
        (!given.is_empty()).then(|| known.as_batch(given))
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    #[getter]
    fn shed(&self) -> u64 {
        self.inner.shed()
    }

    #[getter]
    fn uncounted(&self) -> u64 {
        self.inner.uncounted()
    }

    #[getter]
    fn held(&self) -> usize {
        self.inner.held()
    }
}

impl Known {
    fn as_batch(&self, inner: graphtide_graph::batch::EdgeBatch) -> PyEdgeBatch {
        PyEdgeBatch { inner: Arc::new(inner), symbols: self.symbols.clone(), attributes: Arc::clone(&self.attributes) }
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyFeatures>()
}
