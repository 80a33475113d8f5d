//! Drops records whose id was seen within the window, or lets them replace what had it.
//!
//! An insertion is a duplicate if an insertion of the same id was let through at `first > now - window` and not deleted since.
//! It is also one if that insertion would be among the last so many edges, itself the newest. Deletions always pass and release
//! their id. Records come in order of time. Where duplicates replace, each is let through behind a deletion of its id at its
//! time.
//!
//! Invariant: after a batch, exactly the ids let through within one of the two windows and not released are known. Within it an
//! id is distinguished from one that has left them. Identity is the id itself, never a hash of it. An id that was made cannot
//! come again, and no deletion names it: such records pass, and are forgotten.
//! Cost: O(1) a record, memory for the insertions with an id within the window. As long as ids ascend, as those of a counter
//! do, each is compared with the one before, and no other (`ascending.rs`). The table is made with the first that does not, and
//! goes when those within the windows ascend again. It is larger than the cache, so records are taken a few at a time. First
//! all their ids are hashed, then all their places looked at, and only then is one decided after the other.

mod ascending;
mod slots;

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use crate::Time;
use crate::batch::{EdgeBatch, Operation, Row};
use crate::duplicates::ascending::{Continues, continues, precedes};
use crate::duplicates::slots::{Slots, Tag};
use crate::key::{IdRef, KeyRef};
use crate::symbol::Symbol;
use crate::text_queue::TextQueue;
use crate::value::ValueRef;

/// Records that are taken at a time.
const AT_A_TIME: usize = 64;

/// An id that was let through.
#[derive(Clone, Copy, Debug)]
struct Passed {
    ts: Time,
    /// The number, or the place of the text.
    id: u64,
    /// Length of the text, or [`NUMBER`].
    length: u32,
    tag: Tag,
}

const NUMBER: u32 = u32::MAX;

/// The duplicate filter of one stream.
#[derive(Debug)]
pub struct Duplicates<S = FxBuildHasher> {
    window: Time,
    /// The window of edges; 0 is none.
    edges: u64,
    now: Time,
    /// Edges let through, with an id or without; those of `passed` by number, if a window counts edges.
    counted: u64,
    counted_with: VecDeque<u64>,
    /// The ids let through, in order of time; those released since are still there.
    passed: VecDeque<Passed>,
    /// Number of the first of them, counted around: a window holds at most 2^31.
    first: u32,
    texts: TextQueue,
    /// Whether the ids let through ascend, shorter ones first, and none was released: then `known` has none of them.
    ascends: bool,
    /// Where they do not, the number from which on they do.
    ascends_from: u32,
    /// The known ids by their numbers.
    known: Slots,
    hasher: S,
    /// Whether duplicates replace what had their id.
    replaces: bool,
    dropped: u64,
    replaced: u64,
}

impl Duplicates {
    /// Makes a filter that remembers ids for `window` ticks; a window of 0 or less remembers nothing.
    pub fn new(window: Time) -> Self {
        Self::counting(window, 0)
    }

    /// Makes a filter that remembers ids for `window` ticks, and those of the last edges, so many.
    pub fn counting(window: Time, edges: u64) -> Self {
        Self::with_hasher((window, edges), FxBuildHasher)
    }
}

impl<S: BuildHasher> Duplicates<S> {
    fn with_hasher((window, edges): (Time, u64), hasher: S) -> Self {
        Self {
            window: window.max(0),
            edges,
            now: Time::MIN,
            counted: 0,
            counted_with: VecDeque::new(),
            passed: VecDeque::new(),
            first: 0,
            texts: TextQueue::default(),
            ascends: true,
            ascends_from: 0,
            known: Slots::new(),
            hasher,
            replaces: false,
            dropped: 0,
            replaced: 0,
        }
    }

    /// Lets duplicates from now on replace what had their id, or drops them.
    pub fn replace(&mut self, replaces: bool) {
        self.replaces = replaces;
    }

    /// Whether duplicates replace what had their id.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// Records dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Records so far that replaced what had their id.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Returns the batch without its duplicates, or with a deletion before each, or None if it has none.
    pub fn filter(&mut self, batch: &EdgeBatch) -> Option<EdgeBatch> {
        let continues = continues(batch, self.passed.back().map(|passed| self.id(passed)));
        if self.ascends && continues == Continues::Before {
            self.take_all_ascending(batch);
            return None;
        }
        let (mut repeated, begins) = (Vec::new(), self.next_number());
        for start in (0..batch.len()).step_by(AT_A_TIME) {
            self.take(batch, start..batch.len().min(start + AT_A_TIME), &mut repeated);
        }
        self.end_batch(continues, begins);
        *if self.replaces { &mut self.replaced } else { &mut self.dropped } += repeated.len() as u64;
        (!repeated.is_empty()).then(|| {
            let mut repeated = repeated.into_iter().peekable();
            if self.replaces {
                return replaced(batch, |row| repeated.next_if_eq(&row).is_some());
            }
            batch.at((0..batch.len()).filter(|row| repeated.next_if_eq(row).is_none()))
        })
    }

    /// Takes some rows, and notes those that are duplicates.
    fn take(&mut self, batch: &EdgeBatch, rows: Range<usize>, repeated: &mut Vec<usize>) {
        let rows = if self.ascends { self.take_ascending(batch, rows) } else { rows };
        if rows.is_empty() {
            self.expire();
            return;
        }
        if self.ascends {
            self.know_all();
        }
        let mut tags = [Tag::NONE; AT_A_TIME];
        for (tag, row) in tags.iter_mut().zip(rows.clone()) {
            if let IdRef::Given(id) = batch.id(row) {
                *tag = Tag::new(self.hasher.hash_one(id));
            }
        }
        self.known.reserve(rows.len());
        self.known.warm(tags.iter().copied());
        for (tag, row) in tags.into_iter().zip(rows) {
            self.now = self.now.max(batch.ts()[row]);
            if let IdRef::Given(id) = batch.id(row)
                && !self.passes(id, tag, batch.operations()[row])
            {
                repeated.push(row);
                if !self.replaces {
                    continue;
                }
            }
            self.counted += u64::from(batch.is_edge(row));
        }
        self.expire();
    }

    /// Takes a whole batch whose ids ascend behind those before. Ids that leave the windows before its end are not copied.
    fn take_all_ascending(&mut self, batch: &EdgeBatch) {
        let newest = batch.ts().iter().copied().fold(self.now, i64::max);
        let edges = self.counted + batch.edges(0..batch.len());
        let (window, of_edges) = (self.window, self.edges);
        let oldest = newest.checked_sub(window);
        for row in 0..batch.len() {
            self.now = self.now.max(batch.ts()[row]);
            let has_left =
                oldest.is_some_and(|oldest| self.now <= oldest) && (of_edges == 0 || edges - self.counted >= of_edges);
            if !has_left && let IdRef::Given(id) = batch.id(row) {
                self.push(id, Tag::NONE);
            }
            self.counted += u64::from(batch.is_edge(row));
        }
        self.expire();
    }

    /// Notes what the ids of a batch continued, the first of which to be let through had this number. The table goes when all
    /// that are left ascend.
    fn end_batch(&mut self, continues: Continues, begins: u32) {
        match continues {
            Continues::Before => {}
            Continues::Itself => self.ascends_from = begins,
            Continues::Nothing => self.ascends_from = self.next_number(),
        }
        let left_before = self.ascends_from.wrapping_sub(self.first);
        // A window holds half of all numbers, at most.
        if !self.ascends && (left_before == 0 || left_before > u32::MAX / 2) {
            (self.ascends, self.known) = (true, Slots::new());
        }
    }

    /// Takes rows as long as their ids ascend, so that none is a duplicate; returns the rest.
    fn take_ascending(&mut self, batch: &EdgeBatch, rows: Range<usize>) -> Range<usize> {
        for row in rows.clone() {
            if let IdRef::Given(id) = batch.id(row) {
                let follows = self.passed.back().is_none_or(|last| precedes(self.id(last), id));
                if !follows || batch.operations()[row] == Operation::Delete {
                    return row..rows.end;
                }
                self.now = self.now.max(batch.ts()[row]);
                self.push(id, Tag::NONE);
            }
            self.now = self.now.max(batch.ts()[row]);
            self.counted += u64::from(batch.is_edge(row));
        }
        rows.end..rows.end
    }

    /// Makes the table of the ids let through.
    #[cold]
    fn know_all(&mut self) {
        self.ascends = false;
        self.known.reserve(self.passed.len());
        for place in 0..self.passed.len() {
            let tag = Tag::new(self.hasher.hash_one(self.id(&self.passed[place])));
            self.passed[place].tag = tag;
            self.known.insert(tag, self.first.wrapping_add(place as u32));
        }
    }

    /// Whether a record is no duplicate; what is let through is known from now on.
    #[inline]
    fn passes(&mut self, id: KeyRef<'_>, tag: Tag, operation: Operation) -> bool {
        let found = self.known.find(tag, |number| self.id(self.passed(number)) == id);
        match (operation, found) {
            (Operation::Delete, Some(place)) => self.known.remove(place),
            (Operation::Delete, None) => {}
            (Operation::Insert, Some(place)) => {
                let number = *self.known.number(place);
                let is_new = self.has_left(number.wrapping_sub(self.first) as usize);
                if is_new || self.replaces {
                    *self.known.number(place) = self.push(id, tag);
                }
                return is_new;
            }
            (Operation::Insert, None) => {
                let number = self.push(id, tag);
                self.known.insert(tag, number);
            }
        }
        true
    }

    /// Whether what was let through has left the windows of the insertion to come; `place` is one of those kept.
    #[inline]
    fn has_left(&self, place: usize) -> bool {
        let oldest = self.now.checked_sub(self.window);
        oldest.is_some_and(|oldest| self.passed[place].ts <= oldest)
            && (self.edges == 0 || self.counted + 1 - self.counted_with[place] >= self.edges)
    }

    #[inline]
    fn passed(&self, number: u32) -> &Passed {
        &self.passed[number.wrapping_sub(self.first) as usize]
    }

    #[inline]
    fn id(&self, passed: &Passed) -> KeyRef<'_> {
        if passed.length == NUMBER { KeyRef::Number(passed.id) } else { KeyRef::Text(self.texts.get(passed.id, passed.length)) }
    }

    /// The number of the id that is let through next.
    #[inline]
    fn next_number(&self) -> u32 {
        self.first.wrapping_add(self.passed.len() as u32)
    }

    #[inline]
    fn push(&mut self, id: KeyRef<'_>, tag: Tag) -> u32 {
        let number = self.next_number();
        let (id, length) = match id {
            KeyRef::Number(number) => (number, NUMBER),
            KeyRef::Text(text) => (self.texts.push(text), text.len() as u32),
        };
        self.passed.push_back(Passed { ts: self.now, id, length, tag });
        if self.edges > 0 {
            self.counted_with.push_back(self.counted + 1);
        }
        number
    }

    /// Forgets what has left the windows.
    fn expire(&mut self) {
        loop {
            let left = (0..self.passed.len().min(AT_A_TIME)).take_while(|&place| self.has_left(place)).count();
            if left == 0 {
                return;
            }
            if !self.ascends {
                self.known.warm(self.passed.iter().take(left).map(|passed| passed.tag));
            }
            for _ in 0..left {
                let Some(passed) = self.passed.pop_front() else { return };
                self.counted_with.pop_front();
                // An id released and let through again has a number of its own, further back.
                let first = self.first;
                if !self.ascends
                    && let Some(place) = self.known.find(passed.tag, |number| number == first)
                {
                    self.known.remove(place);
                }
                self.first = self.first.wrapping_add(1);
                if passed.length != NUMBER {
                    self.texts.pop_front(passed.id, passed.length);
                }
            }
        }
    }
}

/// A batch with a deletion of its id before each row that is one of some.
fn replaced(batch: &EdgeBatch, mut is_repeated: impl FnMut(usize) -> bool) -> EdgeBatch {
    let mut made = EdgeBatch::new(batch.width());
    for index in 0..batch.len() {
        let row = batch.row(index);
        if is_repeated(index) {
            let (end, label) = (KeyRef::ABSENT, Symbol::ABSENT);
            let deletion = Row {
                operation: Operation::Delete,
                source: end,
                target: end,
                label,
                source_label: label,
                target_label: label,
                ..row
            };
            made.push(&deletion, std::iter::repeat_n(ValueRef::Null, batch.width()));
        }
        made.push(&row, batch.attributes(index));
    }
    made
}

#[cfg(test)]
mod tests;
