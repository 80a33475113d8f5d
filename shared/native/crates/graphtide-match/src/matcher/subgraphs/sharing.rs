//! Which searches are shared: those of many patterns from edges of one signature, as one [prefix tree](PrefixTree).
//!
//! A pattern takes part if nothing is kept of it but lists of edges, and if a signature of it has many query edges. Then all
//! edges of its signatures are listed, which costs the same for one pattern and for thousands. What waits to take part is
//! searched for alone until so many wait that a new tree is worth its making.
//! A search of the tree has a bound of its own, a low one where work is bounded. Nobody pays for its steps, but for those of
//! matches. If it takes more, what it found is taken back, and each member searches alone, on its own account. A member that
//! takes much of the bound then leaves the tree.
//! Invariant: a query edge is searched for by the tree or alone, never by both. A paused unit is in no tree.
//! Cost: to make a tree O(members × edges). It is made anew when an eighth of its members came or left, and when the lists
//! have grown fourfold since.

use graphtide_engine::arrival::Arrival;
use graphtide_engine::dispatch::Target;
use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_engine::meter::{MATCH, Meter, Refusal};
use graphtide_engine::output::Rows;
use graphtide_isomorphism::prefix_tree::{PrefixTree, Sharing, Start};

use super::shared_searches::{BOUND, Effort, MANY, SearchEnd, SharedSearch, YOUNG};
use super::unit::SubgraphUnit;
use super::{Next, Subgraphs};
use crate::matcher::unit::LimitReached;
use crate::matcher::unit_ref::UnitRef;
use crate::matcher::work_budgets::WorkBudgets;

impl SearchEnd {
    /// What the record leads to, if the search ended the pass.
    #[inline]
    pub fn end(self) -> Option<Next> {
        match self {
            Self::Done | Self::TooLong => None,
            Self::Ended => Some(Next::End),
            Self::Limited => Some(Next::Limit),
        }
    }
}

impl Subgraphs {
    /// Searches for all members of a signature's tree, which is made first if it is due. The limit that ends the run is put
    /// where the pass keeps it.
    #[inline]
    pub fn search_shared<const TRACED: bool, const BOUNDED: bool>(
        &mut self,
        signature: SignatureId,
        arrival: &Arrival<'_>,
        budgets: &mut Option<WorkBudgets>,
        rows: &mut Rows,
        limit: &mut Option<LimitReached>,
        meter: &mut Meter<'_>,
    ) -> SearchEnd {
        if TRACED || !self.searches.has(signature) {
            return SearchEnd::Done;
        }
        self.search_tree::<BOUNDED>(signature, arrival, budgets, rows, limit, meter)
    }

    #[inline(never)]
    fn search_tree<const BOUNDED: bool>(
        &mut self,
        signature: SignatureId,
        arrival: &Arrival<'_>,
        budgets: &mut Option<WorkBudgets>,
        rows: &mut Rows,
        limit: &mut Option<LimitReached>,
        meter: &mut Meter<'_>,
    ) -> SearchEnd {
        self.plant_if_due(signature);
        self.grown += self.dispatch.shared(signature).len();
        let Some(SharedSearch { tree, unpaid, .. }) = self.searches.shared(signature) else { return SearchEnd::Done };
        let (before, began, held) = (rows.len(), Effort::of(rows, meter), rows.hold());
        meter.begin(BOUND);
        tree.search(arrival, &self.postings, rows, meter);
        let mut refusal = meter.end();
        if BOUNDED && Effort::of(rows, meter).steps_since(began) > *unpaid {
            refusal = refusal.or(Some(Refusal::WorkBudget));
        }
        if let Some(Refusal::WorkBudget | Refusal::Bytes) = refusal {
            rows.truncate(before);
        } else if BOUNDED && let Some(budgets) = budgets {
            for unit in rows.units_from(before) {
                budgets.spend(UnitRef::Subgraph(unit), MATCH.into());
                self.units[unit.place()].guard.counts.work += u64::from(MATCH);
            }
        }
        let full = rows.release(held, (arrival.store, arrival.names), meter);
        match refusal {
            None => full.map_or(SearchEnd::Done, |unit| self.refuse_full(unit, rows, limit, meter)),
            Some(Refusal::WorkBudget | Refusal::Bytes) => SearchEnd::TooLong,
            Some(Refusal::Ended(_)) => {
                for target in self.dispatch.shared(signature) {
                    let unit = &mut self.units[target.unit.place()];
                    unit.guard.shed = true;
                    rows.mark_shed(&unit.members);
                }
                SearchEnd::Ended
            }
        }
    }

    /// Does as the policy says, now that the matches of a member take more bytes than it may hold.
    #[cold]
    fn refuse_full(
        &mut self,
        unit: UnitId,
        rows: &mut Rows,
        limit: &mut Option<LimitReached>,
        meter: &mut Meter<'_>,
    ) -> SearchEnd {
        let Some(refusal) = meter.end() else { return SearchEnd::Done };
        let is_end = matches!(refusal, Refusal::Ended(_));
        let unit = &mut self.units[unit.place()];
        let refused = unit.refused(refusal, None, meter);
        rows.mark_shed(&unit.members);
        self.expel_paused();
        match refused {
            Err(reached) => {
                *limit = Some(reached);
                SearchEnd::Limited
            }
            Ok(_) if is_end => SearchEnd::Ended,
            Ok(_) => SearchEnd::Done,
        }
    }

    /// Whether searches of a unit of these signatures are to be shared: many query edges have one of them.
    pub fn are_shared(&self, signatures: &[SignatureId]) -> bool {
        signatures.iter().any(|&signature| self.dispatch.targets(signature).len() >= MANY)
    }

    /// Shares the searches of units that were made when there were few.
    pub fn share_first(&mut self) {
        let Self { units, postings, dispatch, .. } = self;
        for unit in units.iter_mut().filter(|unit| !unit.is_shared && !unit.members.is_empty()) {
            let is_many = |&signature: &SignatureId| dispatch.targets(signature).len() >= MANY;
            if unit.engine.searched().is_some() && unit.signatures.iter().any(is_many) {
                // Its engine knows lists by their numbers: somebody reads them all the while.
                let (reader, lists) = (unit.reader, std::mem::take(&mut unit.lists));
                unit.attach(postings, true);
                postings.leave(reader, &unit.signatures, &lists);
            }
        }
    }

    /// Lets the query edges of a unit wait for a tree, or leave theirs, as its plan says now.
    pub fn settle_shared(&mut self, number: UnitId) {
        let unit = &self.units[number.place()];
        let is_shared = unit.is_shared && !unit.guard.paused;
        let are_members = |&signature: &SignatureId| self.dispatch.shared(signature).iter().any(|target| target.unit == number);
        let (members, others): (Vec<_>, Vec<_>) = unit.distinct_signatures().into_iter().partition(are_members);
        if is_shared {
            for signature in others {
                let edges = unit.signatures.iter().filter(|&&its| its == signature).count();
                self.searches.come(signature, edges);
            }
        } else if !members.is_empty() {
            self.expel(number);
        }
    }

    /// Takes a unit out of all trees, so that it searches alone.
    #[cold]
    pub fn expel(&mut self, number: UnitId) {
        let unit = &mut self.units[number.place()];
        unit.is_shared = false;
        let signatures = unit.distinct_signatures();
        self.searches.leave(number, &signatures);
        for signature in signatures {
            self.dispatch.expel(number, signature);
        }
    }

    /// Takes units out of all trees that a limit stopped.
    pub fn expel_paused(&mut self) {
        let is_out = |unit: &SubgraphUnit| unit.is_shared && unit.guard.paused;
        let out: Vec<UnitId> =
            (0..).map(UnitId).zip(&self.units).filter(|(_, unit)| is_out(unit)).map(|(number, _)| number).collect();
        for number in out {
            self.expel(number);
        }
    }

    /// Takes units out of all trees that took much alone, and those that a limit stopped meanwhile. If none took much, the
    /// search of the signature may take longer.
    #[cold]
    pub fn expel_greedy(&mut self, signature: SignatureId) {
        if self.searches.greedy.is_empty() {
            self.searches.lengthen(signature);
        }
        while let Some(number) = self.searches.greedy.pop() {
            self.expel(number);
        }
        self.expel_paused();
    }

    /// What the searches of a unit do together with those of others, with the trees that are due by now.
    pub fn sharing(&mut self, number: UnitId) -> Sharing {
        let mut sharing = Sharing::default();
        for signature in self.units[number.place()].distinct_signatures() {
            self.plant_if_due(signature);
            if let Some(shared) = self.searches.shared(signature) {
                shared.tree.add_sharing(number, &mut sharing);
            }
        }
        sharing
    }

    /// Makes the tree of a signature if enough changed since it was made, or its lists have grown.
    #[inline]
    fn plant_if_due(&mut self, signature: SignatureId) {
        let hits = self.hits[signature.place()];
        if self.searches.shared(signature).is_some_and(|shared| shared.is_due(hits)) {
            self.plant(signature);
        }
    }

    /// Makes the tree of a signature of all that may share it.
    #[cold]
    fn plant(&mut self, signature: SignatureId) {
        let Self { units, postings, dispatch, searches, hits, .. } = self;
        let is_shared = |target: &Target| {
            let unit = &units[target.unit.place()];
            unit.is_shared && !unit.guard.paused
        };
        dispatch.share(signature, is_shared);
        let mut starts = Vec::new();
        for target in dispatch.shared(signature) {
            let unit = &units[target.unit.place()];
            if let Some(shape) = unit.engine.searched().filter(|shape| shape.completes(target.edge)) {
                let rings = unit.signatures.iter().map(|&of| postings.whole(of, unit.clock)).collect();
                starts.push(Start { unit: target.unit, query_edge: target.edge, shape, rings });
            }
        }
        if let Some(shared) = searches.shared(signature) {
            shared.tree = PrefixTree::new(&starts, postings);
            shared.changed = 0;
            shared.until = (hits[signature.place()] * 4).max(YOUNG);
        }
    }
}
