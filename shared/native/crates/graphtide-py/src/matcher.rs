//! The matcher as Python sees it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::LocalKey;
use std::time::Duration;

use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::output::PatternNames;
use graphtide_engine::replay::{Begun, ConsumptionCursor};
use graphtide_graph::symbol::{SharedSymbols, SymbolTable};
use graphtide_match::matcher::{Matcher, Options, PartialMatches, Past, Progress, Status};
use graphtide_match::plan::{EventUnitSpec, GraphQuerySpec, InvalidPlan, MatcherSpec, PatternSpec};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::matches::PyMatchBatch;
use crate::records::{PyEdgeBatch, PySymbols};
use crate::slices::{self, InSlices, Outlet, Paused, Slice, UnderWay};

/// A matcher of many patterns, and what it has under way.
///
/// Long work runs in slices: the call that begins it and `go_on` return whether it is done; then its answer can be taken.
#[pyclass(name = "Matcher", module = "graphtide_native._native")]
pub(crate) struct PyMatcher {
    inner: State,
    answer: Option<Answer>,
    slice: Duration,
    stop: Arc<AtomicBool>,
    /// What the work under way found so far.
    found: Option<Found>,
}

/// Where work leaves what it finds, and the names of the patterns it is of.
type Found = (Arc<Outlet>, Arc<[Arc<PatternNames>]>);

/// Where the matcher is.
enum State {
    /// Here.
    Ready(Box<Matcher>),
    /// With work that paused.
    UnderWay(Paused),
    /// Lost by a panic.
    Lost,
}

/// What came of long work.
enum Answer {
    Pushed(Box<Progress>),
    Replanned(Result<bool, InvalidPlan>),
    Added(Result<PatternId, InvalidPlan>),
    AddedUnit(Result<Vec<PatternId>, InvalidPlan>),
    PartialMatches(Box<Option<PartialMatches>>),
    Begun,
}

/// Work on a matcher: it comes back with the answer.
struct Work(Box<Matcher>, Answer);

thread_local! {
    static UNDER_WAY: UnderWay<Work> = RefCell::default();
}

impl InSlices for Work {
    fn under_way() -> &'static LocalKey<UnderWay<Self>> {
        &UNDER_WAY
    }
}

/// A limit that stopped a run: pattern and bound.
type Stopped = Option<(String, String)>;

/// Matches, records taken, the limit that stopped the run, whether it ended before it was done, steps taken.
type Pushed = (PyMatchBatch, usize, Stopped, bool, u64);

#[pymethods]
impl PyMatcher {
    #[new]
    fn new(
        patterns: &[u8],
        symbols: &PySymbols,
        deletions: bool,
        adaptive: bool,
        traced: Option<usize>,
        work: Option<u64>,
        slice_seconds: f64,
    ) -> PyResult<Self> {
        let options = Options { deletions, adaptive, traced, work };
        let spec: MatcherSpec = serde_json::from_slice(patterns).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let inner = Matcher::new(spec, &symbols.inner, options).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let slice = Duration::try_from_secs_f64(slice_seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner: State::Ready(Box::new(inner)), answer: None, slice, stop: Arc::default(), found: None })
    }

    fn push(&mut self, py: Python<'_>, batch: &PyEdgeBatch, start: usize, most: usize, budget: Option<u64>) -> PyResult<bool> {
        let records = Arc::clone(&batch.inner);
        self.find(py, (budget, most), move |matcher, meter| {
            Answer::Pushed(Box::new(matcher.push(&records, start, most, meter)))
        })
    }

    fn finish(&mut self, py: Python<'_>, most: usize) -> PyResult<bool> {
        self.find(py, (None, most), move |matcher, meter| Answer::Pushed(Box::new(matcher.finish(meter))))
    }

    fn found(&self) -> Vec<PyMatchBatch> {
        let Some((outlet, names)) = &self.found else { return Vec::new() };
        outlet.take().into_iter().map(|inner| PyMatchBatch { inner, names: Arc::clone(names) }).collect()
    }

    fn pushed(&mut self) -> PyResult<Option<Pushed>> {
        let Some(Answer::Pushed(progress)) = self.answer.take() else { return Ok(None) };
        let names = self.ready()?.names();
        let stopped = progress.stopped.map(|limit| (names[limit.pattern.place()].name.clone(), limit.limit));
        let matches = PyMatchBatch { inner: progress.matches, names };
        Ok(Some((matches, progress.consumed, stopped, progress.ended.is_some(), progress.work)))
    }

    fn replan(&mut self, py: Python<'_>, number: u32, pattern: &[u8]) -> PyResult<bool> {
        let spec: PatternSpec = serde_json::from_slice(pattern).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.start(py, None, move |matcher, meter| Answer::Replanned(matcher.replan(PatternId(number), spec.plan, meter)))
    }

    fn replanned(&mut self) -> PyResult<bool> {
        match self.answer.take() {
            Some(Answer::Replanned(outcome)) => outcome.map_err(|error| PyValueError::new_err(error.to_string())),
            Some(Answer::Pushed(_) | Answer::Added(_) | Answer::AddedUnit(_) | Answer::PartialMatches(_) | Answer::Begun)
            | None => Ok(false),
        }
    }

    fn add(
        &mut self,
        py: Python<'_>,
        pattern: &[u8],
        unreported: Vec<PyRef<'_, PyEdgeBatch>>,
        reported: Vec<PyRef<'_, PyEdgeBatch>>,
        has_begun: bool,
        consumption: Option<(i64, u32)>,
    ) -> PyResult<bool> {
        let spec: PatternSpec = serde_json::from_slice(pattern).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [unreported, reported] =
            [unreported, reported].map(|batches| batches.iter().map(|batch| Arc::clone(&batch.inner)).collect::<Vec<_>>());
        let begun = match (has_begun, consumption.map(cursor)) {
            (false, consumption) => Begun::Not(consumption),
            (true, None) => Begun::Now,
            (true, Some(consumption)) => Begun::Before(consumption),
        };
        self.start(py, None, move |matcher, meter| {
            Answer::Added(matcher.add(&spec, Past { unreported: &unreported, emitted: &reported, begun }, meter))
        })
    }

    fn add_graph(
        &mut self,
        py: Python<'_>,
        query: &[u8],
        unreported: Vec<PyRef<'_, PyEdgeBatch>>,
        reported: Vec<PyRef<'_, PyEdgeBatch>>,
    ) -> PyResult<bool> {
        let spec: GraphQuerySpec = serde_json::from_slice(query).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [unreported, reported] =
            [unreported, reported].map(|batches| batches.iter().map(|batch| Arc::clone(&batch.inner)).collect::<Vec<_>>());
        self.start(py, None, move |matcher, meter| {
            let past = Past { unreported: &unreported, emitted: &reported, begun: Begun::Now };
            Answer::Added(matcher.add_graph(&spec, past, meter))
        })
    }

    fn added(&mut self) -> PyResult<u32> {
        match self.answer.take() {
            Some(Answer::Added(outcome)) => {
                outcome.map(|number| number.0).map_err(|error| PyValueError::new_err(error.to_string()))
            }
            Some(
                Answer::Pushed(_) | Answer::Replanned(_) | Answer::AddedUnit(_) | Answer::PartialMatches(_) | Answer::Begun,
            )
            | None => Err(PyRuntimeError::new_err("no pattern was added")),
        }
    }

    fn add_unit(
        &mut self,
        py: Python<'_>,
        unit: &[u8],
        unreported: Vec<PyRef<'_, PyEdgeBatch>>,
        reported: Vec<PyRef<'_, PyEdgeBatch>>,
    ) -> PyResult<bool> {
        let spec: EventUnitSpec = serde_json::from_slice(unit).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [unreported, reported] =
            [unreported, reported].map(|batches| batches.iter().map(|batch| Arc::clone(&batch.inner)).collect::<Vec<_>>());
        self.start(py, None, move |matcher, meter| {
            let past = Past { unreported: &unreported, emitted: &reported, begun: Begun::Now };
            Answer::AddedUnit(matcher.add_unit(&spec, past, meter))
        })
    }

    fn added_unit(&mut self) -> PyResult<Vec<u32>> {
        match self.answer.take() {
            Some(Answer::AddedUnit(outcome)) => {
                let numbers = outcome.map_err(|error| PyValueError::new_err(error.to_string()))?;
                Ok(numbers.into_iter().map(|number| number.0).collect())
            }
            Some(Answer::Pushed(_) | Answer::Replanned(_) | Answer::Added(_) | Answer::PartialMatches(_) | Answer::Begun)
            | None => Err(PyRuntimeError::new_err("no unit was added")),
        }
    }

    fn replan_graphs(&mut self, py: Python<'_>, queries: &[u8], past: Vec<PyRef<'_, PyEdgeBatch>>) -> PyResult<bool> {
        let specs: Vec<GraphQuerySpec> =
            serde_json::from_slice(queries).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let past: Vec<_> = past.into_iter().map(|batch| Arc::clone(&batch.inner)).collect();
        self.start(py, None, move |matcher, meter| Answer::AddedUnit(matcher.replan_graphs(&specs, &past, meter)))
    }

    fn regroup(&mut self, py: Python<'_>, unit: &[u8]) -> PyResult<bool> {
        let spec: EventUnitSpec = serde_json::from_slice(unit).map_err(|error| PyValueError::new_err(error.to_string()))?;
        self.start(py, None, move |matcher, meter| Answer::Replanned(matcher.regroup(&spec, meter)))
    }

    fn remove(&mut self, number: u32) -> PyResult<()> {
        self.ready_mut()?.remove(PatternId(number)).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn selected(&self, batch: &PyEdgeBatch) -> PyResult<PyEdgeBatch> {
        Ok(batch.with(self.ready()?.selected(&batch.inner)))
    }

    fn selected_by_queries(&self, batch: &PyEdgeBatch) -> PyResult<PyEdgeBatch> {
        Ok(batch.with(self.ready()?.selected_by_queries(&batch.inner)))
    }

    fn go_on(&mut self, py: Python<'_>) -> PyResult<bool> {
        let State::UnderWay(paused) = self.inner else { return Ok(true) };
        self.inner = State::Lost;
        let Some(slice) = py.detach(|| slices::go_on(paused)) else {
            self.inner = State::UnderWay(paused);
            return Err(PyRuntimeError::new_err("another thread has work under way with this matcher"));
        };
        Ok(self.settle(slice))
    }

    fn stop(&mut self, py: Python<'_>) -> PyResult<()> {
        self.stop.store(true, Ordering::Relaxed);
        while !self.go_on(py)? {}
        Ok(())
    }

    fn refill(&mut self, records: u64) -> PyResult<()> {
        self.ready_mut()?.refill(records);
        Ok(())
    }

    fn wait(&mut self, number: u32, consumption: Option<(i64, u32)>) -> PyResult<()> {
        self.ready_mut()?.wait(PatternId(number), consumption.map(cursor));
        Ok(())
    }

    fn begin(&mut self, py: Python<'_>, number: u32) -> PyResult<bool> {
        self.start(py, None, move |matcher, meter| {
            matcher.begin(PatternId(number), meter);
            Answer::Begun
        })
    }

    fn take_deduplication(&mut self, number: u32, other: &Self, of: u32) -> PyResult<()> {
        let other = other.ready()?;
        self.ready_mut()?.take_deduplication(PatternId(number), other, PatternId(of));
        Ok(())
    }

    fn consumption(&self, number: u32) -> PyResult<Option<(i64, u32)>> {
        Ok(self.ready()?.consumption(PatternId(number)).map(|consumption| (consumption.at, consumption.ties)))
    }

    fn advance(&mut self, py: Python<'_>, now: i64, most: usize) -> PyResult<bool> {
        self.find(py, (None, most), move |matcher, meter| Answer::Pushed(Box::new(matcher.advance(now, meter))))
    }

    fn pass_time(&mut self, py: Python<'_>, watermark: i64, most: usize) -> PyResult<bool> {
        self.find(py, (None, most), move |matcher, meter| Answer::Pushed(Box::new(matcher.pass_time(watermark, meter))))
    }

    fn count_from(&mut self, number: u64) -> PyResult<()> {
        self.ready_mut()?.count_from(number);
        Ok(())
    }

    fn mark_shed(&mut self, number: u32) -> PyResult<()> {
        self.ready_mut()?.mark_shed(PatternId(number));
        Ok(())
    }

    fn find_partial_matches(&mut self, py: Python<'_>, number: u32, most: usize, budget: u64) -> PyResult<bool> {
        self.start(py, None, move |matcher, meter| {
            Answer::PartialMatches(Box::new(matcher.partial_matches(PatternId(number), most, budget, meter)))
        })
    }

    fn partial_matches<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(Answer::PartialMatches(found)) = self.answer.take() else { return Ok(None) };
        let Some(found) = *found else { return Ok(None) };
        let encoded = py.detach(|| serde_json::to_vec(&found)).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Some(PyBytes::new(py, &encoded)))
    }

    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let matcher = self.ready()?;
        let totals = matcher.totals();
        let dict = PyDict::new(py);
        dict.set_item("records", totals.records)?;
        dict.set_item("relevant", totals.relevant)?;
        dict.set_item("matches", totals.matches)?;
        dict.set_item("deletions", totals.deletions)?;
        dict.set_item("unordered", totals.unordered)?;
        dict.set_item("peak_partial_matches", totals.peak_partial_matches)?;
        dict.set_item("peak_state_bytes", totals.peak_state_bytes)?;
        dict.set_item("state_bytes", matcher.state_bytes())?;
        Ok(dict)
    }

    fn patterns<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.ready()?.statuses().map(|status| describe(py, &status)).collect()
    }

    fn changed<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Vec<(u32, Bound<'py, PyDict>)>> {
        let changed = self.ready_mut()?.changed(most);
        let matcher = self.ready()?;
        let changed = changed.into_iter().filter_map(|number| Some((number.0, matcher.status(number)?)));
        changed.map(|(number, status)| Ok((number, describe(py, &status)?))).collect()
    }

    fn sharing(&mut self, number: u32) -> PyResult<Option<(usize, usize, usize)>> {
        Ok(self.ready_mut()?.sharing(PatternId(number)))
    }

    fn shed(&self) -> PyResult<Vec<u32>> {
        Ok(self.ready()?.shed().into_iter().map(|number| number.0).collect())
    }

    fn probe(&mut self, is_from_scratch: bool) -> PyResult<()> {
        self.ready_mut()?.set_probe(crate::simulation::probe(is_from_scratch));
        Ok(())
    }

    fn simulation_work<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Option<Bound<'py, PyDict>>> {
        let simulated = self.ready()?.query(PatternId(number)).and_then(|(_, unit)| unit.engine.simulated());
        simulated.map(|simulated| crate::simulation::to_dict(py, &simulated.work())).transpose()
    }

    fn ask(&mut self, ids: Vec<String>) -> PyResult<()> {
        self.ready_mut()?.ask(ids);
        Ok(())
    }

    fn funnels<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Bound<'py, PyDict>>>> {
        let matcher = self.ready()?;
        let funnels: Option<Vec<_>> = matcher.queries().map(|(query, _)| matcher.funnel(query)).collect();
        funnels.map(|funnels| funnels.iter().map(|funnel| crate::funnel::to_dict(py, funnel)).collect()).transpose()
    }
}

impl PyMatcher {
    fn ready(&self) -> PyResult<&Matcher> {
        match &self.inner {
            State::Ready(matcher) => Ok(matcher),
            state => Err(state.refused()),
        }
    }

    fn ready_mut(&mut self) -> PyResult<&mut Matcher> {
        match &mut self.inner {
            State::Ready(matcher) => Ok(matcher),
            state => Err(state.refused()),
        }
    }

    /// Starts work that may find more than is to be held: parts of so many matches may be taken before it is done.
    fn find(
        &mut self,
        py: Python<'_>,
        (budget, most): (Option<u64>, usize),
        work: impl FnOnce(&mut Matcher, &mut Meter<'_>) -> Answer + Send + 'static,
    ) -> PyResult<bool> {
        let outlet = Arc::new(Outlet::new(most));
        self.found = Some((Arc::clone(&outlet), self.ready()?.names()));
        self.begin_work(py, budget, Some(outlet), work)
    }

    fn start(
        &mut self,
        py: Python<'_>,
        budget: Option<u64>,
        work: impl FnOnce(&mut Matcher, &mut Meter<'_>) -> Answer + Send + 'static,
    ) -> PyResult<bool> {
        self.begin_work(py, budget, None, work)
    }

    fn begin_work(
        &mut self,
        py: Python<'_>,
        budget: Option<u64>,
        outlet: Option<Arc<Outlet>>,
        work: impl FnOnce(&mut Matcher, &mut Meter<'_>) -> Answer + Send + 'static,
    ) -> PyResult<bool> {
        self.ready()?;
        let State::Ready(mut matcher) = std::mem::replace(&mut self.inner, State::Lost) else { return Ok(true) };
        self.answer = None;
        self.stop.store(false, Ordering::Relaxed);
        let (length, stop) = (self.slice, Arc::clone(&self.stop));
        let slice = py.detach(|| {
            slices::begin(length, stop, outlet, move |pace| {
                let answer = work(&mut matcher, &mut Meter::new(pace, budget.unwrap_or(u64::MAX)));
                Work(matcher, answer)
            })
        })?;
        Ok(self.settle(slice))
    }

    fn settle(&mut self, slice: Slice<Work>) -> bool {
        match slice {
            Slice::Paused(paused) => {
                self.inner = State::UnderWay(paused);
                false
            }
            Slice::Done(Work(matcher, answer)) => {
                self.inner = State::Ready(matcher);
                self.answer = Some(answer);
                true
            }
        }
    }
}

impl State {
    fn refused(&self) -> PyErr {
        PyRuntimeError::new_err(match self {
            Self::Ready(_) => "it may be used",
            Self::UnderWay(_) => "the matcher has work under way: let it go on, or stop it",
            Self::Lost => "the matcher was lost when its work panicked",
        })
    }
}

/// Work that nobody waits for any more is ended where it may be: in its thread.
impl Drop for PyMatcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let State::UnderWay(paused) = self.inner {
            let _ = slices::go_on::<Work>(paused);
        }
    }
}

fn cursor((at, ties): (i64, u32)) -> ConsumptionCursor {
    ConsumptionCursor { at, ties }
}

/// Describes a pattern.
fn describe<'py>(py: Python<'py>, status: &Status) -> PyResult<Bound<'py, PyDict>> {
    let Status { names, hits, reports, counts, limit, limited_at, paused, usage, items } = status;
    let dict = PyDict::new(py);
    dict.set_item("name", &names.name)?;
    dict.set_item("candidates", hits.iter().sum::<u64>())?;
    dict.set_item("hits", hits)?;
    dict.set_item("discarded", counts.discarded)?;
    dict.set_item("matches", reports.matches)?;
    dict.set_item("extensions", reports.extensions)?;
    dict.set_item("retractions", reports.retractions)?;
    dict.set_item("timeouts", reports.timeouts)?;
    dict.set_item("suppressed", reports.suppressed)?;
    dict.set_item("limited", counts.limited)?;
    dict.set_item("limit", limit)?;
    dict.set_item("limited_at", limited_at)?;
    dict.set_item("work", counts.work)?;
    dict.set_item("paused", paused)?;
    let Usage { live, peak, bytes } = *usage;
    dict.set_item("partial_matches", live)?;
    dict.set_item("peak_partial_matches", peak)?;
    dict.set_item("state_bytes", bytes)?;
    let items = items.iter().map(|item| (&item.name, item.live, item.peak, item.created, item.node_bytes));
    dict.set_item("items", items.collect::<Vec<_>>())?;
    Ok(dict)
}

/// Checks a graph query with its plan, as a matcher does before it takes it.
#[pyfunction]
fn check_graph_query(query: &[u8]) -> PyResult<()> {
    let spec: GraphQuerySpec = serde_json::from_slice(query).map_err(|error| PyValueError::new_err(error.to_string()))?;
    spec.plan.check().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Checks a pattern with its plan, as a matcher does before it takes it.
#[pyfunction]
fn check_pattern(pattern: &[u8]) -> PyResult<()> {
    let spec: PatternSpec = serde_json::from_slice(pattern).map_err(|error| PyValueError::new_err(error.to_string()))?;
    spec.check().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Checks event patterns with their plan, as a matcher does before it takes them as a unit.
#[pyfunction]
fn check_unit(unit: &[u8]) -> PyResult<()> {
    let spec: EventUnitSpec = serde_json::from_slice(unit).map_err(|error| PyValueError::new_err(error.to_string()))?;
    spec.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let options = Options { adaptive: true, ..Options::default() };
    let mut matcher = Matcher::new(MatcherSpec::default(), &SharedSymbols::new(SymbolTable::default()), options)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let nothing = Past { unreported: &[], emitted: &[], begun: Begun::Now };
    let added = matcher.add_unit(&spec, nothing, &mut Meter::unbounded(&Unhurried));
    added.map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check_pattern, m)?)?;
    m.add_function(wrap_pyfunction!(check_unit, m)?)?;
    m.add_function(wrap_pyfunction!(check_graph_query, m)?)?;
    m.add_class::<PyMatcher>()
}
