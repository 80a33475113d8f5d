//! A pattern under dual simulation, as the matcher sees it.
//!
//! The matcher hands over an edge once for each query edge that it satisfies; the engine takes it once, with all of them. What
//! it finds are components, of any size.

use graphtide_engine::arrival::{self, Deleted, Deletion};
use graphtide_engine::dispatch::{Asked, Loops};
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::expression::Expression;
use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_engine::limits::{self, Bounds};
use graphtide_engine::lists::Postings;
use graphtide_engine::meter::Meter;
use graphtide_engine::output::{ItemReport, Rows};
use graphtide_engine::pattern::Pattern;
use graphtide_engine::replay::Begun;
use graphtide_engine::trace::{Fates, Node, Part, Reason, Step, Tally, Tracer};
use graphtide_graph::Time;
use graphtide_graph::clock::{self, Clock, Now};

use crate::found::Found;
use crate::funnel::Funnel;
use crate::inquiry::{Came, End, Inquiries, Names};
use crate::probe::Probe;
use crate::query::{Arrival, Limits, Outcome, Query, QueryEdge, QueryError, Report, Variant};
use crate::simulation::{ConsumptionCursor, Course, Simulation};

/// The engine of one pattern, with what it found and the matcher has not yet.
#[derive(Debug)]
pub struct Simulated {
    unit: UnitId,
    engine: Simulation,
    /// Whether the engine asks something before it verifies.
    filters: bool,
    signatures: Vec<SignatureId>,
    bounds: Bounds,
    report: Report,
    clock: Clock,
    /// Whether its matches do not count yet.
    waits: bool,
    found: Found,
    /// The query; single edges are checked against it.
    query: Query,
    inquiries: Option<Box<Inquiries>>,
}

impl Simulated {
    /// Makes the engine of a pattern. Query edges with one signature are of one kind.
    pub fn new(
        unit: UnitId,
        (pattern, report): (&Pattern<'_>, Report),
        variant: Variant,
        signatures: &[SignatureId],
        limits: &limits::Limits,
    ) -> Result<Self, QueryError> {
        let query = query(pattern, report, |edge| signatures.get(edge).map_or(edge as u32, |signature| signature.0));
        let most = Limits { edges: limits.partial_matches, bytes: limits.state_bytes };
        Ok(Self {
            unit,
            waits: false,
            report: query.report,
            filters: variant != Variant::Baseline,
            clock: pattern.clock,
            engine: Simulation::new(&query, variant, most)?,
            signatures: signatures.to_vec(),
            bounds: Bounds::of(limits),
            found: Found::default(),
            query,
            inquiries: None,
        })
    }

    /// Why a pattern cannot be matched so; none if it can.
    pub fn flaw(pattern: &Pattern<'_>, report: Report, variant: Variant) -> Option<QueryError> {
        Simulation::new(&query(pattern, report, |edge| edge as u32), variant, Limits::default()).err()
    }

    /// Takes over what another engine of the same pattern knows; says whether its limits allow that.
    pub fn take_over(&mut self, other: &mut Self, meter: &mut Meter<'_>) -> bool {
        self.waits = other.waits;
        self.engine.take_over(&mut other.engine, meter)
    }

    /// What the engine did.
    pub fn work(&self) -> Funnel {
        self.engine.funnel()
    }

    /// Has a benchmark look on from now.
    pub fn set_probe(&mut self, probe: Probe) {
        self.engine.set_probe(probe);
    }

    /// Inquires into edges of these ids from now on, and into so many others that come near a match.
    pub fn inquire(&mut self, asked: Vec<String>, most: usize) {
        self.inquiries = Some(Box::new(Inquiries::new(self.query.clone(), self.clock, asked, most)));
    }

    /// What was found about single edges; none unless it was asked for.
    pub fn inquiries(&self) -> Option<&Inquiries> {
        self.inquiries.as_deref()
    }

    /// Lets edges of the past expire up to an instant of the window's clock, when the time is `ts`.
    ///
    /// Time passes by itself: in a window of time each edge expires at its own. Edges that are counted expire by another that
    /// comes.
    fn expire(&mut self, now: i64, ts: Time, rows: &mut Rows, meter: &mut Meter<'_>) {
        while let Some(at) = self.engine.next_expiry()
            && at <= now
        {
            let detected_at = match self.clock {
                // It was of use up to the bound, and is not beyond.
                Clock::Time => clock::subtract(at, 1),
                Clock::Edges => ts,
            };
            self.engine.advance(at, detected_at, &mut self.found, meter);
        }
        self.engine.advance(now, ts, &mut self.found, meter);
        self.hand_over(rows);
        self.close(ts, End::Expired);
    }

    fn close(&mut self, at: Time, end: End) {
        if let Some(inquiries) = &mut self.inquiries {
            inquiries.close(at, end, &self.engine);
        }
    }

    fn hand_over(&mut self, rows: &mut Rows) {
        for component in self.found.components() {
            let (pairs, former) = (self.found.pairs(component), self.found.former(component));
            rows.push_component(self.unit, (component.kind, component.detected_at, component.id), pairs, former);
        }
        self.found.clear();
    }
}

impl Engine for Simulated {
    fn lookback(&self) -> i64 {
        // Half-open, as that of the pattern.
        self.query.window + 1
    }

    /// Takes the edge as all query edges that it satisfies, if this is the first of them.
    fn insert<T: Tracer>(
        &mut self,
        arrival: &arrival::Arrival<'_>,
        query_edge: u8,
        _lists: &Postings,
        rows: &mut Rows,
        tracer: T,
        meter: &mut Meter<'_>,
    ) -> arrival::Outcome {
        let satisfied = |signature: &SignatureId| arrival.satisfied.contains(signature);
        if self.signatures[..usize::from(query_edge)].iter().any(satisfied) {
            return arrival::Outcome::Used;
        }
        let later = self.signatures[usize::from(query_edge)..].iter().enumerate();
        let fits = later.filter(|(_, signature)| satisfied(signature)).fold(0, |fits, (edge, _)| fits | 1 << edge);
        let taken = Arrival {
            edge: arrival.edge,
            ts: arrival.ts,
            at: arrival.at,
            source: arrival.source,
            target: arrival.target,
            fits: fits << query_edge,
        };
        self.expire(arrival.at, arrival.ts, rows, meter);
        let before = self.inquiries.is_some().then(|| self.engine.funnel());
        let outcome = self.engine.insert(&taken, &mut self.found, meter);
        if let (Some(inquiries), Some(before), Outcome::Kept | Outcome::Matched) = (&mut self.inquiries, before, outcome) {
            let names = Names { store: arrival.store, vertices: arrival.names };
            let came = Came::between(&before, &self.engine.funnel());
            inquiries.take((arrival.edge, taken.fits), came, names, &self.engine);
            inquiries.note(&self.found, names);
        }
        self.hand_over(rows);
        self.close(arrival.ts, End::Consumed);
        if T::ON {
            emit(tracer, taken.fits, outcome);
        }
        match outcome {
            Outcome::Kept | Outcome::Matched => arrival::Outcome::Used,
            Outcome::Consumed => arrival::Outcome::Discarded,
            Outcome::Limited(_) => arrival::Outcome::Limited(self.bounds),
        }
    }

    fn delete(&mut self, deleted: &Deleted, rows: &mut Rows, meter: &mut Meter<'_>) -> Deletion {
        let now = deleted.now;
        self.expire(now.on(self.clock), now.ts, rows, meter);
        self.engine.delete(deleted.edge, now.ts, &mut self.found, meter);
        self.hand_over(rows);
        self.close(now.ts, End::Deleted);
        Deletion::Reported
    }

    fn advance(&mut self, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        self.expire(now.on(self.clock), now.ts, rows, meter);
    }

    fn clear(&mut self, _meter: &mut Meter<'_>) {
        self.engine.clear();
        if let Some(inquiries) = &mut self.inquiries {
            inquiries.give_up();
        }
    }

    /// Edges held.
    #[inline]
    fn live(&self) -> usize {
        self.engine.live()
    }

    fn usage(&self) -> Usage {
        Usage { live: self.engine.live(), peak: self.engine.peak(), bytes: self.engine.bytes() }
    }

    fn end_time(&mut self, rows: &mut Rows, meter: &mut Meter<'_>) {
        // Edges that are counted expire by another that comes.
        if matches!(self.clock, Clock::Time) {
            self.engine.end_time(&mut self.found, meter);
            self.hand_over(rows);
        }
    }

    /// Also when edges expire, if it reports changes.
    fn emits_expiry(&self) -> bool {
        self.report == Report::Changes
    }

    #[inline]
    fn next_expiry(&self) -> Option<i64> {
        self.engine.next_expiry()
    }

    fn may_consume(&self) -> bool {
        true
    }

    /// How far consumption has come, if that is of use and its matches count, or counted when it was set.
    fn consumption(&self) -> Option<ConsumptionCursor> {
        match (self.report, self.waits) {
            (Report::Maximal | Report::Changes, _) => None,
            (Report::Instances, true) => self.engine.cursor(),
            (Report::Instances, false) => Some(self.engine.cursor().unwrap_or(ConsumptionCursor::NOTHING)),
        }
    }

    fn wait(&mut self, consumption: Option<ConsumptionCursor>) {
        if self.report == Report::Instances {
            self.waits = true;
            self.engine.set_cursor(consumption);
            self.engine.set_course(Course::Restoring);
        }
    }

    /// If nothing is known of what it consumed, it consumes as it would have if the edges of the window were the first.
    fn begin(&mut self, now: Now, rows: &mut Rows, meter: &mut Meter<'_>) {
        if std::mem::take(&mut self.waits) {
            self.expire(now.on(self.clock), now.ts, rows, meter);
            if self.engine.cursor().is_none() {
                self.engine.warm(meter);
            }
            self.engine.set_course(Course::Live);
        }
    }

    /// Where it waits for its beginning, it consumes nothing; otherwise, what it would have consumed, or did.
    fn begin_replay(&mut self, begun: Begun) {
        self.engine.set_course(Course::Restoring);
        match (self.report, begun) {
            (Report::Maximal | Report::Changes, _) => {}
            (Report::Instances, Begun::Not(consumption)) => self.wait(consumption),
            (Report::Instances, Begun::Now) => self.engine.set_course(Course::Warming),
            (Report::Instances, Begun::Before(consumption)) => self.engine.set_cursor(Some(consumption)),
        }
    }

    fn count_from(&mut self, ts: Time, before: u32) {
        match self.clock {
            Clock::Time => self.engine.count_from(ConsumptionCursor { at: ts, ties: before }),
            // Each edge has a place of its own.
            Clock::Edges => {}
        }
    }

    fn end_replay(&mut self) {
        if !self.waits {
            self.engine.set_course(Course::Live);
        }
    }
}

impl Explained for Simulated {
    /// It has one item: the edges held.
    fn report(&self) -> Vec<ItemReport> {
        vec![ItemReport {
            name: "held".into(),
            live: self.engine.live() as u64,
            peak: self.engine.peak() as u64,
            created: self.engine.funnel().taken,
            node_bytes: (self.engine.bytes() / self.engine.live().max(1)) as u64,
        }]
    }

    fn steps(&self) -> Vec<(Step, Tally)> {
        let did = self.engine.funnel();
        let verify = |part| Step { node: Node::Verify, part };
        let mut steps = vec![(Node::Held.step(), Tally::of(did.taken, &[]))];
        if self.filters {
            let refused =
                [(Reason::Ends, did.searched - did.red), (Reason::Order, did.early), (Reason::Incomplete, did.incomplete())];
            steps.push((Node::Filter.step(), Tally::of(did.searched, &refused)));
        }
        let unmatched = did.refuted_nearby + did.unmatched();
        let refused = [(Reason::Unmatched, unmatched), (Reason::Limit, did.nearby_cut + did.verified_cut)];
        steps.push((Node::Verify.step(), Tally::of(did.verifications_due, &refused)));
        let refused = [(Reason::Unmatched, did.refuted_nearby), (Reason::Limit, did.nearby_cut)];
        steps.push((verify(Part::Nearby), Tally::of(did.nearby, &refused)));
        let refused = [(Reason::Unmatched, did.unmatched()), (Reason::Limit, did.verified_cut)];
        steps.push((verify(Part::Connected), Tally::of(did.verified(), &refused)));
        steps.push((verify(Part::Remainder), Tally::of(did.remainders, &[])));
        let removed = [
            (Reason::Ends, did.removed_by_ends),
            (Reason::Order, did.removed_by_timing),
            (Reason::Distinct, did.removed_by_distinctness),
        ];
        steps.push((verify(Part::Pairs), Tally::of(did.pairs, &removed)));
        steps.retain(|(_, tally)| tally.looked_at > 0);
        steps
    }

    fn fates(&self) -> Option<(Node, Fates)> {
        let did = self.engine.funnel();
        let alive = self.engine.live() as u64;
        let expired = did.taken - alive - did.deleted - did.consumed - did.forgotten;
        let Funnel { taken: created, deleted, forgotten: given_up, consumed, .. } = did;
        Some((Node::Held, Fates { created, alive, expired, deleted, given_up, consumed }))
    }
}

/// What the edges of a pattern ask, given the predicates that each decides alone. Two query vertices may be one data vertex,
/// and a query vertex several.
pub fn asked<'a>(pattern: Pattern<'a>, alone: &[Vec<Expression>]) -> impl Iterator<Item = Asked<'a>> {
    pattern.edges.iter().zip(alone).map(move |(edge, alone)| {
        let asked = Asked::new(&pattern, edge, Loops::Any, alone);
        if edge.source == edge.target { asked.of_both_ends() } else { asked }
    })
}

/// Reports the query edges that an edge was taken for.
fn emit<T: Tracer>(mut tracer: T, fits: u64, outcome: Outcome) {
    for edge in (0..u64::BITS as u8).filter(|edge| fits >> edge & 1 == 1) {
        let step = Node::Kept { edge }.step();
        match outcome {
            Outcome::Kept | Outcome::Matched => {
                tracer.look(step);
                tracer.pass(step);
            }
            Outcome::Limited(_) => {
                tracer.look(step);
                tracer.refuse(step, Reason::Limit, None);
            }
            // The engine before it took the edge and reported it.
            Outcome::Consumed => {}
        }
    }
}

fn query(pattern: &Pattern<'_>, report: Report, kind: impl Fn(usize) -> u32) -> Query {
    let edges = pattern.edges.iter().enumerate();
    Query {
        vertices: pattern.vertices.len(),
        edges: edges.map(|(place, edge)| QueryEdge { source: edge.source, target: edge.target, kind: kind(place) }).collect(),
        before: pattern.order.to_vec(),
        // The pattern's is half-open.
        window: pattern.window - 1,
        report,
    }
}
