//! A STREAM statement as a program: it makes edges and events of the fields that it reads of a record.

pub(crate) mod expression;
mod functions;
pub(crate) mod paths;
pub(crate) mod regex;
pub(crate) mod value_text;

use thiserror::Error;

/// The form of a statement is not one that this version reads.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct StatementError {
    reason: String,
}

impl StatementError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
