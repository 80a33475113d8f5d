//! The `ddst-signature` engine: the window is verified only if the product of its factors is divisible by that of the query.
//!
//! Factors are drawn from GF(p), and none of the query's is zero. A kind of query edges has one, and each held edge of the kind
//! contributes it. A *role* is what the query asks of a vertex at one side: edges of some kinds, so many in all. Its factors
//! are r + 1, r + 2, ... up to the greatest number asked for among query vertices (r - 1, r - 2, ... for edges that leave); a
//! vertex contributes the i-th when it has i edges of these kinds.
//!
//! No match is missed. If the window has one, then
//! * for each kind, as many edges fit it as the query has among the edges that leave (enter) one query vertex, for these have
//!   different matches; and as many as follow each other in the timing order, for these have different times. The greatest of
//!   these numbers is the power of the kind's factor in the query's product;
//! * for each role, the query vertex that asks for most has a match with as many edges of these kinds.
//!
//! More would be too much: the paper counts the factors of all query edges and of all query vertices (offline, lines 4 to 12),
//! but one data edge can match several query edges, and one vertex several query vertices, in its own Fig. 3 too. A test holds
//! a window which is a match and has fewer edges than the query.
//!
//! The product includes every held edge, perhaps some that left. Where it lets through after some did, it is computed anew from
//! the first held edge: under `INSTANCES` that is the one after the frontier. The paper goes on from the second edge of the
//! window after a match that was none (line 10), and misses those that need the first; a test shows one. A report needs the
//! arriving edge, so it is asked first whether its own ends play the roles of a query edge it can match. Pairs whose ends do
//! not, and what is not connected with the edge by others, are left out of the verification.
//! Invariant: degrees are counted over held edges; the product has, for each, the factors that they contributed.
//! Cost: O(query edges) for each edge that arrives, with one division a word and factor; the window for each that passes.
//! Source: paper 000, section 3.2, Theorems 2 to 4.

#[cfg(test)]
mod printed;

use crate::engine::{Means, Question};
use crate::fixpoint::Settled;
use crate::pattern::{IN, OUT, Pattern, SIDES, bits};
use crate::query::{Query, QueryError};
use crate::window::{Held, Place, Window};
use crate::words::{Remainders, Words};
use crate::work::Work;

/// What query vertices ask for at one side: edges of some kinds.
#[derive(Debug)]
struct Role {
    side: usize,
    kinds: u64,
    /// For each edge more, up to the most that is asked for.
    factors: Vec<u32>,
}

/// What is known of the window.
#[derive(Debug)]
pub(crate) struct Signature {
    words: Words,
    /// The factor of each kind.
    kinds: Vec<u32>,
    roles: Vec<Role>,
    /// By query vertex and side: its role, and how many edges it asks for.
    played: Vec<[Option<(usize, u32)>; 2]>,
    /// By vertex and role: held edges of its kinds.
    degrees: Vec<u32>,
    /// By vertex and side: the query edges whose source (target) it has the degrees of.
    fine: Vec<[u64; 2]>,
    product: Remainders,
    /// Whether edges left since the product was computed.
    is_stale: bool,
}

impl Signature {
    pub(crate) fn new(query: &Query, pattern: &Pattern, p: u32, seed: u64) -> Result<Self, QueryError> {
        let degree = pattern.incident.iter().flatten().map(|edges| edges.count_ones()).max().unwrap_or(0);
        if degree >= p || !is_prime(p) {
            return Err(QueryError::Modulus { p, degree: degree as usize });
        }
        let mut draw = Draw { state: seed, p };
        let kinds: Vec<_> = pattern.kinds.iter().map(|_| draw.label(|label| label != 0)).collect();
        let mut roles: Vec<Role> = Vec::new();
        let mut played = vec![[None; 2]; query.vertices];
        for (vertex, edges) in pattern.incident.iter().enumerate() {
            for side in SIDES {
                let asked = edges[side].count_ones();
                if asked == 0 {
                    continue;
                }
                let of = pattern.kinds_of(edges[side]).fold(0, |set, kind| set | 1 << kind);
                let known = roles.iter().position(|role| (role.side, role.kinds) == (side, of));
                let role = known.unwrap_or_else(|| {
                    roles.push(Role { side, kinds: of, factors: Vec::new() });
                    roles.len() - 1
                });
                let factors = &mut roles[role].factors;
                factors.resize(factors.len().max(asked as usize), 0);
                played[vertex][side] = Some((role, asked));
            }
        }
        for role in &mut roles {
            role.factors = draw.factors(role.side, role.factors.len() as u32);
        }
        let powers = kinds.iter().zip(&pattern.kinds).flat_map(|(&factor, &kind)| vec![factor; power(pattern, kind)]);
        let words = Words::new(p, powers.chain(roles.iter().flat_map(|role| role.factors.iter().copied())));
        Ok(Self { product: words.one(), words, kinds, roles, played, degrees: Vec::new(), fine: Vec::new(), is_stale: false })
    }

    /// Counts an edge, and multiplies the product by its factors.
    pub(crate) fn arrive(&mut self, pattern: &Pattern, held: &Held, work: &mut Work<'_, '_>) {
        let places = 1 + held.ends[OUT].max(held.ends[IN]) as usize;
        self.fine.resize(self.fine.len().max(places), [0; 2]);
        self.degrees.resize(self.fine.len() * self.roles.len(), 0);
        work.spend(1);
        let mut of = 0;
        for kind in pattern.kinds_of(held.fits) {
            of |= 1 << kind;
            self.words.multiply(&mut self.product, self.kinds[kind]);
        }
        let mut has_more = [false; 2];
        for (place, role) in self.roles.iter().enumerate().filter(|(_, role)| role.kinds & of != 0) {
            let degree = &mut self.degrees[held.ends[role.side] as usize * self.roles.len() + place];
            if let Some(&factor) = role.factors.get(*degree as usize) {
                self.words.multiply(&mut self.product, factor);
                has_more[role.side] = true;
            }
            *degree += 1;
        }
        for side in SIDES {
            if has_more[side] {
                self.cast(pattern, held.ends[side]);
            }
        }
    }

    /// Stops counting an edge. The product keeps its factors.
    pub(crate) fn depart(&mut self, pattern: &Pattern, held: &Held, work: &mut Work<'_, '_>) {
        work.spend(1);
        self.is_stale = true;
        let of = pattern.kinds_of(held.fits).fold(0, |set, kind| set | 1 << kind);
        let mut has_less = [false; 2];
        for (place, role) in self.roles.iter().enumerate().filter(|(_, role)| role.kinds & of != 0) {
            let degree = &mut self.degrees[held.ends[role.side] as usize * self.roles.len() + place];
            *degree -= 1;
            has_less[role.side] |= (*degree as usize) < role.factors.len();
        }
        for side in SIDES {
            if has_less[side] {
                self.cast(pattern, held.ends[side]);
            }
        }
    }

    /// Finds the match component of an edge.
    pub(crate) fn search(&mut self, question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        let held = question.window.get(question.number);
        if self.playable(held) & question.may_match == 0 {
            return None;
        }
        means.funnel.red += 1;
        means.funnel.signature_checks += 1;
        if !Words::divide(&self.product) || (self.is_stale && !self.renew(question, &mut means.work)) {
            return None;
        }
        means.funnel.signature_passed += 1;
        let found = self.verify(question, means);
        means.funnel.signature_false += u64::from(found.is_none());
        found
    }

    /// Verifies the edges that the edge is connected with, among those whose ends play their roles.
    fn verify(&self, question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        let candidates = &mut means.fixpoint.candidates;
        candidates.clear(question.window.places());
        for (number, held) in question.window.iter() {
            let playable = self.playable(held);
            if playable != 0 {
                candidates.add(number, held.ts, held.ends, playable);
            }
        }
        if !means.work.spend(question.window.live() as u32) {
            return None;
        }
        means.fixpoint.confine(question.number, question.window);
        means.funnel.verifications_due += 1;
        means.funnel.verifications_run += 1;
        match means.fixpoint.whole(question.pattern, &mut means.work, means.funnel) {
            Settled::Stable => means.fixpoint.matched(question.number),
            Settled::Refuted | Settled::Cut => None,
        }
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self, window: &Window) -> usize {
        window.touched() * (self.roles.len() * size_of::<u32>() + size_of::<[u64; 2]>())
    }

    /// The query edges that an edge fits and whose roles its ends play.
    #[inline]
    fn playable(&self, held: &Held) -> u64 {
        held.fits & self.fine[held.ends[OUT] as usize][OUT] & self.fine[held.ends[IN] as usize][IN]
    }

    /// Notes which query vertices a vertex has the degrees of.
    fn cast(&mut self, pattern: &Pattern, place: Place) {
        let first = place as usize * self.roles.len();
        let mut fine = [0; 2];
        for (vertex, played) in self.played.iter().enumerate() {
            if played.iter().flatten().all(|&(role, asked)| self.degrees[first + role] >= asked) {
                for side in SIDES {
                    fine[side] |= pattern.incident[vertex][side];
                }
            }
        }
        self.fine[place as usize] = fine;
    }

    /// Computes the product of the held edges alone; returns whether the query's divides it. If work is refused, nothing
    /// changes.
    fn renew(&mut self, question: &Question<'_>, work: &mut Work<'_, '_>) -> bool {
        let mut product = self.words.one();
        for (_, held) in question.window.iter() {
            if !work.spend(1) {
                return false;
            }
            for kind in question.pattern.kinds_of(held.fits) {
                self.words.multiply(&mut product, self.kinds[kind]);
            }
        }
        for degrees in self.degrees.chunks_exact(self.roles.len()) {
            for (role, &degree) in self.roles.iter().zip(degrees) {
                for &factor in role.factors.iter().take(degree as usize) {
                    self.words.multiply(&mut product, factor);
                }
            }
        }
        self.product = product;
        self.is_stale = false;
        Words::divide(&self.product)
    }
}

/// How many edges of a kind any match has.
fn power(pattern: &Pattern, kind: u64) -> usize {
    let around = pattern.incident.iter().flatten().map(|edges| (edges & kind).count_ones());
    around.max().unwrap_or(0).max(chain(pattern, kind)) as usize
}

/// The most query edges of a kind that follow each other in the order.
fn chain(pattern: &Pattern, kind: u64) -> u32 {
    let mut edges: Vec<usize> = bits(kind).collect();
    edges.sort_by_key(|&edge| pattern.earlier[edge].count_ones());
    let mut up_to = vec![0; pattern.edges()];
    for edge in edges {
        up_to[edge] = 1 + bits(pattern.earlier[edge] & kind).map(|earlier| up_to[earlier]).max().unwrap_or(0);
    }
    up_to.into_iter().max().unwrap_or(0)
}

fn is_prime(p: u32) -> bool {
    p >= 2 && (2..=p.isqrt()).all(|divisor| !p.is_multiple_of(divisor))
}

/// Draws labels by the generator `SplitMix64`.
struct Draw {
    state: u64,
    p: u32,
}

impl Draw {
    /// Draws labels until one is fine.
    fn label(&mut self, is_fine: impl Fn(u32) -> bool) -> u32 {
        loop {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.state;
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            let label = ((mixed ^ mixed >> 31) % u64::from(self.p)) as u32;
            if is_fine(label) {
                return label;
            }
        }
    }

    /// Draws a label none of whose factors is zero, and returns the factors.
    fn factors(&mut self, side: usize, degree: u32) -> Vec<u32> {
        let p = self.p;
        let factor = move |label: u32, place: u32| {
            let step = if side == IN { place } else { p - place };
            ((u64::from(label) + u64::from(step)) % u64::from(p)) as u32
        };
        let label = self.label(|label| (1..=degree).all(|place| factor(label, place) != 0));
        (1..=degree).map(|place| factor(label, place)).collect()
    }
}
