//! Numbers in their order, whether integer or floating point.

use std::cmp::Ordering;

use graphtide_graph::logic::int_to_float;

/// A number that is an integer of 64 bits wherever it equals one, so that equal numbers are the same.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i64),
    /// Finite, and no integer of 64 bits.
    Float(f64),
}

/// The first floating-point number that is beyond the integers of 64 bits.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

impl Number {
    /// The canonical form of a finite number.
    pub(crate) fn of(number: f64) -> Self {
        if number.fract() == 0.0 && (-BEYOND..BEYOND).contains(&number) {
            return Self::Int(number as i64);
        }
        Self::Float(number)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (*self, *other) {
            (Self::Int(left), Self::Int(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.total_cmp(&right),
            // Finite numbers compare always, and unlike kinds are never equal.
            (Self::Int(left), Self::Float(right)) => int_to_float(left, right).unwrap_or(Ordering::Less),
            (Self::Float(left), Self::Int(right)) => int_to_float(right, left).unwrap_or(Ordering::Less).reverse(),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_the_same() {
        assert_eq!(Number::of(-0.0), Number::Int(0));
        assert_eq!(Number::of(2.0), Number::Int(2));
        assert!(matches!(Number::of(BEYOND), Number::Float(_)));
        assert_eq!(Number::of(-BEYOND), Number::Int(i64::MIN));
    }

    #[test]
    fn integers_and_fractions_have_one_order() {
        let ascending = [Number::of(-1e300), Number::Int(i64::MIN), Number::of(-0.5), Number::Int(0), Number::of(0.5)];
        let more = [Number::Int(1), Number::Int(i64::MAX), Number::of(BEYOND), Number::of(1e300)];
        let all: Vec<_> = ascending.into_iter().chain(more).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    }
}
