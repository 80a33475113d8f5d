//! What became of single edges of a traced pattern under dual simulation, and with which edges each ever shared a window.
//!
//! Some edges are asked about by id. Others are chosen, because they came near a match. First come those that passed the
//! engine's filter and were refuted, then those whose ends had all their edges. A chosen edge that gets a match is let go.
//! Invariant: an inquiry that is open has, in stream order, the edges held when its edge arrived and all that came since.
//! Cost: when nothing is inquired into, none; else O(edges of two windows) for each edge.

use std::collections::BTreeMap;

use graphtide_graph::Time;
use graphtide_graph::clock::{self, Clock};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::{Vertex, VertexTable};

use crate::found::{self, Found};
use crate::funnel::Funnel;
use crate::query::Query;
use crate::simulation::Simulation;
use crate::why_not::{Companion, Corner, Lack, why_not};

/// How far an edge came on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Came {
    /// Its ends did not have all their edges, or the engine does not look.
    Nowhere,
    /// Its ends had all their edges.
    Red,
    /// It passed the filter.
    Due,
}

impl Came {
    /// How far an edge came between two counts.
    pub fn between(before: &Funnel, after: &Funnel) -> Self {
        if after.red == before.red {
            Self::Nowhere
        } else if after.verifications_due == before.verifications_due {
            Self::Red
        } else {
            Self::Due
        }
    }
}

/// How an edge left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The window passed it.
    Expired,
    /// It was deleted.
    Deleted,
    /// A report consumed it.
    Consumed,
    /// It was given up at a limit.
    GivenUp,
}

impl End {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Deleted => "deleted",
            Self::Consumed => "consumed",
            Self::GivenUp => "given_up",
        }
    }
}

/// One edge that is inquired into.
#[derive(Debug)]
pub struct Inquiry {
    /// Its id.
    pub id: String,
    /// Its time.
    pub ts: Time,
    /// How far it came on arrival, if it was chosen for that.
    pub chosen: Option<Came>,
    /// When it was first reported in a match, and the id of the oldest edge there.
    pub matched: Option<(Time, String)>,
    /// How and when it left; none while it is held by the engine.
    end: Option<(Time, End)>,
    edge: EdgeRef,
    own: usize,
    companions: Vec<Companion>,
    ids: Vec<String>,
    vertices: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

/// What an edge lacks to match a query edge, by name.
#[derive(Clone, Debug)]
pub struct Named {
    /// The query edge that it would be.
    pub edge: u8,
    /// What it lacks; none if what it needs was never in one window with it.
    pub lack: Option<Lack>,
    /// The vertex where something is missing.
    pub vertex: Option<String>,
    /// Edges there that fit what is missing by themselves.
    pub there: Vec<String>,
}

/// An edge with the names of its ends.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The shared store.
    pub store: &'a EdgeStore,
    /// Names of vertices.
    pub vertices: &'a VertexTable,
}

impl Inquiry {
    fn new(edge: EdgeRef, chosen: Option<Came>, names: Names<'_>, engine: &Simulation) -> Self {
        let mut inquiry = Self {
            id: names.store.id(edge).to_string(),
            ts: names.store.get(edge).ts,
            chosen,
            matched: None,
            end: None,
            edge,
            own: 0,
            companions: Vec::new(),
            ids: Vec::new(),
            vertices: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for (held, fits) in engine.held() {
            if held == edge {
                inquiry.own = inquiry.companions.len();
            }
            inquiry.add(held, fits, names);
        }
        if !engine.holds(edge) {
            inquiry.own = inquiry.companions.len();
            inquiry.add(edge, 0, names);
        }
        inquiry
    }

    fn add(&mut self, edge: EdgeRef, fits: u64, names: Names<'_>) {
        let stored = names.store.get(edge);
        let ends = [stored.source, stored.target].map(|vertex| self.number(vertex, names.vertices));
        self.companions.push(Companion { ts: stored.ts, ends, fits });
        self.ids.push(names.store.id(edge).to_string());
    }

    fn number(&mut self, vertex: Vertex, names: &VertexTable) -> u32 {
        let (vertices, name) = (&mut self.vertices, names.name(vertex).to_string());
        *self.numbers.entry(name).or_insert_with_key(|name| {
            vertices.push(name.clone());
            vertices.len() as u32 - 1
        })
    }

    /// Names of its ends.
    pub fn ends(&self) -> [&str; 2] {
        self.companions[self.own].ends.map(|vertex| self.vertices[vertex as usize].as_str())
    }

    /// What it lacks, for each query edge that it fits.
    pub fn lacks(&self, query: &Query) -> Vec<Named> {
        let found = why_not(query, &self.companions, self.own).unwrap_or_default();
        found.into_iter().map(|(edge, lack)| self.named(edge, lack)).collect()
    }

    fn named(&self, edge: u8, lack: Option<Lack>) -> Named {
        let (vertex, there) = match lack {
            Some(Lack::Missing(corner) | Lack::Shared(corner)) => (Some(corner.vertex), self.there(&corner)),
            Some(Lack::Order { .. }) | None => (None, Vec::new()),
        };
        Named { edge, lack, vertex: vertex.map(|vertex| self.vertices[vertex as usize].clone()), there }
    }

    fn there(&self, corner: &Corner) -> Vec<String> {
        let is_there = |edge: &&Companion| edge.ends[corner.side] == corner.vertex && edge.fits & corner.edges != 0;
        let edges = self.companions.iter().zip(&self.ids);
        edges.filter(|(edge, _)| is_there(edge)).map(|(_, id)| id.clone()).collect()
    }
}

/// The inquiries of a pattern.
#[derive(Debug)]
pub struct Inquiries {
    query: Query,
    clock: Clock,
    asked: Vec<String>,
    /// Most edges to choose.
    most: usize,
    all: Vec<Inquiry>,
    /// When edges were last let go.
    now: Time,
}

impl Inquiries {
    /// Inquires into edges of these ids, and chooses so many others.
    pub fn new(query: Query, clock: Clock, asked: Vec<String>, most: usize) -> Self {
        Self { query, clock, asked, most, all: Vec::new(), now: Time::MIN }
    }

    /// The query that the edges are held for.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// All inquiries: those that were asked for in stream order, then those that came furthest.
    pub fn all(&self) -> Vec<&Inquiry> {
        let mut all: Vec<&Inquiry> = self.all.iter().collect();
        all.sort_by_key(|inquiry| std::cmp::Reverse(inquiry.chosen.map_or(Came::Due as u8 + 1, |came| came as u8)));
        all
    }

    /// Takes an edge that is held now, or was until its own match consumed it.
    pub fn take(&mut self, (edge, fits): (EdgeRef, u64), came: Came, names: Names<'_>, engine: &Simulation) {
        for inquiry in self.all.iter_mut().filter(|inquiry| inquiry.end.is_none()) {
            inquiry.add(edge, fits, names);
        }
        if self.asked.contains(&names.store.id(edge).to_string()) {
            self.all.push(Inquiry::new(edge, None, names, engine));
        } else if came > Came::Nowhere && engine.holds(edge) && self.has_room(came) {
            self.all.push(Inquiry::new(edge, Some(came), names, engine));
        }
    }

    /// Notes which edges have a match, now that an edge came: nothing else gives one its first.
    pub fn note(&mut self, found: &Found, names: Names<'_>) {
        for component in found.components().iter().filter(|component| component.kind != found::Kind::Retract) {
            let pairs = found.pairs(component);
            let is_in = |edge: EdgeRef| pairs.iter().any(|&(_, of)| of == edge);
            self.all.retain_mut(|inquiry| {
                if inquiry.end.is_none() && inquiry.matched.is_none() && is_in(inquiry.edge) {
                    inquiry.matched = Some((component.detected_at, names.store.id(component.id).to_string()));
                }
                inquiry.chosen.is_none() || inquiry.matched.is_none()
            });
        }
    }

    /// Ends the inquiries into edges that are not held any more.
    pub fn close(&mut self, now: Time, end: End, engine: &Simulation) {
        self.now = now;
        for inquiry in &mut self.all {
            if inquiry.end.is_none() && !engine.holds(inquiry.edge) {
                let at = if end == End::Expired {
                    passes(self.clock, &self.query, inquiry.ts).map_or(now, |passed| passed.min(now))
                } else {
                    now
                };
                inquiry.end = Some((at, end));
            }
        }
    }

    /// How and when an edge left, if it has by now. An edge that newer ones pushed out of a window of edges has left when the
    /// pattern takes its next edge.
    pub fn end(&self, inquiry: &Inquiry, now: Time) -> Option<(Time, End)> {
        let expired =
            passes(self.clock, &self.query, inquiry.ts).filter(|&passed| passed <= now).map(|passed| (passed, End::Expired));
        inquiry.end.or(expired)
    }

    /// Ends all inquiries, for no edge is held any more.
    pub fn give_up(&mut self) {
        for inquiry in self.all.iter_mut().filter(|inquiry| inquiry.end.is_none()) {
            inquiry.end = Some((self.now, End::GivenUp));
        }
    }

    /// Whether one more can be chosen that came so far; one that came less far gives way.
    fn has_room(&mut self, came: Came) -> bool {
        if self.all.iter().filter(|inquiry| inquiry.chosen.is_some()).count() < self.most {
            return true;
        }
        let gives_way = |inquiry: &Inquiry| inquiry.chosen.is_some_and(|less| less < came);
        let found = self.all.iter().position(gives_way);
        found.is_some_and(|place| {
            self.all.remove(place);
            true
        })
    }
}

/// The first time at which an edge of this time is not in a window of time.
fn passes(clock: Clock, query: &Query, ts: Time) -> Option<Time> {
    match clock {
        Clock::Time => Some(clock::add(clock::add(ts, query.window), 1)),
        Clock::Edges => None,
    }
}
