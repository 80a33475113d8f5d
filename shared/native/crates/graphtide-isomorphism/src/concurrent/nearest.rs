//! The partial matches of the expansion lists of several threads, as [`nearest`](crate::nearest) walks them.
//!
//! No transaction is under way meanwhile.

use std::sync::PoisonError;

use graphtide_engine::nearest::Nearest;
use graphtide_graph::clock;

use super::item::{Node as Stored, Nodes};
use super::sync::Arc;
use super::sync::atomic::Ordering;
use super::transaction::{Binding, Lists};
use super::{Concurrent, Held};
use crate::nearest::{self, List};
use crate::timing::{ItemKind, bound_by, step};

impl nearest::Lists for Concurrent {
    fn lists(&self) -> Vec<List> {
        let Lists { plan, items, .. } = &*self.lists;
        let steps = plan.items.iter().enumerate().filter_map(|(place, item)| Some((place, step(&item.kind)?)));
        steps
            .map(|(place, node)| {
                let live = items[place].live.load(Ordering::Relaxed);
                List { node, edges: bound_by(&plan.subqueries, node).collect(), live, rows: live, place }
            })
            .collect()
    }

    fn offer_all(&self, list: &List, nearest: &mut Nearest) {
        self.read(list.place, |nodes| nodes.all().for_each(|node| self.lists.offer(list, node, nearest)));
    }

    fn offer_newest(&self, lists: &[List], nearest: &mut Nearest) {
        for Held { edge, .. } in self.held.iter().rev() {
            let edges = lists[0].edges.len();
            if !nearest.is_alive(edge.at) || nearest.excludes(edges, clock::add(edge.at, 1)) || !nearest.look() {
                return;
            }
            for list in lists {
                self.read(list.place, |nodes| {
                    for (bucket, node) in nodes.of_oldest(edge.number) {
                        if nearest.charge(bucket) {
                            self.lists.offer(list, node, nearest);
                        }
                    }
                });
            }
        }
    }
}

impl Concurrent {
    fn read(&self, item: usize, f: impl FnOnce(&Nodes)) {
        f(&self.lists.items[item].nodes.read().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Lists {
    /// Offers a partial match, unless one of its edges was deleted or has left the window.
    fn offer(&self, list: &List, node: &Arc<Stored>, nearest: &mut Nearest) {
        let mut binding = Binding::new(&self.shape);
        let is_whole = match self.plan.items[list.place].kind {
            ItemKind::Prefix { subquery, depth } => self.load_branch(subquery, depth, node, &mut binding),
            ItemKind::Union { level } => self.load_union(level, node, &mut binding),
        };
        let bound = || list.edges.iter().filter_map(|&edge| Some((edge, binding.edges[usize::from(edge)].as_ref()?)));
        let instants = || bound().map(|(_, edge)| edge.at);
        if let (true, Some(oldest), Some(newest)) = (is_whole, instants().min(), instants().max())
            && nearest.is_alive(oldest)
        {
            nearest.offer((list.edges.len(), oldest, newest), list.node, bound().map(|(query, edge)| (query, edge.edge)));
        }
    }
}
