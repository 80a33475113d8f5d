//! The edges of the window, in stream order.
//!
//! Invariant: edges lie in order of (ts, arrival); the oldest leave first. An edge is named by the low bits of its sequence
//! number, so a window holds at most 2^30 edges. Edges of the window that nobody wanted when they came lie apart
//! ([`out_of_order`]); they are not counted. How many edges came before one is kept where a window counts them, and costs
//! nothing elsewhere.
//! Cost: O(1) to append and to read, O(expired) to expire.

mod out_of_order;

use std::collections::VecDeque;

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use crate::Time;
use crate::clock::{Clock, Now};
use crate::key::{IdRef, KeyRef};
use crate::text_queue::TextQueue;
use crate::value::{OwnedValue, ValueRef};
use crate::vertex::Vertex;
use out_of_order::OutOfOrderEdges;

/// An edge in the window, by the low bits of its sequence number, or by its place among the late ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EdgeRef(pub u32);

/// Marks an edge that came late to the store.
const LATE: u32 = 1 << 31;

impl EdgeRef {
    /// Whether it came late to the store, which says nothing of its time.
    #[inline]
    pub fn is_out_of_order(self) -> bool {
        self.0 & LATE != 0
    }

    /// Edges that came in time were taken before this one: an order of those that are in the store at once.
    #[inline]
    pub fn is_before(self, other: Self) -> bool {
        other.0.wrapping_sub(self.0) & !LATE < LATE / 2 && self != other
    }
}

/// Finds an edge of a time in a list of edges that lie in the order of [`EdgeStore::refs`]; `of` gives time and edge of each.
///
/// Complexity: O(log(edges)); for an edge that came late, and as many more as came late and are of its time.
pub fn find_in_order<T>(list: &VecDeque<T>, ts: Time, edge: EdgeRef, of: impl Fn(&T) -> (Time, EdgeRef)) -> Option<usize> {
    let is_before = |other: &T| {
        let (time, other) = of(other);
        let in_time = !other.is_out_of_order() && !edge.is_out_of_order() && other.is_before(edge);
        (time, !other.is_out_of_order()) < (ts, !edge.is_out_of_order()) || (time == ts && in_time)
    };
    let start = list.partition_point(is_before);
    let same = list
        .range(start..)
        .map(of)
        .take_while(|&(time, other)| time == ts && other.is_out_of_order() == edge.is_out_of_order());
    let most = if edge.is_out_of_order() { usize::MAX } else { 1 };
    same.take(most).position(|(_, other)| other == edge).map(|place| start + place)
}

/// An edge as the store keeps it.
#[derive(Clone, Copy, Debug)]
pub struct StoredEdge {
    /// Event time.
    pub ts: Time,
    /// Source vertex.
    pub source: Vertex,
    /// Target vertex.
    pub target: Vertex,
    /// The caller's own mark: which kind of edge it took it for.
    pub class: u32,
    /// The id where it is a number, else the place of its text.
    id: u64,
    /// Length of the id's text, or [`NUMBER`], or [`MADE`].
    id_length: u32,
}

const NUMBER: u32 = u32::MAX;
const MADE: u32 = NUMBER - 1;

impl StoredEdge {
    /// Whether the store holds a text for the id.
    #[inline]
    fn has_text(&self) -> bool {
        self.id_length < MADE
    }
}

/// Edges of the window with their ids and the attributes that later edges are compared with.
#[derive(Debug, Default)]
pub struct EdgeStore {
    edges: VecDeque<StoredEdge>,
    first: u64,
    width: usize,
    attributes: VecDeque<OwnedValue>,
    /// Whether it is kept how many edges had come with each.
    counts: bool,
    /// That of each, or nothing.
    counted: VecDeque<i64>,
    texts: TextQueue,
    /// Deleted edges still held: few, or none.
    deleted: HashSet<u32, FxBuildHasher>,
    out_of_order: OutOfOrderEdges,
}

impl EdgeStore {
    /// Makes a store that keeps `width` attributes an edge.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Keeps from now on how many edges had come with each. Those held already count as having come before all.
    pub fn count(&mut self) {
        self.counts = true;
        self.counted.resize(self.edges.len(), i64::MIN);
    }

    /// Whether it keeps how many edges had come with each.
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Says how many edges had come with the one appended last, itself included; once for each, if the store keeps that.
    #[inline]
    pub fn number(&mut self, edges: i64) {
        if self.counts {
            self.counted.push_back(edges);
        }
    }

    /// Says how many edges had come with one that is held, if the store keeps that.
    pub fn number_at(&mut self, edge: EdgeRef, edges: i64) {
        if edge.is_out_of_order() {
            self.out_of_order.get_mut(edge).edges = edges;
        } else if self.counts {
            let place = self.place(edge);
            self.counted[place] = edges;
        }
    }

    /// Appends an edge; its time is not before that of any stored edge.
    #[allow(clippy::inline_always)] // every edge that somebody wants
    #[inline(always)]
    pub fn push<'v>(
        &mut self,
        (ts, class): (Time, u32),
        (source, target): (Vertex, Vertex),
        id: IdRef<'_>,
        attributes: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> EdgeRef {
        let (id, id_length) = match id {
            IdRef::Given(KeyRef::Number(number)) => (number, NUMBER),
            IdRef::Made(number) => (number, MADE),
            IdRef::Given(KeyRef::Text(text)) => (self.texts.push(text), text.len() as u32),
        };
        self.edges.push_back(StoredEdge { ts, source, target, class, id, id_length });
        if self.width > 0 {
            self.attributes.extend(attributes.into_iter().take(self.width).map(OwnedValue::new));
        }
        self.at(self.edges.len() - 1)
    }

    /// Adds an edge of the window that nobody wanted when it came. It can be read at once, and is found after `settle_late`.
    pub fn push_out_of_order<'v>(
        &mut self,
        (ts, class): (Time, u32),
        (source, target): (Vertex, Vertex),
        id: IdRef<'_>,
        attributes: impl IntoIterator<Item = ValueRef<'v>>,
    ) -> EdgeRef {
        let ((id, id_length), text): (_, Option<Box<str>>) = match id {
            IdRef::Given(KeyRef::Number(number)) => ((number, NUMBER), None),
            IdRef::Made(number) => ((number, MADE), None),
            IdRef::Given(KeyRef::Text(text)) => ((0, text.len() as u32), Some(text.into())),
        };
        let attributes = attributes.into_iter().take(self.width).map(OwnedValue::new).collect();
        self.out_of_order.add(StoredEdge { ts, source, target, class, id, id_length }, text, attributes)
    }

    /// Puts the edges added late in their order. Complexity: O(late edges held).
    pub fn settle_late(&mut self) {
        self.out_of_order.settle();
    }

    /// Keeps attributes more an edge, which no edge held has yet. Complexity: O(edges held).
    pub fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let mut old = std::mem::take(&mut self.attributes).into_iter();
        self.attributes.reserve(self.edges.len() * width);
        for _ in 0..self.edges.len() {
            self.attributes.extend(old.by_ref().take(self.width));
            self.attributes.extend(std::iter::repeat_n(OwnedValue::Null, width - self.width));
        }
        self.out_of_order.widen(width);
        self.width = width;
    }

    /// Gives an edge an attribute.
    pub fn set_attribute(&mut self, edge: EdgeRef, column: usize, value: ValueRef<'_>) {
        let value = OwnedValue::new(value);
        if edge.is_out_of_order() {
            self.out_of_order.get_mut(edge).attributes[column] = value;
        } else {
            let place = self.place(edge) * self.width + column;
            self.attributes[place] = value;
        }
    }

    /// The edges held of a time. Complexity: O(log(edges held)) to find them.
    pub fn of_time(&self, ts: Time) -> impl Iterator<Item = EdgeRef> {
        let start = self.edges.partition_point(|edge| edge.ts < ts);
        let edges = self.edges.range(start..).take_while(move |edge| edge.ts == ts).enumerate();
        self.out_of_order.of_time(ts).chain(edges.map(move |(place, _)| self.at(start + place)))
    }

    /// Takes back the edge appended last.
    pub fn pop_back(&mut self) {
        if let Some(edge) = self.edges.pop_back() {
            if edge.has_text() {
                self.texts.pop_back(edge.id, edge.id_length);
            }
            self.attributes.truncate(self.edges.len() * self.width);
            self.counted.pop_back();
        }
    }

    /// Gives an edge of the window another mark.
    pub fn set_class(&mut self, edge: EdgeRef, class: u32) {
        if edge.is_out_of_order() {
            self.out_of_order.get_mut(edge).stored.class = class;
        } else {
            let place = self.place(edge);
            self.edges[place].class = class;
        }
    }

    /// The edge appended last.
    pub fn newest(&self) -> Option<(EdgeRef, &StoredEdge)> {
        Some((self.at(self.edges.len().checked_sub(1)?), self.edges.back()?))
    }

    /// The edges held in the order of their times; of those of one time, late ones first.
    pub fn refs(&self) -> impl Iterator<Item = EdgeRef> {
        let mut out_of_order = self.out_of_order.refs().peekable();
        let mut place = 0;
        std::iter::from_fn(move || {
            let next = self.edges.get(place);
            if let Some(edge) =
                out_of_order.next_if(|&edge| next.is_none_or(|next| self.out_of_order.get(edge).stored.ts <= next.ts))
            {
                return Some(edge);
            }
            next.map(|_| {
                place += 1;
                self.at(place - 1)
            })
        })
    }

    /// The edge to leave next: the oldest, a late one before others of its time.
    pub fn oldest(&self) -> Option<(EdgeRef, &StoredEdge)> {
        let oldest = self.edges.front();
        match self.out_of_order.oldest() {
            Some((edge, out_of_order)) if oldest.is_none_or(|oldest| out_of_order.ts <= oldest.ts) => {
                Some((edge, out_of_order))
            }
            _ => Some((self.at(0), oldest?)),
        }
    }

    /// Removes the oldest edge if it came before `alive_from` on both clocks.
    #[inline]
    pub fn pop_expired(&mut self, alive_from: Now) -> Option<StoredEdge> {
        if !self.out_of_order.is_empty()
            && let Some((edge, stored)) = self.oldest()
            && edge.is_out_of_order()
        {
            if stored.ts >= alive_from.ts || (self.counts && self.out_of_order.get(edge).edges >= alive_from.edges) {
                return None;
            }
            self.deleted.remove(&edge.0);
            return self.out_of_order.pop_oldest();
        }
        if self.edges.front()?.ts >= alive_from.ts || self.counted.front().is_some_and(|&edges| edges >= alive_from.edges) {
            return None;
        }
        self.pop_oldest()
    }

    /// Removes the oldest edge of those that came in time.
    #[inline]
    pub fn pop_oldest(&mut self) -> Option<StoredEdge> {
        let edge = self.edges.pop_front()?;
        if !self.deleted.is_empty() {
            self.deleted.remove(&(self.first as u32 & !LATE));
        }
        self.first += 1;
        self.counted.pop_front();
        self.attributes.drain(..self.width);
        if edge.has_text() {
            self.texts.pop_front(edge.id, edge.id_length);
        }
        Some(edge)
    }

    #[inline]
    fn at(&self, place: usize) -> EdgeRef {
        EdgeRef((self.first + place as u64) as u32 & !LATE)
    }

    #[inline]
    fn place(&self, edge: EdgeRef) -> usize {
        (edge.0.wrapping_sub(self.first as u32) & !LATE) as usize
    }

    /// Reads an edge of the window.
    #[inline]
    pub fn get(&self, edge: EdgeRef) -> &StoredEdge {
        if edge.is_out_of_order() { &self.out_of_order.get(edge).stored } else { &self.edges[self.place(edge)] }
    }

    /// When an edge of the window came, on a clock.
    #[inline]
    pub fn came(&self, edge: EdgeRef, clock: Clock) -> i64 {
        match clock {
            Clock::Time => self.get(edge).ts,
            Clock::Edges => self.born(edge).edges,
        }
    }

    /// When an edge of the window came, on both clocks.
    #[inline]
    pub fn born(&self, edge: EdgeRef) -> Now {
        let edges = match (self.counts, edge.is_out_of_order()) {
            (false, _) => i64::MIN,
            (true, false) => self.counted[self.place(edge)],
            (true, true) => self.out_of_order.get(edge).edges,
        };
        Now { ts: self.get(edge).ts, edges }
    }

    /// Returns the id of an edge of the window.
    #[inline]
    pub fn id(&self, edge: EdgeRef) -> IdRef<'_> {
        let stored = self.get(edge);
        if !stored.has_text() {
            let given = || IdRef::Given(KeyRef::Number(stored.id));
            return if stored.id_length == MADE { IdRef::Made(stored.id) } else { given() };
        }
        if edge.is_out_of_order() {
            return IdRef::Given(KeyRef::Text(self.out_of_order.get(edge).text.as_deref().unwrap_or_default()));
        }
        IdRef::Given(KeyRef::Text(self.texts.get(stored.id, stored.id_length)))
    }

    /// Returns an attribute kept for an edge of the window.
    #[inline]
    pub fn attribute(&self, edge: EdgeRef, column: usize) -> ValueRef<'_> {
        if edge.is_out_of_order() {
            return self.out_of_order.get(edge).attributes[column].get();
        }
        self.attributes[self.place(edge) * self.width + column].get()
    }

    /// All attributes kept for an edge of the window.
    pub fn attributes(&self, edge: EdgeRef) -> impl Iterator<Item = ValueRef<'_>> {
        (0..self.width).map(move |column| self.attribute(edge, column))
    }

    /// Marks an edge of the window as deleted. It stays until it expires, so that what names it can be read.
    pub fn delete(&mut self, edge: EdgeRef) {
        self.deleted.insert(edge.0);
    }

    /// Whether some edge held was deleted.
    #[inline]
    pub fn has_deleted(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Whether an edge of the window was deleted.
    #[inline]
    pub fn is_deleted(&self, edge: EdgeRef) -> bool {
        self.deleted.contains(&edge.0)
    }

    /// How many edges held that came in time are older; 0 of one that came late.
    pub fn rank(&self, edge: EdgeRef) -> usize {
        if edge.is_out_of_order() { 0 } else { self.place(edge) }
    }

    /// Edges held.
    pub fn len(&self) -> usize {
        self.edges.len() + self.out_of_order.len()
    }

    /// Whether no edge is held.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.out_of_order.is_empty()
    }

    /// Bytes that the edges held take, texts of attributes apart.
    pub fn bytes(&self) -> usize {
        let out_of_order = self.out_of_order.bytes();
        let counted = self.counted.len() * size_of::<i64>();
        let edges = self.edges.len() * (size_of::<StoredEdge>() + self.width * size_of::<OwnedValue>());
        edges + counted + self.texts.len() + out_of_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(store: &mut EdgeStore, ts: Time, id: &str) -> EdgeRef {
        store.push((ts, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::parse(id)), [])
    }

    #[test]
    fn ids_survive_the_expiry_of_older_edges() {
        let mut store = EdgeStore::default();
        let edges: Vec<EdgeRef> = (0..5000).map(|n| push(&mut store, n, &format!("flow-{n}"))).collect();
        while store.pop_expired(Now::uncounted(4000)).is_some() {}
        assert_eq!(store.len(), 1000);
        assert_eq!(store.oldest().map(|(edge, _)| edge), Some(edges[4000]));
        for (n, &edge) in edges.iter().enumerate().skip(4000) {
            assert_eq!(store.id(edge), IdRef::Given(KeyRef::Text(&format!("flow-{n}"))));
            assert_eq!(usize::try_from(store.get(edge).ts), Ok(n));
        }
        assert!(store.texts.len() < 5000 * 9, "texts of expired ids are given back");
    }

    #[test]
    fn edges_are_counted_from_when_someone_asks_and_those_before_lie_before_all() {
        let mut store = EdgeStore::default();
        let before = push(&mut store, 1, "a");
        store.count();
        let edges = [7, 9].map(|edges| {
            let edge = push(&mut store, 1, "b");
            store.number(edges);
            edge
        });
        let came = |store: &EdgeStore, edge| (store.came(edge, Clock::Time), store.came(edge, Clock::Edges));
        assert_eq!([before, edges[0], edges[1]].map(|edge| came(&store, edge)), [(1, i64::MIN), (1, 7), (1, 9)]);
        store.pop_oldest();
        store.pop_back();
        assert_eq!(came(&store, edges[0]), (1, 7));
        let out_of_order = store.push_out_of_order((1, 0), (Vertex(0), Vertex(1)), IdRef::Made(0), []);
        assert_eq!(came(&store, out_of_order), (1, i64::MIN), "nobody counted it when it came");
        store.settle_late();
        store.number_at(out_of_order, 8);
        assert_eq!(came(&store, out_of_order), (1, 8));
        let mut leaves = |edges| store.pop_expired(Now { ts: 2, edges }).is_some();
        assert_eq!([leaves(8), leaves(9), leaves(9)], [false, true, true], "the late one stands before the other of its time");
    }

    #[test]
    fn a_deletion_is_remembered_until_its_edge_expires() {
        let mut store = EdgeStore::default();
        let (one, other) = (push(&mut store, 1, "a"), push(&mut store, 2, "b"));
        store.delete(one);
        assert!(store.has_deleted() && store.is_deleted(one) && !store.is_deleted(other));
        store.pop_expired(Now::uncounted(2));
        assert!(!store.has_deleted());
    }

    #[test]
    fn a_late_edge_is_read_as_others_and_leaves_at_its_time() {
        let mut store = EdgeStore::new(1);
        let given = |text| IdRef::Given(KeyRef::parse(text));
        let ends = (Vertex(0), Vertex(1));
        let mut push = |ts| store.push((ts, 7), ends, IdRef::Made(7), [ValueRef::Int(ts)]);
        let edges: Vec<EdgeRef> = [1, 3, 3, 5].map(&mut push).into();
        let out_of_order: Vec<EdgeRef> = [(3, "x"), (1, "9"), (4, "y")]
            .map(|(ts, id)| store.push_out_of_order((ts, 8), ends, given(id), [ValueRef::Text(id)]))
            .into();
        store.settle_late();
        assert_eq!(
            store.refs().collect::<Vec<_>>(),
            [out_of_order[1], edges[0], out_of_order[0], edges[1], edges[2], out_of_order[2], edges[3]]
        );
        assert_eq!(store.of_time(3).collect::<Vec<_>>(), [out_of_order[0], edges[1], edges[2]]);
        assert_eq!((store.id(out_of_order[0]), store.id(out_of_order[1])), (given("x"), given("9")));
        assert_eq!(store.attributes(out_of_order[2]).collect::<Vec<_>>(), [ValueRef::Text("y")]);
        store.widen(2);
        store.set_attribute(out_of_order[2], 1, ValueRef::Int(4));
        store.set_attribute(edges[1], 1, ValueRef::Int(5));
        assert_eq!(store.attributes(out_of_order[2]).collect::<Vec<_>>(), [ValueRef::Text("y"), ValueRef::Int(4)]);
        assert_eq!(store.attributes(edges[1]).collect::<Vec<_>>(), [ValueRef::Int(3), ValueRef::Int(5)]);
        assert_eq!(store.attributes(edges[3]).collect::<Vec<_>>(), [ValueRef::Int(5), ValueRef::Null]);
        store.delete(out_of_order[0]);
        let left: Vec<Time> = std::iter::from_fn(|| store.pop_expired(Now::uncounted(4))).map(|edge| edge.ts).collect();
        assert_eq!(left, [1, 1, 3, 3, 3]);
        assert!(!store.has_deleted());
        assert_eq!(
            store.push_out_of_order((4, 8), ends, given("z"), [ValueRef::Null]).0 & !LATE,
            out_of_order[0].0 & !LATE,
            "its place is used again"
        );
        store.settle_late();
        assert_eq!(std::iter::from_fn(|| store.pop_expired(Now::uncounted(9))).count(), 3);
        assert!(store.is_empty());
    }

    #[test]
    fn taking_back_the_last_edge_leaves_no_trace() {
        let mut store = EdgeStore::new(1);
        let kept = store.push((1, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text("kept")), [ValueRef::Int(1)]);
        store.push((2, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text("gone")), [ValueRef::Int(2)]);
        store.pop_back();
        let next = store.push((2, 0), (Vertex(0), Vertex(1)), IdRef::Given(KeyRef::Text("next")), [ValueRef::Int(3)]);
        assert_eq!((store.id(kept), store.id(next)), (IdRef::Given(KeyRef::Text("kept")), IdRef::Given(KeyRef::Text("next"))));
        assert_eq!((store.attribute(kept, 0), store.attribute(next, 0)), (ValueRef::Int(1), ValueRef::Int(3)));
    }
}
