//! The event-pattern family: sequences, conjunctions, alternatives and absences of events, thousands of patterns at once.
//!
//! One plan says which sub-patterns the patterns have in common; their instances are found and stored once for all of them.
//! Reference: paper 002, sections 2 and 5; what its appendices leave open is defined in `docs/reference/semantics.md`.

mod bound;
mod buffers;
mod compile;
mod count;
mod deferred;
mod deletion;
mod departures;
mod detection;
mod detector;
mod instances;
mod merging;
mod occurrences;
mod past;
mod pattern;
pub mod plan;
mod program;
mod returns;
mod search;
mod signatures;
mod tally;
mod timeouts;
mod verifier;
mod view;

pub use detection::{Detection, Options};
pub use detector::{Detector, Progress, Setup, Taken};
pub use occurrences::{Occurrence, Occurrences};
pub use signatures::SignatureId;
pub use view::Events;
