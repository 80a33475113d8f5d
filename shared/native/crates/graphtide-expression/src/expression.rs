//! Expressions over values in slots.
//!
//! Cost: linear in the expression and in the texts that it reads; no allocation but in the arena. What an expression makes is
//! bounded by [`LONGEST_TEXT`](crate::LONGEST_TEXT) for each function.

use std::collections::HashMap;

use bumpalo::Bump;
use graphtide_graph::logic::{Arithmetic, Comparison, all, any, negate};
use graphtide_graph::value::{OwnedValue, ValueRef};
use serde_json::Value as Form;

use crate::among::Among;
use crate::error::ExpressionError;
use crate::functions::{self, Call};
use crate::times::Zone;

/// Levels of an expression, as the language bounds them.
pub const MOST_LEVELS: usize = 200;

/// What compilation needs to know of the stream.
#[derive(Clone, Debug)]
pub struct Context {
    /// How many ticks make a second.
    pub ticks_per_second: i64,
    /// The clocks of every zone that the expression names.
    pub zones: HashMap<String, Zone>,
}

/// What an expression reads: each leaf of its form that is not a constant has a slot.
pub trait Slots {
    /// The slot of a leaf; None if its form is not known.
    fn slot_of(&mut self, leaf: &Form) -> Option<usize>;
}

/// An expression, ready to be evaluated.
#[derive(Clone, Debug)]
pub enum Expression {
    /// The value in a slot.
    Slot(usize),
    /// A constant.
    Constant(OwnedValue),
    /// Comparison of two values.
    Compare(Comparison, Box<[Self; 2]>),
    /// Arithmetic on two numbers.
    Compute(Arithmetic, Box<[Self; 2]>),
    /// Change of sign.
    Negate(Box<Self>),
    /// All are true.
    And(Box<[Self]>),
    /// Some is true.
    Or(Box<[Self]>),
    /// It is false.
    Not(Box<Self>),
    /// It equals one of the constants.
    In(Box<Self>, Among),
    /// It is a text that starts so.
    StartsWith(Box<Self>, Box<str>),
    /// It is missing.
    IsNull(Box<Self>),
    /// The first value that is not missing.
    Coalesce(Box<[Self]>),
    /// A function whose result is missing if one of its values is.
    Call(Call),
}

impl Expression {
    /// Reads the JSON form of an expression.
    pub fn compile(form: &Form, slots: &mut impl Slots, context: &Context) -> Result<Self, ExpressionError> {
        Compiler { slots, context }.compile(form, 1)
    }

    /// Its value, over the values of the slots.
    #[inline]
    pub fn evaluate<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
        match self {
            Self::Slot(slot) => slots[*slot],
            Self::Constant(value) => value.get(),
            Self::Compute(operator, operands) => {
                operator.of(operands[0].evaluate(slots, arena), operands[1].evaluate(slots, arena))
            }
            Self::Negate(operand) => negate(operand.evaluate(slots, arena)),
            Self::Coalesce(operands) => {
                let mut values = operands.iter().map(|operand| operand.evaluate(slots, arena));
                values.find(|value| *value != ValueRef::Null).unwrap_or(ValueRef::Null)
            }
            Self::Call(call) => call.evaluate(slots, arena),
            _ => self.truth(slots, arena).map_or(ValueRef::Null, ValueRef::Bool),
        }
    }

    /// Whether it is true; unknown is not.
    #[inline]
    pub fn holds<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> bool {
        self.truth(slots, arena) == Some(true)
    }

    fn truth<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> Option<bool> {
        match self {
            Self::And(operands) => all(operands.iter().map(|operand| operand.truth(slots, arena))),
            Self::Or(operands) => any(operands.iter().map(|operand| operand.truth(slots, arena))),
            Self::Not(operand) => operand.truth(slots, arena).map(|truth| !truth),
            Self::Compare(comparison, operands) => {
                comparison.of(operands[0].evaluate(slots, arena), operands[1].evaluate(slots, arena))
            }
            Self::In(operand, options) => options.contains(operand.evaluate(slots, arena)),
            Self::StartsWith(operand, prefix) => match operand.evaluate(slots, arena) {
                ValueRef::Text(text) => Some(text.starts_with(&**prefix)),
                _ => None,
            },
            Self::IsNull(operand) => Some(operand.evaluate(slots, arena) == ValueRef::Null),
            _ => match self.evaluate(slots, arena) {
                ValueRef::Bool(truth) => Some(truth),
                _ => None,
            },
        }
    }
}

struct Compiler<'c, S> {
    slots: &'c mut S,
    context: &'c Context,
}

impl<S: Slots> Compiler<'_, S> {
    fn compile(&mut self, form: &Form, level: usize) -> Result<Expression, ExpressionError> {
        if level > MOST_LEVELS {
            return Err(ExpressionError::new(format!("an expression is nested more than {MOST_LEVELS} levels deep")));
        }
        let found = match form["is"].as_str() {
            Some("constant") => constant(&form["value"]).map(Expression::Constant),
            Some("call") => return self.call(form, level),
            Some("operator") => self.operator(form, level)?,
            Some("in") => {
                let options = form["options"].as_array().and_then(|options| options.iter().map(constant).collect());
                match options {
                    Some(options) => {
                        Some(Expression::In(Box::new(self.compile(&form["operand"], level + 1)?), Among::new(options)))
                    }
                    None => None,
                }
            }
            Some("starts-with") => match form["prefix"].as_str() {
                Some(prefix) => {
                    Some(Expression::StartsWith(Box::new(self.compile(&form["operand"], level + 1)?), prefix.into()))
                }
                None => None,
            },
            _ => self.slots.slot_of(form).map(Expression::Slot),
        };
        found.ok_or_else(|| wrong(form))
    }

    fn call(&mut self, form: &Form, level: usize) -> Result<Expression, ExpressionError> {
        let (Some(function), Some(forms)) = (form["function"].as_str(), form["arguments"].as_array()) else {
            return Err(wrong(form));
        };
        functions::compile(function, self.all(forms, level)?, self.context)
    }

    fn operator(&mut self, form: &Form, level: usize) -> Result<Option<Expression>, ExpressionError> {
        let (Some(operator), Some(forms)) = (form["operator"].as_str(), form["operands"].as_array()) else {
            return Ok(None);
        };
        let operands = self.all(forms, level)?;
        Ok(match operator {
            "AND" => Some(Expression::And(operands)),
            "OR" => Some(Expression::Or(operands)),
            _ => match <Box<[Expression; 1]>>::try_from(operands) {
                Ok(one) => {
                    let [operand] = *one;
                    of_one(operator, Box::new(operand))
                }
                Err(operands) => <Box<[Expression; 2]>>::try_from(operands).ok().and_then(|two| of_two(operator, two)),
            },
        })
    }

    fn all(&mut self, forms: &[Form], level: usize) -> Result<Box<[Expression]>, ExpressionError> {
        forms.iter().map(|form| self.compile(form, level + 1)).collect()
    }
}

fn of_one(operator: &str, operand: Box<Expression>) -> Option<Expression> {
    match operator {
        "-" => Some(Expression::Negate(operand)),
        "NOT" => Some(Expression::Not(operand)),
        "IS NULL" => Some(Expression::IsNull(operand)),
        _ => None,
    }
}

fn of_two(operator: &str, operands: Box<[Expression; 2]>) -> Option<Expression> {
    let comparison = match operator {
        "=" => Comparison::Equal,
        "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => {
            let arithmetic = match operator {
                "+" => Arithmetic::Add,
                "-" => Arithmetic::Subtract,
                "*" => Arithmetic::Multiply,
                "/" => Arithmetic::Divide,
                "%" => Arithmetic::Remainder,
                _ => return None,
            };
            return Some(Expression::Compute(arithmetic, operands));
        }
    };
    Some(Expression::Compare(comparison, operands))
}

#[cold]
fn wrong(form: &Form) -> ExpressionError {
    const SHOWN: usize = 200;
    let mut text = form.to_string();
    if text.len() > SHOWN {
        text.truncate(text.floor_char_boundary(SHOWN));
        text.push('…');
    }
    ExpressionError::new(format!("{text} is not an expression"))
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
