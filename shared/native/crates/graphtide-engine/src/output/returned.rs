//! What patterns of edges return of their matches, read from the window that a match was found in.
//!
//! Of an assignment every edge and vertex is one. Of a component each is a list, as an iteration is: a field is a list of
//! values, or computed from lists alone.
//! Cost: the size of the fields; of a component with the pairs.

use graphtide_graph::key::{IdRef, KeyRef, TextArena};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::{Vertex, VertexTable};
use serde::Deserialize;

use super::component::{Context, each_vertex};
use super::fields::{Fields, write_key};
use super::{FoundRow, MOST_PAIRS, PatternNames};
use crate::aggregate::{AGGREGATE, AggregateSpec, Of, aggregate, is_aggregate, reads_columns};
use crate::expression::{Bindings, Expression, Operand, end};

/// What a pattern of edges returns. A vertex is the place behind all edges that is its own, where a list is meant.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReturnsSpec {
    /// The fields.
    pub fields: Vec<FieldSpec>,
    /// The key of a match, if one match is emitted for each key.
    #[serde(default)]
    pub keys: Vec<Expression>,
    /// What they compute from lists.
    #[serde(default)]
    pub aggregates: Vec<AggregateSpec>,
}

/// A field of a match.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    /// Name given by the user.
    pub name: String,
    /// Its value.
    pub value: Expression,
    /// The list that each value belongs to, if it is one of values; the value is then that of edge 0.
    #[serde(default)]
    pub each: Option<u8>,
}

impl ReturnsSpec {
    /// Whether all that it reads is there, of so many edges and vertices.
    pub fn is_fit(&self, edges: usize, vertices: usize) -> bool {
        let is_fit = |value: &Expression| {
            let (read, ends) = value.reads();
            let below = |count: usize, read: u128| count >= 128 || read >> count == 0;
            // An aggregate may read the place of a vertex, which is behind those of edges.
            below(edges + vertices, u128::from(read))
                && below(vertices, ends)
                && reads_columns(value, usize::from(AGGREGATE), &self.aggregates)
        };
        let lists = |field: &FieldSpec| field.each.is_none_or(|place| usize::from(place) < edges + vertices);
        self.fields.iter().all(|field| is_fit(&field.value) && lists(field)) && self.keys.iter().all(is_fit)
    }

    /// Gives every column that is read another number.
    pub fn renumber(&mut self, mut number: impl FnMut(u16) -> u16) {
        for value in self.fields.iter_mut().map(|field| &mut field.value).chain(&mut self.keys) {
            value.attributes(&mut |_, column| {
                if !is_aggregate(*column) {
                    *column = number(*column);
                }
            });
        }
        for spec in &mut self.aggregates {
            if let Of::Column(column) = &mut spec.of {
                *column = number(*column);
            }
        }
    }
}

/// An assignment, read by fields.
struct Assigned<'a> {
    edges: &'a [EdgeRef],
    vertices: &'a [Vertex],
    store: &'a EdgeStore,
    names: &'a VertexTable,
}

/// One edge as edge 0, its ends as vertices 0 and 1.
struct One<'a> {
    edge: EdgeRef,
    store: &'a EdgeStore,
    names: &'a VertexTable,
}

/// The lists of a component, read by what is computed from them.
struct Lists<'a> {
    pairs: &'a [(u8, EdgeRef)],
    context: &'a Context<'a>,
    aggregates: &'a [AggregateSpec],
}

impl PatternNames {
    /// Adds what is returned of an assignment; returns where that begins and ends.
    pub(super) fn return_assigned(
        &self,
        (edges, vertices): (&[EdgeRef], &[Vertex]),
        (store, names): (&EdgeStore, &VertexTable),
        (out, text): (&mut Fields, &mut TextArena),
    ) -> (usize, usize) {
        let start = out.end();
        let assigned = Assigned { edges, vertices, store, names };
        self.returns.fields.iter().for_each(|field| field.value.with_value(&assigned, |value| out.push(value, text)));
        (start, out.end())
    }

    /// Adds the bytes of the key of what was found, which distinguishes one match from another.
    pub fn key(&self, found: &FoundRow<'_>, store: &EdgeStore, names: &VertexTable, out: &mut Vec<u8>) {
        let keys = self.returns.keys.iter();
        match *found {
            FoundRow::Assignment { edges, vertices } => {
                let assigned = Assigned { edges, vertices, store, names };
                keys.for_each(|key| key.with_value(&assigned, |value| write_key(value, out)));
            }
            FoundRow::Component { pairs, .. } => {
                let context = Context { names: self, store, vertices: names };
                let lists = Lists { pairs, context: &context, aggregates: &self.returns.aggregates };
                keys.for_each(|key| key.with_value(&lists, |value| write_key(value, out)));
            }
        }
    }

    /// Adds what is returned of a component, likewise.
    pub(super) fn return_component(
        &self,
        pairs: &[(u8, EdgeRef)],
        context: &Context<'_>,
        (out, text): (&mut Fields, &mut TextArena),
    ) -> (usize, usize) {
        let start = out.end();
        let emitted = &pairs[..pairs.len().min(MOST_PAIRS)];
        let Context { store, vertices: names, .. } = *context;
        for field in &self.returns.fields {
            match field.each.map(usize::from) {
                None => {
                    let lists = Lists { pairs, context, aggregates: &self.returns.aggregates };
                    field.value.with_value(&lists, |value| out.push(value, text));
                }
                Some(place) if place < self.edges.len() => {
                    let of = || emitted.iter().filter(|&&(edge, _)| usize::from(edge) == place);
                    out.begin_list(of().count());
                    for &(_, edge) in of() {
                        field.value.with_value(&One { edge, store, names }, |value| out.push(value, text));
                    }
                }
                Some(place) => {
                    let mut found = Vec::new();
                    each_vertex(self, store, emitted, place - self.edges.len(), |vertex| found.push(vertex));
                    out.begin_list(found.len());
                    for &vertex in &found {
                        out.push(names.name(vertex).into(), text);
                    }
                }
            }
        }
        (start, out.end())
    }
}

impl Bindings for Assigned<'_> {
    fn attribute(&self, edge: u8, column: u16) -> Operand<'_> {
        self.store.attribute(self.edges[usize::from(edge)], usize::from(column)).into()
    }

    fn ts(&self, edge: u8) -> i64 {
        self.store.get(self.edges[usize::from(edge)]).ts
    }

    fn id(&self, edge: u8) -> IdRef<'_> {
        self.store.id(self.edges[usize::from(edge)])
    }

    fn vertex(&self, vertex: u8) -> KeyRef<'_> {
        self.names.name(self.vertices[usize::from(vertex)])
    }
}

impl Bindings for One<'_> {
    fn attribute(&self, _: u8, column: u16) -> Operand<'_> {
        self.store.attribute(self.edge, usize::from(column)).into()
    }

    fn ts(&self, _: u8) -> i64 {
        self.store.get(self.edge).ts
    }

    fn id(&self, _: u8) -> IdRef<'_> {
        self.store.id(self.edge)
    }

    fn vertex(&self, side: u8) -> KeyRef<'_> {
        let stored = self.store.get(self.edge);
        self.names.name(if side == 0 { stored.source } else { stored.target })
    }
}

impl Bindings for Lists<'_> {
    fn attribute(&self, place: u8, column: u16) -> Operand<'_> {
        let Some(&AggregateSpec { function, of }) = self.aggregates.get(usize::from(column.wrapping_sub(AGGREGATE))) else {
            return Operand::Null;
        };
        let Context { names: of_names, store, vertices: names } = *self.context;
        if let Some(vertex) = usize::from(place).checked_sub(of_names.edges.len()) {
            let mut found = Vec::new();
            each_vertex(of_names, store, self.pairs, vertex, |vertex| found.push(vertex));
            return aggregate(function, found.iter().map(|&vertex| names.name(vertex).into()));
        }
        let edges = self.pairs.iter().filter(|&&(edge, _)| edge == place);
        let value = |&(_, edge): &(u8, EdgeRef)| match of {
            Of::Column(column) => store.attribute(edge, usize::from(column)).into(),
            Of::Ts => Operand::Int(store.get(edge).ts),
            Of::Id => store.id(edge).into(),
            Of::End(side) => {
                let stored = store.get(edge);
                end(names.name(if side == 0 { stored.source } else { stored.target }))
            }
        };
        aggregate(function, edges.map(value))
    }

    // Nothing but what is computed from lists is one value of a component.
    fn ts(&self, _: u8) -> i64 {
        0
    }

    fn id(&self, _: u8) -> IdRef<'_> {
        IdRef::Made(0)
    }

    fn vertex(&self, _: u8) -> KeyRef<'_> {
        KeyRef::ABSENT
    }
}
