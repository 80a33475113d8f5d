//! The signatures that edges satisfied, as one number an edge.
//!
//! Most edges satisfy one, and few sets of several occur.
//! Invariant: a set of several has its mark while an edge has it; then the mark may be given to another set.
//! Cost: one look-up for an edge that satisfied several.

use graphtide_engine::ids::SignatureId;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// What an edge satisfied, as one number: that of the one signature, or, marked by the highest bit, that of a set of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(SignatureId);

/// Sets of signatures.
#[derive(Debug, Default)]
pub struct Satisfied {
    several: Vec<Several>,
    free: Vec<u32>,
    places: HashMap<Box<[SignatureId]>, u32, FxBuildHasher>,
}

#[derive(Debug)]
struct Several {
    signatures: Box<[SignatureId]>,
    /// Edges that have it.
    edges: usize,
}

const SEVERAL: u32 = 1 << 31;

impl Mark {
    /// The mark that was stored as this number.
    #[inline]
    pub fn stored(number: u32) -> Self {
        Self(SignatureId(number))
    }

    /// The number to store.
    #[inline]
    pub fn number(self) -> u32 {
        self.0.0
    }

    fn several(place: u32) -> Self {
        Self(SignatureId(SEVERAL | place))
    }

    /// The place of a set of several.
    #[inline]
    fn place(self) -> Option<usize> {
        (self.number() & SEVERAL != 0).then_some((self.number() & !SEVERAL) as usize)
    }
}

impl Satisfied {
    /// Returns the mark of what an edge satisfied: one signature at least. The edge has it until it is released.
    #[inline]
    pub fn acquire(&mut self, signatures: &[SignatureId]) -> Mark {
        if let [one] = *signatures { Mark(one) } else { self.acquire_several(signatures) }
    }

    fn acquire_several(&mut self, signatures: &[SignatureId]) -> Mark {
        if let Some(&place) = self.places.get(signatures) {
            self.several[place as usize].edges += 1;
            return Mark::several(place);
        }
        let new = Several { signatures: signatures.into(), edges: 1 };
        let place = if let Some(place) = self.free.pop() {
            self.several[place as usize] = new;
            place
        } else {
            self.several.push(new);
            self.several.len() as u32 - 1
        };
        self.places.insert(signatures.into(), place);
        Mark::several(place)
    }

    /// An edge has the mark no longer.
    #[inline]
    pub fn release(&mut self, mark: Mark) {
        if let Some(place) = mark.place() {
            self.release_several(place);
        }
    }

    fn release_several(&mut self, place: usize) {
        let several = &mut self.several[place];
        several.edges -= 1;
        if several.edges == 0 {
            self.places.remove(&*std::mem::take(&mut several.signatures));
            self.free.push(place as u32);
        }
    }

    /// The signatures of a mark that an edge has.
    #[inline]
    pub fn get<'a>(&'a self, mark: &'a Mark) -> &'a [SignatureId] {
        match mark.place() {
            None => std::slice::from_ref(&mark.0),
            Some(place) => &self.several[place].signatures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids<const N: usize>(numbers: [u32; N]) -> [SignatureId; N] {
        numbers.map(SignatureId)
    }

    #[test]
    fn a_mark_names_its_set_while_an_edge_has_it() {
        let mut sets = Satisfied::default();
        let marks = [&ids([3])[..], &ids([1, 2]), &ids([1, 2]), &ids([2, 5])].map(|set| sets.acquire(set));
        assert_eq!(
            marks.map(|mark| sets.get(&mark).to_vec()),
            [ids([3]).to_vec(), ids([1, 2]).into(), ids([1, 2]).into(), ids([2, 5]).into()]
        );
        for &mark in &marks[..2] {
            sets.release(mark);
        }
        assert_eq!(sets.get(&marks[2]), ids([1, 2]));
        sets.release(marks[2]);
        let other = sets.acquire(&ids([7, 8]));
        assert_eq!((other, sets.get(&other), sets.get(&marks[3])), (marks[1], &ids([7, 8])[..], &ids([2, 5])[..]));
        assert_eq!(sets.places.len(), 2);
    }
}
