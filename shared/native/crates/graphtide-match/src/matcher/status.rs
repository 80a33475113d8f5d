//! The status of a pattern of any family.

use std::sync::Arc;

use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::output::{ItemReport, PatternNames};
use graphtide_graph::Time;

use super::own_units::OwnUnits;
use super::query::{Query, Reports};
use super::subgraphs::Subgraphs;
use super::unit::{Counts, Unit};
use super::unit_ref::UnitRef;

/// The units of all families.
#[derive(Clone, Copy)]
pub struct AllUnits<'a> {
    /// Of subgraph patterns.
    pub subgraphs: &'a Subgraphs,
    /// With stores of their own.
    pub own: &'a OwnUnits,
}

/// What a pattern did, holds and held.
///
/// What patterns of a unit hold together counts for each; of bytes and work that they share each has a part.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its names.
    pub names: Arc<PatternNames>,
    /// For each query edge, how many records could be it by themselves; nothing where nobody counts that.
    pub hits: Vec<u64>,
    /// What was reported of it.
    pub reports: Reports,
    /// What its unit counted for it.
    pub counts: Counts,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Time of the record at which a limit was reached last.
    pub limited_at: Option<Time>,
    /// Whether a limit stopped it.
    pub paused: bool,
    /// What it holds and held.
    pub usage: Usage,
    /// The same by item of its plan.
    pub items: Vec<ItemReport>,
}

impl AllUnits<'_> {
    /// Whether matches of a pattern may be missing.
    pub fn has_shed(&self, query: &Query) -> bool {
        match query.unit {
            Some(UnitRef::Subgraph(unit)) => self.subgraphs.units[unit.place()].has_shed_of(query, &self.subgraphs.postings),
            Some(UnitRef::Events(unit)) => query.shed || self.own.events.get(unit).guard().shed,
            Some(UnitRef::Graph(unit)) => query.shed || self.own.graphs.get(unit).guard().shed,
            None => false,
        }
    }

    /// What is known of a pattern; none if it was removed.
    pub fn status(&self, number: PatternId, query: &Query) -> Option<Status> {
        Some(match query.unit? {
            UnitRef::Subgraph(unit) => {
                let Subgraphs { units, hits, postings, .. } = self.subgraphs;
                let unit = &units[unit.place()];
                let mut status = Status::of(number, query, unit);
                status.hits = unit.hits_of(query, hits).collect();
                status.usage.bytes = unit.bytes(postings) + query.emitted_bytes();
                status
            }
            UnitRef::Events(unit) => Status::of(number, query, self.own.events.get(unit)),
            UnitRef::Graph(unit) => Status::of(number, query, self.own.graphs.get(unit)),
        })
    }
}

impl Status {
    fn of(number: PatternId, query: &Query, unit: &impl Unit) -> Self {
        let (guard, usage) = (unit.guard(), unit.usage_of(number));
        Self {
            names: Arc::clone(&query.names),
            hits: Vec::new(),
            reports: query.reports,
            counts: unit.counts_since(query.counts_before),
            limit: guard.limit.clone(),
            limited_at: guard.limited_at,
            paused: guard.paused,
            usage: Usage { bytes: usage.bytes + query.emitted_bytes(), ..usage },
            items: unit.items_of(number),
        }
    }
}
