//! The engines agree on streams too long and too wide for the oracle: many components that grow, join, fall apart and are
//! verified in part.

use crate::support::driver::{Driver, VARIANTS};
use crate::support::oracle::Edge;
use crate::support::streams::{Random, Record, query};
use graphtide_simulation::{Query, Report, Simulation};

/// Every search ends in one way, and every edge that was taken left in one way or is held.
fn assert_adds_up(simulation: &Simulation, query: &Query) {
    let did = simulation.funnel();
    assert_eq!(did.verifications_due, did.refuted_nearby + did.verified());
    assert_eq!(did.verified(), did.matched + did.unmatched());
    assert!(did.pairs >= did.removed_by_ends + did.removed_by_distinctness + did.removed_by_timing);
    if did.red > 0 {
        assert!(did.searched >= did.red && did.red >= did.early + did.incomplete());
    }
    assert!(did.taken >= simulation.live() as u64 + did.deleted + did.consumed + did.forgotten);
    match query.report {
        Report::Maximal => assert_eq!(did.matched, did.reported),
        Report::Instances => assert_eq!((did.matched, did.remainders), (did.reported, 0)),
        Report::Changes => assert!(did.reported >= did.matched && did.matched > 0 || did.reported == 0),
    }
}

#[test]
fn engines_agree_on_wide_streams() {
    let mut reported = 0;
    for seed in 0..25 {
        for report in [Report::Maximal, Report::Instances, Report::Changes] {
            let mut random = Random(seed);
            let mut query = query(&mut random, report);
            query.window = 20 + random.ticks(200);
            let kinds: Vec<u32> = query.edges.iter().map(|edge| edge.kind).collect();
            let mut drivers = VARIANTS.map(|variant| Driver::new(&query, variant));
            let vertices = 10 + random.below(60);
            for id in 0..500_u32 {
                let kind = kinds[random.below(kinds.len() as u64) as usize];
                let fits = (0..kinds.len()).filter(|&edge| kinds[edge] == kind).fold(0, |set, edge| set | 1 << edge);
                let (source, target) = (random.below(vertices) as u32, random.below(vertices) as u32);
                let ts = i64::from(id / 2);
                let record = if random.chance(15) && id > 0 {
                    Record::Delete(id - 1 - random.below(id.min(60).into()) as u32, ts)
                } else {
                    Record::Insert(Edge { id, ts, at: ts, source, target, fits })
                };
                let [baseline, signature, coloring] = drivers.each_mut().map(|driver| driver.push(&record));
                assert_eq!(baseline, signature, "signature, {report:?}, seed {seed}, edge {id}");
                assert_eq!(baseline, coloring, "coloring, {report:?}, seed {seed}, edge {id}");
                reported += baseline.len();
            }
            for driver in &drivers {
                assert_adds_up(&driver.simulation, &query);
            }
        }
    }
    assert!(reported > 4_000, "only {reported} components were reported");
}
