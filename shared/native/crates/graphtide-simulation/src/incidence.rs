//! The held edges at each vertex, in lists that run through the edges.
//!
//! Lists have a colour each, if an engine has several. What an engine knows of an edge or a vertex lies beside its
//! lists, so that a reader of one has the other at hand.
//! Invariant: each held edge is in two lists, one of its source and one of its target, both of the edge's colour.
//! Cost: O(1) to link and to unlink an edge; O(edges) to gather them.

use crate::candidates::Candidates;
use crate::numbered::{NONE, Number, Numbered};
use crate::pattern::{IN, SIDES};
use crate::question::Question;
use crate::window::{Held, Place, Window};
use crate::work::Work;

/// An edge's neighbours in the lists of its two ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linked<E> {
    pub known: E,
    next: [Number; 2],
    previous: [Number; 2],
}

/// A vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corner<V, const COLORS: usize> {
    pub known: V,
    /// By side and colour: the newest edge there.
    first: [[Number; COLORS]; 2],
}

/// The lists.
#[derive(Debug)]
pub(crate) struct Incidence<E, V, const COLORS: usize> {
    pub edges: Numbered<Linked<E>>,
    pub corners: Vec<Corner<V, COLORS>>,
}

impl<E, V, const COLORS: usize> Default for Incidence<E, V, COLORS> {
    fn default() -> Self {
        Self { edges: Numbered::default(), corners: Vec::new() }
    }
}

impl<E: Copy, V: Copy + Default, const COLORS: usize> Incidence<E, V, COLORS> {
    /// Bytes that an edge takes, and a vertex.
    pub(crate) const ENTRY: [usize; 2] = [Numbered::<Linked<E>>::ENTRY, size_of::<Corner<V, COLORS>>()];

    /// Appends an edge of the first colour.
    pub(crate) fn push(&mut self, window: &Window, number: Number, known: E) {
        let bare = Corner { known: V::default(), first: [[NONE; COLORS]; 2] };
        self.corners.resize(window.places().max(self.corners.len()), bare);
        self.edges.append(number, Linked { known, next: [NONE; 2], previous: [NONE; 2] });
        for side in SIDES {
            self.link(window.get(number), number, side, 0);
        }
    }

    /// Removes an edge of the first colour.
    pub(crate) fn remove(&mut self, held: &Held, number: Number) {
        for side in SIDES {
            self.unlink(held, number, side, 0);
        }
        self.edges.remove(number);
    }

    /// Moves an edge from the lists of one colour to those of another.
    pub(crate) fn repaint(&mut self, held: &Held, number: Number, [old, new]: [usize; 2]) {
        for side in SIDES {
            self.unlink(held, number, side, old);
            self.link(held, number, side, new);
        }
    }

    /// The edges that leave (enter) a vertex, newest first.
    #[inline]
    pub(crate) fn at(&self, place: Place, side: usize, color: usize) -> impl Iterator<Item = Number> + '_ {
        let mut next = self.corners[place as usize].first[side][color];
        std::iter::from_fn(move || {
            let number = next;
            (number != NONE).then(|| {
                next = self.edges[number].next[side];
                number
            })
        })
    }

    /// Adds edges of a colour around those that are candidates, each with the query edges that it could match, until there are
    /// enough. Returns whether there are more. Those that could match none do not connect others.
    pub(crate) fn gather(
        &self,
        question: &Question<'_>,
        (color, enough): (usize, usize),
        could_match: impl Fn(&Held, &E) -> u64,
        candidates: &mut Candidates,
        work: &mut Work<'_, '_>,
    ) -> bool {
        while candidates.edges.len() < enough {
            let Some((vertex, place)) = candidates.close_next() else { return false };
            for side in SIDES {
                for number in self.at(place, side, color) {
                    let held = question.window.get(number);
                    let other = held.ends[1 - side];
                    // An edge between closed vertices is there already; a loop is met twice.
                    let is_there = number == question.number
                        || if other == place { side == IN } else { candidates.was_closed_before(other, vertex) };
                    if !is_there {
                        let given = could_match(held, &self.edges[number].known);
                        if given != 0 {
                            candidates.add(number, held.ts, held.ends, given);
                        }
                    }
                    if !work.spend(1) {
                        return !candidates.is_whole();
                    }
                }
            }
        }
        !candidates.is_whole()
    }

    fn link(&mut self, held: &Held, number: Number, side: usize, color: usize) {
        let first = &mut self.corners[held.ends[side] as usize].first[side][color];
        let next = std::mem::replace(first, number);
        let edge = &mut self.edges[number];
        (edge.next[side], edge.previous[side]) = (next, NONE);
        if next != NONE {
            self.edges[next].previous[side] = number;
        }
    }

    fn unlink(&mut self, held: &Held, number: Number, side: usize, color: usize) {
        let Linked { next, previous, .. } = self.edges[number];
        if next[side] != NONE {
            self.edges[next[side]].previous[side] = previous[side];
        }
        if previous[side] == NONE {
            self.corners[held.ends[side] as usize].first[side][color] = next[side];
        } else {
            self.edges[previous[side]].next[side] = next[side];
        }
    }
}
