//! The engines of this family as one: they differ in what they know before they search, and in how far they search.

use crate::baseline;
use crate::coloring::Coloring;
use crate::funnel::Funnel;
use crate::numbered::Number;
use crate::pattern::Pattern;
use crate::query::{Query, QueryError, Variant};
use crate::question::{Means, Question};
use crate::signature::Signature;
use crate::window::Window;
use crate::work::Work;

/// One of the engines.
#[derive(Debug)]
pub(crate) enum Engine {
    Baseline,
    Signature(Box<Signature>),
    Coloring(Box<Coloring>),
}

impl Engine {
    pub(crate) fn new(variant: Variant, query: &Query, pattern: &Pattern) -> Result<Self, QueryError> {
        match variant {
            Variant::Baseline => Ok(Self::Baseline),
            Variant::Signature { p, seed } => Ok(Self::Signature(Box::new(Signature::new(query, pattern, p, seed)?))),
            Variant::Coloring => Ok(Self::Coloring(Box::new(Coloring::new(pattern)))),
        }
    }

    /// Records an edge that was just appended to the window.
    pub(crate) fn arrive(&mut self, pattern: &Pattern, window: &Window, number: Number, work: &mut Work<'_, '_>) {
        match self {
            Self::Baseline => {}
            Self::Signature(signature) => signature.arrive(pattern, window, number, work),
            Self::Coloring(coloring) => coloring.arrive(pattern, window, number, work),
        }
    }

    /// Forgets an edge that is about to leave the window.
    pub(crate) fn depart(&mut self, pattern: &Pattern, window: &Window, number: Number, work: &mut Work<'_, '_>) {
        match self {
            Self::Baseline => {}
            Self::Signature(signature) => signature.depart(pattern, window.get(number), number, work),
            Self::Coloring(coloring) => coloring.depart(pattern, window, number, work),
        }
    }

    /// Whether an edge can have a match as far as is known without a look around it.
    pub(crate) fn admits(&mut self, question: &Question<'_>, funnel: &mut Funnel) -> bool {
        match self {
            Self::Baseline => true,
            Self::Signature(signature) => signature.admits(question, funnel),
            Self::Coloring(coloring) => coloring.admits(question, funnel),
        }
    }

    /// Finds the match component of an edge: the edge's place among the candidates of the fixpoint, or nothing.
    pub(crate) fn verify(&mut self, question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        match self {
            Self::Baseline => baseline::verify(question, means),
            Self::Signature(signature) => signature.verify(question, means),
            Self::Coloring(coloring) => coloring.verify(question, means),
        }
    }

    /// Forgets all edges, as if it were new.
    pub(crate) fn clear(&mut self, pattern: &Pattern) {
        match self {
            Self::Baseline => {}
            Self::Signature(signature) => signature.clear(),
            Self::Coloring(coloring) => **coloring = Coloring::new(pattern),
        }
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self, window: &Window) -> usize {
        match self {
            Self::Baseline => 0,
            Self::Signature(signature) => signature.bytes(window),
            Self::Coloring(coloring) => coloring.bytes(window),
        }
    }
}
