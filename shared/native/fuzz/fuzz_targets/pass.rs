//! A pass of all four families takes any sequence of damaged Arrow bodies: it returns, within work that its limits bound.
//!
//! An input is bodies. Each is records whose times rise or fall, also at the ends of their range. Others are bytes that are
//! changed in what Arrow made of them. A body that cannot be read is left out, as a host leaves it out. What never returns, the
//! time limit of the fuzzer finds; a pass that gives nothing up, and works on, the count of steps.

#![no_main]

use std::fmt::Write as _;
use std::sync::{Once, OnceLock};

use graphtide_decode::{ArrowDecoder, Decoder, JsonLinesDecoder, Options, arrow_writer};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;
use graphtide_match::matcher::{Matcher, Options as MatchOptions};
use graphtide_match::plan::MatcherSpec;
use libfuzzer_sys::fuzz_target;

/// Plans of all families, written by `graphtide_native.spec.encode`.
const PLANS: &[u8] = include_bytes!("families.json");

/// Bodies of an input, records of a body and changes of a body.
const MOST: (usize, usize, usize) = (32, 6, 4);

/// Steps that an input may take: the limits of its plans, many times over.
const MOST_STEPS: u64 = 1 << 30;

static QUIET: Once = Once::new();
static SPEC: OnceLock<serde_json::Value> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    // The fuzzer's hook ends the process at a panic, also at one that the decoder catches; a pass has to end it.
    QUIET.call_once(|| {
        let abort = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|at| at.file().contains("arrow-")) {
                abort(panic);
            }
        }));
    });
    let spec = SPEC.get_or_init(|| serde_json::from_slice(PLANS).expect("the plans are JSON"));
    let spec: MatcherSpec = serde_json::from_value(spec.clone()).expect("the plans are plans");
    let symbols = SharedSymbols::default();
    let options = MatchOptions { deletions: true, ..MatchOptions::default() };
    let mut pass = Matcher::new(spec, &symbols, options).expect("the plans are valid");
    let (mut input, mut now, mut number, mut steps) = (input, 0i64, 0, 0);
    for _ in 0..MOST.0 {
        let Some(body) = body(&mut input, &mut now, &mut number, &symbols) else { break };
        let (mut batch, mut dead) = (EdgeBatch::new(0), Vec::new());
        let mut decoder = ArrowDecoder::new(Options::default(), 1000, symbols.clone()).expect("a second has ticks");
        if decoder.feed(&body, &mut batch, &mut dead).is_err() {
            continue;
        }
        let mut start = 0;
        while start < batch.len() {
            let progress = pass.push(&batch, start, 1_000, &mut Meter::new(&Unhurried, MOST_STEPS));
            assert!(progress.ended.is_none() && progress.consumed > 0, "a body takes more work than its limits allow");
            (start, steps) = (start + progress.consumed, steps + progress.work);
        }
    }
    steps += pass.finish(&mut Meter::new(&Unhurried, MOST_STEPS)).work;
    assert!(steps < MOST_STEPS);
});

/// Takes the bytes of a body off the input.
fn body(input: &mut &[u8], now: &mut i64, number: &mut u64, symbols: &SharedSymbols) -> Option<Vec<u8>> {
    let (&[head, changes], rest) = input.split_first_chunk::<2>()?;
    *input = rest;
    let mut lines = String::new();
    for _ in 0..=usize::from(head) % MOST.1 {
        let Some((&[step, ends, kind], rest)) = input.split_first_chunk::<3>() else { break };
        *input = rest;
        *now = match step {
            250 => i64::MAX,
            251 => i64::MIN,
            252 => now.saturating_sub(1_000),
            253 => now.saturating_add(1 << 62),
            step => now.saturating_add(i64::from(step % 32) - i64::from(step >= 192) * 40),
        };
        let (label, source, target, id) = (["x", "y"][usize::from(kind & 1)], ends & 3, ends >> 4 & 3, *number);
        *number += 1;
        let _ = match kind >> 5 {
            0 => writeln!(lines, r#"{{"ts":{now},"op":"delete","id":"i{}"}}"#, id.saturating_sub(u64::from(ends) % 8)),
            1 => writeln!(lines, r#"{{"ts":{now},"type":"{label}","id":"i{id}"}}"#),
            2 => writeln!(lines, r#"{{"ts":{now},"src":"{source}","dst":"{target}","label":"{label}"}}"#),
            _ => writeln!(lines, r#"{{"ts":{now},"src":"{source}","dst":"{target}","label":"{label}","id":"i{id}"}}"#),
        };
    }
    let (mut batch, mut dead) = (EdgeBatch::new(0), Vec::new());
    let mut decoder = JsonLinesDecoder::new(Options::default(), symbols.clone());
    decoder.feed(lines.as_bytes(), &mut batch, &mut dead).ok()?;
    decoder.finish(&mut batch, &mut dead).ok()?;
    let mut bytes = arrow_writer::write(&batch, &symbols.lock(), &[]).ok()?;
    for _ in 0..usize::from(changes) % (MOST.2 + 1) {
        let Some((&[high, low, change], rest)) = input.split_first_chunk::<3>() else { break };
        *input = rest;
        let place = usize::from(u16::from_be_bytes([high, low])) % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= change;
        }
    }
    Some(bytes)
}
