//! Columns of Arrow as lists of Python: an object a value, and one for each word of a dictionary.
//!
//! Cost: some tens of nanoseconds a value; pyarrow makes an object of its own of each first.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_pyarrow::PyArrowType;
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

/// The values of each column, times as ticks; None for a column of another type than those of matches.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives what is owned")]
fn python_lists(py: Python<'_>, rows: PyArrowType<RecordBatch>) -> PyResult<Vec<Option<Bound<'_, PyList>>>> {
    rows.0.columns().iter().map(|column| list(py, column)).collect()
}

fn list<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Option<Bound<'py, PyList>>> {
    Ok(Some(match column.data_type() {
        DataType::Null => PyList::new(py, (0..column.len()).map(|_| py.None()))?,
        DataType::Boolean => PyList::new(py, column.as_boolean().iter())?,
        DataType::Int32 => numbers::<Int32Type>(py, column)?,
        DataType::Int64 => numbers::<Int64Type>(py, column)?,
        DataType::UInt64 => numbers::<UInt64Type>(py, column)?,
        DataType::Float64 => numbers::<Float64Type>(py, column)?,
        DataType::Timestamp(TimeUnit::Second, _) => numbers::<TimestampSecondType>(py, column)?,
        DataType::Timestamp(TimeUnit::Millisecond, _) => numbers::<TimestampMillisecondType>(py, column)?,
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(py, column)?,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => numbers::<TimestampNanosecondType>(py, column)?,
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>().iter())?,
        DataType::Dictionary(_, words) if **words == DataType::Utf8 => words_of(py, column)?,
        DataType::List(of) if *of.data_type() == DataType::Utf8 => texts(py, column)?,
        _ => return Ok(None),
    }))
}

fn numbers<'py, T>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>>
where
    T: ArrowPrimitiveType,
    T::Native: IntoPyObject<'py>,
{
    PyList::new(py, column.as_primitive::<T>().iter())
}

fn words_of<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let dictionary = column.as_any_dictionary();
    let words: Vec<Option<Bound<'py, PyString>>> =
        dictionary.values().as_string::<i32>().iter().map(|word| word.map(|word| PyString::new(py, word))).collect();
    let codes = if words.is_empty() { vec![0; column.len()] } else { dictionary.normalized_keys() };
    let word = |(row, code): (usize, usize)| if column.is_valid(row) { words.get(code).cloned().flatten() } else { None };
    PyList::new(py, codes.into_iter().enumerate().map(word))
}

fn texts<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    let lists = column.as_list::<i32>().iter();
    let made = lists.map(|list| list.map(|list| PyList::new(py, list.as_string::<i32>().iter())).transpose());
    PyList::new(py, made.collect::<PyResult<Vec<_>>>()?)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(python_lists, m)?)
}
