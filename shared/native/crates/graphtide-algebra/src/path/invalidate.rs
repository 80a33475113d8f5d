//! Paths whose arcs were deleted: what rested on them is taken out and derived anew.
//!
//! First every end that may rest on a shortened arc is marked. An end is marked if it is just what the arc gave it. From there
//! on, it is marked if it is just what a marked one gave it. Then marked ends are derived from those that are not, the latest
//! first (Dijkstra's order). So each is settled once, as in section 6.2.5; an end that nothing derives is gone.
//! Cost: the arcs at what was marked, and a logarithm.

use std::collections::BinaryHeap;

use graphtide_engine::meter::Meter;
use graphtide_graph::clock::Present;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::automaton::State;
use super::graph::{ArcId, Place};
use super::rows::{Column, END_WIDTHS, NodeId};
use super::{NONE, Parent, Path};
use crate::end_width::End;
use crate::operator::Operands;

/// Ends that may rest on what was deleted, with what they were; by node and column.
type Marked<L> = HashMap<(NodeId, Column), L, FxBuildHasher>;

impl<L: End> Path<L> {
    /// Takes what a record took from its operands.
    pub fn invalidate(&mut self, operands: Operands<'_>, now: Present, meter: &mut Meter<'_>) {
        self.rows.begin();
        let mut shortened: Vec<ArcId> = Vec::new();
        for (symbol, &(operand, is_inverse)) in (0..).zip(&self.symbols) {
            let operand = operands.get(operand);
            for &tuple in operand.changed() {
                let values = operand.get(tuple);
                let ends = if is_inverse { (values[1], values[0]) } else { (values[0], values[1]) };
                shortened.extend(self.graph.lower(symbol, ends, operand.end(tuple)));
            }
        }
        let marked = self.mark(&shortened, now, meter);
        for &arc in &shortened {
            self.graph.settle(arc);
        }
        self.derive(&marked, now, meter);
        self.emit(now, meter);
    }

    /// Marks what may rest on shortened arcs.
    fn mark(&self, shortened: &[ArcId], now: Present, meter: &mut Meter<'_>) -> Marked<L> {
        let passed = self.passed(now);
        let mut marked = Marked::default();
        let mut waiting: Vec<(NodeId, Column)> = Vec::new();
        let mut mark = |node: NodeId, column: Column, end: L, marked: &mut Marked<L>, waiting: &mut Vec<(NodeId, Column)>| {
            meter.tick(1);
            if end > passed && self.rows.end(node, column) == end && marked.insert((node, column), end).is_none() {
                waiting.push((node, column));
            }
        };
        for &id in shortened {
            let arc = self.graph.arc(id);
            let before = L::of(self.grid.number(arc.before));
            for &(from, to) in self.automaton.by_symbol(arc.symbol) {
                let node = self.node(arc.target, to);
                if from == 0 {
                    let column = self.columns[arc.source as usize];
                    if column != NONE {
                        mark(node, column, before, &mut marked, &mut waiting);
                    }
                    continue;
                }
                self.rows.each(self.node(arc.source, from), |number, ends| {
                    for (end_width, &end) in (0..).zip(ends).filter(|&(_, &end)| end > passed) {
                        mark(node, number * END_WIDTHS as u32 + end_width, end.min(before), &mut marked, &mut waiting);
                    }
                });
            }
        }
        while let Some((node, column)) = waiting.pop() {
            let end = self.rows.end(node, column);
            let (place, state) = self.place_and_state(node);
            if self.automaton.has_result_state() && self.automaton.accepts(state) {
                mark(self.node(place, self.automaton.result()), column, end, &mut marked, &mut waiting);
            }
            for &id in self.graph.from(place) {
                let arc = self.graph.arc(id);
                for &to in self.automaton.next(state, arc.symbol) {
                    let before = L::of(self.grid.number(arc.before));
                    mark(self.node(arc.target, to), column, end.min(before), &mut marked, &mut waiting);
                }
            }
        }
        marked
    }

    /// Derives what was marked from what was not.
    fn derive(&mut self, marked: &Marked<L>, now: Present, meter: &mut Meter<'_>) {
        let passed = self.passed(now);
        // In their order, so that the output does not depend on how sets are kept.
        let mut ends: Vec<(NodeId, Column)> = marked.keys().copied().collect();
        ends.sort_unstable();
        for &(node, column) in &ends {
            self.set(node, column, L::default());
        }
        let mut found: BinaryHeap<(L, NodeId, Column, Parent)> = BinaryHeap::new();
        for (node, column) in ends {
            self.each_before(node, column, |end, parent| {
                meter.tick(1);
                if end > passed {
                    found.push((end, node, column, parent));
                }
            });
        }
        while let Some((end, node, column, parent)) = found.pop() {
            meter.tick(1);
            if end <= self.rows.end(node, column) {
                continue;
            }
            self.set(node, column, end);
            self.rows.set_parent(node, column, parent);
            let (place, state) = self.place_and_state(node);
            let mut lookback = |node: NodeId, end: L, parent: Parent| {
                if end > passed && marked.contains_key(&(node, column)) {
                    found.push((end, node, column, parent));
                }
            };
            if self.automaton.has_result_state() && self.automaton.accepts(state) {
                lookback(self.node(place, self.automaton.result()), end, (NONE, state));
            }
            for &id in self.graph.from(place) {
                let arc = self.graph.arc(id);
                let most = L::of(self.grid.number(arc.end));
                for &to in self.automaton.next(state, arc.symbol) {
                    lookback(self.node(arc.target, to), end.min(most), (id, state));
                }
            }
        }
    }

    /// Calls `f` with each end that a path to a node would have, and its last step.
    fn each_before(&self, node: NodeId, column: Column, mut f: impl FnMut(L, Parent)) {
        let (place, state): (Place, State) = self.place_and_state(node);
        if self.automaton.has_result_state() && state == self.automaton.result() {
            for own in self.automaton.accepting() {
                f(self.rows.end(self.node(place, own), column), (NONE, own));
            }
            return;
        }
        for &id in self.graph.to(place) {
            let arc = self.graph.arc(id);
            let most = L::of(self.grid.number(arc.end));
            for &from in self.automaton.previous(state, arc.symbol) {
                let end = if from == 0 {
                    if self.columns[arc.source as usize] == column { most } else { L::default() }
                } else {
                    self.rows.end(self.node(arc.source, from), column).min(most)
                };
                f(end, (id, from));
            }
        }
    }

    fn set(&mut self, node: NodeId, column: Column, end: L) {
        let (_, state) = self.place_and_state(node);
        self.rows.set(node, column, end, state == self.automaton.result());
    }
}
