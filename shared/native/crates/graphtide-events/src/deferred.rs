//! Instances that are not decided yet: a forbidden event may still come, or another branch may have their events.
//!
//! Candidates wait in a queue, by their greatest bound. Once time has passed it, the [verifier](crate::verifier) decides
//! whether one is a match. Under `REPORT EXISTS` the candidates that one event completes are reported together, with the last.
//! Cost: O(log waiting) a candidate, and its verification.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::meter::Meter;
use graphtide_engine::output::{Kind, MatchCount};
use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use crate::bound::{Bound, Stored};
use crate::compile::Vertex;
use crate::occurrences::{Header, Occurrences};
use crate::plan::Report;
use crate::tally::{Emitted, Tallies};
use crate::verifier::{Verifier, settled_at};

/// What waits in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Waiting {
    /// A candidate, by its place.
    Candidate(u32),
    /// All candidates of a pattern that an event completes.
    Group(u32, u32),
    /// An event that may begin a match of a pattern.
    First(u32, u32),
}

/// The candidates of a pattern that an event completes, and which of them are matches.
#[derive(Debug)]
struct Group {
    bound: Option<Time>,
    matches: Vec<(u32, Stored)>,
}

/// Candidates that are not decided yet.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    /// By the time that is to pass, none for what waits for its record alone.
    queue: BinaryHeap<Reverse<(Option<Time>, u64, Waiting)>>,
    candidates: Vec<Option<Stored>>,
    free: Vec<u32>,
    groups: HashMap<(u32, u32), Group, FxBuildHasher>,
    /// Groups of the record under way.
    open: Vec<(u32, u32)>,
    /// Patterns that the event under way may begin, and when their time is over.
    begun: Vec<(u32, Time)>,
    /// By pattern and event: of those that wait to begin a match, which began one that was retracted.
    retracted: HashSet<(u32, u32), FxBuildHasher>,
    order: u64,
}

impl Deferred {
    /// Takes a candidate that an event completes.
    pub(crate) fn add(&mut self, verifier: Verifier<'_>, vertex: u32, bound: &Bound, last: EdgeRef) {
        let Vertex { shape, patterns, .. } = &verifier.vertices[vertex as usize];
        if !patterns.iter().any(|&(pattern, _)| verifier.patterns[pattern as usize].counts(last)) {
            return;
        }
        let until = bound.bound_of(shape);
        for &(pattern, _) in patterns {
            let own = &verifier.patterns[pattern as usize];
            if own.report == Report::Exists && own.counts(last) {
                let open = &mut self.open;
                let group = self.groups.entry((pattern, last.0)).or_insert_with(|| {
                    open.push((pattern, last.0));
                    Group { bound: until, matches: Vec::new() }
                });
                group.bound = group.bound.max(until);
            }
        }
        let stored = Some(Stored::of(vertex, shape, bound));
        let place = if let Some(place) = self.free.pop() {
            self.candidates[place as usize] = stored;
            place
        } else {
            self.candidates.push(stored);
            self.candidates.len() as u32 - 1
        };
        self.wait(until, Waiting::Candidate(place));
    }

    fn wait(&mut self, bound: Option<Time>, what: Waiting) {
        self.order += 1;
        self.queue.push(Reverse((bound, self.order, what)));
    }

    /// Notes that the event under way may begin a match of a pattern, and when its time is over.
    pub(crate) fn begin(&mut self, pattern: u32, until: Time) {
        self.begun.push((pattern, until));
    }

    /// Notes that an event, whose time is not over, began a match of a pattern that is retracted: it has no timeout.
    pub(crate) fn retract(&mut self, pattern: u32, first: EdgeRef) {
        self.retracted.insert((pattern, first.0));
    }

    /// Ends the record of an event; says whether something is settled already.
    pub(crate) fn end_record(&mut self, event: EdgeRef, now: Time) -> bool {
        let mut begun = std::mem::take(&mut self.begun);
        // An event that fills the first place of several branches begins the pattern once.
        begun.sort_unstable();
        begun.dedup_by_key(|&mut (pattern, _)| pattern);
        for (pattern, until) in begun.drain(..) {
            self.wait(Some(until), Waiting::First(pattern, event.0));
        }
        self.begun = begun;
        while let Some((pattern, event)) = self.open.pop() {
            let bound = self.groups.get(&(pattern, event)).and_then(|group| group.bound);
            self.wait(bound, Waiting::Group(pattern, event));
        }
        self.next_settled(Some(now)).is_some()
    }

    /// The time after which something is settled, if anything waits for one.
    pub(crate) fn next_bound(&self) -> Option<Time> {
        self.queue.peek().and_then(|Reverse((bound, ..))| *bound)
    }

    /// The first of those that wait, if what it waits for is over once time is `now`, or at its end.
    #[inline]
    fn next_settled(&self, now: Option<Time>) -> Option<(Option<Time>, Waiting)> {
        let &Reverse((until, _, what)) = self.queue.peek()?;
        let is_over = until.is_none_or(|until| now.is_none_or(|now| until < now));
        is_over.then_some((until, what))
    }

    /// Emits, to `out` if there is one, what is settled once time is `now`, or at its end, and stores what may be retracted.
    pub(crate) fn settle(
        &mut self,
        now: Option<Time>,
        verifier: Verifier<'_>,
        bound: &mut Bound,
        mut out: Option<&mut Occurrences>,
        mut emitted: Option<&mut Tallies>,
        meter: &mut Meter<'_>,
    ) {
        while let Some((until, what)) = self.next_settled(now) {
            self.queue.pop();
            meter.tick(1);
            match what {
                Waiting::First(pattern, event) => {
                    if !self.retracted.remove(&(pattern, event)) {
                        verifier.time_out(pattern, EdgeRef(event), bound, out.as_deref_mut(), meter);
                    }
                }
                Waiting::Candidate(place) => {
                    self.free.push(place);
                    if let Some(stored) = self.candidates[place as usize].take() {
                        self.decide(&stored, verifier, bound, out.as_deref_mut(), meter);
                    }
                }
                Waiting::Group(pattern, event) => {
                    let Some(mut group) = self.groups.remove(&(pattern, event)) else { continue };
                    let own = &verifier.patterns[pattern as usize];
                    // Some of its matches may have been decided before the pattern began.
                    if !own.counts(EdgeRef(event)) {
                        continue;
                    }
                    group.matches.retain(|(_, stored)| !verifier.has_lost(stored, own.lookback));
                    let Some((branch, witness)) = group.matches.first().cloned() else { continue };
                    let ts = verifier.past.events.store.get(EdgeRef(event)).ts;
                    let matches = MatchCount::Small(group.matches.len() as u64);
                    if let Some(out) = &mut out {
                        let header = Header {
                            pattern,
                            branch,
                            kind: Kind::Match,
                            detected_at: until.map_or(ts, |until| until.max(ts)),
                            count: matches.clone(),
                        };
                        out.push(header, own, witness.slots(), verifier.past.events, |f| witness.each(f));
                    }
                    if let Some(emitted) = &mut emitted {
                        emitted.remember(pattern, EdgeRef(event), Emitted { ts, branch, count: matches, witness });
                    }
                }
            }
        }
    }

    /// Decides on a candidate whose bound has passed.
    fn decide(
        &mut self,
        stored: &Stored,
        verifier: Verifier<'_>,
        bound: &mut Bound,
        mut out: Option<&mut Occurrences>,
        meter: &mut Meter<'_>,
    ) {
        let vertex = &verifier.vertices[stored.vertex as usize];
        let last = stored.last();
        if verifier.has_deleted(stored) {
            return;
        }
        bound.restore(&vertex.shape, stored, verifier.past.events);
        if verifier.is_blocked(vertex, bound, meter) {
            return;
        }
        let settled = settled_at(vertex, bound);
        for &(pattern, branch) in &vertex.patterns {
            let own = &verifier.patterns[pattern as usize];
            let is_one = own.counts(last) && verifier.is_of_branch(own, branch, settled, stored, bound, meter);
            // What was cut may not have seen that another branch has it: then it is left out, and not emitted twice.
            if !is_one || meter.is_refused() {
                continue;
            }
            match (own.report, &mut out) {
                (Report::Exists, _) => {
                    if let Some(group) = self.groups.get_mut(&(pattern, last.0)) {
                        group.matches.push((branch, stored.clone()));
                    }
                }
                (Report::All, None) => {}
                (Report::All, Some(out)) => {
                    let header = Header { pattern, branch, kind: Kind::Match, detected_at: settled.0, count: MatchCount::ONE };
                    out.push(header, own, stored.slots(), verifier.past.events, |f| stored.each(f));
                }
            }
        }
    }

    /// Candidates that are not decided yet.
    pub(crate) fn len(&self) -> usize {
        self.candidates.len() - self.free.len()
    }

    /// Bytes of what waits.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * (size_of::<Option<Stored>>() + size_of::<Reverse<(Time, u64, Waiting)>>())
    }
}
