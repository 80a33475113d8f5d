//! PATH by S-PATH: pairs of vertices between which a path of valid arcs spells a word, with the end of the path that lasts
//! longest.
//!
//! Of all paths from a root to a node, a vertex in a state of the automaton, the one that ends last is kept. So what has ended
//! is known by its end alone, and windows cost nothing when they move. Arcs that are deleted take their paths with them
//! ([`invalidate`]). The paper keeps one tree for each root; here all roots of a node are stored together ([`rows`]). What a
//! new arc lets them reach is passed on from node to node for all of them at once, until nothing ends later. That gives the
//! ends of the paper's trees, since those are the greatest there are.
//! Invariant: between records, a node's end from a root is a greatest one over all its arcs. Each arc gives the least of its
//! own end and of the end before it. It is past where there is none. A parent lasts no shorter than its child, so parents lead
//! to the root.
//! Cost: the changes of ends, in chunks of 32 roots; of them, nodes are looked at once more for each time that they improve.
//! Deviates from Algorithm S-PATH in line 14, whose text says "smaller" and means larger. It deviates in line 3 of Propagate,
//! since the least start of two paths is not a start of one path. So ends alone are kept. And an ended node counts as absent,
//! which the paper leaves to its purge.
//! Reference: section 6.2.4, Algorithms S-PATH, Expand and Propagate [PACACI22].

mod automaton;
mod delta_tree;
mod graph;
mod invalidate;
mod rows;

use graphtide_engine::meter::Meter;
use graphtide_graph::Time;
use graphtide_graph::clock::Present;
use graphtide_graph::key::KeyRef;
use graphtide_graph::vertex::{Vertex, VertexTable};

use crate::end_width::End;
use crate::grid::Grid;
use crate::operator::Operands;
use crate::plan::{PathEngine, PathSpec};
use crate::relation::{ENDED, Relation};
use automaton::{Automaton, State};
use delta_tree::DeltaTree;
use graph::{ARC_BYTES, Graph, Place};
use rows::{Column, END_WIDTHS, NodeId, Noted, Parent, Rows, Step};

/// No column, no arc.
const NONE: u32 = u32::MAX;

/// A pair whose end a record changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where paths begin.
    pub source: Vertex,
    /// Where they end.
    pub target: Vertex,
    /// The end from before; [`ENDED`] if that was past.
    pub before: Time,
    /// The end now.
    pub after: Time,
}

/// A step of a reported path: the operator whose tuple it is, and that tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Number of the operator.
    pub operand: usize,
    /// The tuple's first vertex.
    pub source: Vertex,
    /// Its second.
    pub target: Vertex,
}

/// A PATH with its state.
#[derive(Debug)]
pub struct Path<L> {
    symbols: Vec<(usize, bool)>,
    automaton: Automaton,
    root: Option<Box<str>>,
    is_reversed: bool,
    grid: Grid,
    graph: Graph,
    rows: Rows<L>,
    /// The column of each place that is a root.
    columns: Vec<Column>,
    /// The place of each column.
    roots: Vec<Place>,
    free_columns: Vec<Column>,
    /// What it gives, where other operators read it.
    pub relation: Option<Relation>,
    /// Ends of results below this number were past at the last record.
    reached: L,
    working: Vec<(u32, [L; END_WIDTHS])>,
}

impl<L: End> Path<L> {
    /// Makes a path ready; `is_read` if other operators read it.
    pub fn new(spec: &PathSpec, grid: Grid, keeps_parents: bool, is_read: bool) -> Self {
        Self {
            symbols: spec.symbols.clone(),
            automaton: Automaton::new(spec),
            root: spec.root.as_deref().map(Into::into),
            is_reversed: spec.is_reversed,
            grid,
            graph: Graph::default(),
            rows: Rows::new(keeps_parents),
            columns: Vec::new(),
            roots: Vec::new(),
            free_columns: Vec::new(),
            relation: is_read.then(|| Relation::new(2)),
            reached: L::default(),
            working: Vec::new(),
        }
    }

    /// Operators that give its symbols.
    pub fn operands(&self) -> impl Iterator<Item = usize> {
        self.symbols.iter().map(|&(operand, _)| operand)
    }

    /// Takes what a record added to its operands.
    pub fn rise(&mut self, operands: Operands<'_>, names: &VertexTable, now: Present, meter: &mut Meter<'_>) {
        self.rows.begin();
        let changed = self.symbols.iter().map(|&(operand, _)| operands.get(operand));
        let latest = changed.flat_map(|operand| operand.changed().iter().map(|&tuple| operand.end(tuple))).max();
        // Before anything is noted: it may move the grid.
        self.number(latest.unwrap_or(now.ts()), now);
        'added: for symbol in 0..self.symbols.len() {
            let (operand, is_inverse) = self.symbols[symbol];
            let operand = operands.get(operand);
            for &tuple in operand.changed() {
                let values = operand.get(tuple);
                let ends = if is_inverse { (values[1], values[0]) } else { (values[0], values[1]) };
                let before = (self.graph.room(), self.rows.room());
                self.add(symbol as u16, ends, (operand.end(tuple), now), names, meter);
                let chunks = (self.rows.room() - before.1) * self.rows.chunk_bytes();
                if !meter.keep((self.graph.room() - before.0) * ARC_BYTES + chunks) {
                    break 'added;
                }
            }
        }
        self.pass_on(now, meter);
        self.emit(now, meter);
    }

    /// Removes the arc of a tuple that has ended.
    pub fn forget(&mut self, operand: usize, values: &[Vertex]) {
        for (symbol, &(own, is_inverse)) in (0..).zip(&self.symbols) {
            if own != operand {
                continue;
            }
            let ends = if is_inverse { (values[1], values[0]) } else { (values[0], values[1]) };
            let (rows, width) = (&mut self.rows, self.automaton.width());
            let (columns, roots, free) = (&mut self.columns, &mut self.roots, &mut self.free_columns);
            self.graph.remove(symbol, ends, |place| {
                for node in 0..width {
                    rows.clear((place as usize * width + node) as NodeId);
                }
                let column = std::mem::replace(&mut columns[place as usize], NONE);
                if column != NONE {
                    roots[column as usize] = NONE;
                    free.push(column);
                }
            });
        }
    }

    /// The path of a result, step by step; where nothing else is said, that which lasts longest.
    pub fn walk(&self, source: Vertex, target: Vertex) -> Option<Vec<Walked>> {
        let (root, end) = if self.is_reversed { (target, source) } else { (source, target) };
        let column = self.columns[self.graph.place(root)? as usize];
        let mut place = self.graph.place(end)?;
        let mut state = self.automaton.result();
        let mut steps = Vec::new();
        loop {
            let (arc, before) = self.rows.parent(self.node(place, state), column)?;
            if arc == NONE {
                // From the state of results to one that accepts, at the same vertex.
                state = before;
                continue;
            }
            let arc = self.graph.arc(arc);
            let (operand, is_inverse) = self.symbols[usize::from(arc.symbol)];
            let (from, to) = (self.graph.vertex(arc.source), self.graph.vertex(arc.target));
            let (source, target) = if is_inverse { (to, from) } else { (from, to) };
            steps.push(Walked { operand, source, target });
            (place, state) = (arc.source, before);
            if state == 0 {
                break;
            }
        }
        if !self.is_reversed {
            steps.reverse();
        }
        Some(steps)
    }

    /// Chunks of ends that it holds.
    pub fn held(&self) -> usize {
        self.rows.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let relation = self.relation.as_ref().map_or(0, Relation::bytes);
        self.graph.bytes() + self.rows.bytes() + relation + (self.columns.capacity() + self.roots.capacity()) * 4
    }

    /// The node of a vertex's place in a state.
    #[inline]
    fn node(&self, place: Place, state: State) -> NodeId {
        (place as usize * self.automaton.width() + usize::from(state) - 1) as NodeId
    }

    /// The place and the state of a node.
    #[inline]
    fn place_and_state(&self, node: NodeId) -> (Place, State) {
        let width = self.automaton.width();
        ((node as usize / width) as Place, (node as usize % width) as State + 1)
    }

    /// An end as a number; moves the grid where it would be too great.
    fn number(&mut self, end: Time, now: Present) -> L {
        let number = self.grid.number(end);
        if number <= L::MOST {
            return L::of(number);
        }
        let moved = self.grid.move_to(now.ts());
        self.rows.rebase(moved);
        L::of(self.grid.number(end).min(L::MOST))
    }

    /// What ends up to here is past.
    fn passed(&self, now: Present) -> L {
        L::of(self.grid.passed(now))
    }

    /// Lets an arc end at an instant, and paths continue along it.
    fn add(
        &mut self,
        symbol: u16,
        ends: (Vertex, Vertex),
        (end, now): (Time, Present),
        names: &VertexTable,
        meter: &mut Meter<'_>,
    ) {
        let most = self.number(end, now);
        let passed = self.passed(now);
        let arc = self.graph.raise(symbol, ends, end);
        self.grow();
        let (source, target) = (self.graph.arc(arc).source, self.graph.arc(arc).target);
        for place in 0..self.automaton.by_symbol(symbol).len() {
            let (from, to) = self.automaton.by_symbol(symbol)[place];
            let node = self.node(target, to);
            let step = Step { most, passed, is_result: to == self.automaton.result(), parent: (arc, from) };
            if from != 0 {
                let chunks = self.rows.raise_all(self.node(source, from), node, step);
                meter.tick(chunks);
            } else if let Some(column) = self.column(source, names) {
                self.rows.raise_one(node, column, step);
            }
        }
    }

    fn grow(&mut self) {
        self.rows.grow(self.graph.len() * self.automaton.width());
        if self.columns.len() < self.graph.len() {
            self.columns.resize(self.graph.len(), NONE);
        }
    }

    /// The column of a root; none if paths do not begin there.
    fn column(&mut self, place: Place, names: &VertexTable) -> Option<Column> {
        let known = self.columns[place as usize];
        if known != NONE {
            return Some(known);
        }
        if let Some(root) = &self.root
            && names.name(self.graph.vertex(place)) != KeyRef::parse(root)
        {
            return None;
        }
        let column = if let Some(column) = self.free_columns.pop() {
            self.roots[column as usize] = place;
            column
        } else {
            self.roots.push(place);
            self.roots.len() as Column - 1
        };
        self.columns[place as usize] = column;
        Some(column)
    }

    /// Passes on what ends later, until nothing does.
    fn pass_on(&mut self, now: Present, meter: &mut Meter<'_>) {
        let passed = self.passed(now);
        let mut room = self.rows.room();
        let mut working = std::mem::take(&mut self.working);
        while let Some(node) = self.rows.next_pending(&mut working) {
            let (place, state) = self.place_and_state(node);
            if self.automaton.has_result_state() && self.automaton.accepts(state) {
                let step = Step { most: L::of(L::MOST), passed, is_result: true, parent: (NONE, state) };
                let result = self.node(place, self.automaton.result());
                for (number, ends) in &working {
                    self.rows.raise_chunk(result, *number, ends, step);
                }
            }
            for number in 0..self.graph.from(place).len() {
                let id = self.graph.from(place)[number];
                let arc = *self.graph.arc(id);
                for next in 0..self.automaton.next(state, arc.symbol).len() {
                    let to = self.automaton.next(state, arc.symbol)[next];
                    let is_result = to == self.automaton.result();
                    // What ended has a number, too: below every one that counts.
                    let most = L::of(self.grid.number(arc.end));
                    let step = Step { most, passed, is_result, parent: (id, state) };
                    let target = self.node(arc.target, to);
                    if most > passed {
                        for (number, ends) in &working {
                            self.rows.raise_chunk(target, *number, ends, step);
                        }
                    }
                }
                let made = self.rows.room() - room;
                room += made;
                if !meter.charge(working.len() as u32) || (made > 0 && !meter.hold(made * self.rows.chunk_bytes())) {
                    // What was found is true; what would have followed from it is missing.
                    self.rows.drop_pending();
                    break;
                }
            }
        }
        self.working = working;
    }

    /// Gives the relation the ends of results that the record changed. Without a reader they stay noted for the output.
    fn emit(&mut self, now: Present, meter: &mut Meter<'_>) {
        self.reached = L::of(self.grid.reached(now.ts()));
        let Some(mut relation) = self.relation.take() else { return };
        let noted = self.rows.take_noted();
        let bytes = relation.tuple_bytes();
        self.each_of(&noted, |Change { source, target, before, after }| {
            let known = relation.len();
            if after > before {
                relation.raise(&[source, target], after, now);
            } else if let Some(tuple) = relation.find(&[source, target]) {
                relation.lower(tuple, after, now);
            }
            meter.keep((relation.len() - known) * bytes)
        });
        self.rows.give_back(noted);
        self.relation = Some(relation);
    }

    /// Calls `f` with each change of the record, as long as it says so; says whether it always did. There are none where others
    /// read the relation.
    pub fn each_change(&self, f: impl FnMut(Change) -> bool) -> bool {
        self.each_of(self.rows.noted(), f)
    }

    /// Forgets what the record changed.
    pub fn forget_changes(&mut self) {
        self.rows.forget_noted();
    }

    fn each_of(&self, noted: &[Noted<L>], mut f: impl FnMut(Change) -> bool) -> bool {
        for old in noted {
            let (place, _) = self.place_and_state(old.node);
            let target = self.graph.vertex(place);
            let Some(chunk) = self.rows.find(old.node, old.number) else { continue };
            let new = &chunk.ends;
            for end_width in (0..END_WIDTHS).filter(|&end_width| new[end_width] != old.ends[end_width]) {
                let root = self.graph.vertex(self.roots[old.number as usize * END_WIDTHS + end_width]);
                let (source, target) = if self.is_reversed { (target, root) } else { (root, target) };
                let [before, after] = [old.ends[end_width], new[end_width]]
                    .map(|end| if end < self.reached || end == L::default() { ENDED } else { self.grid.instant(end.get()) });
                if !f(Change { source, target, before, after }) {
                    return false;
                }
            }
        }
        true
    }
}

/// A path, however it is run.
#[derive(Debug)]
pub enum AnyPath {
    /// By S-PATH, with ends as numbers of 32 bits.
    Narrow(Path<i32>),
    /// By S-PATH, with ends as numbers of 64 bits.
    Wide(Path<i64>),
    /// By Δ-trees.
    Tree(DeltaTree),
}

/// Calls a method of the path's own kind.
macro_rules! any {
    ($path:expr, $own:ident => $call:expr) => {
        match $path {
            AnyPath::Narrow($own) => $call,
            AnyPath::Wide($own) => $call,
            AnyPath::Tree($own) => $call,
        }
    };
}

impl AnyPath {
    /// Makes a path ready, over windows of at most so many ticks.
    pub fn new(spec: &PathSpec, (grid, longest): (Grid, i64), keeps_parents: bool, is_read: bool) -> Self {
        match spec.engine {
            PathEngine::DeltaTree => Self::Tree(DeltaTree::new(spec, is_read)),
            // Twice the span, so that the origin moves once a window at most.
            PathEngine::SPath if grid.span(longest).saturating_mul(2) < <i32 as End>::MOST => {
                Self::Narrow(Path::new(spec, grid, keeps_parents, is_read))
            }
            PathEngine::SPath => Self::Wide(Path::new(spec, grid, keeps_parents, is_read)),
        }
    }

    /// What it gives, where other operators read it.
    pub fn relation(&self) -> Option<&Relation> {
        any!(self, own => own.relation.as_ref())
    }

    /// As [`relation`](Self::relation).
    pub fn relation_mut(&mut self) -> Option<&mut Relation> {
        any!(self, own => own.relation.as_mut())
    }

    /// No operator reads it any more.
    pub fn end_reading(&mut self) {
        any!(self, own => own.relation = None);
    }

    /// Calls `f` with what the record changed, if only the output reads it, as long as it says so; returns whether it
    /// always did.
    pub fn each_change(&self, f: impl FnMut(Change) -> bool) -> bool {
        any!(self, own => own.each_change(f))
    }

    /// Forgets what the last record changed.
    pub fn begin(&mut self) {
        any!(self, own => own.forget_changes());
    }

    /// Operators that give its symbols.
    pub fn operands(&self) -> Vec<usize> {
        any!(self, own => own.operands().collect())
    }

    /// Takes what a record added to its operands.
    pub fn rise(&mut self, operands: Operands<'_>, names: &VertexTable, now: Present, meter: &mut Meter<'_>) {
        any!(self, own => own.rise(operands, names, now, meter));
    }

    /// Takes what a record took from its operands.
    pub fn invalidate(&mut self, operands: Operands<'_>, now: Present, meter: &mut Meter<'_>) {
        any!(self, own => own.invalidate(operands, now, meter));
    }

    /// Forgets the tuple of an operand that is past.
    pub fn forget(&mut self, operand: usize, values: &[Vertex], now: Present, meter: &mut Meter<'_>) {
        match self {
            Self::Narrow(own) => own.forget(operand, values),
            Self::Wide(own) => own.forget(operand, values),
            Self::Tree(own) => own.forget(operand, values, now, meter),
        }
    }

    /// The steps of the path of a result.
    pub fn walk(&self, source: Vertex, target: Vertex) -> Option<Vec<Walked>> {
        any!(self, own => own.walk(source, target))
    }

    /// What it holds: chunks of ends, or nodes of trees.
    pub fn held(&self) -> usize {
        any!(self, own => own.held())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        any!(self, own => own.bytes())
    }
}
