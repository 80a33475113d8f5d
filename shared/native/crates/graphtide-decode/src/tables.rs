//! Reference tables: rows by their keys, with the columns that a statement reads.
//!
//! Invariant: the rows of a key lie side by side, in the order of their times, equal times in that of the file. A table without
//! times has one row for each key, the last. A table never changes; a [`SharedTable`] holds one, and is given another as a whole.
//! Cost of a look-up: one hash, and a binary search among the rows of the key if rows have times.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::key::{IdRef, Key, KeyRef, TextArena};
use graphtide_graph::value::{Value, ValueRef};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use thiserror::Error;

/// Why rows are no table.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TableError {
    /// A row has no key.
    #[error("line {line}: no key")]
    NoKey {
        /// Of the row.
        line: u64,
    },
    /// There are too many rows.
    #[error("more than {most} rows")]
    TooManyRows {
        /// The limit.
        most: usize,
    },
    /// The rows are too large.
    #[error("its rows take more than {most} bytes of memory")]
    TooManyBytes {
        /// The limit.
        most: usize,
    },
}

/// How large a table may be.
#[derive(Clone, Copy, Debug)]
pub struct TableLimits {
    /// Rows, those that later ones replace, too.
    pub rows: usize,
    /// Bytes of memory.
    pub bytes: usize,
}

/// The different keys of rows, numbered.
#[derive(Debug, Default)]
struct Keys {
    numbers: HashTable<u32>,
    names: Vec<Key>,
    texts: TextArena,
}

impl Keys {
    fn find(&self, key: KeyRef<'_>) -> Option<usize> {
        let same = |number: &u32| self.texts.get(self.names[*number as usize]) == key;
        self.numbers.find(FxBuildHasher.hash_one(key), same).map(|number| *number as usize)
    }

    fn number(&mut self, key: KeyRef<'_>) -> usize {
        self.find(key).unwrap_or_else(|| {
            let number = self.names.len();
            self.names.push(self.texts.insert(key));
            let Self { numbers, names, texts } = self;
            let hash = |number: &u32| FxBuildHasher.hash_one(texts.get(names[*number as usize]));
            // There are fewer rows than numbers.
            numbers.insert_unique(FxBuildHasher.hash_one(key), u32::try_from(number).unwrap_or(u32::MAX), hash);
            number
        })
    }

    fn bytes(&self) -> usize {
        self.names.len() * (size_of::<Key>() + 2 * size_of::<u32>()) + self.texts.bytes()
    }
}

/// Rows on their way into a table.
#[derive(Debug)]
pub struct TableBuilder {
    width: usize,
    has_times: bool,
    limits: TableLimits,
    keys: Keys,
    /// Of each row: the number of its key.
    key_of: Vec<u32>,
    times: Vec<Time>,
    values: Vec<Value>,
    texts: TextArena,
}

/// Rows by their keys.
#[derive(Debug)]
pub struct Table {
    width: usize,
    keys: Keys,
    /// Of each key: where its rows begin; then where the last ones end. Empty if each key has one row.
    starts: Vec<u32>,
    /// Of each row, if they have times.
    times: Vec<Time>,
    values: Vec<Value>,
    texts: TextArena,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'t> {
    table: &'t Table,
    start: usize,
}

impl TableBuilder {
    /// Takes rows with so many columns.
    pub fn new(width: usize, has_times: bool, limits: TableLimits) -> Self {
        let limits = TableLimits { rows: limits.rows.min(u32::MAX as usize), ..limits };
        let (keys, texts) = (Keys::default(), TextArena::default());
        Self { width, has_times, limits, keys, key_of: Vec::new(), times: Vec::new(), values: Vec::new(), texts }
    }

    /// Adds rows: events whose ids are keys, and whose attributes are columns.
    pub fn add(&mut self, rows: &EdgeBatch) -> Result<(), TableError> {
        for index in 0..rows.len() {
            let IdRef::Given(key) = rows.id(index) else {
                return Err(TableError::NoKey { line: rows.row(index).line });
            };
            if self.key_of.len() >= self.limits.rows {
                return Err(TableError::TooManyRows { most: self.limits.rows });
            }
            let number = self.keys.number(key);
            self.key_of.push(u32::try_from(number).unwrap_or(u32::MAX));
            if self.has_times {
                self.times.push(rows.ts()[index]);
            }
            let texts = &mut self.texts;
            self.values.extend(rows.attributes(index).take(self.width).map(|value| Value::store(value, texts)));
        }
        if self.bytes() > self.limits.bytes { Err(TableError::TooManyBytes { most: self.limits.bytes }) } else { Ok(()) }
    }

    fn bytes(&self) -> usize {
        let rows = self.key_of.len() * size_of::<u32>() + size_of_val(&*self.times) + size_of_val(&*self.values);
        rows + self.keys.bytes() + self.texts.bytes()
    }

    /// The table of all rows that were added.
    pub fn finish(self) -> Table {
        let Self { width, has_times, keys, key_of, times, values, texts, .. } = self;
        let count = keys.names.len();
        let of_row = |row: usize| &values[row * width..(row + 1) * width];
        let mut chosen: Vec<u32>;
        let mut starts = Vec::new();
        if has_times {
            chosen = (0..).take(key_of.len()).collect();
            chosen.sort_by_key(|row| (key_of[*row as usize], times[*row as usize]));
            starts = vec![0_u32; count + 1];
            for key in &key_of {
                starts[*key as usize + 1] += 1;
            }
            for key in 0..count {
                starts[key + 1] += starts[key];
            }
        } else {
            chosen = vec![0; count];
            for (row, key) in (0..).zip(&key_of) {
                chosen[*key as usize] = row;
            }
        }
        let times = if has_times { chosen.iter().map(|row| times[*row as usize]).collect() } else { Vec::new() };
        let values = chosen.iter().flat_map(|row| of_row(*row as usize)).copied().collect();
        Table { width, keys, starts, times, values, texts }
    }
}

impl Table {
    /// A table without rows.
    pub fn empty(width: usize) -> Self {
        TableBuilder::new(width, false, TableLimits { rows: 0, bytes: 0 }).finish()
    }

    /// The row of a key at a time; without a time those of a table that has times are not known.
    #[inline]
    pub fn find(&self, key: KeyRef<'_>, ts: Option<Time>) -> Option<TableRow<'_>> {
        let key = self.keys.find(key)?;
        let place = if self.starts.is_empty() {
            key
        } else {
            let (start, end) = (self.starts[key] as usize, self.starts[key + 1] as usize);
            let ts = ts?;
            let until = self.times[start..end].partition_point(|since| *since <= ts);
            start + until.checked_sub(1)?
        };
        Some(TableRow { table: self, start: place * self.width })
    }

    /// Whether its rows have times.
    pub fn has_times(&self) -> bool {
        !self.starts.is_empty()
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        if self.has_times() { self.times.len() } else { self.keys.names.len() }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it takes, about.
    pub fn bytes(&self) -> usize {
        let rows = size_of_val(&*self.starts) + size_of_val(&*self.times) + size_of_val(&*self.values);
        rows + self.keys.bytes() + self.texts.bytes()
    }
}

impl<'t> TableRow<'t> {
    /// The value of a column.
    #[inline]
    pub fn get(self, column: usize) -> ValueRef<'t> {
        self.table.values[self.start + column].get(&self.table.texts)
    }
}

/// A table that may be replaced while others read it; clones share it.
#[derive(Clone, Debug)]
pub struct SharedTable(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    columns: Vec<String>,
    current: RwLock<Arc<Table>>,
    version: AtomicU64,
}

impl SharedTable {
    /// A table with these columns, without rows.
    pub fn new(columns: Vec<String>) -> Self {
        let current = RwLock::new(Arc::new(Table::empty(columns.len())));
        Self(Arc::new(Shared { columns, current, version: AtomicU64::new(0) }))
    }

    /// The names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.0.columns
    }

    /// The table as it is now.
    pub fn current(&self) -> Arc<Table> {
        Arc::clone(&self.0.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Which table it is; another one has another number.
    #[inline]
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    /// Takes another table with the same columns. From now on it is the one that is seen, as a whole.
    pub fn replace(&self, table: Table) {
        debug_assert_eq!(table.width, self.0.columns.len());
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
        self.0.version.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use graphtide_graph::batch::{Operation, Row};
    use graphtide_graph::symbol::Symbol;

    use super::*;

    const MANY: TableLimits = TableLimits { rows: 100, bytes: 1 << 20 };

    fn rows(given: &[(&str, Time, i64)]) -> EdgeBatch {
        let mut batch = EdgeBatch::new(1);
        for (line, (key, ts, value)) in (1..).zip(given) {
            let row = Row {
                ordinal: line - 1,
                line,
                ts: *ts,
                operation: Operation::Insert,
                source: KeyRef::ABSENT,
                target: KeyRef::ABSENT,
                label: Symbol::ABSENT,
                source_label: Symbol::ABSENT,
                target_label: Symbol::ABSENT,
                stream: Symbol::ABSENT,
                id: IdRef::Given(KeyRef::parse(key)),
                raw: b"",
            };
            batch.push(&row, [ValueRef::Int(*value)]);
        }
        batch
    }

    fn table(has_times: bool, given: &[(&str, Time, i64)]) -> Table {
        let mut builder = TableBuilder::new(1, has_times, MANY);
        builder.add(&rows(given)).unwrap();
        builder.finish()
    }

    fn found(table: &Table, key: &str, ts: Option<Time>) -> Option<i64> {
        if let ValueRef::Int(number) = table.find(KeyRef::parse(key), ts)?.get(0) { Some(number) } else { None }
    }

    #[test]
    fn the_last_row_of_a_key_counts() {
        let table = table(false, &[("u", 0, 1), ("7", 0, 2), ("u", 0, 3)]);
        assert_eq!(found(&table, "u", None), Some(3));
        assert_eq!(found(&table, "7", Some(9)), Some(2));
        assert_eq!(found(&table, "07", None), None);
        assert_eq!((table.len(), table.has_times()), (2, false));
    }

    #[test]
    fn rows_with_times_hold_from_then_on() {
        let table = table(true, &[("u", 20, 2), ("v", 0, 9), ("u", 10, 1), ("u", 20, 3)]);
        let at = |ts| found(&table, "u", Some(ts));
        assert_eq!([9, 10, 19, 20, 99].map(at), [None, Some(1), Some(1), Some(3), Some(3)]);
        assert_eq!(found(&table, "u", None), None);
        assert_eq!(table.len(), 4);
    }

    #[test]
    fn a_table_has_no_more_than_its_limits() {
        let three = rows(&[("u", 0, 1), ("v", 0, 1), ("u", 0, 2)]);
        let error = |rows, bytes| TableBuilder::new(1, false, TableLimits { rows, bytes }).add(&three).err();
        assert_eq!(error(3, 1 << 20), None);
        assert_eq!(error(2, 1 << 20), Some(TableError::TooManyRows { most: 2 }));
        assert_eq!(error(3, 10), Some(TableError::TooManyBytes { most: 10 }));
    }

    #[test]
    fn a_shared_table_is_replaced_as_a_whole() {
        let shared = SharedTable::new(vec!["score".to_owned()]);
        let (before, version) = (shared.current(), shared.version());
        assert!(before.is_empty());
        shared.replace(table(false, &[("u", 0, 1)]));
        assert_ne!(shared.version(), version);
        assert_eq!((before.len(), shared.current().len()), (0, 1));
    }
}
