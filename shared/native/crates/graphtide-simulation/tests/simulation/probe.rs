//! A benchmark that looks on sees what verification takes, and changes no report.

use crate::support::driver::{Driver, variants};
use crate::support::streams::{Random, query, stream};
use graphtide_simulation::{Probe, Report};

#[test]
fn what_is_known_may_be_computed_anew_for_every_edge() {
    let (mut emitted, mut verifying) = (0, 0);
    for seed in 0..60 {
        for report in [Report::Maximal, Report::Instances, Report::Changes] {
            let mut random = Random(seed);
            let query = query(&mut random, report);
            let stream = stream(&mut random, &query, 80);
            for variant in variants(seed) {
                let [mut watched, mut alone] = [(); 2].map(|()| Driver::new(&query, variant));
                watched.simulation.set_probe(Probe { clock: || 1, is_from_scratch: true });
                for record in &stream {
                    let reports = watched.push(record);
                    assert_eq!(reports, alone.push(record), "{variant:?}, {report:?}, seed {seed}");
                    emitted += reports.len();
                }
                let funnel = watched.simulation.funnel();
                assert!(funnel.verifying_steps <= funnel.steps);
                assert_eq!(funnel.verifying_nanoseconds, 0, "the clock stands still");
                verifying += funnel.verifying_steps;
            }
        }
    }
    assert!(emitted > 500 && verifying > 0, "{emitted} reports, {verifying} steps");
}
