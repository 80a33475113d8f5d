//! Work on a meter, by whether it may be left half done.

use graphtide_engine::meter::Meter;

/// Work of one sort.
#[derive(Debug)]
pub(crate) enum Work<'m, 'p> {
    /// Looks for a match: where it is refused, nothing is reported.
    Search(&'m mut Meter<'p>),
    /// Keeps state true: always done to its end.
    Upkeep(&'m mut Meter<'p>),
}

impl Work<'_, '_> {
    /// Counts steps; says whether to take them.
    #[inline]
    pub(crate) fn spend(&mut self, steps: u32) -> bool {
        match self {
            Self::Search(meter) => meter.charge(steps),
            Self::Upkeep(meter) => {
                meter.tick(steps);
                true
            }
        }
    }
}
