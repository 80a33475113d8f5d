//! What engines are asked: the match component of one held edge, and what they may use to find it.

use crate::fixpoint::Fixpoint;
use crate::funnel::Funnel;
use crate::nearby::Look;
use crate::numbered::Number;
use crate::pattern::Pattern;
use crate::window::Window;
use crate::work::Work;

/// A held edge whose component is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub pattern: &'a Pattern,
    pub window: &'a Window,
    pub number: Number,
    /// The query edges it could match: the newest of all has none after it.
    pub may_match: u64,
}

/// What a search needs besides: space, a work budget, and a counter.
#[derive(Debug)]
pub(crate) struct Means<'a, 'm, 'p> {
    pub fixpoint: &'a mut Fixpoint,
    pub look: &'a mut Look,
    pub work: Work<'m, 'p>,
    pub funnel: &'a mut Funnel,
}
