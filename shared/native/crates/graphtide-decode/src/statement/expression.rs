//! Expressions over the values of a record's paths.

use std::collections::HashMap;

use bumpalo::Bump;
use graphtide_graph::value::{OwnedValue, ValueRef};
use serde_json::Value as Form;

use super::StatementError;
use super::paths::{Paths, Step};
use crate::times::Zone;

/// What compilation needs to know of the stream.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) ticks_per_second: i64,
    /// The clocks of every zone that the statement names.
    pub(crate) zones: HashMap<String, Zone>,
}

/// An expression, ready to be evaluated.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Path(usize),
    Constant(OwnedValue),
}

impl Expression {
    /// Reads the JSON form of an expression.
    pub(crate) fn compile(form: &Form, paths: &mut Paths, _context: &Context) -> Result<Self, StatementError> {
        let wrong = || StatementError::new(format!("{form} is not an expression"));
        match form["is"].as_str() {
            Some("path") => Ok(Self::Path(paths.slot(steps(&form["steps"]).ok_or_else(wrong)?))),
            Some("constant") => constant(&form["value"]).map(Self::Constant).ok_or_else(wrong),
            _ => Err(wrong()),
        }
    }

    /// Its value, over the values of the paths.
    #[inline]
    pub(crate) fn evaluate<'a>(&'a self, slots: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
        match self {
            Self::Path(slot) => slots[*slot],
            Self::Constant(value) => value.get(),
        }
    }

    /// Whether it is true.
    #[inline]
    pub(crate) fn holds<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> bool {
        self.evaluate(slots, arena) == ValueRef::Bool(true)
    }
}

/// The steps of a path.
pub(crate) fn steps(form: &Form) -> Option<Box<[Step]>> {
    let step = |step: &Form| match step {
        Form::String(name) => Some(Step::Name(name.as_str().into())),
        Form::Number(position) => Some(Step::Position(u32::try_from(position.as_u64()?).ok()?)),
        _ => None,
    };
    form.as_array()?.iter().map(step).collect()
}

fn constant(form: &Form) -> Option<OwnedValue> {
    Some(match form {
        Form::Null => OwnedValue::Null,
        Form::Bool(truth) => OwnedValue::Bool(*truth),
        Form::Number(number) => match number.as_i64() {
            Some(number) => OwnedValue::Int(number),
            None => OwnedValue::Float(number.as_f64()?),
        },
        Form::String(text) => OwnedValue::Text(text.as_str().into()),
        Form::Array(_) | Form::Object(_) => return None,
    })
}
