//! The engines agree on streams too long and too wide for the oracle: many components that grow, join, fall apart and are
//! verified in part.

mod support;

use graphtide_simulation::Report;
use support::driver::{Driver, VARIANTS};
use support::oracle::Edge;
use support::streams::{Random, Record, query};

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
        }
    }
    assert!(reported > 4_000, "only {reported} components were reported");
}
