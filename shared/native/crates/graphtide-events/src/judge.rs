//! Instances that wait for judgement: until nothing can come any more that must not, and it is known which branch has them.
//!
//! Candidates lie in a queue by the greatest bound of theirs. Once time has passed it, one that holds no deleted event, and in whose
//! intervals nothing came, is a match. Events that fill two branches of a pattern are a match of the branch that is settled first; of
//! two at once, of the first. Where only one match of the same events is wanted, it is found likewise among those of all branches, and of
//! one branch it is the one whose events are the earliest, in the order of the text. Under `REPORT EXISTS` the candidates that one
//! event completes are told together, with the last.
//! Cost: O(log waiting) a candidate, and a look at what came in its intervals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_engine::meter::Meter;
use graphtide_engine::output::Kind;
use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::compile::Vertex;
use crate::deletion::earliest_alive;
use crate::detection::Pattern;
use crate::occurrences::{Header, Occurrences};
use crate::plan::Report;
use crate::program::Shape;
use crate::search::{Bound, Past, Scope, Search};
use crate::tally::{Tallies, Told};

/// An instance with its events.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) vertex: u32,
    /// Slot by slot.
    pub(crate) events: SmallVec<[EdgeRef; 8]>,
    /// How many events each slot has; nothing where each has one.
    pub(crate) lengths: SmallVec<[u32; 2]>,
}

impl Stored {
    /// The instance that is bound.
    pub(crate) fn of(vertex: u32, shape: &Shape, bound: &Bound) -> Self {
        let mut stored = Self { vertex, events: SmallVec::new(), lengths: SmallVec::new() };
        if shape.lists != 0 {
            stored.lengths.resize(shape.slots.len(), 0);
        }
        bound.each(shape.lists, |slot, event| {
            stored.events.push(event);
            if shape.lists != 0 {
                stored.lengths[usize::from(slot)] += 1;
            }
        });
        stored
    }

    /// An instance of single events.
    pub(crate) fn of_row(vertex: u32, row: &[EdgeRef]) -> Self {
        Self { vertex, events: row.into(), lengths: SmallVec::new() }
    }

    /// Slots.
    pub(crate) fn slots(&self) -> usize {
        if self.lengths.is_empty() { self.events.len() } else { self.lengths.len() }
    }

    /// Calls `f` with each slot and event.
    pub(crate) fn each(&self, f: &mut dyn FnMut(u8, EdgeRef)) {
        let mut events = self.events.iter();
        for slot in 0..self.slots() {
            let count = self.lengths.get(slot).map_or(1, |&length| length as usize);
            events.by_ref().take(count).for_each(|&event| f(slot as u8, event));
        }
    }

    /// The last of its events in the order of the stream.
    pub(crate) fn last(&self) -> EdgeRef {
        self.events.iter().copied().reduce(|last, event| if last.is_before(event) { event } else { last }).unwrap_or(EdgeRef(0))
    }
}

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

/// Candidates that wait.
#[derive(Debug, Default)]
pub(crate) struct Judge {
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

/// What settling reads.
#[derive(Clone, Copy)]
pub(crate) struct Court<'a> {
    pub(crate) vertices: &'a [Vertex],
    pub(crate) patterns: &'a [Pattern],
    pub(crate) past: Past<'a>,
}

impl Judge {
    /// Takes a candidate that an event completes.
    pub(crate) fn add(&mut self, court: Court<'_>, vertex: u32, bound: &Bound, last: EdgeRef) {
        let Vertex { shape, patterns, .. } = &court.vertices[vertex as usize];
        if !patterns.iter().any(|&(pattern, _)| court.patterns[pattern as usize].counts(last)) {
            return;
        }
        let until = bound.bound_of(shape);
        for &(pattern, _) in patterns {
            let own = &court.patterns[pattern as usize];
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

    /// Tells, to `out` if there is one, what is settled once time is `now`, or at its end, and remembers what may be retracted.
    pub(crate) fn settle(
        &mut self,
        now: Option<Time>,
        court: Court<'_>,
        bound: &mut Bound,
        mut out: Option<&mut Occurrences>,
        mut told: Option<&mut Tallies>,
        meter: &mut Meter<'_>,
    ) {
        while let Some((until, what)) = self.next_settled(now) {
            self.queue.pop();
            meter.tick(1);
            match what {
                Waiting::First(pattern, event) => {
                    if !self.retracted.remove(&(pattern, event)) {
                        court.time_out(pattern, EdgeRef(event), bound, out.as_deref_mut(), meter);
                    }
                }
                Waiting::Candidate(place) => {
                    self.free.push(place);
                    if let Some(stored) = self.candidates[place as usize].take() {
                        self.judge(&stored, court, bound, out.as_deref_mut(), meter);
                    }
                }
                Waiting::Group(pattern, event) => {
                    let Some(mut group) = self.groups.remove(&(pattern, event)) else { continue };
                    let own = &court.patterns[pattern as usize];
                    // Some of its matches may have been decided before the pattern began.
                    if !own.counts(EdgeRef(event)) {
                        continue;
                    }
                    group.matches.retain(|(_, stored)| !court.has_lost(stored, own.reach));
                    let Some((branch, witness)) = group.matches.first().cloned() else { continue };
                    let ts = court.past.events.store.get(EdgeRef(event)).ts;
                    let matches = group.matches.len() as u64;
                    if let Some(out) = &mut out {
                        let header = Header {
                            pattern,
                            branch,
                            kind: Kind::Match,
                            detected_at: until.map_or(ts, |until| until.max(ts)),
                            count: matches,
                        };
                        out.push(header, own, witness.slots(), court.past.events, |f| witness.each(f));
                    }
                    if let Some(told) = &mut told {
                        told.remember(pattern, EdgeRef(event), Told { ts, branch, count: matches, witness });
                    }
                }
            }
        }
    }

    /// Judges a candidate whose bound has passed.
    fn judge(
        &mut self,
        stored: &Stored,
        court: Court<'_>,
        bound: &mut Bound,
        mut out: Option<&mut Occurrences>,
        meter: &mut Meter<'_>,
    ) {
        let vertex = &court.vertices[stored.vertex as usize];
        let last = stored.last();
        if court.has_deleted(stored) {
            return;
        }
        bound.restore(&vertex.shape, stored, court.past.events);
        if court.is_blocked(vertex, bound, meter) {
            return;
        }
        let settled = settled_at(vertex, bound);
        for &(pattern, branch) in &vertex.patterns {
            let own = &court.patterns[pattern as usize];
            let is_one = own.counts(last) && court.is_of_branch(own, branch, settled, stored, bound, meter);
            // What was cut may not have seen that another branch has it: then it is left out, and not told twice.
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
                    let header = Header { pattern, branch, kind: Kind::Match, detected_at: settled.0, count: 1 };
                    out.push(header, own, stored.slots(), court.past.events, |f| stored.each(f));
                }
            }
        }
    }

    /// Candidates that wait.
    pub(crate) fn len(&self) -> usize {
        self.candidates.len() - self.free.len()
    }

    /// Bytes of what waits.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * (size_of::<Option<Stored>>() + size_of::<Reverse<(Time, u64, Waiting)>>())
    }
}

/// When an instance that is bound is settled, and whether that is not before time goes on.
pub(crate) fn settled_at(vertex: &Vertex, bound: &Bound) -> (Time, bool) {
    let last = bound.span().1;
    match bound.bound_of(&vertex.shape) {
        Some(until) if until >= last => (until, true),
        _ => (last, false),
    }
}

/// The places of events among those of the reach, name by name in the order of the text.
type Rank = Vec<Vec<usize>>;

impl Court<'_> {
    /// The rank of an instance whose slots are in that order in the text.
    fn rank(&self, order: &[u8], stored: &Stored) -> Rank {
        let mut rank = vec![Vec::new(); stored.slots()];
        stored.each(&mut |slot, event| rank[usize::from(slot)].push(self.past.events.store.rank(event)));
        order.iter().map(|&slot| std::mem::take(&mut rank[usize::from(slot)])).collect()
    }

    /// Whether an event of an instance was deleted.
    pub(crate) fn has_deleted(&self, stored: &Stored) -> bool {
        let deletions = self.past.deletions;
        !deletions.is_empty() && stored.events.iter().any(|event| deletions.contains_key(&event.0))
    }

    /// Whether an event of an instance was deleted while it was within reach, so many ticks.
    fn has_lost(&self, stored: &Stored, reach: Time) -> bool {
        let Past { deletions, events, .. } = self.past;
        stored.events.iter().any(|event| {
            let at = deletions.get(&event.0).map(|gone| gone.at);
            at.is_some_and(|at| events.store.get(*event).ts >= earliest_alive(at, reach))
        })
    }

    /// Whether something came that must not, beside the instance that is bound.
    pub(crate) fn is_blocked(&self, vertex: &Vertex, bound: &mut Bound, meter: &mut Meter<'_>) -> bool {
        let of = (&vertex.shape, vertex.aggregates.as_slice());
        (0..vertex.shape.absences.len()).any(|number| self.past.is_blocked(of, number, bound, meter))
    }

    /// Whether a match is of a branch, and not of another through which the same events are one: of one that was settled before, or
    /// of an earlier one that was settled at the same time. Where one match of the same events is wanted, whether it is that one. All
    /// that is settled by then must be known.
    pub(crate) fn is_of_branch(
        &self,
        pattern: &Pattern,
        branch: u32,
        settled: (Time, bool),
        stored: &Stored,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> bool {
        let mut best = (settled, branch);
        for (other, &vertex) in (0..).zip(&pattern.branches) {
            if pattern.branches.len() > 1 && ((settled, other) < best || other == branch) {
                let earliest = self.earliest(&self.vertices[vertex as usize], stored, bound, meter);
                best = best.min(earliest.map_or(best, |earliest| (earliest, other)));
            }
        }
        if let Some(order) = pattern.distinct.get(branch as usize) {
            let least = self.least(&self.vertices[stored.vertex as usize], order, stored, bound, meter);
            return best == (settled, branch) && least.is_none_or(|least| (settled, self.rank(order, stored)) <= least);
        }
        best.1 == branch
    }

    /// When the first match of these events through a vertex was settled.
    fn earliest(&self, vertex: &Vertex, stored: &Stored, bound: &mut Bound, meter: &mut Meter<'_>) -> Option<(Time, bool)> {
        let mut earliest: Option<(Time, bool)> = None;
        self.each_match(vertex, stored, bound, meter, &mut |bound| {
            let settled = settled_at(vertex, bound);
            earliest = Some(earliest.map_or(settled, |earliest| earliest.min(settled)));
        });
        earliest
    }

    /// When the first match of these events through a vertex was settled, and its rank: of several at once the least.
    fn least(
        &self,
        vertex: &Vertex,
        order: &[u8],
        stored: &Stored,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> Option<((Time, bool), Rank)> {
        let mut least: Option<((Time, bool), Rank)> = None;
        self.each_match(vertex, stored, bound, meter, &mut |bound| {
            let found = (settled_at(vertex, bound), self.rank(order, &Stored::of(stored.vertex, &vertex.shape, bound)));
            if least.as_ref().is_none_or(|least| found < *least) {
                least = Some(found);
            }
        });
        least
    }

    /// Calls `f` with every match of these events through a vertex.
    fn each_match(
        &self,
        vertex: &Vertex,
        stored: &Stored,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
        f: &mut dyn FnMut(&Bound),
    ) {
        let (shape, past) = (&vertex.shape, self.past);
        let last = stored.last();
        for slot in 0..shape.slots.len() {
            let signature = past.signatures.get(shape.slots[slot].signature);
            if !signature.fits(past.events.kind(last), &past.events.at(&[last])) {
                continue;
            }
            let mut found = |bound: &mut Bound, meter: &mut Meter<'_>| {
                let mut count = 0;
                bound.each(shape.lists, |_, _| count += 1);
                if count == stored.events.len() && !self.is_blocked(vertex, bound, meter) {
                    f(bound);
                }
                true
            };
            let scope = Scope { among: Some(&stored.events), until: Some(last), as_of: Some(last), ..Scope::ALL };
            let mut search = Search {
                past,
                shape,
                aggregates: &vertex.aggregates,
                scope,
                bound: &mut *bound,
                meter: &mut *meter,
                found: &mut found,
            };
            search.run(vertex.alone(slot as u8), slot as u8, last);
        }
    }
}
