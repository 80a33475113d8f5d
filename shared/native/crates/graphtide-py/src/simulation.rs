//! What engines of dual simulation did, as benchmarks in Python see it.

use std::sync::OnceLock;
use std::time::Instant;

use graphtide_simulation::{Funnel as Work, Probe};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A probe with the clock of the system.
pub(crate) fn probe(is_from_scratch: bool) -> Probe {
    Probe { clock: nanoseconds, is_from_scratch }
}

/// The counts of an engine.
pub(crate) fn to_dict<'py>(py: Python<'py>, work: &Work) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("taken", work.taken)?;
    dict.set_item("whole_ends", work.red)?;
    dict.set_item("signature_checks", work.signature_checks)?;
    dict.set_item("signature_passed", work.signature_passed)?;
    dict.set_item("signature_false", work.signature_false)?;
    dict.set_item("verifications_due", work.verifications_due)?;
    dict.set_item("verifications_run", work.verifications_run)?;
    dict.set_item("refuted_nearby", work.refuted_nearby)?;
    dict.set_item("reported", work.reported)?;
    dict.set_item("steps", work.steps)?;
    dict.set_item("verifying_steps", work.verifying_steps)?;
    dict.set_item("verifying_nanoseconds", work.verifying_nanoseconds)?;
    Ok(dict)
}

/// Nanoseconds since this was asked first.
fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
