//! Making the tree: which look-up members do next, so that many do the same.
//!
//! At each node, the look-up that most members can do next for what it costs is the next step of all of them. The others
//! choose among themselves. What it costs is the length of the lists that it reads, as far as they are known.
//! Cost: O(members × edges) look-ups in tables, with a heap of the look-ups at a node.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};

use graphtide_engine::ids::RingId;
use graphtide_engine::lists::{Access, Mask, Postings};
use graphtide_graph::clock::Clock;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::tree::{Asks, Bits, Group, MOST, Member, Need, Node, Opens, PrefixTree, Root, Span, Start, Step};
use crate::shape::{Shape, bits};

/// What a look-up that binds both ends costs, in entries.
const CLOSING: f64 = 0.05;

/// Entries in a list whose length is not known yet.
const UNKNOWN: f64 = 1.0;

/// The vertex is not bound yet.
const OPEN: u8 = u8::MAX;

/// A member in the making.
struct Draft<'s> {
    start: &'s Start<'s>,
    bound: u64,
    /// By query edge and query vertex: its place among those that are bound.
    edges: SmallVec<[u8; 8]>,
    vertices: SmallVec<[u8; 8]>,
    number: u32,
}

/// A look-up: lists, and which bound vertices are its ends.
type Key = (RingId, u8, u8);

/// A look-up with the members that could do it: worth first, for the heap.
#[derive(PartialEq)]
struct Choice {
    worth: f64,
    key: Key,
}

impl Eq for Choice {}

impl Ord for Choice {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.worth.total_cmp(&other.worth).then_with(|| other.key.cmp(&self.key))
    }
}

impl PartialOrd for Choice {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// What a member asks of a candidate: lists at the new vertex, bound edges that are earlier and later, its window.
type Demand = (Mask, u16, u16, u32);

struct Builder<'t, 's, 'p> {
    tree: &'t mut PrefixTree,
    drafts: Vec<Draft<'s>>,
    postings: &'p mut Postings,
    windows: FxHashMap<i64, u32>,
}

/// Whether searches of a pattern can be part of a tree.
pub fn is_shareable(shape: &Shape) -> bool {
    shape.clock == Clock::Time && !shape.vertices_may_coincide && shape.ends.len() <= MOST && shape.vertices <= MOST
}

impl PrefixTree {
    /// Makes the tree of some starts; their patterns are [shareable](is_shareable), their lists kept for shared searches. No
    /// other query edge must be later than a start.
    pub fn new(starts: &[Start<'_>], postings: &mut Postings) -> Self {
        let mut tree = Self::default();
        let drafts = starts.iter().map(Draft::new).collect();
        let all = (0..starts.len() as u32).collect();
        let mut builder = Builder { tree: &mut tree, drafts, postings, windows: FxHashMap::default() };
        builder.node(all);
        builder.settle_needs();
        let Builder { drafts, windows, .. } = builder;
        tree.windows = vec![0; windows.len()];
        for (length, number) in windows {
            tree.windows[number as usize] = length;
        }
        for draft in drafts {
            let Draft { start, edges, vertices, number, .. } = draft;
            tree.members[number as usize] = Member { unit: start.unit, edges, vertices };
        }
        tree.count = starts.len();
        tree
    }
}

impl<'s> Draft<'s> {
    fn new(start: &'s Start<'s>) -> Self {
        let shape = start.shape;
        let mut draft = Self {
            start,
            bound: 0,
            edges: SmallVec::from_elem(OPEN, shape.ends.len()),
            vertices: SmallVec::from_elem(OPEN, shape.vertices),
            number: 0,
        };
        draft.bind(start.query_edge);
        draft
    }

    /// Binds an edge, and its open ends to the next places.
    fn bind(&mut self, edge: u8) {
        let (source, target) = self.start.shape.ends[usize::from(edge)];
        self.edges[usize::from(edge)] = self.bound.count_ones() as u8;
        self.bound |= 1 << edge;
        let mut next = self.vertices.iter().filter(|&&place| place != OPEN).count() as u8;
        for vertex in [source, target] {
            if self.vertices[usize::from(vertex)] == OPEN {
                self.vertices[usize::from(vertex)] = next;
                next += 1;
            }
        }
    }

    /// Look-ups that it could do next, each with the query edge that it binds.
    fn look_ups(&self) -> impl Iterator<Item = (Key, u8)> {
        (0..self.start.shape.ends.len() as u8).filter_map(|edge| {
            let (source, target) = self.start.shape.ends[usize::from(edge)];
            let ends = (self.vertices[usize::from(source)], self.vertices[usize::from(target)]);
            let is_next = self.bound >> edge & 1 == 0 && ends != (OPEN, OPEN);
            is_next.then(|| ((self.start.rings[usize::from(edge)], ends.0, ends.1), edge))
        })
    }

    /// Of the bound edges, those that must be earlier than another, or later: by their places.
    fn order(&self, edge: u8) -> (u16, u16) {
        let shape = self.start.shape;
        let place = |other: usize| 1 << self.edges[other];
        let (mut after, mut before) = (0, 0);
        for other in bits(self.bound) {
            after |= if shape.precedes(other, usize::from(edge)) { place(other) } else { 0 };
            before |= if shape.precedes(usize::from(edge), other) { place(other) } else { 0 };
        }
        (after, before)
    }

    /// The lists that open edges at a query vertex are in.
    fn need(&self, vertex: u8, postings: &mut Postings) -> Mask {
        let shape = self.start.shape;
        let open = (0..shape.ends.len()).filter(|&edge| self.bound >> edge & 1 == 0);
        open.fold(0, |need, edge| {
            let (source, target) = shape.ends[edge];
            let ring = self.start.rings[edge];
            let by_source = if source == vertex { postings.watch(ring, Access::Source) } else { 0 };
            let by_target = if target == vertex { postings.watch(ring, Access::Target) } else { 0 };
            need | by_source | by_target
        })
    }
}

impl<'s> Builder<'_, 's, '_> {
    fn draft(&mut self, place: u32) -> &mut Draft<'s> {
        &mut self.drafts[place as usize]
    }

    /// Makes the node at which these drafts have the same edges bound, and all below it.
    fn node(&mut self, drafts: Vec<u32>) -> u32 {
        let start = self.tree.members.len() as u32;
        let mut left = Vec::with_capacity(drafts.len());
        for place in drafts {
            let draft = &mut self.drafts[place as usize];
            if draft.bound.count_ones() as usize == draft.start.shape.ends.len() {
                draft.number = self.tree.members.len() as u32;
                // It is put there once all are known.
                self.tree.members.push(Member::vacant());
            } else {
                left.push(place);
            }
        }
        let complete = self.tree.members.len() as u32;
        let steps: Vec<Step> = self.choose(&left).into_iter().map(|(key, members)| self.step(key, &members)).collect();
        let first = self.tree.steps.len() as u32;
        self.tree.steps.extend(steps);
        let (members, steps) = (self.tree.members.len() as u32, self.tree.steps.len() as u32);
        let complete_bits = Span { start, end: complete }.in_one_word();
        let (members, steps) = (Span { start, end: members }, Span { start: first, end: steps });
        self.tree.nodes.push(Node { members, complete, complete_bits, steps });
        self.tree.nodes.len() as u32 - 1
    }

    /// Lets each draft choose its next look-up, and says which query edge that binds.
    fn choose(&self, drafts: &[u32]) -> Vec<(Key, Vec<(u32, u8)>)> {
        if let &[place] = drafts {
            // Most nodes are one member's.
            let cost = |key: Key| self.cost(key);
            let next = self.drafts[place as usize].look_ups().min_by(|a, b| cost(a.0).total_cmp(&cost(b.0)));
            return next.into_iter().map(|(key, edge)| (key, vec![(place, edge)])).collect();
        }
        let mut able: FxHashMap<Key, Vec<(u32, u8)>> = FxHashMap::default();
        for &place in drafts {
            for (key, edge) in self.drafts[place as usize].look_ups() {
                match able.entry(key) {
                    // Of alike edges of a pattern, the first.
                    Entry::Occupied(mut known) if known.get().last().is_none_or(|&(last, _)| last != place) => {
                        known.get_mut().push((place, edge));
                    }
                    Entry::Occupied(_) => {}
                    Entry::Vacant(vacant) => {
                        vacant.insert(vec![(place, edge)]);
                    }
                }
            }
        }
        let worth = |key: Key, members: usize| Choice { worth: members as f64 / self.cost(key), key };
        let mut heap: BinaryHeap<Choice> = able.iter().map(|(&key, members)| worth(key, members.len())).collect();
        let mut has_chosen: FxHashSet<u32> = FxHashSet::default();
        let mut chosen = Vec::new();
        while has_chosen.len() < drafts.len()
            && let Some(Choice { key, worth: before }) = heap.pop()
        {
            let Some(members) = able.get_mut(&key) else { continue };
            members.retain(|&(place, _)| !has_chosen.contains(&place));
            if members.is_empty() {
                continue;
            }
            let now = worth(key, members.len());
            if now.worth < before {
                heap.push(now);
                continue;
            }
            has_chosen.extend(members.iter().map(|&(place, _)| place));
            chosen.push((key, able.remove(&key).unwrap_or_default()));
        }
        chosen
    }

    /// Entries that a look-up reads, about.
    fn cost(&self, (ring, source, target): Key) -> f64 {
        if source != OPEN && target != OPEN {
            return CLOSING;
        }
        self.postings.mean_length(ring).unwrap_or(UNKNOWN)
    }

    /// Makes the step of a look-up that these drafts do next, and all below it.
    fn step(&mut self, (ring, source, target): Key, members: &[(u32, u8)]) -> Step {
        let opens = match (source, target) {
            (OPEN, _) => Opens::Source,
            (_, OPEN) => Opens::Target,
            _ => Opens::Neither,
        };
        let mut asked: Vec<(u32, Demand)> = Vec::with_capacity(members.len());
        let mut predicates = Vec::new();
        let mut ends = (0, 0);
        for &(place, edge) in members {
            let draft = &mut self.drafts[place as usize];
            let shape = draft.start.shape;
            let (after, before) = draft.order(edge);
            let decided: Vec<usize> = shape.newly_decided(draft.bound, 1 << edge).collect();
            draft.bind(edge);
            for index in decided {
                predicates.push((place, shape.across[index].renamed(&draft.edges, &draft.vertices)));
            }
            let (from, to) = shape.ends[usize::from(edge)];
            ends = (draft.vertices[usize::from(from)], draft.vertices[usize::from(to)]);
            let need = match opens {
                Opens::Neither => 0,
                Opens::Source => draft.need(from, self.postings),
                Opens::Target => draft.need(to, self.postings),
            };
            let next = self.windows.len() as u32;
            let window = *self.windows.entry(shape.window).or_insert(next);
            asked.push((place, (need, after, before, window)));
        }
        let number = asked.iter().map(|&(_, (_, _, _, window))| window);
        let window = number.max_by_key(|number| self.windows.iter().find(|&(_, of)| of == number).map(|(&length, _)| length));
        let after = asked.iter().fold(u16::MAX, |all, &(_, (_, after, _, _))| all & after);
        let before = asked.iter().fold(u16::MAX, |all, &(_, (_, _, before, _))| all & before);
        let window = window.unwrap_or_default();
        let asks = Asks {
            lists: asked.iter().any(|&(_, (need, ..))| need != 0),
            order: asked.iter().any(|&(_, (_, later, earlier, _))| later & !after != 0 || earlier & !before != 0),
            window: asked.iter().any(|&(_, (_, _, _, its))| its != window),
        };
        let start = self.begin_word(members.len());
        let node = self.node(members.iter().map(|&(place, _)| place).collect());
        let members = Span { start, end: self.tree.members.len() as u32 };
        let of = self.tree.predicates.len() as u32;
        let numbered = predicates.into_iter().map(|(place, across)| (self.drafts[place as usize].number, across));
        self.tree.predicates.extend(numbered);
        let predicates = Span { start: of, end: self.tree.predicates.len() as u32 };
        let groups = self.groups(asked);
        let access = match opens {
            Opens::Neither => Access::Both,
            Opens::Source => Access::Target,
            Opens::Target => Access::Source,
        };
        Step {
            ring,
            access,
            ends,
            opens,
            members,
            groups,
            predicates,
            window,
            after,
            before,
            asks,
            bits: members.in_one_word(),
            node,
        }
    }

    /// The number from which on so many members are numbered: if they fit in one word of a set, they lie in one.
    fn begin_word(&mut self, count: usize) -> u32 {
        let members = &mut self.tree.members;
        if count <= 64 && members.len() % 64 + count > 64 {
            members.resize_with(members.len().next_multiple_of(64), Member::vacant);
        }
        members.len() as u32
    }

    fn groups(&mut self, asked: Vec<(u32, Demand)>) -> Span {
        let mut alike: FxHashMap<Demand, Vec<u32>> = FxHashMap::default();
        for (place, asked) in asked {
            let number = self.draft(place).number;
            alike.entry(asked).or_default().push(number);
        }
        let start = self.tree.groups.len() as u32;
        for ((need, after, before, window), members) in sorted(alike) {
            let bits = self.bits(members);
            let word = self.tree.bits[bits.range()].first().map_or(0, |bits| bits.bits);
            self.tree.groups.push(Group { need, after, before, window, bits, word });
        }
        Span { start, end: self.tree.groups.len() as u32 }
    }

    /// The words of a set of members.
    fn bits(&mut self, mut members: Vec<u32>) -> Span {
        members.sort_unstable();
        let all = &mut self.tree.bits;
        let start = all.len();
        for member in members {
            let (word, bit) = (member / 64, 1 << (member % 64));
            match all[start..].last_mut() {
                Some(last) if last.word == word => last.bits |= bit,
                _ => all.push(Bits { word, bits: bit }),
            }
        }
        Span { start: start as u32, end: all.len() as u32 }
    }

    /// Settles what members need at the ends of the arriving edge.
    fn settle_needs(&mut self) {
        let mut alike: FxHashMap<(Mask, Mask), Vec<u32>> = FxHashMap::default();
        for draft in &self.drafts {
            let fresh = Draft::new(draft.start);
            let (source, target) = draft.start.shape.ends[usize::from(draft.start.query_edge)];
            let needs = (fresh.need(source, self.postings), fresh.need(target, self.postings));
            alike.entry(needs).or_default().push(draft.number);
        }
        let mut by_first: BTreeMap<(Mask, Mask), Vec<Need>> = BTreeMap::new();
        for ((source, target), members) in sorted(alike) {
            let target_first = if source == 0 { lowest(target) } else { 0 };
            let bits = self.bits(members);
            by_first.entry((lowest(source), target_first)).or_default().push(Need { source, target, bits });
        }
        for ((source, target), needs) in by_first {
            let start = self.tree.needs.len() as u32;
            self.tree.needs.extend(needs);
            let needs = Span { start, end: self.tree.needs.len() as u32 };
            self.tree.roots.push(Root { source, target, needs });
        }
    }
}

/// The lowest list of a mask, alone.
fn lowest(mask: Mask) -> Mask {
    mask & mask.wrapping_neg()
}

/// The entries of a table in the order of their keys, so that equal patterns make equal trees.
fn sorted<K: Ord, V>(table: FxHashMap<K, V>) -> Vec<(K, V)> {
    let mut entries: Vec<(K, V)> = table.into_iter().collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    entries
}
