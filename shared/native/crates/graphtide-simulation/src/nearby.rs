//! Verification that grows from an edge.
//!
//! First a few edges around it are judged, as if all were well beyond: most edges that have no match are refuted there, whatever
//! the size of the component. While the edge survives, four times as many are judged, up to the whole component, where the
//! answer is exact.
//! Cost: what it takes to refute the edge, or its component and a third more.

use crate::candidates::Candidates;
use crate::engine::{Means, Question};
use crate::fixpoint::Settled;
use crate::work::Work;

/// Edges that a search looks at first.
const NEARBY: usize = 16;

/// How many times as many it looks at next: all looks but the last cost no more than a third of it.
const GROWTH: usize = 4;

/// Settles which pairs of an edge's component stay, if the edge could match `given`.
///
/// `gather` adds candidates around those there are until there are so many, and says whether there are more. Where the answer
/// is [`Settled::Stable`], the fixpoint has the whole component.
pub(crate) fn settle(
    question: &Question<'_>,
    given: u64,
    gather: impl Fn(usize, &mut Candidates, &mut Work<'_, '_>) -> bool,
    means: &mut Means<'_, '_, '_>,
) -> Settled {
    let held = question.window.get(question.number);
    let candidates = &mut means.fixpoint.candidates;
    candidates.clear(question.window.places());
    candidates.add(question.number, held.ts, held.ends, given);
    let mut enough = NEARBY;
    while gather(enough, &mut means.fixpoint.candidates, &mut means.work) {
        means.funnel.verifications_run += 1;
        match means.fixpoint.near(question.pattern, (0, question.may_match), &mut means.work, means.funnel) {
            Settled::Stable => enough = GROWTH * means.fixpoint.candidates.edges.len(),
            Settled::Refuted => {
                means.funnel.refuted_nearby += 1;
                return Settled::Refuted;
            }
            Settled::Cut => return Settled::Cut,
        }
    }
    means.funnel.verifications_run += 1;
    means.fixpoint.whole(question.pattern, &mut means.work, means.funnel)
}
