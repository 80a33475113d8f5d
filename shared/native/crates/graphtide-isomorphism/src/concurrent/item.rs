//! Items of an expansion list for concurrent use: immutable nodes that share their prefixes.
//!
//! A node keeps its parent alive, and a virtual node its leaf, for as long as someone reads them. A transaction that deletes a
//! node takes it out of its item and no more. So earlier transactions still reach it by backtracking while later ones do not
//! find it. That is the paper's partial removal (section 5.3) with the memory given back by counting references.

use graphtide_engine::meter::Meter;
use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::value::{OwnedValue, ValueRef};
use graphtide_graph::vertex::Vertex;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::sync::Arc;
use super::sync::atomic::{AtomicBool, Ordering};

/// A data edge, with what partial matches and predicates ask of it.
#[derive(Debug)]
pub struct SharedEdge {
    /// Its number in the pattern, in stream order.
    pub number: u64,
    /// Event time.
    pub ts: Time,
    /// When it came, on the clock of the window.
    pub at: i64,
    /// Source vertex.
    pub source: Vertex,
    /// Target vertex.
    pub target: Vertex,
    /// The edge in the shared store.
    pub edge: EdgeRef,
    /// What predicates across edges read; none where the pattern has no such predicate.
    pub facts: Option<Facts>,
    deleted: AtomicBool,
}

/// What predicates across edges may read of an edge.
#[derive(Debug)]
pub struct Facts {
    /// Kept attributes, by column.
    pub attributes: Vec<OwnedValue>,
    /// Id of the edge, names of its source and target.
    pub texts: [Box<str>; 3],
}

impl Facts {
    /// Reads an attribute.
    pub fn attribute(&self, column: u16) -> ValueRef<'_> {
        self.attributes.get(usize::from(column)).map_or(ValueRef::Null, OwnedValue::get)
    }
}

impl SharedEdge {
    /// Makes an edge.
    pub fn new(number: u64, (ts, at): (Time, i64), ends: (Vertex, Vertex), edge: EdgeRef, facts: Option<Facts>) -> Self {
        Self { number, ts, at, source: ends.0, target: ends.1, edge, facts, deleted: AtomicBool::new(false) }
    }

    /// Marks the edge as deleted; no transaction is under way.
    pub fn delete(&self) {
        self.deleted.store(true, Ordering::SeqCst);
    }

    /// Whether the edge was deleted.
    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::SeqCst)
    }
}

/// A partial match.
#[derive(Debug)]
pub struct Node {
    /// What it adds to its parent.
    pub part: Part,
    /// The partial match it extends.
    pub parent: Option<Arc<Node>>,
    /// Number of its oldest edge.
    pub oldest: u64,
}

/// What a node adds.
#[derive(Clone, Debug)]
pub enum Part {
    /// An edge, in a match-store tree.
    Edge(Arc<SharedEdge>),
    /// The match of a whole subquery, by its leaf: a virtual node.
    Leaf(Arc<Node>),
}

/// Nodes of one item.
#[derive(Debug, Default)]
pub struct Nodes {
    buckets: HashMap<u64, Vec<Arc<Node>>, FxBuildHasher>,
    by_oldest: HashMap<u64, Vec<u64>, FxBuildHasher>,
}

impl Nodes {
    /// Adds a node under a key.
    pub fn add(&mut self, key: u64, node: Arc<Node>) {
        self.by_oldest.entry(node.oldest).or_default().push(key);
        self.buckets.entry(key).or_default().push(node);
    }

    /// Nodes of a key, as they are now; none if the meter refuses to copy them.
    pub fn get(&self, key: u64, meter: &mut Meter<'_>) -> Vec<Arc<Node>> {
        let found = self.buckets.get(&key).filter(|nodes| meter.charge(nodes.len() as u32));
        found.cloned().unwrap_or_default()
    }

    /// All nodes, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.buckets.values().flatten()
    }

    /// The nodes whose oldest edge has that number, each with how many nodes were looked at for it.
    pub fn of_oldest(&self, oldest: u64) -> impl Iterator<Item = (usize, &Arc<Node>)> {
        let mut keys = self.by_oldest.get(&oldest).cloned().unwrap_or_default();
        keys.sort_unstable();
        keys.dedup();
        let buckets = keys.into_iter().filter_map(|key| self.buckets.get(&key));
        buckets.flat_map(move |bucket| bucket.iter().filter(move |node| node.oldest == oldest).map(|node| (bucket.len(), node)))
    }

    /// Takes out the nodes whose oldest edge has that number; returns how many.
    pub fn remove(&mut self, oldest: u64) -> usize {
        let Some(keys) = self.by_oldest.remove(&oldest) else { return 0 };
        for key in &keys {
            let Some(bucket) = self.buckets.get_mut(key) else { continue };
            if let Some(place) = bucket.iter().position(|node| node.oldest == oldest) {
                bucket.remove(place);
            }
            if bucket.is_empty() {
                self.buckets.remove(key);
            }
        }
        keys.len()
    }
}
