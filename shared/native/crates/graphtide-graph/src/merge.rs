//! Merges streams: batches of several that are in order of time become one, whose records know their streams.
//!
//! Invariant: merged records are ascending in `(ts, stream, arrival)`, and do not depend on how records were grouped into
//! batches.
//! Cost: a comparison for each stream a record, and a copy of it.

use crate::Time;
use crate::batch::{EdgeBatch, Row};
use crate::symbol::Symbol;

/// What is at hand of a stream: records from a place of a batch on.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The records, in order of time.
    pub batch: &'a EdgeBatch,
    /// The first that was not merged yet.
    pub start: usize,
    /// Records of this time and later stay, though they are at hand; none stay if there is no such time.
    pub before: Option<Time>,
    /// The stream.
    pub stream: Symbol,
}

/// Merges what is at hand of streams, in the order of their names, up to the end of the first that has no more. What comes next
/// of it may be earlier than what is left of the others. A stream whose records stay does not end it. Attributes that a stream
/// lacks are missing. Returns the records, and for each stream the first that was not merged.
pub fn merge(heads: &[Head<'_>], width: usize) -> (EdgeBatch, Vec<usize>) {
    let mut merged = EdgeBatch::new(width);
    let mut places: Vec<usize> = heads.iter().map(|head| head.start).collect();
    let goes = |head: &Head<'_>, ts: Time| head.before.is_none_or(|before| ts < before);
    let ends: Vec<usize> = heads.iter().map(|head| head.batch.ts().partition_point(|&ts| goes(head, ts))).collect();
    while heads.iter().zip(&places).all(|(head, &place)| place < head.batch.len()) {
        let at_hand = heads.iter().zip(&places).zip(&ends).enumerate().filter(|(_, ((_, place), end))| place < end);
        // Of equal times the first: `min_by_key` returns the earliest of several.
        let first = at_hand.min_by_key(|(_, ((head, place), _))| head.batch.ts()[**place]);
        let Some((number, ((head, &place), _))) = first else { break };
        let row = Row { stream: head.stream, raw: b"", ..head.batch.row(place) };
        merged.push(&row, head.batch.attributes(place));
        places[number] += 1;
    }
    (merged, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Operation;
    use crate::key::{IdRef, KeyRef};

    fn batch(times: &[i64]) -> EdgeBatch {
        let mut batch = EdgeBatch::new(0);
        for (ordinal, &ts) in (0..).zip(times) {
            let row = Row {
                ordinal,
                line: ordinal + 1,
                ts,
                operation: Operation::Insert,
                source: KeyRef::parse("a"),
                target: KeyRef::parse("b"),
                label: Symbol(9),
                source_label: Symbol::ABSENT,
                target_label: Symbol::ABSENT,
                stream: Symbol::ABSENT,
                id: IdRef::Made(ordinal),
                raw: b"raw",
            };
            batch.push(&row, []);
        }
        batch
    }

    #[test]
    fn records_are_in_order_of_time_then_stream_then_arrival_up_to_the_end_of_one_stream() {
        let (one, other) = (batch(&[1, 3, 3, 7]), batch(&[0, 3, 4]));
        let first = Head { batch: &one, start: 0, before: None, stream: Symbol(2) };
        let heads = [first, Head { batch: &other, stream: Symbol(3), ..first }];
        let (merged, places) = merge(&heads, 0);
        let found: Vec<_> =
            (0..merged.len()).map(|row| (merged.ts()[row], merged.stream(row).0, merged.ordinal(row))).collect();
        assert_eq!(found, [(0, 3, 0), (1, 2, 0), (3, 2, 1), (3, 2, 2), (3, 3, 1), (4, 3, 2)]);
        assert_eq!(places, [3, 3]);
        assert!(merge(&[Head { start: 3, ..heads[1] }], 0).0.is_empty());
    }

    #[test]
    fn a_stream_whose_records_stay_lets_those_of_others_go() {
        let (one, other) = (batch(&[1, 3, 3, 7]), batch(&[0, 3, 4, 5]));
        let first = Head { batch: &one, start: 0, before: Some(3), stream: Symbol(2) };
        let (merged, places) = merge(&[first, Head { batch: &other, before: Some(5), stream: Symbol(3), ..first }], 0);
        assert_eq!((merged.ts(), places), ([0, 1, 3, 4].as_slice(), vec![1, 3]));
    }
}
