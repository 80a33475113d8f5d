//! The `ddst-baseline` engine: the fixpoint over the whole window, anew for each edge.
//!
//! Invariant: nothing is kept from one edge to the next.
//! Cost: at least linear in the window for each edge, see [`crate::fixpoint`].
//! Source: paper 000, algorithm DDST.

use crate::fixpoint::Settled;
use crate::question::{Means, Question};

/// Finds the match component of an edge.
pub(crate) fn verify(question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
    let candidates = &mut means.fixpoint.candidates;
    candidates.clear(question.window.places());
    for (number, held) in question.window.iter() {
        candidates.add(number, held.ts, held.ends, held.fits);
    }
    candidates.close_all();
    means.funnel.verifications_run += 1;
    match means.fixpoint.whole(question.pattern, &mut means.work, means.funnel) {
        Settled::Stable => means.fixpoint.matched(question.number),
        Settled::Refuted | Settled::Cut => None,
    }
}
