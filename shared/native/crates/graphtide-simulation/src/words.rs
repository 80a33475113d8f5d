//! Products of small factors, as remainders by a product that is cut into words.
//!
//! The product of a query's factors is cut so that no word overflows when it is multiplied by one factor more. A stream's
//! product is known by its remainders: they are all zero if the query's product divides it.
//! Invariant: a remainder is less than its word, and a word less than 2^64 / p.
//! Cost: one division a word and factor.
//! Source: paper 000, algorithm DDST-SIGNATURE and Theorem 4. With words of `size` bits, there are at most 3 log p / (size -
//! log p) for each query edge, and one more. Inequality (2) does not hold for the last word, which need not be full.

/// The words of a query's product.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<u64>,
}

/// The remainders of a stream's product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remainders(Vec<u64>);

impl Words {
    /// Bits of a word for factors below `p`.
    pub(crate) fn size(p: u32) -> u32 {
        u64::BITS - (u32::BITS - p.leading_zeros())
    }

    /// Cuts the product of factors, all from 1 to p - 1.
    pub(crate) fn new(p: u32, factors: impl IntoIterator<Item = u32>) -> Self {
        let mut words = vec![1_u64];
        for factor in factors.into_iter().map(u64::from) {
            match words.last_mut() {
                Some(last) if last.saturating_mul(factor) >> Self::size(p) == 0 => *last *= factor,
                Some(_) | None => words.push(factor),
            }
        }
        Self { words }
    }

    /// The remainders of one.
    pub(crate) fn one(&self) -> Remainders {
        Remainders(self.words.iter().map(|word| 1 % word).collect())
    }

    /// Multiplies a stream's product by a factor.
    #[inline]
    pub(crate) fn multiply(&self, product: &mut Remainders, factor: u32) {
        for (remainder, word) in product.0.iter_mut().zip(&self.words) {
            if *remainder != 0 {
                *remainder = *remainder * u64::from(factor) % word;
            }
        }
    }

    /// Whether the query's product may divide a stream's.
    #[inline]
    pub(crate) fn divide(product: &Remainders) -> bool {
        product.0.iter().all(|remainder| *remainder == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    /// Factors of each edge that Example 6 lets arrive: its own, those of its source and its target.
    const STREAM: [[u32; 3]; 5] = [[2, 8, 15], [16, 5, 16], [4, 4, 10], [13, 3, 11], [5, 7, 4]];

    fn remainders(words: &Words) -> Vec<u64> {
        let mut product = words.one();
        let mut after = |factors: &[u32; 3]| {
            for &factor in factors {
                words.multiply(&mut product, factor);
            }
            product.0[0]
        };
        STREAM.iter().map(&mut after).collect()
    }

    #[test]
    fn example_6_as_it_is_printed() {
        let words = Words::new(17, [5, 13, 2, 10, 8, 7]);

        assert_eq!(words.words, [72_800]);
        assert_eq!(remainders(&words), [240, 16_000, 12_000, 52_000, 0]);
    }

    #[test]
    fn example_6_with_the_degree_factors_of_all_vertices() {
        let words = Words::new(17, [5, 13, 2, 10, 8, 7, 4, 15, 5]);

        assert_eq!(words.words, [21_840_000]);
        assert_eq!(remainders(&words), [240, 307_200, 5_472_000, 10_608_000, 0]);
    }

    #[test]
    fn words_are_as_few_as_theorem_4_says_but_for_the_last() {
        for p in [17, 97, 997, 65_521] {
            for edges in 1..=64 {
                let words = Words::new(p, (0..3 * edges).map(|place| p - 1 - place % 5));
                let bits = f64::from(p).log2();
                let bound = 3.0 * bits / (f64::from(Words::size(p)) - bits) * f64::from(edges);
                assert!(words.words.len() as f64 <= bound + 1.0, "{} words for {edges} edges, modulo {p}", words.words.len());
            }
        }
    }

    #[test]
    fn the_largest_factors_do_not_overflow() {
        let p = 4_294_967_291;
        let words = Words::new(p, [p - 1; 9]);
        let mut product = words.one();

        (0..9).for_each(|_| words.multiply(&mut product, p - 1));

        assert!(Words::divide(&product));
    }
}
