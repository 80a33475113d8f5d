//! PATTERN: tuples of several relations that agree in their variables, by delta joins over hash indexes.
//!
//! A tuple that changed is joined with what the other parts have, part by part. Next comes the part that has the fewest tuples
//! for what is bound by then. So a cycle is closed by a look-up instead of being walked open. A result ends when the first of
//! its tuples does, and what is projected to the same columns is one result, which ends last. Joins of two parts after each
//! other make the tree of symmetric hash joins of the paper. A join of all parts keeps no rows between. Where tuples were
//! shortened, the results that may have rested on them are looked up as they were. They are derived again from what is left:
//! with their columns bound, as any join.
//! Cost: for each change, the partial results that contain it.
//! Reference: section 6.2.2 [PACACI22]; Ngo and others, "Skew strikes back" (2014), for the order of parts.

use graphtide_engine::expression::{Bindings, Expression, Operand};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_graph::Time;
use graphtide_graph::clock::{self, Present};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::vertex::{Vertex, VertexTable};
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::operator::Operands;
use crate::plan::JoinSpec;
use crate::relation::{ENDED, Relation, Tuple, Values, View};

/// A part of a join.
#[derive(Debug)]
struct Part {
    /// Number of the operator.
    operand: usize,
    /// The variable of each column.
    slots: SmallVec<[u8; 2]>,
    /// Indexes of the operand that may serve: their variables, columns and numbers; those of most variables first.
    indexes: Vec<Access>,
}

#[derive(Debug)]
struct Access {
    set: u64,
    columns: SmallVec<[u8; 2]>,
    index: usize,
}

/// A PATTERN with its results.
#[derive(Debug)]
pub struct Join {
    parts: Vec<Part>,
    slots: usize,
    constants: Vec<(u8, Box<str>)>,
    columns: SmallVec<[u8; 2]>,
    conditions: Vec<Expression>,
    /// What it gives.
    pub relation: Relation,
}

/// A join under way: what is bound, and what came of it.
struct Run<'a> {
    join: &'a Join,
    operands: Operands<'a>,
    names: &'a VertexTable,
    now: Present,
    view: View,
    /// A result that ends no later than this is of no interest.
    floor: Time,
    /// Whether it may be ended before it is done.
    may_end: bool,
    binding: Vec<Vertex>,
}

impl Join {
    /// Makes a join ready; `index_on` asks an operand for an index.
    pub fn new(spec: &JoinSpec, mut index_on: impl FnMut(usize, &[u8]) -> usize) -> Self {
        let set = |slots: &[u8]| slots.iter().fold(0_u64, |set, slot| set | 1 << slot);
        let constants = spec.constants.iter().fold(0_u64, |set, (slot, _)| set | 1 << slot);
        let returned = set(&spec.columns);
        let parts = spec.parts.iter().map(|part| {
            // What may be bound before it: what another part binds, constants, and for results that are looked up their
            // columns.
            let others = spec.parts.iter().map(|other| set(&other.slots)).chain([constants, returned]);
            let mut sets: Vec<u64> = others.map(|other| other & set(&part.slots)).collect();
            sets.extend(part.slots.iter().map(|&slot| 1 << slot));
            sets.sort_unstable_by_key(|set| (std::cmp::Reverse(set.count_ones()), *set));
            sets.dedup();
            sets.retain(|&set| set != 0);
            let indexes = sets.into_iter().map(|set| {
                // Of columns that have one variable the first is enough; the others are compared.
                let mut columns: SmallVec<[u8; 2]> = SmallVec::new();
                let mut left = set;
                for (column, &slot) in (0..).zip(&part.slots) {
                    if left >> slot & 1 == 1 {
                        left &= !(1 << slot);
                        columns.push(column);
                    }
                }
                let index = index_on(part.operand, &columns);
                Access { set, columns, index }
            });
            Part { operand: part.operand, slots: part.slots.as_slice().into(), indexes: indexes.collect() }
        });
        Self {
            parts: parts.collect(),
            slots: spec.slots,
            constants: spec.constants.iter().map(|(slot, key)| (*slot, key.as_str().into())).collect(),
            columns: spec.columns.as_slice().into(),
            conditions: spec.conditions.clone(),
            relation: Relation::new(spec.columns.len()),
        }
    }

    /// Numbers of its operands.
    pub fn operands(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().map(|part| part.operand)
    }

    /// The indexes that it reads: the operand, and the number of the index there.
    pub fn indexes(&self) -> impl Iterator<Item = (usize, usize)> {
        self.parts.iter().flat_map(|part| part.indexes.iter().map(|access| (part.operand, access.index)))
    }

    /// Takes what a record added to its operands.
    pub fn rise(&mut self, operands: Operands<'_>, names: &VertexTable, now: Present, meter: &mut Meter<'_>) {
        /// Bytes of a row until it is put among the results.
        const ROW: usize = size_of::<(Values, Time)>();
        let mut found: Vec<(Values, Time)> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let operand = operands.get(part.operand);
            for &tuple in operand.changed() {
                let Some(mut run) = self.start(operands, names, now) else { return };
                run.floor = operand.before(tuple).max(now.floor());
                let left = run.all() & !(1 << number);
                if let Some((bound, end)) = run.bind(number, tuple, run.constants(), Time::MAX) {
                    run.extend(left, bound, end, meter, &mut |run, end, meter| {
                        if meter.keep(ROW) {
                            found.push((run.row(), end));
                        }
                    });
                }
            }
        }
        let tuple = self.relation.tuple_bytes();
        for (row, end) in found {
            let before = self.relation.len();
            self.relation.raise(&row, end, now);
            // It takes the place of the row.
            meter.release(ROW);
            if !meter.keep((self.relation.len() - before) * tuple) {
                break;
            }
        }
    }

    /// Takes what a record took from its operands.
    pub fn invalidate(&mut self, operands: Operands<'_>, names: &VertexTable, now: Present, meter: &mut Meter<'_>) {
        let mut unchecked: HashSet<Tuple, FxBuildHasher> = HashSet::default();
        for (number, part) in self.parts.iter().enumerate() {
            let operand = operands.get(part.operand);
            for &tuple in operand.changed() {
                let Some(mut run) = self.start(operands, names, now) else { return };
                (run.view, run.may_end) = (View::Before, false);
                // What ended as soon as the tuple does now has lost nothing.
                run.floor = operand.end(tuple).max(now.floor());
                let left = run.all() & !(1 << number);
                if let Some((bound, end)) = run.bind(number, tuple, run.constants(), Time::MAX) {
                    run.extend(left, bound, end, meter, &mut |run, end, _| {
                        if let Some(result) = run.join.relation.find(&run.row())
                            && run.join.relation.end(result) <= end
                        {
                            unchecked.insert(result);
                        }
                    });
                }
            }
        }
        let mut lowered: Vec<(Tuple, Time)> = Vec::new();
        for result in unchecked {
            let Some(mut run) = self.start(operands, names, now) else { return };
            run.may_end = false;
            let mut bound = run.constants();
            for (&slot, &vertex) in self.columns.iter().zip(self.relation.get(result)) {
                run.binding[usize::from(slot)] = vertex;
                bound |= 1 << slot;
            }
            let mut best = ENDED;
            run.extend(run.all(), bound, Time::MAX, meter, &mut |run, end, _| {
                best = best.max(end);
                run.floor = run.floor.max(end);
            });
            if best < self.relation.end(result) {
                lowered.push((result, best));
            }
        }
        // In the order of their numbers, so that the output does not depend on how sets are kept.
        lowered.sort_unstable();
        for (result, end) in lowered {
            self.relation.lower(result, end, now);
        }
    }

    /// What its variables are in some derivation of a result that lasts until `end`.
    pub fn witness(
        &self,
        operands: Operands<'_>,
        names: &VertexTable,
        now: Present,
        values: &[Vertex],
        end: Time,
    ) -> Option<Vec<Vertex>> {
        let mut run = self.start(operands, names, now)?;
        run.floor = clock::subtract(end, 1).max(now.floor());
        let mut bound = run.constants();
        for (&slot, &vertex) in self.columns.iter().zip(values) {
            run.binding[usize::from(slot)] = vertex;
            bound |= 1 << slot;
        }
        let mut found = None;
        run.extend(run.all(), bound, Time::MAX, &mut Meter::unbounded(&Unhurried), &mut |run, _, _| {
            found.get_or_insert_with(|| run.binding.clone());
            // One is enough: nothing lasts longer than this.
            run.floor = Time::MAX;
        });
        found
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.relation.bytes()
    }

    /// Begins a run; none where a constant is not a vertex that is there.
    fn start<'a>(&'a self, operands: Operands<'a>, names: &'a VertexTable, now: Present) -> Option<Run<'a>> {
        let mut binding = vec![Vertex::NONE; self.slots];
        for (slot, key) in &self.constants {
            binding[usize::from(*slot)] = names.find(KeyRef::parse(key))?;
        }
        Some(Run { join: self, operands, names, now, view: View::Now, floor: now.floor(), may_end: true, binding })
    }
}

impl<'a> Run<'a> {
    /// All parts, as a set.
    fn all(&self) -> u64 {
        u64::MAX >> (64 - self.join.parts.len())
    }

    /// Variables that are known vertices, as a set.
    fn constants(&self) -> u64 {
        self.join.constants.iter().fold(0, |set, (slot, _)| set | 1 << slot)
    }

    /// The result.
    fn row(&self) -> Values {
        self.join.columns.iter().map(|&slot| self.binding[usize::from(slot)]).collect()
    }

    /// Binds the variables of a part to a tuple; returns what is bound then, and when the result ends at the latest.
    #[inline]
    fn bind(&mut self, part: usize, tuple: Tuple, mut bound: u64, end: Time) -> Option<(u64, Time)> {
        let part = &self.join.parts[part];
        let relation = self.operands.get(part.operand);
        let end = end.min(relation.end_in(tuple, self.view));
        if end <= self.floor {
            return None;
        }
        for (&slot, &vertex) in part.slots.iter().zip(relation.get(tuple)) {
            if bound >> slot & 1 == 1 {
                if self.binding[usize::from(slot)] != vertex {
                    return None;
                }
            } else {
                self.binding[usize::from(slot)] = vertex;
                bound |= 1 << slot;
            }
        }
        Some((bound, end))
    }

    /// Joins the parts that are left, and calls `f` for each result that ends after the floor.
    fn extend(
        &mut self,
        left: u64,
        bound: u64,
        end: Time,
        meter: &mut Meter<'_>,
        f: &mut impl FnMut(&mut Self, Time, &mut Meter<'_>),
    ) {
        if left == 0 {
            if self.now.precedes(end) && self.join.conditions.iter().all(|condition| condition.holds(self)) {
                f(self, end, meter);
            }
            return;
        }
        let Some((part, tuples)) = self.next(left, bound) else { return };
        for &tuple in tuples {
            // What was taken away cannot be taken half.
            if self.may_end {
                if !meter.step() {
                    return;
                }
            } else {
                meter.tick(1);
            }
            if let Some((bound, end)) = self.bind(part, tuple, bound, end) {
                self.extend(left & !(1 << part), bound, end, meter, f);
            }
        }
    }

    /// The part that has the fewest tuples for what is bound, with these.
    fn next(&self, left: u64, bound: u64) -> Option<(usize, &'a [Tuple])> {
        let (join, operands): (&'a Join, Operands<'a>) = (self.join, self.operands);
        let mut best: Option<(usize, &'a [Tuple])> = None;
        let mut parts = left;
        while parts != 0 {
            let number = parts.trailing_zeros() as usize;
            parts &= parts - 1;
            let part = &join.parts[number];
            let Some(access) = part.indexes.iter().find(|access| access.set & !bound == 0) else { continue };
            let values: Values =
                access.columns.iter().map(|&column| self.binding[usize::from(part.slots[usize::from(column)])]).collect();
            let tuples = operands.get(part.operand).matching(access.index, &values);
            if best.is_none_or(|(_, fewest)| tuples.len() < fewest.len()) {
                best = Some((number, tuples));
            }
            if tuples.is_empty() {
                break;
            }
        }
        best
    }
}

impl Bindings for Run<'_> {
    fn attribute(&self, _: u8, _: u16) -> Operand<'_> {
        Operand::Null
    }

    fn ts(&self, _: u8) -> i64 {
        self.now.ts()
    }

    fn id(&self, _: u8) -> IdRef<'_> {
        IdRef::Made(0)
    }

    fn vertex(&self, vertex: u8) -> KeyRef<'_> {
        self.names.name(self.binding[usize::from(vertex)])
    }
}
