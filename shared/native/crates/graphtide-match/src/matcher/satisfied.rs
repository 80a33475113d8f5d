//! The signatures that edges satisfied, as one number an edge.
//!
//! Most edges satisfy one, and few sets of several occur.
//! Invariant: a set of several has its number while an edge has it; then the number may be given to another set.
//! Cost: one look-up for an edge that satisfied several.

use graphtide_engine::ids::SignatureId;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// Sets of signatures.
#[derive(Debug, Default)]
pub struct Satisfied {
    several: Vec<Several>,
    free: Vec<u32>,
    numbers: HashMap<Box<[SignatureId]>, u32, FxBuildHasher>,
}

#[derive(Debug)]
struct Several {
    signatures: Box<[SignatureId]>,
    /// Edges that have it.
    edges: usize,
}

/// Marks the number of a set of several signatures.
const SEVERAL: u32 = 1 << 31;

impl Satisfied {
    /// Returns the number of what an edge satisfied: one signature at least. The edge has it until it is released.
    #[inline]
    pub fn acquire(&mut self, signatures: &[SignatureId]) -> u32 {
        if let [one] = *signatures { one } else { self.acquire_several(signatures) }
    }

    fn acquire_several(&mut self, signatures: &[SignatureId]) -> u32 {
        if let Some(&number) = self.numbers.get(signatures) {
            self.several[(number & !SEVERAL) as usize].edges += 1;
            return number;
        }
        let new = Several { signatures: signatures.into(), edges: 1 };
        let place = if let Some(place) = self.free.pop() {
            self.several[place as usize] = new;
            place
        } else {
            self.several.push(new);
            self.several.len() as u32 - 1
        };
        self.numbers.insert(signatures.into(), SEVERAL | place);
        SEVERAL | place
    }

    /// An edge has the number no longer.
    #[inline]
    pub fn release(&mut self, number: u32) {
        if number & SEVERAL != 0 {
            self.release_several(number & !SEVERAL);
        }
    }

    fn release_several(&mut self, place: u32) {
        let several = &mut self.several[place as usize];
        several.edges -= 1;
        if several.edges == 0 {
            self.numbers.remove(&*std::mem::take(&mut several.signatures));
            self.free.push(place);
        }
    }

    /// The signatures of a number that an edge has.
    #[inline]
    pub fn get<'a>(&'a self, number: &'a u32) -> &'a [SignatureId] {
        match number & SEVERAL {
            0 => std::slice::from_ref(number),
            _ => &self.several[(number & !SEVERAL) as usize].signatures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_its_set_while_an_edge_has_it() {
        let mut sets = Satisfied::default();
        let numbers = [&[3][..], &[1, 2], &[1, 2], &[2, 5]].map(|set| sets.acquire(set));
        assert_eq!(numbers.map(|number| sets.get(&number).to_vec()), [vec![3], vec![1, 2], vec![1, 2], vec![2, 5]]);
        for number in &numbers[..2] {
            sets.release(*number);
        }
        assert_eq!(sets.get(&numbers[2]), [1, 2]);
        sets.release(numbers[2]);
        let other = sets.acquire(&[7, 8]);
        assert_eq!((other, sets.get(&other), sets.get(&numbers[3])), (numbers[1], &[7, 8][..], &[2, 5][..]));
        assert_eq!(sets.numbers.len(), 2);
    }
}
