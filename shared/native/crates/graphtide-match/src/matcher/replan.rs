//! Changing a pattern's plan while the stream runs.
//!
//! A matcher that may do so keeps every edge that some query edge could be, with the signatures it satisfied. The new engine is
//! warmed by one replay of the window: it takes the window's edges in stream order, its matches are thrown away because the old
//! engine has reported them, and it takes over between two records. What an engine knows follows from the edges of its window
//! alone, so nothing is lost and nothing comes twice.
//! Cost: O(edges kept) for one change, and the room of the edges that the old engine would have discarded.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::allowances::SAVED;
use super::{Matcher, Postings, Registered, register};
use crate::dispatch::{Dispatch, SignatureId};
use crate::expression::Expression;
use crate::meter::Meter;
use crate::output::Rows;
use crate::plan::{InvalidPlan, PatternSpec, PlanSpec};
use crate::timing::Arrival;
use crate::trace::Untraced;

/// The signatures that each edge of the store satisfied, oldest first.
///
/// Most edges satisfy one, and few sets of several occur: an edge costs four bytes.
#[derive(Debug, Default)]
pub struct Satisfied {
    edges: VecDeque<u32>,
    several: Vec<Box<[SignatureId]>>,
    numbers: HashMap<Box<[SignatureId]>, u32, FxBuildHasher>,
}

/// Marks the number of a set of several signatures.
const SEVERAL: u32 = 1 << 31;

impl Satisfied {
    /// Adds what the newest edge satisfied: one signature at least.
    #[inline]
    pub fn push_back(&mut self, signatures: &[SignatureId]) {
        let number = if let [one] = *signatures { one } else { self.number(signatures) };
        self.edges.push_back(number);
    }

    fn number(&mut self, signatures: &[SignatureId]) -> u32 {
        if let Some(&number) = self.numbers.get(signatures) {
            return number;
        }
        let number = SEVERAL | self.several.len() as u32;
        self.several.push(signatures.into());
        self.numbers.insert(signatures.into(), number);
        number
    }

    /// Forgets the oldest edge.
    pub fn pop_front(&mut self) {
        self.edges.pop_front();
    }

    fn iter(&self) -> impl Iterator<Item = &[SignatureId]> {
        self.edges.iter().map(|number| match number & SEVERAL {
            0 => std::slice::from_ref(number),
            _ => &*self.several[(number & !SEVERAL) as usize],
        })
    }

    /// Bytes alive.
    pub fn bytes(&self) -> usize {
        size_of::<u32>() * self.edges.len()
    }
}

/// What a change of plan needs.
#[derive(Debug, Default)]
pub struct Replay {
    /// What the edges of the store satisfied.
    pub satisfied: Satisfied,
    /// For every pattern, what its engine was made from.
    pub blueprints: Vec<(PatternSpec, Vec<Expression>)>,
}

impl Matcher {
    /// Gives a pattern another plan; says whether it has it: a plan that reaches a limit while it is warmed, or that the meter does
    /// not let be warmed, is refused, and the old one goes on.
    pub fn replan(&mut self, number: usize, plan: PlanSpec, meter: &mut Meter<'_>) -> Result<bool, InvalidPlan> {
        let Some((spec, across)) = self.replay.as_ref().and_then(|replay| replay.blueprints.get(number)) else {
            return Err(InvalidPlan { pattern: number.to_string(), reason: "its matcher keeps no edges to replay".into() });
        };
        if self.seen.is_some() {
            return Err(InvalidPlan { pattern: spec.name.clone(), reason: "it is traced, step by step of its plan".into() });
        }
        let spec = PatternSpec { plan, ..spec.clone() };
        spec.check()?;
        let signatures = self.patterns[number].signatures.clone();
        let mut new = register(number as u32, spec, across.clone(), signatures);
        let old = &self.patterns[number];
        new.paused = old.paused;
        new.shed = old.has_shed(&self.postings);
        new.is_occupied = true;
        let was_occupied = old.is_occupied;
        new.limit.clone_from(&old.limit);
        let counts = old.counts;
        let old = std::mem::replace(&mut self.patterns[number], new);
        let Some(postings) = self.warmed(number, meter) else {
            self.patterns[number] = old;
            self.patterns.iter_mut().for_each(|pattern| pattern.attach(&mut self.postings));
            return Ok(false);
        };
        self.postings = postings;
        self.patterns[number].counts = counts;
        self.told.replanned(number, self.patterns.len());
        if !was_occupied {
            self.occupied.push(number as u32);
        }
        self.live = self.patterns.iter().map(Registered::live).sum();
        set_gates(&mut self.dispatch, &self.patterns);
        self.has_threads = self.patterns.iter().any(Registered::has_threads);
        Ok(true)
    }

    /// Replays the window into the pattern's new engine; returns the lists as all patterns need them now, none at a limit.
    fn warmed(&mut self, number: usize, meter: &mut Meter<'_>) -> Option<Postings> {
        let mut postings = postings_for(&self.dispatch, &mut self.patterns);
        let mut known = Rows::default();
        let replay = self.replay.as_ref()?;
        let pattern = &mut self.patterns[number];
        let alive_from = self.now.saturating_sub(pattern.window - 1);
        // What the window's records granted when they came, and what may have been saved before.
        let records = SAVED.saturating_add(self.store.len() as u64);
        meter.begin(pattern.limits.work.map_or(u64::MAX, |work| work.saturating_mul(records)));
        for (edge, satisfied) in self.store.refs().zip(replay.satisfied.iter()) {
            let stored = self.store.get(edge);
            meter.tick(1);
            if self.store.is_deleted(edge) {
                continue;
            }
            let ends = (stored.source, stored.target);
            let arrival =
                Arrival { ts: stored.ts, source: ends.0, target: ends.1, edge, store: &self.store, names: &self.vertices };
            for &signature in satisfied {
                let targets = self.dispatch.targets(signature).iter();
                for target in targets.filter(|target| target.pattern as usize == number && stored.ts >= alive_from) {
                    pattern.insert(&arrival, target.edge, &postings, &mut known, Untraced, meter).ok()?;
                    if meter.is_refused() {
                        meter.end();
                        return None;
                    }
                }
            }
            for &signature in satisfied {
                postings.add(signature, stored.ts, ends, edge, meter);
            }
            known.clear();
        }
        meter.end();
        let drained = pattern.drain(&mut known, meter);
        (drained.limited.is_none() && !drained.refused).then_some(postings)
    }
}

/// Makes empty lists for the patterns that read some.
pub fn postings_for(dispatch: &Dispatch, patterns: &mut [Registered]) -> Postings {
    let mut postings = Postings::new(dispatch.len());
    for pattern in patterns.iter_mut() {
        pattern.attach(&mut postings);
    }
    postings
}

/// Sets the gates of the patterns that have some.
pub fn set_gates(dispatch: &mut Dispatch, patterns: &[Registered]) {
    dispatch.set_gates(|pattern, edge| patterns[pattern as usize].gates(edge));
}
