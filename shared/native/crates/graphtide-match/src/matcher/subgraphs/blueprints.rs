//! What units were made from, so that equal patterns are found.
//!
//! Cost: O(size of the pattern) to note one and to find its like.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_graph::Time;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::plan::PatternSpec;

/// What units were made from, and what became free.
#[derive(Debug, Default)]
pub struct Blueprints {
    /// By unit, without names; none where it is vacant.
    specs: Vec<Option<PatternSpec>>,
    /// Units by what they were made from.
    units: HashTable<UnitId>,
    /// Numbers of units that were removed.
    pub vacant: Vec<UnitId>,
    /// Signatures that nobody has any more, with the time at which they were given up.
    pub retired: VecDeque<(Time, SignatureId)>,
}

impl Blueprints {
    /// Notes what a unit was made from; of equal ones the first is found.
    pub fn put(&mut self, number: UnitId, spec: &PatternSpec) {
        self.remove(number);
        self.specs.resize_with(self.specs.len().max(number.place() + 1), || None);
        let spec = spec.anonymous();
        if self.find(&spec).is_none() {
            let specs = &self.specs;
            self.units.insert_unique(key(&spec), number, |unit| specs[unit.place()].as_ref().map_or(0, key));
        }
        self.specs[number.place()] = Some(spec);
    }

    /// What a unit was made from.
    pub fn of(&self, number: UnitId) -> Option<&PatternSpec> {
        self.specs.get(number.place()).and_then(Option::as_ref)
    }

    /// The unit that was made from the same, names apart.
    pub fn find(&self, anonymous: &PatternSpec) -> Option<UnitId> {
        self.units.find(key(anonymous), |&unit| self.of(unit) == Some(anonymous)).copied()
    }

    /// Forgets what a unit was made from.
    pub fn remove(&mut self, number: UnitId) {
        let Some(spec) = self.specs.get_mut(number.place()).and_then(Option::take) else { return };
        if let Ok(entry) = self.units.find_entry(key(&spec), |&unit| unit == number) {
            entry.remove();
        }
    }
}

/// A number that is equal for equal patterns.
fn key(anonymous: &PatternSpec) -> u64 {
    FxBuildHasher.hash_one(format!("{anonymous:?}"))
}
