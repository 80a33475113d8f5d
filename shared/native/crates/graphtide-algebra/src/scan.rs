//! WSCAN: the edges of a window as tuples that end with it, equal ones coalesced.
//!
//! Edges of equal ends are one tuple, which ends when the last of them does. If edges may be deleted or paths are reported,
//! each tuple knows the edges that it stands for, oldest first.
//! Cost: a look-up an edge.

use graphtide_engine::dispatch::Record;
use graphtide_engine::expression::Expression;
use graphtide_graph::Time;
use graphtide_graph::clock::{self, Present};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::vertex::{Vertex, VertexTable};
use smallvec::SmallVec;

use crate::plan::InputSpec;
use crate::relation::{ENDED, Relation, Tuple};

/// What of the edges of a stream an input takes, and how long they last.
#[derive(Debug)]
pub struct Window {
    /// Of edges; none for any.
    pub label: Option<Symbol>,
    stream: Option<Symbol>,
    source_label: Option<Symbol>,
    target_label: Option<Symbol>,
    conditions: Vec<Expression>,
    length: i64,
    slide: i64,
}

impl Window {
    /// Makes an input ready.
    pub fn new(spec: &InputSpec, symbols: &SharedSymbols) -> Self {
        let number = |label: &Option<String>| label.as_deref().map(|label| symbols.lock().intern(label));
        Self {
            label: number(&spec.label),
            stream: number(&spec.stream),
            source_label: number(&spec.source_label),
            target_label: number(&spec.target_label),
            conditions: spec.conditions.clone(),
            length: spec.length,
            slide: spec.slide,
        }
    }

    /// Whether it takes an edge whose label it asks for. An edge that knows no stream is of the only one.
    #[inline]
    pub fn takes(&self, record: &Record<'_>) -> bool {
        let [source, _, target] = record.batch.labels()[record.row];
        let stream = record.batch.stream(record.row);
        (stream == Symbol::ABSENT || self.stream.is_none_or(|own| own == stream))
            && self.source_label.is_none_or(|label| label == source)
            && self.target_label.is_none_or(|label| label == target)
            && self.conditions.iter().all(|condition| condition.holds(record))
    }

    /// When an edge at an instant ends.
    #[inline]
    pub fn end(&self, ts: Time) -> Time {
        clock::end_of_slide(ts, self.slide, self.length)
    }

    /// Ticks in which an edge can be valid.
    pub fn length(&self) -> i64 {
        self.length
    }
}

/// The edges that tuples stand for.
#[derive(Debug, Default)]
pub struct Supports {
    edges: Vec<SmallVec<[EdgeRef; 2]>>,
}

impl Supports {
    fn of(&mut self, tuple: Tuple) -> &mut SmallVec<[EdgeRef; 2]> {
        if self.edges.len() <= tuple as usize {
            self.edges.resize_with(tuple as usize + 1, SmallVec::new);
        }
        &mut self.edges[tuple as usize]
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.edges.iter().map(|edges| size_of_val(edges) + edges.capacity().saturating_sub(2) * 4).sum()
    }
}

/// The edges of an input.
#[derive(Debug)]
pub struct Scan {
    /// Number of the input.
    pub input: usize,
    /// What it gives.
    pub relation: Relation,
    supports: Option<Supports>,
}

impl Scan {
    /// Makes a scan that knows no edge; `keeps` if it is asked which edges tuples stand for.
    pub fn new(input: usize, keeps: bool) -> Self {
        Self { input, relation: Relation::new(2), supports: keeps.then(Supports::default) }
    }

    /// Takes an edge; `edge` is what it is called, if that is asked for. A new tuple takes a use of each of its vertices.
    pub fn insert(
        &mut self,
        ends: (Vertex, Vertex),
        edge: Option<EdgeRef>,
        (end, now): (Time, Present),
        names: &mut VertexTable,
    ) {
        let values = [ends.0, ends.1];
        let known = self.relation.find(&values);
        self.relation.raise(&values, end, now);
        if known.is_none() {
            names.retain(ends.0);
            names.retain(ends.1);
        }
        if let (Some(supports), Some(edge)) = (&mut self.supports, edge)
            && let Some(tuple) = known.or_else(|| self.relation.find(&values))
        {
            supports.of(tuple).push(edge);
        }
    }

    /// Drops a deleted edge; `end` is the end of another one.
    pub fn delete(&mut self, ends: (Vertex, Vertex), edge: EdgeRef, now: Present, end: impl Fn(EdgeRef) -> Time) {
        let Some(tuple) = self.relation.find(&[ends.0, ends.1]) else { return };
        let Some(supports) = &mut self.supports else { return };
        let edges = supports.of(tuple);
        edges.retain(|other| *other != edge);
        let left = edges.iter().map(|&other| end(other)).max().filter(|&end| now.precedes(end)).unwrap_or(ENDED);
        // What has ended already is not deleted any more.
        if now.precedes(self.relation.end(tuple)) && left < self.relation.end(tuple) {
            self.relation.lower(tuple, left, now);
        }
    }

    /// Forgets an edge that the store is about to give up.
    pub fn forget(&mut self, ends: (Vertex, Vertex), edge: EdgeRef) {
        if let (Some(supports), Some(tuple)) = (&mut self.supports, self.relation.find(&[ends.0, ends.1])) {
            supports.of(tuple).retain(|other| *other != edge);
        }
    }

    /// Gives up what ended before now; calls `f` with the vertices of each tuple.
    pub fn expire(&mut self, now: Present, names: &mut VertexTable, mut f: impl FnMut(&[Vertex])) {
        let Self { relation, supports, .. } = self;
        relation.expire(now, |tuple, values| {
            f(values);
            for &vertex in values {
                names.release(vertex);
            }
            if let Some(supports) = supports {
                supports.of(tuple).clear();
            }
        });
    }

    /// Gives up all tuples with their uses of vertices.
    pub fn give_up(&self, names: &mut VertexTable) {
        for tuple in self.relation.tuples() {
            self.relation.get(tuple).iter().for_each(|&vertex| names.release(vertex));
        }
    }

    /// Whether it is asked which edges its tuples stand for.
    pub fn keeps_edges(&self) -> bool {
        self.supports.is_some()
    }

    /// The edge that a pair of vertices stands for longest.
    pub fn edge(&self, source: Vertex, target: Vertex) -> Option<EdgeRef> {
        let tuple = self.relation.find(&[source, target])?;
        self.supports.as_ref()?.edges.get(tuple as usize)?.last().copied()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.relation.bytes() + self.supports.as_ref().map_or(0, Supports::bytes)
    }
}
