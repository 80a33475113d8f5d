//! Bounds on a pattern's state and work, and what happens at them.

use std::fmt;

use serde::Deserialize;

/// Bounds on a pattern's state and work, and what happens at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Partial matches alive at once.
    pub partial_matches: Option<u64>,
    /// Bytes of state.
    pub state_bytes: Option<u64>,
    /// Steps of work a record of the stream, on average.
    pub work: Option<u64>,
    /// What happens at a bound.
    #[serde(default)]
    pub policy: LimitPolicy,
}

/// What happens when a pattern reaches a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitPolicy {
    /// The run stops with an error.
    #[default]
    Fail,
    /// The pattern stops matching, the others continue.
    Pause,
    /// New partial matches, or the search under way, are given up while the bound holds, and matches say so from then on.
    Shed,
}

/// How much an engine may store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Partial matches.
    pub partial_matches: u64,
    /// Bytes of nodes and held edges.
    pub bytes: u64,
}

impl Bounds {
    /// As much as limits allow.
    pub fn of(limits: &Limits) -> Self {
        Self { partial_matches: limits.partial_matches.unwrap_or(u64::MAX), bytes: limits.state_bytes.unwrap_or(u64::MAX) }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.partial_matches, self.bytes) {
            (partial_matches, u64::MAX) => write!(f, "{partial_matches} partial matches"),
            (u64::MAX, bytes) => write!(f, "{bytes} bytes of state"),
            (partial_matches, bytes) => write!(f, "{partial_matches} partial matches or {bytes} bytes of state"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_not_set_is_not_named() {
        let named = |partial_matches, bytes| Bounds { partial_matches, bytes }.to_string();
        assert_eq!(named(5, u64::MAX), "5 partial matches");
        assert_eq!(named(u64::MAX, 7), "7 bytes of state");
        assert_eq!(named(5, 7), "5 partial matches or 7 bytes of state");
    }
}
