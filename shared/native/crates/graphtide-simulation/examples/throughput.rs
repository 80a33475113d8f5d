//! Times the three engines on synthetic streams of a road network, against the length of the window. Where the window is short,
//! it also times the oracle of the tests.
//!
//! Roads form a grid; a report says whether a road is congested. The query is that of the paper's Fig. 1: a congested road, and
//! two ways of two roads each along which the congestion spreads. Counts of reports include those that fit no query edge, which
//! no engine is handed. Run with `cargo run --release -p graphtide-simulation --example throughput [PART OF A NAME [ENGINE]]`.

use std::io::{Result, Write, stdout};
use std::time::{Duration, Instant};

use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;
use graphtide_simulation::{Arrival, Course, Found, Funnel, Limits, Query, QueryEdge, QueryError, Report, Simulation, Variant};

#[path = "../tests/simulation/support/oracle.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "it is a part of the tests")]
mod oracle;

/// Longest window in which the oracle is timed: its cost grows with the third power and more.
const SHORT: i64 = 1_000;

/// Longest time for which one engine is timed on one stream.
const PATIENCE: Duration = Duration::from_secs(3);

/// A stream, and what is asked of it.
struct Scenario {
    name: &'static str,
    /// Vertices along each side of the grid.
    side: u32,
    /// Reports out of 1,000 that say congested.
    congested: u64,
    /// Congested reports out of 1,000 on a road that begins a spread, where the query asks for one; all, if 0.
    beginnings: u64,
    report: Report,
    windows: &'static [i64],
}

const SCENARIOS: [Scenario; 5] = [
    Scenario {
        name: "none completes",
        side: 200,
        congested: 250,
        beginnings: 1,
        report: Report::Maximal,
        windows: &[1_000, 10_000, 100_000],
    },
    Scenario {
        name: "few complete",
        side: 60,
        congested: 30,
        beginnings: 0,
        report: Report::Maximal,
        windows: &[1_000, 10_000, 30_000],
    },
    Scenario {
        name: "instances",
        side: 10,
        congested: 150,
        beginnings: 0,
        report: Report::Instances,
        windows: &[600, 2_400, 14_400],
    },
    Scenario {
        name: "many instances",
        side: 6,
        congested: 250,
        beginnings: 0,
        report: Report::Instances,
        windows: &[600, 2_400, 14_400],
    },
    Scenario {
        name: "all complete",
        side: 30,
        congested: 1_000,
        beginnings: 0,
        report: Report::Maximal,
        windows: &[1_000, 10_000],
    },
];

/// The generator `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound
    }
}

/// The query of Fig. 1; AB is of a kind of its own where beginnings of spreads are rare.
fn query(scenario: &Scenario, window: i64) -> Query {
    let kind = u32::from(scenario.beginnings > 0);
    let road = |source, target, kind| QueryEdge { source, target, kind };
    Query {
        vertices: 6,
        edges: vec![road(0, 1, 0), road(2, 0, kind), road(3, 2, kind), road(4, 0, kind), road(5, 4, kind)],
        before: vec![(0, 1), (1, 2), (0, 3), (3, 4)],
        window,
        report: scenario.report,
    }
}

/// The reports of a stream: those that fit nothing have no arrival.
fn stream(scenario: &Scenario, length: u32) -> Vec<Option<Arrival>> {
    let mut random = Random(7);
    (0..length)
        .map(|edge| {
            let side = u64::from(scenario.side);
            let (x, y) = (random.below(side) as u32, random.below(side) as u32);
            let (dx, dy) = [(1, 0), (0, 1), (scenario.side - 1, 0), (0, scenario.side - 1)][random.below(4) as usize];
            let vertex = |x: u32, y: u32| Vertex(y % scenario.side * scenario.side + x % scenario.side);
            let at = i64::from(edge);
            let fits = match (random.below(1_000) < scenario.congested, scenario.beginnings) {
                (false, _) => return None,
                (true, 0) => 0b11111,
                (true, beginnings) if random.below(1_000) < beginnings => 0b00001,
                (true, _) => 0b11110,
            };
            let (source, target) = (vertex(x, y), vertex(x + dx, y + dy));
            Some(Arrival { edge: EdgeRef(edge), ts: at, at, source, target, fits })
        })
        .collect()
}

/// What an engine did, in which time, for how many reports.
struct Timed {
    read: usize,
    time: Duration,
    before: Funnel,
    after: Funnel,
}

impl Timed {
    /// How much of a count there was for so many reports.
    fn of(&self, count: impl Fn(&Funnel) -> u64, per: f64) -> f64 {
        (count(&self.after) - count(&self.before)) as f64 * per / self.read as f64
    }
}

/// Fills the window of an engine, and times it on what follows.
fn run(query: &Query, variant: Variant, stream: &[Option<Arrival>]) -> std::result::Result<Timed, QueryError> {
    let mut simulation = Simulation::new(query, variant, Limits::default())?;
    let (mut found, mut meter) = (Found::default(), Meter::unbounded(&Unhurried));
    let (past, future) = stream.split_at(query.window.unsigned_abs() as usize);
    simulation.set_course(match query.report {
        Report::Maximal | Report::Changes => Course::Restoring,
        Report::Instances => Course::Warming,
    });
    for arrival in past.iter().flatten() {
        simulation.insert(arrival, &mut found, &mut meter);
    }
    simulation.set_course(Course::Live);
    let (before, start) = (simulation.funnel(), Instant::now());
    let mut read = 0;
    for batch in future.chunks(256) {
        for arrival in batch.iter().flatten() {
            found.clear();
            simulation.insert(arrival, &mut found, &mut meter);
        }
        read += batch.len();
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    Ok(Timed { read, time: start.elapsed(), before, after: simulation.funnel() })
}

/// Fills the window of the oracle, and times it on what follows; returns the reports read, the components found, and the time.
fn run_oracle(query: &Query, stream: &[Option<Arrival>]) -> (usize, u64, Duration) {
    let edge = |arrival: &Arrival| oracle::Edge {
        id: arrival.edge.0,
        ts: arrival.ts,
        at: arrival.at,
        source: arrival.source.0,
        target: arrival.target.0,
        fits: arrival.fits,
    };
    let mut oracle = oracle::Oracle::new(query.clone());
    let (past, future) = stream.split_at(query.window.unsigned_abs() as usize);
    oracle.fill(past.iter().flatten().map(edge));
    let (start, mut read, mut matches) = (Instant::now(), 0, 0);
    for arrival in future {
        read += 1;
        matches += arrival.as_ref().map_or(0, |arrival| oracle.insert(edge(arrival)).len() as u64);
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    (read, matches, start.elapsed())
}

fn main() -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "stream          window  engine       edges/s   matches/10k  black %  red %  verified/10k  steps/edge")?;
    let mut asked = std::env::args().skip(1);
    let (part, only) = (asked.next().unwrap_or_default(), asked.next());
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.contains(&part)) {
        let stream = stream(scenario, 1_000_000);
        for &window in scenario.windows {
            let query = query(scenario, window);
            if window <= SHORT && only.as_deref().is_none_or(|only| only == "oracle") {
                let (read, matches, time) = run_oracle(&query, &stream);
                let (rate, density) = (read as f64 / time.as_secs_f64(), matches as f64 * 10_000.0 / read as f64);
                writeln!(out, "{:14} {window:7}  oracle    {rate:10.0} {density:13.1}", scenario.name)?;
            }
            let variants = [
                ("baseline", Variant::Baseline),
                ("signature", Variant::Signature { p: 997, seed: 1 }),
                ("coloring", Variant::Coloring),
            ];
            for (name, variant) in variants.into_iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
                let timed = run(&query, variant, &stream).map_err(std::io::Error::other)?;
                writeln!(
                    out,
                    "{:14} {window:7}  {name:9} {:10.0} {:13.1} {:8.1} {:6.1} {:13.1} {:11.1}",
                    scenario.name,
                    timed.read as f64 / timed.time.as_secs_f64(),
                    timed.of(|funnel| funnel.reported, 10_000.0),
                    timed.of(|funnel| funnel.taken, 100.0),
                    timed.of(|funnel| funnel.red, 100.0),
                    timed.of(|funnel| funnel.verifications_run, 10_000.0),
                    timed.of(|funnel| funnel.steps, 1.0),
                )?;
            }
        }
    }
    Ok(())
}
