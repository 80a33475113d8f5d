//! Verification that grows from an edge.
//!
//! First a few edges around it are examined, as if all were well beyond. Most edges that have no match are refuted there,
//! whatever the size of the component. While the edge survives, four times as many are examined, up to the whole component,
//! where the answer is exact. Where the last edge had a match, the next one may have the same. It is first examined among four
//! times as many edges as that match had.
//! Cost: what it takes to refute the edge, or its component and a third more. A first look among many may be in vain, but costs
//! no more than a few times the match before it.

use crate::candidates::Candidates;
use crate::fixpoint::Settled;
use crate::question::{Means, Question};
use crate::work::Work;

/// Edges that a search looks at first.
const NEARBY: usize = 16;

/// How many times as many it looks at next: all looks but the last cost no more than a third of it.
const GROWTH: usize = 4;

/// How many edges are enough for a first look.
#[derive(Debug)]
pub(crate) struct Look(usize);

impl Default for Look {
    fn default() -> Self {
        Self(NEARBY)
    }
}

/// Finds the match component of an edge that could match `given`. Returns the edge's place among the candidates, and whether
/// the fixpoint has the whole component, which it may have without the edge.
///
/// `gather` adds candidates around those there are until there are so many, and says whether there are more.
pub(crate) fn settle(
    question: &Question<'_>,
    given: u64,
    gather: impl Fn(usize, &mut Candidates, &mut Work<'_, '_>) -> bool,
    means: &mut Means<'_, '_, '_>,
) -> (Settled, Option<usize>) {
    let held = question.window.get(question.number);
    let candidates = &mut means.fixpoint.candidates;
    candidates.clear(question.window.places());
    candidates.add(question.number, held.ts, held.ends, given);
    let mut enough = std::mem::take(means.look).0;
    while gather(enough, &mut means.fixpoint.candidates, &mut means.work) {
        means.funnel.verifications_run += 1;
        match means.fixpoint.near(question.pattern, (0, question.may_match), &mut means.work, means.funnel) {
            Settled::Stable => enough = GROWTH * means.fixpoint.candidates.edges.len(),
            Settled::Refuted => {
                means.funnel.refuted_nearby += 1;
                return (Settled::Refuted, None);
            }
            Settled::Cut => return (Settled::Cut, None),
        }
    }
    means.funnel.verifications_run += 1;
    let settled = means.fixpoint.whole(question.pattern, &mut means.work, means.funnel);
    let place = if settled == Settled::Stable { means.fixpoint.matched(question.number) } else { None };
    if place.is_some() {
        *means.look = Look(GROWTH * means.fixpoint.candidates.edges.len());
    }
    (settled, place)
}
