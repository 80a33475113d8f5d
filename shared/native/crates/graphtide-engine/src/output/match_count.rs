//! Numbers of matches: exact, and of any size up to a bound.
//!
//! The sets of 64 events are more than a word counts, so a greater number is one of any length. It is written and read by
//! Python as one integer, so there is a bound on its digits. Sums and products at the bound stay there.
//! Cost: that of a word, until it does not fit one; then O(digits).

use std::sync::LazyLock;

use num_bigint::BigUint;

/// Digits of the greatest number; readers in Python take up to 4,300.
const MOST_DIGITS: u32 = 4_000;

static MOST: LazyLock<BigUint> = LazyLock::new(|| BigUint::from(10_u32).pow(MOST_DIGITS));

/// A number of matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchCount {
    /// One that fits a word.
    Small(u64),
    /// One that does not; at most 10 to the power of 4,000, which stands for all that are greater.
    Large(Box<BigUint>),
}

impl MatchCount {
    /// None.
    pub const ZERO: Self = Self::Small(0);
    /// One.
    pub const ONE: Self = Self::Small(1);

    /// Whether it is none.
    #[inline]
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Small(0))
    }

    /// Adds another.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        if let (Self::Small(own), Self::Small(other)) = (&*self, other)
            && let Some(sum) = own.checked_add(*other)
        {
            *self = Self::Small(sum);
        } else {
            self.add_large(other);
        }
    }

    #[cold]
    fn add_large(&mut self, other: &Self) {
        *self = match (std::mem::replace(self, Self::ZERO), other) {
            (Self::Large(own), Self::Small(other)) => Self::of(*own + *other),
            (Self::Large(own), Self::Large(other)) => Self::of(*own + &**other),
            (Self::Small(own), Self::Small(other)) => Self::of(BigUint::from(own) + *other),
            (Self::Small(own), Self::Large(other)) => Self::of((**other).clone() + own),
        };
    }

    /// Multiplies by another.
    pub fn multiply(&mut self, other: &Self) {
        if let (Self::Small(own), Self::Small(other)) = (&*self, other)
            && let Some(product) = own.checked_mul(*other)
        {
            *self = Self::Small(product);
        } else if self.is_zero() || other.is_zero() {
            *self = Self::ZERO;
        } else {
            *self = Self::of(self.to_large() * other.to_large());
        }
    }

    fn to_large(&self) -> BigUint {
        match self {
            Self::Small(number) => BigUint::from(*number),
            Self::Large(number) => (**number).clone(),
        }
    }

    /// A number that does not fit a word.
    fn of(number: BigUint) -> Self {
        if number.bits() >= MOST.bits() && number > *MOST {
            Self::Large(Box::new(MOST.clone()))
        } else {
            Self::Large(Box::new(number))
        }
    }

    /// Words that it takes; at least one.
    #[inline]
    pub fn words(&self) -> u32 {
        match self {
            Self::Small(_) => 1,
            Self::Large(number) => (number.bits() / 64 + 1) as u32,
        }
    }

    /// The number, or the greatest that fits a word.
    #[inline]
    pub fn saturated(&self) -> u64 {
        match self {
            Self::Small(number) => *number,
            Self::Large(_) => u64::MAX,
        }
    }

    /// Its bytes, the lowest first.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        self.to_large().to_bytes_le()
    }

    /// Writes its digits.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Small(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
            Self::Large(number) => out.extend_from_slice(number.to_string().as_bytes()),
        }
    }

    /// Bytes held beside its own.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Small(_) => 0,
            Self::Large(number) => number.bits() as usize / 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(count: &MatchCount) -> String {
        let mut out = Vec::new();
        count.write(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn sums_and_products_are_exact_beyond_a_word_and_stay_at_the_bound() {
        let mut sum = MatchCount::ONE;
        for _ in 0..200 {
            sum.add(&sum.clone());
        }
        assert_eq!(digits(&sum), "1606938044258990275541962092341162602522202993782792835301376");
        sum.add(&MatchCount::ONE);
        let mut product = sum.clone();
        product.multiply(&sum);
        assert_eq!(product.to_le_bytes(), (sum.to_large().pow(2)).to_bytes_le());
        product.multiply(&MatchCount::ZERO);
        assert!(product.is_zero());
        let mut small = MatchCount::Small(u64::MAX);
        small.add(&MatchCount::ONE);
        assert_eq!(digits(&small), "18446744073709551616");
        for _ in 0..7 {
            sum.multiply(&sum.clone());
        }
        assert_eq!((digits(&sum).len(), sum == MatchCount::Large(Box::new(MOST.clone()))), (4_001, true));
        sum.add(&MatchCount::ONE);
        assert_eq!(digits(&sum).len(), 4_001);
    }
}
