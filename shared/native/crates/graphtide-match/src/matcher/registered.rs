//! One pattern in a matcher: its engine, its limits, its counts.

use std::sync::Arc;

use graphtide_engine::arrival::{Arrival, Outcome};
use graphtide_engine::ids::{ReaderId, RingId, SignatureId};
use graphtide_engine::limits::{LimitPolicy, Limits};
use graphtide_engine::lists::{Access, Gate, Postings};
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::{ItemReport, PatternNames, Rows};
use graphtide_engine::trace::{Fates, Node, Step, Tally, Trace, Tracer, Untraced};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::store::EdgeRef;
use graphtide_isomorphism::concurrent::{Concurrent, Drained};
use graphtide_isomorphism::filtering::Filtering;
use graphtide_isomorphism::search::Search;
use graphtide_isomorphism::sj_tree::SjTree;
use graphtide_isomorphism::timing::Timing;
use graphtide_simulation::inquiry::Inquiries;
use graphtide_simulation::simulated::{Begun, Simulated};
use graphtide_simulation::{Frontier, Probe};

use super::allowances::Bounded;

/// The engine of a pattern.
#[derive(Debug)]
pub enum Engine {
    /// Expansion lists.
    Timing(Box<Timing>),
    /// Expansion lists on several threads.
    Concurrent(Box<Concurrent>),
    /// Joins along a tree of primitives.
    SjTree(Box<SjTree>),
    /// Local search.
    Search(Box<Search>),
    /// Local search among filtered candidates.
    Filtering(Box<Filtering>),
    /// Dual simulation.
    Simulation(Box<Simulated>),
}

/// Counts of one pattern since it was registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edges that satisfied a query edge and were discarded at once: no match could hold them (Lemma 1).
    pub discarded: u64,
    /// Matches reported.
    pub matches: u64,
    /// Times that a match was told to have grown.
    pub extensions: u64,
    /// Matches retracted.
    pub retractions: u64,
    /// Times that a partial match or a search was given up at a limit.
    pub limited: u64,
    /// Steps of work, if work is bounded.
    pub work: u64,
}

/// A registered pattern.
#[derive(Debug)]
pub struct Registered {
    /// Names for the output.
    pub names: Arc<PatternNames>,
    /// What matches it.
    pub engine: Engine,
    /// Length of its window.
    pub window: i64,
    /// What the window counts.
    pub clock: Clock,
    /// Signatures of its edges, by position.
    pub signatures: Vec<SignatureId>,
    /// How many records satisfied each of them before it was added.
    pub hits_before: Vec<u64>,
    /// Who it is to the shared lists.
    pub reader: ReaderId,
    /// The shared lists that it reads, each once.
    pub lists: Vec<RingId>,
    /// Bounds.
    pub limits: Limits,
    /// Counts.
    pub counts: Counts,
    /// Whether a limit stopped it.
    pub paused: bool,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Whether a limit made it give up partial matches.
    pub shed: bool,
    /// Whether its engine may hold something since an edge came to it.
    pub is_occupied: bool,
    /// What is told of it, if it is traced.
    pub trace: Option<Box<Trace>>,
}

/// A bound that was reached under the policy to fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {pattern:?} reached its limit of {limit}")]
pub struct LimitReached {
    /// The pattern.
    pub pattern: String,
    /// The bound.
    pub limit: String,
}

impl Registered {
    /// Inserts an edge as one query edge, telling the tracer; says whether the edge is held now.
    #[inline]
    pub fn insert<T: Tracer>(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        if self.paused {
            return Ok(false);
        }
        match &mut self.engine {
            Engine::Search(search) => {
                search.insert(arrival, query_edge, postings, rows, tracer, meter);
                Ok(false)
            }
            Engine::Filtering(filtering) => {
                filtering.insert(arrival, query_edge, postings, rows, tracer, meter);
                Ok(false)
            }
            // Whether the edge is of use is known when the transaction has run; until then it is held.
            Engine::Concurrent(lists) => {
                lists.allow(meter.remaining());
                lists.insert(arrival, query_edge, meter);
                Ok(true)
            }
            Engine::Timing(timing) => {
                let outcome = timing.insert(arrival, query_edge, rows, tracer, meter);
                self.settle(outcome, meter)
            }
            Engine::SjTree(tree) => {
                let outcome = tree.insert(arrival, query_edge, postings, rows, tracer, meter);
                self.settle(outcome, meter)
            }
            Engine::Simulation(simulated) => {
                let outcome = simulated.insert(arrival, query_edge, rows, tracer, meter);
                self.settle(outcome, meter)
            }
        }
    }

    /// As [`insert`](Self::insert), telling the pattern's trace.
    pub fn insert_traced(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        let Some(mut trace) = self.trace.take() else {
            return self.insert(arrival, query_edge, postings, rows, Untraced, meter);
        };
        trace.expire(arrival.at, arrival.store, arrival.names);
        let (discarded, was_paused) = (self.counts.discarded, self.paused);
        let inserted = self.insert(arrival, query_edge, postings, rows, &mut *trace, meter);
        let is_remembered = trace.arrived(arrival.store);
        if self.counts.discarded > discarded {
            trace.discard(query_edge);
        }
        if self.paused && !was_paused {
            trace.clear();
        }
        self.trace = Some(trace);
        inserted.map(|is_held| is_held || is_remembered)
    }

    /// Tells the trace for which query edges an edge was kept that has these signatures.
    pub fn trace_kept(&mut self, satisfied: &[SignatureId], edge: EdgeRef, postings: &Postings) {
        let (Some(trace), Engine::Filtering(filtering)) = (&mut self.trace, &self.engine) else { return };
        for (query_edge, signature) in (0..).zip(&self.signatures) {
            if satisfied.contains(signature) && filtering.keeps(query_edge) {
                trace.keep(query_edge, postings.has_just(filtering.list(query_edge), edge));
            }
        }
    }

    /// Inquires into edges of these ids, and into such as come near a match, if it is traced and under dual simulation.
    pub fn inquire(&mut self, ids: &[String]) {
        if let (Engine::Simulation(simulated), Some(trace)) = (&mut self.engine, &self.trace) {
            simulated.inquire(ids.to_vec(), trace.shown());
        }
    }

    /// What was found about single edges.
    pub fn inquiries(&self) -> Option<&Inquiries> {
        match &self.engine {
            Engine::Simulation(simulated) => simulated.inquiries(),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => None,
        }
    }

    /// What its engine counts by itself of the steps of its plan, traced or not.
    pub fn own_steps(&self) -> Vec<(Step, Tally)> {
        match &self.engine {
            Engine::Simulation(simulated) => simulated.steps(),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => {
                Vec::new()
            }
        }
    }

    /// What its engine knows by itself of what it stored.
    pub fn own_fates(&self) -> Option<(Node, Fates)> {
        match &self.engine {
            Engine::Simulation(simulated) => Some((Node::Held, simulated.fates())),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => None,
        }
    }

    /// Place of a query edge in the searches from another.
    pub fn place(&self, start: u8, edge: u8) -> usize {
        match &self.engine {
            Engine::Search(search) => search.place(start, edge),
            Engine::Filtering(filtering) => filtering.place(start, edge),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Simulation(_) => 0,
        }
    }

    /// The query edges that a partial match stored at a node waits for.
    pub fn waits_for(&self, node: Node) -> Vec<u8> {
        match &self.engine {
            Engine::Timing(timing) => timing.waits_for(node),
            Engine::SjTree(tree) => tree.waits_for(node),
            Engine::Concurrent(_) | Engine::Search(_) | Engine::Filtering(_) | Engine::Simulation(_) => Vec::new(),
        }
    }

    #[inline]
    fn settle(&mut self, outcome: Outcome, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        match outcome {
            Outcome::Discarded => {
                self.counts.discarded += 1;
                Ok(false)
            }
            Outcome::Used => Ok(true),
            Outcome::Limited(bound) => {
                self.at_limit(&bound.to_string(), meter)?;
                Ok(true)
            }
        }
    }

    /// Bytes that each of the lists read may take, if the oldest are to be given up beyond.
    pub fn postings_bound(&self) -> Option<u64> {
        let (Some(bytes), LimitPolicy::Shed) = (self.limits.state_bytes, self.limits.policy) else { return None };
        // A join tree keeps the other half for its tables.
        let share = if matches!(self.engine, Engine::SjTree(_)) { bytes / 2 } else { bytes };
        share.checked_div(self.lists.len() as u64)
    }

    /// Whether an edge can be of use at once as a query edge, and what must be there then, as far as that is known without the
    /// pattern.
    pub fn gates(&self, query_edge: u8) -> (bool, [Option<Gate>; 2]) {
        match &self.engine {
            Engine::Search(search) => (true, [search.gate(query_edge), None]),
            Engine::Filtering(filtering) => (filtering.completes(query_edge), filtering.gates(query_edge)),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Simulation(_) => (true, [None; 2]),
        }
    }

    /// Has the lists kept that it reads.
    pub fn attach(&mut self, postings: &mut Postings) {
        self.reader = postings.reader();
        if let Engine::Filtering(filtering) = &mut self.engine {
            filtering.attach(self.reader, postings);
            self.lists = filtering.lists().filter(|&ring| postings.reads(self.reader, ring)).collect();
        } else {
            let reads = self.reads();
            for &(ring, access) in &reads {
                postings.serve(self.reader, ring, access, self.window);
            }
            self.lists = reads.into_iter().map(|(ring, _)| ring).collect();
        }
        postings.release_unread(&self.signatures);
        self.lists.sort_unstable();
        self.lists.dedup();
        if let Some(bytes) = self.postings_bound() {
            for &ring in &self.lists {
                postings.limit(self.reader, ring, bytes);
            }
        }
    }

    /// For each of its edges, how many records could be it by themselves since it was added; `all` counts those of signatures.
    pub fn hits(&self, all: &[u64]) -> impl Iterator<Item = u64> {
        self.signatures.iter().zip(&self.hits_before).map(|(&signature, before)| all[signature as usize] - before)
    }

    /// Whether it works on other threads.
    pub fn has_threads(&self) -> bool {
        matches!(self.engine, Engine::Concurrent(_))
    }

    /// The lists of whole signatures that its searches read.
    fn reads(&self) -> Vec<(RingId, Access)> {
        match &self.engine {
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::Filtering(_) | Engine::Simulation(_) => Vec::new(),
            Engine::SjTree(tree) => tree.reads().to_vec(),
            Engine::Search(search) => search.reads().collect(),
        }
    }

    /// Whether there is nothing more to be done about its state.
    fn gave_up(&self) -> bool {
        self.paused || (self.shed && self.limits.policy == LimitPolicy::Shed)
    }

    /// Does as the policy says if the pattern takes more bytes than it may, with the lists that it reads.
    pub fn check_bytes(&mut self, postings: &Postings, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        match self.limits.state_bytes {
            Some(bound) if !self.gave_up() && self.bytes(postings) as u64 >= bound => {
                self.at_limit(&format!("{bound} bytes of state"), meter)
            }
            _ => Ok(()),
        }
    }

    /// Does as the policy says, now that an insertion was cut; where all work ends it is only noted that matches may be missing.
    #[cold]
    pub fn refused(&mut self, refusal: Refusal, bounded: Option<Bounded>, meter: &mut Meter<'_>) -> Result<bool, LimitReached> {
        match (refusal, bounded) {
            (Refusal::Allowance, Some(bounded)) => self.at_limit(&bounded.to_string(), meter)?,
            (Refusal::Allowance, None) | (Refusal::Ended(_), _) => self.shed = true,
        }
        Ok(true)
    }

    /// Does as the policy says, now that a limit was reached.
    #[cold]
    pub fn at_limit(&mut self, limit: &str, meter: &mut Meter<'_>) -> Result<(), LimitReached> {
        self.counts.limited += 1;
        if self.limit.as_deref() != Some(limit) {
            self.limit = Some(limit.to_owned());
        }
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: self.names.name.clone(), limit: limit.to_owned() }),
            LimitPolicy::Pause => {
                self.paused = true;
                self.shed = true;
                match &mut self.engine {
                    Engine::Timing(timing) => timing.clear(meter),
                    Engine::Concurrent(lists) => lists.clear(meter),
                    Engine::SjTree(tree) => tree.clear(meter),
                    Engine::Simulation(simulated) => simulated.clear(),
                    Engine::Search(_) | Engine::Filtering(_) => {}
                }
                Ok(())
            }
            LimitPolicy::Shed => {
                self.shed = true;
                Ok(())
            }
        }
    }

    /// Drops the state that left the window; what is to be told of that goes to the rows.
    pub fn expire(&mut self, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        let alive_from = now.alive_from(self.clock, self.window);
        match &mut self.engine {
            Engine::Timing(timing) => timing.expire(alive_from, meter),
            Engine::Concurrent(lists) => lists.expire(alive_from, meter),
            Engine::SjTree(tree) => tree.expire(alive_from, meter),
            Engine::Simulation(simulated) => simulated.advance(now.on(self.clock), now.ts, rows, meter),
            Engine::Search(_) | Engine::Filtering(_) => {}
        }
    }

    /// Lets a deleted edge take no further part, which came at `born`; what the engine itself tells of that goes to the rows.
    pub fn delete(&mut self, (born, edge): (Now, EdgeRef), now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        match &mut self.engine {
            Engine::Timing(timing) => timing.delete(born.on(self.clock), edge),
            Engine::Concurrent(lists) => lists.delete(edge, meter),
            Engine::Simulation(simulated) => simulated.delete(edge, now, rows, meter),
            // They read the marks of the store and of the postings.
            Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => {}
        }
    }

    /// Takes edges that come now for such as came before it.
    pub fn begin_replay(&mut self, begun: Begun) {
        if let Some(simulated) = self.simulated_mut() {
            simulated.begin_replay(begun);
        }
    }

    /// Takes edges for new ones again.
    pub fn end_replay(&mut self) {
        if let Some(simulated) = self.simulated_mut() {
            simulated.end_replay();
        }
    }

    /// Takes over what another engine of the same pattern knows, where it can: says whether its limits allow that; else nothing,
    /// and the edges of the window are to be taken again.
    pub fn take_over(&mut self, other: &mut Self, meter: &mut Meter<'_>) -> Option<bool> {
        Some(self.simulated_mut()?.take_over(other.simulated_mut()?, meter))
    }

    /// Its engine, if it is one of dual simulation.
    pub fn simulated_mut(&mut self) -> Option<&mut Simulated> {
        match &mut self.engine {
            Engine::Simulation(simulated) => Some(simulated),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => None,
        }
    }

    /// What its engine knows that does not follow from the edges of the window.
    pub fn residue(&self) -> Option<Frontier> {
        self.simulated()?.residue()
    }

    /// Whether it may ever have something to tell though no edge comes.
    pub fn has_times(&self) -> bool {
        match &self.engine {
            Engine::Simulation(simulated) => simulated.tells_changes(),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => false,
        }
    }

    /// When it has something to tell though no edge comes for it, on the clock of its window.
    #[inline]
    pub fn next_expiry(&self) -> Option<i64> {
        match &self.engine {
            Engine::Simulation(simulated) => simulated.next_expiry(),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => None,
        }
    }

    /// Waits for work on other threads, hands over the matches it found, and says what else came of it.
    pub fn drain(&mut self, rows: &mut Rows, meter: &mut Meter<'_>) -> Drained {
        let Engine::Concurrent(lists) = &mut self.engine else { return Drained::default() };
        let drained = lists.drain(rows, meter);
        self.counts.discarded = lists.discarded();
        drained
    }

    /// Steps that other threads took since the last time.
    #[inline]
    pub fn taken_elsewhere(&self) -> u64 {
        match &self.engine {
            Engine::Concurrent(lists) => lists.taken(),
            Engine::Timing(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) | Engine::Simulation(_) => 0,
        }
    }

    /// Partial matches alive.
    #[inline]
    pub fn live(&self) -> usize {
        match &self.engine {
            Engine::Timing(timing) => timing.live(),
            Engine::Concurrent(lists) => lists.live(),
            Engine::SjTree(tree) => tree.live(),
            Engine::Simulation(simulated) => simulated.live(),
            Engine::Search(_) | Engine::Filtering(_) => 0,
        }
    }

    /// Whether its matches may be incomplete: a limit made it give up something, or a list that it reads.
    pub fn has_shed(&self, postings: &Postings) -> bool {
        self.shed || self.lists.iter().any(|&ring| postings.has_shed(ring))
    }

    /// Whether its engine holds something that may expire, or may do so on another thread.
    pub fn holds(&self) -> bool {
        self.has_threads() || self.live() > 0 || self.own_bytes() > 0
    }

    /// Most partial matches ever alive at once.
    pub fn peak(&self) -> usize {
        match &self.engine {
            Engine::Timing(timing) => timing.peak(),
            Engine::Concurrent(lists) => lists.peak(),
            Engine::SjTree(tree) => tree.peak(),
            Engine::Simulation(simulated) => simulated.peak(),
            Engine::Search(_) | Engine::Filtering(_) => 0,
        }
    }

    /// Bytes of state alive that no other pattern shares.
    pub fn own_bytes(&self) -> usize {
        match &self.engine {
            Engine::Timing(timing) => timing.bytes(),
            Engine::Concurrent(lists) => lists.bytes(),
            Engine::SjTree(tree) => tree.bytes(),
            Engine::Simulation(simulated) => simulated.bytes(),
            Engine::Search(_) | Engine::Filtering(_) => 0,
        }
    }

    /// Bytes of state alive; postings that patterns share count for each.
    pub fn bytes(&self, postings: &Postings) -> usize {
        self.own_bytes() + self.lists.iter().map(|&ring| postings.bytes(ring)).sum::<usize>()
    }

    /// What each item of the plan holds and held.
    pub fn report(&self) -> Vec<ItemReport> {
        match &self.engine {
            Engine::Timing(timing) => timing.report(),
            Engine::Concurrent(lists) => lists.report(),
            Engine::SjTree(tree) => tree.report(),
            Engine::Simulation(simulated) => simulated.report(),
            Engine::Search(_) | Engine::Filtering(_) => Vec::new(),
        }
    }

    /// The engine, if it is one of dual simulation.
    pub fn simulated(&self) -> Option<&Simulated> {
        match &self.engine {
            Engine::Simulation(simulated) => Some(simulated),
            Engine::Timing(_) | Engine::Concurrent(_) | Engine::SjTree(_) | Engine::Search(_) | Engine::Filtering(_) => None,
        }
    }

    /// Has a benchmark look on from now, if this is dual simulation.
    pub(super) fn set_probe(&mut self, probe: Probe) {
        if let Some(simulated) = self.simulated_mut() {
            simulated.set_probe(probe);
        }
    }
}
