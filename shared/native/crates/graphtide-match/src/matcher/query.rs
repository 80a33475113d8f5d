//! A pattern of a unit: the names under which it reports matches, and what it has emitted.

use std::sync::Arc;

use graphtide_engine::output::{Kind, PatternNames};
use graphtide_graph::Time;

use super::deduplication::{Deduplication, OnePerKey};
use super::unit::Counts;
use super::unit_ref::UnitRef;

/// What a pattern has emitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// Matches reported.
    pub matches: u64,
    /// Extensions of matches that were reported.
    pub extensions: u64,
    /// Matches retracted.
    pub retractions: u64,
    /// Reported timeouts.
    pub timeouts: u64,
    /// Suppressed matches: one of their key was emitted.
    pub suppressed: u64,
}

impl Reports {
    /// Counts a record of a match.
    pub fn count(&mut self, kind: Kind) {
        self.count_all(kind, 1);
    }

    /// Counts so many records of matches.
    pub fn count_all(&mut self, kind: Kind, count: u64) {
        *match kind {
            Kind::Match => &mut self.matches,
            Kind::Extend => &mut self.extensions,
            Kind::Retract => &mut self.retractions,
            Kind::Timeout => &mut self.timeouts,
        } += count;
    }
}

/// A registered pattern.
#[derive(Debug)]
pub struct Query {
    /// Names for the output.
    pub names: Arc<PatternNames>,
    /// Who matches it; none if it was removed.
    pub unit: Option<UnitRef>,
    /// How many records satisfied the signature of each of its edges before it was added.
    pub hits_before: Vec<u64>,
    /// What its unit had counted before it was added; if it comes from another, less what that one counted for it.
    pub counts_before: Counts,
    /// What it has emitted.
    pub reports: Reports,
    /// Whether matches of it were missing where it comes from.
    pub shed: bool,
    /// What it does not emit; none if it emits all.
    pub deduplication: Option<Box<Deduplication>>,
}

impl Query {
    /// A number without a pattern.
    pub fn vacant() -> Self {
        Self {
            names: Arc::new(PatternNames::of_events("", 0, std::iter::empty(), &[])),
            unit: None,
            hits_before: Vec::new(),
            counts_before: Counts::default(),
            reports: Reports::default(),
            shed: false,
            deduplication: None,
        }
    }

    /// Whether no pattern has its number.
    pub fn is_vacant(&self) -> bool {
        self.unit.is_none()
    }

    /// What it reports once for each key, if it does.
    pub fn once_mut(&mut self) -> Option<&mut OnePerKey> {
        self.deduplication.as_mut().and_then(|deduplication| deduplication.once.as_mut())
    }

    /// Bytes for what it emitted once.
    pub fn emitted_bytes(&self) -> usize {
        self.deduplication.as_ref().and_then(|deduplication| deduplication.once.as_ref()).map_or(0, OnePerKey::bytes)
    }

    /// Returns whether a match is emitted under `ONE PER`; counts it as suppressed if not.
    pub fn notes(&mut self, kind: Kind, detected_at: Time, id: impl FnOnce(&Self) -> [u8; 32]) -> bool {
        let has_once = |deduplication: &Deduplication| deduplication.once.is_some();
        if !self.deduplication.as_deref().is_some_and(has_once) || !matches!(kind, Kind::Match | Kind::Retract) {
            return true;
        }
        let id = id(self);
        let Some(once) = self.once_mut() else { return true };
        if kind == Kind::Match {
            once.keep(detected_at, id);
            return true;
        }
        let was_emitted = once.take(&id);
        if !was_emitted {
            self.reports.retractions -= 1;
        }
        was_emitted
    }
}
