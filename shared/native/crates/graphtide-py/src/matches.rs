//! Matches as Python sees them.

use std::sync::Arc;

use graphtide_engine::output::{
    ComponentRef, IntervalRef, Kind, Layout, MatchBatch, OccurrenceRef, PathStep, PatternNames, ResultEdges, ResultsAt,
};
use graphtide_graph::key::{IdRef, KeyRef};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::counts::PyCount;
use crate::fields;
use crate::match_columns::{TableLayout, kinds_of, rows_of};

/// Matches in order of detection.
#[pyclass(frozen, name = "MatchBatch", module = "graphtide_native._native")]
pub(crate) struct PyMatchBatch {
    pub(crate) inner: MatchBatch,
    pub(crate) names: Arc<[Arc<PatternNames>]>,
}

/// Pattern, kind, shed, times of detection, first and last edge.
type Head = (u32, &'static str, bool, i64, i64, i64);

/// What a match is made of.
#[derive(IntoPyObject)]
enum Parts {
    /// Ids of edges, places of those that were made, names of vertices.
    Assignment((Vec<String>, Vec<usize>, Vec<String>)),
    /// For each query edge, ids and whether they were made; for each query vertex, names. Then identity, how many there are in
    /// all, and the id of the oldest edge and of former ones.
    Component(ComponentParts),
    /// Identity; of each event the place of its name, then id and whether it was made; how many matches are counted.
    Occurrence(OccurrenceParts),
    /// Identity; which output; vertices; from when to when it is valid; its place in its instant; the steps of its path.
    Interval(IntervalParts),
}

/// A record as it is sent: pattern, kind, id, time of detection, place in its instant, JSON.
type Sent<'py> = (u32, &'static str, String, i64, u32, Bound<'py, PyBytes>);

/// A match as it is handed over, with what its pattern returns.
type Row<'py> = (Head, Parts, Vec<Bound<'py, PyAny>>);

type IntervalParts = (String, u32, Vec<String>, i64, Option<i64>, u32, Option<Vec<StepParts>>);

/// The id of an edge, or the operator that derived it and its ends.
type StepParts = (Option<String>, Option<(u32, String, String)>);

type OccurrenceParts = (String, Vec<u32>, Vec<(String, bool)>, Option<PyCount>);

type ComponentParts = (Vec<Vec<(String, bool)>>, Vec<Vec<String>>, String, Option<Vec<u32>>, Option<(String, Vec<String>)>);

#[pymethods]
impl PyMatchBatch {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn to_json_lines<'py>(&self, py: Python<'py>, from: usize, bytes: usize) -> (Bound<'py, PyBytes>, usize) {
        let (lines, next) = py.detach(|| self.inner.to_json_lines(&self.names, from.min(self.inner.len()), bytes));
        (PyBytes::new(py, &lines), next)
    }

    fn counts(&self, from: usize) -> Vec<(u32, &'static str, u64)> {
        let counts = self.inner.counts(from.min(self.inner.len()));
        counts.into_iter().map(|(pattern, kind, count)| (pattern.0, kind.name(), count)).collect()
    }

    fn held_bytes(&self) -> usize {
        self.inner.bytes()
    }

    fn field_kinds(&self, py: Python<'_>, layout: &TableLayout) -> PyResult<Vec<u32>> {
        kinds_of(py, &self.inner, &self.names, layout)
    }

    #[expect(clippy::needless_pass_by_value, reason = "Python hands it over")]
    fn table_rows<'py>(
        &self,
        py: Python<'py>,
        layout: &TableLayout,
        types: Vec<Option<String>>,
        from: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        rows_of(py, &self.inner, &self.names, layout, &types, from)
    }

    fn records<'py>(&self, py: Python<'py>) -> Vec<Sent<'py>> {
        let mut json = Vec::new();
        (0..self.inner.len())
            .map(|index| {
                let found = self.inner.get(index, &self.names);
                let names = &self.names[found.pattern.place()];
                let id = names.match_id(&found);
                json.clear();
                names.write_json(&found, &id, &mut json);
                let identity = id.map(char::from).iter().collect();
                let nth = match &found.layout {
                    Layout::Interval(interval) => interval.report.nth,
                    _ => 0,
                };
                (found.pattern.0, found.kind.name(), identity, found.detected_at, nth, PyBytes::new(py, &json))
            })
            .collect()
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Row<'py>>> {
        (0..self.inner.len())
            .map(|index| {
                let found = self.inner.get(index, &self.names);
                let kind = found.kind.name();
                let head = (found.pattern.0, kind, found.shed, found.detected_at, found.first_ts, found.last_ts);
                let parts = match &found.layout {
                    Layout::Assignment(found) => {
                        let edges = found.edges().map(|id| id.to_string()).collect();
                        let vertices = found.vertices().map(|name| name.to_string()).collect();
                        let made = found.edges().enumerate().filter(|(_, id)| id.is_made()).map(|(place, _)| place).collect();
                        Parts::Assignment((edges, made, vertices))
                    }
                    Layout::Component(component) => {
                        let identity = self.names[found.pattern.place()].match_id(&found);
                        Parts::Component(component_parts(component, &self.names[found.pattern.place()], identity))
                    }
                    Layout::Occurrence(occurrence) => {
                        let identity = self.names[found.pattern.place()].match_id(&found);
                        Parts::Occurrence(occurrence_parts(occurrence, identity))
                    }
                    Layout::Interval(interval) => {
                        let names = &self.names[found.pattern.place()];
                        Parts::Interval(interval_parts(interval, names, found.kind, names.match_id(&found)))
                    }
                };
                Ok((head, parts, fields::to_python(py, found.fields)?))
            })
            .collect()
    }
}

/// The results of graph queries that are valid at an instant.
#[pyclass(name = "ResultsAt", module = "graphtide_native._native")]
struct PyResultsAt(ResultsAt);

#[pymethods]
impl PyResultsAt {
    #[new]
    fn new(at: i64) -> Self {
        Self(ResultsAt::new(at))
    }

    fn take(&mut self, py: Python<'_>, batch: &PyMatchBatch, from: usize) -> bool {
        py.detach(|| self.0.take(&batch.inner, &batch.names, from))
    }

    fn results(&self, py: Python<'_>) -> PyMatchBatch {
        let (inner, names) = py.detach(|| self.0.results());
        PyMatchBatch { inner, names }
    }
}

#[pyclass(name = "ResultEdges", module = "graphtide_native._native")]
#[derive(Default)]
struct PyResultEdges(ResultEdges);

#[pymethods]
impl PyResultEdges {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn lines<'py>(&mut self, py: Python<'py>, batch: &PyMatchBatch) -> Bound<'py, PyBytes> {
        let lines = py.detach(|| self.0.lines(&batch.inner, &batch.names));
        PyBytes::new(py, &lines)
    }
}

fn component_parts(component: &ComponentRef<'_>, names: &PatternNames, identity: [u8; 32]) -> ComponentParts {
    let count = names.edges.len();
    let edges = component.edges(count).into_iter().map(|ids| ids.iter().map(|id| (id.to_string(), id.is_made())).collect());
    let vertices = component.vertices(count).into_iter().map(|names| names.iter().map(ToString::to_string).collect());
    let oldest =
        component.named().map(|(oldest, former)| (oldest.to_string(), former.iter().map(ToString::to_string).collect()));
    let totals = component.totals().map(<[u32]>::to_vec);
    (edges.collect(), vertices.collect(), identity.map(char::from).iter().collect(), totals, oldest)
}

fn occurrence_parts(occurrence: &OccurrenceRef<'_>, identity: [u8; 32]) -> OccurrenceParts {
    let (names, ids) = occurrence.events().map(|(name, id)| (u32::from(name), (id.to_string(), id.is_made()))).unzip();
    (identity.map(char::from).iter().collect(), names, ids, occurrence.counted().map(|counted| PyCount(counted.count)))
}

fn interval_parts(interval: &IntervalRef<'_>, names: &PatternNames, kind: Kind, identity: [u8; 32]) -> IntervalParts {
    let vertices = interval.vertices().map(|name| name.to_string()).collect();
    let steps = interval.path().map(|steps| {
        let step = |step: PathStep<IdRef<'_>, KeyRef<'_>>| match step {
            PathStep::Edge(id) => (Some(id.to_string()), None),
            PathStep::Derived { operator, source, target } => (None, Some((operator, source.to_string(), target.to_string()))),
        };
        steps.map(step).collect()
    });
    let (from, to) = (interval.report.valid.0, interval.end(&names.intervals, kind));
    (identity.map(char::from).iter().collect(), interval.output, vertices, from, to, interval.report.nth, steps)
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyMatchBatch>()?;
    m.add_class::<PyResultEdges>()?;
    m.add_class::<PyResultsAt>()
}
