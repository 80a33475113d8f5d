//! Features as Python sees them.

use std::collections::HashMap;
use std::sync::Arc;

use graphtide_features::Features;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::records::PyEdgeBatch;

/// Gives records the values of features.
#[pyclass(name = "Features", module = "graphtide_native._native")]
struct PyFeatures {
    inner: Features,
    /// The layout of the last batch, and what was made of it.
    known: Option<Layout>,
}

/// Attributes of batches, before and after.
struct Layout {
    before: Arc<[String]>,
    after: Arc<[String]>,
    columns: Vec<Option<usize>>,
    places: Vec<usize>,
}

impl Layout {
    fn of(features: &Features, batch: &PyEdgeBatch) -> Self {
        let width = batch.attributes.len();
        let places: HashMap<&str, usize> = features.names().iter().map(String::as_str).zip(width..).collect();
        let missing = features.names().iter().filter(|name| !batch.attributes.contains(name));
        let after: Arc<[String]> = batch.attributes.iter().chain(missing).cloned().collect();
        let place = |(column, name): (usize, &String)| places.get(name.as_str()).copied().unwrap_or(column);
        let places = after.iter().enumerate().map(place).collect();
        Self { before: Arc::clone(&batch.attributes), after, columns: batch.columns(features.inputs()), places }
    }
}

#[pymethods]
impl PyFeatures {
    #[new]
    fn new(spec: &str) -> PyResult<Self> {
        let inner = Features::new(spec).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner, known: None })
    }

    fn add_to(&mut self, py: Python<'_>, batch: &PyEdgeBatch) -> PyEdgeBatch {
        if self.known.as_ref().is_none_or(|known| known.before != batch.attributes) {
            self.known = None;
        }
        let inner = &mut self.inner;
        let layout = self.known.get_or_insert_with(|| Layout::of(inner, batch));
        let added = py.detach(|| inner.add_to(&batch.inner, &batch.symbols.lock(), &layout.columns, &layout.places));
        PyEdgeBatch { inner: Arc::new(added), symbols: batch.symbols.clone(), attributes: Arc::clone(&layout.after) }
    }

    fn clear(&mut self) {
        self.inner.clear();
    }

    #[getter]
    fn shed(&self) -> u64 {
        self.inner.shed()
    }

    #[getter]
    fn held(&self) -> usize {
        self.inner.held()
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyFeatures>()
}
