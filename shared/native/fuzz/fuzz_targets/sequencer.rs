//! The sequencer gives the order and the late records that its definition gives, whatever the times and the batches.

#![no_main]

use std::sync::Arc;

use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation, Row};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::sequencer::Sequencer;
use graphtide_graph::symbol::Symbol;
use libfuzzer_sys::fuzz_target;

type Released = Vec<(Time, u64)>;

/// Records of an input. What the definition takes grows with their square, and few in many inputs show more than many in few.
const MOST: usize = 24;

fuzz_target!(|input: &[u8]| {
    let Some((&[most, step, scale, late], rest)) = input.split_first_chunk::<4>() else { return };
    // Times near each other, near the ends of their range, or anywhere.
    let bytes = rest.iter().take(MOST);
    let times: Vec<Time> = match scale % 4 {
        0 => bytes.map(|byte| Time::from(byte.cast_signed())).collect(),
        1 => bytes.map(|byte| Time::MAX - Time::from(*byte)).collect(),
        2 => bytes.map(|byte| Time::MIN + Time::from(*byte)).collect(),
        _ => rest.as_chunks().0.iter().take(MOST).map(|bytes| Time::from_le_bytes(*bytes)).collect(),
    };
    let lateness = if scale & 4 == 0 { Time::from(late) } else { Time::MAX - Time::from(late) };
    let (most, step) = (usize::from(most), usize::from(step) + 1);
    let expected = defined(&times, lateness, most);
    assert_eq!(sequenced(&times, lateness, most, step), expected);
    assert_eq!(sequenced(&times, lateness, most, 1), expected);
});

/// What is released and what is late, by the definition and with no thought of cost.
fn defined(times: &[Time], lateness: Time, most: usize) -> (Released, Vec<u64>) {
    let (mut waiting, mut released, mut late) = (Vec::new(), Vec::new(), Vec::new());
    let (mut newest, mut floor) = (i128::MIN, i128::MIN);
    for (ordinal, &ts) in (0..).zip(times) {
        if i128::from(ts) < floor.max(newest.saturating_sub(lateness.into())) {
            late.push(ordinal);
            continue;
        }
        newest = newest.max(ts.into());
        waiting.push((ts, ordinal));
        waiting.sort_unstable();
        while !waiting.is_empty() {
            let due = i128::from(waiting[0].0) <= newest - i128::from(lateness);
            if !due && waiting.len() <= most {
                break;
            }
            floor = if due { floor } else { floor.max(waiting[0].0.into()) };
            released.push(waiting.remove(0));
        }
    }
    released.extend(waiting);
    (released, late)
}

fn sequenced(times: &[Time], lateness: Time, most: usize, step: usize) -> (Released, Vec<u64>) {
    let rows = |batch: &EdgeBatch| (0..batch.len()).map(|row| (batch.ts()[row], batch.ordinal(row))).collect::<Vec<_>>();
    let mut sequencer = Sequencer::new(lateness, most);
    let (mut released, mut late, mut ordinal) = (Vec::new(), Vec::new(), 0);
    for times in times.chunks(step) {
        let given = Arc::new(batch(ordinal, times));
        let mut found = Vec::new();
        let ordered = sequencer.push(&given, &mut found);
        released.extend(rows(ordered.as_ref().unwrap_or(&given)));
        late.extend(found.iter().map(|late| given.ordinal(late.row)));
        assert!(sequencer.pending() <= most);
        ordinal += times.len() as u64;
    }
    released.extend(rows(&sequencer.finish()));
    (released, late)
}

fn batch(first: u64, times: &[Time]) -> EdgeBatch {
    let mut batch = EdgeBatch::new(0);
    for (ordinal, &ts) in (first..).zip(times) {
        let row = Row {
            ordinal,
            line: ordinal + 1,
            ts,
            operation: Operation::Insert,
            source: KeyRef::Number(1),
            target: KeyRef::Number(2),
            label: Symbol(2),
            source_label: Symbol::ABSENT,
            target_label: Symbol::ABSENT,
            stream: Symbol::ABSENT,
            id: IdRef::Made(ordinal),
            raw: b"",
        };
        batch.push(&row, []);
    }
    batch
}
