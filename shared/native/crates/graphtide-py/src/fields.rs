//! What patterns return of their matches, as Python takes it: values, and lists of them.

use graphtide_engine::expression::Operand;
use graphtide_engine::output::{FieldRef, FieldsRef};
use graphtide_graph::key::IdRef;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

/// The values of a match.
pub(crate) fn to_python<'py>(py: Python<'py>, fields: FieldsRef<'_>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    fields.iter().map(|field| value(py, field)).collect()
}

fn value<'py>(py: Python<'py>, field: FieldRef<'_>) -> PyResult<Bound<'py, PyAny>> {
    match field {
        FieldRef::One(Operand::Null) => Ok(py.None().into_bound(py)),
        FieldRef::One(Operand::Bool(truth)) => truth.into_bound_py_any(py),
        FieldRef::One(Operand::Int(number)) => number.into_bound_py_any(py),
        FieldRef::One(Operand::Float(number)) => number.into_bound_py_any(py),
        FieldRef::One(Operand::Text(text)) => text.into_bound_py_any(py),
        FieldRef::One(Operand::Digits(number)) => number.to_string().into_bound_py_any(py),
        FieldRef::One(Operand::Made(number)) => IdRef::Made(number).to_string().into_bound_py_any(py),
        FieldRef::List(values) => to_python(py, values)?.into_bound_py_any(py),
    }
}
