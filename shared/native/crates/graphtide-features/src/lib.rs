//! Features: functions over sliding windows of a stream, one value a record, which becomes an attribute of it.
//!
//! [`Features`] takes ordered batches without duplicates and gives the same records with more attributes. What the values are,
//! `graphtide_core.stream_features` says. Between the records it gives what emissions make of windows of time, as
//! `graphtide_core.stream_emissions` says.
//!
//! Features with equal keys and conditions are a [`group`](group::Group). It has one log of records, in the order of the
//! stream, and an accumulator for each key and function. A record enters the log once. It leaves an accumulator when its window
//! passes, by a cursor into the log. So the work for a record does not depend on the length of windows or the number of keys.
//! All arithmetic is exact, so what leaves takes back just what it brought, and a value follows from the window alone. A
//! process that starts again and reads one window has the same values.

mod accumulator;
mod different;
mod emission;
mod exact_sum;
mod group;
mod held;
mod key;
mod number;
mod record;
mod sketch;
mod spec;
mod stage;

pub use spec::SpecError;
pub use stage::{Features, Layout};
