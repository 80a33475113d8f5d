//! One transaction: the insertion of an edge as one query edge, or the deletion of what expires with an edge.
//!
//! A transaction uses its items in the order in which it asked for them. Reading an item copies references to its nodes; nodes
//! never change, so the join itself runs outside the lock.

use graphtide_engine::arrival::Drained;
use graphtide_engine::expression::{Bindings, Operand};
use graphtide_engine::limits::Bounds;
use graphtide_engine::meter::{MATCH, Meter, Pace, Refusal};
use graphtide_engine::output::ItemReport;
use graphtide_graph::Time;
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use super::item::{Node, Nodes, Part, SharedEdge};
use super::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use super::sync::{Arc, RwLock};
use super::wait_list::{Mode, Transaction, WaitList};
use crate::plan::Locking;
use crate::shape::Shape;
use crate::timing::{Compiled, ItemId, Join, KeyVertices};

/// Bytes of a node: itself, its counts of references, its places in a bucket and in the list of its oldest edge.
pub const NODE_BYTES: usize = size_of::<Node>() + 2 * size_of::<usize>() + 2 * size_of::<u64>();

/// What a transaction does.
#[derive(Debug)]
pub enum Work {
    /// Inserts an edge as a query edge.
    Insert {
        /// The edge.
        edge: Arc<SharedEdge>,
        /// The query edge.
        query_edge: u8,
    },
    /// Deletes the partial matches whose oldest edge has that number.
    Delete {
        /// The edge's number.
        oldest: u64,
        /// Subqueries that the edge begins a match of.
        begins: Vec<usize>,
    },
}

/// A match found by a transaction.
#[derive(Debug)]
pub struct Found {
    /// Time of the edge that completed it.
    pub ts: Time,
    /// Data edges by query position.
    pub edges: Vec<EdgeRef>,
    /// Data vertices by query position.
    pub vertices: Vec<Vertex>,
}

/// One item.
#[derive(Debug, Default)]
pub struct Item {
    list: WaitList,
    /// Its partial matches.
    pub nodes: RwLock<Nodes>,
    /// How many there are.
    pub live: AtomicUsize,
    peak: AtomicUsize,
    created: AtomicU64,
}

/// The expansion lists of a pattern.
#[derive(Debug)]
pub struct Lists {
    /// The pattern.
    pub shape: Shape,
    /// The plan.
    pub plan: Compiled,
    /// The items of the plan.
    pub items: Vec<Item>,
    locking: Locking,
    bounds: Bounds,
    live: AtomicUsize,
    peak: AtomicUsize,
    discarded: AtomicU64,
    limited: AtomicBool,
    /// Matches that nobody has taken yet; they count as partial matches do.
    waiting: AtomicUsize,
    /// Whether transactions are to end as soon as they can.
    halted: AtomicBool,
    /// Steps that transactions may take, and those they took.
    work_budget: AtomicU64,
    taken: AtomicU64,
    refused: AtomicBool,
}

/// Workers end when they are notified, and never pause.
impl Pace for Lists {
    fn rest(&self) -> bool {
        !self.halted.load(Ordering::Relaxed)
    }
}

/// Edges and vertices by query position.
#[derive(Clone, Debug)]
pub struct Binding {
    /// Edges; none where the position is not bound.
    pub edges: Vec<Option<Arc<SharedEdge>>>,
    vertices: Vec<Vertex>,
}

/// A partial match that the transaction made, and its node where it is stored.
struct Made {
    binding: Binding,
    node: Option<Arc<Node>>,
}

impl Lists {
    /// Makes empty lists.
    pub fn new(shape: Shape, plan: Compiled, locking: Locking, bounds: Bounds) -> Self {
        let items = plan.items.iter().map(|_| Item::default()).collect();
        Self {
            shape,
            plan,
            items,
            locking,
            bounds,
            live: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            discarded: AtomicU64::new(0),
            limited: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            halted: AtomicBool::new(false),
            work_budget: AtomicU64::new(u64::MAX),
            taken: AtomicU64::new(0),
            refused: AtomicBool::new(false),
        }
    }

    /// Appends the lock requests of a transaction, in the order of their use.
    pub fn request(&self, transaction: Transaction, work: &Work) {
        for (item, mode) in self.uses(work) {
            self.items[item].list.request(transaction, mode);
        }
    }

    fn uses(&self, work: &Work) -> Vec<(ItemId, Mode)> {
        let plan = &self.plan;
        let whole = |subquery: usize| plan.prefixes[subquery].last().copied().flatten();
        let mut uses = Vec::new();
        let mut add = |item: Option<ItemId>, mode: Mode| uses.extend(item.map(|item| (item, mode)));
        match work {
            Work::Insert { query_edge, .. } => {
                let (subquery, depth) = plan.positions[usize::from(*query_edge)];
                if depth > 0 {
                    add(plan.prefixes[subquery][depth - 1], Mode::Shared);
                }
                add(plan.prefixes[subquery][depth], Mode::Exclusive);
                if depth + 1 < plan.subqueries[subquery].len() {
                    return uses;
                }
                if subquery > 0 {
                    add(plan.unions[subquery - 1], Mode::Shared);
                    add(plan.unions[subquery], Mode::Exclusive);
                }
                for level in subquery + 1..plan.subqueries.len() {
                    add(whole(level), Mode::Shared);
                    add(plan.unions[level], Mode::Exclusive);
                }
            }
            Work::Delete { begins, .. } => {
                for &subquery in begins {
                    plan.prefixes[subquery].iter().for_each(|&item| add(item, Mode::Exclusive));
                }
                // The first level of the union is the first subquery's own last item.
                let first = begins.iter().copied().min().unwrap_or(0).max(1);
                plan.unions[first..].iter().for_each(|&item| add(item, Mode::Exclusive));
            }
        }
        uses
    }

    /// Runs a transaction whose requests were appended; returns the matches it completes.
    pub fn run(&self, transaction: Transaction, work: Work) -> Vec<Found> {
        let mut locks = Locks::begin(self, transaction, self.uses(&work));
        match work {
            Work::Delete { oldest, .. } => {
                while let Some(&(item, _)) = locks.rest.first() {
                    let removed = locks.exclusive(item, |nodes| nodes.remove(oldest));
                    self.items[item].live.fetch_sub(removed, Ordering::Relaxed);
                    self.live.fetch_sub(removed, Ordering::Relaxed);
                }
                Vec::new()
            }
            Work::Insert { .. } if !self.rest() => {
                self.refused.store(true, Ordering::Relaxed);
                Vec::new()
            }
            Work::Insert { edge, query_edge } => {
                let mut meter = Meter::unbounded(self);
                meter.begin(self.work_budget.load(Ordering::Relaxed));
                let made = self.insert(&mut locks, &edge, query_edge, &mut meter);
                meter.tick(MATCH * made.len() as u32);
                self.settle(&mut meter);
                self.waiting.fetch_add(made.len(), Ordering::Relaxed);
                made.into_iter().map(|made| Found::new(edge.ts, &made.binding)).collect()
            }
        }
    }

    /// Whether there is room for one more partial match or match. Beside it count what is stored, what waits to be taken and
    /// what a transaction has in hand. Transactions that run side by side do not see what the others have in hand.
    fn has_room(&self, in_hand: usize) -> bool {
        let held = self.live.load(Ordering::Relaxed) + self.waiting.load(Ordering::Relaxed) + in_hand;
        let has_room = (held as u64) < self.bounds.partial_matches && ((held + 1) * NODE_BYTES) as u64 <= self.bounds.bytes;
        if !has_room {
            self.limited.store(true, Ordering::Relaxed);
        }
        has_room
    }

    /// Says that matches were taken.
    pub fn take_away(&self, matches: usize) {
        self.waiting.fetch_sub(matches, Ordering::Relaxed);
    }

    fn settle(&self, meter: &mut Meter<'_>) {
        match meter.end() {
            None => {}
            Some(Refusal::WorkBudget | Refusal::Bytes | Refusal::Ended(_)) => self.refused.store(true, Ordering::Relaxed),
        }
        let taken = meter.taken();
        self.taken.fetch_add(taken, Ordering::Relaxed);
        let less = |work_budget: u64| Some(work_budget.saturating_sub(taken));
        let _ = self.work_budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Steps taken since the last call.
    pub fn take_taken(&self) -> u64 {
        self.taken.swap(0, Ordering::Relaxed)
    }

    /// Whether a transaction was cut since this was asked last.
    pub fn take_refused(&self) -> bool {
        self.refused.swap(false, Ordering::Relaxed)
    }

    /// Has transactions end as soon as they can, or not any more.
    pub fn halt(&self, halted: bool) {
        self.halted.store(halted, Ordering::Relaxed);
    }

    /// Says how many steps transactions may take from now on.
    pub fn allow(&self, steps: u64) {
        self.work_budget.store(steps, Ordering::Relaxed);
    }

    /// Algorithm 1. Returns the complete matches.
    fn insert(&self, locks: &mut Locks<'_>, edge: &Arc<SharedEdge>, query_edge: u8, meter: &mut Meter<'_>) -> Vec<Made> {
        let (subquery, depth) = self.plan.positions[usize::from(query_edge)];
        let extended = self.extend(locks, edge, query_edge, meter);
        if extended.is_empty() {
            self.discarded.fetch_add(1, Ordering::Relaxed);
            return Vec::new();
        }
        let Some(item) = self.plan.prefixes[subquery][depth] else {
            return extended.into_iter().map(|(binding, _)| Made { binding, node: None }).collect();
        };
        let first = usize::from(self.plan.subqueries[subquery][0]);
        let part = Part::Edge(Arc::clone(edge));
        let new = extended.into_iter().filter_map(|(binding, parent)| {
            let oldest = binding.edges[first].as_ref()?.number;
            Some((binding, Node { part: part.clone(), parent, oldest }))
        });
        let mut made = self.store(locks, item, new.collect());
        if depth + 1 < self.plan.subqueries[subquery].len() {
            return Vec::new();
        }
        if subquery > 0 {
            made = self.join_left(locks, subquery, &made, meter);
        }
        for level in subquery + 1..self.plan.subqueries.len() {
            if made.is_empty() {
                break;
            }
            made = self.join_right(locks, level, &made, meter);
        }
        made
    }

    /// Joins the edge with the prefixes before it.
    fn extend(
        &self,
        locks: &mut Locks<'_>,
        edge: &Arc<SharedEdge>,
        query_edge: u8,
        meter: &mut Meter<'_>,
    ) -> Vec<(Binding, Option<Arc<Node>>)> {
        let (subquery, depth) = self.plan.positions[usize::from(query_edge)];
        let Some(extension) = &self.plan.extensions[usize::from(query_edge)] else {
            let mut binding = Binding::new(&self.shape);
            self.bind(&mut binding, query_edge, edge);
            return vec![(binding, None)];
        };
        let half = |bound: bool, vertex: Vertex| if bound { vertex.0 } else { Vertex::NONE.0 };
        let key = pack(half(extension.bound.0, edge.source), half(extension.bound.1, edge.target));
        let last = usize::from(self.plan.subqueries[subquery][depth - 1]);
        let mut extended = Vec::new();
        for node in locks.shared(extension.prefix, |nodes| nodes.get(key, meter)) {
            if !meter.step() {
                break;
            }
            let mut binding = Binding::new(&self.shape);
            let alive = self.load_branch(subquery, depth - 1, &node, &mut binding);
            let taken = |vertex: Vertex| extension.differ.iter().any(|&other| binding.vertices[usize::from(other)] == vertex);
            let fits = alive
                && binding.edges[last].as_ref().is_some_and(|last| last.at < edge.at)
                && (extension.bound.0 || !taken(edge.source))
                && (extension.bound.1 || !taken(edge.target));
            if fits {
                self.bind(&mut binding, query_edge, edge);
                if self.predicates_hold(&extension.predicates, &binding, meter) {
                    if !self.has_room(extended.len()) {
                        break;
                    }
                    extended.push((binding, Some(node)));
                }
            }
        }
        extended
    }

    /// Joins new matches of a subquery with the unions before it.
    fn join_left(&self, locks: &mut Locks<'_>, level: usize, leaves: &[Made], meter: &mut Meter<'_>) -> Vec<Made> {
        let join = &self.plan.joins[level - 1];
        let unions: Vec<Vec<Arc<Node>>> =
            locks.shared(join.left, |nodes| leaves.iter().map(|leaf| nodes.get(leaf.binding.key(join.key), meter)).collect());
        let mut joined = Vec::new();
        for (leaf, unions) in leaves.iter().zip(unions) {
            for union in unions {
                if !meter.step() {
                    break;
                }
                let mut left = Binding::new(&self.shape);
                if self.load_union(level - 1, &union, &mut left) && self.compatible(join, level, &left, &leaf.binding) {
                    self.merge(level, &mut left, &leaf.binding);
                    if self.predicates_hold(&join.predicates, &left, meter) {
                        if !self.has_room(joined.len()) {
                            return self.store_unions(locks, level, joined);
                        }
                        joined.push((left, union, leaf.node.clone()));
                    }
                }
            }
        }
        self.store_unions(locks, level, joined)
    }

    /// Joins new unions with the matches of the next subquery.
    fn join_right(&self, locks: &mut Locks<'_>, level: usize, unions: &[Made], meter: &mut Meter<'_>) -> Vec<Made> {
        let join = &self.plan.joins[level - 1];
        let leaves: Vec<Vec<Arc<Node>>> = locks
            .shared(join.right, |nodes| unions.iter().map(|union| nodes.get(union.binding.key(join.key), meter)).collect());
        let mut joined = Vec::new();
        for (union, leaves) in unions.iter().zip(leaves) {
            let Some(parent) = &union.node else { continue };
            for leaf in leaves {
                if !meter.step() {
                    break;
                }
                let mut right = Binding::new(&self.shape);
                let depth = self.plan.subqueries[level].len() - 1;
                if self.load_branch(level, depth, &leaf, &mut right) && self.compatible(join, level, &union.binding, &right) {
                    let mut merged = union.binding.clone();
                    self.merge(level, &mut merged, &right);
                    if self.predicates_hold(&join.predicates, &merged, meter) {
                        if !self.has_room(joined.len()) {
                            return self.store_unions(locks, level, joined);
                        }
                        joined.push((merged, Arc::clone(parent), Some(leaf)));
                    }
                }
            }
        }
        self.store_unions(locks, level, joined)
    }

    fn store_unions(
        &self,
        locks: &mut Locks<'_>,
        level: usize,
        joined: Vec<(Binding, Arc<Node>, Option<Arc<Node>>)>,
    ) -> Vec<Made> {
        let Some(item) = self.plan.unions[level] else {
            return joined.into_iter().map(|(binding, ..)| Made { binding, node: None }).collect();
        };
        let new = joined.into_iter().filter_map(|(binding, parent, leaf)| {
            let leaf = leaf?;
            let oldest = parent.oldest.min(leaf.oldest);
            Some((binding, Node { part: Part::Leaf(leaf), parent: Some(parent), oldest }))
        });
        self.store(locks, item, new.collect())
    }

    /// Inserts new nodes; those past a bound are given up.
    fn store(&self, locks: &mut Locks<'_>, item: ItemId, new: Vec<(Binding, Node)>) -> Vec<Made> {
        if new.is_empty() {
            return Vec::new();
        }
        let key = self.plan.items[item].key.unwrap_or_default();
        locks.exclusive(item, |nodes| {
            let mut made = Vec::with_capacity(new.len());
            for (binding, node) in new {
                if !self.has_room(0) {
                    continue;
                }
                let node = Arc::new(node);
                nodes.add(binding.key(key), Arc::clone(&node));
                self.count(item);
                made.push(Made { binding, node: Some(node) });
            }
            made
        })
    }

    fn count(&self, item: ItemId) {
        let live = self.live.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak.fetch_max(live, Ordering::Relaxed);
        let item = &self.items[item];
        let live = item.live.fetch_add(1, Ordering::Relaxed) + 1;
        item.peak.fetch_max(live, Ordering::Relaxed);
        item.created.fetch_add(1, Ordering::Relaxed);
    }

    fn bind(&self, binding: &mut Binding, query_edge: u8, edge: &Arc<SharedEdge>) {
        let (source, target) = self.shape.ends[usize::from(query_edge)];
        binding.vertices[usize::from(source)] = edge.source;
        binding.vertices[usize::from(target)] = edge.target;
        binding.edges[usize::from(query_edge)] = Some(Arc::clone(edge));
    }

    /// Reads a branch of a match-store tree up to its root; false if an edge of it was deleted.
    pub fn load_branch(&self, subquery: usize, depth: usize, node: &Arc<Node>, binding: &mut Binding) -> bool {
        let mut at = Some(node);
        for &query_edge in self.plan.subqueries[subquery][..=depth].iter().rev() {
            let Some(Node { part: Part::Edge(edge), parent, .. }) = at.map(Arc::as_ref) else { return false };
            if edge.is_deleted() {
                return false;
            }
            self.bind(binding, query_edge, edge);
            at = parent.as_ref();
        }
        true
    }

    /// Reads a union: its leaves by its virtual nodes, down to the first subquery.
    pub fn load_union(&self, level: usize, node: &Arc<Node>, binding: &mut Binding) -> bool {
        let mut at = node;
        for level in (1..=level).rev() {
            let Node { part: Part::Leaf(leaf), parent: Some(parent), .. } = at.as_ref() else { return false };
            if !self.load_branch(level, self.plan.subqueries[level].len() - 1, leaf, binding) {
                return false;
            }
            at = parent;
        }
        self.load_branch(0, self.plan.subqueries[0].len() - 1, at, binding)
    }

    /// Algorithm 2.
    fn compatible(&self, join: &Join, level: usize, left: &Binding, right: &Binding) -> bool {
        let edge = |edge: u8| {
            let on_right = self.plan.positions[usize::from(edge)].0 == level;
            if on_right { right.edges[usize::from(edge)].as_ref() } else { left.edges[usize::from(edge)].as_ref() }
        };
        let before = |a: u8, b: u8| edge(a).zip(edge(b)).is_some_and(|(a, b)| a.at < b.at);
        let distinct = |a: u8, b: u8| edge(a).zip(edge(b)).is_some_and(|(a, b)| a.number != b.number);
        join.equal.iter().all(|&vertex| left.vertices[usize::from(vertex)] == right.vertices[usize::from(vertex)])
            && join.differ.iter().all(|&(a, b)| left.vertices[usize::from(a)] != right.vertices[usize::from(b)])
            && join.order.iter().all(|&(earlier, later)| before(earlier, later))
            && join.distinct.iter().all(|&(a, b)| distinct(a, b))
    }

    fn merge(&self, level: usize, union: &mut Binding, right: &Binding) {
        for &query_edge in &self.plan.subqueries[level] {
            if let Some(edge) = &right.edges[usize::from(query_edge)] {
                self.bind(union, query_edge, edge);
            }
        }
    }

    fn predicates_hold(&self, predicates: &[u16], binding: &Binding, meter: &mut Meter<'_>) -> bool {
        let bound = Bound { shape: &self.shape, binding };
        self.shape.hold(predicates, &bound, meter)
    }

    /// Matches that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Partial matches alive.
    pub fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    /// Most partial matches ever alive at once.
    pub fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
    }

    /// Insertions that extended nothing and started nothing.
    pub fn discarded(&self) -> u64 {
        self.discarded.load(Ordering::Relaxed)
    }

    /// What transactions came to since the last call.
    pub fn take_drained(&self) -> Drained {
        Drained {
            limited: self.limited.swap(false, Ordering::Relaxed).then_some(self.bounds),
            taken: self.take_taken(),
            refused: self.take_refused(),
            discarded: self.discarded(),
        }
    }

    /// What each item holds and held.
    pub fn report(&self) -> Vec<ItemReport> {
        let report = |(id, item): (ItemId, &Item)| ItemReport {
            name: self.plan.item_name(id),
            live: item.live.load(Ordering::Relaxed) as u64,
            peak: item.peak.load(Ordering::Relaxed) as u64,
            created: item.created.load(Ordering::Relaxed),
            node_bytes: NODE_BYTES as u64,
        };
        self.items.iter().enumerate().map(report).collect()
    }
}

/// The locks of one transaction: those held, and the requests it has yet to use.
struct Locks<'a> {
    lists: &'a Lists,
    transaction: Transaction,
    rest: Vec<(ItemId, Mode)>,
    held: Vec<(ItemId, Mode)>,
}

impl<'a> Locks<'a> {
    /// Starts a transaction; under `all` it waits for every lock here.
    fn begin(lists: &'a Lists, transaction: Transaction, uses: Vec<(ItemId, Mode)>) -> Self {
        let mut locks = Self { lists, transaction, rest: uses, held: Vec::new() };
        if lists.locking == Locking::All {
            for &(item, mode) in &locks.rest {
                lists.items[item].list.acquire(transaction);
                locks.held.push((item, mode));
            }
        }
        locks
    }

    fn shared<R>(&mut self, item: ItemId, f: impl FnOnce(&Nodes) -> R) -> R {
        self.used(item, |item| f(&item.nodes.read().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }

    fn exclusive<R>(&mut self, item: ItemId, f: impl FnOnce(&mut Nodes) -> R) -> R {
        self.used(item, |item| f(&mut item.nodes.write().unwrap_or_else(std::sync::PoisonError::into_inner)))
    }

    /// Uses an item by the request made for it.
    fn used<R>(&mut self, id: ItemId, f: impl FnOnce(&Item) -> R) -> R {
        let item = &self.lists.items[id];
        self.rest.retain(|&(other, _)| other != id);
        match self.lists.locking {
            Locking::All => f(item),
            Locking::Fine => {
                let mode = item.list.acquire(self.transaction);
                let result = f(item);
                item.list.release(mode);
                result
            }
        }
    }
}

impl Drop for Locks<'_> {
    fn drop(&mut self) {
        match self.lists.locking {
            Locking::All => self.held.iter().for_each(|&(item, mode)| self.lists.items[item].list.release(mode)),
            Locking::Fine => self.rest.iter().for_each(|&(item, _)| self.lists.items[item].list.withdraw(self.transaction)),
        }
    }
}

fn pack(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

impl Binding {
    /// Binds nothing.
    pub fn new(shape: &Shape) -> Self {
        Self { edges: vec![None; shape.ends.len()], vertices: vec![Vertex::NONE; shape.vertices] }
    }

    fn key(&self, key: KeyVertices) -> u64 {
        let half = |vertex: Option<u8>| vertex.map_or(Vertex::NONE, |vertex| self.vertices[usize::from(vertex)]).0;
        pack(half(key.0), half(key.1))
    }
}

impl Found {
    fn new(ts: Time, binding: &Binding) -> Self {
        let edges = binding.edges.iter().flatten().map(|edge| edge.edge).collect();
        Self { ts, edges, vertices: binding.vertices.clone() }
    }
}

/// A match in the making, read by predicates.
struct Bound<'a> {
    shape: &'a Shape,
    binding: &'a Binding,
}

impl Bound<'_> {
    fn edge(&self, edge: u8) -> Option<&SharedEdge> {
        self.binding.edges[usize::from(edge)].as_deref()
    }

    fn text(edge: Option<&SharedEdge>, which: usize) -> KeyRef<'_> {
        let facts = edge.and_then(|edge| edge.facts.as_ref());
        facts.map_or(KeyRef::Text(""), |facts| KeyRef::parse(&facts.texts[which]))
    }
}

impl Bindings for Bound<'_> {
    fn attribute(&self, edge: u8, column: u16) -> Operand<'_> {
        self.edge(edge).and_then(|edge| edge.facts.as_ref()).map_or(Operand::Null, |facts| facts.attribute(column).into())
    }

    fn ts(&self, edge: u8) -> i64 {
        self.edge(edge).map_or(Time::MIN, |edge| edge.ts)
    }

    fn id(&self, edge: u8) -> IdRef<'_> {
        IdRef::Given(Self::text(self.edge(edge), 0))
    }

    fn vertex(&self, vertex: u8) -> KeyRef<'_> {
        for (edge, ends) in self.binding.edges.iter().zip(&self.shape.ends) {
            let Some(edge) = edge else { continue };
            if ends.0 == vertex {
                return Self::text(Some(edge), 1);
            }
            if ends.1 == vertex {
                return Self::text(Some(edge), 2);
            }
        }
        KeyRef::Text("")
    }
}
