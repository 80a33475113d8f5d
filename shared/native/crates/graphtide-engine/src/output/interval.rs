//! Intervals on their way out: results of streaming graph queries, vertices by column, with when they are valid.
//!
//! The identity of a result is its label and its vertices. Its reports are valid from the present instant on. So records follow
//! from the edges of a window, however long a result is valid without a break.

use graphtide_graph::Time;
use graphtide_graph::key::{IdRef, Key, KeyRef, TextArena};

use super::PatternNames;
use super::identity::{Identity, hash_part};
use super::json::{begin_member, json_member, write_string};
use crate::output::Kind;

/// What a query reports, as its records call it.
#[derive(Clone, Debug)]
pub struct ReportedOutput {
    label: String,
    json_label: Vec<u8>,
    json_columns: Vec<Vec<u8>>,
    /// Whether results stay once they are emitted.
    is_appended: bool,
}

/// The outputs of a query, and what its paths may be made of.
#[derive(Clone, Debug, Default)]
pub struct IntervalNames {
    outputs: Vec<ReportedOutput>,
    /// Labels of derived edges, by operator.
    derived: Vec<Vec<u8>>,
}

/// A step of a path: an edge by its id, or a derived one by its operator and its ends.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<I, K> {
    /// An edge of the stream.
    Edge(I),
    /// A derived edge.
    Derived {
        /// Number of the operator that derived it.
        operator: u32,
        /// Where it begins.
        source: K,
        /// Where it ends.
        target: K,
    },
}

/// The times of a report on a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalReport {
    /// The instant at which it is emitted.
    pub at: Time,
    /// How many records of that instant brought about something else before.
    pub nth: u32,
    /// When the result is valid, or when it is not any more: from, and up to but without.
    pub valid: (Time, Time),
}

/// A result with its texts in the batch.
#[derive(Clone, Copy, Debug)]
struct OwnedInterval {
    output: u32,
    /// Where its vertices begin and end.
    ends: (usize, usize),
    /// Where the steps of its path begin and end, if they are reported.
    path: Option<(usize, usize)>,
    report: IntervalReport,
    /// Whether it ends, though results of its output stay.
    is_closed: bool,
}

/// Results that own their texts.
#[derive(Debug, Default)]
pub(super) struct OwnedIntervals {
    intervals: Vec<OwnedInterval>,
    ends: Vec<Key>,
    steps: Vec<PathStep<Key, Key>>,
}

/// A result of a batch, by reference.
#[derive(Clone, Copy)]
pub struct IntervalRef<'a> {
    /// Which output it is of.
    pub output: u32,
    /// The times of its report.
    pub report: IntervalReport,
    ends: &'a [Key],
    path: Option<&'a [PathStep<Key, Key>]>,
    text: &'a TextArena,
    is_closed: bool,
}

impl OwnedIntervals {
    /// Takes a result; returns its number.
    pub fn push<'k>(
        &mut self,
        output: u32,
        vertices: impl Iterator<Item = KeyRef<'k>>,
        report: IntervalReport,
        path: Option<impl Iterator<Item = PathStep<IdRef<'k>, KeyRef<'k>>>>,
        text: &mut TextArena,
    ) -> usize {
        let start = self.ends.len();
        self.ends.extend(vertices.map(|vertex| text.insert(vertex)));
        let path = path.map(|steps| {
            let start = self.steps.len();
            self.steps.extend(steps.map(|step| match step {
                PathStep::Edge(id) => PathStep::Edge(text.insert_id(id)),
                PathStep::Derived { operator, source, target } => {
                    PathStep::Derived { operator, source: text.insert(source), target: text.insert(target) }
                }
            }));
            (start, self.steps.len())
        });
        self.intervals.push(OwnedInterval { output, ends: (start, self.ends.len()), path, report, is_closed: false });
        self.intervals.len() - 1
    }

    /// Lets a result end, though results of its output stay.
    pub fn close(&mut self, number: usize) {
        self.intervals[number].is_closed = true;
    }

    /// Results that it owns.
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Reads a result.
    pub fn get<'a>(&'a self, number: usize, text: &'a TextArena) -> IntervalRef<'a> {
        let OwnedInterval { output, ends: (start, end), path, report, is_closed } = self.intervals[number];
        let path = path.map(|(start, end)| &self.steps[start..end]);
        IntervalRef { output, report, ends: &self.ends[start..end], path, text, is_closed }
    }

    /// Bytes held, but for texts.
    pub fn bytes(&self) -> usize {
        self.intervals.len() * size_of::<OwnedInterval>()
            + self.ends.len() * size_of::<Key>()
            + self.steps.len() * size_of::<PathStep<Key, Key>>()
    }
}

impl<'a> IntervalRef<'a> {
    /// Its vertices, by column.
    pub fn vertices(&self) -> impl Iterator<Item = KeyRef<'a>> + use<'a> {
        let text = self.text;
        self.ends.iter().map(|&key| text.get(key))
    }

    /// The steps of its path, if they are reported.
    pub fn path(&self) -> Option<impl Iterator<Item = PathStep<IdRef<'a>, KeyRef<'a>>> + use<'a>> {
        let text = self.text;
        Some(self.path?.iter().map(move |step| match *step {
            PathStep::Edge(id) => PathStep::Edge(text.get_id(id)),
            PathStep::Derived { operator, source, target } => {
                PathStep::Derived { operator, source: text.get(source), target: text.get(target) }
            }
        }))
    }

    /// The instant at which it ends; none where it stays.
    pub fn end(&self, names: &IntervalNames, kind: Kind) -> Option<Time> {
        let stays = names.outputs[self.output as usize].is_appended && kind != Kind::Retract && !self.is_closed;
        (!stays).then_some(self.report.valid.1)
    }

    /// Hashes its identity.
    pub(super) fn identify(&self, names: &IntervalNames, identity: &mut Identity) {
        hash_part(identity, &names.outputs[self.output as usize].label);
        for vertex in self.vertices() {
            vertex.with_text(|text| hash_part(identity, text));
        }
    }

    /// Writes its members of a JSON object, with a comma before each but the first.
    pub(super) fn write_json(&self, names: &PatternNames, kind: Kind, out: &mut Vec<u8>) {
        let names = &names.intervals;
        let output = &names.outputs[self.output as usize];
        let mut digits = itoa::Buffer::new();
        if let [source, target] = self.ends {
            for (member, key) in [("\"src\":", source), (",\"dst\":", target)] {
                out.extend_from_slice(member.as_bytes());
                self.text.get(*key).with_text(|text| write_string(text, out));
            }
        } else {
            out.extend_from_slice(b"\"bindings\":{");
            for (number, (column, vertex)) in output.json_columns.iter().zip(self.vertices()).enumerate() {
                begin_member(number, column, out);
                vertex.with_text(|text| write_string(text, out));
            }
            out.push(b'}');
        }
        out.extend_from_slice(b",\"label\":");
        out.extend_from_slice(&output.json_label);
        out.extend_from_slice(b",\"valid\":[");
        out.extend_from_slice(digits.format(self.report.valid.0).as_bytes());
        out.push(b',');
        match self.end(names, kind) {
            Some(end) => out.extend_from_slice(digits.format(end).as_bytes()),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b']');
        if self.report.nth > 0 {
            out.extend_from_slice(b",\"nth\":");
            out.extend_from_slice(digits.format(self.report.nth).as_bytes());
        }
        if let Some(steps) = self.path() {
            out.extend_from_slice(b",\"path\":[");
            for (number, step) in steps.enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                match step {
                    PathStep::Edge(id) => id.with_text(|text| write_string(text, out)),
                    PathStep::Derived { operator, source, target } => {
                        names.write_derived(operator, [source, target], [",", ":"], out);
                    }
                }
            }
            out.push(b']');
        }
    }
}

impl IntervalNames {
    /// Takes the label and the columns of each output, with whether its results stay; and the labels of derived edges, by
    /// operator.
    pub fn new(outputs: impl Iterator<Item = (String, Vec<String>, bool)>, derived: &[String]) -> Self {
        let outputs = outputs.map(|(label, columns, is_appended)| ReportedOutput {
            json_label: json_text(&label),
            json_columns: columns.iter().map(|name| json_member(name)).collect(),
            label,
            is_appended,
        });
        Self { outputs: outputs.collect(), derived: derived.iter().map(|label| json_text(label)).collect() }
    }

    /// A derived edge of a path as a JSON object, with a space behind each comma and colon.
    pub fn derived_json(&self, operator: u32, source: KeyRef<'_>, target: KeyRef<'_>) -> Vec<u8> {
        let mut json = Vec::new();
        self.write_derived(operator, [source, target], [", ", ": "], &mut json);
        json
    }

    fn write_derived(&self, operator: u32, ends: [KeyRef<'_>; 2], [comma, colon]: [&str; 2], out: &mut Vec<u8>) {
        for part in ["{\"label\"", colon] {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(&self.derived[operator as usize]);
        for (member, vertex) in ["\"src\"", "\"dst\""].into_iter().zip(ends) {
            for part in [comma, member, colon] {
                out.extend_from_slice(part.as_bytes());
            }
            vertex.with_text(|text| write_string(text, out));
        }
        out.push(b'}');
    }

    /// The label of an output.
    pub fn label(&self, output: u32) -> &str {
        &self.outputs[output as usize].label
    }
}

fn json_text(text: &str) -> Vec<u8> {
    let mut json = Vec::new();
    write_string(text, &mut json);
    json
}
