//! Results of graph queries as columns of Arrow, for files and tables: no result becomes an object of Python.
//!
//! Words that come again and again are numbers here, which Python knows the words of. Cost: a hash and a copy of the texts a
//! result.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::ArrowError;
use graphtide_engine::output::{IntervalRef, Kind, Layout, MatchBatch, PathStep, PatternNames};

/// How an output of a query is encoded: the number of its label, and for each column of vertices its place among its own.
pub(crate) type OutputColumns = (i32, Vec<Option<usize>>);

/// What is numbered alike for all batches: how many columns of vertices there are; for each pattern the number of its name and
/// its outputs.
pub(crate) type Numbered = (usize, Vec<(i32, Vec<OutputColumns>)>);

struct Builders {
    id: StringBuilder,
    /// Query, kind, completeness, label; which pattern it is; and which record of its instant brought it about.
    words: [Int32Builder; 6],
    /// Of detection, first, last; from and to when it is valid.
    times: [Int64Builder; 5],
    vertices: Vec<StringBuilder>,
    path: ListBuilder<StringBuilder>,
}

/// Returns the columns of all matches; none if one is not a result of a graph query.
pub(crate) fn columns(
    batch: &MatchBatch,
    names: &[Arc<PatternNames>],
    (width, numbered): Numbered,
) -> Option<Result<RecordBatch, ArrowError>> {
    let rows = batch.len();
    let mut builders = Builders {
        id: StringBuilder::with_capacity(rows, rows * 32),
        words: std::array::from_fn(|_| Int32Builder::with_capacity(rows)),
        times: std::array::from_fn(|_| Int64Builder::with_capacity(rows)),
        vertices: (0..width).map(|_| StringBuilder::with_capacity(rows, rows * 8)).collect(),
        path: ListBuilder::new(StringBuilder::new()),
    };
    for index in 0..rows {
        let found = batch.get(index, names);
        let Layout::Interval(interval) = &found.layout else { return None };
        let own = &names[found.pattern.place()];
        let (query, outputs) = numbered.get(found.pattern.place())?;
        let (label, places) = outputs.get(interval.output as usize)?;
        // A match id is of hexadecimal digits.
        builders.id.append_value(std::str::from_utf8(&own.match_id(&found)).unwrap_or_default());
        let kind = match found.kind {
            Kind::Match => 0,
            Kind::Extend => 1,
            Kind::Retract => 2,
            Kind::Timeout => 3,
        };
        let words =
            [*query, kind, i32::from(found.shed), *label, found.pattern.0.cast_signed(), interval.report.nth.cast_signed()];
        builders.words.iter_mut().zip(words).for_each(|(builder, word)| builder.append_value(word));
        let [detected, first, last, from, to] = &mut builders.times;
        detected.append_value(found.detected_at);
        first.append_value(found.first_ts);
        last.append_value(found.last_ts);
        from.append_value(interval.report.valid.0);
        to.append_option(interval.end(&own.intervals, found.kind));
        for (builder, place) in builders.vertices.iter_mut().zip(places) {
            match place.and_then(|place| interval.vertices().nth(place)) {
                Some(vertex) => vertex.with_text(|text| builder.append_value(text)),
                None => builder.append_null(),
            }
        }
        append_path(interval, own, &mut builders.path);
    }
    Some(builders.finish())
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

impl Builders {
    fn finish(mut self) -> Result<RecordBatch, ArrowError> {
        let mut columns: Vec<(String, ArrayRef)> = vec![("match_id".to_owned(), Arc::new(self.id.finish()))];
        for (name, builder) in ["query", "kind", "completeness", "label", "pattern", "nth"].into_iter().zip(&mut self.words) {
            columns.push((name.to_owned(), Arc::new(builder.finish())));
        }
        for (name, builder) in ["detected_at", "first_ts", "last_ts", "valid_from", "valid_to"].into_iter().zip(&mut self.times)
        {
            columns.push((name.to_owned(), Arc::new(builder.finish())));
        }
        columns.push(("path".to_owned(), Arc::new(self.path.finish())));
        for (number, builder) in self.vertices.iter_mut().enumerate() {
            columns.push((format!("vertices.{number}"), Arc::new(builder.finish())));
        }
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
    }
}
