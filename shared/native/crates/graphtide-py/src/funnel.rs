//! The trace of a pattern, as Python sees it.

use graphtide_engine::trace::{Fates, NearMiss, Part, Reason, Refused, Tally};
use graphtide_match::matcher::{Answer, Funnel};
use graphtide_simulation::inquiry::{Inquiry, Named};
use graphtide_simulation::why_not::Lack;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A funnel with query edges and vertices by position.
pub(crate) fn to_dict<'py>(py: Python<'py>, funnel: &Funnel<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let edges = funnel.edges.iter().map(|tally| counts(py, tally)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("edges", edges)?;
    dict.set_item("discarded", funnel.discarded)?;
    let steps = funnel.steps.iter().map(|step| {
        let (part, edge) = match step.part {
            Part::Whole => ("whole", None),
            Part::Arrival(edge) => ("arrival", Some(edge)),
            Part::LookUp(edge) => ("look_up", Some(edge)),
            Part::Nearby => ("nearby", None),
            Part::Connected => ("connected", None),
            Part::Remainder => ("remainder", None),
            Part::Pairs => ("pairs", None),
        };
        Ok((step.node.as_str(), part, edge, counts(py, &step.tally)?))
    });
    dict.set_item("steps", steps.collect::<PyResult<Vec<_>>>()?)?;
    let stores = funnel.stores.iter().map(|(node, Fates { created, alive, expired, deleted, given_up, consumed })| {
        (node.as_str(), created, alive, expired, deleted, given_up, consumed)
    });
    dict.set_item("stores", stores.collect::<Vec<_>>())?;
    let answers = funnel.answers.iter().map(|found| answer(py, found));
    dict.set_item("answers", answers.collect::<PyResult<Vec<_>>>()?)?;
    let misses = funnel.misses.iter().map(|(node, waits_for, miss)| near_miss(py, node, waits_for, miss));
    dict.set_item("misses", misses.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

/// Looked at, refused by reason, passed.
type Counts<'py> = (u64, Bound<'py, PyDict>, u64);

fn counts<'py>(py: Python<'py>, tally: &Tally) -> PyResult<Counts<'py>> {
    Ok((tally.looked_at, refused(py, &tally.refused)?, tally.passed))
}

fn refused<'py>(py: Python<'py>, refused: &Refused) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (reason, count) in refused.named() {
        dict.set_item(reason, count)?;
    }
    Ok(dict)
}

fn answer<'py>(py: Python<'py>, answer: &Answer<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("id", answer.id)?;
    dict.set_item("ts", answer.ts)?;
    let refused = answer.refused.iter().map(|&(edge, reason)| (u32::from(edge), reason.as_str()));
    dict.set_item("refused", refused.collect::<Vec<_>>())?;
    dict.set_item("lacks", answer.lacks.iter().map(|named| lack(py, named)).collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("ends", answer.inquiry.map(Inquiry::ends))?;
    dict.set_item("chosen", answer.inquiry.is_some_and(|inquiry| inquiry.chosen.is_some()))?;
    let matched = answer.inquiry.and_then(|inquiry| inquiry.matched.as_ref());
    dict.set_item("matched_at", matched.map(|(at, _)| at))?;
    dict.set_item("component", matched.map(|(_, oldest)| oldest))?;
    dict.set_item("left_at", answer.end.map(|(at, _)| at))?;
    dict.set_item("left", answer.end.map(|(_, end)| end.as_str()))?;
    Ok(dict)
}

fn lack<'py>(py: Python<'py>, named: &Named) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let (reason, corner, edges, after) = match named.lack {
        Some(Lack::Missing(corner)) => (Reason::Ends, Some(corner), corner.edges, None),
        Some(Lack::Shared(corner)) => (Reason::Distinct, Some(corner), corner.edges, None),
        Some(Lack::Order { edge, after }) => (Reason::Order, None, 1 << edge, after),
        None => (Reason::Window, None, 0, None),
    };
    dict.set_item("edge", u32::from(named.edge))?;
    dict.set_item("reason", reason.as_str())?;
    dict.set_item("vertex", corner.map(|corner| u32::from(corner.query_vertex)).zip(named.vertex.as_deref()))?;
    dict.set_item("enters", corner.is_some_and(|corner| corner.side == 1))?;
    dict.set_item("edges", (0..u64::BITS).filter(|edge| edges >> edge & 1 == 1).collect::<Vec<_>>())?;
    dict.set_item("there", &named.there)?;
    dict.set_item("after", after)?;
    Ok(dict)
}

fn near_miss<'py>(py: Python<'py>, node: &str, waits_for: &[u8], miss: &NearMiss) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("node", node)?;
    dict.set_item("edges", &miss.edges)?;
    dict.set_item("vertices", &miss.vertices)?;
    dict.set_item("waits_for", waits_for.iter().map(|&edge| u32::from(edge)).collect::<Vec<_>>())?;
    dict.set_item("expired_at", miss.expired_at)?;
    dict.set_item("searched_at", miss.dead_end.map(|dead_end| dead_end.at))?;
    dict.set_item("refused", refused(py, &miss.refused)?)?;
    Ok(dict)
}
