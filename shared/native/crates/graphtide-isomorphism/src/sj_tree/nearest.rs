//! The partial matches in the tables of a join tree, as [`nearest`](crate::nearest) walks them.

use std::ops::Range;

use graphtide_engine::nearest::Nearest;
use graphtide_engine::trace::Node;
use graphtide_graph::store::{EdgeRef, EdgeStore};

use super::compile::{ROW_HEADER, TableId};
use super::run::{leaf, union};
use super::{SjTree, time};
use crate::arena::NIL;
use crate::nearest::{List, Lists};

/// A tree with the edges that its rows name.
pub struct Stored<'a> {
    /// The tree.
    pub tree: &'a SjTree,
    /// The edges.
    pub store: &'a EdgeStore,
}

impl Lists for Stored<'_> {
    fn lists(&self) -> Vec<List> {
        let plan = &self.tree.plan;
        let joins = plan.joins.iter().enumerate();
        let tables = joins.flat_map(|(level, join)| {
            let left = join.left.map(|table| (table, union(level), 0..join.left_edges));
            let right = join.right.map(|table| (table, leaf(level + 1), plan.leaves[level + 1].edges.clone()));
            left.into_iter().chain(right)
        });
        tables.map(|(table, node, places)| self.list(table, node, places)).collect()
    }

    fn offer_all(&self, list: &List, nearest: &mut Nearest) {
        for row in self.tree.state.tables[list.place].nodes() {
            self.offer(list, row, nearest);
        }
    }

    fn offer_newest(&self, lists: &[List], nearest: &mut Nearest) {
        let state = &self.tree.state;
        for (until, mut chain) in state.wheel.newest_first() {
            if nearest.excludes(lists[0].edges.len(), until) {
                return;
            }
            while chain != NIL {
                if !nearest.look() {
                    return;
                }
                let (table, row) = state.split(chain);
                if let Some(list) = lists.iter().find(|list| list.place == table) {
                    self.offer(list, row, nearest);
                }
                chain = state.tables[table].chained(row);
            }
        }
    }
}

impl Stored<'_> {
    fn list(&self, table: TableId, node: Node, places: Range<usize>) -> List {
        let rows = &self.tree.state.tables[table];
        let edges = places.map(|place| self.tree.plan.query_edge(place as u8)).collect();
        List { node, edges, live: rows.live(), rows: rows.places(), place: table }
    }

    /// Offers a row, unless one of its edges was deleted or has left the window.
    fn offer(&self, list: &List, row: u32, nearest: &mut Nearest) {
        let row = self.tree.state.tables[list.place].payload(row);
        if !nearest.is_alive(time(row)) {
            return;
        }
        let edges = || row[ROW_HEADER..].iter().take(list.edges.len()).map(|&edge| EdgeRef(edge));
        if self.store.has_deleted() && edges().any(|edge| self.store.is_deleted(edge)) {
            return;
        }
        let clock = self.tree.shape.clock;
        let Some(newest) = edges().map(|edge| self.store.came(edge, clock)).max() else { return };
        nearest.offer((list.edges.len(), time(row), newest), list.node, list.edges.iter().copied().zip(edges()));
    }
}
