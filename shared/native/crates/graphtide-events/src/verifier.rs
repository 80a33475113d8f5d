//! Whether an instance is a match. It holds no deleted event, nothing came that must not, and it is of the branch that has its
//! events.
//!
//! Events that fill two branches of a pattern are a match of the branch that is settled first; of two at once, of the first. If
//! only one match of the same events is wanted, it is found likewise among those of all branches. Of one branch it is the one
//! whose events are the earliest, in the order of the text.
//! Cost: a look at what came in its intervals; with several branches, a search among its own events.

use graphtide_engine::meter::Meter;
use graphtide_graph::Time;

use crate::bound::{Bound, Stored};
use crate::compile::Vertex;
use crate::past::{Past, Scope, earliest_alive};
use crate::pattern::Pattern;
use crate::search::Search;

/// What settling reads.
#[derive(Clone, Copy)]
pub(crate) struct Verifier<'a> {
    pub(crate) vertices: &'a [Vertex],
    pub(crate) patterns: &'a [Pattern],
    pub(crate) past: Past<'a>,
}

/// When an instance that is bound is settled, and whether that is not before time continues.
pub(crate) fn settled_at(vertex: &Vertex, bound: &Bound) -> (Time, bool) {
    let last = bound.span().1;
    match bound.bound_of(&vertex.shape) {
        Some(until) if until >= last => (until, true),
        _ => (last, false),
    }
}

/// The places of events among those of the lookback, name by name in the order of the text.
type Rank = Vec<Vec<usize>>;

impl Verifier<'_> {
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

    /// Whether an event of an instance was deleted while it was within the lookback, given in ticks.
    pub(crate) fn has_lost(&self, stored: &Stored, lookback: Time) -> bool {
        let Past { deletions, events, .. } = self.past;
        stored.events.iter().any(|event| {
            let at = deletions.get(&event.0).map(|gone| gone.at);
            at.is_some_and(|at| events.store.get(*event).ts >= earliest_alive(at, lookback))
        })
    }

    /// Whether something came that must not, beside the instance that is bound.
    pub(crate) fn is_blocked(&self, vertex: &Vertex, bound: &mut Bound, meter: &mut Meter<'_>) -> bool {
        let of = (&vertex.shape, vertex.aggregates.as_slice());
        (0..vertex.shape.absences.len()).any(|number| self.past.is_blocked(of, number, bound, meter))
    }

    /// Whether a match is of a branch, and not of another through which the same events are one. That other branch was settled
    /// before, or is an earlier one that was settled at the same time. Where one match of the same events is wanted, whether it
    /// is that one. All that is settled by then must be known.
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
