//! The values of an object around records: read once, and given to each record in it.

use graphtide_graph::value::{OwnedValue, ValueRef};

use super::paths::{PathFrom, Paths, Step};
use super::tree::PathTree;
use crate::error::RowError;

/// What is read of an object around records.
#[derive(Clone, Debug)]
pub(crate) struct ValuesAround {
    slots: Box<[usize]>,
    /// None if the object cannot be read.
    values: Option<Vec<OwnedValue>>,
}

impl ValuesAround {
    /// The values of these paths.
    pub(crate) fn new(paths: &[PathFrom<'_>]) -> Self {
        Self { slots: paths.iter().map(|(slot, ..)| *slot).collect(), values: paths.is_empty().then(Vec::new) }
    }

    /// Keeps the values of the next object among those of all slots; None if it cannot be read.
    pub(crate) fn keep(&mut self, values: Option<&[ValueRef<'_>]>) {
        self.values = values.map(|values| self.slots.iter().map(|slot| OwnedValue::new(values[*slot])).collect());
    }

    /// Gives the values to the slots of a record.
    pub(crate) fn give<'a>(&'a self, slots: &mut [ValueRef<'a>]) -> Result<(), RowError> {
        let values = self.values.as_ref().ok_or(RowError::Around)?;
        for (slot, value) in self.slots.iter().zip(values) {
            slots[*slot] = value.get();
        }
        Ok(())
    }
}

/// What is read of an object around records, by a tree of its paths.
#[derive(Clone, Debug)]
pub(crate) struct TreeAround {
    pub(crate) tree: PathTree,
    pub(crate) values: ValuesAround,
}

impl TreeAround {
    /// Those of a statement, that of the innermost object first.
    pub(crate) fn all(paths: &Paths) -> Box<[Self]> {
        let of_level = |level| {
            let paths = paths.of_level(level);
            Self { tree: PathTree::new(&paths), values: ValuesAround::new(&paths) }
        };
        (1..=paths.levels_around()).map(of_level).collect()
    }

    /// That of the object from which these steps lead to records, with how far out it is; None if nothing is read of it.
    pub(crate) fn find<'a>(all: &'a mut [Self], steps: &[Step]) -> Option<(usize, &'a mut Self)> {
        let level = steps.iter().filter(|step| matches!(step, Step::Name(_))).count();
        let found = all.get_mut(level.checked_sub(1)?)?;
        (!found.values.slots.is_empty()).then_some((level, found))
    }
}
