//! The matcher and its matches as Python sees them.

use std::sync::Arc;

use graphtide_match::matcher::{Matcher, Options};
use graphtide_match::output::{Kind, MatchBatch, PatternNames};
use graphtide_match::plan::PatternSpec;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::records::{PyEdgeBatch, PySymbols};

/// A matcher of many patterns.
#[pyclass(name = "Matcher", module = "graphtide_native._native")]
pub(crate) struct PyMatcher {
    inner: Matcher,
}

/// A limit that stopped a run: pattern and bound.
type Stopped = Option<(String, String)>;

#[pymethods]
impl PyMatcher {
    #[new]
    fn new(patterns: &[u8], symbols: &PySymbols, deletions: bool, adaptive: bool, traced: Option<usize>) -> PyResult<Self> {
        let options = Options { deletions, adaptive, traced };
        let specs: Vec<PatternSpec> =
            serde_json::from_slice(patterns).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let inner = Matcher::new(specs, &symbols.inner, options).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner })
    }

    fn push(&mut self, py: Python<'_>, batch: &PyEdgeBatch, start: usize, most: usize) -> (PyMatchBatch, usize, Stopped) {
        let (matcher, records) = (&mut self.inner, &*batch.inner);
        let progress = py.detach(|| matcher.push(records, start, most));
        let stopped = progress.stopped.map(|limit| (limit.pattern, limit.limit));
        (PyMatchBatch { inner: progress.matches, names: self.inner.names() }, progress.consumed, stopped)
    }

    fn replan(&mut self, py: Python<'_>, number: usize, pattern: &[u8]) -> PyResult<bool> {
        let spec: PatternSpec = serde_json::from_slice(pattern).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let matcher = &mut self.inner;
        py.detach(|| matcher.replan(number, spec.plan)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn select(&mut self, py: Python<'_>, batch: &PyEdgeBatch) -> PyEdgeBatch {
        let (matcher, records) = (&mut self.inner, &*batch.inner);
        batch.with(py.detach(|| matcher.select(records)))
    }

    fn forget_reported(&mut self, number: usize) {
        self.inner.forget_reported(number);
    }

    fn mark_shed(&mut self, number: usize) {
        self.inner.mark_shed(number);
    }

    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = self.inner.totals();
        let dict = PyDict::new(py);
        dict.set_item("records", totals.records)?;
        dict.set_item("relevant", totals.relevant)?;
        dict.set_item("matches", totals.matches)?;
        dict.set_item("deletions", totals.deletions)?;
        dict.set_item("peak_partial_matches", totals.peak_partial_matches)?;
        dict.set_item("peak_state_bytes", totals.peak_state_bytes)?;
        dict.set_item("state_bytes", self.inner.state_bytes())?;
        Ok(dict)
    }

    fn patterns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let describe = |pattern| self.describe(py, pattern);
        self.inner.patterns().iter().map(describe).collect()
    }

    fn funnels<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyDict>>>> {
        let funnels: Option<Vec<_>> = self.inner.patterns().iter().map(|pattern| self.inner.funnel(pattern)).collect();
        funnels.map(|funnels| funnels.iter().map(|funnel| crate::funnel::to_dict(py, funnel)).collect()).transpose()
    }
}

impl PyMatcher {
    fn describe<'py>(&self, py: Python<'py>, pattern: &graphtide_match::matcher::Registered) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("name", &pattern.names.name)?;
        let hits = self.inner.hits(pattern);
        dict.set_item("candidates", hits.iter().sum::<u64>())?;
        dict.set_item("hits", hits)?;
        dict.set_item("discarded", pattern.counts.discarded)?;
        dict.set_item("matches", pattern.counts.matches)?;
        dict.set_item("retractions", pattern.counts.retractions)?;
        dict.set_item("limited", pattern.counts.limited)?;
        dict.set_item("paused", pattern.paused)?;
        dict.set_item("partial_matches", pattern.live())?;
        dict.set_item("peak_partial_matches", pattern.peak())?;
        dict.set_item("state_bytes", self.inner.pattern_bytes(pattern))?;
        let items = pattern.report().into_iter().map(|item| (item.name, item.live, item.peak, item.created, item.node_bytes));
        dict.set_item("items", items.collect::<Vec<_>>())?;
        Ok(dict)
    }
}

/// Matches in order of detection.
#[pyclass(frozen, name = "MatchBatch", module = "graphtide_native._native")]
pub(crate) struct PyMatchBatch {
    inner: MatchBatch,
    names: Arc<[PatternNames]>,
}

/// Pattern, kind, shed, times of detection, first and last edge, ids of edges, names of vertices.
type MatchTuple = (u32, &'static str, bool, i64, i64, i64, Vec<String>, Vec<String>);

#[pymethods]
impl PyMatchBatch {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn to_json_lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = py.detach(|| self.inner.to_json_lines(&self.names));
        PyBytes::new(py, &lines)
    }

    fn records<'py>(&self, py: Python<'py>) -> Vec<(u32, &'static str, String, Bound<'py, PyBytes>)> {
        (0..self.inner.len())
            .map(|index| {
                let found = self.inner.get(index, &self.names);
                let identity = self.names[found.pattern as usize].match_id(&found).map(char::from).iter().collect();
                let record = PyBytes::new(py, &self.inner.to_json(index, &self.names));
                (found.pattern, kind_name(found.kind), identity, record)
            })
            .collect()
    }

    fn rows(&self) -> Vec<MatchTuple> {
        (0..self.inner.len())
            .map(|index| {
                let found = self.inner.get(index, &self.names);
                let kind = kind_name(found.kind);
                let mut edges: Vec<String> = found.keys().map(|key| key.to_string()).collect();
                let vertices = edges.split_off(self.names[found.pattern as usize].edges.len());
                (found.pattern, kind, found.shed, found.detected_at, found.first_ts, found.last_ts, edges, vertices)
            })
            .collect()
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Match => "match",
        Kind::Retract => "retract",
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyMatcher>()?;
    m.add_class::<PyMatchBatch>()
}
