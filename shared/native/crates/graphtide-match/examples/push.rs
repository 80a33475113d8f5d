//! Pushes a stream through plans, one after the other: for counting instructions. See `shared/bench/services/instructions.py`.
//!
//! `push STREAM.csv PLANS` reads a plan from each line of `PLANS`: its name, a tab, JSON. It prints names, calls and matches.

use std::error::Error;
use std::io::Write as _;
use std::time::Instant;

use graphtide_decode::{CsvDecoder, Decoder as _, Delimiter, Dialect, Options};
use graphtide_engine::meter::{Meter, Pace};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;
use graphtide_match::matcher::{Matcher, Options as MatchOptions};
use graphtide_match::plan::MatcherSpec;

const BLOCK: usize = 1 << 18;
const MOST: usize = 65_536;

/// Reads the clock, as the pace of a slice does, and never ends.
struct Watch(Instant);

impl Pace for Watch {
    fn rest(&self) -> bool {
        self.0.elapsed().as_secs() < u64::MAX
    }
}

/// What is counted.
#[inline(never)]
fn push_batch(matcher: &mut Matcher, batch: &EdgeBatch) -> usize {
    let (mut start, mut found) = (0, 0);
    while start < batch.len() {
        let watch = Watch(Instant::now());
        let progress = matcher.push(batch, start, MOST, &mut Meter::unbounded(&watch));
        start += progress.consumed;
        found += progress.matches.len();
    }
    found
}

fn main() -> Result<(), Box<dyn Error>> {
    let [stream, plans] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "STREAM PLANS")?;
    let symbols = SharedSymbols::default();
    let mut decoder = CsvDecoder::new(Options::default(), Dialect::new(Delimiter::Byte(b',')), symbols.clone());
    let (mut batches, mut dead) = (Vec::new(), Vec::new());
    for block in std::fs::read(stream)?.chunks(BLOCK) {
        let mut batch = EdgeBatch::new(0);
        decoder.feed(block, &mut batch, &mut dead)?;
        batches.push(batch);
    }
    for line in std::fs::read_to_string(plans)?.lines() {
        let (name, spec) = line.split_once('\t').ok_or("a plan without a name")?;
        let spec: MatcherSpec = serde_json::from_str(spec)?;
        let mut pass = Matcher::new(spec, &symbols, MatchOptions::default())?;
        let started = Instant::now();
        let matches: usize = batches.iter().map(|batch| push_batch(&mut pass, batch)).sum();
        writeln!(std::io::stdout(), "{name}\t{}\t{matches}\t{}", batches.len(), started.elapsed().as_secs_f64())?;
    }
    Ok(())
}
