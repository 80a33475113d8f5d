//! Records, labels, vertices and the windowed store of edges that every engine shares.
//!
//! Nothing here knows of patterns, and nothing of Python.

pub mod batch;
pub mod clock;
pub mod digits;
pub mod duplicates;
pub mod key;
pub mod logic;
pub mod merge;
pub mod part;
pub mod sequencer;
pub mod statistics;
pub mod store;
pub mod symbol;
mod text_queue;
pub mod value;
pub mod vertex;

/// An instant of event time, in ticks of the stream's unit.
pub type Time = i64;
