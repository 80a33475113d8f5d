//! `graphtide_native._native`: the Python extension. Each module registers its own classes; nothing else lives here.

mod added_fields;
mod counts;
mod decode;
mod errors;
mod events;
mod features;
mod fields;
mod funnel;
mod match_columns;
mod matcher;
mod matches;
mod order;
mod python_lists;
mod record_form;
mod records;
mod simulation;
mod slices;
mod statistics;
mod tables;

use pyo3::prelude::*;

/// The native part of graphtide; use `graphtide_native`, which documents and types it.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    records::register(m)?;
    added_fields::register(m)?;
    decode::register(m)?;
    events::register(m)?;
    features::register(m)?;
    matcher::register(m)?;
    match_columns::register(m)?;
    matches::register(m)?;
    order::register(m)?;
    python_lists::register(m)?;
    statistics::register(m)?;
    tables::register(m)
}
