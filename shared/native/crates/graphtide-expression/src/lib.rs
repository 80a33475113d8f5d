//! Expressions of the language over values: constants, the operators of `graphtide_graph::logic`, and functions.
//!
//! STREAM statements evaluate them over the fields of a record, patterns over what they read of edges and events. So a function
//! has one implementation, and means the same in both.

mod among;
mod error;
pub mod expression;
mod functions;
pub mod regex;
pub mod times;
pub mod value_text;

pub use error::ExpressionError;
pub use expression::{Context, Expression, Slots};
pub use functions::LONGEST_TEXT;
