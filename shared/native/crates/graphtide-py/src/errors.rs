//! Rust's errors as Python's: every variant is named here, so that a new one does not compile until someone says what it is.

use graphtide_decode::DecodeError;
use pyo3::PyErr;

pyo3::import_exception!(graphtide_core.errors, TransientError);
pyo3::import_exception!(graphtide_core.errors, UnreadableStreamError);

/// What Python raises for an error of a decoder.
pub(crate) fn from_decode(error: &DecodeError) -> PyErr {
    match error {
        DecodeError::Unavailable { .. } => TransientError::new_err(error.to_string()),
        DecodeError::NotThisFormat { .. }
        | DecodeError::NoHeader
        | DecodeError::MissingColumn { .. }
        | DecodeError::RepeatedColumn { .. }
        | DecodeError::ColumnType { .. }
        | DecodeError::NotDeclared { .. }
        | DecodeError::UnknownColumn { .. }
        | DecodeError::SharedColumn { .. }
        | DecodeError::Delimiter { .. }
        | DecodeError::TicksPerSecond { .. }
        | DecodeError::Arrow { .. }
        | DecodeError::TimeFormat { .. }
        | DecodeError::Zone
        | DecodeError::Statement(_) => UnreadableStreamError::new_err(error.to_string()),
    }
}
