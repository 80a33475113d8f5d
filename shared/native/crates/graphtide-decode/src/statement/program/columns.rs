//! What many records give, a column at a time: where a statement makes one edge or event of each, of fields and constants alone.
//!
//! Invariant: it is what [`Program::write`] makes of each of them, or nothing. Cost: one loop over the records for each column.

use graphtide_expression::Expression;
use graphtide_graph::batch::Bulk;
use graphtide_graph::key::{Gathering, IdRef, Key, KeyRef};
use graphtide_graph::symbol::Symbol;
use graphtide_graph::value::{Value, ValueRef};

use super::{Attribute, Clause, ClauseGives, LabelSource, Program, TextSource};
use crate::csv::table::Table;
use crate::statement::nulls::Nulls;
use crate::types::AttributeType;
use crate::writer::{Target, Writer};

/// The fields of many records, by the slots of what leads to them.
#[derive(Clone, Copy)]
pub(crate) struct Columns<'t> {
    pub(crate) table: Table<'t>,
    /// Of each slot: where its field is.
    pub(crate) places: &'t [Option<usize>],
    pub(crate) nulls: &'t Nulls,
}

/// What a column of attributes is.
enum Values<'p> {
    Constant(ValueRef<'p>),
    /// Fields of this place, read as values of this type.
    Fields(usize, AttributeType),
}

/// What a column of labels is.
#[derive(Clone, Copy)]
enum Labels {
    Known(Symbol),
    /// Fields of this place.
    Fields(usize),
}

impl<'t> Columns<'t> {
    /// The field of a record; empty if it is missing.
    #[inline]
    fn text(self, row: usize, place: usize) -> &'t str {
        let text = self.table.field(row, place);
        if self.nulls.contain(text) { "" } else { text }
    }

    #[inline]
    fn texts(self, place: usize) -> impl ExactSizeIterator<Item = &'t str> {
        (0..self.table.count).map(move |row| self.text(row, place))
    }

    /// Where the text of a source is, if it is a field.
    fn place(self, source: &TextSource) -> Option<usize> {
        if let TextSource::Slot(slot) = source { self.places[*slot] } else { None }
    }

    fn labels(self, source: &LabelSource) -> Option<Labels> {
        Some(match source {
            LabelSource::Known(symbol) => Labels::Known(*symbol),
            LabelSource::Read(TextSource::Slot(slot)) => {
                self.places[*slot].map_or(Labels::Known(Symbol::ABSENT), Labels::Fields)
            }
            LabelSource::Read(TextSource::Expression(_)) => return None,
        })
    }

    fn values(self, attribute: &Attribute, kind: AttributeType) -> Option<Values<'_>> {
        let missing = Values::Constant(ValueRef::Null);
        let slots = match attribute {
            Attribute::Missing => return Some(missing),
            Attribute::Slot(slot) => std::slice::from_ref(slot),
            Attribute::FirstOf(slots) | Attribute::Written(slots, _) => slots,
            Attribute::Expression(Expression::Constant(value)) => {
                return kind.fits(value.get()).then(|| Values::Constant(value.get()));
            }
            Attribute::Expression(_) => return None,
        };
        let mut places = slots.iter().filter_map(|slot| self.places[*slot]);
        let first = places.next();
        places.next().is_none().then(|| first.map_or(missing, |place| Values::Fields(place, kind)))
    }
}

impl Program {
    /// What all these records give, and whether one of them has an id. None if a record needs a look of its own, or is refused.
    pub(crate) fn bulk(&self, columns: Columns<'_>, writer: &mut Writer, target: &mut Target<'_>) -> Option<(Bulk, bool)> {
        let clause = self.clause_of_all(columns)?;
        let values =
            clause.attributes.iter().zip(&self.attributes.types).map(|(attribute, kind)| columns.values(attribute, *kind));
        let values = values.collect::<Option<Vec<_>>>()?;
        let (wanted, checked) = values.split_at(self.attributes.wanted);
        let (latest, time) = (writer.latest(), |text: &str| self.time.of_written(text));
        let times = columns.texts(columns.places[self.time.slot()?]?);
        // Room first: what is collected into an option grows again and again.
        let mut ts = Vec::with_capacity(columns.table.count);
        for text in times {
            ts.push(time(text).filter(|ts| *ts <= latest)?);
        }
        let refuses = |values: &Values<'_>| match values {
            Values::Constant(_) => false,
            Values::Fields(place, kind) => columns.texts(*place).any(|text| kind.read(text).is_none()),
        };
        if checked.iter().any(refuses) {
            return None;
        }
        let ordinal = writer.ordinal();
        let mut texts = target.batch.text_mut().gather(&mut writer.room);
        let ends = clause.ends(columns, &mut texts)?;
        let (ids, has_ids) = clause.ids(columns, ordinal, &mut texts)?;
        let attributes = attributes(wanted, columns, &mut texts)?;
        drop(texts);
        let labels = clause.labels(columns, self.default_label, writer, target)?;
        let bulk = Bulk { ordinal, line: columns.table.line, ts, ends, labels, streams: Vec::new(), ids, attributes };
        Some((bulk, has_ids))
    }

    /// The clause that gives one edge or event of each record, whatever it holds.
    fn clause_of_all(&self, columns: Columns<'_>) -> Option<&Clause> {
        let clause = match (&self.own, &*self.clauses) {
            (None, [clause]) => clause,
            // Records without types and operations are edges to insert.
            (Some(own), [of_edges, ..]) if [own.operation, own.kind].iter().all(|slot| columns.places[*slot].is_none()) => {
                of_edges
            }
            _ => return None,
        };
        let is_conditional = self.holds.is_some() || self.has_operations() || clause.holds.is_some();
        (!is_conditional).then_some(clause)
    }
}

impl Clause {
    fn ends(&self, columns: Columns<'_>, texts: &mut Gathering<'_>) -> Option<Vec<[Key; 2]>> {
        let ClauseGives::Edge { source, target, .. } = &self.gives else {
            return Some(vec![[Key::EMPTY; 2]; columns.table.count]);
        };
        let [source, target] = [source, target].map(|end| columns.place(end).map(|place| columns.texts(place)));
        let mut ends = Vec::with_capacity(columns.table.count);
        for (source, target) in source?.zip(target?) {
            ends.push([key(source, texts)?, key(target, texts)?]);
        }
        Some(ends)
    }

    /// The ids, and whether one is given.
    fn ids(&self, columns: Columns<'_>, ordinal: u64, texts: &mut Gathering<'_>) -> Option<(Vec<Key>, bool)> {
        let made = |row: usize, texts: &mut Gathering<'_>| texts.insert_id(IdRef::made(ordinal + row as u64, self.number));
        let place = match &self.id {
            Some(TextSource::Slot(slot)) if self.suffix == 0 => columns.places[*slot],
            Some(_) => return None,
            None => None,
        };
        let Some(place) = place else {
            return Some(((0..columns.table.count).map(|row| made(row, texts)).collect(), false));
        };
        let mut has_ids = false;
        let id = |(row, id)| {
            let given = key(id, texts);
            has_ids |= given.is_some();
            given.unwrap_or_else(|| made(row, texts))
        };
        let ids = columns.texts(place).enumerate().map(id).collect();
        Some((ids, has_ids))
    }

    /// The labels of source, edge and target; looked up row by row, since a table that is full knows those that came first.
    fn labels(
        &self,
        columns: Columns<'_>,
        default: Symbol,
        writer: &mut Writer,
        target: &mut Target<'_>,
    ) -> Option<Vec<[Symbol; 3]>> {
        let mut symbol = |labels: Labels, row: usize| match labels {
            Labels::Known(symbol) => symbol,
            Labels::Fields(place) => writer.intern(columns.text(row, place), target.symbols),
        };
        let rows = 0..columns.table.count;
        match &self.gives {
            ClauseGives::Event { kind } => {
                let kind = columns.labels(kind)?;
                let present = |label| (label != Symbol::ABSENT).then_some([Symbol::ABSENT, label, Symbol::ABSENT]);
                rows.map(|row| present(symbol(kind, row))).collect()
            }
            ClauseGives::Edge { labels: [of_source, of_edge, of_target], .. } => {
                let (of_source, of_target) = (columns.labels(of_source)?, columns.labels(of_target)?);
                let of_edge = columns.labels(of_edge)?;
                let or_default = |label| if label == Symbol::ABSENT { default } else { label };
                let of_row = |row| {
                    let label = or_default(symbol(of_edge, row));
                    [symbol(of_source, row), label, symbol(of_target, row)]
                };
                Some(rows.map(of_row).collect())
            }
        }
    }
}

/// The values of attributes, those of a record side by side; None if one is not of its type.
fn attributes(wanted: &[Values<'_>], columns: Columns<'_>, texts: &mut Gathering<'_>) -> Option<Vec<Value>> {
    let width = wanted.len();
    let mut attributes = vec![Value::Null; columns.table.count * width];
    for (column, values) in wanted.iter().enumerate() {
        let of_column = attributes[column..].iter_mut().step_by(width);
        match values {
            Values::Constant(ValueRef::Null) => {}
            Values::Constant(value) => {
                let stored = Value::gather(*value, texts);
                of_column.for_each(|value| *value = stored);
            }
            Values::Fields(place, kind) => {
                for (value, field) in of_column.zip(columns.texts(*place)) {
                    *value = Value::gather(kind.read(field)?, texts);
                }
            }
        }
    }
    Some(attributes)
}

/// The key of a text; None if it is empty.
#[inline]
fn key(text: &str, texts: &mut Gathering<'_>) -> Option<Key> {
    (!text.is_empty()).then(|| texts.insert(KeyRef::parse(text)))
}
