//! Matches of all families as columns of Arrow, for files and tables: no match becomes an object of Python.
//!
//! Words that come again and again are codes of a dictionary that all batches of a table share. What patterns return has the
//! types that the caller found for the whole table, by the kinds that each batch says.
//! Cost: a hash and a copy of the texts of a match; of an event pattern its events times its columns.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, NullBuilder, StringBuilder,
    UInt64Builder,
};
use arrow_array::types::{
    ArrowTimestampType, Int32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_pyarrow::IntoPyArrow;
use arrow_schema::{ArrowError, Field, Schema};
use graphtide_engine::expression::Operand;
use graphtide_engine::output::{
    Assignment, ComponentRef, FieldRef, IntervalRef, Kind, Layout, MatchBatch, MatchRef, OccurrenceRef, PathStep, PatternNames,
};
use graphtide_graph::key::with_text_of_made;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What patterns are called, and what they are made of.
type Names = [Arc<PatternNames>];

/// How a pattern is encoded: the number of its name, its version. Of each output it is the number of its label, if it has one,
/// and the column of each of its parts. Then come the columns of what it returns.
type PatternColumns = (i32, i32, Vec<(Option<i32>, Vec<usize>)>, Vec<usize>);

/// The columns of a table of some patterns.
#[pyclass(frozen, name = "TableLayout", module = "graphtide_native._native")]
pub(crate) struct TableLayout {
    unit: Unit,
    /// Columns that have the name of a part, and whether they hold lists.
    named: Vec<(String, bool)>,
    changes: bool,
    counts: bool,
    results: bool,
    fields: Vec<String>,
    queries: StringArray,
    labels: StringArray,
    patterns: Vec<Encoded>,
}

#[derive(Clone, Copy)]
enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

struct Encoded {
    query: i32,
    version: i32,
    outputs: Vec<Output>,
    /// For each column of fields, the place among those of the pattern.
    fields: Vec<Option<usize>>,
}

struct Output {
    label: Option<i32>,
    /// The column of each part.
    columns: Vec<usize>,
    /// For each column the part, if there is one.
    parts: Vec<Option<usize>>,
}

/// What kinds of values a field has, as bits: scalars, then the same of values in lists, then the rest.
mod kinds {
    pub(super) const BOOLEAN: u32 = 1;
    pub(super) const INTEGER: u32 = 1 << 1;
    pub(super) const NUMBER: u32 = 1 << 2;
    pub(super) const TEXT: u32 = 1 << 3;
    /// How far those of values in lists are from those of scalars.
    pub(super) const IN_LIST: u32 = 4;
    pub(super) const LIST: u32 = 1 << 8;
    /// An integer that no floating-point number is.
    pub(super) const LARGE: u32 = 1 << 9;
    /// A list in a list.
    pub(super) const NESTED: u32 = 1 << 10;
}

/// Integers up to this are floating-point numbers without loss.
const EXACT: u64 = 1 << 53;

#[pymethods]
impl TableLayout {
    #[new]
    fn new(
        unit: &str,
        named: Vec<(String, bool)>,
        families: (bool, bool, bool),
        fields: Vec<String>,
        queries: Vec<String>,
        labels: Vec<String>,
        patterns: Vec<PatternColumns>,
    ) -> PyResult<Self> {
        let (changes, counts, results) = families;
        let unit = match unit {
            "s" => Unit::Second,
            "ms" => Unit::Millisecond,
            "us" => Unit::Microsecond,
            "ns" => Unit::Nanosecond,
            _ => return Err(PyValueError::new_err(format!("there is no unit {unit:?}"))),
        };
        let inverse = |columns: &[usize], width: usize| {
            let mut places = vec![None; width];
            for (place, &column) in columns.iter().enumerate() {
                if let Some(slot) = places.get_mut(column) {
                    *slot = Some(place);
                }
            }
            places
        };
        let patterns = patterns.into_iter().map(|(query, version, outputs, of_fields)| Encoded {
            query,
            version,
            outputs: outputs
                .into_iter()
                .map(|(label, columns)| Output { label, parts: inverse(&columns, named.len()), columns })
                .collect(),
            fields: inverse(&of_fields, fields.len()),
        });
        let patterns = patterns.collect();
        let [queries, labels] = [queries, labels].map(StringArray::from);
        Ok(Self { unit, named, changes, counts, results, fields, queries, labels, patterns })
    }
}

impl TableLayout {
    fn of(&self, found: &MatchRef<'_>) -> Result<&Encoded, ArrowError> {
        self.patterns.get(found.pattern.place()).ok_or_else(|| unknown("pattern"))
    }

    /// What kinds of values each field has.
    fn kinds(&self, batch: &MatchBatch, names: &Names) -> Result<Vec<u32>, ArrowError> {
        let mut found = vec![0; self.fields.len()];
        if self.fields.is_empty() {
            return Ok(found);
        }
        for index in 0..batch.len() {
            let row = batch.get(index, names);
            let values: Vec<FieldRef<'_>> = row.fields.iter().collect();
            for (kinds, place) in found.iter_mut().zip(&self.of(&row)?.fields) {
                match place.and_then(|place| values.get(place)) {
                    Some(FieldRef::One(value)) => *kinds |= kind(*value),
                    Some(FieldRef::List(list)) => {
                        *kinds |= kinds::LIST;
                        for value in list.iter() {
                            *kinds |= match value {
                                FieldRef::One(value) => in_list(kind(value)),
                                FieldRef::List(_) => kinds::NESTED,
                            };
                        }
                    }
                    None => {}
                }
            }
        }
        Ok(found)
    }

    /// Matches from a place on as rows; fields have these types, those of none are left out.
    fn rows(
        &self,
        batch: &MatchBatch,
        names: &Names,
        from: usize,
        types: &[Option<String>],
    ) -> Result<RecordBatch, ArrowError> {
        let rows = batch.len() - from;
        let mut cells = Cells::new(self, rows, types)?;
        let mut values = Vec::new();
        for index in from..batch.len() {
            let found = batch.get(index, names);
            let own = &names[found.pattern.place()];
            let encoded = self.of(&found)?;
            cells.head(&found, own, encoded);
            match &found.layout {
                Layout::Assignment(of) => cells.assignment(*of, own, encoded.output(0)?),
                Layout::Component(of) => cells.component(of, found.kind, own, encoded.output(0)?),
                Layout::Occurrence(of) => cells.occurrence(of, encoded.output(0)?),
                Layout::Interval(of) => cells.interval(of, found.kind, own, encoded.output(of.output as usize)?),
            }
            if !cells.fields.is_empty() {
                values.clear();
                values.extend(found.fields.iter());
                for (column, place) in cells.fields.iter_mut().zip(&encoded.fields) {
                    if let Some(column) = column {
                        column.push(place.and_then(|place| values.get(place)));
                    }
                }
            }
        }
        cells.finish(self)
    }
}

impl Encoded {
    fn output(&self, number: usize) -> Result<&Output, ArrowError> {
        self.outputs.get(number).ok_or_else(|| unknown("output"))
    }
}

fn unknown(what: &str) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("a match is of another {what} than the table"))
}

fn kind(value: Operand<'_>) -> u32 {
    match value {
        Operand::Null => 0,
        Operand::Bool(_) => kinds::BOOLEAN,
        Operand::Int(number) if number.unsigned_abs() > EXACT => kinds::INTEGER | kinds::LARGE,
        Operand::Int(_) => kinds::INTEGER,
        Operand::Float(_) => kinds::NUMBER,
        Operand::Text(_) | Operand::Digits(_) | Operand::Made(_) => kinds::TEXT,
    }
}

fn in_list(kind: u32) -> u32 {
    (kind & !kinds::LARGE) << kinds::IN_LIST | kind & kinds::LARGE
}

/// A column that has the name of a part.
enum Named {
    One(StringBuilder),
    List(ListBuilder<StringBuilder>),
}

struct Cells {
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
    fields: Vec<Option<Box<dyn FieldColumn>>>,
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
    fn new(layout: &TableLayout, rows: usize, types: &[Option<String>]) -> Result<Self, ArrowError> {
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

    fn head(&mut self, found: &MatchRef<'_>, names: &PatternNames, encoded: &Encoded) {
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

    fn assignment(&mut self, of: Assignment<'_>, names: &PatternNames, output: &Output) {
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

    fn component(&mut self, of: &ComponentRef<'_>, kind: Kind, names: &PatternNames, output: &Output) {
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

    fn occurrence(&mut self, of: &OccurrenceRef<'_>, output: &Output) {
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
            counts.append_option(of.counted().map(|counted| counted.count));
        }
        self.no_changes();
        self.no_result();
    }

    fn interval(&mut self, of: &IntervalRef<'_>, kind: Kind, names: &PatternNames, output: &Output) {
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

    fn finish(mut self, layout: &TableLayout) -> Result<RecordBatch, ArrowError> {
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

impl Unit {
    fn times(self, mut builder: Int64Builder) -> ArrayRef {
        fn of<T: ArrowTimestampType>(ticks: &Int64Array) -> ArrayRef {
            Arc::new(ticks.reinterpret_cast::<T>().with_timezone("UTC"))
        }
        let ticks = builder.finish();
        match self {
            Self::Second => of::<TimestampSecondType>(&ticks),
            Self::Millisecond => of::<TimestampMillisecondType>(&ticks),
            Self::Microsecond => of::<TimestampMicrosecondType>(&ticks),
            Self::Nanosecond => of::<TimestampNanosecondType>(&ticks),
        }
    }
}

/// A column of what patterns return.
trait FieldColumn {
    fn push(&mut self, value: Option<&FieldRef<'_>>);
    fn finish(&mut self) -> ArrayRef;
}

/// Takes values of one type.
trait Typed: ArrayBuilder {
    fn push(&mut self, value: Operand<'_>);
    fn null(&mut self);
}

struct Scalars<B>(B);

struct Lists<B: ArrayBuilder>(ListBuilder<B>);

impl<B: Typed> FieldColumn for Scalars<B> {
    fn push(&mut self, value: Option<&FieldRef<'_>>) {
        match value {
            Some(FieldRef::One(value)) => self.0.push(*value),
            Some(FieldRef::List(_)) | None => self.0.null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        self.0.finish()
    }
}

impl<B: Typed> FieldColumn for Lists<B> {
    fn push(&mut self, value: Option<&FieldRef<'_>>) {
        let Some(FieldRef::List(list)) = value else { return self.0.append(false) };
        for value in list.iter() {
            match value {
                FieldRef::One(value) => self.0.values().push(value),
                FieldRef::List(_) => self.0.values().null(),
            }
        }
        self.0.append(true);
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

impl Typed for BooleanBuilder {
    fn push(&mut self, value: Operand<'_>) {
        self.append_option(if let Operand::Bool(truth) = value { Some(truth) } else { None });
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for Int64Builder {
    fn push(&mut self, value: Operand<'_>) {
        self.append_option(if let Operand::Int(number) = value { Some(number) } else { None });
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for Float64Builder {
    fn push(&mut self, value: Operand<'_>) {
        self.append_option(match value {
            Operand::Float(number) => Some(number),
            Operand::Int(number) => Some(number as f64),
            _ => None,
        });
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for StringBuilder {
    fn push(&mut self, value: Operand<'_>) {
        match value {
            Operand::Text(text) => self.append_value(text),
            Operand::Digits(number) => self.append_value(number.to_string()),
            Operand::Made(number) => with_text_of_made(number, |text| self.append_value(text)),
            Operand::Null | Operand::Bool(_) | Operand::Int(_) | Operand::Float(_) => self.append_null(),
        }
    }

    fn null(&mut self) {
        self.append_null();
    }
}

impl Typed for NullBuilder {
    fn push(&mut self, _: Operand<'_>) {
        self.append_null();
    }

    fn null(&mut self) {
        self.append_null();
    }
}

fn field_column(name: &str) -> Result<Box<dyn FieldColumn>, ArrowError> {
    Ok(match name {
        "boolean" => Box::new(Scalars(BooleanBuilder::new())),
        "integer" => Box::new(Scalars(Int64Builder::new())),
        "number" => Box::new(Scalars(Float64Builder::new())),
        "text" => Box::new(Scalars(StringBuilder::new())),
        "null" => Box::new(Scalars(NullBuilder::new())),
        "list boolean" => Box::new(Lists(ListBuilder::new(BooleanBuilder::new()))),
        "list integer" => Box::new(Lists(ListBuilder::new(Int64Builder::new()))),
        "list number" => Box::new(Lists(ListBuilder::new(Float64Builder::new()))),
        "list text" => Box::new(Lists(ListBuilder::new(StringBuilder::new()))),
        "list null" => Box::new(Lists(ListBuilder::new(NullBuilder::new()))),
        _ => return Err(ArrowError::InvalidArgumentError(format!("there is no type {name:?}"))),
    })
}

pub(crate) fn kinds_of(py: Python<'_>, batch: &MatchBatch, names: &Names, layout: &TableLayout) -> PyResult<Vec<u32>> {
    py.detach(|| layout.kinds(batch, names)).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn rows_of<'py>(
    py: Python<'py>,
    batch: &MatchBatch,
    names: &Names,
    layout: &TableLayout,
    types: &[Option<String>],
    from: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let from = from.min(batch.len());
    let rows = py.detach(|| layout.rows(batch, names, from, types));
    rows.map_err(|error| PyValueError::new_err(error.to_string()))?.into_pyarrow(py)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<TableLayout>()
}
