//! Functions of numbers, and the greatest and least of values.

use std::cmp::Ordering;
use std::io::Write as _;
use std::sync::Arc;

use bumpalo::Bump;
use graphtide_graph::logic::order;
use graphtide_graph::value::ValueRef;

use super::{Prepared, constant_number};
use crate::error::ExpressionError;
use crate::expression::{Context, Expression};
use crate::value_text::read_number;

/// Digits after the point that `round` keeps.
const MOST_DIGITS: usize = 15;

pub(super) fn to_number<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    match arguments {
        [ValueRef::Text(text)] => read_number(text),
        [number @ (ValueRef::Int(_) | ValueRef::Float(_))] => *number,
        _ => ValueRef::Null,
    }
}

pub(super) fn abs<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    match arguments {
        [ValueRef::Int(number)] => number.checked_abs().map_or(ValueRef::Null, ValueRef::Int),
        [ValueRef::Float(number)] => ValueRef::Float(number.abs()),
        _ => ValueRef::Null,
    }
}

pub(super) fn greatest<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    extreme(arguments, Ordering::Greater)
}

pub(super) fn least<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    extreme(arguments, Ordering::Less)
}

/// The first value that no other beats; missing where some cannot be ordered.
fn extreme<'a>(values: &[ValueRef<'a>], beats: Ordering) -> ValueRef<'a> {
    let Some((first, others)) = values.split_first() else { return ValueRef::Null };
    if order(*first, *first).is_none() {
        return ValueRef::Null;
    }
    let mut best = *first;
    for value in others {
        match order(*value, best) {
            Some(found) if found == beats => best = *value,
            Some(_) => {}
            None => return ValueRef::Null,
        }
    }
    best
}

/// The nearest number with so many digits after the point; halves go away from zero. Without digits it is an integer.
#[derive(Debug)]
struct Round(Option<usize>);

pub(super) fn prepare_round(arguments: &[Expression], _context: &Context) -> Result<Arc<dyn Prepared>, ExpressionError> {
    let digits = if arguments.len() > 1 { Some(constant_number(arguments, 1, "round", MOST_DIGITS)?) } else { None };
    Ok(Arc::new(Round(digits)))
}

impl Prepared for Round {
    fn apply<'a>(&'a self, arguments: &[ValueRef<'a>]) -> ValueRef<'a> {
        match (arguments[0], self.0) {
            (ValueRef::Int(number), _) => ValueRef::Int(number),
            (ValueRef::Float(number), None) => to_integer(number.round()),
            (ValueRef::Float(number), Some(digits)) if number.is_finite() => ValueRef::Float(round(number, digits)),
            _ => ValueRef::Null,
        }
    }
}

fn to_integer<'a>(whole: f64) -> ValueRef<'a> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if (-BOUND..BOUND).contains(&whole) { ValueRef::Int(whole as i64) } else { ValueRef::Null }
}

/// Rounds the exact value of a finite number to at most [`MOST_DIGITS`] digits after the point.
fn round(number: f64, digits: usize) -> f64 {
    // Numbers from here on are integers.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    const MANTISSA: u32 = 52;
    let size = number.abs();
    if size >= WHOLE {
        return number;
    }
    let scale = 10_u128.pow(digits as u32);
    // A size is mantissa / 2^shift. Below 2^-52 it is less than half of the last digit that is kept.
    let exponent = (size.to_bits() >> MANTISSA) as u32;
    let shift = (1023 + MANTISSA).saturating_sub(exponent);
    if size == 0.0 || shift > 2 * MANTISSA {
        return f64::copysign(0.0, number);
    }
    let mantissa = u128::from(size.to_bits() & ((1 << MANTISSA) - 1) | 1 << MANTISSA);
    let (whole, rest) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
    let places = (rest * scale + (1 << (shift - 1))) >> shift;
    let (whole, places) = (whole + places / scale, places % scale);
    // Its decimal text is the shortest way to the nearest number. 16 digits, a point and 15 digits fit.
    let mut text = [0_u8; 48];
    let mut rest = &mut text[..];
    let written = write!(rest, "{whole}.{places:0digits$}");
    let left = rest.len();
    let text = std::str::from_utf8(&text[..48 - left]).unwrap_or_default();
    let rounded = if written.is_ok() { text.parse().unwrap_or(size) } else { size };
    f64::copysign(rounded, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_value_is_rounded_and_halves_go_away_from_zero() {
        let cases = [
            (2.675, 2, 2.67), // a little less than 2.675
            (0.125, 2, 0.13),
            (-0.125, 2, -0.13),
            (-0.04, 1, -0.0),
            (0.999_999, 3, 1.0),
            (4_503_599_627_370_495.5, 0, 4_503_599_627_370_496.0),
            (1e300, 15, 1e300),
            (5e-324, 15, 0.0),
            (5e-16, 15, 1e-15), // a little more than half
            (0.1, 15, 0.1),
            (123_456_789.123_456_79, 15, 123_456_789.123_456_79),
        ];
        for (number, digits, rounded) in cases {
            assert_eq!(round(number, digits).to_bits(), f64::to_bits(rounded), "{number} to {digits}");
        }
        assert_eq!(to_integer(9_223_372_036_854_775_808.0), ValueRef::Null);
        assert_eq!(to_integer(-9_223_372_036_854_775_808.0), ValueRef::Int(i64::MIN));
    }

    #[test]
    fn the_first_of_equal_values_is_the_extreme() {
        let values = [ValueRef::Int(1), ValueRef::Float(1.0), ValueRef::Float(0.5)];
        assert_eq!(extreme(&values, Ordering::Greater), ValueRef::Int(1));
        assert_eq!(extreme(&[ValueRef::Bool(true)], Ordering::Greater), ValueRef::Null);
        assert_eq!(extreme(&[ValueRef::Int(1), ValueRef::Text("1")], Ordering::Less), ValueRef::Null);
    }
}
