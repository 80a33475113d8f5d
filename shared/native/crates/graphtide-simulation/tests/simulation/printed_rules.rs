//! Windows for which a rule of the paper, as it is printed, reports too little or too much.

use crate::support::driver::{Driver, VARIANTS};
use crate::support::oracle::Edge;
use graphtide_simulation::{Query, QueryEdge, Report};

fn path(kinds: &[u32], before: &[(u8, u8)]) -> Query {
    let edge = |(place, &kind): (usize, &u32)| QueryEdge { source: place as u8, target: place as u8 + 1, kind };
    let edges = kinds.iter().enumerate().map(edge).collect();
    Query { vertices: kinds.len() + 1, edges, before: before.to_vec(), window: 100, report: Report::Maximal }
}

fn edge(ts: u32, source: u32, target: u32, fits: u64) -> Edge {
    Edge { id: ts, ts: ts.into(), at: ts.into(), source, target, fits }
}

/// Ids of the edges that are reported with each edge, by each engine.
fn reported(query: &Query, stream: &[Edge]) -> [Vec<Vec<u32>>; 3] {
    VARIANTS.map(|variant| {
        let mut driver = Driver::new(query, variant);
        let ids = |emitted: Vec<crate::support::oracle::Emitted>| {
            let mut ids: Vec<u32> = emitted.iter().flat_map(|emitted| emitted.pairs.iter().map(|pair| pair.1)).collect();
            ids.dedup();
            ids
        };
        stream.iter().map(|edge| ids(driver.insert(edge))).collect()
    })
}

/// The signature (offline, lines 4 to 12) asks for a factor of each query edge.
#[test]
fn fewer_edges_than_the_query_can_be_a_match() {
    let stream = [edge(1, 7, 8, 0b111), edge(2, 8, 7, 0b111)];

    for reported in reported(&path(&[0, 0, 0], &[]), &stream) {
        assert_eq!(reported, [vec![], vec![1, 2]]);
    }
}

/// The signature (online, line 10) continues from the second edge of the window where there was no match.
#[test]
fn a_match_needs_the_first_edge_of_the_window() {
    let stream = [edge(1, 10, 11, 0b01), edge(2, 20, 21, 0b10), edge(3, 11, 12, 0b10)];

    for reported in reported(&path(&[0, 1], &[]), &stream) {
        assert_eq!(reported, [vec![], vec![], vec![1, 3]]);
    }
}

/// The `needMap` of VERIFY-MATCH has a bit for what a degree lacks alone: after a failure for the sake of time, it is empty.
#[test]
fn a_component_out_of_time_is_verified_again() {
    let query = path(&[0, 1, 2], &[(0, 1), (1, 2)]);
    let stream = [
        edge(1, 11, 12, 0b010),
        edge(2, 10, 11, 0b001),
        edge(3, 12, 13, 0b100),
        edge(4, 11, 12, 0b010),
        edge(5, 12, 13, 0b100),
    ];

    for reported in reported(&query, &stream) {
        assert_eq!(reported, [vec![], vec![], vec![], vec![], vec![2, 4, 5]]);
    }
}

/// A master stands for all that was ever connected: verifying that as one component would let parts keep time for each other.
#[test]
fn parts_of_a_component_that_fell_apart_do_not_keep_time_for_each_other() {
    let query = path(&[0, 1], &[(0, 1)]);
    let ties = |id, source, target, fits| Edge { id, ts: 9, at: 9, source, target, fits };
    for variant in VARIANTS {
        let mut driver = Driver::new(&query, variant);
        let joined = [edge(1, 11, 12, 0b10), edge(2, 10, 11, 0b01), edge(3, 10, 21, 0b01), edge(4, 21, 22, 0b10)];
        let last = joined.iter().map(|edge| driver.insert(edge).len()).collect::<Vec<_>>();
        assert_eq!(last, [0, 0, 0, 1], "{variant:?}");

        driver.delete(3, 5);

        assert_eq!(driver.insert(&ties(8, 20, 21, 0b01)), [], "{variant:?}");
        assert_eq!(driver.insert(&ties(9, 21, 22, 0b10)), [], "{variant:?}");
    }
}

/// Counting degrees, as COLOR-EDGE does, takes one edge for two that the query asks for where one of its edges fits both.
#[test]
fn an_edge_that_fits_two_does_not_serve_both_at_one_vertex() {
    let road = |source, target, kind| QueryEdge { source, target, kind };
    let edges = vec![road(0, 1, 0), road(0, 2, 1)];
    let query = Query { vertices: 3, edges, before: vec![], window: 100, report: Report::Maximal };

    for reported in reported(&query, &[edge(1, 10, 11, 0b11), edge(2, 10, 12, 0b10)]) {
        assert_eq!(reported, [vec![], vec![1, 2]]);
    }
}
