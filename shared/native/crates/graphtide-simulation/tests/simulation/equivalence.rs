//! All engines report what the definition says, after every record of random streams, under every policy.
//!
//! `GRAPHTIDE_SEEDS` sets how many streams are tried for each policy.

use crate::support::driver::{Driver, variants};
use crate::support::oracle::Oracle;
use crate::support::streams::{Random, Record, query, stream};
use graphtide_simulation::Report;

fn seeds() -> u64 {
    std::env::var("GRAPHTIDE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(400)
}

fn compare(report: Report) {
    let mut reported = 0;
    for seed in 0..seeds() {
        let mut random = Random(seed);
        let query = query(&mut random, report);
        let stream = stream(&mut random, &query, 60);
        let mut oracle = Oracle::new(query.clone());
        let mut drivers = variants(seed).map(|variant| Driver::new(&query, variant));
        for (place, record) in stream.iter().enumerate() {
            let expected = match record {
                Record::Insert(edge) => oracle.insert(*edge),
                Record::Delete(id, ts) => oracle.delete(*id, *ts),
                Record::Advance(at) => oracle.advance(*at, *at),
            };
            reported += expected.len();
            for (driver, variant) in drivers.iter_mut().zip(variants(seed)) {
                let emitted = driver.push(record);
                assert_eq!(emitted, expected, "{variant:?}, seed {seed}, record {place} {record:?}, {query:?}");
                assert_eq!(driver.simulation.live(), oracle.live(), "{variant:?}, seed {seed}, record {place}");
            }
        }
    }
    assert!(reported as u64 > seeds(), "only {reported} components were reported");
}

#[test]
fn maximal_components_are_those_of_the_definition() {
    compare(Report::Maximal);
}

#[test]
fn instances_are_those_of_the_definition() {
    compare(Report::Instances);
}

#[test]
fn changes_are_those_of_the_definition() {
    compare(Report::Changes);
}
