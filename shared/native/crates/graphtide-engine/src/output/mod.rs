//! Matches on their way out: rows of references while the window still holds their edges, then batches that own their texts.
//!
//! A row is as wide as its pattern, or a [component](component) of any size, and is of a unit. Rows become a [`MatchBatch`],
//! with a match for each pattern of the unit. That happens before the store drops an edge that was alive when they were found.
//! An [occurrence](occurrence) of an event pattern and an [interval](interval) of a graph query go straight to the batch. What
//! a pattern returns beside ids are its [fields](fields).

mod component;
mod fields;
mod identity;
mod interval;
mod json;
mod match_count;
mod names;
mod occurrence;
mod result_edges;
mod returned;
mod rows;
mod valid;

use std::sync::Arc;

use graphtide_graph::Time;
use graphtide_graph::key::{IdRef, Key, KeyRef, TextArena};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::{Vertex, VertexTable};

use crate::ids::{PatternId, UnitId};
use crate::meter::{MATCH, Meter};
pub use component::{ComponentRef, MOST_PAIRS};
use component::{Context, OwnedComponents};
pub use fields::{FieldRef, Fields, FieldsRef, write_key};
use interval::OwnedIntervals;
pub use interval::{IntervalNames, IntervalRef, IntervalReport, PathStep};
pub use match_count::MatchCount;
pub use names::PatternNames;
use occurrence::OwnedOccurrences;
pub use occurrence::{Counted, OccurrenceRef};
pub use result_edges::ResultEdges;
pub use returned::{FieldSpec, ReturnsSpec};
pub use rows::{FoundRow, Recipient, Recipients, Rows};
pub use valid::ResultsAt;

/// What a match record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The match has become complete.
    Match,
    /// It has grown.
    Extend,
    /// An edge of it was deleted, or left.
    Retract,
    /// It began, and did not end in time.
    Timeout,
}

impl Kind {
    /// What it is called in a record.
    pub fn name(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Extend => "extend",
            Self::Retract => "retract",
            Self::Timeout => "timeout",
        }
    }
}

/// What one item of a plan holds and held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemReport {
    /// Name of the item in the plan.
    pub name: String,
    /// Partial matches alive.
    pub live: u64,
    /// Most alive at once.
    pub peak: u64,
    /// Ever made.
    pub created: u64,
    /// Bytes of one.
    pub node_bytes: u64,
}

/// A match with its texts in the batch.
#[derive(Clone, Copy, Debug)]
struct OwnedMatch {
    pattern: PatternId,
    kind: Kind,
    shed: bool,
    detected_at: Time,
    first_ts: Time,
    last_ts: Time,
    layout: OwnedLayout,
    /// Where its fields begin and end.
    fields: (usize, usize),
}

#[derive(Clone, Copy, Debug)]
enum OwnedLayout {
    /// Where its keys begin.
    Assignment(usize),
    /// Which component it is.
    Component(usize),
    /// Which occurrence it is.
    Occurrence(usize),
    /// Which result it is.
    Interval(usize),
}

/// Matches that own their texts, in order of detection.
#[derive(Debug, Default)]
pub struct MatchBatch {
    matches: Vec<OwnedMatch>,
    keys: Vec<Key>,
    components: OwnedComponents,
    occurrences: OwnedOccurrences,
    intervals: OwnedIntervals,
    fields: Fields,
    text: TextArena,
}

/// A match of a batch, by reference.
pub struct MatchRef<'a> {
    /// The pattern.
    pub pattern: PatternId,
    /// Match or retraction.
    pub kind: Kind,
    /// Whether matches of this pattern may be missing.
    pub shed: bool,
    /// Event time of the record that brought it about.
    pub detected_at: Time,
    /// Earliest edge.
    pub first_ts: Time,
    /// Latest edge.
    pub last_ts: Time,
    /// What it is made of.
    pub layout: Layout<'a>,
    /// What its pattern returns of it.
    pub fields: FieldsRef<'a>,
}

/// What a match is made of.
pub enum Layout<'a> {
    /// A data edge for each query edge, a data vertex for each query vertex.
    Assignment(Assignment<'a>),
    /// A component of dual simulation.
    Component(ComponentRef<'a>),
    /// An occurrence of an event pattern.
    Occurrence(OccurrenceRef<'a>),
    /// A result of a graph query.
    Interval(IntervalRef<'a>),
}

/// A data edge for each query edge, a data vertex for each query vertex.
#[derive(Clone, Copy)]
pub struct Assignment<'a> {
    edges: &'a [Key],
    vertices: &'a [Key],
    text: &'a TextArena,
}

impl<'a> Assignment<'a> {
    /// Ids of the edges, by query position.
    pub fn edges(&self) -> impl Iterator<Item = IdRef<'a>> + use<'a> {
        let text = self.text;
        self.edges.iter().map(|&id| text.get_id(id))
    }

    /// Names of the vertices, by query position.
    pub fn vertices(&self) -> impl Iterator<Item = KeyRef<'a>> + use<'a> {
        let text = self.text;
        self.vertices.iter().map(|&name| text.get(name))
    }
}

impl MatchBatch {
    /// Appends a match of a pattern: data edges and vertices by query position, read from the window that holds them.
    pub fn push(
        &mut self,
        (pattern, kind, shed): (PatternId, Kind, bool),
        (detected_at, first_ts, last_ts): (Time, Time, Time),
        (edges, vertices): (&[EdgeRef], &[Vertex]),
        of: &PatternNames,
        (store, names): (&EdgeStore, &VertexTable),
    ) {
        let layout = OwnedLayout::Assignment(self.keys.len());
        let fields = of.return_assigned((edges, vertices), (store, names), (&mut self.fields, &mut self.text));
        self.matches.push(OwnedMatch { pattern, kind, shed, detected_at, first_ts, last_ts, layout, fields });
        let text = &mut self.text;
        self.keys.extend(edges.iter().map(|&edge| text.insert_id(store.id(edge))));
        self.keys.extend(vertices.iter().map(|&vertex| text.insert(names.name(vertex))));
    }

    /// Appends an occurrence of an event pattern: its events in the order of their names, with the places of those.
    pub fn push_occurrence<'k>(
        &mut self,
        (pattern, kind, shed): (PatternId, Kind, bool),
        (detected_at, first_ts, last_ts): (Time, Time, Time),
        events: impl Iterator<Item = (u8, IdRef<'k>)>,
        counted: Option<Counted<IdRef<'k>>>,
        fields: FieldsRef<'k>,
    ) {
        let number = self.occurrences.push(events, counted, &mut self.text);
        let (layout, fields) = (OwnedLayout::Occurrence(number), self.fields.extend(fields, &mut self.text));
        self.matches.push(OwnedMatch { pattern, kind, shed, detected_at, first_ts, last_ts, layout, fields });
    }

    /// Appends a result of a graph query: which output, its vertices by column, the times of its report, and the steps of its
    /// path.
    pub fn push_interval<'k>(
        &mut self,
        (pattern, kind, shed): (PatternId, Kind, bool),
        (output, vertices): (u32, impl Iterator<Item = KeyRef<'k>>),
        report: IntervalReport,
        path: Option<impl Iterator<Item = PathStep<IdRef<'k>, KeyRef<'k>>>>,
    ) {
        let number = self.intervals.push(output, vertices, report, path, &mut self.text);
        let (layout, fields) = (OwnedLayout::Interval(number), (0, 0));
        // It is reported from now on.
        let [detected_at, first_ts, last_ts] = [report.at; 3];
        self.matches.push(OwnedMatch { pattern, kind, shed, detected_at, first_ts, last_ts, layout, fields });
    }

    /// Makes room for as many of the rows as are handed on at once, at most.
    fn reserve(&mut self, rows: &Rows, most: usize) {
        let count = (rows.len() - rows.handed_on()).min(most.saturating_sub(self.len()));
        self.matches.reserve(count);
        self.keys.reserve(count * rows.mean_width());
    }

    /// Appends every row for each pattern of its unit, read from the window it was found in.
    ///
    /// `patterns` are names by pattern, `members` the patterns of a unit in their order. `is_emitted` says of the place of a
    /// row whether a pattern emits it, `shed` whether matches of a pattern may be missing.
    pub fn take_rows<'m>(
        &mut self,
        rows: &Rows,
        patterns: &[Arc<PatternNames>],
        members: impl Fn(UnitId) -> &'m [PatternId],
        (is_emitted, shed): (impl Fn(usize, PatternId) -> bool, impl Fn(PatternId) -> bool),
        (store, names): (&EdgeStore, &VertexTable),
        meter: &mut Meter<'_>,
    ) {
        self.reserve(rows, meter.most());
        let mut rows_before = rows.handed_on()..;
        let mut emitted = |unit| {
            let row = rows_before.next().unwrap_or_default();
            let is_emitted = &is_emitted;
            members(unit).iter().copied().filter(move |&pattern| is_emitted(row, pattern))
        };
        rows.each_new(|unit, detected_at, found| {
            if self.len() >= meter.most() {
                meter.hand_on(self);
            }
            match found {
                FoundRow::Assignment { edges, vertices } => {
                    let (first, last) = span(store, edges.iter().copied());
                    let start = self.matches.len();
                    for pattern in emitted(unit) {
                        meter.tick(MATCH);
                        // All have the same parts, under names of their own.
                        if let Some(&same) = self.matches.get(start) {
                            self.matches.push(OwnedMatch { pattern, shed: shed(pattern), ..same });
                            continue;
                        }
                        let head = (pattern, Kind::Match, shed(pattern));
                        let of = &patterns[pattern.place()];
                        self.push(head, (detected_at, first, last), (edges, vertices), of, (store, names));
                    }
                }
                FoundRow::Component { kind, name, pairs, former } => {
                    let (first_ts, last_ts) = span(store, pairs.iter().map(|&(_, edge)| edge));
                    for pattern in emitted(unit) {
                        meter.tick(MATCH.saturating_mul(pairs.len() as u32));
                        let context = Context { names: &patterns[pattern.place()], store, vertices: names };
                        let number = self.components.push(name, pairs, former, &context, &mut self.text);
                        let (shed, layout) = (shed(pattern), OwnedLayout::Component(number));
                        let fields = context.names.return_component(pairs, &context, (&mut self.fields, &mut self.text));
                        self.matches.push(OwnedMatch { pattern, kind, shed, detected_at, first_ts, last_ts, layout, fields });
                    }
                }
            }
        });
    }

    /// Keeps those from a place on for which `f` returns true, in their order; calls it with each.
    pub fn retain_from(&mut self, from: usize, mut f: impl FnMut(&Self, usize) -> bool) {
        let mut kept = from;
        for index in from..self.matches.len() {
            if f(self, index) {
                self.matches[kept] = self.matches[index];
                kept += 1;
            }
        }
        self.matches.truncate(kept);
    }

    /// Matches in the batch.
    pub fn len(&self) -> usize {
        self.matches.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }

    /// Reads a match.
    pub fn get(&self, index: usize, patterns: &[Arc<PatternNames>]) -> MatchRef<'_> {
        let found = self.matches[index];
        let layout = match found.layout {
            OwnedLayout::Assignment(start) => {
                let names = &patterns[found.pattern.place()];
                let (edges, vertices) = self.keys[start..start + names.width()].split_at(names.edges.len());
                Layout::Assignment(Assignment { edges, vertices, text: &self.text })
            }
            OwnedLayout::Component(number) => Layout::Component(self.components.get(number, &self.text)),
            OwnedLayout::Occurrence(number) => Layout::Occurrence(self.occurrences.get(number, &self.text)),
            OwnedLayout::Interval(number) => Layout::Interval(self.intervals.get(number, &self.text)),
        };
        MatchRef {
            pattern: found.pattern,
            kind: found.kind,
            shed: found.shed,
            detected_at: found.detected_at,
            first_ts: found.first_ts,
            last_ts: found.last_ts,
            layout,
            fields: self.fields.get(found.fields, &self.text),
        }
    }

    /// Writes matches as JSON Lines, one record a line, from a place on until all are written or there are so many bytes.
    /// Returns which place is next.
    pub fn to_json_lines(&self, patterns: &[Arc<PatternNames>], from: usize, bytes: usize) -> (Vec<u8>, usize) {
        let mut out = Vec::with_capacity(((self.len() - from) * 256).min(bytes));
        let mut next = from;
        while next < self.len() && out.len() < bytes {
            let index = next;
            next += 1;
            let found = self.get(index, patterns);
            let names = &patterns[found.pattern.place()];
            names.write_json(&found, &names.match_id(&found), &mut out);
            out.push(b'\n');
        }
        (out, next)
    }

    /// How many matches there are from a place on, by pattern and kind.
    pub fn counts(&self, from: usize) -> Vec<(PatternId, Kind, u64)> {
        let mut counts: Vec<(PatternId, Kind, u64)> = Vec::new();
        for found in &self.matches[from..] {
            match counts.iter_mut().find(|(pattern, kind, _)| (*pattern, *kind) == (found.pattern, found.kind)) {
                Some((.., count)) => *count += 1,
                None => counts.push((found.pattern, found.kind, 1)),
            }
        }
        counts
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.matches.len() * size_of::<OwnedMatch>()
            + self.keys.len() * size_of::<Key>()
            + self.components.bytes()
            + self.occurrences.bytes()
            + self.intervals.bytes()
            + self.fields.bytes()
            + self.text.bytes()
    }
}

/// Earliest and latest time of edges.
fn span(store: &EdgeStore, edges: impl Iterator<Item = EdgeRef>) -> (Time, Time) {
    let times = edges.map(|edge| store.get(edge).ts);
    times.fold((Time::MAX, Time::MIN), |(first, last), ts| (first.min(ts), last.max(ts)))
}
