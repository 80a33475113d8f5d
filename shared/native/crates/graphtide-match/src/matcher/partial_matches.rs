//! The partial matches of a pattern, in its names: how many are stored by step of the plan, and those nearest to completion.
//!
//! What stands here names no engine: edges by name and id, bound vertices, what is awaited, and until when. Engines that store
//! partial matches say so; of the others there are the sizes of what they hold instead.

use graphtide_engine::engine::Engine;
use graphtide_engine::nearest::{Nearest, PartialMatch};
use graphtide_engine::output::ItemReport;
use graphtide_graph::Time;
use graphtide_graph::clock::{self, Clock};
use serde::{Serialize, Serializer};

use super::query::Query;
use super::subgraphs::unit::SubgraphUnit;
use super::tracing::node_name;
use super::window::Window;

/// The partial matches of a pattern.
#[derive(Clone, Debug, Serialize)]
pub struct PartialMatches {
    /// Time of the stream; none before the first record.
    pub time: Option<Time>,
    /// Whether the engine stores partial matches.
    pub stored: bool,
    /// Whether there may be nearer ones: the budget ended the walk.
    pub truncated: bool,
    /// The steps of the plan that store something.
    pub steps: Vec<CountedStep>,
    /// Those nearest to completion, nearest first.
    pub nearest: Vec<NearMatch>,
}

/// What a step of the plan stores.
#[derive(Clone, Debug, Serialize)]
pub struct CountedStep {
    /// Its name in the plan.
    pub name: String,
    /// Names of the query edges that its partial matches bind; empty if it stores something else.
    pub edges: Vec<String>,
    /// How many are stored.
    pub alive: u64,
}

/// A partial match.
#[derive(Clone, Debug, Serialize)]
pub struct NearMatch {
    /// Query edges with their data edges, in the order of the text.
    #[serde(serialize_with = "as_map")]
    pub edges: Vec<(String, BoundEdge)>,
    /// Query vertices with their data vertices, in the order of the text.
    #[serde(serialize_with = "as_map")]
    pub vertices: Vec<(String, String)>,
    /// Query edges that it lacks, in the order of the text.
    pub awaited: Vec<String>,
    /// First time at which its oldest edge is not in the window; none if the window counts edges.
    pub until: Option<Time>,
}

/// A data edge of a partial match.
#[derive(Clone, Debug, Serialize)]
pub struct BoundEdge {
    /// Its id.
    pub id: String,
    /// Its time.
    pub ts: Time,
}

fn as_map<S: Serializer, V: Serialize>(pairs: &[(String, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
}

impl PartialMatches {
    /// Of a pattern whose engine stores something else: the sizes of that.
    pub fn sizes(time: Option<Time>, items: Vec<ItemReport>) -> Self {
        let steps = items.into_iter().map(|ItemReport { name, live, .. }| CountedStep { name, edges: Vec::new(), alive: live });
        Self { time, stored: false, truncated: false, steps: steps.collect(), nearest: Vec::new() }
    }
}

/// A pattern with its unit and the window that has their edges.
#[derive(Debug)]
pub struct Named<'a> {
    /// The pattern.
    pub query: &'a Query,
    /// Its unit.
    pub unit: &'a SubgraphUnit,
    /// The window.
    pub window: &'a Window,
}

impl Named<'_> {
    /// The partial matches that an engine counted and offered.
    pub fn all(&self, time: Option<Time>, nearest: Nearest) -> PartialMatches {
        let truncated = nearest.is_truncated();
        let (steps, partials) = nearest.into_parts();
        let steps = steps.into_iter().map(|step| {
            let mut edges = step.edges;
            edges.sort_unstable();
            CountedStep {
                name: node_name(self.query, self.unit, step.node),
                edges: edges.into_iter().map(|edge| self.edge(edge)).collect(),
                alive: step.live,
            }
        });
        PartialMatches {
            time,
            stored: true,
            truncated,
            steps: steps.collect(),
            nearest: partials.into_iter().map(|partial| self.one(partial)).collect(),
        }
    }

    fn one(&self, PartialMatch { rank, mut bound, .. }: PartialMatch) -> NearMatch {
        let Window { store, vertices: table, .. } = self.window;
        bound.sort_unstable_by_key(|&(query_edge, _)| query_edge);
        let names = &self.query.names;
        let mut vertices = vec![None; names.vertices.len()];
        for &(query_edge, edge) in &bound {
            let ((source, target), stored) = (names.ends_of(query_edge), store.get(edge));
            vertices[usize::from(source)] = Some(stored.source);
            vertices[usize::from(target)] = Some(stored.target);
        }
        let is_bound = |query_edge: u8| bound.iter().any(|&(other, _)| other == query_edge);
        let (_, oldest, _) = rank;
        NearMatch {
            edges: bound
                .iter()
                .map(|&(query_edge, edge)| {
                    (self.edge(query_edge), BoundEdge { id: store.id(edge).to_string(), ts: store.get(edge).ts })
                })
                .collect(),
            vertices: (names.vertices.iter().zip(vertices))
                .filter_map(|(name, vertex)| Some((name.clone(), table.name(vertex?).to_string())))
                .collect(),
            awaited: (0..names.edges.len() as u8).filter(|&edge| !is_bound(edge)).map(|edge| self.edge(edge)).collect(),
            until: if self.unit.clock == Clock::Time { clock::find_sum(oldest, self.unit.engine.lookback()) } else { None },
        }
    }

    fn edge(&self, edge: u8) -> String {
        self.query.names.edges[usize::from(edge)].clone()
    }
}
