//! Fields that a file has by its name, as Python adds them to its text.

use graphtide_decode::AddedFields;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Adds fields to the records of a text that comes in blocks.
#[pyclass(name = "AddedFields", module = "graphtide_native._native")]
struct PyAddedFields(AddedFields);

#[pymethods]
impl PyAddedFields {
    #[staticmethod]
    fn csv(delimiter: &str, quote: Option<char>, comment: &str, names: Vec<(String, String)>) -> Self {
        Self(AddedFields::csv(delimiter, quote, comment, names))
    }

    #[staticmethod]
    fn json(members: &str) -> Self {
        Self(AddedFields::json(members))
    }

    fn feed<'py>(&mut self, py: Python<'py>, block: &[u8]) -> Bound<'py, PyBytes> {
        let added = py.detach(|| self.0.feed(block));
        PyBytes::new(py, &added)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.finish())
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyAddedFields>()
}
