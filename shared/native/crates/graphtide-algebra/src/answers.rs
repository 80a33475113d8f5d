//! What a record brings about: results that become valid, are extended or withdrawn.
//!
//! A result is told by the interval in which it is valid without a break. Its identity is where that begins, and an ordinal where it
//! was withdrawn and derived again at that very instant.

use graphtide_engine::output::Kind;
use graphtide_graph::Time;
use graphtide_graph::vertex::Vertex;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::path::Walked;
use crate::relation::{ENDED, Values};

/// Entries up to which ordinals of results that are past may be held.
const FEW: usize = 1024;

/// A change of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Number of the output.
    pub output: u32,
    /// What happened to it.
    pub kind: Kind,
    /// Its vertices, by column.
    pub values: Values,
    /// Since when it is valid without a break.
    pub since: Time,
    /// The interval in which it is valid, or of a retraction the one that is withdrawn: from, and up to but without.
    pub valid: (Time, Time),
    /// Which of the results that became valid at that instant it is.
    pub ordinal: u32,
    /// The steps of its path, if that is told.
    pub path: Option<Vec<Walked>>,
}

/// Answers, and what tells equal results apart.
#[derive(Debug, Default)]
pub struct Answers {
    found: Vec<Answer>,
    /// Results that were withdrawn at the instant at which they became valid; of the present instant.
    withdrawn: HashMap<(u32, Values), u32, FxBuildHasher>,
    withdrawn_at: Time,
    /// Ordinals of results that are not the first, with their ends.
    ordinals: HashMap<(u32, Values), (u32, Time), FxBuildHasher>,
    most: usize,
}

/// A result whose end changed.
#[derive(Clone, Copy, Debug)]
pub struct Changed<'a> {
    /// Number of the output.
    pub output: u32,
    /// Its vertices.
    pub values: &'a [Vertex],
    /// The end from before; [`ENDED`] if it was past.
    pub before: Time,
    /// The end now; [`ENDED`] if nothing derives it.
    pub after: Time,
    /// Since when it is valid.
    pub since: Time,
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

    /// Takes a change at an instant; `is_appended` if results are told when they become valid alone.
    pub fn push(&mut self, changed: Changed<'_>, now: Time, is_appended: bool, path: impl FnOnce() -> Option<Vec<Walked>>) {
        let Changed { output, values, before, after, since } = changed;
        if self.withdrawn_at != now {
            self.withdrawn.clear();
            self.withdrawn_at = now;
        }
        let (kind, valid) = if after > before {
            let kind = if before == ENDED { Kind::Match } else { Kind::Extend };
            (kind, (since, after))
        } else {
            (Kind::Retract, (now.max(after), before))
        };
        if is_appended && (kind == Kind::Extend || (kind == Kind::Retract && after != ENDED)) {
            return;
        }
        let ordinal = self.ordinal((output, values), kind, (since, after, now));
        let path = if kind == Kind::Retract { None } else { path() };
        self.found.push(Answer { output, kind, values: values.into(), since, valid, ordinal, path });
    }

    fn ordinal(&mut self, (output, values): (u32, &[Vertex]), kind: Kind, (since, after, now): (Time, Time, Time)) -> u32 {
        if self.withdrawn.is_empty() && self.ordinals.is_empty() && kind != Kind::Retract {
            return 0;
        }
        let key = (output, Values::from_slice(values));
        match kind {
            Kind::Match => {
                let ordinal = self.withdrawn.get(&key).map_or(0, |last| last + 1);
                if ordinal == 0 {
                    self.ordinals.remove(&key);
                } else {
                    self.ordinals.insert(key, (ordinal, after));
                }
                ordinal
            }
            Kind::Extend | Kind::Timeout => match self.ordinals.get_mut(&key) {
                Some((ordinal, end)) => {
                    *end = after;
                    *ordinal
                }
                None => 0,
            },
            Kind::Retract => {
                let ordinal = self.ordinals.get(&key).map_or(0, |&(ordinal, _)| ordinal);
                if after == ENDED {
                    self.ordinals.remove(&key);
                    if since == now {
                        self.withdrawn.insert(key, ordinal);
                    }
                }
                self.sweep(now);
                ordinal
            }
        }
    }

    /// Forgets ordinals of what is past, when they have become twice as many.
    fn sweep(&mut self, now: Time) {
        if self.ordinals.len() > FEW.max(2 * self.most) {
            self.ordinals.retain(|_, (_, end)| *end >= now);
            self.most = self.ordinals.len();
        }
    }
}
