//! The simulation family: match components by degree-preserving dual simulation with a timing order, in a window of a stream of
//! edges.
//!
//! A [`Simulation`] runs one query by one of three engines, which report the same. They differ in how they find out that an
//! arriving edge has no match. Labels, keys and predicates are the caller's: an edge arrives with the query edges that it fits
//! by itself. [`simulated::Simulated`] is one in a matcher, beside engines of other families.

mod baseline;
mod candidates;
mod changes;
mod coloring;
mod components;
mod distinct;
mod engine;
mod fixpoint;
pub mod found;
mod funnel;
mod incidence;
pub mod inquiry;
mod masters;
mod nearby;
mod numbered;
mod pattern;
mod probe;
mod query;
mod question;
mod schedule;
mod signature;
pub mod simulated;
mod simulation;
pub mod why_not;
mod window;
mod words;
mod work;

pub use found::Found;
pub use funnel::Funnel;
pub use probe::Probe;
pub use query::{Arrival, Limits, MOST_EDGES, Outcome, Query, QueryEdge, QueryError, Report, Variant};
pub use simulation::{ConsumptionCursor, Course, Simulation};
