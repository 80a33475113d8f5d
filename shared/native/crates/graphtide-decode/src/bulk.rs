//! Decodes records without faults, a column at a time.
//!
//! A column costs one loop. Records with anything else among them (a fault, a deletion, an empty field that must not be) are left
//! to the way record by record. That looks at each, and what both give is the same.

use graphtide_graph::Time;
use graphtide_graph::batch::Columns;
use graphtide_graph::key::{Gathering, IdRef, Key};
use graphtide_graph::symbol::Symbol;
use graphtide_graph::value::{Value, ValueRef};

use crate::column::Column;
use crate::columns::Layout;
use crate::types::{AttributeType, Projection};
use crate::writer::{Target, Writer};

/// Records whose fields are known by their places.
pub(crate) trait Records<'t>: Copy {
    /// How many there are.
    fn count(self) -> usize;

    /// The line of the first; each other one is on the next.
    fn line(self) -> u64;

    /// A time; None if the field is none.
    fn time(self, row: usize, place: usize) -> Option<Time>;

    /// The bytes of the text of a vertex or an id; None if the field cannot be one.
    fn key(self, row: usize, place: usize) -> Option<&'t [u8]>;

    /// Whether the fields of a place are texts.
    fn has_texts(self, place: usize) -> bool;

    /// The text of a field of a place that has texts.
    fn text(self, row: usize, place: usize) -> &'t str;

    /// The bytes of that text.
    fn bytes(self, row: usize, place: usize) -> &'t [u8];

    /// The value of an attribute; None if it is not of this type.
    fn value(self, row: usize, place: usize, kind: AttributeType) -> Option<ValueRef<'t>>;

    /// The bytes as they came.
    fn raw(self, row: usize) -> &'t str;
}

/// Appends all records to the batch, or none of them: then it returns false, and each needs a look of its own.
pub(crate) fn write_all<'t>(
    records: impl Records<'t>,
    (layout, projection): (&Layout, &Projection),
    writer: &mut Writer,
    target: &mut Target<'_>,
) -> bool {
    let mut columns = target.batch.lend();
    let is_whole = fill(&mut columns, records, (layout, projection), writer, target).is_some();
    let rows = if is_whole { records.count() } else { 0 };
    target.batch.take_back(columns, (rows, writer.ordinal(), records.line()));
    if is_whole {
        writer.count(target, (0..rows).map(|row| records.raw(row)));
    }
    is_whole
}

fn fill<'t>(
    columns: &mut Columns,
    records: impl Records<'t>,
    (layout, projection): (&Layout, &Projection),
    writer: &mut Writer,
    target: &mut Target<'_>,
) -> Option<()> {
    let Columns { ts, ends, labels, ids, attributes } = columns;
    let (rows, before, ordinal, latest) = (records.count(), ts.len(), writer.ordinal(), writer.latest());
    ts.reserve(rows);
    let place = layout.get(Column::Ts)?;
    for row in 0..rows {
        ts.push(records.time(row, place).filter(|ts| *ts <= latest)?);
    }
    if let Some(place) = layout.get(Column::Operation) {
        let is_insertion = |row| matches!(records.bytes(row, place), b"" | b"insert");
        if !records.has_texts(place) || !(0..rows).all(is_insertion) {
            return None;
        }
    }
    for (place, kind) in layout.attributes.iter().zip(&projection.types).skip(projection.wanted) {
        if let Some(place) = place
            && !(0..rows).all(|row| records.value(row, *place, *kind).is_some())
        {
            return None;
        }
    }
    let mut texts = target.batch.text_mut().gather(&mut writer.room);
    ends.resize(before + rows, [Key::EMPTY; 2]);
    if !layout.is_events {
        let (source, target) = (layout.get(Column::Source)?, layout.get(Column::Target)?);
        for (row, ends) in ends[before..].iter_mut().enumerate() {
            *ends = [present(records.key(row, source)?, &mut texts)?, present(records.key(row, target)?, &mut texts)?];
        }
    }
    ids.reserve(rows);
    for row in 0..rows {
        let given = match layout.get(Column::Id) {
            Some(place) => present(records.key(row, place)?, &mut texts),
            None => None,
        };
        ids.push(given.unwrap_or_else(|| texts.insert_id(IdRef::Made(ordinal + row as u64))));
    }
    let width = projection.wanted;
    attributes.resize((before + rows) * width, Value::Null);
    for (column, (place, kind)) in layout.attributes.iter().zip(&projection.types).take(width).enumerate() {
        if let Some(place) = place {
            for (row, value) in attributes[before * width + column..].iter_mut().step_by(width).enumerate() {
                *value = Value::gather(records.value(row, *place, *kind)?, &mut texts);
            }
        }
    }
    drop(texts);
    labels.reserve(rows);
    write_labels(labels, records, layout, writer, target)
}

/// The labels of source, edge and target; looked up row by row, since a table that is full knows those that came first.
fn write_labels<'t>(
    labels: &mut Vec<[Symbol; 3]>,
    records: impl Records<'t>,
    layout: &Layout,
    writer: &mut Writer,
    target: &mut Target<'_>,
) -> Option<()> {
    // In this order labels get their numbers.
    let places = [Column::Label, Column::SourceLabel, Column::TargetLabel].map(|column| layout.get(column));
    if places.into_iter().flatten().any(|place| !records.has_texts(place)) {
        return None;
    }
    let default = if layout.is_events { Symbol::ABSENT } else { writer.label() };
    for row in 0..records.count() {
        let [label, source, end] = places.map(|place| match place {
            Some(place) => {
                let known = writer.known(records.bytes(row, place));
                known.unwrap_or_else(|| writer.intern(records.text(row, place), target.symbols))
            }
            None => Symbol::ABSENT,
        });
        let label = if label == Symbol::ABSENT { default } else { label };
        if label == Symbol::ABSENT {
            return None;
        }
        labels.push([source, label, end]);
    }
    Some(())
}

/// The key of a text; None if it is empty.
#[inline]
fn present(text: &[u8], texts: &mut Gathering<'_>) -> Option<Key> {
    (!text.is_empty()).then(|| texts.insert_text(text))
}
