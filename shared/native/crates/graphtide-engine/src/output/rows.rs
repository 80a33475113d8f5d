//! Matches found since the last hand-over, as references into the window.
//!
//! A record may complete more matches than memory holds. So rows are handed on in parts of
//! [`Pace::most`](crate::meter::Pace::most) while the search for that record continues, if the caller takes them. Rows that are
//! needed until the record is done stay, because they may be retracted or some are not reported. The bytes that a unit may hold
//! bound them.
//! Invariant: parts are in the order of detection, and each row is handed on once.
//! Cost: a comparison a match; a hand-over is O(rows of the part).

use std::sync::Arc;

use graphtide_graph::Time;
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::{Vertex, VertexTable};
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::component::ComponentRow;
use super::{Kind, MatchBatch, PatternNames};
use crate::arrival::Arrival;
use crate::ids::{PatternId, UnitId};
use crate::meter::{MATCH, Meter, Refusal};

#[derive(Clone, Copy, Debug)]
struct Row {
    unit: UnitId,
    detected_at: Time,
    layout: RowLayout,
}

#[derive(Clone, Copy, Debug)]
enum RowLayout {
    /// Where its edges and its vertices begin, and how many they are.
    Assignment { edges: usize, vertices: usize, width: (u8, u8) },
    /// Which component it is.
    Component(usize),
}

/// A unit as the rows know it.
#[derive(Clone, Debug, Default)]
pub struct Recipient {
    /// Its patterns, in their order.
    pub members: SmallVec<[PatternId; 1]>,
    /// Bytes that its rows may take.
    pub bytes: Option<u64>,
    /// Whether a pattern of it reports less than all matches: which ones is known at the end of the record.
    pub is_selective: bool,
    /// Whether all of its patterns report one match for each set of edges, the first.
    pub is_distinct: bool,
}

/// For whom rows are.
#[derive(Clone, Debug, Default)]
pub struct Recipients {
    /// Names of the patterns.
    pub names: Arc<[Arc<PatternNames>]>,
    /// By number.
    pub units: Vec<Recipient>,
}

/// Matches found since the last hand-over.
#[derive(Debug)]
pub struct Rows {
    rows: Vec<Row>,
    edges: Vec<EdgeRef>,
    vertices: Vec<Vertex>,
    components: Vec<ComponentRow>,
    pairs: Vec<(u8, EdgeRef)>,
    former: Vec<EdgeRef>,
    /// Rows, of the first, that were handed on and are kept.
    handed_on: usize,
    /// Rows from which on they are handed on.
    full: usize,
    most: usize,
    /// Whether rows are kept until the record is done.
    are_kept: bool,
    /// None where patterns came or went since it was said.
    recipients: Option<Arc<Recipients>>,
    /// Patterns whose matches may be incomplete.
    shed: HashSet<PatternId, FxBuildHasher>,
    /// What was found before the rows, which continues before them.
    before: Box<MatchBatch>,
    /// Rows that were handed on and are not kept.
    gone: Vec<(UnitId, Kind, u64)>,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            edges: Vec::new(),
            vertices: Vec::new(),
            components: Vec::new(),
            pairs: Vec::new(),
            former: Vec::new(),
            handed_on: 0,
            full: usize::MAX,
            most: usize::MAX,
            are_kept: false,
            recipients: None,
            shed: HashSet::default(),
            before: Box::default(),
            gone: Vec::new(),
        }
    }
}

impl Rows {
    /// Lets so many rows, about, be handed on at once from now on; `are_kept` says whether they stay until the record is done.
    pub fn begin(&mut self, most: usize, are_kept: bool) {
        (self.most, self.are_kept) = (most, are_kept);
        self.full = most;
    }

    /// Hands nothing on by itself from now on.
    pub fn end(&mut self) {
        self.begin(usize::MAX, false);
    }

    /// Says for whom rows are, and which patterns' matches may be incomplete.
    pub fn address(&mut self, recipients: Recipients, shed: impl Iterator<Item = PatternId>) {
        self.recipients = Some(Arc::new(recipients));
        self.shed = shed.collect();
    }

    /// Whether it is known for whom rows are.
    pub fn are_addressed(&self) -> bool {
        self.recipients.is_some()
    }

    /// Forgets for whom rows are: patterns came or went.
    pub fn forget_recipients(&mut self) {
        self.recipients = None;
    }

    /// Marks matches of patterns as incomplete from now on.
    #[cold]
    pub fn mark_shed(&mut self, patterns: &[PatternId]) {
        self.shed.extend(patterns);
    }

    /// What was found before the rows, and is handed on before them.
    pub fn before_mut(&mut self) -> &mut Box<MatchBatch> {
        &mut self.before
    }

    /// Adds a match that an edge completes, counts it, and hands rows on where there are enough.
    #[inline]
    pub fn complete(
        &mut self,
        unit: UnitId,
        arrival: &Arrival<'_>,
        edges: impl ExactSizeIterator<Item = EdgeRef>,
        vertices: impl ExactSizeIterator<Item = Vertex>,
        meter: &mut Meter<'_>,
    ) {
        meter.tick(MATCH);
        let width = (edges.len() as u8, vertices.len() as u8);
        let layout = RowLayout::Assignment { edges: self.edges.len(), vertices: self.vertices.len(), width };
        self.rows.push(Row { unit, detected_at: arrival.ts, layout });
        self.edges.extend(edges);
        self.vertices.extend(vertices);
        if self.rows.len() >= self.full {
            self.hand_on((arrival.store, arrival.names), meter);
        }
    }

    /// Adds a match: data edges and vertices by query position.
    #[inline]
    pub fn push(&mut self, unit: UnitId, detected_at: Time, edges: &[EdgeRef], vertices: &[Vertex]) {
        let width = (edges.len() as u8, vertices.len() as u8);
        let layout = RowLayout::Assignment { edges: self.edges.len(), vertices: self.vertices.len(), width };
        self.rows.push(Row { unit, detected_at, layout });
        self.edges.extend_from_slice(edges);
        self.vertices.extend_from_slice(vertices);
    }

    /// Adds a component: its kind, when it was found, its oldest edge. With it come pairs of a query edge and a data edge in
    /// stream order, and the oldest edges of former components.
    pub fn push_component(
        &mut self,
        unit: UnitId,
        (kind, detected_at, name): (Kind, Time, EdgeRef),
        pairs: &[(u8, EdgeRef)],
        former: &[EdgeRef],
    ) {
        self.rows.push(Row { unit, detected_at, layout: RowLayout::Component(self.components.len()) });
        let starts = (self.pairs.len(), self.former.len());
        self.pairs.extend_from_slice(pairs);
        self.former.extend_from_slice(former);
        let (pairs, former) = (starts.0..self.pairs.len(), starts.1..self.former.len());
        self.components.push(ComponentRow { kind, name, pairs, former });
    }

    /// Hands on the rows that were not, or lets them stay where that has to wait for the end of the record.
    #[cold]
    #[inline(never)]
    fn hand_on(&mut self, window: (&EdgeStore, &VertexTable), meter: &mut Meter<'_>) {
        let Some(recipients) = self.recipients.clone() else { return };
        let of = |unit: UnitId| recipients.units.get(unit.place());
        if self.rows[self.handed_on..].iter().any(|row| of(row.unit).is_none_or(|unit| unit.is_selective)) {
            self.keep_first(window.0, |unit| of(unit).is_some_and(|unit| unit.is_distinct));
            self.full = self.handed_on + self.most.max((self.rows.len() - self.handed_on).saturating_mul(2));
        } else {
            let mut out = std::mem::take(&mut self.before);
            let members = |unit: UnitId| of(unit).map_or(&[][..], |unit| unit.members.as_slice());
            let shed = |pattern: PatternId| self.shed.contains(&pattern);
            out.take_rows(self, &recipients.names, members, (|_, _| true, shed), window, meter);
            meter.hand_on(&mut out);
            if self.are_kept {
                self.handed_on = self.rows.len();
                self.full = self.rows.len().saturating_add(self.most);
            } else {
                self.let_go();
            }
        }
        let Some(last) = self.rows.last().map(|row| row.unit) else { return };
        let bytes = self.rows.iter().filter(|row| row.unit == last).map(Row::bytes).sum::<usize>() as u64;
        if of(last).and_then(|unit| unit.bytes).is_some_and(|bound| bytes >= bound) {
            meter.refuse(Refusal::Bytes);
        }
    }

    /// Forgets all rows, and counts them as handed on.
    fn let_go(&mut self) {
        let mut gone = std::mem::take(&mut self.gone);
        self.each(|unit, _, found| match gone.last_mut() {
            Some((of, kind, count)) if (*of, *kind) == (unit, found.kind()) => *count += 1,
            _ => gone.push((unit, found.kind(), 1)),
        });
        self.clear();
        self.gone = gone;
    }

    /// Of matches of a distinct unit that have the same edges, keeps the first: that whose edges, in the order of the text,
    /// came first.
    fn keep_first(&mut self, store: &EdgeStore, is_distinct: impl Fn(UnitId) -> bool) {
        type Ranks = SmallVec<[usize; 8]>;
        let mut first: HashMap<(UnitId, Time, Ranks), (Ranks, usize), FxBuildHasher> = HashMap::default();
        let mut kept = Vec::with_capacity(self.rows.len());
        for (place, row) in self.rows.iter().enumerate().skip(self.handed_on) {
            let RowLayout::Assignment { edges, width, .. } = row.layout else { continue };
            if !is_distinct(row.unit) {
                continue;
            }
            let order: Ranks = self.edges[edges..edges + usize::from(width.0)].iter().map(|&edge| store.rank(edge)).collect();
            let mut set = order.clone();
            set.sort_unstable();
            let best = first.entry((row.unit, row.detected_at, set)).or_insert_with(|| (order.clone(), place));
            if order < best.0 {
                *best = (order, place);
            }
        }
        let chosen: HashSet<usize, FxBuildHasher> = first.into_values().map(|(_, place)| place).collect();
        let (old_edges, old_vertices) = (std::mem::take(&mut self.edges), std::mem::take(&mut self.vertices));
        for (place, row) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            let RowLayout::Assignment { edges, vertices, width } = row.layout else {
                kept.push(row);
                continue;
            };
            if place >= self.handed_on && is_distinct(row.unit) && !chosen.contains(&place) {
                continue;
            }
            let layout = RowLayout::Assignment { edges: self.edges.len(), vertices: self.vertices.len(), width };
            self.edges.extend_from_slice(&old_edges[edges..edges + usize::from(width.0)]);
            self.vertices.extend_from_slice(&old_vertices[vertices..vertices + usize::from(width.1)]);
            kept.push(Row { layout, ..row });
        }
        self.rows = kept;
    }

    /// Hands nothing on, so that rows can be [taken back](Self::truncate), until [`release`](Self::release) is given what this
    /// returns.
    pub fn hold(&mut self) -> usize {
        std::mem::replace(&mut self.full, usize::MAX)
    }

    /// Hands rows on again, those that were held first; returns the unit of the last row where it may hold no more.
    pub fn release(&mut self, full: usize, window: (&EdgeStore, &VertexTable), meter: &mut Meter<'_>) -> Option<UnitId> {
        self.full = full;
        if self.rows.len() < self.full {
            return None;
        }
        let last = self.rows.last().map(|row| row.unit);
        self.hand_on(window, meter);
        last.filter(|_| meter.is_refused())
    }

    /// Takes back the matches found from a place on, while rows are held.
    pub fn truncate(&mut self, len: usize) {
        let Some(row) = self.rows.get(len) else { return };
        if let RowLayout::Assignment { edges, vertices, .. } = row.layout {
            self.edges.truncate(edges);
            self.vertices.truncate(vertices);
        }
        self.rows.truncate(len);
    }

    /// The units of the matches found from a place on.
    pub fn units_from(&self, len: usize) -> impl Iterator<Item = UnitId> {
        self.rows[len..].iter().map(|row| row.unit)
    }

    /// Takes how many rows, by unit and kind, were handed on and not kept since the last call.
    pub fn take_gone(&mut self) -> Vec<(UnitId, Kind, u64)> {
        std::mem::take(&mut self.gone)
    }

    /// Puts the matches that were not handed on in the order of their newest edges; those of one edge keep theirs.
    pub fn sort(&mut self, store: &EdgeStore) {
        let Self { rows, edges, components, pairs, handed_on, .. } = self;
        rows[*handed_on..].sort_by_cached_key(|row| match row.layout {
            RowLayout::Assignment { edges: start, width, .. } => {
                edges[start..start + usize::from(width.0)].iter().map(|&edge| store.rank(edge)).max()
            }
            RowLayout::Component(number) => pairs[components[number].pairs.clone()].last().map(|&(_, edge)| store.rank(edge)),
        });
    }

    /// Matches held.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Edges and vertices of a match, in the mean.
    pub fn mean_width(&self) -> usize {
        (self.edges.len() + self.vertices.len()).div_ceil(self.rows.len().max(1))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Of the matches held, how many were handed on already: the first.
    pub fn handed_on(&self) -> usize {
        self.handed_on
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.edges.clear();
        self.vertices.clear();
        self.components.clear();
        self.pairs.clear();
        self.former.clear();
        self.handed_on = 0;
        self.full = self.most;
    }

    /// Calls `f` with unit and time of detection of every match, and with what it is.
    pub fn each(&self, f: impl FnMut(UnitId, Time, FoundRow<'_>)) {
        self.each_from(0, f);
    }

    /// As [`each`](Self::each), for those that were not handed on.
    pub fn each_new(&self, f: impl FnMut(UnitId, Time, FoundRow<'_>)) {
        self.each_from(self.handed_on, f);
    }

    fn each_from(&self, from: usize, mut f: impl FnMut(UnitId, Time, FoundRow<'_>)) {
        for row in &self.rows[from..] {
            let found = match row.layout {
                RowLayout::Assignment { edges, vertices, width } => FoundRow::Assignment {
                    edges: &self.edges[edges..edges + usize::from(width.0)],
                    vertices: &self.vertices[vertices..vertices + usize::from(width.1)],
                },
                RowLayout::Component(number) => {
                    let row = &self.components[number];
                    FoundRow::Component {
                        kind: row.kind,
                        name: row.name,
                        pairs: &self.pairs[row.pairs.clone()],
                        former: &self.former[row.former.clone()],
                    }
                }
            };
            f(row.unit, row.detected_at, found);
        }
    }
}

impl Row {
    /// Bytes held for it; a component is its unit's state, too.
    fn bytes(&self) -> usize {
        let parts = match self.layout {
            RowLayout::Assignment { width, .. } => {
                usize::from(width.0) * size_of::<EdgeRef>() + usize::from(width.1) * size_of::<Vertex>()
            }
            RowLayout::Component(_) => 0,
        };
        size_of::<Self>() + parts
    }
}

/// What was found, by layout.
pub enum FoundRow<'a> {
    /// A data edge for each query edge, a data vertex for each query vertex.
    Assignment {
        /// By query position.
        edges: &'a [EdgeRef],
        /// By query position.
        vertices: &'a [Vertex],
    },
    /// A component of dual simulation.
    Component {
        /// Its report.
        kind: Kind,
        /// Its oldest edge.
        name: EdgeRef,
        /// Query edges and data edges, in stream order.
        pairs: &'a [(u8, EdgeRef)],
        /// The oldest edges of former components.
        former: &'a [EdgeRef],
    },
}

impl FoundRow<'_> {
    /// Its report.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Assignment { .. } => Kind::Match,
            Self::Component { kind, .. } => *kind,
        }
    }
}
