//! How the instances of a sub-pattern are found that have a given event in a given slot.
//!
//! A program binds the slots one after the other. It begins with the event, or with a new instance of a parent. Then it
//! continues with the instances of the other parents, and last with single events, each from its list. What is joined by equal
//! values is looked up by their hashes. Each predicate is evaluated with the step that binds the last of what it reads.

use graphtide_engine::aggregate::is_aggregate;
use graphtide_engine::expression::{Comparison, Expression};
use graphtide_graph::Time;

use crate::buffers::{Buffers, KeyId};
use crate::instances::{Instances, RowKey};
use crate::plan::{RepeatSpec, Selection, mask_below, moved, places_of, single_places_of};
use crate::signatures::SignatureId;

/// A slot of a sub-pattern.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) signature: SignatureId,
    pub(crate) repeat: Option<RepeatSpec>,
    /// Slots that are no later.
    pub(crate) before: u64,
    /// Slots that are no earlier.
    pub(crate) after: u64,
    /// Slots whose events could be this one's.
    pub(crate) rivals: u64,
}

/// A predicate over several slots, or over a list.
#[derive(Debug)]
pub(crate) struct Predicate {
    pub(crate) expression: Expression,
    /// Places that it reads.
    pub(crate) reads: u64,
    pub(crate) steps: u32,
    /// Places whose events it reads one by one.
    pub(crate) reads_singly: u64,
    /// Places of lists that it computes something from.
    pub(crate) reads_whole: u64,
}

/// Events that must not come.
#[derive(Debug)]
pub(crate) struct Absence {
    pub(crate) signature: SignatureId,
    pub(crate) after: u64,
    pub(crate) before: u64,
    pub(crate) of: u64,
    pub(crate) is_inner: bool,
    /// Predicates that relate it to events that come.
    pub(crate) predicates: Vec<usize>,
}

/// A parent whose instances are stored.
#[derive(Debug)]
pub(crate) struct Parent {
    pub(crate) vertex: usize,
    /// Where its slots are.
    pub(crate) slots: Vec<u8>,
    /// What its slots ask for.
    pub(crate) signatures: Vec<SignatureId>,
    /// Pairs of slots of the child in its order.
    pub(crate) order: Vec<(u8, u8)>,
    /// What it has made sure of, over slots of the child.
    pub(crate) predicates: Vec<Expression>,
}

/// A sub-pattern without its programs.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) slots: Vec<Slot>,
    pub(crate) within: Time,
    /// First those of the pattern, then such as the partition gives rise to.
    pub(crate) predicates: Vec<Predicate>,
    /// How many are of the pattern.
    pub(crate) own_predicates: usize,
    pub(crate) absences: Vec<Absence>,
    pub(crate) partition: Vec<Expression>,
    /// That events 0 and 1 share it.
    pub(crate) alike: Vec<Expression>,
    pub(crate) parents: Vec<Parent>,
    /// Slots of lists.
    pub(crate) lists: u64,
}

impl Shape {
    /// Whether a list takes all that follows, so that what it takes depends on when the instance was complete.
    pub(crate) fn takes_runs(&self) -> bool {
        self.slots.iter().any(|slot| slot.repeat.is_some_and(|repeat| repeat.selection == Selection::Next))
    }
}

/// How instances with a given event are found.
#[derive(Debug)]
pub(crate) struct Program {
    /// The parent whose new instances it starts from, and the slot of the event there.
    pub(crate) driver: Option<(Rows, u8)>,
    /// Parents that must have instances.
    pub(crate) needs: Vec<usize>,
    pub(crate) steps: Vec<Step>,
}

/// What binds slots.
#[derive(Debug)]
pub(crate) enum Step {
    Event(EventStep),
    List(EventStep),
    Rows(Rows),
}

/// Binds one slot.
#[derive(Debug)]
pub(crate) struct EventStep {
    pub(crate) slot: u8,
    /// The list to look in, and the values that bound events give.
    pub(crate) key: Option<(KeyId, Vec<Expression>)>,
    pub(crate) checks: Vec<usize>,
    /// Checks of a whole list.
    pub(crate) whole: Vec<usize>,
}

/// Binds the slots of a parent.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) vertex: usize,
    pub(crate) slots: Vec<u8>,
    /// Where to look, and the values that bound events give.
    pub(crate) key: Option<(RowKey, Vec<Expression>)>,
    /// Slots that ask for more than the parent's do.
    pub(crate) narrower: Vec<u8>,
    /// Pairs of slots whose order the parent has not made sure of.
    pub(crate) order: Vec<(u8, u8)>,
    pub(crate) checks: Vec<usize>,
}

/// What makes programs.
pub(crate) struct Compiler<'a> {
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) instances: &'a mut [Option<Instances>],
    pub(crate) uses_parents: bool,
}

/// A program in the making.
struct Draft {
    bound: u64,
    /// The slot of a list where only the first event is bound.
    open: u64,
    done: Vec<bool>,
    used: Vec<bool>,
}

impl Compiler<'_> {
    /// Makes the program that starts from an event in a slot. Complexity: O(slots² · (slots + predicates)).
    pub(crate) fn program(&mut self, shape: &mut Shape, anchor: u8) -> Program {
        let bit = 1 << anchor;
        let mut draft = Draft {
            bound: bit,
            open: bit & shape.lists,
            done: vec![false; shape.own_predicates],
            used: vec![false; shape.parents.len()],
        };
        let driver = self.driver(shape, anchor).map(|number| {
            draft.bound = 0;
            (self.rows(shape, number, &mut draft), anchor)
        });
        let mut steps = Vec::new();
        while self.uses_parents
            && let Some(number) = Self::next_parent(shape, &draft)
        {
            steps.push(Step::Rows(self.rows(shape, number, &mut draft)));
        }
        while let Some(slot) = Self::next_slot(shape, draft.bound) {
            let is_list = shape.lists >> slot & 1 == 1;
            if is_list && draft.open != 0 {
                steps.push(Step::List(self.event(shape, anchor, &mut draft)));
            }
            let step = self.event(shape, slot, &mut draft);
            steps.push(if is_list { Step::List(step) } else { Step::Event(step) });
        }
        if draft.open != 0 {
            steps.push(Step::List(self.event(shape, anchor, &mut draft)));
        }
        let needs_parents = self.uses_parents && driver.is_none();
        let needs = shape.parents.iter().filter(|_| needs_parents).map(|parent| parent.vertex).collect();
        Program { driver, needs, steps }
    }

    /// The first parent that has a slot.
    fn driver(&self, shape: &Shape, slot: u8) -> Option<usize> {
        shape.parents.iter().position(|parent| self.uses_parents && parent.slots.contains(&slot))
    }

    /// The parent that shares most with what is bound, of those that bind something more.
    fn next_parent(shape: &Shape, draft: &Draft) -> Option<usize> {
        let mask = |number: usize| shape.parents[number].slots.iter().fold(0_u64, |mask, slot| mask | 1 << slot);
        let open = (0..shape.parents.len()).filter(|&number| !draft.used[number] && mask(number) & !draft.bound != 0);
        open.min_by_key(|&number| std::cmp::Reverse((mask(number) & draft.bound).count_ones()))
    }

    /// The slot to bind next: lists last, those joined by equal values first, then what lies next to what is bound.
    fn next_slot(shape: &Shape, bound: u64) -> Option<u8> {
        let open = (0..shape.slots.len() as u8).filter(|slot| bound >> slot & 1 == 0);
        open.min_by_key(|&slot| {
            let own = &shape.slots[usize::from(slot)];
            let is_joined = !shape.partition.is_empty() || !equalities(shape, 1 << slot, bound).is_empty();
            let between = shape.slots.iter().enumerate().filter(|&(other, each)| {
                let is_open = bound >> other & 1 == 0 && other != usize::from(slot);
                let is_after = own.after >> other & 1 == 1 && each.after & bound != 0;
                let is_before = own.before >> other & 1 == 1 && each.before & bound != 0;
                is_open && (is_after || is_before)
            });
            let is_far = (own.before | own.after) & bound == 0;
            (own.repeat.is_some(), !is_joined, is_far, between.count())
        })
    }

    fn event(&mut self, shape: &mut Shape, slot: u8, draft: &mut Draft) -> EventStep {
        let bit = 1 << slot;
        let before = draft.bound & !bit;
        let mut joins = joins(shape, bit, before);
        if draft.open == bit && before & !shape.lists == 0 {
            // The events of the list share with the one it begins with.
            joins.extend(shape.partition.iter().map(|part| (moved(part, &|_| slot), moved(part, &|_| slot))));
        }
        let (own, given): (Vec<_>, Vec<_>) = joins.into_iter().unzip();
        let key = (!own.is_empty()).then(|| {
            let own: Vec<Expression> = own.iter().map(|side| moved(side, &|_| 0)).collect();
            (self.buffers.join(shape.slots[usize::from(slot)].signature, &own), given)
        });
        if draft.open == bit {
            draft.reopen(shape);
        }
        draft.bound |= bit;
        let mut checks = draft.due(shape);
        if let Some(other) = lowest(before & !shape.lists) {
            checks.extend(shared(shape, other, slot));
        } else if let Some(other) = lowest(before) {
            checks.extend(shared(shape, other, slot));
        }
        let (whole, checks) = checks.into_iter().partition(|&check| shape.predicates[check].reads_whole & bit != 0);
        EventStep { slot, key, checks, whole }
    }

    fn rows(&mut self, shape: &mut Shape, number: usize, draft: &mut Draft) -> Rows {
        draft.used[number] = true;
        let slots = shape.parents[number].slots.clone();
        let vertex = shape.parents[number].vertex;
        let before = draft.bound;
        let new = slots.iter().fold(0_u64, |mask, slot| mask | 1 << slot) & !before;
        let (own, given): (Vec<_>, Vec<_>) = joins(shape, new, before).into_iter().unzip();
        let place = |slot: u8| slots.iter().position(|&other| other == slot).unwrap_or(0) as u8;
        let own: Vec<Expression> = own.iter().map(|side| moved(side, &place)).collect();
        let key = self.instances[vertex].as_mut().filter(|_| !own.is_empty()).map(|rows| (rows.join(&own), given));
        draft.bound |= new;
        let parent = &shape.parents[number];
        for (done, predicate) in draft.done.iter_mut().zip(&shape.predicates) {
            *done |= parent.predicates.contains(&predicate.expression);
        }
        let mut narrower = Vec::new();
        for (&slot, &signature) in slots.iter().zip(&parent.signatures) {
            if shape.slots[usize::from(slot)].signature != signature && new >> slot & 1 == 1 {
                narrower.push(slot);
            }
        }
        let pairs = |slot: u8| ones(shape.slots[usize::from(slot)].after & draft.bound).map(move |after| (slot, after));
        let all = ones(draft.bound).flat_map(pairs);
        let order = all.filter(|pair| (new >> pair.0 | new >> pair.1) & 1 == 1 && !parent.order.contains(pair)).collect();
        let mut checks = draft.due(shape);
        let first = lowest(before).or_else(|| lowest(new));
        for slot in ones(new).filter(|&slot| Some(slot) != first) {
            checks.extend(first.into_iter().flat_map(|other| shared(shape, other, slot)));
        }
        Rows { vertex, slots, key, narrower, order, checks }
    }
}

impl Draft {
    /// Lets what reads the open list be evaluated again, for all of its events.
    fn reopen(&mut self, shape: &Shape) {
        for (done, predicate) in self.done.iter_mut().zip(&shape.predicates) {
            *done &= predicate.reads & self.open == 0;
        }
        self.open = 0;
    }

    /// The predicates that can be evaluated and were not.
    fn due(&mut self, shape: &Shape) -> Vec<usize> {
        let places = mask_below(shape.slots.len());
        let mut due = Vec::new();
        for (number, predicate) in shape.predicates[..shape.own_predicates].iter().enumerate() {
            let is_ready = predicate.reads & !self.bound == 0 && predicate.reads & !places == 0;
            let is_open = predicate.reads_whole != 0 && predicate.reads & self.open != 0;
            if is_ready && !is_open && !self.done[number] {
                self.done[number] = true;
                due.push(number);
            }
        }
        due
    }
}

/// The numbers of the ones of a set, ascending.
pub(crate) fn ones(mut set: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let lowest = lowest(set)?;
        set &= set - 1;
        Some(lowest)
    })
}

fn lowest(set: u64) -> Option<u8> {
    (set != 0).then(|| set.trailing_zeros() as u8)
}

/// What must be equal of new places (first) and of bound ones: partition and predicates.
fn joins(shape: &Shape, new: u64, bound: u64) -> Vec<(Expression, Expression)> {
    let mut joins = equalities(shape, new, bound & !shape.lists);
    if let (Some(slot), Some(other)) = (lowest(new), lowest(bound & !shape.lists)) {
        joins.extend(shape.partition.iter().map(|part| (moved(part, &|_| slot), moved(part, &|_| other))));
    }
    joins
}

/// What predicates ask to be equal of new places (first) and of bound ones.
pub(crate) fn equalities(shape: &Shape, new: u64, bound: u64) -> Vec<(Expression, Expression)> {
    let is_in = |side: &Expression, set: u64| places_of(side) != 0 && places_of(side) & !set == 0;
    let sides = |predicate: &Predicate| {
        let (Expression::Compare(Comparison::Equal, operands) | Expression::CompareComputed(Comparison::Equal, operands)) =
            &predicate.expression
        else {
            return None;
        };
        let (left, right) = &**operands;
        if predicate.reads_whole != 0 {
            None
        } else if is_in(left, new) && is_in(right, bound) {
            Some((left.clone(), right.clone()))
        } else {
            (is_in(right, new) && is_in(left, bound)).then(|| (right.clone(), left.clone()))
        }
    };
    shape.predicates[..shape.own_predicates].iter().filter_map(sides).collect()
}

/// The predicates that two slots share what the partition names.
pub(crate) fn shared(shape: &mut Shape, one: u8, other: u8) -> Vec<usize> {
    let number = |expression: Expression| {
        let known = shape.predicates.iter().position(|predicate| predicate.expression == expression);
        known.unwrap_or_else(|| {
            shape.predicates.push(Predicate::new(expression));
            shape.predicates.len() - 1
        })
    };
    let alike = alike(&shape.partition, one, other);
    alike.into_iter().map(number).collect()
}

/// That two places share what a partition names.
pub(crate) fn alike(partition: &[Expression], one: u8, other: u8) -> Vec<Expression> {
    let sides = |part| Box::new((moved(part, &|_| one), moved(part, &|_| other)));
    partition.iter().map(|part| Expression::Compare(Comparison::Equal, sides(part))).collect()
}

impl Predicate {
    pub(crate) fn new(expression: Expression) -> Self {
        let mut reads_whole = 0;
        expression.clone().attributes(&mut |place, column| reads_whole |= u64::from(is_aggregate(*column)) << place);
        let (reads, reads_singly) = (places_of(&expression), single_places_of(&expression));
        Self { reads, reads_singly, reads_whole, steps: expression.steps(), expression }
    }
}
