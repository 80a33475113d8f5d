//! Decodes record batches without faults, a whole column at a time.
//!
//! Most rows are plain insertions with all they need. Then a column costs one loop: texts go into the batch in one piece, those
//! of a dictionary once each. A batch with anything else in it, or of a rare type, is left to the row-by-row path, which checks
//! each row. What both give is the same.

use std::str::from_utf8;

use arrow_array::Array;
use arrow_buffer::ArrowNativeType;
use graphtide_graph::batch::Bulk;
use graphtide_graph::key::{IdRef, Key, KeyRef, MAX_TEXT, TextArena};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::{Value, ValueRef};

use crate::arrow::{Columns, number_key};
use crate::arrow_columns::{Keys, Labels, Texts, Values};
use crate::arrow_ticks::Ticks;
use crate::writer::{Label, Target, Writer};

impl Columns<'_> {
    /// Appends all rows to the batch, the first on this line, or none of them. Then it returns false, and each needs a look of
    /// its own.
    pub(crate) fn write_all(&mut self, rows: usize, line: u64, writer: &mut Writer, target: &mut Target<'_>) -> bool {
        let Some(bulk) = self.bulk(rows, line, writer, target) else { return false };
        target.batch.append(bulk);
        writer.start_at(writer.ordinal() + rows as u64);
        true
    }

    fn bulk(&mut self, rows: usize, line: u64, writer: &mut Writer, target: &mut Target<'_>) -> Option<Bulk> {
        let Ticks::Signed(ts) = &self.ts else { return None };
        if rows == 0 || self.made.is_some() || self.events.is_some() || self.operation.is_some() || ts.has_missing() {
            return None;
        }
        let ts = ts.values();
        if ts.iter().copied().max().is_some_and(|newest| newest > writer.latest()) {
            return None;
        }
        let ordinal = writer.ordinal();
        let text = target.batch.text_mut();
        let ends = match &self.ends {
            Some([sources, targets]) => {
                let sources = present_keys(sources, rows, text)?;
                let targets = present_keys(targets, rows, text)?;
                sources.into_iter().zip(targets).map(|(source, target)| [source, target]).collect()
            }
            None => vec![[Key::EMPTY; 2]; rows],
        };
        let ids = match &self.id {
            None => (0..rows as u64).map(|row| text.insert_id(IdRef::Made(ordinal + row))).collect(),
            Some(_) => ids(self.id.as_ref()?, rows, ordinal, text)?,
        };
        let mut attributes = vec![Value::Null; rows * self.attributes.len()];
        let width = self.attributes.len();
        for (place, values) in self.attributes.iter().enumerate() {
            if let Some(values) = values {
                write_values(values, rows, &mut attributes[place..], width, text)?;
            }
        }
        let labels = match &mut self.label {
            Some(labels) => symbols(labels, rows, writer, target.symbols)?,
            None => vec![writer.label(); rows],
        };
        if labels.contains(&Symbol::ABSENT) {
            return None;
        }
        let none = || vec![Symbol::ABSENT; rows];
        let source_labels = match &mut self.source_label {
            Some(labels) => symbols(labels, rows, writer, target.symbols)?,
            None => none(),
        };
        let target_labels = match &mut self.target_label {
            Some(labels) => symbols(labels, rows, writer, target.symbols)?,
            None => none(),
        };
        let streams = match &mut self.streams {
            Some(labels) => symbols(labels, rows, writer, target.symbols)?,
            None => Vec::new(),
        };
        Some(Bulk {
            ordinal,
            line,
            ts: ts.to_vec(),
            ends,
            labels: source_labels.into_iter().zip(labels).zip(target_labels).map(|((s, l), t)| [s, l, t]).collect(),
            streams,
            ids,
            attributes,
        })
    }
}

/// The keys of a column without a missing one; None if there is one, or one that a batch cannot hold.
fn present_keys(keys: &Keys<'_>, rows: usize, arena: &mut TextArena) -> Option<Vec<Key>> {
    match keys {
        Keys::Signed(numbers) if !numbers.has_missing() => {
            Some(numbers.values().iter().map(|number| arena.insert(number_key(*number, &mut itoa::Buffer::new()))).collect())
        }
        Keys::Texts(Texts::Utf8(array)) if array.null_count() == 0 => {
            let offsets = array.value_offsets();
            plain(array.value_data(), offsets.iter().map(|offset| offset.as_usize()), arena)
        }
        Keys::Texts(Texts::Large(array)) if array.null_count() == 0 => {
            let offsets = array.value_offsets();
            plain(array.value_data(), offsets.iter().map(|offset| offset.as_usize()), arena)
        }
        Keys::Texts(Texts::Dictionary { codes, nulls: None, values, distinct }) if *distinct > rows => {
            (0..rows).map(|row| values.get(codes.at(row)).and_then(|text| present(text, arena))).collect()
        }
        Keys::Texts(Texts::Dictionary { codes, nulls: None, values, distinct }) => {
            // A value that no row has may be missing, or empty: each is looked at with the first row that has it.
            let mut known: Vec<Option<Key>> = vec![None; *distinct];
            let mut key = |code: usize| {
                let known = known.get_mut(code)?;
                if known.is_none() {
                    *known = values.get(code).and_then(|text| present(text, arena));
                }
                *known
            };
            (0..rows).map(|row| key(codes.at(row))).collect()
        }
        _ => None,
    }
}

/// The keys of texts that lie end to end between offsets: they are copied in one piece.
fn plain(texts: &[u8], mut offsets: impl Iterator<Item = usize> + Clone, arena: &mut TextArena) -> Option<Vec<Key>> {
    let (first, last) = (offsets.clone().next()?, offsets.clone().last()?);
    let texts = from_utf8(texts.get(first..last)?).ok()?;
    let begin = arena.append(texts);
    let mut start = offsets.next()? - first;
    let mut keys = Vec::with_capacity(offsets.size_hint().0);
    for end in offsets {
        let end = end - first;
        let text = texts.get(start..end)?;
        let key = match KeyRef::parse(text) {
            _ if text.is_empty() || text.len() > MAX_TEXT => return None,
            KeyRef::Text(_) => arena.part(begin + start, text.len()),
            number @ KeyRef::Number(_) => arena.insert(number),
        };
        keys.push(key);
        start = end;
    }
    Some(keys)
}

#[inline]
fn present(text: &str, arena: &mut TextArena) -> Option<Key> {
    (!text.is_empty() && text.len() <= MAX_TEXT).then(|| arena.insert(KeyRef::parse(text)))
}

/// The ids of a column; where one is missing, that of the record's number.
fn ids(keys: &Keys<'_>, rows: usize, first: u64, arena: &mut TextArena) -> Option<Vec<Key>> {
    if let Some(keys) = present_keys(keys, rows, arena) {
        return Some(keys);
    }
    let Keys::Texts(texts) = keys else { return None };
    let id = |row: usize| match texts.get(row) {
        None | Some("") => Some(arena.insert_id(IdRef::Made(first + row as u64))),
        Some(text) => present(text, arena),
    };
    (0..rows).map(id).collect()
}

/// The numbers of labels; a missing one is [`Symbol::ABSENT`].
fn symbols(labels: &mut Labels<'_>, rows: usize, writer: &mut Writer, table: &mut SymbolTable) -> Option<Vec<Symbol>> {
    let symbol = |row| {
        Some(match labels.get(row, writer, table) {
            None => Symbol::ABSENT,
            Some(Label::Known(symbol)) => symbol,
            Some(Label::Text(text)) => writer.intern(text, table),
        })
    };
    (0..rows).map(symbol).collect()
}

/// Writes the values of an attribute into every `width`th place.
fn write_values(values: &Values<'_>, rows: usize, into: &mut [Value], width: usize, arena: &mut TextArena) -> Option<()> {
    let places = into.iter_mut().step_by(width);
    match values {
        Values::Signed(numbers) if !numbers.has_missing() => {
            for (place, number) in places.zip(numbers.values()) {
                *place = Value::Int(*number);
            }
        }
        _ => {
            for (place, row) in places.zip(0..rows) {
                values.check(row, "").ok()?;
                let value = values.get(row);
                *place = if value == ValueRef::Null { Value::Null } else { Value::store(value, arena) };
            }
        }
    }
    Some(())
}
