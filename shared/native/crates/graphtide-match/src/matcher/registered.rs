//! One pattern in a matcher: its engine, its limits, its counts.

use graphtide_graph::Time;
use graphtide_graph::store::EdgeRef;

use crate::concurrent::Concurrent;
use crate::dispatch::SignatureId;
use crate::filtering::Filtering;
use crate::output::{ItemReport, PatternNames, Rows};
use crate::plan::{LimitPolicy, Limits};
use crate::search::Search;
use crate::search::postings::{Postings, RingId};
use crate::timing::{Arrival, Outcome, Timing};

/// The engine of a pattern.
#[derive(Debug)]
pub enum Engine {
    /// Expansion lists.
    Timing(Box<Timing>),
    /// Expansion lists on several threads.
    Concurrent(Box<Concurrent>),
    /// Local search.
    Search(Box<Search>),
    /// Local search among filtered candidates.
    Filtering(Box<Filtering>),
}

/// Counts of one pattern since it was registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edges that satisfied a query edge and were discarded at once: no match could hold them (Lemma 1).
    pub discarded: u64,
    /// Matches reported.
    pub matches: u64,
    /// Matches retracted.
    pub retractions: u64,
    /// Times that a partial match was given up at a limit.
    pub limited: u64,
}

/// A registered pattern.
#[derive(Debug)]
pub struct Registered {
    /// Names for the output.
    pub names: PatternNames,
    /// What matches it.
    pub engine: Engine,
    /// Window in ticks.
    pub window: i64,
    /// Signatures of its edges.
    pub signatures: Vec<SignatureId>,
    /// The shared lists that hold its edges; none if it keeps them itself.
    pub lists: Vec<RingId>,
    /// Bounds.
    pub limits: Limits,
    /// Counts.
    pub counts: Counts,
    /// Whether a limit stopped it.
    pub paused: bool,
    /// Whether a limit made it give up partial matches.
    pub shed: bool,
}

/// A bound that was reached under the policy to fail.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {pattern:?} reached its limit of {limit}")]
pub struct LimitReached {
    /// The pattern.
    pub pattern: String,
    /// The bound.
    pub limit: String,
}

impl Registered {
    /// Inserts an edge as one query edge; says whether the edge is held now.
    #[inline]
    pub fn insert(
        &mut self,
        arrival: &Arrival<'_>,
        query_edge: u8,
        postings: &Postings,
        rows: &mut Rows,
    ) -> Result<bool, LimitReached> {
        if self.paused {
            return Ok(false);
        }
        match &mut self.engine {
            Engine::Search(search) => {
                search.insert(arrival, query_edge, postings, rows);
                self.check_bytes(postings)?;
                Ok(false)
            }
            Engine::Filtering(filtering) => {
                filtering.insert(arrival, query_edge, postings, rows);
                self.check_bytes(postings)?;
                Ok(false)
            }
            // Whether the edge is of use is known when the transaction has run; until then it is held.
            Engine::Concurrent(lists) => {
                lists.insert(arrival, query_edge);
                Ok(true)
            }
            Engine::Timing(timing) => match timing.insert(arrival, query_edge, rows) {
                Outcome::Discarded => {
                    self.counts.discarded += 1;
                    Ok(false)
                }
                Outcome::Used => Ok(true),
                Outcome::Limited(bound) => {
                    self.at_limit(&bound.to_string())?;
                    Ok(true)
                }
            },
        }
    }

    fn check_bytes(&mut self, postings: &Postings) -> Result<(), LimitReached> {
        match self.limits.state_bytes {
            Some(bound) if !self.shed && self.bytes(postings) as u64 >= bound => {
                self.at_limit(&format!("{bound} bytes of state"))
            }
            _ => Ok(()),
        }
    }

    fn at_limit(&mut self, limit: &str) -> Result<(), LimitReached> {
        self.counts.limited += 1;
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: self.names.name.clone(), limit: limit.to_owned() }),
            LimitPolicy::Pause => {
                self.paused = true;
                self.shed = true;
                match &mut self.engine {
                    Engine::Timing(timing) => timing.clear(),
                    Engine::Concurrent(lists) => lists.clear(),
                    Engine::Search(_) | Engine::Filtering(_) => {}
                }
                Ok(())
            }
            LimitPolicy::Shed => {
                self.shed = true;
                Ok(())
            }
        }
    }

    /// Drops the state that left the window.
    pub fn expire(&mut self, now: Time) {
        let alive_from = now.saturating_sub(self.window - 1);
        match &mut self.engine {
            Engine::Timing(timing) => timing.expire(alive_from),
            Engine::Concurrent(lists) => lists.expire(alive_from),
            Engine::Search(_) | Engine::Filtering(_) => {}
        }
    }

    /// Lets a deleted edge take no further part.
    pub fn delete(&mut self, edge: EdgeRef) {
        match &mut self.engine {
            Engine::Timing(timing) => timing.delete(edge),
            Engine::Concurrent(lists) => lists.delete(edge),
            Engine::Search(_) | Engine::Filtering(_) => {}
        }
    }

    /// Waits for work on other threads and hands over the matches it found.
    pub fn drain(&mut self, rows: &mut Rows) -> Result<(), LimitReached> {
        let Engine::Concurrent(lists) = &mut self.engine else { return Ok(()) };
        let limited = lists.drain(rows);
        self.counts.discarded = lists.discarded();
        limited.map_or(Ok(()), |bound| self.at_limit(&bound.to_string()))
    }

    /// Partial matches alive.
    #[inline]
    pub fn live(&self) -> usize {
        match &self.engine {
            Engine::Timing(timing) => timing.live(),
            Engine::Concurrent(lists) => lists.live(),
            Engine::Search(_) | Engine::Filtering(_) => 0,
        }
    }

    /// Most partial matches ever alive at once.
    pub fn peak(&self) -> usize {
        match &self.engine {
            Engine::Timing(timing) => timing.peak(),
            Engine::Concurrent(lists) => lists.peak(),
            Engine::Search(_) | Engine::Filtering(_) => 0,
        }
    }

    /// Bytes of state alive that no other pattern shares.
    pub fn own_bytes(&self) -> usize {
        match &self.engine {
            Engine::Timing(timing) => timing.bytes(),
            Engine::Concurrent(lists) => lists.bytes(),
            Engine::Search(_) | Engine::Filtering(_) => 0,
        }
    }

    /// Bytes of state alive; postings that patterns share count for each.
    pub fn bytes(&self, postings: &Postings) -> usize {
        match &self.engine {
            Engine::Timing(_) | Engine::Concurrent(_) => self.own_bytes(),
            Engine::Search(_) | Engine::Filtering(_) => self.lists.iter().map(|&ring| postings.bytes(ring)).sum(),
        }
    }

    /// What each item of the plan holds and held.
    pub fn report(&self) -> Vec<ItemReport> {
        match &self.engine {
            Engine::Timing(timing) => timing.report(),
            Engine::Concurrent(lists) => lists.report(),
            Engine::Search(_) | Engine::Filtering(_) => Vec::new(),
        }
    }
}
