//! What a record brings about: results that become valid, are extended or withdrawn.
//!
//! A result is reported from the present instant on. So the report follows from the edges that are valid now, and from those
//! that end now, whatever was before.

use graphtide_engine::output::Kind;
use graphtide_graph::Time;
use graphtide_graph::vertex::Vertex;

use crate::plan::OutputSpec;
use crate::relation::ENDED;

/// A change of a result, as it is emitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<'a> {
    /// Place of the query.
    pub member: u32,
    /// Number of the output of that query.
    pub output: u32,
    /// What happened to it.
    pub kind: Kind,
    /// Its vertices, by column.
    pub values: &'a [Vertex],
    /// From now on, when it is valid; or of a retraction the interval that is withdrawn: from, and up to but without.
    pub valid: (Time, Time),
    pub(crate) spec: &'a OutputSpec,
}

/// A result whose end changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'a> {
    /// Its vertices.
    pub values: &'a [Vertex],
    /// The end from before; [`ENDED`] if it was past.
    pub before: Time,
    /// The end now; [`ENDED`] if nothing derives it.
    pub after: Time,
}

impl Changed<'_> {
    /// What happened to it at an instant, and when it is valid; none if that is not emitted. `is_appended` if results are
    /// emitted when they become valid alone.
    pub fn emitted(&self, now: Time, is_appended: bool) -> Option<(Kind, (Time, Time))> {
        let Self { before, after, .. } = *self;
        let kind = match (before, after) {
            (ENDED, _) => Kind::Match,
            _ if after > before => Kind::Extend,
            _ => Kind::Retract,
        };
        if is_appended && (kind == Kind::Extend || (kind == Kind::Retract && after != ENDED)) {
            return None;
        }
        let valid = if kind == Kind::Retract { (now.max(after), before) } else { (now, after) };
        Some((kind, valid))
    }
}
