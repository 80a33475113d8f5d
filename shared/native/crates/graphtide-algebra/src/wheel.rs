//! What ends when: items by the instant at which they are to be looked at.
//!
//! An item that lasts longer by then is put in again, so that one which is extended ten times is not moved ten times.
//! Cost: amortised O(log n) an item put in, n being the instants there are.

use std::collections::BTreeMap;

use graphtide_graph::Time;
use graphtide_graph::clock::Present;

/// Items by instant.
#[derive(Debug, Default)]
pub struct Wheel {
    buckets: BTreeMap<Time, Vec<u32>>,
}

impl Wheel {
    /// Puts an item in.
    pub fn put(&mut self, at: Time, item: u32) {
        self.buckets.entry(at).or_default().push(item);
    }

    /// The items of the oldest bucket, if that lies before now.
    pub fn pop_before(&mut self, now: Present) -> Option<Vec<u32>> {
        let entry = self.buckets.first_entry()?;
        now.follows(*entry.key()).then(|| entry.remove())
    }

    /// When the oldest bucket is to be looked at.
    pub fn next(&self) -> Option<Time> {
        self.buckets.first_key_value().map(|(&at, _)| at)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.buckets.values().map(|bucket| 64 + bucket.capacity() * size_of::<u32>()).sum()
    }
}
