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
        (0..800).map(|number| if number % 2 == 0 { format!("{number}") } else { format!("id-{number:09}") }).collect();
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
                    3 if random(40) > 0 => ascending.next().map_or("7", String::as_str),
                    3 => many[random(200) as usize].as_str(),
                    _ => few[random(3) as usize],
                };
                let id = (random(8) > 0).then_some(id);
                let deletions = if explicit == 3 { 40 } else { 5 };
                (ts, id, if id.is_some() && random(deletions) == 0 { Operation::Delete } else { Operation::Insert })
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
    // Ids that ascend, and then the last but one of them again, and the one before.
    for (again, kept) in [("b", vec![0, 1, 2]), ("a", vec![0, 1, 2, 3])] {
        let records = ["a", "b", "c", again].map(|id| insert(Some(id)));
        assert_eq!(filtered(&mut Duplicates::counting(0, 3), &records, &[3]), kept);
    }
}

#[test]
fn the_table_goes_when_ids_ascend_again() {
    let mut duplicates = Duplicates::new(5);
    let mut filter = |records: &[(Time, &str)]| {
        let records: Vec<_> = records.iter().map(|&(ts, id)| (ts, Some(id), Operation::Insert)).collect();
        let kept = filtered(&mut duplicates, &records, &[records.len()]);
        (kept, duplicates.known.len(), duplicates.passed.len())
    };
    assert_eq!(filter(&[(1, "a"), (2, "b")]), (vec![0, 1], 0, 2));
    assert_eq!(filter(&[(3, "a"), (3, "c")]), (vec![1], 3, 3));
    assert_eq!(filter(&[(4, "d"), (5, "e")]), (vec![0, 1], 5, 5));
    // What came before `d` has left, so that no other look is needed.
    assert_eq!(filter(&[(8, "f"), (8, "g")]), (vec![0, 1], 0, 4));
    assert_eq!(filter(&[(9, "h"), (9, "g")]), (vec![0], 4, 4));
    assert_eq!(filter(&[(20, "b"), (30, "c"), (30, "d")]), (vec![0, 1, 2], 0, 2));
    assert_eq!(filter(&[(31, "d"), (31, "c")]), (vec![], 2, 2));
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
