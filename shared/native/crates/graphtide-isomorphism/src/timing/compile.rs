//! A TC decomposition compiled: for every query edge and every join, which item to probe, by which key, and what to check.
//!
//! Reference: paper 004, sections 3.1 to 3.3, 4.1 and 7.

use graphtide_engine::trace::Node;

use crate::plan::Storage;
use crate::shape::{Shape, bits};

/// Position of an item in the engine's list.
pub type ItemId = usize;

/// Up to two query vertices whose data vertices make a hash key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct KeyVertices(pub Option<u8>, pub Option<u8>);

impl KeyVertices {
    fn of(shared: u128) -> Self {
        let mut vertices = vertices(shared);
        Self(vertices.next(), vertices.next())
    }
}

/// What an item's nodes stand for.
#[derive(Clone, Debug)]
pub enum ItemKind {
    /// Prefix of a timing sequence, up to and with `edge`: the paper's `L_i^j`.
    Prefix {
        /// Subquery.
        subquery: usize,
        /// Length of the prefix less one.
        depth: usize,
    },
    /// Union of the subqueries up to and with `level`: the paper's `L_0^i`.
    Union {
        /// Last subquery joined.
        level: usize,
    },
}

/// One item.
#[derive(Clone, Debug)]
pub struct ItemPlan {
    /// What it stores.
    pub kind: ItemKind,
    /// Key of its index, if it is ever probed.
    pub key: Option<KeyVertices>,
    /// Words of a node's payload.
    pub payload: usize,
}

/// How an edge extends the prefix before it.
#[derive(Clone, Debug)]
pub struct Extension {
    /// Item of the prefix.
    pub prefix: ItemId,
    /// Whether the edge's source and target are bound by the prefix.
    pub bound: (bool, bool),
    /// Vertices of the prefix that a vertex it does not bind must differ from.
    pub differ: Vec<u8>,
    /// Predicates across edges to check.
    pub predicates: Vec<u16>,
}

/// How the union of subqueries `0..level` meets subquery `level`.
#[derive(Clone, Debug)]
pub struct Join {
    /// Item of the union.
    pub left: ItemId,
    /// Item of the whole subquery.
    pub right: ItemId,
    /// Key on both sides.
    pub key: KeyVertices,
    /// Shared vertices beyond the key.
    pub equal: Vec<u8>,
    /// Pairs of vertices (left, right) that must differ.
    pub differ: Vec<(u8, u8)>,
    /// Pairs of edges (earlier, later), one on each side.
    pub order: Vec<(u8, u8)>,
    /// Pairs of edges (left, right) that must not be one data edge.
    pub distinct: Vec<(u8, u8)>,
    /// Predicates across edges to check.
    pub predicates: Vec<u16>,
}

/// The whole plan.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// How partial matches are stored.
    pub storage: Storage,
    /// Timing sequences in join order.
    pub subqueries: Vec<Vec<u8>>,
    /// For every query edge, its subquery and depth there.
    pub positions: Vec<(usize, usize)>,
    /// Items.
    pub items: Vec<ItemPlan>,
    /// For every query edge beyond the first of its subquery, its extension.
    pub extensions: Vec<Option<Extension>>,
    /// For every subquery and depth, its item; none where nothing reads it: a whole pattern that is one subquery.
    pub prefixes: Vec<Vec<Option<ItemId>>>,
    /// For every level, the item of the union; none for the whole pattern.
    pub unions: Vec<Option<ItemId>>,
    /// For every level from 1, how it is joined.
    pub joins: Vec<Join>,
}

fn vertices(set: u128) -> impl Iterator<Item = u8> {
    (0..128_u8).filter(move |&vertex| set >> vertex & 1 == 1)
}

fn edge_set(edges: &[u8]) -> u64 {
    edges.iter().fold(0, |set, &edge| set | 1 << edge)
}

impl Compiled {
    /// Compiles a decomposition that was checked against its pattern.
    pub fn new(shape: &Shape, subqueries: Vec<Vec<u8>>, storage: Storage) -> Self {
        let mut positions = vec![(0, 0); shape.ends.len()];
        for (subquery, sequence) in subqueries.iter().enumerate() {
            for (depth, &edge) in sequence.iter().enumerate() {
                positions[usize::from(edge)] = (subquery, depth);
            }
        }
        let mut plan = Self {
            storage,
            positions,
            items: Vec::new(),
            extensions: vec![None; shape.ends.len()],
            prefixes: Vec::new(),
            unions: Vec::new(),
            joins: Vec::new(),
            subqueries,
        };
        plan.add_prefixes(shape);
        plan.add_unions(shape);
        plan
    }

    fn add_item(&mut self, kind: ItemKind, key: Option<KeyVertices>, payload: usize) -> ItemId {
        self.items.push(ItemPlan { kind, key, payload });
        self.items.len() - 1
    }

    /// Edges of the subqueries up to and with `level`.
    fn union_edges(&self, level: usize) -> u64 {
        self.subqueries[..=level].iter().fold(0, |set, sequence| set | edge_set(sequence))
    }

    /// Key between the union below `level` and subquery `level`.
    fn join_key(&self, shape: &Shape, level: usize) -> KeyVertices {
        let left = shape.vertices_of(self.union_edges(level - 1));
        KeyVertices::of(left & shape.vertices_of(edge_set(&self.subqueries[level])))
    }

    fn add_prefixes(&mut self, shape: &Shape) {
        let count = self.subqueries.len();
        for (subquery, sequence) in self.subqueries.clone().iter().enumerate() {
            let mut items = Vec::new();
            for (depth, &edge) in sequence.iter().enumerate() {
                let bound = edge_set(&sequence[..depth]);
                if depth > 0 {
                    self.extensions[usize::from(edge)] = Some(extension(shape, items[depth - 1], bound, edge));
                }
                let payload = if self.storage == Storage::Independent { depth + 1 } else { 2 };
                let kind = ItemKind::Prefix { subquery, depth };
                let item = if let Some(&after) = sequence.get(depth + 1) {
                    let (source, target) = shape.ends[usize::from(after)];
                    let seen = shape.vertices_of(bound | 1 << edge);
                    let key =
                        KeyVertices((seen >> source & 1 == 1).then_some(source), (seen >> target & 1 == 1).then_some(target));
                    Some(self.add_item(kind, Some(key), payload))
                } else if count == 1 {
                    None
                } else if subquery == 0 {
                    // Merged with the first level of the union's tree in the DAG (section 7.1); apart from it otherwise.
                    let key = (self.storage == Storage::MsDag).then(|| self.join_key(shape, 1));
                    Some(self.add_item(kind, key, payload))
                } else {
                    let key = self.join_key(shape, subquery);
                    Some(self.add_item(kind, Some(key), payload))
                };
                items.push(item);
            }
            self.prefixes.push(items);
        }
    }

    fn add_unions(&mut self, shape: &Shape) {
        let count = self.subqueries.len();
        let whole = |plan: &Self, subquery: usize| plan.prefixes[subquery].last().copied().flatten();
        for level in 0..count {
            let edges = self.union_edges(level).count_ones() as usize;
            let payload = match self.storage {
                Storage::Independent => edges,
                Storage::MsTree => 1 + self.subqueries[level].len(),
                Storage::MsDag => 2,
            };
            let item = if level + 1 == count {
                None
            } else if level == 0 && self.storage == Storage::MsDag {
                whole(self, 0)
            } else {
                let key = self.join_key(shape, level + 1);
                Some(self.add_item(ItemKind::Union { level }, Some(key), payload))
            };
            self.unions.push(item);
        }
        for level in 1..count {
            let (left, right) = (self.union_edges(level - 1), edge_set(&self.subqueries[level]));
            if let (Some(left_item), Some(right_item)) = (self.unions[level - 1], whole(self, level)) {
                let key = self.join_key(shape, level);
                self.joins.push(join(shape, (left_item, left), (right_item, right), key));
            }
        }
    }

    /// What an item is called: `L2.1` for an expansion list, `L0.2` for a union.
    pub fn item_name(&self, item: ItemId) -> String {
        match self.items[item].kind {
            ItemKind::Prefix { subquery, depth } => format!("L{}.{}", subquery + 1, depth + 1),
            ItemKind::Union { level } => format!("L0.{}", level + 1),
        }
    }
}

/// The step that an item stores the partial matches of; none if another item stores them, too.
pub fn step(kind: &ItemKind) -> Option<Node> {
    match *kind {
        ItemKind::Prefix { subquery, depth } => Some(Node::Prefix { subquery: subquery as u8, depth: depth as u8 }),
        ItemKind::Union { level: 0 } => None,
        ItemKind::Union { level } => Some(Node::Union { level: level as u8 }),
    }
}

/// The query edges that partial matches of a step bind, in join order.
pub fn bound_by(subqueries: &[Vec<u8>], node: Node) -> impl Iterator<Item = u8> {
    let (whole, part) = match node {
        Node::Prefix { subquery, depth } => (0..0, &subqueries[usize::from(subquery)][..=usize::from(depth)]),
        Node::Union { level } => (0..usize::from(level) + 1, &[][..]),
        _ => (0..0, &[][..]),
    };
    subqueries[whole].iter().flatten().chain(part).copied()
}

fn extension(shape: &Shape, prefix: Option<ItemId>, bound: u64, edge: u8) -> Extension {
    let (source, target) = shape.ends[usize::from(edge)];
    let seen = shape.vertices_of(bound);
    Extension {
        // Only the last edge of a sequence can lack an item, and it is no one's prefix.
        prefix: prefix.unwrap_or_default(),
        bound: (seen >> source & 1 == 1, seen >> target & 1 == 1),
        differ: if shape.vertices_may_coincide { Vec::new() } else { vertices(seen).collect() },
        predicates: shape.predicates_between(bound, 1 << edge),
    }
}

fn join(shape: &Shape, (left_item, left): (ItemId, u64), (right_item, right): (ItemId, u64), key: KeyVertices) -> Join {
    let (seen_left, seen_right) = (shape.vertices_of(left), shape.vertices_of(right));
    let shared = seen_left & seen_right;
    let differ = if shape.vertices_may_coincide {
        Vec::new()
    } else {
        // A shared vertex differs from the others of its own side already, on both sides.
        let mut pairs = Vec::new();
        for a in vertices(seen_left & !shared) {
            pairs.extend(vertices(seen_right & !shared).map(|b| (a, b)));
        }
        pairs
    };
    debug_assert!(bits(left & right).next().is_none());
    Join {
        left: left_item,
        right: right_item,
        key,
        equal: vertices(shared).skip(2).collect(),
        differ,
        order: shape.order_between(left, right),
        distinct: shape.may_coincide(left, right),
        predicates: shape.predicates_between(left, right),
    }
}
