//! Sums of floating-point numbers without an error, which numbers can leave again.
//!
//! A sum is a long fixed-point number in base 2^32: digit `i` counts `2^(32 i - 1074)`, and every finite `f64` is a whole multiple
//! of `2^-1074`. Digits may be out of their range in between, and are put right before they could overflow. Cost: O(1) to add
//! or take away, O(digits) to round, digits for the exponents that occurred.

use smallvec::SmallVec;

/// Bits of a digit.
const BITS: u32 = 32;

/// Additions after which digits are put right: each adds less than 2^32 to a digit, and there are 63 bits.
const MOST_ADDED: u32 = 1 << 30;

/// Where the bit of 1 is: `2^0 = 2^(1074 - 1074)`.
const UNIT: u32 = 1074;

/// A sum.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactSum {
    /// The first digit's number.
    first: usize,
    digits: SmallVec<[i64; 6]>,
    added: u32,
}

impl ExactSum {
    /// Adds a finite number.
    pub(crate) fn add(&mut self, number: f64) {
        let bits = number.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as u32;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, position) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        self.add_at(u128::from(mantissa), position, number.is_sign_negative());
    }

    /// Takes a number away that was added.
    pub(crate) fn take(&mut self, number: f64) {
        self.add(-number);
    }

    /// Adds `magnitude * 2^(position - 1074)`; of the magnitude at most 96 bits are set.
    fn add_at(&mut self, magnitude: u128, position: u32, is_negative: bool) {
        if magnitude == 0 {
            return;
        }
        let start = (position / BITS) as usize;
        let shifted = magnitude << (position % BITS);
        let wide = 128_u32.div_ceil(BITS) as usize;
        self.reserve(start, start + wide);
        for (place, digit) in self.digits[start - self.first..].iter_mut().take(wide).enumerate() {
            let part = (shifted >> (place as u32 * BITS)) as u32;
            *digit += if is_negative { -i64::from(part) } else { i64::from(part) };
        }
        self.added += 1;
        if self.added == MOST_ADDED {
            self.carry();
            self.added = 0;
        }
    }

    /// Makes room for the digits of a range.
    fn reserve(&mut self, start: usize, end: usize) {
        if self.digits.is_empty() {
            self.first = start;
        }
        if start < self.first {
            self.digits.insert_many(0, std::iter::repeat_n(0, self.first - start));
            self.first = start;
        }
        if self.digits.len() < end - self.first {
            self.digits.resize(end - self.first, 0);
        }
    }

    /// Brings all digits but the last into their range.
    fn carry(&mut self) {
        let mut carried = 0_i64;
        let last = self.digits.len().saturating_sub(1);
        for digit in &mut self.digits[..last] {
            let total = *digit + carried;
            *digit = total & ((1 << BITS) - 1);
            carried = total >> BITS;
        }
        if let Some(digit) = self.digits.last_mut() {
            *digit += carried;
        }
        // A last digit that is large takes another one behind it.
        while self.digits.last().is_some_and(|&digit| !(-(1 << BITS)..1 << BITS).contains(&digit)) {
            let end = self.digits.len() - 1;
            let total = self.digits[end];
            self.digits[end] = total & ((1 << BITS) - 1);
            self.digits.push(total >> BITS);
        }
    }

    /// The sum of this and an integer, rounded once to the nearest number, to the even one of two; none beyond all numbers.
    pub(crate) fn round_with(&self, integer: i128) -> Option<f64> {
        let mut sum = self.clone();
        // In two halves: shifted, the magnitude would not fit.
        let magnitude = integer.unsigned_abs();
        sum.add_at(magnitude & u128::from(u64::MAX), UNIT, integer < 0);
        sum.add_at(magnitude >> 64, UNIT + 64, integer < 0);
        sum.carry();
        let is_negative = sum.digits.last().is_some_and(|&digit| digit < 0);
        if is_negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.carry();
        }
        let rounded = sum.round_magnitude()?;
        Some(if is_negative { -rounded } else { rounded })
    }

    /// Rounds a sum whose digits are in their range.
    fn round_magnitude(&self) -> Option<f64> {
        let Some(top) = self.digits.iter().rposition(|&digit| digit != 0) else { return Some(0.0) };
        let digit_at =
            |number: usize| number.checked_sub(self.first).and_then(|place| self.digits.get(place)).copied().unwrap_or(0);
        let top_number = top + self.first;
        // The number of the highest bit that is set, from that of 2^-1074.
        let highest = top_number as u32 * BITS + self.digits[top].ilog2();
        let bit = |number: u32| digit_at((number / BITS) as usize) >> (number % BITS) & 1 == 1;
        let lowest = highest.saturating_sub(52);
        let mantissa = (lowest..=highest).rev().fold(0_u64, |bits, number| bits << 1 | u64::from(bit(number)));
        let is_half = lowest > 0 && bit(lowest - 1);
        let is_more = || {
            let below = lowest - 1;
            let whole = (below / BITS) as usize;
            let rest = digit_at(whole) & ((1_i64 << (below % BITS)) - 1);
            rest != 0 || self.digits[..whole.saturating_sub(self.first).min(self.digits.len())].iter().any(|&digit| digit != 0)
        };
        let up = u64::from(is_half && (mantissa & 1 == 1 || is_more()));
        // The bits of an f64 count on from those of the numbers below it: see IEEE 754, section 3.4.
        let bits = (u64::from(lowest) << 52) + mantissa + up;
        let rounded = f64::from_bits(bits);
        rounded.is_finite().then_some(rounded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[f64]) -> ExactSum {
        let mut sum = ExactSum::default();
        for &number in numbers {
            sum.add(number);
        }
        sum
    }

    #[test]
    fn sums_are_exact_and_rounded_once() {
        let cases: [(&[f64], i128, Option<f64>); 12] = [
            (&[], 0, Some(0.0)),
            (&[0.1, 0.2, -0.1], 0, Some(0.2)),
            (&[1e308, 1e308, -1e308], 0, Some(1e308)),
            (&[1e308, 1e308], 0, None),
            (&[1e300, 1.0, -1e300], 0, Some(1.0)),
            (&[5e-324, 5e-324], 0, Some(1e-323)),
            (&[f64::MIN_POSITIVE, -5e-324], 0, Some(2.225_073_858_507_201e-308)),
            (&[0.5], i128::from(i64::MAX), Some(9_223_372_036_854_775_807.0)),
            (&[], -(1 << 100), Some(-(2_f64.powi(100)))),
            (&[], (1 << 53) + 1, Some(9_007_199_254_740_992.0)),
            (&[0.25], (1 << 53) + 1, Some(9_007_199_254_740_994.0)),
            (&[-0.75], 0, Some(-0.75)),
        ];
        for (numbers, integer, expected) in cases {
            assert_eq!(sum(numbers).round_with(integer), expected, "{numbers:?} + {integer}");
        }
    }

    #[test]
    fn what_leaves_takes_back_what_it_brought() {
        let mut sum = sum(&[0.1, 1e16, -7.3, 5e-324]);
        for number in [1e16, 0.1, 5e-324] {
            sum.take(number);
        }
        assert_eq!(sum.round_with(0), Some(-7.3));
        sum.take(-7.3);
        assert_eq!(sum.round_with(0), Some(0.0));
    }

    #[test]
    fn digits_are_put_right_before_they_overflow() {
        let mut sum = sum(&[]);
        sum.added = MOST_ADDED - 2;
        (0..5).for_each(|_| sum.add(f64::MAX));
        (0..4).for_each(|_| sum.take(f64::MAX));
        assert_eq!(sum.round_with(0), Some(f64::MAX));
    }
}
