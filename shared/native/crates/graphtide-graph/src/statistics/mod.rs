//! What a planner wants to know of a stream's recent past, kept record by record. That is how often each type of edge and each
//! 2-edge path occurs, how the degrees are spread, how fast edges come.
//!
//! Invariant: after every record, all counts are those that a recount of the window's live edges gives. There is no error to
//! correct, under expiry or deletion. Memory follows the window.
//! Cost of a record: O(1), and O(kinds of edge ends at its two vertices) where paths are counted; twice that where edges
//! expire. Nothing is allocated for an edge whose types and vertices have been there before.
//!
//! Records come in order of time. One that does not counts as if it came at the time of the newest before it.
//!
//! Reference: paper 003, section 5.1 and Algorithm 5, which recount a graph at rest.

mod degrees;
mod live;
mod paths;
mod types;

use std::ops::Range;

use crate::Time;
use crate::batch::{EdgeBatch, Operation};
use crate::key::IdRef;
use crate::store::StoredEdge;
use crate::vertex::{Vertex, VertexTable};

pub use degrees::DegreeMoments;
use degrees::Degrees;
use live::LiveEdges;
use paths::{EndTable, PathCounts};
pub use types::EdgeType;
use types::{Code, TypeTable};

/// Which edges count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// All since the start.
    Everything,
    /// Those less than so many ticks before the newest record.
    Sliding(Time),
    /// Those in the same stretch of so many ticks as the newest record; stretches start at multiples of their length.
    Tumbling(Time),
}

/// What is counted, and of what.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Which edges count; a length below 1 is 1.
    pub window: Window,
    /// Whether 2-edge paths are counted.
    pub paths: bool,
    /// Whether the stream may delete edges; if not, a deletion only advances time.
    pub deletions: bool,
}

/// The role of the vertex between two edges, as one of them has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The edge goes out of it.
    Out,
    /// The edge comes into it.
    In,
}

/// 2-edge paths of one kind: unordered pairs of ends of distinct edges at one vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathCount {
    /// Two edges by the place of their type in the snapshot, with their direction at the vertex between.
    pub ends: [(u32, Direction); 2],
    /// How many there are.
    pub count: u64,
}

/// The statistics of one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Times of the first record there ever was and of the newest; None before the first.
    pub seen: Option<(Time, Time)>,
    /// Times of the first and the last live edge.
    pub bounds: Option<(Time, Time)>,
    /// Vertices with a live edge.
    pub vertices: u64,
    /// Degrees by outgoing edges.
    pub out_degrees: DegreeMoments,
    /// Degrees by incoming edges.
    pub in_degrees: DegreeMoments,
    /// Types of live edges, and how many there are of each.
    pub types: Vec<(EdgeType, u64)>,
    /// 2-edge paths, where they are counted.
    pub paths: Option<Vec<PathCount>>,
}

/// What is kept of a vertex: a line of the cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct VertexState {
    out_degree: u32,
    in_degree: u32,
    ends: EndTable,
}

/// Running statistics of one stream.
#[derive(Debug)]
pub struct Statistics {
    window: Window,
    started: Option<Time>,
    now: Option<Time>,
    bounds: Option<(Time, Time)>,
    names: VertexTable,
    vertices: Vec<VertexState>,
    types: TypeTable,
    out_degrees: Degrees,
    in_degrees: Degrees,
    paths: Option<PathCounts>,
    /// Where edges leave one by one.
    live: Option<LiveEdges>,
}

impl Statistics {
    /// Starts with nothing seen.
    pub fn new(settings: Settings) -> Self {
        let window = match settings.window {
            Window::Everything => Window::Everything,
            Window::Sliding(length) => Window::Sliding(length.max(1)),
            Window::Tumbling(length) => Window::Tumbling(length.max(1)),
        };
        let leaves = settings.deletions || matches!(window, Window::Sliding(_));
        Self {
            window,
            started: None,
            now: None,
            bounds: None,
            names: VertexTable::default(),
            vertices: Vec::new(),
            types: TypeTable::default(),
            out_degrees: Degrees::default(),
            in_degrees: Degrees::default(),
            paths: settings.paths.then(PathCounts::default),
            live: leaves.then(|| LiveEdges::new(settings.deletions)),
        }
    }

    /// Counts a batch. `class` says for a row which class its attributes put it in. Every tumbling window that ends, if it has
    /// a live edge, leaves a snapshot in `closed`.
    pub fn push(&mut self, batch: &EdgeBatch, class: impl Fn(usize) -> u32, closed: &mut Vec<Snapshot>) {
        self.push_rows(batch, 0..batch.len(), class, closed);
    }

    /// Counts some rows of a batch, as `push` counts all.
    pub fn push_rows(
        &mut self,
        batch: &EdgeBatch,
        rows: Range<usize>,
        class: impl Fn(usize) -> u32,
        closed: &mut Vec<Snapshot>,
    ) {
        for row in rows {
            let ts = self.advance(batch.ts()[row], closed);
            match batch.operations()[row] {
                Operation::Insert => self.insert(batch, row, ts, class(row)),
                Operation::Delete => {
                    if let Some(edge) = self.live.as_mut().and_then(|live| live.delete(batch.id(row))) {
                        self.remove(&edge);
                    }
                }
            }
        }
    }

    /// The statistics of the window as it is. Complexity: O(types + the square of the kinds of ends), whatever the
    /// window holds.
    pub fn snapshot(&self) -> Snapshot {
        let mut places = vec![0; self.types.codes()];
        let mut types = Vec::new();
        for (code, kind, count) in self.types.iter() {
            places[code as usize] = types.len() as u32;
            types.push((kind, count));
        }
        let end = |end: paths::End| {
            let direction = if end & 1 == 0 { Direction::Out } else { Direction::In };
            (places[end as usize / 2], direction)
        };
        let path = |((one, other), count)| PathCount { ends: [end(one), end(other)], count };
        Snapshot {
            seen: self.started.zip(self.now),
            bounds: self.live.as_ref().map_or(self.bounds, LiveEdges::bounds),
            vertices: self.names.len() as u64,
            out_degrees: self.out_degrees.moments(),
            in_degrees: self.in_degrees.moments(),
            types,
            paths: self.paths.as_ref().map(|paths| paths.counts().into_iter().map(path).collect()),
        }
    }

    /// Moves the window; returns the time that the record counts at.
    #[inline]
    fn advance(&mut self, ts: Time, closed: &mut Vec<Snapshot>) -> Time {
        let before = self.now;
        let now = before.map_or(ts, |before| before.max(ts));
        match self.window {
            Window::Everything => {}
            Window::Sliding(length) => {
                if let Some(oldest) = now.checked_sub(length) {
                    while let Some(edge) = self.live.as_mut().and_then(|live| live.pop_expired(oldest + 1)) {
                        self.remove(&edge);
                    }
                }
            }
            Window::Tumbling(length) => {
                if before.is_some_and(|before| before.div_euclid(length) != now.div_euclid(length)) {
                    self.close(closed);
                }
            }
        }
        self.started = self.started.or(Some(ts));
        self.now = Some(now);
        now
    }

    #[cold]
    fn close(&mut self, closed: &mut Vec<Snapshot>) {
        if self.types.iter().next().is_none() {
            return;
        }
        closed.push(self.snapshot());
        self.bounds = None;
        self.names.clear();
        self.vertices.clear();
        if let Some(paths) = &mut self.paths {
            paths.clear(self.types.codes() * 2);
        }
        self.types.clear();
        self.out_degrees.clear();
        self.in_degrees.clear();
        if let Some(live) = &mut self.live {
            live.clear();
        }
    }

    #[inline]
    fn insert(&mut self, batch: &EdgeBatch, row: usize, ts: Time, class: u32) {
        let [source_label, label, target_label] = batch.labels()[row];
        let code = self.types.add(EdgeType { source_label, label, target_label, class });
        if batch.is_event(row) {
            self.keep(ts, code, (Vertex::NONE, Vertex::NONE), batch.id(row));
            return;
        }
        let source = self.names.acquire(batch.source(row));
        let target = self.names.acquire(batch.target(row));
        let needed = source.0.max(target.0) as usize + 1;
        if needed > self.vertices.len() {
            self.vertices.resize_with(needed, VertexState::default);
        }
        let out_degree = &mut self.vertices[source.0 as usize].out_degree;
        self.out_degrees.grow(*out_degree);
        *out_degree += 1;
        let in_degree = &mut self.vertices[target.0 as usize].in_degree;
        self.in_degrees.grow(*in_degree);
        *in_degree += 1;
        if let Some(paths) = &mut self.paths {
            let [out_end, in_end] = ends(code);
            paths.reserve(in_end as usize + 1);
            if source == target {
                paths.add_both(&mut self.vertices[source.0 as usize].ends, [out_end, in_end]);
            } else {
                paths.add(&mut self.vertices[source.0 as usize].ends, out_end);
                paths.add(&mut self.vertices[target.0 as usize].ends, in_end);
            }
        }
        self.keep(ts, code, (source, target), batch.id(row));
    }

    /// Remembers what is to leave the window again.
    #[inline]
    fn keep(&mut self, ts: Time, code: Code, ends: (Vertex, Vertex), id: IdRef<'_>) {
        if let Some(live) = &mut self.live {
            live.push(ts, code, ends, id);
        } else {
            self.bounds = Some((self.bounds.map_or(ts, |(first, _)| first), ts));
        }
    }

    #[inline]
    fn remove(&mut self, edge: &StoredEdge) {
        if edge.source == Vertex::NONE {
            self.types.remove(edge.class);
            return;
        }
        let (Vertex(source), Vertex(target)) = (edge.source, edge.target);
        let out_degree = &mut self.vertices[source as usize].out_degree;
        self.out_degrees.shrink(*out_degree);
        *out_degree -= 1;
        let in_degree = &mut self.vertices[target as usize].in_degree;
        self.in_degrees.shrink(*in_degree);
        *in_degree -= 1;
        if let Some(paths) = &mut self.paths {
            let [out_end, in_end] = ends(edge.class);
            if source == target {
                paths.remove_both(&mut self.vertices[source as usize].ends, [out_end, in_end]);
            } else {
                paths.remove(&mut self.vertices[source as usize].ends, out_end);
                paths.remove(&mut self.vertices[target as usize].ends, in_end);
            }
        }
        self.types.remove(edge.class);
        self.names.release(edge.source);
        self.names.release(edge.target);
    }
}

/// The two kinds of ends that edges of a type have.
#[inline]
fn ends(code: Code) -> [paths::End; 2] {
    [code * 2, code * 2 + 1]
}
