//! The floor of all engines: what each of them counts, is handed and hands over, whatever its family.
//!
//! A family stands on this crate alone; the matcher stands on the families. So what is here knows no family. Of a pattern it
//! knows the graph, of a result its layout, of a plan the names of its nodes.

pub mod aggregate;
pub mod arrival;
pub mod computed;
pub mod dispatch;
pub mod engine;
pub mod expression;
pub mod ids;
pub mod limits;
pub mod lists;
pub mod meter;
pub mod nearest;
pub mod output;
pub mod pattern;
pub mod replay;
pub mod trace;
