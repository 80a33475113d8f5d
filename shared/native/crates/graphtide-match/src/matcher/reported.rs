//! Matches reported within the window, kept so that a deletion can retract them.
//!
//! Kept only where the stream may delete. A match leaves once every edge it could hold has left the longest windows, and what
//! was kept before it.
//! Cost: O(edges of the match) to keep, O(matches of the edge) to retract.

use std::collections::VecDeque;

use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::{MATCH, Meter};
use graphtide_graph::clock::{Clock, Now};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::vertex::Vertex;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// A match reported before.
#[derive(Debug)]
pub struct ReportedMatch {
    /// Position of the pattern.
    pub pattern: PatternId,
    /// Data edges by query position.
    pub edges: SmallVec<[EdgeRef; 6]>,
    /// Data vertices by query position.
    pub vertices: SmallVec<[Vertex; 6]>,
    /// When its oldest edge came, on the clock of the pattern's window.
    pub first: i64,
    /// When it was kept, which is not before its newest edge.
    kept: Now,
    retracted: bool,
}

/// Matches reported, by the edges they hold; a list may begin with numbers that were forgotten.
#[derive(Debug, Default)]
pub struct Reported {
    matches: VecDeque<ReportedMatch>,
    first: u64,
    by_edge: HashMap<u32, SmallVec<[u64; 2]>, FxBuildHasher>,
}

impl Reported {
    /// Keeps a match of edges that the store has, of a pattern whose window is by that clock.
    pub fn keep(&mut self, (pattern, clock): (PatternId, Clock), kept: Now, parts: (&[EdgeRef], &[Vertex]), store: &EdgeStore) {
        let (edges, vertices) = parts;
        let number = self.first + self.matches.len() as u64;
        for edge in edges {
            let numbers = self.by_edge.entry(edge.0).or_default();
            // An edge before may have had the same place in the store.
            if numbers.first().is_some_and(|&oldest| oldest < self.first) {
                numbers.retain(|number| *number >= self.first);
            }
            numbers.push(number);
        }
        let first = edges.iter().map(|&edge| store.came(edge, clock)).min().unwrap_or_default();
        let (edges, vertices) = (edges.into(), vertices.into());
        self.matches.push_back(ReportedMatch { pattern, edges, vertices, first, kept, retracted: false });
    }

    /// Calls `f` with every match that holds the edge and was not retracted yet, oldest first; `f` says whether it is now.
    pub fn retract(&mut self, edge: EdgeRef, meter: &mut Meter<'_>, mut f: impl FnMut(&ReportedMatch, &mut Meter<'_>) -> bool) {
        let Some(numbers) = self.by_edge.get(&edge.0) else { return };
        for number in numbers.iter().filter(|&&number| number >= self.first) {
            meter.tick(MATCH);
            let found = &mut self.matches[(number - self.first) as usize];
            if !found.retracted && f(found, meter) {
                found.retracted = true;
            }
        }
    }

    /// Forgets the matches of a pattern.
    pub fn forget(&mut self, pattern: PatternId) {
        for found in self.matches.iter_mut().filter(|found| found.pattern == pattern) {
            found.retracted = true;
        }
    }

    /// Forgets the matches that were kept before both instants.
    pub fn expire(&mut self, alive_from: Now, meter: &mut Meter<'_>) {
        let is_past = |kept: Now| kept.ts < alive_from.ts && kept.edges < alive_from.edges;
        while self.matches.front().is_some_and(|found| is_past(found.kept)) {
            let Some(found) = self.matches.pop_front() else { return };
            meter.tick(found.edges.len() as u32);
            for edge in &found.edges {
                // Numbers ascend: the list goes with the edge's last match.
                if self.by_edge.get(&edge.0).is_some_and(|numbers| numbers.last() == Some(&self.first)) {
                    self.by_edge.remove(&edge.0);
                }
            }
            self.first += 1;
        }
    }

    /// Bytes that the matches kept take.
    pub fn bytes(&self) -> usize {
        self.matches.len() * size_of::<ReportedMatch>() + self.by_edge.len() * size_of::<(u32, SmallVec<[u64; 2]>)>()
    }
}
