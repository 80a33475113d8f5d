//! Reference tables as Python sees them: rows come in batches, and a table is replaced as a whole.

use graphtide_decode::tables::{SharedTable, TableBuilder, TableLimits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::UnreadableStreamError;
use crate::records::PyEdgeBatch;

/// A table that decoders look rows up in.
#[pyclass(frozen, name = "LookupTable", module = "graphtide_native._native")]
pub(crate) struct PyLookupTable {
    pub(crate) inner: SharedTable,
}

/// Rows on their way into a table.
#[pyclass(name = "TableBuilder", module = "graphtide_native._native")]
pub(crate) struct PyTableBuilder {
    /// None once it was given away.
    inner: Option<TableBuilder>,
    width: usize,
}

#[pymethods]
impl PyLookupTable {
    #[new]
    fn new(columns: Vec<String>) -> Self {
        Self { inner: SharedTable::new(columns) }
    }

    fn replace(&self, py: Python<'_>, rows: &mut PyTableBuilder) -> PyResult<()> {
        if rows.width != self.inner.columns().len() {
            return Err(PyValueError::new_err("the rows have other columns than the table"));
        }
        let builder = rows.inner.take().ok_or_else(spent)?;
        py.detach(|| self.inner.replace(builder.finish()));
        Ok(())
    }

    #[getter]
    fn rows(&self) -> usize {
        self.inner.current().len()
    }

    #[getter]
    fn bytes(&self) -> usize {
        self.inner.current().bytes()
    }
}

#[pymethods]
impl PyTableBuilder {
    #[new]
    fn new(columns: usize, has_times: bool, most_rows: usize, most_bytes: usize) -> Self {
        let limits = TableLimits { rows: most_rows, bytes: most_bytes };
        Self { inner: Some(TableBuilder::new(columns, has_times, limits)), width: columns }
    }

    fn add(&mut self, py: Python<'_>, rows: &PyEdgeBatch) -> PyResult<()> {
        let builder = self.inner.as_mut().ok_or_else(spent)?;
        py.detach(|| builder.add(&rows.inner)).map_err(|error| UnreadableStreamError::new_err(error.to_string()))
    }
}

fn spent() -> PyErr {
    PyValueError::new_err("the rows are in a table")
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyLookupTable>()?;
    m.add_class::<PyTableBuilder>()
}
