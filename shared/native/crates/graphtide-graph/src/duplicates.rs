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
//! do, each is compared with the one before, and no other. The table is made with the first that does not. The table is larger
//! than the cache, so records are taken a few at a time. First all their ids are hashed, then all their places looked at, and
//! only then is one decided after the other.

mod slots;

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use crate::Time;
use crate::batch::{EdgeBatch, Operation, Row};
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
        let mut repeated = Vec::new();
        for start in (0..batch.len()).step_by(AT_A_TIME) {
            self.take(batch, start..batch.len().min(start + AT_A_TIME), &mut repeated);
        }
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

    #[inline]
    fn push(&mut self, id: KeyRef<'_>, tag: Tag) -> u32 {
        let number = self.first.wrapping_add(self.passed.len() as u32);
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

/// Whether an id comes before another: numbers before texts, shorter texts before longer ones.
#[inline]
fn precedes(one: KeyRef<'_>, other: KeyRef<'_>) -> bool {
    match (one, other) {
        (KeyRef::Number(one), KeyRef::Number(other)) => one < other,
        (KeyRef::Text(one), KeyRef::Text(other)) => (one.len(), one) < (other.len(), other),
        (KeyRef::Number(_), KeyRef::Text(_)) => true,
        (KeyRef::Text(_), KeyRef::Number(_)) => false,
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
mod tests {
    use std::hash::Hasher;

    use rustc_hash::FxHasher;

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
                stream: Symbol::ABSENT,
                id: id.map_or(IdRef::Made(ordinal), |id| IdRef::Given(KeyRef::parse(id))),
                raw: b"",
            };
            batch.push(&row, []);
        }
        batch
    }

    fn oracle(records: &[(Time, Option<&str>, Operation)], (window, edges): (Time, u64)) -> Vec<u64> {
        let mut passed: Vec<((Time, u64), &str, bool)> = Vec::new();
        let (mut kept, mut counted) = (Vec::new(), 0);
        for (ordinal, &(ts, id, operation)) in (0..).zip(records) {
            let Some(id) = id else {
                kept.push(ordinal);
                counted += 1;
                continue;
            };
            let is_within = |first: Time, before: u64| {
                ts.checked_sub(window).is_none_or(|oldest| first > oldest) || counted + 1 - before < edges
            };
            if operation == Operation::Delete {
                passed.iter_mut().filter(|(_, other, _)| *other == id).for_each(|(_, _, released)| *released = true);
            } else if passed
                .iter()
                .any(|((first, before), other, released)| *other == id && is_within(*first, *before) && !released)
            {
                continue;
            } else {
                counted += 1;
                passed.push(((ts, counted), id, false));
            }
            kept.push(ordinal);
        }
        kept
    }

    /// So many different hashes that ids collide for certain.
    #[derive(Clone, Copy)]
    struct Few(u64);

    impl BuildHasher for Few {
        type Hasher = FewHasher;

        fn build_hasher(&self) -> FewHasher {
            FewHasher { hashes: self.0, hasher: FxBuildHasher.build_hasher() }
        }
    }

    struct FewHasher {
        hashes: u64,
        hasher: FxHasher,
    }

    impl Hasher for FewHasher {
        fn write(&mut self, bytes: &[u8]) {
            self.hasher.write(bytes);
        }

        fn finish(&self) -> u64 {
            // The last one at the end of the table.
            u64::from(u32::MAX - ((self.hasher.finish() % self.hashes) as u32).rotate_left(28))
        }
    }

    /// Filters records in batches of `sizes`, again and again, and returns the ordinals of those that are left.
    fn filtered<S: BuildHasher>(
        duplicates: &mut Duplicates<S>,
        records: &[(Time, Option<&str>, Operation)],
        sizes: &[usize],
    ) -> Vec<u64> {
        let (mut kept, mut first) = (Vec::new(), 0);
        for &size in sizes.iter().cycle() {
            let block = &records[first..records.len().min(first + size)];
            let given = batch(first as u64, block);
            let batch = duplicates.filter(&given).unwrap_or(given);
            kept.extend((0..batch.len()).map(|row| batch.ordinal(row)));
            first += block.len();
            if first == records.len() {
                return kept;
            }
        }
        kept
    }

    /// What is known is what the definition says after the last record.
    fn assert_bounded<S>(duplicates: &Duplicates<S>, records: &[(Time, Option<&str>, Operation)], window: Time) {
        let now = records.last().map_or(0, |&(ts, _, _)| ts);
        let young = records.iter().filter(|&&(ts, id, _)| ts > now - window && id.is_some()).count();
        assert!(duplicates.passed.len() <= young && duplicates.known.len() <= duplicates.passed.len());
    }

    #[test]
    fn random_repetition_is_dropped_as_the_definition_says() {
        let mut seed = 11_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        let many: Vec<String> =
            (0..120).map(|number| if number % 2 == 0 { format!("{number}") } else { format!("id-{number}") }).collect();
        let few = ["3", "7", "07", "007", "a", "b", "", "1234567890123456789", "+7", "7 "];
        for case in 0..800 {
            let explicit = random(4);
            let length = random(if case % 3 == 0 { 400 } else { 40 });
            let mut ts = if random(20) == 0 { Time::MIN } else { 0 };
            let mut ascending = many.iter().skip(1).step_by(2);
            let records: Vec<(Time, Option<&str>, Operation)> = (0..length)
                .map(|_| {
                    ts += random(3).cast_signed() * random(2).cast_signed();
                    let id = match explicit {
                        0 => few[random(10) as usize],
                        1 => many[random(120) as usize].as_str(),
                        3 if random(12) > 0 => ascending.next().map_or("7", String::as_str),
                        _ => few[random(3) as usize],
                    };
                    let id = (random(8) > 0).then_some(id);
                    (ts, id, if id.is_some() && random(5) == 0 { Operation::Delete } else { Operation::Insert })
                })
                .collect();
            let window = [0, 1, 2, 3, 8, 40, Time::MAX][random(7) as usize];
            let edges = if random(2) == 0 { 0 } else { [1, 2, 3, 8, 100][random(5) as usize] };
            let windows = (window, edges);
            let sizes: Vec<usize> = (0..3).map(|_| 1 + random(150) as usize).collect();
            let expected = oracle(&records, windows);
            let mut plain = Duplicates::counting(window, edges);
            assert_eq!(filtered(&mut plain, &records, &sizes), expected, "case {case}: {records:?}, windows {windows:?}");
            assert_eq!(plain.dropped() as usize, records.len() - expected.len());
            for hashes in [1, 3] {
                let mut colliding = Duplicates::with_hasher(windows, Few(hashes));
                let kept = filtered(&mut colliding, &records, &sizes);
                assert_eq!(kept, expected, "case {case}, {hashes} hashes: {records:?}, windows {windows:?}");
            }
            if window < 100 && edges == 0 && ts > Time::MIN + 1_000 {
                assert_bounded(&plain, &records, window);
            }
        }
    }

    #[test]
    fn a_duplicate_that_replaces_is_let_through_behind_a_deletion_and_known_from_its_own_time_on() {
        let (insert, delete) = (|ts, id| (ts, Some(id), Operation::Insert), (8, Some("a"), Operation::Delete));
        let records = [insert(0, "a"), insert(4, "a"), insert(4, "b"), insert(8, "a"), delete, insert(9, "a"), insert(20, "a")];
        for sizes in [vec![1], vec![3], vec![7]] {
            let mut duplicates = Duplicates::new(5);
            duplicates.replace(true);
            let (mut seen, mut first) = (Vec::new(), 0);
            for &size in sizes.iter().cycle() {
                let block = &records[first..records.len().min(first + size)];
                let given = batch(first as u64, block);
                let batch = duplicates.filter(&given).unwrap_or(given);
                seen.extend((0..batch.len()).map(|row| {
                    let at = batch.row(row);
                    assert!(at.operation == Operation::Insert || at.ordinal == 4 || at.source.is_empty());
                    (batch.ordinal(row), at.ts, at.operation == Operation::Insert)
                }));
                first += block.len();
                if first == records.len() {
                    break;
                }
            }
            let expected = [
                (0, 0, true),
                (1, 4, false),
                (1, 4, true),
                (2, 4, true),
                (3, 8, false),
                (3, 8, true),
                (4, 8, false),
                (5, 9, true),
                (6, 20, true),
            ];
            assert_eq!((seen.as_slice(), duplicates.replaced(), duplicates.dropped()), (&expected[..], 2, 0));
        }
    }

    #[test]
    fn the_window_reaches_from_one_end_of_time_to_the_other() {
        let insert = |ts| (ts, Some("a"), Operation::Insert);
        let records = [insert(Time::MIN), insert(Time::MIN), insert(-1), insert(0), insert(Time::MAX)];
        assert_eq!(filtered(&mut Duplicates::new(Time::MAX), &records, &[5]), [0, 2, 4]);
        assert_eq!(filtered(&mut Duplicates::new(0), &records, &[2]), [0, 1, 2, 3, 4]);
        assert_eq!(filtered(&mut Duplicates::new(-5), &records, &[5]), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn an_id_that_has_left_the_window_within_a_batch_is_let_through_and_known_from_then_on() {
        let insert = |ts| (ts, Some("a"), Operation::Insert);
        let mut duplicates = Duplicates::new(5);
        assert_eq!(filtered(&mut duplicates, &[insert(0), insert(4), insert(5), insert(9), insert(10)], &[5]), [0, 2, 4]);
        assert_eq!((duplicates.passed.len(), duplicates.known.len()), (1, 1));
    }

    #[test]
    fn the_table_grows_and_empties_again() {
        for hasher in [Few(1), Few(16), Few(1 << 20)] {
            let number = if hasher.0 == 1 { 500 } else { 5_000 };
            let ids: Vec<String> = (0..number).map(|id| format!("{id:x}-{id}")).collect();
            let records: Vec<_> = ids.iter().map(|id| (0, Some(id.as_str()), Operation::Insert)).collect();
            let mut duplicates = Duplicates::with_hasher((10, 0), hasher);
            assert_eq!(filtered(&mut duplicates, &records, &[1_000]).len(), number);
            assert_eq!(filtered(&mut duplicates, &records, &[1_000]), [0_u64; 0]);
            assert_eq!(duplicates.known.len(), number);
            filtered(&mut duplicates, &[(10, None, Operation::Insert)], &[1]);
            assert_eq!((duplicates.passed.len(), duplicates.known.len(), duplicates.texts.len()), (0, 0, 0));
        }
    }

    #[test]
    fn a_window_of_edges_remembers_so_many_less_one_whatever_their_times() {
        let mut duplicates = Duplicates::counting(0, 3);
        let insert = |id| (5, id, Operation::Insert);
        let records = [insert(Some("a")), insert(None), insert(Some("a")), insert(Some("b")), insert(Some("a"))];
        // The second `a` would be the third edge, with the first; the third comes when two edges have come since.
        assert_eq!(filtered(&mut duplicates, &records, &[1]), [0, 1, 3, 4]);
        assert_eq!((duplicates.passed.len(), duplicates.known.len(), duplicates.counted), (2, 2, 4));
    }

    #[test]
    fn what_left_the_window_is_forgotten() {
        let mut duplicates = Duplicates::new(10);
        for ordinal in 0..1000 {
            let id = format!("id {ordinal}");
            duplicates.filter(&batch(ordinal, &[(ordinal.cast_signed(), Some(&id), Operation::Insert)]));
            assert!(duplicates.passed.len() <= 10 && duplicates.known.len() <= 10);
        }
    }

    #[test]
    fn records_without_ids_are_not_remembered_and_an_id_that_reads_like_a_made_one_is_another() {
        let mut duplicates = Duplicates::new(10);
        assert!(duplicates.filter(&batch(0, &[(1, None, Operation::Insert), (2, None, Operation::Insert)])).is_none());
        assert!(duplicates.passed.is_empty());
        // The number of the second record, given as an id: it is not a duplicate, and deletes nothing but the one of its own.
        let given = [(3, Some("1"), Operation::Insert), (3, Some("1"), Operation::Insert), (3, Some("1"), Operation::Delete)];
        assert_eq!(duplicates.filter(&batch(2, &given)).map(|batch| batch.len()), Some(2));
        assert_eq!(duplicates.known.len(), 0);
    }
}
