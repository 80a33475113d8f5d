//! A batch of decoded records, column by column.
//!
//! Batches are what travels: decoder, sequencer and matcher take and give nothing smaller. Rows keep the order of their
//! arrival; whether they are in order of time is the sequencer's business.

pub mod block;
mod names;

use std::ops::Range;

use crate::Time;
use crate::key::{IdRef, Key, KeyRef, TextArena};
use crate::symbol::Symbol;
use crate::value::{Value, ValueRef};

/// What a record does to the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds an edge, or says that an event happened.
    Insert,
    /// Retracts the edge, or the event, of that id.
    Delete,
}

/// One record, as a decoder hands it over.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// 0-based ordinal of the record in its stream; bad records count.
    pub ordinal: u64,
    /// 1-based line (text formats) or row (columnar formats) in its file.
    pub line: u64,
    /// Event time.
    pub ts: Time,
    /// Insertion or deletion.
    pub operation: Operation,
    /// Source vertex; anything in a deletion, [`KeyRef::ABSENT`] in an event.
    pub source: KeyRef<'a>,
    /// Target vertex; likewise.
    pub target: KeyRef<'a>,
    /// Label of the edge, or type of the event.
    pub label: Symbol,
    /// Label of the source.
    pub source_label: Symbol,
    /// Label of the target.
    pub target_label: Symbol,
    /// The stream that it is of; [`Symbol::ABSENT`] where all records are of one.
    pub stream: Symbol,
    /// The record's own id, or the one made of its ordinal.
    pub id: IdRef<'a>,
    /// The record's bytes as they came; empty where the format has none.
    pub raw: &'a [u8],
}

/// A rejected record: [`EdgeBatch`] cannot hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// 1-based line (text formats) or row (columnar formats) in its file; the header counts.
    pub line: u64,
    /// Why, for people.
    pub reason: String,
    /// The record's bytes as they came, without the line end.
    pub raw: Vec<u8>,
}

/// Columns of many records.
#[derive(Clone, Debug, Default)]
pub struct EdgeBatch {
    width: usize,
    ordinals: Vec<u64>,
    lines: Vec<u64>,
    ts: Vec<Time>,
    operations: Vec<Operation>,
    ends: Vec<[Key; 2]>,
    labels: Vec<[Symbol; 3]>,
    /// As many as records, or none where all records are of one stream.
    streams: Vec<Symbol>,
    ids: Vec<Key>,
    attributes: Vec<Value>,
    text: TextArena,
    raw_ends: Vec<usize>,
    raw: Vec<u8>,
    /// Whether some record is an event, which streams of edges are asked for each of their records.
    has_events: bool,
}

/// Insertions to append at once, without bytes of their own; keys are those of the batch's texts.
///
/// All columns are of one length, but `streams`, which may be empty, and `attributes`, which has each record's values side by
/// side.
#[derive(Debug)]
pub struct Bulk {
    /// Ordinal of the first; the others follow it.
    pub ordinal: u64,
    /// Line of the first; the others follow it.
    pub line: u64,
    /// Event times.
    pub ts: Vec<Time>,
    /// Source and target.
    pub ends: Vec<[Key; 2]>,
    /// Labels of source, edge and target.
    pub labels: Vec<[Symbol; 3]>,
    /// Streams; none where all are of one.
    pub streams: Vec<Symbol>,
    /// Ids.
    pub ids: Vec<Key>,
    /// As many values a record as the batch is wide.
    pub attributes: Vec<Value>,
}

/// Columns of a batch, to append records to; keys are those of its texts.
#[derive(Debug)]
pub struct Columns {
    /// Event times.
    pub ts: Vec<Time>,
    /// Source and target.
    pub ends: Vec<[Key; 2]>,
    /// Labels of source, edge and target.
    pub labels: Vec<[Symbol; 3]>,
    /// Ids.
    pub ids: Vec<Key>,
    /// As many values a record as the batch is wide.
    pub attributes: Vec<Value>,
}

impl EdgeBatch {
    /// Makes an empty batch with `width` attributes a record.
    pub fn new(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    /// Bytes that the records take, texts of attributes included.
    pub fn bytes(&self) -> usize {
        self.ordinals.capacity() * size_of::<u64>()
            + self.lines.capacity() * size_of::<u64>()
            + self.ts.capacity() * size_of::<Time>()
            + self.operations.capacity() * size_of::<Operation>()
            + self.ends.capacity() * size_of::<[Key; 2]>()
            + self.labels.capacity() * size_of::<[Symbol; 3]>()
            + self.streams.capacity() * size_of::<Symbol>()
            + self.ids.capacity() * size_of::<Key>()
            + self.attributes.capacity() * size_of::<Value>()
            + self.raw_ends.capacity() * size_of::<usize>()
            + self.text.bytes()
            + self.raw.capacity()
    }

    /// Records in the batch.
    #[inline]
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }

    /// Attributes a record.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Appends a record; `attributes` gives exactly [`width`](Self::width) values (missing ones are filled, surplus dropped).
    #[inline]
    pub fn push<'v>(&mut self, row: &Row<'_>, attributes: impl IntoIterator<Item = ValueRef<'v>>) {
        self.ordinals.push(row.ordinal);
        self.lines.push(row.line);
        self.ts.push(row.ts);
        self.operations.push(row.operation);
        self.has_events |= row.operation == Operation::Insert && row.source.is_empty();
        let ends = [self.text.insert(row.source), self.text.insert(row.target)];
        self.ends.push(ends);
        self.labels.push([row.source_label, row.label, row.target_label]);
        if row.stream != Symbol::ABSENT || !self.streams.is_empty() {
            self.streams.resize(self.ts.len() - 1, Symbol::ABSENT);
            self.streams.push(row.stream);
        }
        let id = self.text.insert_id(row.id);
        self.ids.push(id);
        for value in attributes.into_iter().take(self.width) {
            let value = Value::store(value, &mut self.text);
            self.attributes.push(value);
        }
        self.attributes.resize(self.ts.len() * self.width, Value::Null);
        self.raw.extend_from_slice(row.raw);
        self.raw_ends.push(self.raw.len());
    }

    /// The texts of the batch, for keys of records to [`append`](Self::append).
    pub fn text_mut(&mut self) -> &mut TextArena {
        &mut self.text
    }

    /// Appends many records.
    pub fn append(&mut self, mut bulk: Bulk) {
        let mut all = self.lend();
        let rows = bulk.ts.len();
        append(&mut all.ts, &mut bulk.ts);
        append(&mut all.ends, &mut bulk.ends);
        append(&mut all.labels, &mut bulk.labels);
        append(&mut all.ids, &mut bulk.ids);
        append(&mut all.attributes, &mut bulk.attributes);
        let streams = std::mem::take(&mut bulk.streams);
        self.take_back(all, (rows, bulk.ordinal, bulk.line));
        if !streams.is_empty() || !self.streams.is_empty() {
            self.streams.resize(self.ts.len() - rows, Symbol::ABSENT);
            self.streams.extend(streams);
            self.streams.resize(self.ts.len(), Symbol::ABSENT);
        }
    }

    /// Lends the columns, to append records to. They must be [taken back](Self::take_back).
    pub fn lend(&mut self) -> Columns {
        Columns {
            ts: std::mem::take(&mut self.ts),
            ends: std::mem::take(&mut self.ends),
            labels: std::mem::take(&mut self.labels),
            ids: std::mem::take(&mut self.ids),
            attributes: std::mem::take(&mut self.attributes),
        }
    }

    /// Takes columns back: so many records were appended, the first with this ordinal and of this line. Each is an insertion.
    pub fn take_back(&mut self, columns: Columns, (rows, ordinal, line): (usize, u64, u64)) {
        let before = self.ordinals.len();
        let Columns { mut ts, mut ends, mut labels, mut ids, mut attributes } = columns;
        // What is more was given up.
        ts.truncate(before + rows);
        ends.truncate(before + rows);
        labels.truncate(before + rows);
        ids.truncate(before + rows);
        attributes.truncate((before + rows) * self.width);
        debug_assert!([ts.len(), ends.len(), labels.len(), ids.len()] == [before + rows; 4]);
        debug_assert_eq!(attributes.len(), (before + rows) * self.width);
        self.ordinals.extend((0..rows as u64).map(|row| ordinal + row));
        self.lines.extend((0..rows as u64).map(|row| line + row));
        self.operations.resize(before + rows, Operation::Insert);
        self.has_events |= ends[before..].iter().any(|ends| ends[0].is_empty());
        if !self.streams.is_empty() {
            self.streams.resize(before + rows, Symbol::ABSENT);
        }
        self.raw_ends.resize(before + rows, self.raw.len());
        (self.ts, self.ends, self.labels, self.ids, self.attributes) = (ts, ends, labels, ids, attributes);
    }

    /// Gives the last records their raw bytes, one slice each; they must have none yet.
    pub fn give_raw<'r>(&mut self, raw: impl ExactSizeIterator<Item = &'r [u8]>) {
        let first = self.raw_ends.len() - raw.len();
        for (end, bytes) in self.raw_ends[first..].iter_mut().zip(raw) {
            self.raw.extend_from_slice(bytes);
            *end = self.raw.len();
        }
    }

    /// Bytes of all records as they came, with a line end each.
    pub fn raw_bytes(&self) -> usize {
        self.raw.len() + self.len()
    }

    /// The line after the last one of the last record; None if there is no record.
    pub fn next_line(&self) -> Option<u64> {
        let last = self.len().checked_sub(1)?;
        Some(self.lines[last] + self.raw(last).split(|&byte| byte == b'\n').count() as u64)
    }

    /// Appends a record of another batch of the same width.
    pub fn push_from(&mut self, other: &Self, index: usize) {
        self.push(&other.row(index), other.attributes(index));
    }

    /// The records at these places.
    #[must_use]
    pub fn at(&self, places: impl IntoIterator<Item = usize>) -> Self {
        let mut kept = Self::new(self.width);
        places.into_iter().for_each(|index| kept.push_from(self, index));
        kept
    }

    /// The records at these places, each with another ordinal.
    #[must_use]
    pub fn renumbered(&self, places: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let mut kept = Self::new(self.width);
        places.into_iter().for_each(|(index, ordinal)| kept.push(&Row { ordinal, ..self.row(index) }, self.attributes(index)));
        kept
    }

    /// The records of several streams as those of one without a name, and the ordinal that follows. Ordinals, and ids that were
    /// made, count records from `first` on.
    #[must_use]
    pub fn as_one_stream(&self, first: u64) -> (Self, u64) {
        let mut one = Self::new(self.width);
        let mut next = first;
        for index in 0..self.len() {
            let continues = self.continues(index) && self.stream(index) == self.stream(index - 1);
            next += u64::from(!continues);
            let (row, ordinal) = (self.row(index), next - 1);
            let id = if row.id.is_made() { IdRef::made(ordinal, row.id.clause()) } else { row.id };
            one.push(&Row { ordinal, id, stream: Symbol::ABSENT, ..row }, self.attributes(index));
        }
        (one, next)
    }

    /// The records with these edge labels, or all if none are given, and all deletions, each with the attributes of these
    /// columns.
    #[must_use]
    pub fn narrowed(&self, labels: Option<&[Symbol]>, columns: &[usize]) -> Self {
        let mut kept = Self::new(columns.len());
        for index in 0..self.len() {
            let row = self.row(index);
            if row.operation == Operation::Delete || labels.is_none_or(|labels| labels.contains(&row.label)) {
                kept.push(&row, columns.iter().map(|&column| self.attribute(index, column)));
            }
        }
        kept
    }

    /// The records with other columns of attributes: each is one of these, or null where none is given or there is none.
    #[must_use]
    pub fn laid_out(&self, columns: &[Option<usize>]) -> Self {
        let mut laid_out = Self::new(columns.len());
        for index in 0..self.len() {
            laid_out.push(&self.row(index), self.laid_out_row(index, columns));
        }
        laid_out
    }

    /// The records with these columns of attributes, as of [`laid_out`](Self::laid_out), and without their bytes as they came.
    #[must_use]
    pub fn bare(&self, columns: &[Option<usize>]) -> Self {
        let mut bare = Self::new(columns.len());
        for index in 0..self.len() {
            bare.push(&Row { raw: b"", ..self.row(index) }, self.laid_out_row(index, columns));
        }
        bare
    }

    fn laid_out_row<'b>(&'b self, index: usize, columns: &'b [Option<usize>]) -> impl Iterator<Item = ValueRef<'b>> {
        columns.iter().map(move |column| {
            column.filter(|&column| column < self.width).map_or(ValueRef::Null, |column| self.attribute(index, column))
        })
    }

    /// The records' bytes as they came, each on its own line of a text that begins with the line `first`. Lines that are no
    /// record's are empty. Of rows that one record gave, the first has them.
    pub fn raw_text(&self, first: u64) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.raw.len() + self.len());
        let mut line = first;
        for index in (0..self.len()).filter(|&index| !self.continues(index)) {
            let raw = self.raw(index);
            let missing = self.lines[index].saturating_sub(line);
            text.resize(text.len() + missing as usize, b'\n');
            text.extend_from_slice(raw);
            text.push(b'\n');
            line += missing + raw.split(|&byte| byte == b'\n').count() as u64;
        }
        text
    }

    /// Reads a record.
    pub fn row(&self, index: usize) -> Row<'_> {
        let [source_label, label, target_label] = self.labels[index];
        Row {
            ordinal: self.ordinals[index],
            line: self.lines[index],
            ts: self.ts[index],
            operation: self.operations[index],
            source: self.source(index),
            target: self.target(index),
            label,
            source_label,
            target_label,
            stream: self.stream(index),
            id: self.id(index),
            raw: self.raw(index),
        }
    }

    /// 0-based ordinal of a record in its stream.
    #[inline]
    pub fn ordinal(&self, index: usize) -> u64 {
        self.ordinals[index]
    }

    /// Whether the record that gave a row gave the one before it, too.
    pub fn continues(&self, index: usize) -> bool {
        index > 0 && self.ordinals[index] == self.ordinals[index - 1] && self.lines[index] == self.lines[index - 1]
    }

    /// Event times.
    #[inline]
    pub fn ts(&self) -> &[Time] {
        &self.ts
    }

    /// What each record does.
    #[inline]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Labels of source, edge and target.
    #[inline]
    pub fn labels(&self) -> &[[Symbol; 3]] {
        &self.labels
    }

    /// The stream that a record is of; [`Symbol::ABSENT`] where all records are of one.
    #[inline]
    pub fn stream(&self, index: usize) -> Symbol {
        self.streams.get(index).copied().unwrap_or(Symbol::ABSENT)
    }

    /// Source vertex of a record.
    #[inline]
    pub fn source(&self, index: usize) -> KeyRef<'_> {
        self.text.get(self.ends[index][0])
    }

    /// Target vertex of a record.
    #[inline]
    pub fn target(&self, index: usize) -> KeyRef<'_> {
        self.text.get(self.ends[index][1])
    }

    /// Whether some record is an event.
    pub fn has_events(&self) -> bool {
        self.has_events
    }

    /// Whether a record adds an edge.
    #[inline]
    pub fn is_edge(&self, index: usize) -> bool {
        self.operations[index] == Operation::Insert && !self.ends[index][0].is_empty()
    }

    /// Whether a record is an event: it adds something that has no ends.
    #[inline]
    pub fn is_event(&self, index: usize) -> bool {
        self.has_events && self.operations[index] == Operation::Insert && self.ends[index][0].is_empty()
    }

    /// How many edges the records of a range add.
    pub fn edges(&self, range: Range<usize>) -> u64 {
        range.map(|index| u64::from(self.is_edge(index))).sum()
    }

    /// Id of a record.
    #[inline]
    pub fn id(&self, index: usize) -> IdRef<'_> {
        self.text.get_id(self.ids[index])
    }

    /// One attribute of a record.
    #[inline]
    pub fn attribute(&self, index: usize, column: usize) -> ValueRef<'_> {
        self.attributes[index * self.width + column].get(&self.text)
    }

    /// All attributes of a record.
    pub fn attributes(&self, index: usize) -> impl Iterator<Item = ValueRef<'_>> {
        self.attributes[index * self.width..(index + 1) * self.width].iter().map(|value| value.get(&self.text))
    }

    /// A record's bytes as they came.
    pub fn raw(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.raw_ends[index - 1] };
        &self.raw[start..self.raw_ends[index]]
    }
}

/// Appends a column to another; the first one is taken as it is.
fn append<T>(column: &mut Vec<T>, more: &mut Vec<T>) {
    if column.is_empty() {
        std::mem::swap(column, more);
    } else {
        column.append(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gives_back_its_records_and_fills_missing_attributes() {
        let mut batch = EdgeBatch::new(2);
        let row = Row {
            ordinal: 7,
            line: 9,
            ts: -5,
            operation: Operation::Insert,
            source: KeyRef::parse("10.0.0.7"),
            target: KeyRef::parse("42"),
            label: Symbol(3),
            source_label: Symbol::ABSENT,
            target_label: Symbol(4),
            stream: Symbol(5),
            id: IdRef::Made(7),
            raw: b"raw bytes",
        };
        batch.push(&row, [ValueRef::Text("S0")]);
        let mut copy = EdgeBatch::new(2);
        copy.push_from(&batch, 0);
        for batch in [batch, copy] {
            let read = batch.row(0);
            assert_eq!((read.source, read.target, read.id), (row.source, row.target, row.id));
            assert_eq!((read.ts, read.raw, read.line, read.stream), (-5, row.raw, 9, Symbol(5)));
            assert_eq!(batch.attributes(0).collect::<Vec<_>>(), [ValueRef::Text("S0"), ValueRef::Null]);
            assert_eq!(batch.raw_text(7), b"\n\nraw bytes\n");
            let mut twice = batch.at([0, 0]);
            assert!(!twice.continues(0) && twice.continues(1));
            twice.push(&Row { ordinal: 8, line: 10, raw: b"next", ..row }, []);
            assert_eq!(twice.raw_text(9), b"raw bytes\nnext\n");
            assert_eq!((batch.at([]).len(), batch.at([0, 0]).len()), (0, 2));
            let laid_out = batch.laid_out(&[None, Some(7), Some(0)]);
            assert_eq!(laid_out.attributes(0).collect::<Vec<_>>(), [ValueRef::Null, ValueRef::Null, ValueRef::Text("S0")]);
            assert_eq!((laid_out.row(0).id, laid_out.row(0).line, laid_out.raw(0)), (row.id, 9, row.raw));
        }
    }
}
