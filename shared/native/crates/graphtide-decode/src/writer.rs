//! What all decoders do with a record once its fields are split: check it, number it, add it to the batch or reject it.
//!
//! Invariant: every record, good or bad, advances the ordinal by one. A record in the batch has a source, a target and a label.
//! Or it is an event with a label alone, its type, or a deletion with an id. None of its texts is longer than a batch can hold.

use graphtide_graph::Time;
use graphtide_graph::batch::{Bulk, DeadLetter, EdgeBatch, Operation, Row};
use graphtide_graph::key::{IdRef, KeyRef, MAX_TEXT};
use graphtide_graph::symbol::{SharedSymbols, Symbol, SymbolTable};
use graphtide_graph::value::ValueRef;

use crate::column::Column;
use crate::error::{RowError, shorten};
use crate::labels::LabelCache;

/// Replaces a rejected record in a text: ASCII's SUBSTITUTE character.
pub const SUBSTITUTE: &[u8] = b"\x1a";

/// A label as a format gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Label<'a> {
    /// Its text.
    Text(&'a str),
    /// Its number, looked up before; [`Symbol::ABSENT`] is the empty text.
    Known(Symbol),
}

/// A record with split but unchecked fields; None is a missing field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft<'a> {
    /// Whether it is an event, whose label is its type: then it has no ends.
    pub(crate) is_event: bool,
    pub(crate) ts: Time,
    pub(crate) source: Option<KeyRef<'a>>,
    pub(crate) target: Option<KeyRef<'a>>,
    pub(crate) label: Option<Label<'a>>,
    pub(crate) source_label: Option<Label<'a>>,
    pub(crate) target_label: Option<Label<'a>>,
    pub(crate) stream: Option<Label<'a>>,
    pub(crate) id: Option<IdRef<'a>>,
    pub(crate) operation: Option<&'a str>,
}

const NO_LABEL: Label<'static> = Label::Known(Symbol::ABSENT);

/// Where records go during one feed.
pub(crate) struct Target<'t> {
    pub(crate) symbols: &'t mut SymbolTable,
    pub(crate) batch: &'t mut EdgeBatch,
    pub(crate) dead: &'t mut Vec<DeadLetter>,
}

/// What a decoder remembers from record to record.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) symbols: SharedSymbols,
    pub(crate) keep_raw: bool,
    substitutes: bool,
    labels: LabelCache,
    /// Room for texts on their way into a batch, kept for its memory alone.
    pub(crate) room: Vec<u8>,
    ordinal: u64,
    latest: Time,
    /// Label of edges that have none; [`Symbol::ABSENT`] if they must have one.
    label: Symbol,
}

impl Writer {
    pub(crate) fn new(symbols: SharedSymbols, keep_raw: bool, substitutes: bool) -> Self {
        let (labels, label) = (LabelCache::default(), Symbol::ABSENT);
        Self { symbols, keep_raw, substitutes, labels, room: Vec::new(), ordinal: 0, latest: Time::MAX, label }
    }

    /// Returns the same for edges that have this label if they have none.
    pub(crate) fn labelling(self, label: Option<&str>) -> Self {
        let label = label.map_or(Symbol::ABSENT, |label| self.symbols.lock().intern(label));
        Self { label, ..self }
    }

    /// Label of edges that have none; [`Symbol::ABSENT`] if they must have one.
    pub(crate) fn label(&self) -> Symbol {
        self.label
    }

    /// Ordinal of the next record.
    pub(crate) fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// Sets the ordinal of the next record.
    pub(crate) fn start_at(&mut self, ordinal: u64) {
        self.ordinal = ordinal;
    }

    /// The latest time that is accepted.
    pub(crate) fn latest(&self) -> Time {
        self.latest
    }

    /// Refuses records that are later than this, from the next on.
    pub(crate) fn accept_until(&mut self, latest: Time) {
        self.latest = latest;
    }

    /// Looks a label up.
    #[inline]
    pub(crate) fn intern(&mut self, label: &str, table: &mut SymbolTable) -> Symbol {
        self.labels.intern(label, table)
    }

    /// The number of a label that was looked up lately.
    #[inline]
    pub(crate) fn known(&self, label: &[u8]) -> Option<Symbol> {
        self.labels.find(label)
    }

    /// The label of an edge that has none, if it needs none.
    #[cold]
    fn label_of_unlabelled<'a>(&self, given: Option<Label<'a>>) -> Result<Label<'a>, RowError> {
        if self.label == Symbol::ABSENT { present_label(given, Column::Label) } else { Ok(Label::Known(self.label)) }
    }

    /// Rejects a bad record, unless it was rejected before.
    #[cold]
    pub(crate) fn reject(&mut self, target: &mut Target<'_>, line: u64, error: &RowError, raw: &[u8]) {
        self.ordinal += 1;
        if self.substitutes && raw == SUBSTITUTE {
            return;
        }
        target.dead.push(DeadLetter { line, reason: error.to_string(), raw: raw.to_vec() });
    }

    /// Appends a record to the batch, unless it is bad.
    #[inline]
    pub(crate) fn write<'v>(
        &mut self,
        target: &mut Target<'_>,
        line: u64,
        draft: &Draft<'_>,
        attributes: impl Iterator<Item = ValueRef<'v>>,
        raw: &[u8],
    ) -> Result<(), RowError> {
        if draft.ts > self.latest {
            return Err(RowError::future(draft.ts, self.latest));
        }
        let operation = parse_operation(draft.operation)?;
        let id = draft.id.filter(|id| *id != IdRef::Given(KeyRef::ABSENT));
        let (source, target_key, label) = match operation {
            Operation::Insert if draft.is_event => (KeyRef::ABSENT, KeyRef::ABSENT, present_label(draft.label, Column::Type)?),
            Operation::Insert => {
                let label = |label| match label {
                    None | Some(Label::Text("") | Label::Known(Symbol::ABSENT)) => self.label_of_unlabelled(label),
                    Some(label) => Ok(label),
                };
                (present(draft.source, Column::Source)?, present(draft.target, Column::Target)?, label(draft.label)?)
            }
            Operation::Delete if id.is_none_or(IdRef::is_made) => return Err(RowError::DeleteWithoutId),
            Operation::Delete => {
                let end = |key: Option<_>| key.unwrap_or(KeyRef::ABSENT);
                (end(draft.source), end(draft.target), draft.label.unwrap_or(NO_LABEL))
            }
        };
        let (ordinal, keep_raw) = (self.ordinal, self.keep_raw);
        let id = id.unwrap_or(IdRef::Made(ordinal));
        check_key(source, Column::Source)?;
        check_key(target_key, Column::Target)?;
        if let IdRef::Given(id) = id {
            check_key(id, Column::Id)?;
        }
        let mut symbol = |label: Label<'_>| match label {
            Label::Text(text) => self.intern(text, target.symbols),
            Label::Known(symbol) => symbol,
        };
        let row = Row {
            ordinal,
            line,
            ts: draft.ts,
            operation,
            source,
            target: target_key,
            label: symbol(label),
            source_label: symbol(draft.source_label.filter(|_| !draft.is_event).unwrap_or(NO_LABEL)),
            target_label: symbol(draft.target_label.filter(|_| !draft.is_event).unwrap_or(NO_LABEL)),
            stream: symbol(draft.stream.unwrap_or(NO_LABEL)),
            id,
            raw: if keep_raw { raw } else { b"" },
        };
        target.batch.push(&row, attributes);
        self.ordinal += 1;
        Ok(())
    }
}

/// An edge, event or deletion that a record gives, checked already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) operation: Operation,
    /// [`KeyRef::ABSENT`] for an event and a deletion, as the target is.
    pub(crate) source: KeyRef<'a>,
    pub(crate) target: KeyRef<'a>,
    pub(crate) label: Symbol,
    pub(crate) source_label: Symbol,
    pub(crate) target_label: Symbol,
    pub(crate) id: IdRef<'a>,
}

impl<'a> Given<'a> {
    /// An event whose type is still to be set.
    pub(crate) fn event(id: IdRef<'a>) -> Self {
        let [source, target] = [KeyRef::ABSENT; 2];
        let [label, source_label, target_label] = [Symbol::ABSENT; 3];
        Self { operation: Operation::Insert, source, target, label, source_label, target_label, id }
    }

    /// A deletion.
    pub(crate) fn deletion(id: IdRef<'a>) -> Self {
        Self { operation: Operation::Delete, ..Self::event(id) }
    }
}

impl Writer {
    /// Counts a record that gives nothing, and is not bad.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.ordinal += 1;
    }

    /// Appends the only thing that a record gives, unless it is later than what is accepted.
    #[inline]
    pub(crate) fn write_one<'v>(
        &mut self,
        target: &mut Target<'_>,
        (line, ts, raw): (u64, Time, &[u8]),
        given: &Given<'_>,
        attributes: impl Iterator<Item = ValueRef<'v>>,
    ) -> Result<(), RowError> {
        if ts > self.latest {
            return Err(RowError::future(ts, self.latest));
        }
        target.batch.push(&self.row(line, ts, raw, given), attributes);
        self.ordinal += 1;
        Ok(())
    }

    /// Appends what many records give, one thing each; `raw` are their bytes.
    pub(crate) fn append<'r>(&mut self, target: &mut Target<'_>, bulk: Bulk, raw: impl ExactSizeIterator<Item = &'r str>) {
        target.batch.append(bulk);
        self.count(target, raw);
    }

    /// Counts records that were just appended; `raw` are their bytes.
    pub(crate) fn count<'r>(&mut self, target: &mut Target<'_>, raw: impl ExactSizeIterator<Item = &'r str>) {
        self.ordinal += raw.len() as u64;
        if self.keep_raw {
            target.batch.give_raw(raw.map(str::as_bytes));
        }
    }

    /// The row of what a record gives.
    #[inline]
    fn row<'a>(&self, line: u64, ts: Time, raw: &'a [u8], given: &Given<'a>) -> Row<'a> {
        let Given { operation, source, target, label, source_label, target_label, id } = *given;
        let (ordinal, stream, raw) = (self.ordinal, Symbol::ABSENT, if self.keep_raw { raw } else { b"" });
        Row { ordinal, line, ts, operation, source, target, label, source_label, target_label, stream, id, raw }
    }

    /// Appends all that one record gives, or nothing if it is later than what is accepted. `width` of the values belong to each
    /// row.
    #[inline]
    pub(crate) fn write_given(
        &mut self,
        target: &mut Target<'_>,
        (line, ts, raw): (u64, Time, &[u8]),
        rows: &[Given<'_>],
        (values, width): (&[ValueRef<'_>], usize),
    ) -> Result<(), RowError> {
        if ts > self.latest && !rows.is_empty() {
            return Err(RowError::future(ts, self.latest));
        }
        for (place, given) in rows.iter().enumerate() {
            let row = self.row(line, ts, raw, given);
            target.batch.push(&row, values[place * width..(place + 1) * width].iter().copied());
        }
        self.ordinal += 1;
        Ok(())
    }
}

/// Refuses a text that a batch could not hold whole.
#[inline]
pub(crate) fn check_text(text: &str, column: &str) -> Result<(), RowError> {
    if text.len() > MAX_TEXT {
        return Err(RowError::TextTooLong { column: column.to_owned(), length: text.len(), limit: MAX_TEXT });
    }
    Ok(())
}

#[inline]
fn check_key(key: KeyRef<'_>, column: Column) -> Result<(), RowError> {
    match key {
        KeyRef::Number(_) => Ok(()),
        KeyRef::Text(text) => check_text(text, column.name()),
    }
}

#[inline]
fn present(key: Option<KeyRef<'_>>, column: Column) -> Result<KeyRef<'_>, RowError> {
    match key {
        None => Err(RowError::Missing { column: column.name() }),
        Some(key) if key.is_empty() => Err(RowError::Empty { column: column.name() }),
        Some(key) => Ok(key),
    }
}

#[inline]
fn present_label(label: Option<Label<'_>>, column: Column) -> Result<Label<'_>, RowError> {
    let column = column.name();
    match label {
        None => Err(RowError::Missing { column }),
        Some(Label::Text("") | Label::Known(Symbol::ABSENT)) => Err(RowError::Empty { column }),
        Some(label) => Ok(label),
    }
}

#[inline]
fn parse_operation(operation: Option<&str>) -> Result<Operation, RowError> {
    match operation {
        None | Some("" | "insert") => Ok(Operation::Insert),
        Some("delete") => Ok(Operation::Delete),
        Some(other) => Err(RowError::Operation { text: shorten(other) }),
    }
}
