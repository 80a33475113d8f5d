//! What is wrong with an expression.

use thiserror::Error;

/// The form of an expression is not one that this version reads.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct ExpressionError {
    reason: String,
}

impl ExpressionError {
    /// With the reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
