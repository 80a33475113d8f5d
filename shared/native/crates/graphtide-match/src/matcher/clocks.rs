//! Where the stream is: the time of the newest record, and how many edges came.
//!
//! Invariant: neither goes back. A record before the newest one, or before a time that has passed, is out of order.

use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::clock::Now;

/// The clocks of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    time: Time,
    /// No record before this time follows; the least time where nobody said so.
    passed: Time,
    records: u64,
    /// Records that added no edge.
    edgeless: u64,
    /// Edges of the stream that came before, or were left out, and are among the edges that windows count.
    elsewhere: i64,
}

impl Default for Clocks {
    fn default() -> Self {
        Self { time: Time::MIN, passed: Time::MIN, records: 0, edgeless: 0, elsewhere: 0 }
    }
}

impl Clocks {
    /// Takes a record, unless it is out of order; says whether it took it.
    #[inline]
    pub fn take(&mut self, ts: Time) -> bool {
        if ts < self.time.max(self.passed) {
            return false;
        }
        self.records += 1;
        self.time = ts;
        true
    }

    /// Takes it that the record taken last added no edge.
    pub fn take_edgeless(&mut self) {
        self.edgeless += 1;
    }

    /// Moves the time on to that of a record that was taken elsewhere.
    pub fn move_to(&mut self, time: Time) {
        self.time = self.time.max(time);
    }

    /// Moves the time on to where the past of a pattern ends.
    pub fn move_past(&mut self, batches: &[&EdgeBatch]) {
        batches.iter().filter_map(|batch| batch.ts().last()).for_each(|&ts| self.move_to(ts));
    }

    /// Takes it that no record before a time follows. The newest record stays the newest.
    pub fn pass(&mut self, watermark: Time) {
        self.passed = self.passed.max(watermark);
    }

    /// Takes it that so many edges of the stream came before the next record, deletions not counted.
    pub fn count_from(&mut self, number: u64) {
        self.elsewhere = number.cast_signed().saturating_sub((self.records - self.edgeless).cast_signed());
    }

    /// Time of the newest record.
    #[inline]
    pub fn time(&self) -> Time {
        self.time
    }

    /// The time up to which everything is known.
    pub fn watermark(&self) -> Time {
        self.time.max(self.passed)
    }

    /// Records taken.
    #[inline]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// What both clocks show, once a record is taken.
    #[inline]
    pub fn now(&self) -> Now {
        Now { ts: self.time, edges: (self.records - self.edgeless).cast_signed().saturating_add(self.elsewhere) }
    }
}
