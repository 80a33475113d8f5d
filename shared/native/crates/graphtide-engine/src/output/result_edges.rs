//! Results of graph queries as lines of edges in JSON, which are read again as any stream.
//!
//! Invariant: they are the edges that `graphtide_core.result_edges` gives. Cost: a hash of the identity a report. Memory: the
//! results that are valid, twice at most; those that stay too.

use std::io::Write as _;
use std::sync::Arc;

use graphtide_graph::Time;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::json::write_string;
use super::{IntervalRef, Kind, Layout, MatchBatch, MatchRef, PatternNames};

/// Results that are known without a look whether they have ended.
const FEW: usize = 4096;

/// What is known of a result: its edge became valid then, as one of its instant, and ends.
#[derive(Clone, Copy)]
struct Known {
    since: Time,
    nth: u32,
    until: Option<Time>,
}

/// Gives the edges of emitted results, in order.
pub struct ResultEdges {
    known: HashMap<[u8; 32], Known, FxBuildHasher>,
    most: usize,
}

impl Default for ResultEdges {
    fn default() -> Self {
        Self { known: HashMap::default(), most: FEW }
    }
}

impl ResultEdges {
    /// The edges and deletions of a batch as lines; matches that are not edges, as those of patterns, give none.
    pub fn lines(&mut self, batch: &MatchBatch, names: &[Arc<PatternNames>]) -> Vec<u8> {
        let mut lines = Vec::new();
        for index in 0..batch.len() {
            let found = batch.get(index, names);
            if let Layout::Interval(interval) = &found.layout {
                self.report(&found, interval, &names[found.pattern.place()], &mut lines);
            }
        }
        lines
    }

    fn report(&mut self, found: &MatchRef<'_>, interval: &IntervalRef<'_>, names: &PatternNames, out: &mut Vec<u8>) {
        let mut vertices = interval.vertices();
        let (Some(source), Some(target), None) = (vertices.next(), vertices.next(), vertices.next()) else { return };
        let (id, at) = (names.match_id(found), found.detected_at);
        let (from, until) = (interval.report.valid.0, interval.end(&names.intervals, found.kind));
        match found.kind {
            Kind::Match => {
                let known = Known { since: at, nth: interval.report.nth, until };
                self.known.insert(id, known);
                self.drop_ended(at);
                write!(out, "{{\"ts\":{at}").unwrap_or_default();
                for (member, vertex) in [(",\"src\":", source), (",\"dst\":", target)] {
                    out.extend_from_slice(member.as_bytes());
                    vertex.with_text(|text| write_string(text, out));
                }
                out.extend_from_slice(b",\"label\":");
                write_string(names.intervals.label(interval.output), out);
                end(&id, known, out);
            }
            Kind::Retract if from <= at => {
                if let Some(known) = self.known.remove(&id) {
                    write!(out, "{{\"ts\":{at},\"op\":\"delete\"").unwrap_or_default();
                    end(&id, known, out);
                }
            }
            Kind::Extend | Kind::Retract => {
                if let Some(known) = self.known.get_mut(&id) {
                    known.until = if found.kind == Kind::Extend { until } else { Some(from) };
                }
            }
            Kind::Timeout => {}
        }
    }

    /// Forgets results that have ended, when they have become twice as many: nothing withdraws them any more.
    fn drop_ended(&mut self, now: Time) {
        if self.known.len() > self.most {
            self.known.retain(|_, known| known.until.is_none_or(|until| until >= now));
            self.most = FEW.max(2 * self.known.len());
        }
    }
}

/// Ends a line with the id of the edge of a result. It is made of the result's own id, since when it is valid, and its place in
/// that instant.
fn end(result: &[u8; 32], Known { since, nth, .. }: Known, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"id\":\"");
    out.extend_from_slice(result);
    write!(out, "-{since}").unwrap_or_default();
    if nth > 0 {
        write!(out, "-{nth}").unwrap_or_default();
    }
    out.extend_from_slice(b"\"}\n");
}
