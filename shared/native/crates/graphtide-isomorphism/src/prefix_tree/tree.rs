//! The tree as it is kept: members, nodes, steps, and what members ask, each in a list.

use graphtide_engine::ids::{RingId, UnitId};
use graphtide_engine::lists::{Access, Mask};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::shape::{Across, Shape};

/// Edges that a pattern of the tree may have, and vertices.
pub const MOST: usize = 16;

/// Whose a number is that is not given.
pub(super) const NOBODY: UnitId = UnitId(u32::MAX);

/// What the searches of a unit do together with those of others.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// Look-ups of its searches, and those of them that are made for others, too.
    pub look_ups: (usize, usize),
    /// Units with which it shares one.
    pub with: FxHashSet<UnitId>,
}

/// Where a search starts.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// Whose pattern it is.
    pub unit: UnitId,
    /// The query edge that the arriving edge could be.
    pub query_edge: u8,
    /// The pattern.
    pub shape: &'a Shape,
    /// Lists of all edges that could be each query edge.
    pub rings: SmallVec<[RingId; 8]>,
}

/// The searches of many patterns from edges of one signature.
#[derive(Debug, Default)]
pub struct PrefixTree {
    /// By number; some numbers are not given.
    pub(super) members: Vec<Member>,
    pub(super) count: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) steps: Vec<Step>,
    pub(super) groups: Vec<Group>,
    /// What members need at the ends of the arriving edge, by a list that they need.
    pub(super) needs: Vec<Need>,
    pub(super) roots: Vec<Root>,
    pub(super) bits: Vec<Bits>,
    pub(super) predicates: Vec<(u32, Across)>,
    /// Sets of members alive, of the nodes on the way.
    pub(super) alive: Vec<u64>,
    /// Times until which each of some windows reaches back; by number.
    pub(super) windows: Vec<i64>,
    pub(super) alive_from: Vec<i64>,
}

impl PrefixTree {
    /// Bytes that it takes, small lists of large patterns apart.
    pub fn bytes(&self) -> usize {
        let Self { members, nodes, steps, groups, needs, roots, bits, predicates, alive, .. } = self;
        let search = size_of_val(&**members) + size_of_val(&**nodes) + size_of_val(&**steps) + size_of_val(&**alive);
        let asked = size_of_val(&**groups) + size_of_val(&**needs) + size_of_val(&**roots) + size_of_val(&**bits);
        search + asked + size_of_val(&**predicates)
    }
}

/// Some members of one word of a set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    pub(super) word: u32,
    pub(super) bits: u64,
}

/// A member, once all of its edges are bound.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) unit: UnitId,
    /// By query edge: which of the bound edges it is.
    pub(super) edges: SmallVec<[u8; 8]>,
    /// By query vertex.
    pub(super) vertices: SmallVec<[u8; 8]>,
}

impl Member {
    pub(super) fn vacant() -> Self {
        Self { unit: NOBODY, edges: SmallVec::new(), vertices: SmallVec::new() }
    }
}

/// A prefix: the edges bound so far.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Members below: the first are those whose edges are all bound, until `complete`.
    pub(super) members: Span,
    pub(super) complete: u32,
    /// Those, if all members below lie in one word.
    pub(super) complete_bits: u64,
    pub(super) steps: Span,
}

/// From one place to another, which is not included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    #[inline]
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bits of these members in their word; 0 if they do not lie in one.
    pub(super) fn in_one_word(self) -> u64 {
        let (start, end) = (self.start as usize, self.end as usize);
        if start == end || start / 64 != (end - 1) / 64 {
            return 0;
        }
        let count = end - start;
        let bits = if count == 64 { u64::MAX } else { (1 << count) - 1 };
        bits << (start % 64)
    }

    /// The first word of a set of these members, and how many there are.
    #[inline]
    pub(super) fn words(self) -> (usize, usize) {
        let first = self.start as usize / 64;
        (first, (self.end as usize).div_ceil(64) - first)
    }
}

/// Which end of an edge is a vertex that is not bound yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Opens {
    Neither,
    Source,
    Target,
}

/// A look-up that members share.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) ring: RingId,
    pub(super) access: Access,
    /// Which bound vertices its ends are; of one that is not bound yet the next.
    pub(super) ends: (u8, u8),
    pub(super) opens: Opens,
    pub(super) members: Span,
    pub(super) groups: Span,
    pub(super) predicates: Span,
    /// The longest window of a member.
    pub(super) window: u32,
    /// Bound edges that must be earlier for all members, and later.
    pub(super) after: u16,
    pub(super) before: u16,
    pub(super) asks: Asks,
    /// Its members, if they lie in one word: then the search carries them along in a register.
    pub(super) bits: u64,
    pub(super) node: u32,
}

/// What members ask of a candidate beyond what all of them ask.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asks {
    /// Some need lists at the new vertex.
    pub(super) lists: bool,
    /// Some ask more of the order.
    pub(super) order: bool,
    /// Some have a shorter window.
    pub(super) window: bool,
}

impl Asks {
    /// Whether a candidate that is good for one member is good for all.
    #[inline]
    pub(super) fn nothing(self) -> bool {
        !(self.lists || self.order || self.window)
    }
}

/// Members that ask the same of a step's candidate.
#[derive(Debug)]
pub(super) struct Group {
    /// Lists that must have an entry at the new vertex.
    pub(super) need: Mask,
    /// Bound edges that must be earlier, and later.
    pub(super) after: u16,
    pub(super) before: u16,
    pub(super) window: u32,
    pub(super) bits: Span,
    /// Its members, if those of the step lie in one word.
    pub(super) word: u64,
}

/// Members that need a list at the source of the arriving edge, or at its target if they need none there.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) source: Mask,
    pub(super) target: Mask,
    pub(super) needs: Span,
}

/// Members that need the same lists at the ends of the arriving edge.
#[derive(Debug)]
pub(super) struct Need {
    pub(super) source: Mask,
    pub(super) target: Mask,
    pub(super) bits: Span,
}
