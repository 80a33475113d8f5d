//! The times within which each query edge can be matched so that one edge for each keeps the timing order.
//!
//! Both bounds are found in one pass. Forwards, a query edge has its least time at the first edge that matches it after all
//! before it have theirs; backwards likewise. A pair within its bounds is in time. Give what comes before it the least times,
//! what comes after it the greatest, all others the least (which are no greater than their greatest). A pair outside them is
//! not, since no choice for the others is better than these. So one removal leaves all that stays in time.
//! Cost: O(pairs).
//! Source: paper 000, algorithm DDST, lines 8 to 18.

use graphtide_graph::Time;

use crate::pattern::{Pattern, bits};

/// First and last time by query edge.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    low: Vec<Time>,
    high: Vec<Time>,
}

impl Schedule {
    /// Sets the bounds for edges in the order of time, each with the query edges it matches; returns whether any times
    /// keep the order.
    pub(crate) fn fit<I>(&mut self, pattern: &Pattern, edges: I) -> bool
    where
        I: Iterator<Item = (Time, u64)> + DoubleEndedIterator + Clone,
    {
        self.low.resize(pattern.edges(), 0);
        self.high.resize(pattern.edges(), 0);
        bound(pattern, edges.clone(), &pattern.earlier, &mut self.low)
            && bound(pattern, edges.rev(), &pattern.later, &mut self.high)
    }

    /// Those query edges that an edge of this time can match.
    #[inline]
    pub(crate) fn keep(&self, ts: Time, pairs: u64) -> u64 {
        bits(pairs).filter(|&edge| self.low[edge] <= ts && ts <= self.high[edge]).fold(0, |kept, edge| kept | 1 << edge)
    }
}

/// Notes the first time of each query edge at which all that it has to wait for have had theirs.
fn bound(pattern: &Pattern, edges: impl Iterator<Item = (Time, u64)>, awaited: &[u64], first: &mut [Time]) -> bool {
    let (mut had, mut now, mut tied) = (0_u64, Time::MIN, 0_u64);
    for (ts, pairs) in edges {
        if ts != now {
            had |= tied;
            (now, tied) = (ts, 0);
            if had == pattern.all {
                break;
            }
        }
        for edge in bits(pairs & !(had | tied)) {
            if awaited[edge] & !had == 0 {
                tied |= 1 << edge;
                first[edge] = ts;
            }
        }
    }
    had | tied == pattern.all
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use crate::pattern::Pattern;
    use crate::query::{Query, QueryEdge, Report};

    fn pattern(edges: u8, before: Vec<(u8, u8)>) -> Pattern {
        let edges = (0..edges).map(|edge| QueryEdge { source: edge, target: edge + 1, kind: 0 }).collect();
        Pattern::new(&Query { vertices: 9, edges, before, window: 100, report: Report::Maximal }).unwrap()
    }

    #[test]
    fn example_5_keeps_what_lies_between_the_bounds() {
        let pattern = pattern(3, vec![(0, 1), (1, 2)]);
        let edges = [(2, 2), (30, 1), (40, 1), (45, 2), (50, 4), (90, 1), (95, 4), (100, 2)];
        let mut schedule = Schedule::default();

        assert!(schedule.fit(&pattern, edges.into_iter()));

        let kept: Vec<_> = edges.iter().filter(|(ts, pairs)| schedule.keep(*ts, *pairs) != 0).map(|(ts, _)| *ts).collect();
        assert_eq!(kept, [30, 40, 45, 50, 95]);
    }

    #[test]
    fn equal_times_do_not_keep_a_strict_order() {
        let pattern = pattern(2, vec![(0, 1)]);
        let mut schedule = Schedule::default();

        assert!(!schedule.fit(&pattern, [(5, 1), (5, 2)].into_iter()));
        assert!(schedule.fit(&pattern, [(5, 1), (6, 2)].into_iter()));
    }

    #[test]
    fn an_edge_that_matches_two_serves_both_where_neither_comes_first() {
        let pattern = pattern(2, vec![]);
        let mut schedule = Schedule::default();

        assert!(schedule.fit(&pattern, [(5, 3)].into_iter()));
        assert_eq!(schedule.keep(5, 3), 3);
    }
}
