//! What an engine holds and lets go over its life: windows, deletions, limits, consumption, replays.

use crate::support::driver::{Driver, VARIANTS};
use crate::support::oracle::{Edge, Emitted};
use crate::support::streams::{Random, Record, query, stream};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use graphtide_simulation::found::Kind;
use graphtide_simulation::{
    Arrival, ConsumptionCursor, Course, Found, Limits, Outcome, Query, QueryEdge, QueryError, Report, Simulation, Variant,
};

/// The path a -> b -> c by edges of two kinds.
fn path(window: i64, report: Report) -> Query {
    let edge = |source, kind| QueryEdge { source, target: source + 1, kind };
    Query { vertices: 3, edges: vec![edge(0, 0), edge(1, 1)], before: vec![(0, 1)], window, report }
}

fn edge(id: u32, ts: i64, source: u32, target: u32, fits: u64) -> Edge {
    Edge { id, ts, at: ts, source, target, fits }
}

fn arrival(edge: Edge) -> Arrival {
    let Edge { id, ts, at, source, target, fits } = edge;
    Arrival { edge: EdgeRef(id), ts, at, source: Vertex(source), target: Vertex(target), fits }
}

fn insert(simulation: &mut Simulation, edge: Edge) -> Outcome {
    simulation.insert(&arrival(edge), &mut Found::default(), &mut Meter::unbounded(&Unhurried))
}

#[test]
fn an_edge_is_alive_until_the_bound_and_at_it() {
    for variant in VARIANTS {
        let mut simulation = Simulation::new(&path(10, Report::Maximal), variant, Limits::default()).unwrap();
        insert(&mut simulation, edge(0, 5, 1, 2, 0b01));
        assert_eq!(insert(&mut simulation, edge(1, 15, 2, 3, 0b10)), Outcome::Matched);
        assert_eq!(insert(&mut simulation, edge(2, 16, 2, 3, 0b10)), Outcome::Kept);
        assert_eq!((simulation.live(), simulation.peak()), (2, 2));
    }
}

#[test]
fn a_changed_component_is_reported_at_each_bound() {
    for variant in VARIANTS {
        let mut driver = Driver::new(&path(10, Report::Changes), variant);
        let emitted = |kind, detected_at, id, pairs: &[(u8, u32)]| Emitted {
            kind,
            detected_at,
            id,
            pairs: pairs.to_vec(),
            former: vec![],
        };
        driver.insert(&edge(0, 5, 1, 2, 0b01));
        assert_eq!(driver.insert(&edge(1, 6, 2, 3, 0b10)), [emitted(Kind::Match, 6, 0, &[(0, 0), (1, 1)])]);
        assert_eq!(driver.insert(&edge(2, 7, 2, 3, 0b10)), [emitted(Kind::Extend, 7, 0, &[(1, 2)])]);
        assert_eq!(driver.simulation.next_expiry(), Some(16));
        assert_eq!(driver.advance(15, 15), []);
        assert_eq!(driver.advance(16, 15), [emitted(Kind::Retract, 15, 0, &[(0, 0), (1, 1), (1, 2)])]);
    }
}

#[test]
fn components_that_merge_and_split_name_each_other() {
    for variant in VARIANTS {
        let mut driver = Driver::new(&path(100, Report::Changes), variant);
        let emitted = |kind, detected_at, id, pairs: &[(u8, u32)], former: &[u32]| Emitted {
            kind,
            detected_at,
            id,
            pairs: pairs.to_vec(),
            former: former.to_vec(),
        };
        driver.insert(&edge(0, 1, 11, 12, 0b01));
        driver.insert(&edge(1, 2, 12, 13, 0b10));
        driver.insert(&edge(2, 3, 21, 22, 0b01));
        assert_eq!(driver.insert(&edge(3, 4, 22, 23, 0b10)), [emitted(Kind::Match, 4, 2, &[(0, 2), (1, 3)], &[])]);

        assert_eq!(driver.insert(&edge(4, 5, 12, 22, 0b10)), [emitted(Kind::Extend, 5, 0, &[(1, 4)], &[2])]);
        let split = [emitted(Kind::Retract, 5, 0, &[(1, 4)], &[]), emitted(Kind::Match, 5, 2, &[(0, 2), (1, 3)], &[0])];
        assert_eq!(driver.delete(4, 5), split);

        // A component that loses its oldest edge is called after the next; an edge that came too early goes along.
        driver.insert(&edge(5, 6, 24, 22, 0b01));
        assert_eq!(driver.insert(&edge(6, 7, 22, 23, 0b10)), [emitted(Kind::Extend, 7, 2, &[(0, 5), (1, 6)], &[])]);
        assert_eq!(driver.delete(2, 8), [emitted(Kind::Retract, 8, 5, &[(0, 2), (1, 3)], &[2])]);
        assert_eq!(driver.delete(5, 9), [emitted(Kind::Retract, 9, 5, &[(0, 5), (1, 6)], &[])]);
    }
}

#[test]
fn a_limit_refuses_edges_until_others_leave() {
    for variant in VARIANTS {
        let limits = Limits { edges: Some(1), bytes: None };
        let mut simulation = Simulation::new(&path(10, Report::Maximal), variant, limits).unwrap();
        assert_eq!(insert(&mut simulation, edge(0, 0, 1, 2, 0b01)), Outcome::Kept);
        assert_eq!(insert(&mut simulation, edge(1, 1, 2, 3, 0b10)), Outcome::Limited(limits));
        assert_eq!(insert(&mut simulation, edge(2, 11, 2, 3, 0b10)), Outcome::Kept);

        let limits = Limits { edges: None, bytes: Some(1) };
        let mut simulation = Simulation::new(&path(10, Report::Maximal), variant, limits).unwrap();
        assert_eq!(insert(&mut simulation, edge(0, 0, 1, 2, 0b01)), Outcome::Kept);
        assert_eq!(insert(&mut simulation, edge(1, 1, 2, 3, 0b10)), Outcome::Limited(limits));
    }
}

#[test]
fn an_engine_that_was_cleared_is_as_new() {
    for report in [Report::Maximal, Report::Instances, Report::Changes] {
        for seed in 0..20 {
            let mut random = Random(seed);
            let query = query(&mut random, report);
            let stream = stream(&mut random, &query, 40);
            for variant in VARIANTS {
                let mut used = Driver::new(&query, variant);
                let first: Vec<_> = stream.iter().map(|record| used.push(record)).collect();
                used.simulation.clear();
                assert_eq!((used.simulation.live(), used.simulation.bytes(), used.simulation.cursor()), (0, 0, None));
                let again: Vec<_> = stream.iter().map(|record| used.push(record)).collect();
                assert_eq!(first, again, "{variant:?}, {report:?}, seed {seed}");
            }
        }
    }
}

/// An instance is reported once in a life: with the cursor, the edges of a window are all there is to know.
#[test]
fn a_query_that_is_restored_goes_on_as_if_it_had_never_stopped() {
    replay(Report::Instances, Course::Restoring, 300);
    replay(Report::Maximal, Course::Restoring, 100);
    replay(Report::Changes, Course::Restoring, 100);
}

#[test]
fn a_query_that_was_warmed_goes_on_as_if_it_had_been_there() {
    replay(Report::Instances, Course::Warming, 300);
    replay(Report::Maximal, Course::Warming, 100);
    replay(Report::Changes, Course::Warming, 100);
}

fn replay(report: Report, course: Course, seeds: u64) {
    for seed in 0..seeds {
        let mut random = Random(seed);
        let query = query(&mut random, report);
        let stream = stream(&mut random, &query, 60);
        let (past, future) = stream.split_at(20 + random.below(30) as usize);
        for variant in VARIANTS {
            let (mut whole, mut replayed) = (Driver::new(&query, variant), Driver::new(&query, variant));
            for record in past {
                whole.push(record);
            }
            if course == Course::Restoring {
                replayed.simulation.set_cursor(whole.simulation.cursor());
            }
            replayed.simulation.set_course(course);
            for record in past {
                assert_eq!(replayed.push(record), []);
            }
            replayed.simulation.set_course(Course::Live);
            for record in future {
                assert_eq!(replayed.push(record), whole.push(record), "{variant:?}, {report:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_cursor_separates_ties() {
    for variant in VARIANTS {
        let mut simulation = Simulation::new(&path(10, Report::Instances), variant, Limits::default()).unwrap();
        let stream = [edge(0, 4, 1, 2, 0b01), edge(1, 4, 1, 2, 0b01), edge(2, 5, 2, 3, 0b10), edge(3, 5, 2, 3, 0b10)];
        for edge in &stream[..3] {
            insert(&mut simulation, *edge);
        }
        assert_eq!(simulation.cursor(), Some(ConsumptionCursor { at: 4, ties: 1 }));
        assert!(!simulation.holds(EdgeRef(0)) && simulation.holds(EdgeRef(1)));

        let mut again = Simulation::new(&path(10, Report::Instances), variant, Limits::default()).unwrap();
        again.set_cursor(simulation.cursor());
        let outcomes = stream.map(|edge| insert(&mut again, edge));
        assert_eq!(outcomes, [Outcome::Consumed, Outcome::Kept, Outcome::Matched, Outcome::Kept]);
    }
}

#[test]
fn what_is_held_does_not_grow_with_the_stream() {
    for report in [Report::Maximal, Report::Instances, Report::Changes] {
        for variant in VARIANTS {
            let mut query = query(&mut Random(3), report);
            query.window = 40;
            let mut driver = Driver::new(&query, variant);
            let mut random = Random(17);
            let mut most = [0; 2];
            let records = 20_000;
            for id in 0..records {
                // Every vertex is new after a while.
                let near = |random: &mut Random| id / 50 * 8 + random.below(8) as u32;
                let fits =
                    query.edges.iter().zip(0..).filter(|(edge, _)| edge.kind == id % 3).fold(0, |set, (_, of)| set | 1 << of);
                let (source, target) = (near(&mut random), near(&mut random));
                driver.push(&Record::Insert(edge(id, id.into(), source, target, fits)));
                if id % 7 == 0 && id > 20 {
                    driver.push(&Record::Delete(id - random.below(20) as u32, id.into()));
                }
                let half = usize::from(id >= records / 2);
                most[half] = most[half].max(driver.simulation.bytes());
            }
            assert!(most[1] <= most[0] + most[0] / 10, "{variant:?}, {report:?}: {most:?}");
        }
    }
}

#[test]
fn work_for_an_edge_does_not_grow_with_the_stream_or_the_window() {
    let steps = |window: i64, records: u32| {
        let mut simulation = Simulation::new(&path(window, Report::Maximal), Variant::Coloring, Limits::default()).unwrap();
        let mut random = Random(5);
        for id in 0..records {
            // As many vertices as the window has edges, and one edge of the second kind in a hundred.
            let mut vertex = || random.below(window.cast_unsigned()) as u32;
            let (source, target) = (vertex(), vertex());
            let fits = if id % 100 == 0 { 0b10 } else { 0b01 };
            insert(&mut simulation, edge(id, id.into(), source, target, fits));
        }
        simulation.funnel().steps as f64 / f64::from(records)
    };
    let [short, long, longer] = [steps(100, 20_000), steps(10_000, 20_000), steps(10_000, 60_000)];

    assert!(long < 1.5 * short && longer < 1.5 * short, "{short} {long} {longer} steps an edge");
}

/// Ways from 4i to 4i + 3 by three edges, each joined to the next by one more. Then comes an edge that ends at one of them,
/// after one that nothing leads to.
#[test]
fn an_edge_without_a_match_is_refuted_nearby_however_large_its_component_is() {
    let edges = (0..3).map(|place| QueryEdge { source: place, target: place + 1, kind: place.into() }).collect();
    let query = Query { vertices: 4, edges, before: vec![(0, 1), (1, 2)], window: i64::MAX, report: Report::Maximal };
    let steps = |ways: u32| {
        let mut simulation = Simulation::new(&query, Variant::Coloring, Limits::default()).unwrap();
        simulation.set_course(Course::Restoring);
        let take = |simulation: &mut Simulation, source, target, fits| {
            let id = simulation.live() as u32;
            insert(simulation, edge(id, id.into(), source, target, fits))
        };
        for first in (0..ways).map(|way| 4 * way) {
            for (source, target, fits) in [(0, 1, 0b001), (1, 2, 0b010), (2, 3, 0b100), (2, 7, 0b100)] {
                take(&mut simulation, first + source, first + target, fits);
            }
        }
        simulation.set_course(Course::Live);
        take(&mut simulation, 9_001, 9_000, 0b010);
        let before = simulation.funnel();
        assert_eq!(take(&mut simulation, 9_000, 4 * (ways / 2) + 3, 0b100), Outcome::Kept);
        let after = simulation.funnel();
        assert_eq!(after.refuted_nearby - before.refuted_nearby, 1);
        after.steps - before.steps
    };

    assert_eq!(steps(20), steps(2_000));
}

#[test]
fn a_query_that_cannot_be_run_says_why() {
    let good = path(10, Report::Maximal);
    let error = |query: Query, variant| Simulation::new(&query, variant, Limits::default()).err();
    let with_before = |before: Vec<(u8, u8)>| Query { before, ..good.clone() };
    let edges =
        |count| Query { vertices: 2, edges: vec![QueryEdge { source: 0, target: 1, kind: 0 }; count], ..with_before(vec![]) };

    assert_eq!(error(edges(0), Variant::Coloring), Some(QueryError::NoEdges));
    assert_eq!(error(edges(65), Variant::Coloring), Some(QueryError::TooManyEdges(65)));
    assert_eq!(error(edges(64), Variant::Coloring), None);
    assert_eq!(error(Query { vertices: 2, ..good.clone() }, Variant::Baseline), Some(QueryError::UnknownVertex(1)));
    assert_eq!(error(with_before(vec![(0, 2)]), Variant::Baseline), Some(QueryError::UnknownEdge));
    assert_eq!(error(with_before(vec![(0, 1), (1, 0)]), Variant::Baseline), Some(QueryError::CyclicOrder(0)));
    let signature = |p| Variant::Signature { p, seed: 0 };
    assert_eq!(error(edges(7), signature(7)), Some(QueryError::Modulus { p: 7, degree: 7 }));
    assert_eq!(error(edges(7), signature(9)), Some(QueryError::Modulus { p: 9, degree: 7 }));
    assert_eq!(error(edges(7), signature(11)), None);
}
