//! The searches that are shared, by signature, and how one of them ended.

use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_engine::meter::{MATCH, Meter};
use graphtide_engine::output::Rows;
use graphtide_isomorphism::prefix_tree::PrefixTree;

/// Query edges of one signature from which on searches are shared.
pub const MANY: usize = 8;

/// Steps that a shared search may take; those of its matches are among them.
pub const BOUND: u64 = 1 << 20;

/// Where work is bounded: steps that a shared search may take at first beside those of its matches, and at most. Nobody pays
/// for them.
const UNPAID: (u64, u64) = (1 << 12, 1 << 14);

/// Of the steps that a shared search may take, the part that a member may take alone without leaving the tree.
const MODEST: u64 = 8;

/// Edges after which the lengths of lists are looked at again.
pub const YOUNG: u64 = 1 << 10;

/// The searches that are shared, by signature.
#[derive(Debug, Default)]
pub struct SharedSearches {
    by_signature: Vec<Option<Box<SharedSearch>>>,
    /// Units that took much alone, of a search that took too long.
    pub greedy: Vec<UnitId>,
}

/// The search from edges of one signature.
#[derive(Debug)]
pub struct SharedSearch {
    /// Of those that share it.
    pub tree: PrefixTree,
    /// Members that came since the tree was made, or left it.
    pub changed: usize,
    /// Edges of the signature until which the tree is good.
    pub until: u64,
    /// Where work is bounded: steps that a search may take beside those of its matches.
    pub unpaid: u64,
}

impl SharedSearch {
    fn new() -> Self {
        Self { tree: PrefixTree::default(), changed: 0, until: u64::MAX, unpaid: UNPAID.0 }
    }

    /// Whether a tree is to be made, now that the signature had so many edges.
    pub fn is_due(&self, hits: u64) -> bool {
        hits >= self.until || self.changed >= MANY.max(self.tree.len() / 8)
    }
}

/// Steps taken, and matches found.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    steps: u64,
    matches: usize,
}

impl Effort {
    /// Until now.
    pub fn of(rows: &Rows, meter: &Meter<'_>) -> Self {
        Self { steps: meter.taken(), matches: rows.len() }
    }

    /// Steps since another time, those apart that what was found took.
    pub fn steps_since(self, before: Self) -> u64 {
        let found = self.matches.saturating_sub(before.matches) as u64 * u64::from(MATCH);
        (self.steps - before.steps).saturating_sub(found)
    }
}

/// How a shared search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// It is done, or there is none.
    Done,
    /// It took too long: members are to search alone.
    TooLong,
    /// All work ends.
    Ended,
    /// The matches of a member reached a limit that ends the run.
    Limited,
}

impl SharedSearches {
    /// That of a signature, if it has one.
    pub fn shared(&mut self, signature: SignatureId) -> Option<&mut SharedSearch> {
        self.by_signature.get_mut(signature.place())?.as_deref_mut()
    }

    /// Lets so many query edges wait for the tree of a signature.
    pub fn come(&mut self, signature: SignatureId, edges: usize) {
        let place = signature.place();
        if place >= self.by_signature.len() {
            self.by_signature.resize_with(place + 1, || None);
        }
        self.by_signature[place].get_or_insert_with(|| Box::new(SharedSearch::new())).changed += edges;
    }

    /// Steps that a member of a tree may take alone, beside those of its matches, without leaving it.
    pub fn bound_of_member<const BOUNDED: bool>(&mut self, signature: SignatureId) -> u64 {
        let most = self.shared(signature).filter(|_| BOUNDED).map_or(BOUND, |shared| shared.unpaid);
        most / MODEST
    }

    /// Lets the search of a signature take longer, as no single member is to blame.
    pub fn lengthen(&mut self, signature: SignatureId) {
        if let Some(shared) = self.shared(signature) {
            shared.unpaid = (shared.unpaid * 2).min(UNPAID.1);
        }
    }

    /// Bytes of the trees.
    pub fn bytes(&self) -> usize {
        self.by_signature.iter().flatten().map(|shared| shared.tree.bytes()).sum()
    }

    /// Searches for a unit's query edges no longer.
    pub fn leave(&mut self, unit: UnitId, signatures: &[SignatureId]) {
        for &signature in signatures {
            if let Some(shared) = self.shared(signature) {
                shared.tree.disable(unit);
                shared.changed += 1;
            }
        }
    }

    /// Whether there is a tree of a signature, or is to be one.
    #[inline]
    pub fn has(&self, signature: SignatureId) -> bool {
        self.by_signature.get(signature.place()).is_some_and(Option::is_some)
    }
}
