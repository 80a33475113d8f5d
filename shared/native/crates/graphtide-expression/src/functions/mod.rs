//! The functions of expressions: a row of [`FUNCTIONS`] for each.
//!
//! Their meaning is that of `graphtide_core.functions`. A missing argument makes the result missing, except in
//! `coalesce`, and so does one of another type. What a function reads of its constants is prepared once. Cost: linear in the
//! texts of the arguments.

mod addresses;
mod dates;
mod letters;
mod numbers;
mod regexes;
mod texts;

use std::fmt::Debug;
use std::sync::Arc;

use bumpalo::Bump;
use graphtide_graph::value::{OwnedValue, ValueRef};

use crate::error::ExpressionError;
use crate::expression::{Context, Expression};

/// Bytes of the longest text that a function makes; a longer one is missing.
pub const LONGEST_TEXT: usize = 1 << 20;

/// Arguments of a function that takes any number.
const MOST_ARGUMENTS: usize = 64;

/// A function of its arguments alone; none of them is missing.
type Plain = for<'a> fn(&[ValueRef<'a>], &'a Bump) -> ValueRef<'a>;

/// A function with its constants; no argument is missing.
trait Prepared: Debug + Send + Sync {
    fn apply<'a>(&'a self, arguments: &[ValueRef<'a>]) -> ValueRef<'a>;
}

/// Reads the constants among the arguments.
type Prepare = fn(&[Expression], &Context) -> Result<Arc<dyn Prepared>, ExpressionError>;

#[derive(Clone, Copy)]
enum Meaning {
    Plain(Plain),
    Prepared(Prepare),
    Coalesce,
}

struct Function {
    name: &'static str,
    least: usize,
    most: usize,
    meaning: Meaning,
}

const fn plain(name: &'static str, least: usize, most: usize, function: Plain) -> Function {
    Function { name, least, most, meaning: Meaning::Plain(function) }
}

const fn prepared(name: &'static str, least: usize, most: usize, prepare: Prepare) -> Function {
    Function { name, least, most, meaning: Meaning::Prepared(prepare) }
}

/// Every function by its name, with the fewest and the most arguments.
const FUNCTIONS: [Function; 20] = [
    plain("lower", 1, 1, texts::lower),
    plain("upper", 1, 1, texts::upper),
    plain("trim", 1, 1, texts::trim),
    plain("substring", 2, 3, texts::substring),
    plain("split", 3, 3, texts::split),
    plain("replace", 3, 3, texts::replace),
    plain("length", 1, 1, texts::length),
    Function { name: "coalesce", least: 1, most: MOST_ARGUMENTS, meaning: Meaning::Coalesce },
    plain("concat", 1, MOST_ARGUMENTS, texts::concat),
    prepared("regexp_extract", 2, 3, regexes::prepare),
    plain("to_number", 1, 1, numbers::to_number),
    plain("abs", 1, 1, numbers::abs),
    prepared("round", 1, 2, numbers::prepare_round),
    plain("greatest", 1, MOST_ARGUMENTS, numbers::greatest),
    plain("least", 1, MOST_ARGUMENTS, numbers::least),
    prepared("date_part", 2, 3, dates::prepare),
    prepared("cidr_contains", 2, 2, addresses::prepare_network),
    plain("is_private_ip", 1, 1, addresses::is_private),
    plain("host_of", 1, 1, texts::host_of),
    plain("hash", 1, 1, texts::hash),
];

/// A function, and its arguments.
#[derive(Clone, Debug)]
pub struct Call {
    function: Bound,
    arguments: Box<[Expression]>,
}

#[derive(Clone, Debug)]
enum Bound {
    Plain(Plain),
    Prepared(Arc<dyn Prepared>),
}

/// A call of the function of that name; of constants alone, its value.
pub(crate) fn compile(name: &str, arguments: Box<[Expression]>, context: &Context) -> Result<Expression, ExpressionError> {
    let function = FUNCTIONS.iter().find(|function| function.name == name);
    let Some(Function { least, most, meaning, .. }) = function else {
        return Err(ExpressionError::new(format!("there is no function {name:?}")));
    };
    if !(*least..=*most).contains(&arguments.len()) {
        let reason = format!("{name} takes {least} to {most} arguments, not {}", arguments.len());
        return Err(ExpressionError::new(reason));
    }
    let function = match meaning {
        Meaning::Coalesce => return Ok(Expression::Coalesce(arguments)),
        Meaning::Plain(function) => Bound::Plain(*function),
        Meaning::Prepared(prepare) => Bound::Prepared(prepare(&arguments, context)?),
    };
    let is_constant = arguments.iter().all(|argument| matches!(argument, Expression::Constant(_)));
    let call = Expression::Call(Call { function, arguments });
    Ok(if is_constant { Expression::Constant(OwnedValue::new(call.evaluate(&[], &Bump::new()))) } else { call })
}

impl Call {
    #[inline]
    pub(crate) fn evaluate<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
        let values: &[ValueRef<'a>] =
            arena.alloc_slice_fill_with(self.arguments.len(), |place| self.arguments[place].evaluate(slots, arena));
        if values.contains(&ValueRef::Null) {
            return ValueRef::Null;
        }
        match &self.function {
            Bound::Plain(function) => function(values, arena),
            Bound::Prepared(function) => function.apply(values),
        }
    }
}

/// The text of an argument that is a constant.
fn constant_text<'e>(arguments: &'e [Expression], place: usize, function: &str) -> Result<&'e str, ExpressionError> {
    match &arguments[place] {
        Expression::Constant(OwnedValue::Text(text)) => Ok(text),
        _ => Err(ExpressionError::new(format!("argument {} of {function} must be a constant text", place + 1))),
    }
}

/// The number of an argument that is a constant from 0 to `most`.
fn constant_number(arguments: &[Expression], place: usize, function: &str, most: usize) -> Result<usize, ExpressionError> {
    let number = match &arguments[place] {
        Expression::Constant(OwnedValue::Int(number)) => usize::try_from(*number).ok().filter(|number| *number <= most),
        _ => None,
    };
    number
        .ok_or_else(|| ExpressionError::new(format!("argument {} of {function} must be a number from 0 to {most}", place + 1)))
}
