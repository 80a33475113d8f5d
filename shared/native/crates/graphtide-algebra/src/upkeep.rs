//! What operators hold, and which of them has something that ends: so that neither is asked of all at every record.
//!
//! Cost: O(log n) an operator that changed, n being the operators that hold something.

use std::collections::BTreeSet;

use graphtide_graph::Time;

use crate::operator::Operator;
use crate::relation::Relation;

/// What is known of each operator, by number.
#[derive(Debug)]
pub struct Upkeep {
    held: Vec<usize>,
    peaks: Vec<usize>,
    waits: Vec<Option<Time>>,
    due: BTreeSet<(Time, usize)>,
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
            due: BTreeSet::new(),
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
            let before = std::mem::replace(&mut self.waits[number], next);
            before.map(|at| self.due.remove(&(at, number)));
            self.due.extend(next.map(|at| (at, number)));
        }
    }

    /// Counts what is held now among the most that ever was.
    pub fn note_peak(&mut self) {
        self.peak = self.peak.max(self.live);
    }

    /// Operators that are to look at what ended before an instant, in their order; each is to be noted again.
    pub fn take_due(&mut self, now: Time) -> Vec<usize> {
        let mut numbers = Vec::new();
        while let Some(&(at, number)) = self.due.first()
            && at < now
        {
            self.due.pop_first();
            self.waits[number] = None;
            numbers.push(number);
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
            + self.due.len() * size_of::<(Time, usize)>()
    }
}
