//! What was told of the patterns, in the names of their plans.

use graphtide_graph::batch::EdgeBatch;

use super::{Matcher, Record, Registered};
use crate::trace::{Fates, NearMiss, Node, Part, Tally};

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
    /// What came furthest before the window passed it, with the node's name and the query edges that it waited for.
    pub misses: Vec<(String, Vec<u8>, &'a NearMiss)>,
}

impl Matcher {
    /// Notes for every signature whether an insertion satisfies it.
    pub(super) fn see(&mut self, batch: &EdgeBatch, row: usize) {
        let record = Record { batch, row, labels: self.labels.as_deref().unwrap_or_default() };
        for (signature, tally) in (0..).zip(self.seen.iter_mut().flatten()) {
            tally.looked_at += 1;
            match self.dispatch.refusal(signature, &record) {
                Some(reason) => tally.refused.add(reason),
                None => tally.passed += 1,
            }
        }
    }

    /// Lets go of the partial matches that the window has passed, while the store still has the edges that traces name.
    pub(super) fn expire_traces(&mut self) {
        for trace in self.patterns.iter_mut().filter_map(|pattern| pattern.trace.as_mut()) {
            trace.expire(self.now, &self.store, &self.vertices);
        }
    }

    /// The funnel of a pattern; none if it is not traced.
    pub fn funnel<'a>(&'a self, pattern: &'a Registered) -> Option<Funnel<'a>> {
        let (seen, trace) = (self.seen.as_ref()?, pattern.trace.as_ref()?);
        let name = |node| node_name(pattern, node);
        Some(Funnel {
            edges: pattern.signatures.iter().map(|&signature| seen[signature as usize]).collect(),
            discarded: trace.discarded(),
            steps: trace
                .steps()
                .map(|(step, tally)| (step, *tally))
                .chain(pattern.own_steps())
                .map(|(step, tally)| FunnelStep { node: name(step.node), part: step.part, tally })
                .collect(),
            stores: trace
                .fates(&self.store)
                .into_iter()
                .chain(pattern.own_fates())
                .map(|(node, fates)| (name(node), fates))
                .collect(),
            misses: trace.misses().iter().map(|miss| (name(miss.node), waits_for(pattern, miss), miss)).collect(),
        })
    }
}

fn waits_for(pattern: &Registered, miss: &NearMiss) -> Vec<u8> {
    miss.dead_end.map_or_else(|| pattern.waits_for(miss.node), |dead_end| vec![dead_end.edge])
}

/// What a node is called in plans: `L2.1`, `L0.2`; `P1`, `J2`; `a.kept`, `a.3`; `held`, `filter`, `verify`.
fn node_name(pattern: &Registered, node: Node) -> String {
    let edge = |edge: u8| &pattern.names.edges[usize::from(edge)];
    match node {
        Node::Prefix { subquery, depth } => format!("L{}.{}", subquery + 1, depth + 1),
        Node::Union { level } => format!("L0.{}", level + 1),
        Node::Leaf { level } => format!("P{}", level + 1),
        Node::Join { level } => format!("J{}", level + 1),
        Node::Held => "held".into(),
        Node::Filter => "filter".into(),
        Node::Verify => "verify".into(),
        Node::Kept { edge: kept } => format!("{}.kept", edge(kept)),
        Node::Search { start, edge: bound } => format!("{}.{}", edge(start), pattern.place(start, bound) + 1),
    }
}
