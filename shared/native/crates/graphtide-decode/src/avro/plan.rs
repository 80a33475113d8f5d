//! What a statement reads of a schema: the types on its paths, with the slots of those at their ends.

use super::schema::{Kind, Place, Schema};
use crate::statement::tree::{PathTree, ROOT};

/// What is read of a value; what has none is passed over.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Where the value goes.
    pub(crate) slots: Box<[usize]>,
    /// Of a record, what is read of each field; of a union, of each branch.
    pub(crate) parts: Box<[Option<usize>]>,
    /// Of a map, what is read of its values, by their keys.
    pub(crate) keys: Box<[(Box<str>, usize)]>,
    /// Of an array, what is read of its items, by their positions.
    pub(crate) items: Box<[(u32, usize)]>,
    /// Of an array, what is read of its first item with a field that is a text.
    pub(crate) picks: Box<[Pick]>,
}

/// What is read of the first item that has a field with this text.
#[derive(Clone, Debug)]
pub(crate) struct Pick {
    /// The plan that reads the field alone, to a first slot.
    pub(crate) field: usize,
    pub(crate) text: Box<str>,
    pub(crate) plan: usize,
}

/// The plans of a schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    /// Of each type that a record may be, or an object so far around it: its plan.
    of_objects: Vec<(usize, Place, usize)>,
    /// Slots of dates and timestamps.
    moments: Vec<usize>,
}

impl Plans {
    /// A plan.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> &Plan {
        &self.plans[place]
    }

    /// Slots of dates and timestamps in the records so far.
    pub(crate) fn moments(&self) -> &[usize] {
        &self.moments
    }

    /// What is read of an object of this type: a record at level 0, or one so many objects around it.
    pub(crate) fn of_object(&mut self, level: usize, object: Place, schema: &Schema, tree: &PathTree) -> usize {
        if let Some((.., plan)) = self.of_objects.iter().find(|(at, known, _)| (*at, *known) == (level, object)) {
            return *plan;
        }
        let plan = self.make(schema, object, tree, ROOT);
        self.of_objects.push((level, object, plan));
        plan
    }

    /// What is read of the items of an array, if their field of this name is this text.
    fn pick(&mut self, schema: &Schema, items: Place, tree: &PathTree, (field, text, branch): (&str, &str, usize)) -> Pick {
        let known = self.moments.len();
        let field = self.make(schema, items, &PathTree::of_field(field), ROOT);
        // Its slot is not one of the statement.
        self.moments.truncate(known);
        Pick { field, text: text.into(), plan: self.make(schema, items, tree, branch) }
    }

    fn make(&mut self, schema: &Schema, place: Place, tree: &PathTree, branch: usize) -> usize {
        let plan = self.plans.len();
        self.plans.push(Plan::default());
        let below = tree.at(branch);
        let mut made = Plan { slots: below.slots.clone().into(), ..Plan::default() };
        match schema.at(place) {
            Kind::Record(fields) => {
                let part = |(name, place): &(Box<str>, Place)| {
                    let wanted = below.fields.iter().find(|(wanted, _)| wanted == name);
                    wanted.map(|(_, branch)| self.make(schema, *place, tree, *branch))
                };
                made.parts = fields.iter().map(part).collect();
            }
            // A union in a union is none of Avro, and would have no end.
            Kind::Union(branches) => {
                let part = |place: &Place| {
                    (!matches!(schema.at(*place), Kind::Union(_))).then(|| self.make(schema, *place, tree, branch))
                };
                made.parts = branches.iter().map(part).collect();
            }
            Kind::Map(values) => {
                let key = |(name, branch): &(Box<str>, usize)| (name.clone(), self.make(schema, *values, tree, *branch));
                made.keys = below.fields.iter().map(key).collect();
            }
            Kind::Array(items) => {
                let item = |(position, branch): &(u32, usize)| (*position, self.make(schema, *items, tree, *branch));
                made.items = below.items.iter().map(item).collect();
                let picks = below.picks.iter();
                made.picks =
                    picks.map(|(field, text, branch)| self.pick(schema, *items, tree, (field, text, *branch))).collect();
            }
            Kind::Date | Kind::Timestamp { .. } => self.moments.extend_from_slice(&made.slots),
            _ => {}
        }
        self.plans[plan] = made;
        plan
    }
}
