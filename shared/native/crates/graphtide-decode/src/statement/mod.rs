//! A STREAM statement as a program: it makes edges and events of the fields that it reads of a record.
//!
//! A format gives the values of the paths that the statement reads, each in its slot, in one pass and nothing else. What the
//! statement makes of them is the same for all formats.

pub(crate) mod around;
pub(crate) mod arrow;
mod attributes;
pub(crate) mod bytes;
pub(crate) mod csv;
pub(crate) mod decoding;
pub(crate) mod definition;
mod joined_columns;
mod joins;
pub(crate) mod json;
mod json_scan;
mod keys;
mod names;
pub(crate) mod nulls;
mod open;
pub(crate) mod paths;
mod program;
pub(crate) mod reading;
mod time;
pub(crate) mod tree;

pub use joins::Tables;
pub use open::{Source, open};

pub use crate::error::StatementError;
