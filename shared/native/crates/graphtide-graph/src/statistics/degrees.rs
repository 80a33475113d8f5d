//! Moments of the degrees in one direction, exact under removal.
//!
//! The number of vertices of every degree is kept, because a removal lowers the greatest degree by at most one. It does so only
//! where the histogram says that nothing else has it. Cost: O(1) a change; memory for the greatest degree there ever was.

/// Sums over the degrees of all vertices that have one above zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DegreeMoments {
    /// Vertices with a degree above zero.
    pub vertices: u64,
    /// Sum of their degrees.
    pub sum: u64,
    /// Sum of the squares.
    pub squares: u64,
    /// The greatest.
    pub most: u64,
}

/// The degrees of one direction.
#[derive(Debug, Default)]
pub(super) struct Degrees {
    moments: DegreeMoments,
    /// How many vertices have each degree; the first place is of no use.
    having: Vec<u32>,
}

impl Degrees {
    /// A vertex of the given degree gets one more edge.
    #[inline]
    pub(super) fn grow(&mut self, degree: u32) {
        let (before, after) = (degree as usize, degree as usize + 1);
        if after >= self.having.len() {
            self.having.resize((after + 1).next_power_of_two(), 0);
        }
        if before == 0 {
            self.moments.vertices += 1;
        } else {
            self.having[before] -= 1;
        }
        self.having[after] += 1;
        self.moments.sum += 1;
        self.moments.squares += u64::from(degree) * 2 + 1;
        self.moments.most = self.moments.most.max(after as u64);
    }

    /// A vertex of the given degree, which is above zero, loses an edge.
    #[inline]
    pub(super) fn shrink(&mut self, degree: u32) {
        let before = degree as usize;
        self.having[before] -= 1;
        if before == 1 {
            self.moments.vertices -= 1;
        } else {
            self.having[before - 1] += 1;
        }
        self.moments.sum -= 1;
        self.moments.squares -= u64::from(degree) * 2 - 1;
        if self.moments.most == u64::from(degree) && self.having[before] == 0 {
            self.moments.most -= 1;
        }
    }

    pub(super) fn moments(&self) -> DegreeMoments {
        self.moments
    }

    pub(super) fn clear(&mut self) {
        self.moments = DegreeMoments::default();
        self.having.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_degree_falls_only_when_nobody_has_it_any_more() {
        let mut degrees = Degrees::default();
        for degree in [0, 1, 2, 0, 1, 2] {
            degrees.grow(degree);
        }
        assert_eq!(degrees.moments(), DegreeMoments { vertices: 2, sum: 6, squares: 18, most: 3 });
        degrees.shrink(3);
        assert_eq!(degrees.moments().most, 3);
        degrees.shrink(3);
        assert_eq!(degrees.moments().most, 2);
        for degree in [2, 1, 2, 1] {
            degrees.shrink(degree);
        }
        assert_eq!(degrees.moments(), DegreeMoments::default());
    }
}
