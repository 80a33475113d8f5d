//! Sequences that began and did not end in time.
//!
//! Each event that could begin a match is looked at once its time is over. If it began none, the longest beginning of the
//! sequence that events from it on fill is reported, the earliest of these. Beginnings are sub-patterns of their own, which
//! nothing is stored for: the events of the lookback are searched when the time is over.
//! Cost: an entry of a queue an event, then a search.

use graphtide_engine::meter::Meter;
use graphtide_engine::output::{Kind, MatchCount};
use graphtide_graph::clock;
use graphtide_graph::store::EdgeRef;

use crate::bound::{Bound, Stored};
use crate::buffers::between;
use crate::occurrences::{Header, Occurrences};
use crate::past::Scope;
use crate::plan::{PlanSpec, VertexSpec, conjuncts, mask_below, moved, places_of};
use crate::search::Search;
use crate::verifier::Verifier;

/// By pattern: vertices of the beginnings of its branches with the branch, the longest first.
pub(crate) type Beginnings = Vec<Vec<(u32, u32)>>;

/// Adds the beginnings of sequences to a plan.
pub(crate) fn with_beginnings(plan: &PlanSpec) -> (PlanSpec, Beginnings) {
    let mut plan = plan.clone();
    let mut all = Vec::new();
    for pattern in &plan.patterns {
        let mut own: Vec<(usize, u32, u32)> = Vec::new();
        for (branch, &vertex) in (0..).zip(&pattern.branches).filter(|_| pattern.emits_timeouts) {
            let whole = plan.vertices[vertex as usize].clone();
            for slots in 1..=whole.slots.len() {
                own.push((slots, plan.vertices.len() as u32, branch));
                plan.vertices.push(beginning(&whole, slots));
            }
        }
        own.sort_by_key(|&(slots, _, branch)| (std::cmp::Reverse(slots), branch));
        all.push(own.into_iter().map(|(_, vertex, branch)| (vertex, branch)).collect());
    }
    (plan, all)
}

/// The first slots of a sequence, with what is said of them and between them.
fn beginning(whole: &VertexSpec, slots: usize) -> VertexSpec {
    let has = |slot: &u8| usize::from(*slot) < slots;
    let kept: Vec<usize> = (0..whole.absences.len())
        .filter(|&number| {
            let absence = &whole.absences[number];
            !absence.before.is_empty() && absence.before.iter().all(has)
        })
        .collect();
    let from = whole.slots.len();
    let kept_places = kept.iter().fold(mask_below(slots), |places, number| places | 1 << (from + number));
    let to = |place: u8| match kept.iter().position(|number| from + number == usize::from(place)) {
        Some(number) => (slots + number) as u8,
        None => place,
    };
    let predicates = conjuncts(&whole.predicates).into_iter().filter(|predicate| places_of(predicate) & !kept_places == 0);
    let absences = kept.iter().map(|&number| {
        let mut absence = whole.absences[number].clone();
        absence.of.retain(has);
        absence
    });
    VertexSpec {
        slots: whole.slots[..slots].to_vec(),
        order: whole.order.iter().copied().filter(|(one, other)| has(one) && has(other)).collect(),
        within: whole.within,
        predicates: predicates.map(|predicate| moved(&predicate, &to)).collect(),
        aggregates: whole.aggregates.clone(),
        absences: absences.collect(),
        partition: whole.partition.clone(),
        parents: Vec::new(),
    }
}

impl Verifier<'_> {
    /// Reports, to `out` if there is one, an event that began no match of a pattern in time.
    pub(crate) fn time_out(
        &self,
        pattern: u32,
        first: EdgeRef,
        bound: &mut Bound,
        out: Option<&mut Occurrences>,
        meter: &mut Meter<'_>,
    ) {
        let own = &self.patterns[pattern as usize];
        if self.past.deletions.contains_key(&first.0) || !own.counts(first) {
            return;
        }
        if own.branches.iter().any(|&vertex| self.began(vertex, first, bound, meter)) {
            return;
        }
        let mut best: Option<(Vec<Vec<usize>>, u32, Stored)> = None;
        for &(vertex, branch) in &own.beginnings {
            if best.as_ref().is_some_and(|(rank, ..)| rank.len() > self.vertices[vertex as usize].shape.slots.len()) {
                break;
            }
            if let Some((rank, stored)) = self.earliest_from(vertex, first, Scope::ALL, bound, meter)
                && best.as_ref().is_none_or(|(best, ..)| rank < *best)
            {
                best = Some((rank, branch, stored));
            }
        }
        // What was cut may have missed a match.
        if let (Some((_, branch, stored)), Some(out), false) = (best, out, meter.is_refused()) {
            let within = self.vertices[stored.vertex as usize].shape.within;
            let detected_at = clock::add(self.past.events.store.get(first).ts, within);
            let header = Header { pattern, branch, kind: Kind::Timeout, detected_at, count: MatchCount::ONE };
            out.push(header, own, stored.slots(), self.past.events, |f| stored.each(f));
        }
    }

    /// Whether an event, whose time is over, began a match of a vertex that lost no event since.
    fn began(&self, number: u32, first: EdgeRef, bound: &mut Bound, meter: &mut Meter<'_>) -> bool {
        let Self { vertices, past, .. } = *self;
        let shape = &vertices[number as usize].shape;
        if !shape.takes_runs() {
            return self.earliest_from(number, first, Scope::ALL, bound, meter).is_some();
        }
        // What a run takes depends on when it was complete: each event that may have completed one is tried.
        let from = past.events.store.get(first).ts;
        let to = from.saturating_add(shape.within);
        shape.slots.iter().any(|slot| {
            between(past.buffers.list(slot.signature), from, to).map(|entry| entry.event).any(|completing| {
                let may_complete = completing == first || first.is_before(completing);
                let scope = Scope { until: Some(completing), as_of: Some(completing), ..Scope::ALL };
                may_complete
                    && !past.deletions.contains_key(&completing.0)
                    && self.earliest_from(number, first, scope, bound, meter).is_some()
            })
        })
    }

    /// The instance of a vertex that begins with an event and whose events are the earliest, slot by slot, with their places.
    /// If one event is to be the last, it is that of those which it completed.
    fn earliest_from(
        &self,
        number: u32,
        first: EdgeRef,
        scope: Scope<'_>,
        bound: &mut Bound,
        meter: &mut Meter<'_>,
    ) -> Option<(Vec<Vec<usize>>, Stored)> {
        let vertex = &self.vertices[number as usize];
        let (shape, past) = (&vertex.shape, self.past);
        let mut best: Option<(Vec<Vec<usize>>, Stored)> = None;
        if !self.fits(vertex, 0, first) {
            return None;
        }
        let mut found = |bound: &mut Bound, meter: &mut Meter<'_>| {
            let mut rank = vec![Vec::new(); shape.slots.len()];
            bound.each(shape.lists, |slot, event| rank[usize::from(slot)].push(self.place(event)));
            let begins = rank[0].first() == Some(&self.place(first));
            if begins && best.as_ref().is_none_or(|(best, _)| rank < *best) && !self.is_blocked(vertex, bound, meter) {
                let stored = Stored::of(number, shape, bound);
                if scope.until.is_none_or(|last| stored.last() == last) && !self.has_deleted(&stored) {
                    best = Some((rank, stored));
                }
            }
            true
        };
        Search { past, shape, aggregates: &vertex.aggregates, scope, bound, meter, found: &mut found }.run(
            vertex.alone(0),
            0,
            first,
        );
        best
    }

    /// The place of an event among those of the lookback.
    fn place(&self, event: EdgeRef) -> usize {
        self.past.events.store.rank(event)
    }
}
