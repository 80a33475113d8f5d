//! The columns of a table of matches, while rows are appended.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, Schema};
use graphtide_engine::output::{Assignment, ComponentRef, IntervalRef, Kind, MatchRef, OccurrenceRef, PathStep, PatternNames};

use super::field_columns::{FieldColumn, field_column};
use super::layout::{Encoded, Output, TableLayout};

/// A column that has the name of a part.
enum Named {
    One(StringBuilder),
    List(ListBuilder<StringBuilder>),
}

/// The columns.
pub(super) struct Cells {
    id: StringBuilder,
    /// Query, kind, completeness.
    words: [Int32Builder; 3],
    version: Int32Builder,
    /// Of detection, first, last.
    times: [Int64Builder; 3],
    named: Vec<Named>,
    changes: Option<(StringBuilder, ListBuilder<StringBuilder>, StringBuilder)>,
    counts: Option<UInt64Builder>,
    results: Option<Results>,
    pub(super) fields: Vec<Option<Box<dyn FieldColumn>>>,
}

struct Results {
    label: Int32Builder,
    valid: [Int64Builder; 2],
    nth: Int32Builder,
    path: ListBuilder<StringBuilder>,
}

/// Bytes of the texts of a column to make room for, a row.
const TEXT: usize = 8;

impl Cells {
    /// Makes the columns of a table, with room for so many rows.
    pub(super) fn new(layout: &TableLayout, rows: usize, types: &[Option<String>]) -> Result<Self, ArrowError> {
        let text = || StringBuilder::with_capacity(rows, rows * TEXT);
        let list = || ListBuilder::new(StringBuilder::new());
        Ok(Self {
            id: StringBuilder::with_capacity(rows, rows * 32),
            words: std::array::from_fn(|_| Int32Builder::with_capacity(rows)),
            version: Int32Builder::with_capacity(rows),
            times: std::array::from_fn(|_| Int64Builder::with_capacity(rows)),
            named: layout
                .named
                .iter()
                .map(|(_, lists)| if *lists { Named::List(list()) } else { Named::One(text()) })
                .collect(),
            changes: layout.changes.then(|| (text(), list(), text())),
            counts: layout.counts.then(|| UInt64Builder::with_capacity(rows)),
            results: layout.results.then(|| Results {
                label: Int32Builder::with_capacity(rows),
                valid: std::array::from_fn(|_| Int64Builder::with_capacity(rows)),
                nth: Int32Builder::with_capacity(rows),
                path: list(),
            }),
            fields: types.iter().map(|name| name.as_deref().map(field_column).transpose()).collect::<Result<_, _>>()?,
        })
    }

    /// Appends what all matches have.
    pub(super) fn head(&mut self, found: &MatchRef<'_>, names: &PatternNames, encoded: &Encoded) {
        // A match id is of hexadecimal digits.
        self.id.append_value(std::str::from_utf8(&names.match_id(found)).unwrap_or_default());
        let kind = match found.kind {
            Kind::Match => 0,
            Kind::Extend => 1,
            Kind::Retract => 2,
            Kind::Timeout => 3,
        };
        let words = [encoded.query, kind, i32::from(found.shed)];
        self.words.iter_mut().zip(words).for_each(|(builder, word)| builder.append_value(word));
        self.version.append_value(encoded.version);
        let times = [found.detected_at, found.first_ts, found.last_ts];
        self.times.iter_mut().zip(times).for_each(|(builder, time)| builder.append_value(time));
    }

    /// Appends an edge for each query edge, and a vertex for each query vertex.
    pub(super) fn assignment(&mut self, of: Assignment<'_>, names: &PatternNames, output: &Output) {
        let edges = names.edges.len();
        for (column, part) in self.named.iter_mut().zip(&output.parts) {
            let builder = match column {
                Named::One(builder) => builder,
                Named::List(builder) => builder.values(),
            };
            let found = match *part {
                Some(place) if place < edges => of.edges().nth(place).map(|id| id.with_text(|text| builder.append_value(text))),
                Some(place) => of.vertices().nth(place - edges).map(|key| key.with_text(|text| builder.append_value(text))),
                None => None,
            };
            match column {
                Named::One(builder) if found.is_none() => builder.append_null(),
                Named::One(_) => {}
                Named::List(builder) => builder.append(found.is_some()),
            }
        }
        self.no_changes();
        self.no_count();
        self.no_result();
    }

    /// Appends a component.
    pub(super) fn component(&mut self, of: &ComponentRef<'_>, kind: Kind, names: &PatternNames, output: &Output) {
        let edges = of.edges(names.edges.len());
        let vertices = of.vertices(names.edges.len());
        for (column, part) in self.named.iter_mut().zip(&output.parts) {
            // All parts of components are lists.
            let Named::List(builder) = column else {
                if let Named::One(builder) = column {
                    builder.append_null();
                }
                continue;
            };
            if let Some(place) = *part {
                if let Some(ids) = edges.get(place) {
                    for id in ids {
                        id.with_text(|text| builder.values().append_value(text));
                    }
                } else if let Some(keys) = vertices.get(place - edges.len()) {
                    for key in keys {
                        key.with_text(|text| builder.values().append_value(text));
                    }
                }
            }
            builder.append(part.is_some());
        }
        if let Some((component, merged, split_from)) = &mut self.changes {
            let (name, former) = of.named().map_or((None, Vec::new()), |(name, former)| (Some(name), former));
            match name {
                Some(name) => name.with_text(|text| component.append_value(text)),
                None => component.append_null(),
            }
            match (kind, former.first()) {
                (Kind::Extend, _) | (_, None) => split_from.append_null(),
                (_, Some(id)) => id.with_text(|text| split_from.append_value(text)),
            }
            if kind == Kind::Extend {
                for id in &former {
                    id.with_text(|text| merged.values().append_value(text));
                }
            }
            merged.append(true);
        }
        self.no_count();
        self.no_result();
    }

    /// Appends an occurrence of an event pattern.
    pub(super) fn occurrence(&mut self, of: &OccurrenceRef<'_>, output: &Output) {
        for (number, column) in self.named.iter_mut().enumerate() {
            let mut own =
                of.events().filter(|(name, _)| output.columns.get(usize::from(*name)) == Some(&number)).map(|(_, id)| id);
            match column {
                Named::One(builder) => match own.last() {
                    Some(id) => id.with_text(|text| builder.append_value(text)),
                    None => builder.append_null(),
                },
                Named::List(builder) => {
                    let mut is_there = false;
                    for id in own.by_ref() {
                        is_there = true;
                        id.with_text(|text| builder.values().append_value(text));
                    }
                    builder.append(is_there);
                }
            }
        }
        if let Some(counts) = &mut self.counts {
            counts.append_option(of.counted().map(|counted| counted.count.saturated()));
        }
        self.no_changes();
        self.no_result();
    }

    /// Appends a result of a graph query.
    pub(super) fn interval(&mut self, of: &IntervalRef<'_>, kind: Kind, names: &PatternNames, output: &Output) {
        for (column, part) in self.named.iter_mut().zip(&output.parts) {
            let vertex = part.and_then(|place| of.vertices().nth(place));
            match (column, vertex) {
                (Named::One(builder), Some(vertex)) => vertex.with_text(|text| builder.append_value(text)),
                (Named::One(builder), None) => builder.append_null(),
                (Named::List(builder), vertex) => {
                    if let Some(vertex) = vertex {
                        vertex.with_text(|text| builder.values().append_value(text));
                    }
                    builder.append(vertex.is_some());
                }
            }
        }
        if let Some(Results { label, valid: [from, to], nth, path }) = &mut self.results {
            label.append_option(output.label);
            from.append_value(of.report.valid.0);
            to.append_option(of.end(&names.intervals, kind));
            nth.append_value(of.report.nth.cast_signed());
            append_path(of, names, path);
        }
        self.no_changes();
        self.no_count();
    }

    fn no_changes(&mut self) {
        if let Some((component, merged, split_from)) = &mut self.changes {
            component.append_null();
            merged.append(false);
            split_from.append_null();
        }
    }

    fn no_count(&mut self) {
        if let Some(counts) = &mut self.counts {
            counts.append_null();
        }
    }

    fn no_result(&mut self) {
        if let Some(Results { label, valid, nth, path }) = &mut self.results {
            label.append_null();
            valid.iter_mut().for_each(Int64Builder::append_null);
            nth.append_null();
            path.append(false);
        }
    }

    /// The columns as rows.
    pub(super) fn finish(mut self, layout: &TableLayout) -> Result<RecordBatch, ArrowError> {
        let kinds = StringArray::from(["match", "extend", "retract", "timeout"].to_vec());
        let exact = StringArray::from(["EXACT", "SHED"].to_vec());
        let [query, kind, completeness] = self.words;
        let [detected_at, first_ts, last_ts] = self.times;
        let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
        let mut add = |name: &str, array: ArrayRef, nullable: bool| columns.push((name.to_owned(), array, nullable));
        add("match_id", Arc::new(self.id.finish()), false);
        add("query", coded(query, &layout.queries)?, false);
        add("version", Arc::new(self.version.finish()), false);
        add("kind", coded(kind, &kinds)?, false);
        for (name, builder) in [("detected_at", detected_at), ("first_ts", first_ts), ("last_ts", last_ts)] {
            add(name, layout.unit.times(builder), false);
        }
        add("completeness", coded(completeness, &exact)?, false);
        for ((name, _), column) in layout.named.iter().zip(self.named) {
            let array: ArrayRef = match column {
                Named::One(mut builder) => Arc::new(builder.finish()),
                Named::List(mut builder) => Arc::new(builder.finish()),
            };
            add(name, array, true);
        }
        if let Some((mut component, mut merged, mut split_from)) = self.changes {
            add("component", Arc::new(component.finish()), true);
            add("merged", Arc::new(merged.finish()), true);
            add("split_from", Arc::new(split_from.finish()), true);
        }
        if let Some(mut counts) = self.counts {
            add("count", Arc::new(counts.finish()), true);
        }
        if let Some(Results { label, valid: [from, to], mut nth, mut path }) = self.results {
            add("label", coded(label, &layout.labels)?, true);
            add("valid_from", layout.unit.times(from), true);
            add("valid_to", layout.unit.times(to), true);
            add("nth", Arc::new(nth.finish()), true);
            add("path", Arc::new(path.finish()), true);
        }
        for (name, column) in layout.fields.iter().zip(self.fields) {
            if let Some(mut column) = column {
                add(&format!("fields.{name}"), column.finish(), true);
            }
        }
        let fields: Vec<Field> =
            columns.iter().map(|(name, array, nullable)| Field::new(name, array.data_type().clone(), *nullable)).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array, _)| array).collect())
    }
}

fn coded(mut codes: Int32Builder, words: &StringArray) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(codes.finish(), Arc::new(words.clone()))?))
}

fn append_path(interval: &IntervalRef<'_>, names: &PatternNames, path: &mut ListBuilder<StringBuilder>) {
    let Some(steps) = interval.path() else { return path.append(false) };
    for step in steps {
        match step {
            PathStep::Edge(id) => id.with_text(|text| path.values().append_value(text)),
            PathStep::Derived { operator, source, target } => {
                let json = names.intervals.derived_json(operator, source, target);
                path.values().append_value(String::from_utf8_lossy(&json));
            }
        }
    }
    path.append(true);
}
