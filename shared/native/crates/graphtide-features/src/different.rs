//! How many different values the records of a window have: exact in short windows, estimated in long ones.
//!
//! Which of the two follows from the window alone: whether it has more than [`MOST_EXACT`] records. So the value is the same
//! however the window came to be. Values are counted one by one up to twice as many records, and the sketch stays down to half
//! of them. So a window at the border does not change its form with every record. A change costs O(records), and as many
//! records came or went since the last.

use std::collections::{HashMap, VecDeque};

use crate::held::{Held, Identity};
use crate::sketch::Sketch;

/// Records up to which the number is exact.
pub(crate) const MOST_EXACT: u64 = 1_000;

/// The values of one key in a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct Different {
    /// Records whose value is not missing.
    records: u64,
    /// How many records have each value; none where there are too many.
    values: Option<HashMap<Identity, u32>>,
    sketch: Option<Box<Sketch>>,
    /// The numbers of the records in the log, in order; those that were deleted stay until they pass.
    numbers: VecDeque<u64>,
}

impl Different {
    /// Adds a record.
    pub(crate) fn add(&mut self, number: u64, value: &Held) {
        let Some(identity) = value.identity() else { return };
        if self.records == 0 {
            self.values = Some(HashMap::new());
        }
        self.records += 1;
        self.numbers.push_back(number);
        if let Some(values) = &mut self.values {
            *values.entry(identity).or_insert(0) += 1;
        }
        match &mut self.sketch {
            Some(sketch) => sketch.add(identity.hash(), 1),
            None if self.records > MOST_EXACT => self.begin_sketch(),
            None => {}
        }
        if self.records > 2 * MOST_EXACT {
            self.values = None;
        }
    }

    /// Takes away a record that was added; `held` gives the value of a record, or none if it was deleted.
    pub(crate) fn take<'h>(&mut self, number: u64, value: &Held, held: impl Fn(u64) -> Option<&'h Held>) {
        let Some(identity) = value.identity() else { return };
        self.records -= 1;
        while self.numbers.front().is_some_and(|&first| first <= number) {
            self.numbers.pop_front();
        }
        self.take_value(identity, number, held);
    }

    /// As [`take`](Self::take), of a record among others, which is deleted and held no longer.
    pub(crate) fn delete<'h>(&mut self, number: u64, value: &Held, held: impl Fn(u64) -> Option<&'h Held>) {
        let Some(identity) = value.identity() else { return };
        self.records -= 1;
        self.take_value(identity, number, held);
    }

    fn take_value<'h>(&mut self, identity: Identity, number: u64, held: impl Fn(u64) -> Option<&'h Held>) {
        if let Some(values) = &mut self.values
            && let Some(count) = values.get_mut(&identity)
        {
            *count -= 1;
            if *count == 0 {
                values.remove(&identity);
            }
        }
        if let Some(sketch) = &mut self.sketch {
            sketch.take(identity.hash());
        }
        if self.records == 0 {
            *self = Self { numbers: std::mem::take(&mut self.numbers), ..Self::default() };
            return;
        }
        if self.values.is_none() && self.records <= MOST_EXACT {
            let mut values = HashMap::new();
            for identity in self.numbers.iter().filter(|&&each| each != number).filter_map(|&each| held(each)?.identity()) {
                *values.entry(identity).or_insert(0) += 1;
            }
            self.values = Some(values);
        }
        if self.records <= MOST_EXACT / 2 {
            self.sketch = None;
        }
    }

    fn begin_sketch(&mut self) {
        let mut sketch = Sketch::new();
        for (identity, &count) in self.values.iter().flatten() {
            sketch.add(identity.hash(), count);
        }
        self.sketch = Some(Box::new(sketch));
    }

    /// How many different values there are.
    pub(crate) fn count(&self) -> u64 {
        match (&self.values, &self.sketch) {
            (Some(values), _) if self.records <= MOST_EXACT => values.len() as u64,
            (_, Some(sketch)) => sketch.estimate().min(self.records),
            (values, None) => values.as_ref().map_or(0, |values| values.len() as u64),
        }
    }
}
