//! Counts the matches that an event completes, for patterns that report counts alone.

use graphtide_engine::output::{Kind, MatchCount};
use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::bound::Stored;
use crate::occurrences::{Header, Occurrences};
use crate::pattern::Pattern;
use crate::view::Events;

/// What was counted of one pattern.
#[derive(Debug)]
struct Tally {
    pattern: u32,
    branch: u32,
    count: MatchCount,
    witness: Stored,
}

/// A count that was reported.
#[derive(Clone, Debug)]
pub(crate) struct Emitted {
    pub(crate) ts: Time,
    pub(crate) branch: u32,
    pub(crate) count: MatchCount,
    pub(crate) witness: Stored,
}

/// Counts of the current record, and reported counts that may be retracted.
#[derive(Debug)]
pub(crate) struct Tallies {
    current: Vec<Tally>,
    /// By pattern: its place in `current`.
    places: Vec<u32>,
    emitted: HashMap<(u32, u32), Emitted, FxBuildHasher>,
    /// The number of reported counts after the last removal of expired ones.
    left: usize,
}

const NONE: u32 = u32::MAX;

impl Tallies {
    /// Counts for so many patterns.
    pub(crate) fn new(patterns: usize) -> Self {
        Self { current: Vec::new(), places: vec![NONE; patterns], emitted: HashMap::default(), left: 0 }
    }

    /// Counts matches of a pattern.
    pub(crate) fn add(&mut self, pattern: u32, branch: u32, count: &MatchCount, witness: impl FnOnce() -> Stored) {
        let place = &mut self.places[pattern as usize];
        if *place == NONE {
            *place = self.current.len() as u32;
            self.current.push(Tally { pattern, branch, count: count.clone(), witness: witness() });
        } else {
            self.current[*place as usize].count.add(count);
        }
    }

    /// Reports the counts of the record to `out`, if there is one, and stores those that may be retracted.
    pub(crate) fn emit(
        &mut self,
        event: EdgeRef,
        ts: Time,
        patterns: &[Pattern],
        events: Events<'_>,
        mut out: Option<&mut Occurrences>,
        may_retract: bool,
    ) {
        for Tally { pattern, branch, count, witness } in self.current.drain(..) {
            self.places[pattern as usize] = NONE;
            if !patterns[pattern as usize].counts(event) {
                continue;
            }
            if let Some(out) = &mut out {
                let header = Header { pattern, branch, kind: Kind::Match, detected_at: ts, count: count.clone() };
                out.push(header, &patterns[pattern as usize], witness.slots(), events, |f| witness.each(f));
            }
            if may_retract {
                self.emitted.insert((pattern, event.0), Emitted { ts, branch, count, witness });
            }
        }
    }

    /// Stores a count that was reported with a bound.
    pub(crate) fn remember(&mut self, pattern: u32, event: EdgeRef, emitted: Emitted) {
        self.emitted.insert((pattern, event.0), emitted);
    }

    /// The counts reported of events from one on.
    pub(crate) fn emitted_from(&self, event: EdgeRef) -> Vec<(u32, EdgeRef)> {
        let from = |&&(_, other): &&(u32, u32)| other == event.0 || event.is_before(EdgeRef(other));
        let mut emitted: Vec<(u32, EdgeRef)> =
            self.emitted.keys().filter(from).map(|&(pattern, other)| (pattern, EdgeRef(other))).collect();
        emitted.sort_unstable_by_key(|&(pattern, other)| (other.0.wrapping_sub(event.0), pattern));
        emitted
    }

    /// Forgets a count, which is void.
    pub(crate) fn take(&mut self, pattern: u32, event: EdgeRef) -> Option<Emitted> {
        self.emitted.remove(&(pattern, event.0))
    }

    /// Drops expired counts once they are about half of all.
    pub(crate) fn expire(&mut self, from: Time) {
        if self.emitted.len() > 2 * self.left + 64 {
            self.emitted.retain(|_, emitted| emitted.ts >= from);
            self.left = self.emitted.len();
        }
    }
}
