//! The partial matches of the expansion lists, as [`nearest`](crate::nearest) walks them.

use graphtide_engine::nearest::{Nearest, Rank};
use graphtide_graph::clock;

use super::{Binding, ItemId, NodeRef, Timing, step};
use crate::arena::NIL;
use crate::nearest::{List, Lists};

impl Lists for Timing {
    /// A match of the whole first subquery is one partial match, also where the union's tree stores it again.
    fn lists(&self) -> Vec<List> {
        let kinds = self.plan.items.iter().map(|item| &item.kind);
        let steps = kinds.enumerate().filter_map(|(place, kind)| Some((place, step(kind)?)));
        steps
            .map(|(place, node)| {
                let item = &self.items[place];
                List { node, edges: self.bound_by(node).collect(), live: item.live(), rows: item.places(), place }
            })
            .collect()
    }

    fn offer_all(&self, list: &List, nearest: &mut Nearest) {
        let mut binding = Binding::new(&self.shape);
        for node in self.items[list.place].nodes() {
            self.offer(list, node, &mut binding, nearest);
        }
    }

    fn offer_newest(&self, lists: &[List], nearest: &mut Nearest) {
        let mut binding = Binding::new(&self.shape);
        let edges = lists[0].edges.len();
        for held in self.edges.newest_first() {
            if !nearest.is_alive(held.at) || nearest.excludes(edges, clock::add(held.at, 1)) || !nearest.look() {
                return;
            }
            let mut chain = held.chain;
            while chain != NIL {
                if !nearest.look() {
                    return;
                }
                let (item, node): (ItemId, u32) = self.split(NodeRef(chain));
                if let Some(list) = lists.iter().find(|list| list.place == item) {
                    self.offer(list, node, &mut binding, nearest);
                }
                chain = self.items[item].chained(node);
            }
        }
    }
}

impl Timing {
    /// Offers a partial match, unless one of its edges was deleted or has left the window.
    fn offer(&self, list: &List, node: u32, binding: &mut Binding, nearest: &mut Nearest) {
        if !self.load(list.place, node, binding) {
            return;
        }
        let instants = || list.edges.iter().map(|&edge| self.edges.get(binding.edges[usize::from(edge)]).at);
        let (Some(oldest), Some(newest)) = (instants().min(), instants().max()) else { return };
        if nearest.is_alive(oldest) {
            let rank: Rank = (list.edges.len(), oldest, newest);
            nearest.offer(rank, list.node, list.edges.iter().map(|&edge| (edge, binding.stored[usize::from(edge)])));
        }
    }
}
