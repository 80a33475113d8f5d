//! The matcher and its matches as Python sees them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::LocalKey;
use std::time::Duration;

use arrow_pyarrow::IntoPyArrow;
use graphtide_engine::engine::{Engine, Explained, Usage};
use graphtide_engine::ids::PatternId;
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::output::{ComponentRef, IntervalRef, Kind, Layout, MatchBatch, OccurrenceRef, PathStep, PatternNames};
use graphtide_engine::replay::{Begun, Frontier};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{SharedSymbols, SymbolTable};
use graphtide_match::matcher::{EventUnit, GraphUnit, Matcher, Options, Past, Progress, Query, Unit};
use graphtide_match::plan::{EventUnitSpec, GraphQuerySpec, InvalidPlan, MatcherSpec, PatternSpec};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::fields;
use crate::intervals::{self, Numbered};
use crate::records::{PyEdgeBatch, PySymbols};
use crate::turns::{self, InTurns, Outlet, Paused, Turn, UnderWay};

/// A matcher of many patterns, and what it has under way.
///
/// Long work is done in turns: what begins it says whether it is done, as does `go_on`; then its answer is there to be taken.
#[pyclass(name = "Matcher", module = "graphtide_native._native")]
pub(crate) struct PyMatcher {
    inner: State,
    answer: Option<Answer>,
    turn: Duration,
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
    Begun,
}

/// Work on a matcher: it comes back with the answer.
struct Work(Box<Matcher>, Answer);

thread_local! {
    static UNDER_WAY: UnderWay<Work> = RefCell::default();
}

impl InTurns for Work {
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
        turn_seconds: f64,
    ) -> PyResult<Self> {
        let options = Options { deletions, adaptive, traced, work };
        let spec: MatcherSpec = serde_json::from_slice(patterns).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let inner = Matcher::new(spec, &symbols.inner, options).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let turn = Duration::try_from_secs_f64(turn_seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner: State::Ready(Box::new(inner)), answer: None, turn, stop: Arc::default(), found: None })
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
            Some(Answer::Pushed(_) | Answer::Added(_) | Answer::AddedUnit(_) | Answer::Begun) | None => Ok(false),
        }
    }

    fn add(
        &mut self,
        py: Python<'_>,
        pattern: &[u8],
        untold: Vec<PyRef<'_, PyEdgeBatch>>,
        told: Vec<PyRef<'_, PyEdgeBatch>>,
        has_begun: bool,
        residue: Option<(i64, u32)>,
    ) -> PyResult<bool> {
        let spec: PatternSpec = serde_json::from_slice(pattern).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [untold, told] =
            [untold, told].map(|batches| batches.iter().map(|batch| Arc::clone(&batch.inner)).collect::<Vec<_>>());
        let begun = match (has_begun, residue.map(frontier)) {
            (false, residue) => Begun::Not(residue),
            (true, None) => Begun::Now,
            (true, Some(residue)) => Begun::Before(residue),
        };
        self.start(py, None, move |matcher, meter| {
            Answer::Added(matcher.add(&spec, Past { untold: &untold, told: &told, begun }, meter))
        })
    }

    fn add_graph(
        &mut self,
        py: Python<'_>,
        query: &[u8],
        untold: Vec<PyRef<'_, PyEdgeBatch>>,
        told: Vec<PyRef<'_, PyEdgeBatch>>,
    ) -> PyResult<bool> {
        let spec: GraphQuerySpec = serde_json::from_slice(query).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [untold, told] =
            [untold, told].map(|batches| batches.iter().map(|batch| Arc::clone(&batch.inner)).collect::<Vec<_>>());
        self.start(py, None, move |matcher, meter| {
            let past = Past { untold: &untold, told: &told, begun: Begun::Now };
            Answer::Added(matcher.add_graph(&spec, past, meter))
        })
    }

    fn added(&mut self) -> PyResult<u32> {
        match self.answer.take() {
            Some(Answer::Added(outcome)) => {
                outcome.map(|number| number.0).map_err(|error| PyValueError::new_err(error.to_string()))
            }
            Some(Answer::Pushed(_) | Answer::Replanned(_) | Answer::AddedUnit(_) | Answer::Begun) | None => {
                Err(PyRuntimeError::new_err("no pattern was added"))
            }
        }
    }

    fn add_unit(
        &mut self,
        py: Python<'_>,
        unit: &[u8],
        untold: Vec<PyRef<'_, PyEdgeBatch>>,
        told: Vec<PyRef<'_, PyEdgeBatch>>,
    ) -> PyResult<bool> {
        let spec: EventUnitSpec = serde_json::from_slice(unit).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let [untold, told] =
            [untold, told].map(|batches| batches.iter().map(|batch| Arc::clone(&batch.inner)).collect::<Vec<_>>());
        self.start(py, None, move |matcher, meter| {
            let past = Past { untold: &untold, told: &told, begun: Begun::Now };
            Answer::AddedUnit(matcher.add_unit(&spec, past, meter))
        })
    }

    fn added_unit(&mut self) -> PyResult<Vec<u32>> {
        match self.answer.take() {
            Some(Answer::AddedUnit(outcome)) => {
                let numbers = outcome.map_err(|error| PyValueError::new_err(error.to_string()))?;
                Ok(numbers.into_iter().map(|number| number.0).collect())
            }
            Some(Answer::Pushed(_) | Answer::Replanned(_) | Answer::Added(_) | Answer::Begun) | None => {
                Err(PyRuntimeError::new_err("no unit was added"))
            }
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
        let Some(turn) = py.detach(|| turns::go_on(paused)) else {
            self.inner = State::UnderWay(paused);
            return Err(PyRuntimeError::new_err("another thread has work under way with this matcher"));
        };
        Ok(self.settle(turn))
    }

    fn stop(&mut self, py: Python<'_>) -> PyResult<()> {
        self.stop.store(true, Ordering::Relaxed);
        while !self.go_on(py)? {}
        Ok(())
    }

    fn grant(&mut self, records: u64) -> PyResult<()> {
        self.ready_mut()?.grant(records);
        Ok(())
    }

    fn wait(&mut self, number: u32, residue: Option<(i64, u32)>) -> PyResult<()> {
        self.ready_mut()?.wait(PatternId(number), residue.map(frontier));
        Ok(())
    }

    fn begin(&mut self, py: Python<'_>, number: u32) -> PyResult<bool> {
        self.start(py, None, move |matcher, meter| {
            matcher.begin(PatternId(number), meter);
            Answer::Begun
        })
    }

    fn take_telling(&mut self, number: u32, other: &Self, of: u32) -> PyResult<()> {
        let other = other.ready()?;
        self.ready_mut()?.take_telling(PatternId(number), other, PatternId(of));
        Ok(())
    }

    fn residue(&self, number: u32) -> PyResult<Option<(i64, u32)>> {
        Ok(self.ready()?.residue(PatternId(number)).map(|residue| (residue.at, residue.ties)))
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
        let matcher = self.ready()?;
        let subgraphs = matcher.queries().map(|(number, query, unit)| Ok((number, describe(py, matcher, query, unit)?)));
        let events =
            matcher.event_queries().map(|(number, query, unit)| Ok((number, describe_events(py, number, query, unit)?)));
        let graphs =
            matcher.graph_queries().map(|(number, query, unit)| Ok((number, describe_graph(py, number, query, unit)?)));
        let mut told: Vec<(PatternId, Bound<'py, PyDict>)> = subgraphs.chain(events).chain(graphs).collect::<PyResult<_>>()?;
        told.sort_by_key(|&(number, _)| number);
        Ok(told.into_iter().map(|(_, dict)| dict).collect())
    }

    fn changed<'py>(&mut self, py: Python<'py>, most: usize) -> PyResult<Vec<(u32, Bound<'py, PyDict>)>> {
        let changed = self.ready_mut()?.changed(most);
        let matcher = self.ready()?;
        let told = changed.into_iter().filter_map(|number| {
            let dict = match (matcher.query(number), matcher.event_query(number)) {
                (Some((query, unit)), _) => describe(py, matcher, query, unit),
                (None, Some((query, unit))) => describe_events(py, number, query, unit),
                (None, None) => match matcher.graph_query(number) {
                    Some((query, unit)) => describe_graph(py, number, query, unit),
                    None => return None,
                },
            };
            Some(dict.map(|dict| (number.0, dict)))
        });
        told.collect()
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
        let funnels: Option<Vec<_>> = matcher.queries().map(|(_, query, _)| matcher.funnel(query)).collect();
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
        let (length, stop) = (self.turn, Arc::clone(&self.stop));
        let turn = py.detach(|| {
            turns::begin(length, stop, outlet, move |pace| {
                let answer = work(&mut matcher, &mut Meter::new(pace, budget.unwrap_or(u64::MAX)));
                Work(matcher, answer)
            })
        })?;
        Ok(self.settle(turn))
    }

    fn settle(&mut self, turn: Turn<Work>) -> bool {
        match turn {
            Turn::Paused(paused) => {
                self.inner = State::UnderWay(paused);
                false
            }
            Turn::Done(Work(matcher, answer)) => {
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
            let _ = turns::go_on::<Work>(paused);
        }
    }
}

fn frontier((at, ties): (i64, u32)) -> Frontier {
    Frontier { at, ties }
}

fn describe<'py>(py: Python<'py>, matcher: &Matcher, query: &Query, unit: &Unit) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &query.names.name)?;
    let (hits, counts) = (matcher.hits(query, unit), query.counts(unit));
    dict.set_item("candidates", hits.iter().sum::<u64>())?;
    dict.set_item("hits", hits)?;
    dict.set_item("discarded", counts.discarded)?;
    dict.set_item("matches", query.reports.matches)?;
    dict.set_item("extensions", query.reports.extensions)?;
    dict.set_item("retractions", query.reports.retractions)?;
    dict.set_item("timeouts", query.reports.timeouts)?;
    dict.set_item("suppressed", query.reports.suppressed)?;
    dict.set_item("limited", counts.limited)?;
    dict.set_item("limit", unit.limit.as_deref())?;
    dict.set_item("limited_at", unit.limited_at)?;
    dict.set_item("work", counts.work)?;
    dict.set_item("paused", unit.paused)?;
    let Usage { live, peak, .. } = unit.engine.usage();
    dict.set_item("partial_matches", live)?;
    dict.set_item("peak_partial_matches", peak)?;
    dict.set_item("state_bytes", matcher.unit_bytes(unit) + query.told_bytes())?;
    let items = unit.engine.report().into_iter().map(|item| (item.name, item.live, item.peak, item.created, item.node_bytes));
    dict.set_item("items", items.collect::<Vec<_>>())?;
    Ok(dict)
}

/// Describes an event pattern: what it holds, it may hold together with others of its unit; of the unit's bytes and work it has a share.
fn describe_events<'py>(py: Python<'py>, number: PatternId, query: &Query, unit: &EventUnit) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &query.names.name)?;
    for nothing in ["candidates", "discarded", "extensions"] {
        dict.set_item(nothing, 0)?;
    }
    dict.set_item("hits", Vec::<u64>::new())?;
    dict.set_item("matches", query.reports.matches)?;
    dict.set_item("retractions", query.reports.retractions)?;
    dict.set_item("timeouts", query.reports.timeouts)?;
    dict.set_item("suppressed", query.reports.suppressed)?;
    dict.set_item("limited", unit.limited)?;
    dict.set_item("limit", unit.limit.as_deref())?;
    dict.set_item("limited_at", unit.limited_at)?;
    dict.set_item("work", unit.work_share())?;
    dict.set_item("paused", unit.is_paused())?;
    let Usage { live, peak, bytes } = unit.usage_of(number);
    dict.set_item("partial_matches", live)?;
    dict.set_item("peak_partial_matches", peak)?;
    dict.set_item("state_bytes", bytes + query.told_bytes())?;
    let items = unit.instances(number);
    let items = items.map(|(vertex, live, peak, created)| (format!("v{vertex}"), live, peak, created, 0));
    dict.set_item("items", items.collect::<Vec<(String, usize, usize, u64, u64)>>())?;
    Ok(dict)
}

/// Describes a graph query: what it holds, tuples of its operators and chunks of ends of paths, it may hold together with others of
/// its unit; of the unit's bytes and work it has a share.
fn describe_graph<'py>(py: Python<'py>, number: PatternId, query: &Query, unit: &GraphUnit) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &query.names.name)?;
    for nothing in ["candidates", "discarded", "timeouts", "suppressed"] {
        dict.set_item(nothing, 0)?;
    }
    dict.set_item("hits", Vec::<u64>::new())?;
    dict.set_item("matches", query.reports.matches)?;
    dict.set_item("extensions", query.reports.extensions)?;
    dict.set_item("retractions", query.reports.retractions)?;
    dict.set_item("limited", unit.limited)?;
    dict.set_item("limit", unit.limit.as_deref())?;
    dict.set_item("limited_at", unit.limited_at)?;
    dict.set_item("work", unit.work_share())?;
    dict.set_item("paused", unit.is_paused())?;
    let Usage { live, peak, bytes } = unit.usage_of(number);
    dict.set_item("partial_matches", live)?;
    dict.set_item("peak_partial_matches", peak)?;
    dict.set_item("state_bytes", bytes)?;
    let items = unit.held(number).into_iter().enumerate().map(|(operator, live)| (format!("o{operator}"), live, live, live, 0));
    dict.set_item("items", items.collect::<Vec<(String, usize, usize, usize, u64)>>())?;
    Ok(dict)
}

/// Matches in order of detection.
#[pyclass(frozen, name = "MatchBatch", module = "graphtide_native._native")]
pub(crate) struct PyMatchBatch {
    inner: MatchBatch,
    names: Arc<[Arc<PatternNames>]>,
}

/// Pattern, kind, shed, times of detection, first and last edge.
type Head = (u32, &'static str, bool, i64, i64, i64);

/// What a match is made of.
#[derive(IntoPyObject)]
enum Parts {
    /// Ids of edges, places of those that were made, names of vertices.
    Assignment((Vec<String>, Vec<usize>, Vec<String>)),
    /// For each query edge, ids and whether they were made; for each query vertex, names; identity; how many there are in all; id
    /// of the oldest edge and of former ones.
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

type OccurrenceParts = (String, Vec<u32>, Vec<(String, bool)>, Option<u64>);

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

    fn interval_columns<'py>(&self, py: Python<'py>, numbered: Numbered) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(columns) = py.detach(move || intervals::columns(&self.inner, &self.names, numbered)) else { return Ok(None) };
        let columns = columns.map_err(|error| PyValueError::new_err(error.to_string()))?;
        columns.into_pyarrow(py).map(Some)
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
                    Layout::Interval(interval) => interval.telling.nth,
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
    (identity.map(char::from).iter().collect(), names, ids, occurrence.counted().map(|counted| counted.count))
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
    let (from, to) = (interval.telling.valid.0, interval.end(&names.intervals, kind));
    (identity.map(char::from).iter().collect(), interval.output, vertices, from, to, interval.telling.nth, steps)
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
    let nothing = Past { untold: &[], told: &[], begun: Begun::Now };
    let added = matcher.add_unit(&spec, nothing, &mut Meter::unbounded(&Unhurried));
    added.map(drop).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(check_pattern, m)?)?;
    m.add_function(wrap_pyfunction!(check_unit, m)?)?;
    m.add_function(wrap_pyfunction!(check_graph_query, m)?)?;
    m.add_class::<PyMatcher>()?;
    m.add_class::<PyMatchBatch>()
}
