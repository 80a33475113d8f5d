//! Work that is refused costs reports, and nothing else: what is reported afterwards is still what the definition says.

use std::collections::BTreeSet;

use crate::support::driver::{Driver, VARIANTS};
use crate::support::oracle::{Oracle, Pair};
use crate::support::streams::{Random, Record, query, stream};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_simulation::Report;
use graphtide_simulation::found::Kind;

#[test]
fn after_a_cut_components_are_those_of_the_definition() {
    let (mut cut, mut reported) = (0, 0);
    for seed in 0..150 {
        let mut random = Random(seed);
        let query = query(&mut random, Report::Maximal);
        let stream = stream(&mut random, &query, 60);
        for variant in VARIANTS {
            let mut oracle = Oracle::new(query.clone());
            let mut driver = Driver::new(&query, variant);
            for record in &stream {
                match record {
                    Record::Insert(edge) => {
                        let expected = oracle.insert(*edge);
                        let mut meter = Meter::unbounded(&Unhurried);
                        meter.begin(random.below(60));
                        let (_, emitted) = driver.insert_with(edge, &mut meter);
                        if meter.end().is_some() {
                            cut += 1;
                            assert!(emitted.is_empty() || emitted == expected, "{variant:?}, seed {seed}");
                        } else {
                            reported += emitted.len();
                            assert_eq!(emitted, expected, "{variant:?}, seed {seed}");
                        }
                    }
                    Record::Delete(id, ts) => assert_eq!(driver.delete(*id, *ts), oracle.delete(*id, *ts)),
                    Record::Advance(at) => assert_eq!(driver.advance(*at, *at), oracle.advance(*at, *at)),
                }
            }
        }
    }
    assert!(cut > 500 && reported > 500, "{cut} were cut, {reported} reported");
}

/// The difference of what is reported to be in the match graph and what is. A cut may keep pairs out of it, and never in it.
#[test]
fn after_a_cut_changes_lead_to_no_more_than_the_match_graph() {
    let mut cut = 0;
    for seed in 0..150 {
        let mut random = Random(seed);
        let query = query(&mut random, Report::Changes);
        let stream = stream(&mut random, &query, 60);
        for variant in VARIANTS {
            let mut oracle = Oracle::new(query.clone());
            let mut driver = Driver::new(&query, variant);
            let mut there: BTreeSet<Pair> = BTreeSet::new();
            let mut true_pairs: BTreeSet<Pair> = BTreeSet::new();
            for record in &stream {
                let (emitted, expected) = match record {
                    Record::Insert(edge) => {
                        let mut meter = Meter::unbounded(&Unhurried);
                        meter.begin(random.below(60));
                        let (_, emitted) = driver.insert_with(edge, &mut meter);
                        cut += u32::from(meter.end().is_some());
                        (emitted, oracle.insert(*edge))
                    }
                    Record::Delete(id, ts) => (driver.delete(*id, *ts), oracle.delete(*id, *ts)),
                    Record::Advance(at) => (driver.advance(*at, *at), oracle.advance(*at, *at)),
                };
                for (pairs, changes) in [(&mut there, emitted), (&mut true_pairs, expected)] {
                    for change in changes {
                        match change.kind {
                            // A part that split off is reported whole, without anything new.
                            Kind::Match if !change.former.is_empty() => {
                                assert!(change.pairs.iter().all(|pair| pairs.contains(pair)), "{variant:?}, seed {seed}");
                            }
                            Kind::Match | Kind::Extend => {
                                assert!(change.pairs.iter().all(|pair| pairs.insert(*pair)), "{variant:?}, seed {seed}");
                            }
                            Kind::Retract => {
                                assert!(change.pairs.iter().all(|pair| pairs.remove(pair)), "{variant:?}, seed {seed}");
                            }
                            Kind::Timeout => panic!("a component has no end that it waits for"),
                        }
                    }
                }
                assert!(there.is_subset(&true_pairs), "{variant:?}, seed {seed}");
            }
        }
    }
    assert!(cut > 500, "{cut} were cut");
}
