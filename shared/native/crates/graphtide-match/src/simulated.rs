//! A pattern under dual simulation, as the matcher sees it.
//!
//! The matcher hands over an edge once for each query edge that it satisfies; the engine takes it once, with all of them. What it
//! finds are components, of any size.

use graphtide_engine::meter::Meter;
use graphtide_graph::Time;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_simulation::{
    Arrival, Course, Found, Frontier, Limits, Outcome, Query, QueryEdge, QueryError, Report, Simulation, Variant,
};

use crate::dispatch::SignatureId;
use crate::output::{ItemReport, Rows};
use crate::plan::{self, PatternSpec, ReportSpec};
use crate::timing::{self, Bounds};

/// The engine of one pattern, with what it found and the matcher has not yet.
#[derive(Debug)]
pub struct Simulated {
    pattern: u32,
    engine: Simulation,
    signatures: Vec<SignatureId>,
    bounds: Bounds,
    report: Report,
    /// The last edge that the engine before it consumed, with its time.
    consumed_before: Option<(Time, EdgeRef)>,
    found: Found,
}

impl Simulated {
    /// Makes the engine of a pattern. Query edges with one signature are of one kind.
    pub fn new(pattern: u32, spec: &PatternSpec, variant: Variant, signatures: &[SignatureId]) -> Result<Self, QueryError> {
        let plan::Limits { partial_matches, state_bytes, .. } = spec.limits;
        let query = query(spec, |edge| signatures.get(edge).copied().unwrap_or(edge as u32));
        let limits = Limits { edges: partial_matches, bytes: state_bytes };
        Ok(Self {
            pattern,
            consumed_before: None,
            report: query.report,
            engine: Simulation::new(&query, variant, limits)?,
            signatures: signatures.to_vec(),
            bounds: Bounds { partial_matches: partial_matches.unwrap_or(u64::MAX), bytes: state_bytes.unwrap_or(u64::MAX) },
            found: Found::default(),
        })
    }

    /// Why a pattern cannot be matched so; none if it can.
    pub fn flaw(spec: &PatternSpec, variant: Variant) -> Option<QueryError> {
        Simulation::new(&query(spec, |edge| edge as u32), variant, Limits::default()).err()
    }

    /// Takes an edge as all query edges that it satisfies, if this is the first of them.
    pub fn insert(
        &mut self,
        arrival: &timing::Arrival<'_>,
        query_edge: u8,
        rows: &mut Rows,
        meter: &mut Meter<'_>,
    ) -> timing::Outcome {
        let satisfied = |signature: &SignatureId| arrival.satisfied.contains(signature);
        if self.signatures[..usize::from(query_edge)].iter().any(satisfied) {
            return timing::Outcome::Used;
        }
        let later = self.signatures[usize::from(query_edge)..].iter().enumerate();
        let fits = later.filter(|(_, signature)| satisfied(signature)).fold(0, |fits, (edge, _)| fits | 1 << edge);
        let taken = Arrival {
            edge: arrival.edge,
            ts: arrival.ts,
            at: arrival.ts,
            source: arrival.source,
            target: arrival.target,
            fits: fits << query_edge,
        };
        self.advance(arrival.ts, rows, meter);
        let outcome = self.engine.insert(&taken, &mut self.found, meter);
        self.hand_over(rows);
        match outcome {
            Outcome::Kept | Outcome::Matched => timing::Outcome::Used,
            Outcome::Consumed => timing::Outcome::Discarded,
            Outcome::Limited(_) => timing::Outcome::Limited(self.bounds),
        }
    }

    /// Lets edges of the past expire, each at its own time.
    pub fn advance(&mut self, now: Time, rows: &mut Rows, meter: &mut Meter<'_>) {
        while let Some(at) = self.engine.next_expiry()
            && at <= now
        {
            // It was of use up to the bound, and is not beyond.
            self.engine.advance(at, at.saturating_sub(1), &mut self.found, meter);
        }
        self.engine.advance(now, now, &mut self.found, meter);
        self.hand_over(rows);
    }

    /// Lets a deleted edge take no further part.
    pub fn delete(&mut self, edge: EdgeRef, now: Time, rows: &mut Rows, meter: &mut Meter<'_>) {
        self.advance(now, rows, meter);
        self.engine.delete(edge, now, &mut self.found, meter);
        self.hand_over(rows);
    }

    /// Whether it tells what changes, also when edges expire.
    pub fn tells_changes(&self) -> bool {
        self.report == Report::Changes
    }

    /// When there is something to be told though no edge comes; none where expiry is not told.
    pub fn next_expiry(&self) -> Option<Time> {
        self.engine.next_expiry()
    }

    /// Forgets all edges.
    pub fn clear(&mut self) {
        self.engine.clear();
        self.consumed_before = None;
    }

    /// The last edge that was consumed, with its time.
    pub fn consumed(&self) -> Option<(Time, EdgeRef)> {
        let here = self.engine.frontier().zip(self.engine.consumed());
        here.map(|(frontier, edge)| (frontier.at, edge)).or(self.consumed_before)
    }

    /// Takes edges that come now for such as came before the pattern, of which nothing is told.
    pub fn begin_warming(&mut self) {
        // Only what is consumed follows from what would have been told.
        self.engine.set_course(if self.report == Report::Instances { Course::Warming } else { Course::Restoring });
    }

    /// Takes edges that come now for such as another engine had for the same pattern: which it consumed is known.
    ///
    /// `consumed` is the last edge that it consumed, if that is still in the window; `edges` are those to come, in stream order.
    pub fn begin_restoring(&mut self, consumed: Option<(Time, EdgeRef)>, edges: &[EdgeRef], store: &EdgeStore) {
        self.consumed_before = consumed;
        self.engine.set_frontier(consumed.map(|(at, last)| {
            let of_tick: Vec<EdgeRef> = edges.iter().copied().filter(|&edge| store.get(edge).ts == at).collect();
            let mut before_last = store.refs().filter(|&edge| store.get(edge).ts == at).take_while(|&edge| edge != last);
            // It may have been deleted since.
            let ties =
                before_last.by_ref().filter(|edge| of_tick.contains(edge)).count() + usize::from(of_tick.contains(&last));
            Frontier { at, ties: ties as u32 }
        }));
        self.engine.set_course(Course::Restoring);
    }

    /// Takes edges for new ones again.
    pub fn end_replay(&mut self) {
        self.engine.set_course(Course::Live);
    }

    /// Edges held.
    pub fn live(&self) -> usize {
        self.engine.live()
    }

    /// Most edges ever held at once.
    pub fn peak(&self) -> usize {
        self.engine.peak()
    }

    /// Bytes of state alive.
    pub fn bytes(&self) -> usize {
        self.engine.bytes()
    }

    /// What it holds and held: edges.
    pub fn report(&self) -> Vec<ItemReport> {
        vec![ItemReport {
            name: "held".into(),
            live: self.live() as u64,
            peak: self.peak() as u64,
            created: self.engine.funnel().taken,
            node_bytes: (self.bytes() / self.live().max(1)) as u64,
        }]
    }

    fn hand_over(&mut self, rows: &mut Rows) {
        for component in self.found.components() {
            let (pairs, former) = (self.found.pairs(component), self.found.former(component));
            rows.push_component(self.pattern, (component.kind, component.detected_at, component.id), pairs, former);
        }
        self.found.clear();
    }
}

fn query(spec: &PatternSpec, kind: impl Fn(usize) -> u32) -> Query {
    let edges = spec.edges.iter().enumerate();
    Query {
        vertices: spec.vertices.len(),
        edges: edges.map(|(place, edge)| QueryEdge { source: edge.source, target: edge.target, kind: kind(place) }).collect(),
        before: spec.order.clone(),
        // The pattern's is half-open.
        window: spec.window - 1,
        report: match spec.report {
            None | Some(ReportSpec::Maximal) => Report::Maximal,
            Some(ReportSpec::Instances) => Report::Instances,
            Some(ReportSpec::Changes) => Report::Changes,
        },
    }
}
