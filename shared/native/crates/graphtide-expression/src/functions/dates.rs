//! Parts of times: the hour, the day of the week and so on, by the clocks of a zone.

use std::sync::Arc;

use graphtide_graph::value::ValueRef;

use super::{Prepared, constant_text};
use crate::error::ExpressionError;
use crate::expression::{Context, Expression};
use crate::times::{Parts, Zone, seconds_of_iso};

type Part = fn(&Parts) -> i64;

/// A part, and the clocks that show it.
#[derive(Debug)]
struct DatePart {
    part: Part,
    zone: Zone,
    ticks_per_second: i64,
}

/// Every part by its name.
const PARTS: [(&str, Part); 8] = [
    ("year", |parts| parts.year),
    ("month", |parts| parts.month),
    ("day", |parts| parts.day),
    ("hour", |parts| parts.hour),
    ("minute", |parts| parts.minute),
    ("second", |parts| parts.second),
    ("weekday", |parts| parts.weekday),
    ("day_of_year", |parts| parts.day_of_year),
];

pub(super) fn prepare(arguments: &[Expression], context: &Context) -> Result<Arc<dyn Prepared>, ExpressionError> {
    let name = constant_text(arguments, 0, "date_part")?;
    let Some((_, part)) = PARTS.iter().find(|(known, _)| *known == name) else {
        return Err(ExpressionError::new(format!("a time has no part {name:?}")));
    };
    let zone = if arguments.len() > 2 {
        let name = constant_text(arguments, 2, "date_part")?;
        let missing = || ExpressionError::new(format!("the clocks of the zone {name:?} are missing"));
        context.zones.get(name).cloned().ok_or_else(missing)?
    } else {
        Zone::utc()
    };
    Ok(Arc::new(DatePart { part: *part, zone, ticks_per_second: context.ticks_per_second }))
}

impl Prepared for DatePart {
    fn apply<'a>(&'a self, arguments: &[ValueRef<'a>]) -> ValueRef<'a> {
        let seconds = match arguments[1] {
            ValueRef::Int(ticks) => Some(ticks.div_euclid(self.ticks_per_second)),
            ValueRef::Text(text) => seconds_of_iso(text),
            _ => None,
        };
        let parts = seconds.and_then(|seconds| Parts::new(seconds, &self.zone));
        parts.map_or(ValueRef::Null, |parts| ValueRef::Int((self.part)(&parts)))
    }
}
