//! What a record brings about: results that become valid, are extended or withdrawn.
//!
//! What is told of a result is told from the present instant on, so it follows from the edges that are valid now, and from those that
//! end now, whatever was before.

use graphtide_engine::output::Kind;
use graphtide_graph::Time;
use graphtide_graph::vertex::Vertex;

use crate::path::Walked;
use crate::relation::{ENDED, Values};

/// A change of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Place of the query.
    pub member: u32,
    /// Number of the output of that query.
    pub output: u32,
    /// What happened to it.
    pub kind: Kind,
    /// Its vertices, by column.
    pub values: Values,
    /// From now on, when it is valid; or of a retraction the interval that is withdrawn: from, and up to but without.
    pub valid: (Time, Time),
    /// The steps of its path, if that is told.
    pub path: Option<Vec<Walked>>,
}

/// Answers to one record.
#[derive(Debug, Default)]
pub struct Answers {
    found: Vec<Answer>,
}

/// A result whose end changed.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// Place of the query, and number of the output of that.
    pub output: (u32, u32),
    /// Its vertices.
    pub values: &'a [Vertex],
    /// The end from before; [`ENDED`] if it was past.
    pub before: Time,
    /// The end now; [`ENDED`] if nothing derives it.
    pub after: Time,
}

impl Answers {
    /// What was found.
    pub fn found(&self) -> &[Answer] {
        &self.found
    }

    /// Forgets what was found.
    pub fn clear(&mut self) {
        self.found.clear();
    }

    /// Puts what was found from a place on in the order of the queries and of their outputs.
    pub fn sort(&mut self, from: usize) {
        self.found[from..].sort_by_key(|answer| (answer.member, answer.output));
    }

    /// Takes a change at an instant; `is_appended` if results are told when they become valid alone.
    pub fn push(&mut self, changed: Changed<'_>, now: Time, is_appended: bool, path: impl FnOnce() -> Option<Vec<Walked>>) {
        let Changed { output: (member, output), values, before, after } = changed;
        let kind = match (before, after) {
            (ENDED, _) => Kind::Match,
            _ if after > before => Kind::Extend,
            _ => Kind::Retract,
        };
        if is_appended && (kind == Kind::Extend || (kind == Kind::Retract && after != ENDED)) {
            return;
        }
        let (valid, path) = match kind {
            Kind::Retract => ((now.max(after), before), None),
            _ => ((now, after), path()),
        };
        self.found.push(Answer { member, output, kind, values: values.into(), valid, path });
    }
}
