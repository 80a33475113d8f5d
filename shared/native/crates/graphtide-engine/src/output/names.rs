//! Names of a pattern and its parts, with the identities and the records of its matches.

use blake2::Digest;
use graphtide_graph::key::IdRef;

use super::identity::{COMPLETED_BY, Identity, hash_id, hash_part, hexadecimal};
use super::json::{begin_member, json_member, write_string};
use super::{Counted, IntervalNames, Layout, MatchRef, ReturnsSpec};
use crate::pattern::Pattern;

/// The names of a pattern and its parts, ready for writing.
#[derive(Clone, Debug)]
pub struct PatternNames {
    /// Name of the pattern.
    pub name: String,
    /// Names of the edges, or of the events.
    pub edges: Vec<String>,
    /// Names of the vertices.
    pub vertices: Vec<String>,
    /// Source and target of every edge.
    pub(super) ends: Vec<(u8, u8)>,
    /// Whether components are reported by their changes.
    pub(super) emits_changes: bool,
    /// Whether an event is a list of them.
    pub(super) lists: Vec<bool>,
    sorted_edges: Vec<usize>,
    identity: Identity,
    json_name: Vec<u8>,
    pub(super) json_parts: Vec<Vec<u8>>,
    json_fields: Vec<Vec<u8>>,
    /// What is returned of matches of edges; of those of events their engine has evaluated it.
    pub(super) returns: ReturnsSpec,
    /// What a graph query reports.
    pub intervals: IntervalNames,
}

impl PatternNames {
    /// Takes the names of a pattern and what it returns, by the columns of the store; `emits_changes` if its components are
    /// reported by what changes.
    pub fn new(pattern: &Pattern<'_>, emits_changes: bool, returns: ReturnsSpec) -> Self {
        let json_fields = returns.fields.iter().map(|field| json_member(&field.name)).collect();
        let edges: Vec<String> = pattern.edges.iter().map(|edge| edge.name.clone()).collect();
        let vertices = pattern.vertices.iter().map(|vertex| vertex.name.clone()).collect();
        let parts = Self::of_parts(pattern.name, pattern.version, edges, vertices);
        Self { ends: pattern.ends(), emits_changes, json_fields, returns, ..parts }
    }

    /// Source and target of an edge.
    pub fn ends_of(&self, edge: u8) -> (u8, u8) {
        self.ends[usize::from(edge)]
    }

    /// Takes the names of an event pattern and of its fields. Those of events are in the order of the text, each with whether it is
    /// a list.
    pub fn of_events(name: &str, version: u32, events: impl Iterator<Item = (String, bool)>, fields: &[String]) -> Self {
        let (events, lists) = events.unzip();
        let json_fields = fields.iter().map(|name| json_member(name)).collect();
        Self { lists, json_fields, ..Self::of_parts(name, version, events, Vec::new()) }
    }

    /// Takes the names of a graph query.
    pub fn of_intervals(name: &str, version: u32, intervals: IntervalNames) -> Self {
        Self { intervals, ..Self::of_parts(name, version, Vec::new(), Vec::new()) }
    }

    fn of_parts(name: &str, version: u32, edges: Vec<String>, vertices: Vec<String>) -> Self {
        let mut sorted_edges: Vec<usize> = (0..edges.len()).collect();
        sorted_edges.sort_by_key(|&edge| &edges[edge]);
        let mut identity = Identity::new();
        hash_part(&mut identity, name);
        hash_part(&mut identity, &version.to_string());
        let mut json_name = Vec::new();
        write_string(name, &mut json_name);
        let json_parts = edges.iter().chain(&vertices).map(|name| json_member(name)).collect();
        Self {
            name: name.to_owned(),
            edges,
            vertices,
            ends: Vec::new(),
            emits_changes: false,
            lists: Vec::new(),
            sorted_edges,
            identity,
            json_name,
            json_parts,
            json_fields: Vec::new(),
            returns: ReturnsSpec::default(),
            intervals: IntervalNames::default(),
        }
    }

    /// Edges and vertices.
    pub fn width(&self) -> usize {
        self.edges.len() + self.vertices.len()
    }

    /// Identity of a match: see `graphtide_core.match`.
    pub fn match_id(&self, found: &MatchRef<'_>) -> [u8; 32] {
        match &found.layout {
            Layout::Assignment(assignment) => {
                let mut identity = self.identity.clone();
                for &edge in &self.sorted_edges {
                    self.hash_edge(&mut identity, edge, assignment.text.get_id(assignment.edges[edge]));
                }
                hexadecimal(identity)
            }
            Layout::Component(found) => found.component.id,
            Layout::Occurrence(found) => match found.counted() {
                Some(Counted { completed_by, .. }) => {
                    let mut identity = self.identity.clone();
                    hash_part(&mut identity, COMPLETED_BY);
                    hash_id(&mut identity, completed_by);
                    hexadecimal(identity)
                }
                None => self.identify(found.events()),
            },
            Layout::Interval(found) => {
                let mut identity = self.identity.clone();
                found.identify(&self.intervals, &mut identity);
                hexadecimal(identity)
            }
        }
    }

    /// Identity of a match that has these pairs of a query edge and an id, in any order.
    pub(super) fn identify<'k>(&self, pairs: impl Iterator<Item = (u8, IdRef<'k>)>) -> [u8; 32] {
        let (mut texts, mut places) = (String::new(), Vec::new());
        for (edge, id) in pairs {
            let start = texts.len();
            id.with_text(|text| texts.push_str(text));
            places.push((edge, start..texts.len(), id));
        }
        let mut identity = self.identity.clone();
        // By name, which every edge has another of, and then by the text of the id.
        places.sort_unstable_by_key(|(edge, text, _)| (&self.edges[usize::from(*edge)], &texts[text.clone()]));
        for (edge, _, id) in places {
            self.hash_edge(&mut identity, usize::from(edge), id);
        }
        hexadecimal(identity)
    }

    fn hash_edge(&self, identity: &mut Identity, edge: usize, id: IdRef<'_>) {
        hash_part(identity, &self.edges[edge]);
        hash_id(identity, id);
    }

    /// Writes a match as a JSON object, with its identity.
    pub fn write_json(&self, found: &MatchRef<'_>, id: &[u8; 32], out: &mut Vec<u8>) {
        let mut digits = itoa::Buffer::new();
        out.extend_from_slice(b"{\"match_id\":\"");
        out.extend_from_slice(id);
        out.extend_from_slice(b"\",\"query\":");
        out.extend_from_slice(&self.json_name);
        for part in [",\"kind\":\"", found.kind.name(), "\""] {
            out.extend_from_slice(part.as_bytes());
        }
        for (name, ts) in
            [(",\"detected_at\":", found.detected_at), (",\"first_ts\":", found.first_ts), (",\"last_ts\":", found.last_ts)]
        {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(digits.format(ts).as_bytes());
        }
        out.push(b',');
        match &found.layout {
            Layout::Assignment(assignment) => {
                out.extend_from_slice(b"\"edges\":{");
                let (edge_names, vertex_names) = self.json_parts.split_at(self.edges.len());
                for (number, (name, id)) in edge_names.iter().zip(assignment.edges()).enumerate() {
                    begin_member(number, name, out);
                    id.with_text(|text| write_string(text, out));
                }
                out.extend_from_slice(b"},\"vertices\":{");
                for (number, (name, vertex)) in vertex_names.iter().zip(assignment.vertices()).enumerate() {
                    begin_member(number, name, out);
                    vertex.with_text(|text| write_string(text, out));
                }
                out.push(b'}');
            }
            Layout::Component(component) => component.write_json(self, found.kind, out),
            Layout::Occurrence(occurrence) => occurrence.write_json(self, out),
            Layout::Interval(interval) => interval.write_json(self, found.kind, out),
        }
        if !self.json_fields.is_empty() {
            out.extend_from_slice(b",\"fields\":");
            found.fields.write_json(&self.json_fields, out);
        }
        if found.shed {
            out.extend_from_slice(b",\"completeness\":\"SHED\"");
        }
        out.push(b'}');
    }
}
