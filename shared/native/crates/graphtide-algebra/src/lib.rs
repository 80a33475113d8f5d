//! The algebra family: streaming graph queries over windows, by operators that keep validity intervals [PACACI22].
//!
//! A [plan](plan) is a list of operators, each after its operands: edges of a window ([`scan`]), unions, joins ([`join`]) and
//! regular paths ([`path`]). An operator keeps its tuples in a [`relation`](relation), with the instant at which each ends.
//! Queries that have operators in common share them ([`sharing`]). [`Queries`] take records in the order of the stream, let
//! each pass through the operators, and emit the [`answers`].
//!
//! Invariant: at the instant of the last record, some tuples of an operator end later. They are those that the one-time query
//! gives on the edges valid then. Each ends when the last of its derivations does. All derivations that are alive are valid
//! now, so their union is one interval. Its end is all that has to be kept of it.

pub mod answers;
pub mod end_width;
pub mod grid;
pub mod join;
pub mod operator;
pub mod path;
pub mod plan;
pub mod queries;
pub mod relation;
pub mod scan;
pub mod sharing;
mod upkeep;
mod wheel;

pub use answers::Answer;
pub use plan::{InvalidPlan, PlanSpec};
pub use queries::{Lent, Options, Queries, Taken};
pub use sharing::linked;
