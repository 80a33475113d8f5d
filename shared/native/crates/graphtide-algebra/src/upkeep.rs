//! What operators hold, and which of them has something that ends: so that neither is asked of all at every record.
//!
//! Cost: O(log n) an operator that changed, n being the operators that hold something.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphtide_graph::Time;
use graphtide_graph::clock::Present;
use smallvec::SmallVec;

use crate::operator::Operator;
use crate::relation::Relation;

/// Instants that were replaced and may be kept all the same, beside as many as there are operators.
const STALE: usize = 64;

/// What is known of each operator, by number.
#[derive(Debug)]
pub struct Upkeep {
    held: Vec<usize>,
    peaks: Vec<usize>,
    /// When each is to look at what ended, if it has something that ends.
    waits: Vec<Option<Time>>,
    /// Those instants; such as were replaced by earlier ones are passed over.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    live: usize,
    peak: usize,
}

impl Upkeep {
    /// Knows so many operators, which hold nothing.
    pub fn new(operators: usize) -> Self {
        Self {
            held: vec![0; operators],
            peaks: vec![0; operators],
            waits: vec![None; operators],
            due: BinaryHeap::new(),
            live: 0,
            peak: 0,
        }
    }

    /// Takes what became of an operator.
    pub fn note(&mut self, number: usize, operator: &Operator) {
        let held = operator.held();
        self.live = self.live - self.held[number] + held;
        self.held[number] = held;
        self.peaks[number] = self.peaks[number].max(held);
        let next = operator.relation().and_then(Relation::next_look);
        if next != self.waits[number] {
            self.waits[number] = next;
            self.due.extend(next.map(|at| Reverse((at, number))));
            if self.due.len() > 2 * self.waits.len() + STALE {
                let waiting = self.waits.iter().zip(0..).filter_map(|(at, number)| Some(Reverse(((*at)?, number))));
                self.due = waiting.collect();
            }
        }
    }

    /// Counts what is held now among the most that ever was.
    pub fn note_peak(&mut self) {
        self.peak = self.peak.max(self.live);
    }

    /// Operators that are to look at what ended before now, in their order; each is to be noted again.
    pub fn take_due(&mut self, now: Present) -> SmallVec<[usize; 8]> {
        let mut numbers = SmallVec::new();
        while let Some(&Reverse((at, number))) = self.due.peek()
            && now.follows(at)
        {
            self.due.pop();
            if self.waits[number] == Some(at) {
                self.waits[number] = None;
                numbers.push(number);
            }
        }
        numbers.sort_unstable();
        numbers
    }

    /// What an operator holds.
    pub fn held(&self, number: usize) -> usize {
        self.held[number]
    }

    /// What all hold.
    pub fn live(&self) -> usize {
        self.live
    }

    /// The most that all held at once.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// A bound on the most that these operators held at once.
    pub fn peak_of(&self, numbers: &[usize]) -> usize {
        numbers.iter().map(|&number| self.peaks[number]).sum::<usize>().min(self.peak)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.held.capacity() * (2 * size_of::<usize>() + size_of::<Option<Time>>())
            + self.due.capacity() * size_of::<(Time, usize)>()
    }
}

#[cfg(test)]
mod tests {
    use graphtide_graph::vertex::Vertex;

    use super::*;
    use crate::operator::Union;

    fn union() -> Operator {
        Operator::Union(Union { operands: Vec::new(), relation: Relation::new(1) })
    }

    fn raise(upkeep: &mut Upkeep, operator: &mut Operator, vertex: u32, end: Time) {
        if let Some(relation) = operator.relation_mut() {
            relation.raise(&[Vertex(vertex)], end, Present::at(0));
        }
        upkeep.note(0, operator);
    }

    #[test]
    fn operators_are_due_in_time_and_what_ends_sooner_leaves_no_more_behind_than_a_bound() {
        let (mut upkeep, mut operator) = (Upkeep::new(1), union());
        raise(&mut upkeep, &mut operator, 0, 1_000_000);
        for now in 1..10_000 {
            raise(&mut upkeep, &mut operator, 1, now);
            assert!(upkeep.take_due(Present::at(now)).is_empty(), "it lasts to its end");
            assert_eq!(upkeep.take_due(Present::at(now + 1)).as_slice(), [0]);
            operator.expire(Present::at(now + 1), &mut graphtide_graph::vertex::VertexTable::default(), |_| {});
            upkeep.note(0, &operator);
            assert_eq!((upkeep.live(), upkeep.held(0)), (1, 1));
        }
        assert!(upkeep.due.len() <= 2 + STALE);
        assert_eq!(upkeep.take_due(Present::at(1_000_001)).as_slice(), [0]);
    }
}
