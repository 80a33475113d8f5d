//! The `ddst-signature` engine: the window is verified only if the product of its factors is divisible by that of the query.
//!
//! Factors are drawn from GF(p), and none of the query's is zero. A kind of query edges has one, and each held edge of the kind
//! contributes it. A *role* is what the query asks of a vertex at one side: edges of some kinds, so many in all. Its factors
//! are r + 1, r + 2, ... up to the greatest number asked for among query vertices (r - 1, r - 2, ... for edges that leave); a
//! vertex contributes the i-th when it has i edges of these kinds.
//!
//! No match is missed. If the window has one, then
//! * for each kind, as many edges fit it as the query has among the edges that leave (enter) one query vertex. These have
//!   different matches. Also as many as follow each other in the timing order, for these have different times. The greatest of
//!   these numbers is the power of the kind's factor in the query's product;
//! * for each role, the query vertex that asks for most has a match with as many edges of these kinds.
//!
//! More would be too much. The paper counts the factors of all query edges and of all query vertices (offline, lines 4 to 12).
//! But one data edge can match several query edges, and one vertex several query vertices, in its own Fig. 3 too. A test holds
//! a window which is a match and has fewer edges than the query.
//!
//! The product includes every held edge, perhaps some that left. Where it lets through after some did, it is computed anew for
//! those held: under `INSTANCES` that are the ones after the cursor. The paper continues from the second edge of the window
//! after a match that was none (line 10). It misses those that need the first; a test shows one. A product needs no factor more
//! often than the query's has it. So what is counted of kinds and roles is enough to compute it, whatever the window.
//!
//! A report needs the arriving edge, so it is asked first whether its own ends play the roles of a query edge it can match.
//! Verification grows from it ([`crate::nearby`]) along edges whose ends play theirs; the paper's is over the whole window.
//! Invariant: degrees are counted over held edges; the product has, for each, the factors that they contributed.
//! Cost: O(query edges) for each edge that arrives, with one division a word and factor. For one that passes, what it takes to
//! refute it, or its component.
//! Source: paper 000, section 3.2, Theorems 2 to 4.

#[cfg(test)]
mod printed;

use crate::candidates::Candidates;
use crate::funnel::Funnel;
use crate::incidence::Incidence;
use crate::nearby;
use crate::numbered::Number;
use crate::pattern::{IN, OUT, Pattern, SIDES, bits};
use crate::query::{Query, QueryError};
use crate::question::{Means, Question};
use crate::window::{Held, Place, Window};
use crate::words::{Remainders, Words};
use crate::work::Work;

/// A kind of query edges.
#[derive(Debug)]
struct Kind {
    factor: u32,
    /// How often the query's product has it.
    power: u32,
    /// Held edges of this kind.
    held: u32,
}

/// What query vertices ask for at one side: edges of some kinds.
#[derive(Debug)]
struct Role {
    side: usize,
    kinds: u64,
    /// For each edge more, up to the most that is asked for: its factor, and how many vertices have so many edges.
    steps: Vec<(u32, u32)>,
}

/// What is known of the window.
#[derive(Debug)]
pub(crate) struct Signature {
    words: Words,
    kinds: Vec<Kind>,
    roles: Vec<Role>,
    /// By query vertex and side: its role, and how many edges it asks for.
    played: Vec<[Option<(usize, u32)>; 2]>,
    /// By vertex and role: held edges of its kinds.
    degrees: Vec<u32>,
    /// Edges at each vertex, with the query edges whose source (target) it has the degrees of.
    incidence: Incidence<(), [u64; 2], 1>,
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
        let kind = |&edges: &u64| Kind { factor: draw.label(|label| label != 0), power: power(pattern, edges), held: 0 };
        let kinds: Vec<Kind> = pattern.kinds.iter().map(kind).collect();
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
                    roles.push(Role { side, kinds: of, steps: Vec::new() });
                    roles.len() - 1
                });
                let steps = &mut roles[role].steps;
                steps.resize(steps.len().max(asked as usize), (0, 0));
                played[vertex][side] = Some((role, asked));
            }
        }
        for role in &mut roles {
            let factors = draw.factors(role.side, role.steps.len() as u32);
            role.steps = factors.into_iter().map(|factor| (factor, 0)).collect();
        }
        let powers = kinds.iter().flat_map(|kind| (0..kind.power).map(|_| kind.factor));
        let words = Words::new(p, powers.chain(roles.iter().flat_map(|role| role.steps.iter().map(|&(factor, _)| factor))));
        let (product, incidence) = (words.one(), Incidence::default());
        Ok(Self { words, kinds, roles, played, degrees: Vec::new(), incidence, product, is_stale: false })
    }

    /// Counts an edge that was just appended to the window, and multiplies the product by its factors.
    pub(crate) fn arrive(&mut self, pattern: &Pattern, window: &Window, number: Number, work: &mut Work<'_, '_>) {
        work.spend(1);
        self.incidence.push(window, number, ());
        self.degrees.resize(self.incidence.corners.len() * self.roles.len(), 0);
        let held = window.get(number);
        let mut of = 0;
        for kind in pattern.kinds_of(held.fits) {
            of |= 1 << kind;
            let kind = &mut self.kinds[kind];
            kind.held += 1;
            self.words.multiply(&mut self.product, kind.factor);
        }
        let (roles, mut has_more) = (self.roles.len(), [false; 2]);
        for (place, role) in self.roles.iter_mut().enumerate().filter(|(_, role)| role.kinds & of != 0) {
            let degree = &mut self.degrees[held.ends[role.side] as usize * roles + place];
            if let Some((factor, reached)) = role.steps.get_mut(*degree as usize) {
                *reached += 1;
                self.words.multiply(&mut self.product, *factor);
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
    pub(crate) fn depart(&mut self, pattern: &Pattern, held: &Held, number: Number, work: &mut Work<'_, '_>) {
        work.spend(1);
        self.is_stale = true;
        self.incidence.remove(held, number);
        let mut of = 0;
        for kind in pattern.kinds_of(held.fits) {
            of |= 1 << kind;
            self.kinds[kind].held -= 1;
        }
        let (roles, mut has_less) = (self.roles.len(), [false; 2]);
        for (place, role) in self.roles.iter_mut().enumerate().filter(|(_, role)| role.kinds & of != 0) {
            let degree = &mut self.degrees[held.ends[role.side] as usize * roles + place];
            *degree -= 1;
            if let Some((_, reached)) = role.steps.get_mut(*degree as usize) {
                *reached -= 1;
                has_less[role.side] = true;
            }
        }
        for side in SIDES {
            if has_less[side] {
                self.cast(pattern, held.ends[side]);
            }
        }
    }

    /// Whether the ends of an edge play the roles of what it could match, and the window has the query's signature.
    pub(crate) fn admits(&mut self, question: &Question<'_>, funnel: &mut Funnel) -> bool {
        let playable = self.playable(question.window.get(question.number));
        funnel.red += u64::from(playable != 0);
        if playable & question.may_match == 0 {
            funnel.early += u64::from(playable != 0);
            return false;
        }
        funnel.signature_checks += 1;
        if !Words::divide(&self.product) || (self.is_stale && !self.renew()) {
            return false;
        }
        funnel.signature_passed += 1;
        true
    }

    /// Finds the match component of an edge.
    pub(crate) fn verify(&self, question: &Question<'_>, means: &mut Means<'_, '_, '_>) -> Option<usize> {
        let given = self.playable(question.window.get(question.number));
        let gather = |enough, candidates: &mut Candidates, work: &mut Work<'_, '_>| {
            self.incidence.gather(question, (0, enough), |held, ()| self.playable(held), candidates, work)
        };
        let (_, found) = nearby::settle(question, given, gather, means);
        means.funnel.signature_false += u64::from(found.is_none());
        found
    }

    /// Forgets all edges.
    pub(crate) fn clear(&mut self) {
        self.kinds.iter_mut().for_each(|kind| kind.held = 0);
        self.roles.iter_mut().flat_map(|role| &mut role.steps).for_each(|(_, reached)| *reached = 0);
        self.degrees.clear();
        self.incidence = Incidence::default();
        (self.product, self.is_stale) = (self.words.one(), false);
    }

    /// Bytes of what is known.
    pub(crate) fn bytes(&self, window: &Window) -> usize {
        let [edge, vertex] = Incidence::<(), [u64; 2], 1>::ENTRY;
        window.room() * edge + window.touched() * (vertex + self.roles.len() * size_of::<u32>())
    }

    /// The query edges that an edge fits and whose roles its ends play.
    #[inline]
    fn playable(&self, held: &Held) -> u64 {
        let [source, target] = held.ends.map(|place| self.incidence.corners[place as usize].known);
        held.fits & source[OUT] & target[IN]
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
        self.incidence.corners[place as usize].known = fine;
    }

    /// Computes the product of the held edges alone, each factor as often as the query's has it at most; returns whether the
    /// query's divides it.
    fn renew(&mut self) -> bool {
        let mut product = self.words.one();
        for kind in &self.kinds {
            for _ in 0..kind.held.min(kind.power) {
                self.words.multiply(&mut product, kind.factor);
            }
        }
        for (factor, _) in self.roles.iter().flat_map(|role| &role.steps).filter(|(_, reached)| *reached > 0) {
            self.words.multiply(&mut product, *factor);
        }
        self.product = product;
        self.is_stale = false;
        Words::divide(&self.product)
    }
}

/// How many edges of a kind any match has.
fn power(pattern: &Pattern, kind: u64) -> u32 {
    let around = pattern.incident.iter().flatten().map(|edges| (edges & kind).count_ones());
    around.max().unwrap_or(0).max(chain(pattern, kind))
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
