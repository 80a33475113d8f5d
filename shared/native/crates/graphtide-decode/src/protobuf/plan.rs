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
    Items(Items),
    Keys(Box<[(Box<str>, Node)]>),
}

/// What is read of a list.
#[derive(Clone, Debug)]
pub(super) struct Items {
    /// By their positions.
    pub(super) at: Box<[(u32, Node)]>,
    /// Of the first with a field that is a text.
    pub(super) picks: Box<[Pick]>,
}

/// What is read of the first item that has a field with this text.
#[derive(Clone, Debug)]
pub(super) struct Pick {
    /// Reads the field alone, to a first slot.
    pub(super) field: Node,
    pub(super) text: Box<str>,
    pub(super) node: Node,
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
    /// Of each part, for each of its picks, whether an item met it.
    pub(super) found: Box<[Box<[bool]>]>,
}

/// The plans of a message, which may be a record.
#[derive(Clone, Debug, Default)]
pub(super) struct Plans {
    pub(super) plans: Vec<Plan>,
    pub(super) states: Vec<State>,
    of_objects: Vec<(usize, Place, usize)>,
    /// Slots of timestamps.
    pub(super) moments: Vec<usize>,
    pub(super) records: u64,
}

impl Plans {
    /// What is read of an object that is this message: a record at level 0, or one so many objects around it.
    pub(super) fn of_object(&mut self, level: usize, message: Place, descriptor: &Descriptor, tree: &PathTree) -> usize {
        if let Some((.., plan)) = self.of_objects.iter().find(|(at, known, _)| (*at, *known) == (level, message)) {
            return *plan;
        }
        let plan = self.message(descriptor, message, tree, ROOT);
        self.of_objects.push((level, message, plan));
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
        let picks = |part: &Part| if let Reads::Items(items) = &part.reads { items.picks.len() } else { 0 };
        self.states[plan].counts = vec![0; parts.len()].into();
        self.states[plan].found = parts.iter().map(|part| vec![false; picks(part)].into()).collect();
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
                let at = below.items.iter().map(item).collect();
                let picks = below.picks.iter();
                let picks = picks.map(|(field, text, branch)| self.pick(descriptor, kind, tree, (field, text, *branch)));
                Reads::Items(Items { at, picks: picks.collect() })
            }
            kind => Reads::Value(self.node(descriptor, kind, tree, branch)),
        }
    }

    /// What is read of the items of a list, if their field of this name is this text.
    fn pick(
        &mut self,
        descriptor: &Descriptor,
        kind: &Kind,
        tree: &PathTree,
        (field, text, branch): (&str, &str, usize),
    ) -> Pick {
        let known = self.moments.len();
        let field = self.node(descriptor, kind, &PathTree::of_field(field), ROOT);
        // Its slot is not one of the statement.
        self.moments.truncate(known);
        Pick { field, text: text.into(), node: self.node(descriptor, kind, tree, branch) }
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
