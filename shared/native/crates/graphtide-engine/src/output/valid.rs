//! The results of graph queries that are valid at an instant, from all reports up to it.
//!
//! Invariant: they are those that `graphtide_core.valid_results` gives. Results that have ended are dropped when there are
//! twice as many as were valid before. So what is held is bounded by what is valid at one instant. Cost: a hash of the identity
//! a report; its texts are copied once, or anew with each path.

use std::sync::Arc;

use graphtide_graph::Time;
use graphtide_graph::key::TextArena;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::interval::OwnedIntervals;
use super::{IntervalRef, IntervalReport, Kind, Layout, MatchBatch, MatchRef, OwnedLayout, OwnedMatch, PatternNames};
use crate::ids::PatternId;

/// Results that are kept without a look whether they have ended.
const FEW: usize = 4096;

/// What is known of a result by its last report.
#[derive(Clone, Copy)]
struct Known {
    pattern: PatternId,
    kind: Kind,
    shed: bool,
    first_ts: Time,
    last_ts: Time,
    valid: (Time, Option<Time>),
    /// Where its vertices and its path are held.
    number: usize,
    has_path: bool,
}

/// Takes reports on results, in order, and gives those that are valid at an instant.
pub struct ResultsAt {
    at: Time,
    known: HashMap<[u8; 32], Known, FxBuildHasher>,
    held: OwnedIntervals,
    text: TextArena,
    most: usize,
    names: Arc<[Arc<PatternNames>]>,
}

impl ResultsAt {
    /// Prepares for an instant.
    pub fn new(at: Time) -> Self {
        Self {
            at,
            known: HashMap::default(),
            held: OwnedIntervals::default(),
            text: TextArena::default(),
            most: FEW,
            names: Arc::default(),
        }
    }

    /// Takes the reports of a batch from a place on; those after the instant, and matches of other families, are ignored. Says
    /// whether any was after the instant.
    pub fn take(&mut self, batch: &MatchBatch, names: &Arc<[Arc<PatternNames>]>, from: usize) -> bool {
        self.names = Arc::clone(names);
        let mut is_past = false;
        for index in from..batch.len() {
            let found = batch.get(index, names);
            if found.detected_at > self.at {
                is_past = true;
            } else if let Layout::Interval(interval) = &found.layout {
                self.report(&found, interval, &names[found.pattern.place()]);
            }
        }
        is_past
    }

    fn report(&mut self, found: &MatchRef<'_>, interval: &IntervalRef<'_>, names: &PatternNames) {
        let id = names.match_id(found);
        let (from, until) = (interval.report.valid.0, interval.end(&names.intervals, found.kind));
        let is_withdrawn = found.kind == Kind::Retract;
        if is_withdrawn && from <= found.detected_at {
            self.known.remove(&id);
            return;
        }
        let before = self.known.get(&id).copied();
        // Since when it is valid: what a retraction withdraws begins later than its report.
        let begins = match before {
            Some(before) if found.kind != Kind::Match => (before.kind, before.valid.0, before.first_ts),
            _ if is_withdrawn => (Kind::Extend, found.detected_at, found.first_ts),
            _ => (found.kind, from, found.first_ts),
        };
        let has_path = !is_withdrawn && interval.path().is_some();
        let number = match before {
            Some(before) if !has_path && !before.has_path => before.number,
            _ => {
                let path = interval.path().filter(|_| has_path);
                self.held.push(interval.output, interval.vertices(), interval.report, path, &mut self.text)
            }
        };
        let (kind, since, first_ts) = begins;
        let valid = (since, if is_withdrawn { Some(from) } else { until });
        let (pattern, shed, last_ts) = (found.pattern, found.shed, found.last_ts);
        self.known.insert(id, Known { pattern, kind, shed, first_ts, last_ts, valid, number, has_path });
        if self.known.len() > self.most || self.held.len() > 2 * self.most {
            self.drop_ended(found.detected_at);
        }
    }

    /// Drops results that have ended, and copies what is held of the others.
    fn drop_ended(&mut self, now: Time) {
        let (mut held, mut text) = (OwnedIntervals::default(), TextArena::default());
        self.known.retain(|_, known| {
            let is_valid = known.is_valid(now);
            if is_valid {
                let of = self.held.get(known.number, &self.text);
                known.number = held.push(of.output, of.vertices(), of.report, of.path(), &mut text);
            }
            is_valid
        });
        (self.held, self.text) = (held, text);
        self.most = FEW.max(2 * self.known.len());
    }

    /// The results that are valid at the instant, with the names of their patterns. They are in the order in which they became
    /// valid, as far as that is known.
    pub fn results(&self) -> (MatchBatch, Arc<[Arc<PatternNames>]>) {
        let mut valid: Vec<_> = self.known.values().filter(|known| known.is_valid(self.at)).collect();
        valid.sort_by_cached_key(|known| {
            let (names, interval) = (&self.names[known.pattern.place()], self.held.get(known.number, &self.text));
            let vertices: Vec<String> = interval.vertices().map(|vertex| vertex.to_string()).collect();
            (known.first_ts, &names.name, names.intervals.label(interval.output), vertices)
        });
        let mut found = MatchBatch::default();
        for known in valid {
            let interval = self.held.get(known.number, &self.text);
            found.push_valid(known, &interval);
        }
        (found, Arc::clone(&self.names))
    }
}

impl Known {
    fn is_valid(&self, at: Time) -> bool {
        self.valid.1.is_none_or(|until| until > at)
    }
}

impl MatchBatch {
    fn push_valid(&mut self, known: &Known, interval: &IntervalRef<'_>) {
        let &Known { pattern, kind, shed, first_ts, last_ts, valid: (from, until), .. } = known;
        // Of a result that stays no end is read.
        let report = IntervalReport { at: first_ts, nth: 0, valid: (from, until.unwrap_or(Time::MAX)) };
        let number = self.intervals.push(interval.output, interval.vertices(), report, interval.path(), &mut self.text);
        if until.is_some() {
            self.intervals.close(number);
        }
        let layout = OwnedLayout::Interval(number);
        self.matches.push(OwnedMatch { pattern, kind, shed, detected_at: first_ts, first_ts, last_ts, layout, fields: (0, 0) });
    }
}
