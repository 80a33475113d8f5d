//! The examples of the paper, as far as its text gives them; its drawings are not part of the text.

use crate::support::driver::{Driver, VARIANTS};
use crate::support::oracle::{Edge, Emitted, Pair};
use graphtide_simulation::found::Kind;
use graphtide_simulation::{Query, QueryEdge, Report};

fn query(vertices: usize, edges: &[(u8, u8, u32)], before: &[(u8, u8)], window: i64) -> Query {
    let edges = edges.iter().map(|&(source, target, kind)| QueryEdge { source, target, kind }).collect();
    Query { vertices, edges, before: before.to_vec(), window, report: Report::Maximal }
}

/// The reports of each engine, which are to be the same.
fn reports(query: &Query, stream: &[Edge]) -> Vec<Emitted> {
    let run = |variant| {
        let mut driver = Driver::new(query, variant);
        stream.iter().flat_map(|edge| driver.insert(edge)).collect::<Vec<_>>()
    };
    let [baseline, signature, coloring] = VARIANTS.map(run);
    assert_eq!(baseline, signature);
    assert_eq!(baseline, coloring);
    baseline
}

fn edge(ts: u32, source: u32, target: u32, fits: u64) -> Edge {
    Edge { id: ts, ts: ts.into(), at: ts.into(), source, target, fits }
}

/// Edges AB, CA, DC, EA, FE between major intersections, AB < CA < DC and AB < EA < FE, within 5 minutes.
fn congestion() -> Query {
    let edges = [(0, 1, 0), (2, 0, 0), (3, 2, 0), (4, 0, 0), (5, 4, 0)];
    query(6, &edges, &[(0, 1), (1, 2), (0, 3), (3, 4)], 300)
}

const CONGESTED: u64 = 0b11111;

#[test]
fn example_1_is_a_match_once_both_ways_are_congested() {
    // Roads report smooth at 2 and 3, which fit nothing; two others do at 6 and 8.
    let stream =
        [(1, 0, 1), (4, 2, 0), (5, 4, 0), (6, 3, 2), (8, 5, 4)].map(|(ts, source, target)| edge(ts, source, target, CONGESTED));

    let reports = reports(&congestion(), &stream);

    let pairs: Vec<Pair> = vec![(0, 1), (1, 4), (3, 4), (1, 5), (3, 5), (2, 6), (4, 6), (2, 8), (4, 8)];
    assert_eq!(reports, [Emitted { kind: Kind::Match, detected_at: 8, id: 1, pairs, former: vec![] }]);
}

#[test]
fn example_1_needs_two_ways() {
    // Without different edges for CA and EA, one way would do.
    let stream = [(1, 0, 1), (4, 2, 0), (6, 3, 2), (8, 5, 2)].map(|(ts, source, target)| edge(ts, source, target, CONGESTED));

    assert_eq!(reports(&congestion(), &stream), []);
}

#[test]
fn example_1_needs_the_order() {
    let stream =
        [(1, 2, 0), (4, 0, 1), (5, 4, 0), (6, 3, 2), (8, 5, 4)].map(|(ts, source, target)| edge(ts, source, target, CONGESTED));

    assert_eq!(reports(&congestion(), &stream), []);
}

#[test]
fn example_2_is_a_match_once_the_sixth_has_joined() {
    let people = 6_u8;
    let leave = (0..people).map(|person| (2 + person, 0, 0));
    let join = (0..people).map(|person| (2 + person, 1, 1));
    let before: Vec<_> = (0..people).map(|person| (person, people + person)).collect();
    let query = query(8, &leave.chain(join).collect::<Vec<_>>(), &before, 1_000);
    let leaving = (0..6).map(|person| edge(1 + person, 10 + person, 1, 0b11_1111));
    let joining = (0..6).map(|person| edge(11 + person, 10 + person, 2, 0b11_1111 << 6));

    let reports = reports(&query, &leaving.chain(joining).collect::<Vec<_>>());

    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].detected_at, reports[0].id, reports[0].pairs.len()), (16, 1, 6 * 12));
}

#[test]
fn example_3_is_a_match_once_every_fan_out_is_reached() {
    // Three hear the rumour from one, and two from each of them.
    let first = (0..3_u8).map(|one| (0, 1 + one, 0));
    let second = (0..6_u8).map(|one| (1 + one / 2, 4 + one, 0));
    let before: Vec<_> = (0..6).map(|one| (one / 2, 3 + one)).collect();
    let query = query(10, &first.chain(second).collect::<Vec<_>>(), &before, 1_000);
    let all = 0b1_1111_1111;
    let inner = (0..3).map(|one| edge(1 + one, 0, 1 + one, all));
    let outer = (0..6).map(|one| edge(11 + one, 1 + one / 2, 10 + one, all));

    let reports = reports(&query, &inner.chain(outer).collect::<Vec<_>>());

    assert_eq!(reports.len(), 1);
    assert_eq!((reports[0].detected_at, reports[0].id, reports[0].pairs.len()), (16, 1, 3 * 3 + 6 * 6));
}

#[test]
fn figure_3_matches_two_cores_with_one() {
    // Three of the periphery, each called by and calling two of the core; between the first two and the last two, a core each.
    let calls = |core: u8, periphery: u8| [(core, periphery, 0), (periphery, core, 1)];
    let edges = [calls(0, 4), calls(1, 4), calls(1, 5), calls(2, 5), calls(2, 6), calls(3, 6)].concat();
    let query = query(7, &edges, &[], 1_000);
    let (out, back) = (0b0101_0101_0101, 0b1010_1010_1010);
    // In the stream, the first two cores of the query are one, and so are the last two.
    let mut stream = Vec::new();
    for (periphery, place) in (10..13).zip(0_u32..) {
        for (core, offset) in [(1, 0), (2, 2)] {
            stream.push(edge(1 + 4 * place + offset, core, periphery, out));
            stream.push(edge(2 + 4 * place + offset, periphery, core, back));
        }
    }

    let reports = reports(&query, &stream);

    // One of the periphery is enough for a match: a core calls it and is called, and so does the other.
    assert_eq!(reports.last().map(|emitted| emitted.pairs.len()), Some(12 * 6));
}
