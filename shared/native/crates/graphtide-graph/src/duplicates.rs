//! Drops records whose id was seen within the window.
//!
//! An insertion is a duplicate if an insertion of the same id was let through at `first > now - window` and not deleted since.
//! Deletions always pass and release their id. Records come in order of time.
//!
//! Invariant: after a record at `now`, exactly the ids let through after `now - window` and not released are known. Identity is
//! the id itself, never a hash of it. An id that was made cannot come again, and no deletion names it: such records pass, and are
//! forgotten. Cost: O(1) a record, memory for the insertions with an id within the window.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::{Equivalent, HashMap};
use rustc_hash::FxBuildHasher;

use crate::Time;
use crate::batch::{EdgeBatch, Operation};
use crate::key::{IdRef, KeyRef};

/// An id that outlives its batch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Id {
    Number(u64),
    Text(Arc<str>),
}

impl Id {
    fn new(key: KeyRef<'_>) -> Self {
        match key {
            KeyRef::Number(number) => Self::Number(number),
            KeyRef::Text(text) => Self::Text(text.into()),
        }
    }

    fn as_key(&self) -> KeyRef<'_> {
        match self {
            Self::Number(number) => KeyRef::Number(*number),
            Self::Text(text) => KeyRef::Text(text),
        }
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_key().hash(state);
    }
}

impl Equivalent<Id> for KeyRef<'_> {
    fn equivalent(&self, id: &Id) -> bool {
        *self == id.as_key()
    }
}

/// The duplicate filter of one stream.
#[derive(Debug)]
pub struct Duplicates {
    window: Time,
    now: Time,
    /// The ids let through, in order of time; those released since are still there.
    queue: VecDeque<(Time, Id)>,
    /// When each known id was let through.
    known: HashMap<Id, Time, FxBuildHasher>,
    dropped: u64,
}

impl Duplicates {
    /// Makes a filter that remembers ids for `window` ticks; a window of 0 or less remembers nothing.
    pub fn new(window: Time) -> Self {
        Self { window: window.max(0), now: Time::MIN, queue: VecDeque::new(), known: HashMap::default(), dropped: 0 }
    }

    /// Records dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the batch without its duplicates, or None if it has none.
    pub fn filter(&mut self, batch: &EdgeBatch) -> Option<EdgeBatch> {
        let mut kept: Option<EdgeBatch> = None;
        for row in 0..batch.len() {
            let admitted = self.admit(batch, row);
            match (&mut kept, admitted) {
                (Some(kept), true) => kept.push_from(batch, row),
                (None, false) => {
                    let mut before = EdgeBatch::new(batch.width());
                    (0..row).for_each(|row| before.push_from(batch, row));
                    kept = Some(before);
                }
                (Some(_), false) | (None, true) => {}
            }
        }
        kept
    }

    fn admit(&mut self, batch: &EdgeBatch, row: usize) -> bool {
        self.now = self.now.max(batch.ts()[row]);
        self.expire();
        let IdRef::Given(id) = batch.id(row) else { return true };
        match batch.operations()[row] {
            Operation::Delete => {
                self.known.remove(&id);
            }
            Operation::Insert => {
                if self.known.contains_key(&id) {
                    self.dropped += 1;
                    return false;
                }
                let id = Id::new(id);
                self.known.insert(id.clone(), self.now);
                self.queue.push_back((self.now, id));
            }
        }
        true
    }

    fn expire(&mut self) {
        let Some(oldest) = self.now.checked_sub(self.window) else { return };
        while let Some((ts, id)) = self.queue.pop_front_if(|(ts, _)| *ts <= oldest) {
            // An id released and let through again has an entry of its own, further back.
            if self.known.get(&id) == Some(&ts) {
                self.known.remove(&id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Row;
    use crate::symbol::Symbol;

    /// Records as (ts, given id, operation); an absent id is made of the ordinal.
    fn batch(first_ordinal: u64, records: &[(Time, Option<&str>, Operation)]) -> EdgeBatch {
        let mut batch = EdgeBatch::new(0);
        for (ordinal, &(ts, id, operation)) in (first_ordinal..).zip(records) {
            let row = Row {
                ordinal,
                line: 0,
                ts,
                operation,
                source: KeyRef::Number(1),
                target: KeyRef::Number(2),
                label: Symbol(2),
                source_label: Symbol::ABSENT,
                target_label: Symbol::ABSENT,
                id: id.map_or(IdRef::Made(ordinal), |id| IdRef::Given(KeyRef::parse(id))),
                raw: b"",
            };
            batch.push(&row, []);
        }
        batch
    }

    fn oracle(records: &[(Time, Option<&str>, Operation)], window: Time) -> Vec<u64> {
        let mut passed: Vec<(Time, &str, bool)> = Vec::new();
        let mut kept = Vec::new();
        for (ordinal, &(ts, id, operation)) in (0..).zip(records) {
            let Some(id) = id else {
                kept.push(ordinal);
                continue;
            };
            if operation == Operation::Delete {
                passed.iter_mut().filter(|(_, other, _)| *other == id).for_each(|(_, _, released)| *released = true);
            } else if passed.iter().any(|(first, other, released)| *other == id && *first > ts - window && !released) {
                continue;
            } else {
                passed.push((ts, id, false));
            }
            kept.push(ordinal);
        }
        kept
    }

    #[test]
    fn random_repetition_is_dropped_as_the_definition_says() {
        let mut seed = 11_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        let ids = [None, None, Some("3"), Some("7"), Some("a"), Some("b"), Some("007")];
        for case in 0..500 {
            let explicit = random(2) == 0;
            let mut ts = 0;
            let records: Vec<_> = (0..random(40))
                .map(|_| {
                    ts += random(3).cast_signed();
                    let id = ids[random(if explicit { 7 } else { 3 }) as usize];
                    (ts, id, if id.is_some() && random(5) == 0 { Operation::Delete } else { Operation::Insert })
                })
                .collect();
            let window = random(8).cast_signed();
            let mut duplicates = Duplicates::new(window);
            let mut kept = Vec::new();
            for (block, first) in records.chunks(6).zip((0..).step_by(6)) {
                let given = batch(first, block);
                let batch = duplicates.filter(&given).unwrap_or(given);
                kept.extend((0..batch.len()).map(|row| batch.ordinal(row)));
            }
            assert_eq!(kept, oracle(&records, window), "case {case}: {records:?}, window {window}");
            assert_eq!(duplicates.dropped() as usize, records.len() - kept.len());
        }
    }

    #[test]
    fn what_left_the_window_is_forgotten() {
        let mut duplicates = Duplicates::new(10);
        for ordinal in 0..1000 {
            let id = format!("id {ordinal}");
            duplicates.filter(&batch(ordinal, &[(ordinal.cast_signed(), Some(&id), Operation::Insert)]));
            assert!(duplicates.queue.len() <= 10 && duplicates.known.len() <= 10);
        }
    }

    #[test]
    fn records_without_ids_are_not_remembered_and_an_id_that_reads_like_a_made_one_is_another() {
        let mut duplicates = Duplicates::new(10);
        assert!(duplicates.filter(&batch(0, &[(1, None, Operation::Insert), (2, None, Operation::Insert)])).is_none());
        assert!(duplicates.queue.is_empty());
        // The number of the second record, given as an id: it is no duplicate, and deletes nothing but the one of its own.
        let given = [(3, Some("1"), Operation::Insert), (3, Some("1"), Operation::Insert), (3, Some("1"), Operation::Delete)];
        assert_eq!(duplicates.filter(&batch(2, &given)).map(|batch| batch.len()), Some(2));
        assert!(duplicates.known.is_empty());
    }
}
