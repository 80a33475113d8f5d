//! Puts records in the order `(ts, arrival)`, waiting a bounded time for late ones.
//!
//! The watermark is the greatest `ts` seen less the lateness. A record below the watermark when it arrives is late: it is
//! handed out at once and never sequenced. Every other record is released as soon as the watermark reaches its `ts`; equal
//! times keep the order of arrival. At most `max_pending` records wait. Past that the oldest are released early, and the time
//! released so far takes the watermark's place for what comes after.
//!
//! Invariant: the released records, over all batches, are ascending in `(ts, arrival)`. Neither they nor the late ones depend
//! on how records were grouped into batches. Cost: O(log pending) a record; with lateness 0 nothing waits, and a batch that is
//! in order already passes without a copy.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::Time;
use crate::batch::EdgeBatch;

/// Records that may wait by default.
pub const DEFAULT_MAX_PENDING: usize = 1 << 20;

/// A record that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// Its place in the batch that brought it.
    pub row: usize,
    /// Its time.
    pub ts: Time,
    /// The time below which nothing is accepted any more.
    pub bound: Time,
    /// How late a record may be.
    pub lateness: Time,
    /// Whether the bound is ahead of the watermark, because the buffer was full.
    pub forced: bool,
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ts, bound, lateness, .. } = self;
        if self.forced {
            write!(f, "late: ts {ts} is before {bound}, up to where a full buffer was released early (lateness {lateness})")
        } else {
            write!(f, "late: ts {ts} is before the watermark {bound} (lateness {lateness})")
        }
    }
}

/// A waiting record: its order, then where it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    ts: Time,
    arrival: u64,
    segment: u64,
    row: u32,
}

/// A batch with records that still wait.
#[derive(Debug)]
struct Segment {
    batch: Option<Arc<EdgeBatch>>,
    waiting: usize,
}

/// The sequencer of one stream.
#[derive(Debug)]
pub struct Sequencer {
    lateness: Time,
    max_pending: usize,
    newest: Option<Time>,
    /// What `newest` counts as at most.
    bound: Option<Time>,
    /// Greatest watermark before the bound was last set.
    reached: Option<Time>,
    /// Last time released where that is ahead of the watermark.
    floor: Option<Time>,
    heap: BinaryHeap<Reverse<Waiting>>,
    segments: VecDeque<Segment>,
    /// Number of the first of `segments`.
    first_segment: u64,
    /// Records in batches that `segments` keeps alive, waiting or not.
    held: usize,
    arrivals: u64,
    width: usize,
    late: u64,
    forced: u64,
}

impl Sequencer {
    /// Makes a sequencer; a negative lateness counts as none.
    pub fn new(lateness: Time, max_pending: usize) -> Self {
        Self {
            lateness: lateness.max(0),
            max_pending,
            newest: None,
            bound: None,
            reached: None,
            floor: None,
            heap: BinaryHeap::new(),
            segments: VecDeque::new(),
            first_segment: 0,
            held: 0,
            arrivals: 0,
            width: 0,
            late: 0,
            forced: 0,
        }
    }

    /// Records that wait.
    pub fn pending(&self) -> usize {
        self.heap.len()
    }

    /// Records that came too late so far.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Records released early so far, because the buffer was full.
    pub fn forced(&self) -> u64 {
        self.forced
    }

    /// Greatest time seen, up to the bound, less the lateness, or what it was set to where that is later. None before the first
    /// record, or if that is below every time.
    pub fn watermark(&self) -> Option<Time> {
        let newest = self.newest.map(|newest| newest.min(self.bound.unwrap_or(Time::MAX)));
        newest.and_then(|newest| newest.checked_sub(self.lateness)).max(self.reached)
    }

    /// Sets the bound, or lifts it, and returns what may be released now.
    pub fn advance(&mut self, bound: Option<Time>) -> EdgeBatch {
        self.reached = self.watermark();
        self.bound = bound;
        let mut released = EdgeBatch::new(self.width);
        self.release_due(&mut released);
        self.free();
        released
    }

    /// Waits from now on for records that are late by so much, and returns what may be released now. The watermark does not go
    /// back: it stays until the greatest time less this lateness is past it.
    pub fn set_lateness(&mut self, lateness: Time) -> EdgeBatch {
        self.reached = self.watermark();
        self.lateness = lateness.max(0);
        let mut released = EdgeBatch::new(self.width);
        self.release_due(&mut released);
        self.free();
        released
    }

    /// Sets the watermark to a time, unless it is past that already, and returns what may be released now.
    pub fn settle(&mut self, watermark: Time) -> EdgeBatch {
        self.reached = self.watermark().max(Some(watermark));
        let mut released = EdgeBatch::new(self.width);
        self.release_due(&mut released);
        self.free();
        released
    }

    /// Takes note that the stream has come to a time by records that are elsewhere, and returns what may be released now.
    pub fn reach(&mut self, ts: Time) -> EdgeBatch {
        self.newest = self.newest.max(Some(ts));
        let mut released = EdgeBatch::new(self.width);
        self.release_due(&mut released);
        self.free();
        released
    }

    /// Sets the watermark as far on as it takes for at most `most` records to wait, and returns what may be released now.
    /// Records of one time are released together, so the watermark says what was released.
    pub fn relieve(&mut self, most: usize) -> EdgeBatch {
        let mut released = EdgeBatch::new(self.width);
        while self.heap.len() > most {
            self.reached = self.watermark().max(self.heap.peek().map(|Reverse(oldest)| oldest.ts));
            self.release_due(&mut released);
        }
        self.free();
        released
    }

    /// Gives the records that wait other columns of attributes, as [`EdgeBatch::laid_out`] does; the next batches have those.
    pub fn lay_out(&mut self, columns: &[Option<usize>]) {
        self.free();
        for segment in &mut self.segments {
            segment.batch = segment.batch.take().map(|batch| Arc::new(batch.laid_out(columns)));
        }
        self.width = columns.len();
    }

    /// Takes a batch, and returns what may be released after each of its records in turn; None if that is the batch as it is.
    pub fn push(&mut self, batch: &Arc<EdgeBatch>, late: &mut Vec<Late>) -> Option<EdgeBatch> {
        self.width = batch.width();
        if self.passes(batch) {
            self.newest = batch.ts().last().copied().or(self.newest);
            return None;
        }
        let mut released = EdgeBatch::new(self.width);
        self.segments.push_back(Segment { batch: Some(Arc::clone(batch)), waiting: 0 });
        self.held += batch.len();
        for row in 0..batch.len() {
            self.take(batch, row, late, &mut released);
        }
        self.forget_first();
        self.compact();
        Some(released)
    }

    /// Releases everything. What comes after must not be earlier.
    pub fn finish(&mut self) -> EdgeBatch {
        let mut released = EdgeBatch::new(self.width);
        while let Some(Reverse(waiting)) = self.heap.pop() {
            self.release(waiting, &mut released);
            self.floor = self.floor.max(Some(waiting.ts));
        }
        self.free();
        released
    }

    /// Whether the batch would come out as it came in.
    fn passes(&self, batch: &EdgeBatch) -> bool {
        let in_order =
            || batch.ts().first().copied() >= self.newest.max(self.floor).max(self.reached) && batch.ts().is_sorted();
        batch.is_empty() || (self.is_immediate() && self.heap.is_empty() && in_order())
    }

    /// Whether the watermark is the greatest time seen, so that no record has to wait.
    fn is_immediate(&self) -> bool {
        self.lateness == 0 && self.bound.is_none()
    }

    fn take(&mut self, batch: &EdgeBatch, row: usize, late: &mut Vec<Late>, released: &mut EdgeBatch) {
        let ts = batch.ts()[row];
        let bound = self.watermark().max(self.floor);
        if let Some(bound) = bound.filter(|bound| ts < *bound) {
            let forced = Some(bound) > self.watermark();
            late.push(Late { row, ts, bound, lateness: self.lateness, forced });
            self.late += 1;
            return;
        }
        self.newest = self.newest.max(Some(ts));
        if self.is_immediate() && self.heap.is_empty() {
            // Nothing earlier may come and nothing waits: the record is next.
            released.push_from(batch, row);
            return;
        }
        let segment = self.first_segment + self.segments.len() as u64 - 1;
        self.heap.push(Reverse(Waiting { ts, arrival: self.arrivals, segment, row: row as u32 }));
        self.arrivals += 1;
        if let Some(segment) = self.segments.back_mut() {
            segment.waiting += 1;
        }
        self.release_due(released);
    }

    /// Releases what the watermark has reached, and what is too much.
    fn release_due(&mut self, released: &mut EdgeBatch) {
        let watermark = self.watermark();
        while let Some(&Reverse(oldest)) = self.heap.peek() {
            let due = Some(oldest.ts) <= watermark;
            if !due {
                if self.heap.len() <= self.max_pending {
                    return;
                }
                self.floor = self.floor.max(Some(oldest.ts));
                self.forced += 1;
            }
            self.heap.pop();
            self.release(oldest, released);
        }
    }

    fn release(&mut self, waiting: Waiting, released: &mut EdgeBatch) {
        let segment = &mut self.segments[(waiting.segment - self.first_segment) as usize];
        segment.waiting -= 1;
        if let Some(batch) = &segment.batch {
            released.push_from(batch, waiting.row as usize);
        }
    }

    /// Drops batches with no waiting record.
    fn free(&mut self) {
        for segment in &mut self.segments {
            if segment.waiting == 0 {
                self.held -= segment.batch.take().map_or(0, |batch| batch.len());
            }
        }
        self.forget_first();
    }

    fn forget_first(&mut self) {
        while let Some(segment) = self.segments.pop_front_if(|segment| segment.waiting == 0) {
            self.held -= segment.batch.map_or(0, |batch| batch.len());
            self.first_segment += 1;
        }
    }

    /// Keeps memory within a constant factor of what waits: a few records must not hold many batches.
    fn compact(&mut self) {
        /// Records that may be held in vain.
        const SLACK: usize = 1 << 16;
        /// Batches that may be held, waited for or not.
        const SEGMENTS: usize = 1 << 10;
        if self.held <= 4 * self.heap.len() + SLACK && self.segments.len() <= SEGMENTS {
            return;
        }
        self.free();
        if self.held <= 2 * self.heap.len() + SLACK / 2 && self.segments.len() <= SEGMENTS / 2 {
            return;
        }
        let mut kept = EdgeBatch::new(self.width);
        let mut waiting = std::mem::take(&mut self.heap).into_vec();
        for (row, Reverse(waiting)) in waiting.iter_mut().enumerate() {
            self.release(*waiting, &mut kept);
            waiting.row = row as u32;
        }
        self.first_segment += self.segments.len() as u64;
        for Reverse(waiting) in &mut waiting {
            waiting.segment = self.first_segment;
        }
        self.held = kept.len();
        self.segments.clear();
        self.segments.push_back(Segment { waiting: kept.len(), batch: Some(Arc::new(kept)) });
        // Only places changed, which come last in the order, so this heap is one already and is built in linear time.
        self.heap = BinaryHeap::from(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Operation, Row};
    use crate::key::{IdRef, KeyRef};
    use crate::symbol::Symbol;

    fn batch(first_ordinal: u64, times: &[Time]) -> Arc<EdgeBatch> {
        let mut batch = EdgeBatch::new(0);
        for (ordinal, &ts) in (first_ordinal..).zip(times) {
            let row = Row {
                ordinal,
                line: ordinal + 2,
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
        Arc::new(batch)
    }

    fn rows(batch: &EdgeBatch) -> Vec<(Time, u64)> {
        (0..batch.len()).map(|row| (batch.ts()[row], batch.ordinal(row))).collect()
    }

    /// What is released and what is late, by the definition and with no thought of cost.
    fn oracle(times: &[Time], lateness: Time, max_pending: usize) -> (Vec<(Time, u64)>, Vec<u64>) {
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
                if !due && waiting.len() <= max_pending {
                    break;
                }
                floor = if due { floor } else { floor.max(waiting[0].0.into()) };
                released.push(waiting.remove(0));
            }
        }
        released.extend(waiting);
        (released, late)
    }

    fn run(times: &[Time], lateness: Time, max_pending: usize, step: usize) -> (Vec<(Time, u64)>, Vec<u64>) {
        let mut sequencer = Sequencer::new(lateness, max_pending);
        let (mut released, mut late) = (Vec::new(), Vec::new());
        let mut ordinal = 0;
        for block in times.chunks(step) {
            let given = batch(ordinal, block);
            let mut found = Vec::new();
            let ordered = sequencer.push(&given, &mut found);
            released.extend(rows(ordered.as_ref().unwrap_or(&given)));
            late.extend(found.iter().map(|late| given.ordinal(late.row)));
            assert!(sequencer.pending() <= max_pending);
            ordinal += block.len() as u64;
        }
        released.extend(rows(&sequencer.finish()));
        assert_eq!((sequencer.pending(), sequencer.held, sequencer.late() as usize), (0, 0, late.len()));
        (released, late)
    }

    #[test]
    fn random_disorder_comes_out_as_the_definition_says() {
        let mut seed = 7_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for case in 0..400 {
            let spread = 1 + random(12);
            let times: Vec<Time> = (0..random(60)).map(|i| (i / 2 + random(spread)).cast_signed()).collect();
            let lateness = [0, 1, 3, 10][random(4) as usize];
            let max_pending = [0, 1, 4, 1000][random(4) as usize];
            let expected = oracle(&times, lateness, max_pending);
            for step in [1, 3, 100] {
                assert_eq!(
                    run(&times, lateness, max_pending, step),
                    expected,
                    "case {case}: {times:?} {lateness} {max_pending}"
                );
            }
        }
    }

    #[test]
    fn a_bound_holds_back_what_is_past_the_slowest_producer_and_never_turns_time_back() {
        let mut sequencer = Sequencer::new(2, 100);
        let mut late = Vec::new();
        assert!(sequencer.advance(Some(5)).is_empty());
        assert_eq!(sequencer.push(&batch(0, &[4, 9, 3]), &mut late).map(|batch| rows(&batch)), Some(vec![(3, 2)]));
        assert_eq!((sequencer.watermark(), sequencer.pending()), (Some(3), 2));
        assert_eq!(rows(&sequencer.advance(Some(7))), [(4, 0)]);
        // A producer that comes later and lags moves nothing back: what is before the watermark is late.
        assert!(sequencer.advance(Some(1)).is_empty());
        assert!(sequencer.push(&batch(3, &[4, 5]), &mut late).is_some_and(|batch| rows(&batch) == [(5, 4)]));
        assert_eq!(late.iter().map(|late| (late.row, late.bound)).collect::<Vec<_>>(), [(0, 5)]);
        assert_eq!(rows(&sequencer.advance(None)), []);
        assert_eq!((sequencer.watermark(), sequencer.pending()), (Some(7), 1));
        assert_eq!(rows(&sequencer.finish()), [(9, 1)]);
    }

    #[test]
    fn a_bound_that_is_lifted_leaves_nothing_waiting_without_lateness() {
        let mut sequencer = Sequencer::new(0, 100);
        let mut late = Vec::new();
        sequencer.advance(Some(1));
        assert_eq!(sequencer.push(&batch(0, &[1, 5, 3]), &mut late).map(|batch| rows(&batch)), Some(vec![(1, 0)]));
        assert_eq!(rows(&sequencer.advance(None)), [(3, 2), (5, 1)]);
        assert!(sequencer.push(&batch(3, &[5, 6]), &mut late).is_none() && late.is_empty());
    }

    /// Steps of a stream: a record, or another lateness.
    enum Step {
        Record(Time),
        Lateness(Time),
    }

    #[test]
    fn a_lateness_that_changes_moves_no_watermark_back_and_keeps_the_order_of_the_definition() {
        let mut seed = 11_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for case in 0..400 {
            let spread = 1 + random(12);
            let steps: Vec<Step> = (0..random(60))
                .map(|i| match random(6) {
                    0 => Step::Lateness([0, 1, 4, 12][random(4) as usize]),
                    _ => Step::Record((i / 2 + random(spread)).cast_signed()),
                })
                .collect();
            let (mut sequencer, mut lateness, mut ordinal) = (Sequencer::new(3, 1000), 3, 0);
            let (mut waiting, mut newest, mut passed) = (Vec::new(), None::<Time>, None::<Time>);
            for step in &steps {
                let (mut late, mut expected_late) = (Vec::new(), false);
                let released = match *step {
                    Step::Lateness(given) => {
                        lateness = given;
                        rows(&sequencer.set_lateness(given))
                    }
                    Step::Record(ts) => {
                        expected_late = Some(ts) < passed;
                        if !expected_late {
                            newest = newest.max(Some(ts));
                            waiting.push((ts, ordinal));
                        }
                        let given = batch(ordinal, &[ts]);
                        ordinal += 1;
                        rows(sequencer.push(&given, &mut late).as_ref().unwrap_or(&given))
                    }
                };
                passed = passed.max(newest.map(|newest| newest - lateness));
                waiting.sort_unstable();
                let due = waiting.iter().take_while(|(ts, _)| Some(*ts) <= passed).count();
                assert_eq!(released, waiting.drain(..due).collect::<Vec<_>>(), "case {case}");
                assert_eq!((late.len() == 1, sequencer.watermark()), (expected_late, passed), "case {case}");
            }
            assert_eq!(rows(&sequencer.finish()), waiting);
        }
    }

    #[test]
    fn a_watermark_that_is_set_holds_before_the_first_record_too_and_shows_what_went() {
        let mut sequencer = Sequencer::new(5, 100);
        let mut late = Vec::new();
        assert!(sequencer.settle(10).is_empty());
        assert_eq!(sequencer.watermark(), Some(10));
        let released = sequencer.push(&batch(0, &[9, 10, 14, 12, 14, 13, 12]), &mut late);
        assert_eq!((released.map(|batch| rows(&batch)), late.len()), (Some(vec![(10, 1)]), 1));
        assert_eq!((sequencer.watermark(), sequencer.pending()), (Some(10), 5));
        assert_eq!(rows(&sequencer.relieve(4)), [(12, 3), (12, 6)]);
        assert_eq!((rows(&sequencer.relieve(3)), sequencer.watermark()), (vec![], Some(12)));
        assert_eq!(rows(&sequencer.settle(11)), []);
        assert_eq!(rows(&sequencer.settle(20)), [(13, 5), (14, 2), (14, 4)]);
        assert!(sequencer.push(&batch(7, &[19]), &mut late).is_some() && late.len() == 2);
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        for times in [[Time::MIN, Time::MAX, Time::MIN, 0], [Time::MAX, Time::MIN, Time::MAX, -1]] {
            for lateness in [0, 1, Time::MAX] {
                assert_eq!(run(&times, lateness, 100, 2), oracle(&times, lateness, 100));
            }
        }
    }

    #[test]
    fn a_batch_in_order_passes_as_it_is_and_says_why_a_late_one_does_not() {
        let mut sequencer = Sequencer::new(0, 10);
        let mut late = Vec::new();
        assert!(sequencer.push(&batch(0, &[1, 1, 5]), &mut late).is_none());
        assert!(sequencer.push(&batch(3, &[5, 4]), &mut late).is_some());
        let reasons: Vec<String> = late.iter().map(Late::to_string).collect();
        assert_eq!(reasons, ["late: ts 4 is before the watermark 5 (lateness 0)"]);
    }

    #[test]
    fn few_waiting_records_hold_few_batches() {
        let mut sequencer = Sequencer::new(1_000_000, 100_000);
        for step in 0..3000 {
            // One record of each batch has to wait long; the others are due at once.
            let mut times = vec![step; 50];
            times.push(step + 1_000_000);
            sequencer.push(&batch(0, &times), &mut Vec::new());
            assert!(sequencer.segments.len() <= 1025 && sequencer.held <= 4 * sequencer.pending() + (1 << 16) + 51);
        }
    }
}
