//! What a statement reads of a message: the fields on its paths, with the slots of those at their ends.

use super::descriptor::{Descriptor, Field, Kind, Place};
use crate::statement::tree::{PathTree, ROOT};

/// What is read of a field; its value goes to the slots.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) is_repeated: bool,
    pub(super) has_presence: bool,
    /// What is read of it: of a list by positions, of a map by keys; none where it only ends another choice.
    pub(super) reads: Reads,
    /// The other parts of the choice that it is one of.
    pub(super) ends: Box<[usize]>,
}

#[derive(Clone, Debug)]
pub(super) enum Reads {
    Nothing,
    Value(Node),
    Items(Box<[(u32, Node)]>),
    Keys(Box<[(Box<str>, Node)]>),
}

/// A value that is read, or has some in it.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) slots: Box<[usize]>,
    /// Of a message, its plan.
    pub(super) plan: Option<usize>,
}

/// What is read of one message: that of a path, so that there is one in a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// By their numbers.
    pub(super) parts: Box<[Part]>,
}

/// How far a message was read.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The record that it was last seen in.
    pub(super) seen: u64,
    /// Of each part, how many items there were.
    pub(super) counts: Box<[u32]>,
}

/// The plans of a message, which may be a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    pub(super) plans: Vec<Plan>,
    pub(super) states: Vec<State>,
    of_records: Vec<(Place, usize)>,
    /// Slots of timestamps.
    pub(super) moments: Vec<usize>,
    pub(super) records: u64,
}

impl Plans {
    /// What is read of a record that is this message.
    pub(super) fn of_record(&mut self, message: Place, descriptor: &Descriptor, tree: &PathTree) -> usize {
        if let Some((_, plan)) = self.of_records.iter().find(|(known, _)| *known == message) {
            return *plan;
        }
        let plan = self.message(descriptor, message, tree, ROOT);
        self.of_records.push((message, plan));
        plan
    }

    fn message(&mut self, descriptor: &Descriptor, place: Place, tree: &PathTree, branch: usize) -> usize {
        let plan = self.plans.len();
        self.plans.push(Plan::default());
        self.states.push(State::default());
        let fields = descriptor.fields(place);
        let wanted = |field: &Field| tree.at(branch).fields.iter().find(|(name, _)| **name == *field.name).map(|found| found.1);
        // Of a choice all fields are known, because each ends the others.
        let chosen: Vec<u32> = fields.iter().filter(|field| wanted(field).is_some()).filter_map(|field| field.oneof).collect();
        let is_known = |field: &&Field| wanted(field).is_some() || field.oneof.is_some_and(|choice| chosen.contains(&choice));
        let mut known: Vec<&Field> = fields.iter().filter(is_known).collect();
        known.sort_by_key(|field| field.number);
        let mut parts = Vec::new();
        for (place, field) in known.iter().enumerate() {
            let reads = wanted(field).map_or(Reads::Nothing, |branch| self.field(descriptor, field, tree, branch));
            let is_other = |(at, other): &(usize, &&Field)| *at != place && field.oneof.is_some() && other.oneof == field.oneof;
            parts.push(Part {
                number: field.number,
                kind: field.kind.clone(),
                is_repeated: field.is_repeated,
                has_presence: field.has_presence,
                reads,
                ends: known.iter().enumerate().filter(is_other).map(|(at, _)| at).collect(),
            });
        }
        self.states[plan].counts = vec![0; parts.len()].into();
        self.plans[plan].parts = parts.into();
        plan
    }

    fn field(&mut self, descriptor: &Descriptor, field: &Field, tree: &PathTree, branch: usize) -> Reads {
        let below = tree.at(branch);
        match &field.kind {
            Kind::Map(_, values) => {
                let key = |(name, branch): &(Box<str>, usize)| (name.clone(), self.node(descriptor, values, tree, *branch));
                Reads::Keys(below.fields.iter().map(key).collect())
            }
            kind if field.is_repeated => {
                let item = |(place, branch): &(u32, usize)| (*place, self.node(descriptor, kind, tree, *branch));
                Reads::Items(below.items.iter().map(item).collect())
            }
            kind => Reads::Value(self.node(descriptor, kind, tree, branch)),
        }
    }

    fn node(&mut self, descriptor: &Descriptor, kind: &Kind, tree: &PathTree, branch: usize) -> Node {
        let plan = match kind {
            Kind::Message(place) | Kind::Group(place) => Some(self.message(descriptor, *place, tree, branch)),
            _ => None,
        };
        let slots: Box<[usize]> = if plan.is_some() { Box::default() } else { tree.at(branch).slots.clone().into() };
        if *kind == Kind::Timestamp {
            self.moments.extend_from_slice(&slots);
        }
        Node { slots, plan }
    }
}
