//! Records, labels, vertices and the windowed store of edges that every engine shares.
//!
//! Nothing here knows of patterns, and nothing of Python.

pub mod batch;
pub mod key;
pub mod symbol;
pub mod value;

/// An instant of event time, in ticks of the stream's unit.
pub type Time = i64;
