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
use graphtide_graph::symbol::Symbol;
use graphtide_graph::value::{Value, ValueRef};

use crate::arrow::{Columns, number_key};
use crate::arrow_columns::{Keys, Texts, Values};
use crate::arrow_ticks::Ticks;
use crate::writer::{Target, Writer};

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
        let mut ends = vec![[Key::EMPTY; 2]; rows];
        if let Some([sources, targets]) = &self.ends {
            let ends = ends.as_flattened_mut();
            write_keys(sources, ends.iter_mut().step_by(2), text)?;
            write_keys(targets, ends.iter_mut().skip(1).step_by(2), text)?;
        }
        let ids = match &self.id {
            None => (0..rows as u64).map(|row| text.insert_id(IdRef::Made(ordinal + row))).collect(),
            Some(keys) => ids(keys, rows, ordinal, text)?,
        };
        let mut attributes = vec![Value::Null; rows * self.attributes.len()];
        let width = self.attributes.len();
        for (place, values) in self.attributes.iter().enumerate() {
            if let Some(values) = values {
                write_values(values, attributes[place..].iter_mut().step_by(width), text)?;
            }
        }
        let mut labels = vec![[Symbol::ABSENT, writer.label(), Symbol::ABSENT]; rows];
        for (place, column) in [&mut self.source_label, &mut self.label, &mut self.target_label].into_iter().enumerate() {
            if let Some(column) = column {
                column.write(labels.as_flattened_mut()[place..].iter_mut().step_by(3), writer, target.symbols)?;
            }
        }
        if labels.iter().any(|[_, label, _]| *label == Symbol::ABSENT) {
            return None;
        }
        let mut streams = Vec::new();
        if let Some(column) = &mut self.streams {
            streams.resize(rows, Symbol::ABSENT);
            column.write(streams.iter_mut(), writer, target.symbols)?;
        }
        Some(Bulk { ordinal, line, ts: ts.to_vec(), ends, labels, streams, ids, attributes })
    }
}

/// Writes the keys of a column without a missing one; None if there is one, or one that a batch cannot hold.
fn write_keys<'k>(keys: &Keys<'_>, mut places: impl Iterator<Item = &'k mut Key>, arena: &mut TextArena) -> Option<()> {
    match keys {
        Keys::Signed(numbers) if !numbers.has_missing() => {
            for (place, number) in places.zip(numbers.values()) {
                *place = arena.insert(number_key(*number, &mut itoa::Buffer::new()));
            }
            Some(())
        }
        Keys::Texts(Texts::Utf8(array)) if array.null_count() == 0 => {
            let offsets = array.value_offsets();
            write_plain(array.value_data(), offsets.iter().map(|offset| offset.as_usize()), places, arena)
        }
        Keys::Texts(Texts::Large(array)) if array.null_count() == 0 => {
            let offsets = array.value_offsets();
            write_plain(array.value_data(), offsets.iter().map(|offset| offset.as_usize()), places, arena)
        }
        Keys::Texts(Texts::Dictionary { codes, nulls: None, values, distinct }) if *distinct > codes.len() => {
            codes.try_each(|code| {
                *places.next()? = present(values.get(code)?, arena)?;
                Some(())
            })
        }
        Keys::Texts(Texts::Dictionary { codes, nulls: None, values, distinct }) => {
            // A value that no row has may be missing, or empty: each is looked at with the first row that has it.
            let mut known = vec![Key::EMPTY; *distinct];
            codes.try_each(|code| {
                let known = known.get_mut(code)?;
                if known.is_empty() {
                    *known = present(values.get(code)?, arena)?;
                }
                *places.next()? = *known;
                Some(())
            })
        }
        _ => None,
    }
}

/// Writes the keys of texts that lie end to end between offsets: they are copied in one piece.
fn write_plain<'k>(
    texts: &[u8],
    mut offsets: impl Iterator<Item = usize> + Clone,
    places: impl Iterator<Item = &'k mut Key>,
    arena: &mut TextArena,
) -> Option<()> {
    let (first, last) = (offsets.clone().next()?, offsets.clone().last()?);
    let texts = from_utf8(texts.get(first..last)?).ok()?;
    let begin = arena.append(texts);
    let mut start = offsets.next()? - first;
    for (end, place) in offsets.zip(places) {
        let end = end - first;
        let text = texts.get(start..end)?;
        *place = match KeyRef::parse(text) {
            _ if text.is_empty() || text.len() > MAX_TEXT => return None,
            KeyRef::Text(_) => arena.part(begin + start, text.len()),
            number @ KeyRef::Number(_) => arena.insert(number),
        };
        start = end;
    }
    Some(())
}

#[inline]
fn present(text: &str, arena: &mut TextArena) -> Option<Key> {
    (!text.is_empty() && text.len() <= MAX_TEXT).then(|| arena.insert(KeyRef::parse(text)))
}

/// The ids of a column; where one is missing, that of the record's number.
fn ids(keys: &Keys<'_>, rows: usize, first: u64, arena: &mut TextArena) -> Option<Vec<Key>> {
    let mut written = vec![Key::EMPTY; rows];
    if write_keys(keys, written.iter_mut(), arena).is_some() {
        return Some(written);
    }
    let Keys::Texts(texts) = keys else { return None };
    let id = |row: usize| match texts.get(row) {
        None | Some("") => Some(arena.insert_id(IdRef::Made(first + row as u64))),
        Some(text) => present(text, arena),
    };
    (0..rows).map(id).collect()
}

/// Writes the values of an attribute.
fn write_values<'v>(values: &Values<'_>, mut places: impl Iterator<Item = &'v mut Value>, arena: &mut TextArena) -> Option<()> {
    match values {
        Values::Signed(numbers) if !numbers.has_missing() => {
            for (place, number) in places.zip(numbers.values()) {
                *place = Value::Int(*number);
            }
        }
        Values::Texts(Texts::Dictionary { codes, nulls: None, values, distinct }) if *distinct <= codes.len() => {
            let mut known = vec![None; *distinct];
            codes.try_each(|code| {
                let known = known.get_mut(code)?;
                *places.next()? = match *known {
                    Some(value) => value,
                    None => *known.insert(text_value(values.get(code), arena)?),
                };
                Some(())
            })?;
        }
        _ => {
            for (row, place) in places.enumerate() {
                values.check(row, "").ok()?;
                let value = values.get(row);
                *place = if value == ValueRef::Null { Value::Null } else { Value::store(value, arena) };
            }
        }
    }
    Some(())
}

/// The value of a text; None if a batch cannot hold it.
fn text_value(text: Option<&str>, arena: &mut TextArena) -> Option<Value> {
    match text {
        None => Some(Value::Null),
        Some(text) => (text.len() <= MAX_TEXT).then(|| Value::store(ValueRef::Text(text), arena)),
    }
}
