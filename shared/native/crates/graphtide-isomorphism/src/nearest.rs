//! The walk over the partial matches that an engine stores in lists, one list for each step of its plan.
//!
//! Lists with most edges come first. A list that the budget affords is looked at whole. In a larger one the walk goes from the
//! newest edges back. It ends as soon as what follows is older than all that was gathered.
//! Cost: one row for each step of the budget; with a small list it is the list, with a large one about what is gathered.

use graphtide_engine::nearest::Nearest;
use graphtide_engine::trace::Node;

/// The partial matches of one step.
#[derive(Clone, Debug)]
pub struct List {
    /// The step.
    pub node: Node,
    /// The query edges that they bind.
    pub edges: Vec<u8>,
    /// How many there are.
    pub live: usize,
    /// How many rows a look at all of them takes.
    pub rows: usize,
    /// The engine's number for the list.
    pub place: usize,
}

/// An engine that stores its partial matches in lists.
pub trait Lists {
    /// The lists, one for each part of the pattern that is stored.
    fn lists(&self) -> Vec<List>;

    /// Offers all partial matches of a list.
    fn offer_all(&self, list: &List, nearest: &mut Nearest);

    /// Offers partial matches of lists of as many edges, those whose oldest edge is newest first, while they may be among the
    /// nearest.
    fn offer_newest(&self, lists: &[List], nearest: &mut Nearest);
}

/// Counts the partial matches of an engine, and offers the nearest.
pub fn walk(engine: &impl Lists, nearest: &mut Nearest) {
    let mut lists = engine.lists();
    for list in &lists {
        nearest.count(list.node, list.edges.clone(), list.live);
    }
    lists.sort_by_key(|list| std::cmp::Reverse(list.edges.len()));
    for of_one_size in lists.chunk_by(|one, other| one.edges.len() == other.edges.len()) {
        if nearest.is_truncated() || nearest.excludes(of_one_size[0].edges.len(), i64::MAX) {
            return;
        }
        if nearest.affords(of_one_size.iter().map(|list| list.rows).sum()) {
            for list in of_one_size {
                nearest.charge(list.rows);
                engine.offer_all(list, nearest);
            }
        } else {
            engine.offer_newest(of_one_size, nearest);
        }
    }
}
