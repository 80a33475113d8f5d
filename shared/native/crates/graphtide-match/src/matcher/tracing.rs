//! What a traced pass saw: by query edge, which records were none and why; what became of single edges; the steps of each plan.
//!
//! What units did with edges that they took is in their own traces; here it gets the names of the plan.
//! Cost: nothing where nothing is traced; else a look at each record for every signature.

use graphtide_engine::dispatch::Dispatch;
use graphtide_engine::engine::Explained;
use graphtide_engine::ids::SignatureId;
use graphtide_engine::trace::{Fates, NearMiss, Node, Part, Reason, Tally};
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_simulation::inquiry::{End, Inquiry, Named};
use graphtide_simulation::simulated::Simulated;

use super::query::Query;
use super::subgraphs::unit::SubgraphUnit;
use super::window::Window;

/// What one step of a plan looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunnelStep {
    /// Name of the node in the plan.
    pub node: String,
    /// The query edge that the step takes on arrival or looks up, if it does one of them, and which.
    pub part: Part,
    /// What it looked at.
    pub tally: Tally,
}

/// The funnel of one pattern: from the records of the stream to its matches.
#[derive(Clone, Debug)]
pub struct Funnel<'a> {
    /// For every query edge, the insertions seen and why they could not be it by themselves.
    pub edges: Vec<Tally>,
    /// For every query edge, the candidates that came to nothing on arrival (Lemma 1).
    pub discarded: &'a [u64],
    /// The steps that looked at something.
    pub steps: Vec<FunnelStep>,
    /// The nodes that stored something.
    pub stores: Vec<(String, Fates)>,
    /// What was found about single edges.
    pub answers: Vec<Answer<'a>>,
    /// What came furthest before the window passed it, with the node's name and the query edges that it waited for.
    pub misses: Vec<(String, Vec<u8>, &'a NearMiss)>,
}

/// An edge that was asked about, as it came.
#[derive(Clone, Debug)]
struct SeenEdge {
    id: String,
    ts: Time,
    /// By signature: why it is not what is asked for.
    refused: Vec<Option<Reason>>,
}

/// What is asked of single edges.
#[derive(Debug, Default)]
struct Asked {
    ids: Vec<String>,
    seen: Vec<SeenEdge>,
}

/// What was found about one edge.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its time.
    pub ts: Time,
    /// The query edges that it is not by itself, and why; of an edge that was chosen this is not known.
    pub refused: Vec<(u8, Reason)>,
    /// What became of it; none if it fits no query edge, or was not held.
    pub inquiry: Option<&'a Inquiry>,
    /// How and when it left, if it did.
    pub end: Option<(Time, End)>,
    /// What it lacks for each query edge that it fits; nothing if it had a match.
    pub lacks: Vec<Named>,
}

/// What a pass is asked to trace, and what it saw.
#[derive(Debug, Default)]
pub struct Tracing {
    /// For every signature, the insertions seen; if patterns are traced.
    seen: Option<Vec<Tally>>,
    asked: Option<Asked>,
}

impl Tracing {
    /// Traces so many signatures.
    pub fn begin(&mut self, signatures: usize) {
        self.seen = Some(vec![Tally::default(); signatures]);
    }

    /// Whether patterns are traced.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.seen.is_some()
    }

    /// Looks for edges of these ids from now on.
    pub fn ask(&mut self, ids: Vec<String>) {
        self.asked = Some(Asked { ids, seen: Vec::new() });
    }

    /// Notes for every signature whether an insertion satisfies it.
    pub fn see(&mut self, batch: &EdgeBatch, row: usize, dispatch: &Dispatch, window: &Window) {
        let record = window.record(batch, row);
        for (signature, tally) in (0..).zip(self.seen.iter_mut().flatten()) {
            tally.looked_at += 1;
            match dispatch.refusal(SignatureId(signature), &record) {
                Some(reason) => tally.refused.add(reason),
                None => tally.passed += 1,
            }
        }
        let Some(asked) = &mut self.asked else { return };
        let id = batch.id(row).to_string();
        if asked.ids.contains(&id) {
            let refused =
                (0..).take(dispatch.len()).map(|signature| dispatch.refusal(SignatureId(signature), &record)).collect();
            asked.seen.push(SeenEdge { id, ts: batch.ts()[row], refused });
        }
    }

    fn answers<'a>(&'a self, unit: &'a SubgraphUnit, now: Time) -> Vec<Answer<'a>> {
        let Some(inquiries) = unit.engine.simulated().and_then(Simulated::inquiries) else { return Vec::new() };
        let all = inquiries.all();
        let lacks = |inquiry: &Inquiry| match inquiry.matched {
            Some(_) => Vec::new(),
            None => inquiry.lacks(inquiries.query()),
        };
        let end = |inquiry: &Inquiry| inquiries.end(inquiry, now);
        let seen = self.asked.iter().flat_map(|asked| &asked.seen).map(|seen| {
            let inquiry =
                all.iter().copied().find(|found| found.chosen.is_none() && (&found.id, found.ts) == (&seen.id, seen.ts));
            let refused = unit.signatures.iter().map(|&signature| seen.refused[signature.place()]);
            let refused = (0..).zip(refused).filter_map(|(edge, reason)| reason.map(|reason| (edge, reason))).collect();
            let end = inquiry.and_then(end);
            Answer { id: &seen.id, ts: seen.ts, refused, inquiry, end, lacks: inquiry.map_or_else(Vec::new, lacks) }
        });
        let chosen = all.iter().copied().filter(|inquiry| inquiry.chosen.is_some()).map(|inquiry| Answer {
            id: &inquiry.id,
            ts: inquiry.ts,
            refused: Vec::new(),
            inquiry: Some(inquiry),
            end: end(inquiry),
            lacks: lacks(inquiry),
        });
        seen.chain(chosen).collect()
    }

    /// The funnel of a pattern; none if it is not traced.
    pub fn funnel<'a>(&'a self, query: &'a Query, unit: &'a SubgraphUnit, window: &Window) -> Option<Funnel<'a>> {
        let (seen, trace) = (self.seen.as_ref()?, unit.trace.as_ref()?);
        let name = |node| node_name(query, unit, node);
        Some(Funnel {
            edges: unit.signatures.iter().map(|&signature| seen[signature.place()]).collect(),
            discarded: trace.discarded(),
            steps: trace
                .steps()
                .map(|(step, tally)| (step, *tally))
                .chain(unit.engine.steps())
                .map(|(step, tally)| FunnelStep { node: name(step.node), part: step.part, tally })
                .collect(),
            stores: trace
                .fates(&window.store)
                .into_iter()
                .chain(unit.engine.fates())
                .map(|(node, fates)| (name(node), fates))
                .collect(),
            answers: self.answers(unit, window.clocks.time()),
            misses: trace.misses().iter().map(|miss| (name(miss.node), waits_for(unit, miss), miss)).collect(),
        })
    }
}

fn waits_for(unit: &SubgraphUnit, miss: &NearMiss) -> Vec<u8> {
    miss.dead_end.map_or_else(|| unit.engine.waits_for(miss.node), |dead_end| vec![dead_end.edge])
}

/// What a node is called in plans: `L2.1`, `L0.2`; `P1`, `J2`; `a.kept`, `a.3`; `held`, `filter`, `verify`.
pub fn node_name(query: &Query, unit: &SubgraphUnit, node: Node) -> String {
    let edge = |edge: u8| &query.names.edges[usize::from(edge)];
    match node {
        Node::Prefix { subquery, depth } => format!("L{}.{}", subquery + 1, depth + 1),
        Node::Union { level } => format!("L0.{}", level + 1),
        Node::Leaf { level } => format!("P{}", level + 1),
        Node::Join { level } => format!("J{}", level + 1),
        Node::Held => "held".into(),
        Node::Filter => "filter".into(),
        Node::Verify => "verify".into(),
        Node::Kept { edge: kept } => format!("{}.kept", edge(kept)),
        Node::Search { start, edge: bound } => format!("{}.{}", edge(start), unit.engine.place(start, bound) + 1),
    }
}
