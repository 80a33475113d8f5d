//! Detection of event patterns as Python sees it: a plan in JSON, batches of records, occurrences as rows.

use std::sync::Arc;

use graphtide_engine::limits::Bounds;
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_events::plan::PlanSpec;
use graphtide_events::{Detector, Occurrences, Options, Setup};
use graphtide_graph::symbol::SharedSymbols;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::counts::PyCount;
use crate::fields;
use crate::records::{PyEdgeBatch, PySymbols};

/// Detection of the patterns of a plan.
#[pyclass(name = "EventDetector", module = "graphtide_native._native")]
pub(crate) struct PyEventDetector {
    inner: Detector,
    symbols: SharedSymbols,
}

/// What was found, whether instances were given up at a bound, and how many records were cut.
type Found = (PyOccurrences, bool, u64);

/// Live instances, most ever, bytes.
type UsageRow = (usize, usize, usize);

#[pymethods]
impl PyEventDetector {
    #[new]
    fn new(
        plan: &[u8],
        symbols: &PySymbols,
        width: usize,
        deletions: bool,
        may_change: bool,
        bounds: (Option<u64>, Option<u64>, Option<u64>),
    ) -> PyResult<Self> {
        let (work_budget, partial_matches, state_bytes) = bounds;
        let bounds = Bounds { partial_matches: partial_matches.unwrap_or(u64::MAX), bytes: state_bytes.unwrap_or(u64::MAX) };
        let options = Options { deletions, bounds };
        let setup = Setup { options, may_change, work_budget: work_budget.unwrap_or(u64::MAX) };
        let inner = Detector::new(&read(plan)?, &symbols.inner, width, setup);
        let inner = inner.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner, symbols: symbols.inner.clone() })
    }

    fn push(&mut self, py: Python<'_>, batch: &PyEdgeBatch) -> Found {
        let records = Arc::clone(&batch.inner);
        let Self { inner, symbols } = self;
        let symbols = symbols.clone();
        py.detach(|| {
            let mut found = Occurrences::default();
            let progress = inner.push(&records, 0, &mut found, &mut Meter::unbounded(&Unhurried));
            (PyOccurrences { inner: found, symbols }, progress.has_limited, progress.cut)
        })
    }

    fn advance(&mut self, py: Python<'_>, now: i64) -> PyOccurrences {
        let Self { inner, symbols } = self;
        let symbols = symbols.clone();
        py.detach(|| {
            let mut found = Occurrences::default();
            inner.advance(now, &mut found, &mut Meter::unbounded(&Unhurried));
            PyOccurrences { inner: found, symbols }
        })
    }

    fn finish(&mut self, py: Python<'_>) -> PyOccurrences {
        let Self { inner, symbols } = self;
        let symbols = symbols.clone();
        py.detach(|| {
            let mut found = Occurrences::default();
            inner.finish(&mut found, &mut Meter::unbounded(&Unhurried));
            PyOccurrences { inner: found, symbols }
        })
    }

    fn replan(&mut self, py: Python<'_>, plan: &[u8], carried: Vec<Option<u32>>) -> PyResult<bool> {
        let plan = read(plan)?;
        let inner = &mut self.inner;
        let replanned = py.detach(move || inner.replan(&plan, &carried, &mut Meter::unbounded(&Unhurried)));
        replanned.map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn usage(&self) -> UsageRow {
        let usage = self.inner.usage();
        (usage.live, usage.peak, usage.bytes)
    }

    fn instances(&self) -> Vec<(usize, usize)> {
        self.inner.instances().map(|(live, peak, _)| (live, peak)).collect()
    }
}

fn read(plan: &[u8]) -> PyResult<PlanSpec> {
    serde_json::from_slice(plan).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Occurrences in the order in which they were found.
#[pyclass(frozen, name = "Occurrences", module = "graphtide_native._native")]
pub(crate) struct PyOccurrences {
    inner: Occurrences,
    symbols: SharedSymbols,
}

/// Pattern, branch, kind, time, count, types and ids of the events of each slot, and what is returned.
type OccurrenceRow<'py> = (u32, u32, &'static str, i64, PyCount, Vec<Vec<(String, String)>>, Vec<Bound<'py, PyAny>>);

#[pymethods]
impl PyOccurrences {
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    #[getter]
    fn matches(&self) -> u64 {
        self.inner.matches()
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<OccurrenceRow<'py>>> {
        let row = |place| {
            let found = self.inner.get(place);
            let types: Vec<_> = {
                let symbols = self.symbols.lock();
                found.types.iter().map(|&kind| symbols.name(kind).to_owned()).collect()
            };
            let mut ids = types.into_iter().zip(found.ids().map(|id| id.to_string()));
            let slots = found.lengths.iter().map(|&length| ids.by_ref().take(length as usize).collect()).collect();
            let fields = fields::to_python(py, found.fields)?;
            Ok((found.pattern, found.branch, found.kind.name(), found.detected_at, PyCount(found.count.clone()), slots, fields))
        };
        (0..self.inner.len()).map(row).collect()
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyEventDetector>()?;
    m.add_class::<PyOccurrences>()
}
