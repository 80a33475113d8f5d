//! The paths of a statement as a tree: what is read below each step.

use super::paths::{PathFrom, Role, Step};

/// What stands at the end of steps that some path has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    /// Of an object, its fields that are read, or lead to what is.
    pub(crate) fields: Vec<(Box<str>, usize)>,
    /// Of a list, its items, by their positions.
    pub(crate) items: Vec<(u32, usize)>,
    /// Of a list, its first item whose field of this name is this text.
    pub(crate) picks: Vec<(Box<str>, Box<str>, usize)>,
    /// Where the value goes.
    pub(crate) slots: Vec<usize>,
}

/// The tree; its root is the record.
#[derive(Clone, Debug)]
pub(crate) struct PathTree(Vec<Branch>);

/// The place of a record.
pub(crate) const ROOT: usize = 0;

impl PathTree {
    /// Makes the tree of these paths.
    pub(crate) fn new(paths: &[PathFrom<'_>]) -> Self {
        let mut made = Self(vec![Branch::default()]);
        for (slot, steps, _) in paths {
            let end = steps.iter().fold(ROOT, |branch, step| made.below(branch, step));
            made.0[end].slots.push(*slot);
        }
        made
    }

    /// The tree of one field, whose value goes to the first slot.
    pub(crate) fn of_field(name: &str) -> Self {
        Self::new(&[(0, &[Step::Name(name.into())], Role::Value)])
    }

    /// A branch.
    pub(crate) fn at(&self, place: usize) -> &Branch {
        &self.0[place]
    }

    fn below(&mut self, branch: usize, step: &Step) -> usize {
        let known = match step {
            Step::Name(name) => self.0[branch].fields.iter().find(|(known, _)| known == name).map(|found| found.1),
            Step::Position(place) => self.0[branch].items.iter().find(|(known, _)| known == place).map(|found| found.1),
            Step::Item(field, text) => {
                let is_same = |pick: &&(Box<str>, Box<str>, usize)| (&pick.0, &pick.1) == (field, text);
                self.0[branch].picks.iter().find(is_same).map(|found| found.2)
            }
            // Paths begin behind it.
            Step::Outer => None,
        };
        known.unwrap_or_else(|| {
            let child = self.0.len();
            self.0.push(Branch::default());
            match step {
                Step::Name(name) => self.0[branch].fields.push((name.clone(), child)),
                Step::Position(place) => self.0[branch].items.push((*place, child)),
                Step::Item(field, text) => self.0[branch].picks.push((field.clone(), text.clone(), child)),
                Step::Outer => {}
            }
            child
        })
    }
}
