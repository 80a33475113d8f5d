//! PATH by Δ-trees: a spanning tree a root, from which expired arcs are taken out as deleted ones are.
//!
//! A tree has the nodes, vertices in states of the automaton, that its root reaches. Each has the path that ends last and the
//! arc that this takes last. Trees are found by their nodes. A new arc lengthens the trees that have its source, one after the
//! other. What ends is not passed over but taken out. Once an arc is past, or deleted, every tree that walks it loses the
//! subtree behind it. The tree looks in the snapshot graph for other ways to each node of it (the negative tuples of the
//! paper).
//! Invariant: as of [`Path`](super::Path), whose ends these are, so both emit the same.
//! Cost: for each new arc, the trees that have its source, and the nodes whose ends change. For each arc that ends, the
//! subtrees behind it once more.
//! Deviates from the paper's Example 10: a longer path replaces a shorter one when it comes, not when the shorter one ends. So
//! results are emitted with the record that extends them. Reference: section 6.2.3 [PACACI22]; Algorithms RAPQ, Insert and
//! `ExpiryRAPQ` [PACACI20].

use std::collections::{BinaryHeap, VecDeque};

use graphtide_engine::meter::Meter;
use graphtide_graph::Time;
use graphtide_graph::clock::Present;
use graphtide_graph::key::KeyRef;
use graphtide_graph::vertex::{Vertex, VertexTable};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::automaton::{Automaton, State};
use super::graph::{ARC_BYTES, ArcId, Graph, Place};
use super::rows::Parent;
use super::{Change, NONE, Walked};
use crate::operator::Operands;
use crate::plan::PathSpec;
use crate::relation::{ENDED, Relation};

/// A vertex's place in a state.
type Node = (Place, State);

/// A node of a tree.
#[derive(Clone, Copy, Debug)]
struct Reached {
    end: Time,
    parent: Parent,
}

/// What a root reaches.
type Tree = HashMap<Node, Reached, FxBuildHasher>;

/// Ends from before the record, by root and node.
type Before = HashMap<(Place, Node), Time, FxBuildHasher>;

/// Bytes that one more node takes, with what is noted of it while its record is taken.
const NODE_BYTES: usize = size_of::<(Node, Reached)>()
    + 1
    + size_of::<Place>()
    + size_of::<((Place, Node), Time)>()
    + 1
    + size_of::<(Place, Node)>()
    + size_of::<Change>();

/// A PATH with its trees.
#[derive(Debug)]
pub struct DeltaTree {
    symbols: Vec<(usize, bool)>,
    automaton: Automaton,
    root: Option<Box<str>>,
    is_reversed: bool,
    graph: Graph,
    trees: HashMap<Place, Tree, FxBuildHasher>,
    /// By node: the roots whose trees have it.
    roots: HashMap<Node, Vec<Place>, FxBuildHasher>,
    nodes: usize,
    before: Before,
    /// The order in which results changed first.
    order: Vec<(Place, Node)>,
    /// What it gives, where other operators read it.
    pub relation: Option<Relation>,
    /// What the record changed, if only the output reads it.
    changes: Vec<Change>,
}

impl DeltaTree {
    /// Makes a path ready; `is_read` if other operators read it.
    pub fn new(spec: &PathSpec, is_read: bool) -> Self {
        Self {
            symbols: spec.symbols.clone(),
            automaton: Automaton::new(spec),
            root: spec.root.as_deref().map(Into::into),
            is_reversed: spec.is_reversed,
            graph: Graph::default(),
            trees: HashMap::default(),
            roots: HashMap::default(),
            nodes: 0,
            before: HashMap::default(),
            order: Vec::new(),
            relation: is_read.then(|| Relation::new(2)),
            changes: Vec::new(),
        }
    }

    /// Operators that give its symbols.
    pub fn operands(&self) -> impl Iterator<Item = usize> {
        self.symbols.iter().map(|&(operand, _)| operand)
    }

    /// Takes what a record added to its operands.
    pub fn rise(&mut self, operands: Operands<'_>, names: &VertexTable, now: Present, meter: &mut Meter<'_>) {
        'added: for symbol in 0..self.symbols.len() {
            let (operand, is_inverse) = self.symbols[symbol];
            let operand = operands.get(operand);
            for &tuple in operand.changed() {
                let values = operand.get(tuple);
                let ends = if is_inverse { (values[1], values[0]) } else { (values[0], values[1]) };
                let before = self.graph.room();
                let arc = self.graph.raise(symbol as u16, ends, operand.end(tuple));
                self.lengthen(arc, names, now, meter);
                if !meter.keep((self.graph.room() - before) * ARC_BYTES) {
                    break 'added;
                }
            }
        }
        self.emit(now, meter);
    }

    /// Takes what a record took from its operands.
    pub fn invalidate(&mut self, operands: Operands<'_>, now: Present, meter: &mut Meter<'_>) {
        let mut shortened: Vec<ArcId> = Vec::new();
        for (symbol, &(operand, is_inverse)) in (0..).zip(&self.symbols) {
            let operand = operands.get(operand);
            for &tuple in operand.changed() {
                let values = operand.get(tuple);
                let ends = if is_inverse { (values[1], values[0]) } else { (values[0], values[1]) };
                shortened.extend(self.graph.lower(symbol, ends, operand.end(tuple)));
            }
        }
        for &arc in &shortened {
            self.cut(arc, now, meter);
            self.graph.settle(arc);
        }
        self.emit(now, meter);
    }

    /// Takes the arc of a tuple that is past out of the trees.
    pub fn forget(&mut self, operand: usize, values: &[Vertex], now: Present, meter: &mut Meter<'_>) {
        for symbol in 0..self.symbols.len() {
            let (own, is_inverse) = self.symbols[symbol];
            if own != operand {
                continue;
            }
            let ends = if is_inverse { (values[1], values[0]) } else { (values[0], values[1]) };
            if let Some(arc) = self.graph.lower(symbol as u16, ends, ENDED) {
                self.cut(arc, now, meter);
            }
            self.graph.remove(symbol as u16, ends, |_| {});
        }
        // What is past was reported to end when it did.
        self.before.clear();
        for (root, node) in std::mem::take(&mut self.order) {
            if self.end(root, node) == ENDED {
                self.leave(root, node);
            }
        }
    }

    /// The path of a result, step by step.
    pub fn walk(&self, source: Vertex, target: Vertex) -> Option<Vec<Walked>> {
        let (root, end) = if self.is_reversed { (target, source) } else { (source, target) };
        let tree = self.trees.get(&self.graph.place(root)?)?;
        let mut node = (self.graph.place(end)?, self.automaton.result());
        let mut steps = Vec::new();
        while node.1 != 0 {
            let (arc, before) = tree.get(&node)?.parent;
            if arc == NONE {
                node.1 = before;
                continue;
            }
            let arc = self.graph.arc(arc);
            let (operand, is_inverse) = self.symbols[usize::from(arc.symbol)];
            let (from, to) = (self.graph.vertex(arc.source), self.graph.vertex(arc.target));
            let (source, target) = if is_inverse { (to, from) } else { (from, to) };
            steps.push(Walked { operand, source, target });
            node = (arc.source, before);
        }
        if !self.is_reversed {
            steps.reverse();
        }
        Some(steps)
    }

    /// Nodes of its trees.
    pub fn held(&self) -> usize {
        self.nodes
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(Node, Reached)>() + 1 + size_of::<Place>();
        self.graph.bytes() + self.relation.as_ref().map_or(0, Relation::bytes) + self.nodes * entry
    }

    /// Lets the trees that have the source of an arc continue along it.
    fn lengthen(&mut self, arc: ArcId, names: &VertexTable, now: Present, meter: &mut Meter<'_>) {
        let own = *self.graph.arc(arc);
        for number in 0..self.automaton.by_symbol(own.symbol).len() {
            let (from, to) = self.automaton.by_symbol(own.symbol)[number];
            if from == 0 {
                let is_root =
                    self.root.as_deref().is_none_or(|root| names.name(self.graph.vertex(own.source)) == KeyRef::parse(root));
                if is_root {
                    self.insert(own.source, ((own.target, to), own.end, (arc, 0)), now, meter);
                }
                continue;
            }
            for root in self.roots.get(&(own.source, from)).cloned().unwrap_or_default() {
                let end = self.end(root, (own.source, from)).min(own.end);
                self.insert(root, ((own.target, to), end, (arc, from)), now, meter);
            }
        }
    }

    /// Lets a root reach a node until an end, and all that follows from there.
    fn insert(&mut self, root: Place, first: (Node, Time, Parent), now: Present, meter: &mut Meter<'_>) {
        /// Bytes of a node that waits.
        const WAITING: usize = size_of::<(Node, Time, Parent)>();
        let mut waiting = VecDeque::from([first]);
        let mut held = 0;
        while let Some((node, end, parent)) = waiting.pop_front() {
            if !now.precedes(end) || end <= self.end(root, node) || !meter.step() {
                continue;
            }
            let nodes = self.nodes;
            self.set(root, node, (end, parent), now);
            self.follow(node, end, |node, end, parent| waiting.push_back((node, end, parent)));
            let grown = waiting.capacity() - held;
            meter.hold((self.nodes - nodes) * NODE_BYTES + grown * WAITING);
            held += grown;
        }
        meter.release(held * WAITING);
    }

    /// Calls `f` with each node that follows one which is reached until an end.
    fn follow(&self, (place, state): Node, end: Time, mut f: impl FnMut(Node, Time, Parent)) {
        if self.automaton.has_result_state() && self.automaton.accepts(state) {
            f((place, self.automaton.result()), end, (NONE, state));
        }
        for &id in self.graph.from(place) {
            let arc = self.graph.arc(id);
            for &to in self.automaton.next(state, arc.symbol) {
                f((arc.target, to), end.min(arc.end), (id, state));
            }
        }
    }

    /// Takes what is behind an arc out of every tree that walks it, and derives it anew.
    fn cut(&mut self, arc: ArcId, now: Present, meter: &mut Meter<'_>) {
        let own = *self.graph.arc(arc);
        for number in 0..self.automaton.by_symbol(own.symbol).len() {
            let (from, to) = self.automaton.by_symbol(own.symbol)[number];
            let child = (own.target, to);
            for root in self.roots.get(&child).cloned().unwrap_or_default() {
                meter.tick(1);
                let walks = self.trees.get(&root).and_then(|tree| tree.get(&child));
                if walks.is_some_and(|reached| reached.parent == (arc, from)) {
                    self.derive(root, child, now, meter);
                }
            }
        }
    }

    /// Derives the subtree at a node anew, from the nodes of the tree that are not of it.
    fn derive(&mut self, root: Place, top: Node, now: Present, meter: &mut Meter<'_>) {
        let Some(tree) = self.trees.get(&root) else { return };
        let mut marked: HashMap<Node, (), FxBuildHasher> = HashMap::default();
        let mut order = vec![top];
        marked.insert(top, ());
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            meter.tick(1);
            self.follow(node, Time::MAX, |child, _, parent| {
                if tree.get(&child).is_some_and(|reached| reached.parent == parent) && marked.insert(child, ()).is_none() {
                    order.push(child);
                }
            });
        }
        let mut found: BinaryHeap<(Time, Node, Parent)> = BinaryHeap::new();
        for &node in &order {
            self.each_before(root, node, |before, end, parent| {
                if now.precedes(end) && before.is_none_or(|before| !marked.contains_key(&before)) {
                    found.push((end, node, parent));
                }
            });
        }
        for &node in &order {
            self.drop(root, node, now);
        }
        while let Some((end, node, parent)) = found.pop() {
            meter.tick(1);
            if end <= self.end(root, node) {
                continue;
            }
            self.set(root, node, (end, parent), now);
            self.follow(node, end, |child, end, parent| {
                if now.precedes(end) && marked.contains_key(&child) {
                    found.push((end, child, parent));
                }
            });
        }
    }

    /// Calls `f` with each way to a node: the node before (none for the root), the end, and the last step.
    fn each_before(&self, root: Place, (place, state): Node, mut f: impl FnMut(Option<Node>, Time, Parent)) {
        if self.automaton.has_result_state() && state == self.automaton.result() {
            for own in self.automaton.accepting() {
                f(Some((place, own)), self.end(root, (place, own)), (NONE, own));
            }
            return;
        }
        for &id in self.graph.to(place) {
            let arc = self.graph.arc(id);
            for &from in self.automaton.previous(state, arc.symbol) {
                if from != 0 {
                    f(Some((arc.source, from)), self.end(root, (arc.source, from)).min(arc.end), (id, from));
                } else if arc.source == root {
                    f(None, arc.end, (id, 0));
                }
            }
        }
    }

    fn end(&self, root: Place, node: Node) -> Time {
        self.trees.get(&root).and_then(|tree| tree.get(&node)).map_or(ENDED, |reached| reached.end)
    }

    fn set(&mut self, root: Place, node: Node, (end, parent): (Time, Parent), now: Present) {
        let tree = self.trees.entry(root).or_default();
        let known = tree.get(&node).copied();
        let before = known.map_or(ENDED, |reached| reached.end);
        tree.insert(node, Reached { end, parent });
        if known.is_none() {
            self.nodes += 1;
            self.roots.entry(node).or_default().push(root);
        }
        self.note(root, node, before, now);
    }

    /// Takes a node out of a tree; it stays until the record is over if it may be derived again.
    fn drop(&mut self, root: Place, node: Node, now: Present) {
        let Some(reached) = self.trees.get_mut(&root).and_then(|tree| tree.get_mut(&node)) else { return };
        // What ends just now is not taken away any more, and continues if it is derived again.
        if !now.precedes(reached.end) && !now.follows(reached.end) {
            return;
        }
        let before = std::mem::replace(&mut reached.end, ENDED);
        self.note(root, node, before, now);
    }

    /// Notes the end of a node from before the record.
    fn note(&mut self, root: Place, node: Node, before: Time, now: Present) {
        let order = &mut self.order;
        self.before.entry((root, node)).or_insert_with(|| {
            order.push((root, node));
            if now.follows(before) { ENDED } else { before }
        });
    }

    /// Emits the ends of results that the record changed, and drops nodes that are no longer reached.
    fn emit(&mut self, now: Present, meter: &mut Meter<'_>) {
        self.changes.clear();
        let tuple = self.relation.as_ref().map_or(0, Relation::tuple_bytes);
        let mut is_full = false;
        for (root, node) in std::mem::take(&mut self.order) {
            let Some(before) = self.before.remove(&(root, node)) else { continue };
            let Some(&Reached { end, .. }) = self.trees.get(&root).and_then(|tree| tree.get(&node)) else { continue };
            if end == ENDED {
                self.leave(root, node);
            }
            if node.1 != self.automaton.result() || end == before {
                continue;
            }
            let (first, last) = (self.graph.vertex(root), self.graph.vertex(node.0));
            let (source, target) = if self.is_reversed { (last, first) } else { (first, last) };
            // What is noted of the others is to be taken back, so it continues.
            if is_full {
                continue;
            }
            let bytes = match &mut self.relation {
                // It was counted with the node, and its results were emitted.
                None => {
                    self.changes.push(Change { source, target, before, after: end });
                    meter.tick(1);
                    is_full = meter.ended().is_some();
                    continue;
                }
                Some(relation) if end > before => {
                    let known = relation.len();
                    relation.raise(&[source, target], end, now);
                    (relation.len() - known) * tuple
                }
                Some(relation) => {
                    if let Some(tuple) = relation.find(&[source, target]) {
                        relation.lower(tuple, end, now);
                    }
                    0
                }
            };
            is_full = !meter.keep(bytes);
        }
    }

    /// As [`Path::each_change`](super::Path::each_change).
    pub fn each_change(&self, f: impl FnMut(Change) -> bool) -> bool {
        self.changes.iter().copied().all(f)
    }

    /// Forgets what the record changed.
    pub fn forget_changes(&mut self) {
        self.changes.clear();
    }

    fn leave(&mut self, root: Place, node: Node) {
        if let Some(tree) = self.trees.get_mut(&root)
            && tree.remove(&node).is_some()
        {
            self.nodes -= 1;
            if tree.is_empty() {
                self.trees.remove(&root);
            }
        }
        if let Some(roots) = self.roots.get_mut(&node) {
            roots.retain(|&own| own != root);
            if roots.is_empty() {
                self.roots.remove(&node);
            }
        }
    }
}
