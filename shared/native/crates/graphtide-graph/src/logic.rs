//! Comparison, arithmetic and conjunction in three-valued logic: what every expression of the language shares.
//!
//! Unknown is `None`. The rules are those of `graphtide_core.predicate`. Cost: O(1) beside the length of texts, no allocation.

use std::cmp::Ordering;

use serde::Deserialize;

use crate::value::ValueRef;

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// How two numbers are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl Comparison {
    /// Whether it holds of values that are ordered so.
    #[inline]
    pub fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }

    /// Whether it holds of truth values, which have no order.
    #[inline]
    pub fn of_truths(self, left: bool, right: bool) -> Option<bool> {
        match self {
            Self::Equal => Some(left == right),
            Self::NotEqual => Some(left != right),
            _ => None,
        }
    }

    /// Whether it holds of two values; unknown if they are of different kinds, or missing.
    #[inline]
    pub fn of(self, left: ValueRef<'_>, right: ValueRef<'_>) -> Option<bool> {
        match (left, right) {
            (ValueRef::Bool(left), ValueRef::Bool(right)) => self.of_truths(left, right),
            _ => order(left, right).map(|ordering| self.holds(ordering)),
        }
    }
}

/// The order of two numbers, or of two texts; unknown for others.
#[inline]
pub fn order(left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
    match (left, right) {
        (ValueRef::Int(left), ValueRef::Int(right)) => Some(left.cmp(&right)),
        (ValueRef::Float(left), ValueRef::Float(right)) => left.partial_cmp(&right),
        (ValueRef::Int(left), ValueRef::Float(right)) => int_to_float(left, right),
        (ValueRef::Float(left), ValueRef::Int(right)) => int_to_float(right, left).map(Ordering::reverse),
        (ValueRef::Text(left), ValueRef::Text(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// Orders exactly: a conversion of the integer to floating point would round.
#[inline]
pub fn int_to_float(int: i64, float: f64) -> Option<Ordering> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= BOUND {
        Some(Ordering::Less)
    } else if float < -BOUND {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        Some(int.cmp(&(whole as i64)).then_with(|| 0.0_f64.total_cmp(&((float - whole) + 0.0))))
    }
}

impl Arithmetic {
    /// The result for two integers but of a division, which is one of floating-point numbers; unknown where it leaves 64 bits
    /// or divides by zero.
    #[inline]
    pub fn of_integers(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => None,
            Self::Remainder if right == 0 => None,
            Self::Remainder => Some(left.wrapping_rem(right)),
        }
    }

    /// The result for two floating-point numbers; unknown where it is not finite.
    #[inline]
    pub fn of_floats(self, left: f64, right: f64) -> Option<f64> {
        let result = match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Remainder => left % right,
        };
        result.is_finite().then_some(result)
    }

    /// The result for two values; missing where it is unknown.
    #[inline]
    pub fn of<'a>(self, left: ValueRef<'_>, right: ValueRef<'_>) -> ValueRef<'a> {
        if let (ValueRef::Int(left), ValueRef::Int(right)) = (left, right)
            && self != Self::Divide
        {
            return self.of_integers(left, right).map_or(ValueRef::Null, ValueRef::Int);
        }
        let (Some(left), Some(right)) = (float(left), float(right)) else { return ValueRef::Null };
        self.of_floats(left, right).map_or(ValueRef::Null, ValueRef::Float)
    }
}

/// A number with the other sign; unknown where it leaves 64 bits, or is not finite.
#[inline]
pub fn negate<'a>(value: ValueRef<'_>) -> ValueRef<'a> {
    match value {
        ValueRef::Int(number) => number.checked_neg().map_or(ValueRef::Null, ValueRef::Int),
        ValueRef::Float(number) if number.is_finite() => ValueRef::Float(-number),
        _ => ValueRef::Null,
    }
}

fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Int(number) => Some(number as f64),
        ValueRef::Float(number) => Some(number),
        _ => None,
    }
}

/// Kleene's conjunction: false if any is false, else unknown if any is unknown.
#[inline]
pub fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    for truth in truths {
        match truth {
            Some(false) => return Some(false),
            None => result = None,
            Some(true) => {}
        }
    }
    result
}

/// Kleene's disjunction: true if any is true, else unknown if any is unknown.
#[inline]
pub fn any(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(truths.map(|truth| truth.map(|truth| !truth))).map(|truth| !truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floating_point_numbers_compare_exactly() {
        let beyond = 9_007_199_254_740_993; // 2^53 + 1, which no f64 holds
        assert_eq!(int_to_float(beyond, 9_007_199_254_740_992.0), Some(Ordering::Greater));
        assert_eq!(int_to_float(1, 1.5), Some(Ordering::Less));
        assert_eq!(int_to_float(-1, -1.5), Some(Ordering::Greater));
        assert_eq!(int_to_float(0, -0.0), Some(Ordering::Equal));
        assert_eq!(int_to_float(i64::MAX, 9.3e18), Some(Ordering::Less));
        assert_eq!(int_to_float(i64::MIN, -9_223_372_036_854_775_808.0), Some(Ordering::Equal));
    }

    #[test]
    fn conjunction_and_disjunction_follow_kleene() {
        assert_eq!(all([None, Some(false)].into_iter()), Some(false));
        assert_eq!(all([None, Some(true)].into_iter()), None);
        assert_eq!(all(std::iter::empty()), Some(true));
        assert_eq!(any([None, Some(true)].into_iter()), Some(true));
        assert_eq!(any([None, Some(false)].into_iter()), None);
        assert_eq!(any(std::iter::empty()), Some(false));
    }

    #[test]
    fn what_is_past_64_bits_or_not_finite_is_unknown() {
        let (least, most) = (ValueRef::Int(i64::MIN), ValueRef::Int(i64::MAX));
        assert_eq!(Arithmetic::Add.of(most, ValueRef::Int(1)), ValueRef::Null);
        assert_eq!(Arithmetic::Remainder.of(least, ValueRef::Int(-1)), ValueRef::Int(0));
        assert_eq!(Arithmetic::Remainder.of(ValueRef::Float(1.0), ValueRef::Int(0)), ValueRef::Null);
        assert_eq!(negate(least), ValueRef::Null);
        assert_eq!(negate(ValueRef::Float(f64::INFINITY)), ValueRef::Null);
    }
}
