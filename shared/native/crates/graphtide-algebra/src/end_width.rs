//! Instants as small numbers, side by side: what the ends of paths are kept as.

use std::fmt::Debug;

/// A number of [`Grid`](crate::grid::Grid) steps; 0 is an end that nothing has.
///
/// Signed, since the oldest machines compare signed numbers alone many at a time.
pub trait End: Copy + Ord + Debug + Default + 'static {
    /// The greatest number.
    const MOST: u64;

    /// Takes a number that is at most [`MOST`](Self::MOST).
    fn of(number: u64) -> Self;

    /// The number.
    fn get(self) -> u64;
}

impl End for i32 {
    const MOST: u64 = i32::MAX as u64;

    #[inline]
    fn of(number: u64) -> Self {
        number as Self
    }

    #[inline]
    fn get(self) -> u64 {
        u64::from(self.cast_unsigned())
    }
}

impl End for i64 {
    const MOST: u64 = i64::MAX as u64;

    #[inline]
    fn of(number: u64) -> Self {
        number.cast_signed()
    }

    #[inline]
    fn get(self) -> u64 {
        self.cast_unsigned()
    }
}
