//! Components on their way out: the matches of dual simulation, of any size.
//!
//! A component is pairs of a query edge and a data edge. A record of one carries the first [`MOST_PAIRS`] of them; its identity
//! covers all.
//! Cost: O(pairs × log(pairs)) for the identity of a component, whose pairs are hashed in their order by name.

use std::ops::Range;

use graphtide_graph::key::{IdRef, Key, KeyRef, TextArena};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::VertexTable;
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::json::{begin_member, write_string};
use super::{Kind, PatternNames};

/// Pairs that a record carries.
pub const MOST_PAIRS: usize = 10_000;

/// A component found since the last hand-over.
#[derive(Clone, Debug)]
pub(super) struct ComponentRow {
    pub kind: Kind,
    /// Its oldest edge.
    pub name: EdgeRef,
    pub pairs: Range<usize>,
    pub former: Range<usize>,
}

/// A component with its texts in the batch: keys of edges by query edge, of vertices by query vertex, of its name, of former
/// ones.
#[derive(Clone, Debug)]
pub(super) struct OwnedComponent {
    pub id: [u8; 32],
    /// How many keys there are for each query edge, then for each query vertex.
    lengths: Range<usize>,
    first_key: usize,
    former: usize,
    /// How many there are in all, for each query edge, then for each query vertex; empty where all are here.
    totals: Range<usize>,
    is_named: bool,
}

/// Components that own their texts.
#[derive(Debug, Default)]
pub(super) struct OwnedComponents {
    components: Vec<OwnedComponent>,
    keys: Vec<Key>,
    counts: Vec<u32>,
}

/// A component of a batch, by reference.
#[derive(Clone, Copy)]
pub struct ComponentRef<'a> {
    pub(super) component: &'a OwnedComponent,
    of: &'a OwnedComponents,
    text: &'a TextArena,
}

/// What a component is made from: the window it was found in, and whose it is.
pub(super) struct Context<'a> {
    pub names: &'a PatternNames,
    pub store: &'a EdgeStore,
    pub vertices: &'a VertexTable,
}

impl OwnedComponents {
    /// Takes a component; returns its number.
    pub fn push(
        &mut self,
        name: EdgeRef,
        pairs: &[(u8, EdgeRef)],
        former: &[EdgeRef],
        context: &Context<'_>,
        text: &mut TextArena,
    ) -> usize {
        let Context { names, store, vertices } = *context;
        let id = names.identify(pairs.iter().map(|&(edge, of)| (edge, store.id(of))));
        let emitted = &pairs[..pairs.len().min(MOST_PAIRS)];
        let (first_key, first_length) = (self.keys.len(), self.counts.len());
        for edge in 0..names.edges.len() {
            let before = self.keys.len();
            for &(_, of) in emitted.iter().filter(|&&(number, _)| usize::from(number) == edge) {
                self.keys.push(text.insert_id(store.id(of)));
            }
            self.counts.push((self.keys.len() - before) as u32);
        }
        for vertex in 0..names.vertices.len() {
            let before = self.keys.len();
            each_vertex(names, store, emitted, vertex, |found| self.keys.push(text.insert(vertices.name(found))));
            self.counts.push((self.keys.len() - before) as u32);
        }
        let lengths = first_length..self.counts.len();
        if emitted.len() < pairs.len() {
            let of = |edge| pairs.iter().filter(|&&(number, _)| usize::from(number) == edge).count();
            self.counts.extend((0..names.edges.len()).map(|edge| of(edge) as u32));
            for vertex in 0..names.vertices.len() {
                let mut count = 0;
                each_vertex(names, store, pairs, vertex, |_| count += 1);
                self.counts.push(count);
            }
        }
        let totals = lengths.end..self.counts.len();
        if names.emits_changes {
            self.keys.push(text.insert_id(store.id(name)));
            self.keys.extend(former.iter().map(|&of| text.insert_id(store.id(of))));
        }
        let (former, is_named) = (former.len(), names.emits_changes);
        self.components.push(OwnedComponent { id, lengths, first_key, former, totals, is_named });
        self.components.len() - 1
    }

    /// Reads a component.
    pub fn get<'a>(&'a self, number: usize, text: &'a TextArena) -> ComponentRef<'a> {
        ComponentRef { component: &self.components[number], of: self, text }
    }

    /// Bytes held, but for texts.
    pub fn bytes(&self) -> usize {
        self.components.len() * size_of::<OwnedComponent>()
            + self.keys.len() * size_of::<Key>()
            + self.counts.len() * size_of::<u32>()
    }
}

/// Calls `f` with each data vertex that pairs match to a query vertex, once, in the order of their edges.
pub(super) fn each_vertex(
    names: &PatternNames,
    store: &EdgeStore,
    pairs: &[(u8, EdgeRef)],
    vertex: usize,
    mut f: impl FnMut(graphtide_graph::vertex::Vertex),
) {
    let mut seen = HashSet::with_hasher(FxBuildHasher);
    for &(edge, of) in pairs {
        let (source, target) = names.ends[usize::from(edge)];
        let stored = store.get(of);
        for (end, found) in [(source, stored.source), (target, stored.target)] {
            if usize::from(end) == vertex && seen.insert(found) {
                f(found);
            }
        }
    }
}

impl<'a> ComponentRef<'a> {
    /// For each query edge, the ids of its edges.
    pub fn edges(&self, count: usize) -> Vec<Vec<IdRef<'a>>> {
        let text = self.text;
        self.parts(0, count).map(|keys| keys.iter().map(|&key| text.get_id(key)).collect()).collect()
    }

    /// For each query vertex, behind so many query edges, the names of its vertices.
    pub fn vertices(&self, edges: usize) -> Vec<Vec<KeyRef<'a>>> {
        let (text, all) = (self.text, self.component.lengths.len());
        self.parts(edges, all).map(|keys| keys.iter().map(|&key| text.get(key)).collect()).collect()
    }

    /// How many there are in all, for each query edge, then for each query vertex, if not all are here.
    pub fn totals(&self) -> Option<&'a [u32]> {
        let totals = &self.of.counts[self.component.totals.clone()];
        (!totals.is_empty()).then_some(totals)
    }

    /// The id of its oldest edge, and former ones, if changes are reported.
    pub fn named(&self) -> Option<(IdRef<'a>, Vec<IdRef<'a>>)> {
        let text = self.text;
        let lengths = &self.of.counts[self.component.lengths.clone()];
        let last = self.component.first_key + lengths.iter().sum::<u32>() as usize;
        let former = self.of.keys.get(last + 1..=last + self.component.former).unwrap_or_default();
        let name = self.of.keys.get(last).filter(|_| self.component.is_named)?;
        Some((text.get_id(*name), former.iter().map(|&key| text.get_id(key)).collect()))
    }

    /// Writes its members of a JSON object, `edges` first, with a comma before each but the first.
    pub(super) fn write_json(&self, names: &PatternNames, kind: Kind, out: &mut Vec<u8>) {
        let (edge_names, vertex_names) = names.json_parts.split_at(names.edges.len());
        out.extend_from_slice(b"\"edges\":");
        write_lists(edge_names, &self.edges(names.edges.len()), |id, out| id.with_text(|text| write_string(text, out)), out);
        out.extend_from_slice(b",\"vertices\":");
        let vertices = self.vertices(names.edges.len());
        write_lists(vertex_names, &vertices, |name, out| name.with_text(|text| write_string(text, out)), out);
        if let Some((name, former)) = self.named() {
            out.extend_from_slice(b",\"component\":");
            name.with_text(|text| write_string(text, out));
            match (kind, former.as_slice()) {
                (_, []) => {}
                (Kind::Extend, merged) => {
                    out.extend_from_slice(b",\"merged\":");
                    write_list(merged, |id, out| id.with_text(|text| write_string(text, out)), out);
                }
                (Kind::Match | Kind::Retract | Kind::Timeout, [split_from, ..]) => {
                    out.extend_from_slice(b",\"split_from\":");
                    split_from.with_text(|text| write_string(text, out));
                }
            }
        }
        if let Some(totals) = self.totals() {
            let (edges, vertices) = totals.split_at(names.edges.len());
            out.extend_from_slice(b",\"truncated\":true,\"counts\":{\"edges\":");
            write_counts(edge_names, edges, out);
            out.extend_from_slice(b",\"vertices\":");
            write_counts(vertex_names, vertices, out);
            out.push(b'}');
        }
    }

    fn parts(&self, from: usize, to: usize) -> impl Iterator<Item = &'a [Key]> + use<'a> {
        let of = self.of;
        let lengths = &of.counts[self.component.lengths.clone()];
        let mut next = self.component.first_key + lengths[..from].iter().sum::<u32>() as usize;
        lengths[from..to].iter().map(move |&length| {
            let start = next;
            next += length as usize;
            &of.keys[start..next]
        })
    }
}

fn write_lists<T>(names: &[Vec<u8>], lists: &[Vec<T>], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'{');
    for (number, (name, list)) in names.iter().zip(lists).enumerate() {
        begin_member(number, name, out);
        write_list(list, &write, out);
    }
    out.push(b'}');
}

fn write_list<T>(list: &[T], write: impl Fn(&T, &mut Vec<u8>), out: &mut Vec<u8>) {
    out.push(b'[');
    for (number, each) in list.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(each, out);
    }
    out.push(b']');
}

fn write_counts(names: &[Vec<u8>], counts: &[u32], out: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    out.push(b'{');
    for (number, (name, &count)) in names.iter().zip(counts).enumerate() {
        begin_member(number, name, out);
        out.extend_from_slice(digits.format(count).as_bytes());
    }
    out.push(b'}');
}
