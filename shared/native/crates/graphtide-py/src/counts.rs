//! Numbers of matches as integers of Python, which have any size.

use graphtide_engine::output::MatchCount;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

/// A number of matches on its way to Python.
pub(crate) struct PyCount(pub(crate) MatchCount);

impl<'py> IntoPyObject<'py> for PyCount {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        match &self.0 {
            MatchCount::Small(number) => Ok(number.into_pyobject(py)?.into_any()),
            large @ MatchCount::Large(_) => {
                let bytes = PyBytes::new(py, &large.to_le_bytes());
                py.get_type::<PyInt>().call_method1("from_bytes", (bytes, "little"))
            }
        }
    }
}
