//! From a plan to what runs: signatures, buffers, and a program for each slot that an event may fill.

use graphtide_engine::expression::Expression;
use graphtide_graph::symbol::SymbolTable;
use graphtide_graph::{Time, clock};
use smallvec::SmallVec;

use crate::buffers::Buffers;
use crate::count::{Counter, is_countable};
use crate::instances::Instances;
use crate::plan::{AggregateSpec, PlanSpec, Report, VertexSpec, conjuncts, mask_below, moved, places_of};
use crate::program::{Absence, Compiler, Parent, Predicate, Program, Shape, Slot, alike, ones, shared};
use crate::signatures::{SignatureId, Signatures};

/// A sub-pattern, ready to run.
#[derive(Debug)]
pub(crate) struct Vertex {
    pub(crate) shape: Shape,
    pub(crate) aggregates: Vec<AggregateSpec>,
    /// By slot: how instances are found that an arriving event completes.
    pub(crate) arrival: Vec<Program>,
    /// By slot: how instances of any time are found, without those of parents; empty where there are no parents.
    alone: Vec<Program>,
    /// By slot: what the event may fill in children that continue from new instances in which it fills the slot.
    pub(crate) feeds: Vec<Vec<Target>>,
    /// Patterns that it is a branch of, and which.
    pub(crate) patterns: Vec<(u32, u32)>,
    /// By slot: how its instances are counted; empty where they must be listed.
    pub(crate) counters: Vec<Counter>,
    pub(crate) mode: Mode,
}

/// What becomes of instances that match patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Each is emitted at once.
    Emit,
    /// They are counted.
    Tally,
    /// They wait until it is known whether they are matches, or which branch has them.
    Defer,
}

impl Mode {
    /// Of a vertex with these patterns.
    fn of(plan: &PlanSpec, shape: &Shape, patterns: &[(u32, u32)]) -> Self {
        let mut patterns = patterns.iter().map(|&(pattern, _)| &plan.patterns[pattern as usize]);
        if !shape.absences.is_empty()
            || patterns.clone().any(|pattern| pattern.branches.len() > 1 || !pattern.distinct.is_empty())
        {
            Self::Defer
        } else if patterns.clone().all(|pattern| pattern.report == Report::All) {
            Self::Emit
        } else if patterns.all(|pattern| pattern.report == Report::Exists) {
            Self::Tally
        } else {
            Self::Defer
        }
    }
}

impl Vertex {
    /// How instances of any time are found in which an event fills a slot.
    pub(crate) fn alone(&self, slot: u8) -> &Program {
        let programs = if self.alone.is_empty() { &self.arrival } else { &self.alone };
        &programs[usize::from(slot)]
    }
}

/// A slot that an event may fill, with what must have come for the others.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) vertex: u32,
    pub(crate) slot: u8,
    /// Whether others continue from its instances.
    pub(crate) is_inner: bool,
    within: Time,
    /// What the other slots ask for, and whether with the event or later.
    others: SmallVec<[(SignatureId, bool); 3]>,
}

impl Target {
    fn new(vertex: u32, slot: u8, is_inner: bool, shape: &Shape) -> Self {
        let own = &shape.slots[usize::from(slot)];
        let others = shape.slots.iter().zip(0..).filter(|&(_, other)| other != slot);
        let others = others.map(|(other, place)| (other.signature, own.after >> place & 1 == 1)).collect();
        Self { vertex, slot, is_inner, within: shape.within, others }
    }

    /// Whether events have come that may fill the other slots beside one of now.
    #[inline]
    pub(crate) fn is_open(&self, buffers: &Buffers, now: Time) -> bool {
        let from = clock::subtract(now, self.within);
        self.others.iter().all(|&(signature, is_later)| buffers.newest(signature) >= if is_later { now } else { from })
    }
}

/// A plan, ready to run.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) vertices: Vec<Vertex>,
    pub(crate) signatures: Signatures,
    pub(crate) buffers: Buffers,
    pub(crate) instances: Vec<Option<Instances>>,
    /// By signature: what an event fills when it comes. What continues from new instances of a parent is not among them.
    pub(crate) targets: Vec<Vec<Target>>,
    /// By signature: the slots of matches that an event may fill at any time.
    pub(crate) places: Vec<Vec<(u32, u8)>>,
    /// By signature: patterns with timeouts that an event may begin, and their times.
    pub(crate) begins: Vec<Vec<(u32, Time)>>,
}

/// Makes a plan ready. Complexity: O(slots³ + slots² · predicates) a vertex.
pub(crate) fn compile(plan: &PlanSpec, symbols: &mut SymbolTable) -> Compiled {
    let mut signatures = Signatures::default();
    let mut shapes = Vec::new();
    for vertex in &plan.vertices {
        let shape = shape(vertex, &mut signatures, symbols, &shapes);
        shapes.push(shape);
    }
    signatures.seal();
    let patterns = patterns_of(plan);
    let mut counted = Vec::new();
    for (number, shape) in shapes.iter_mut().enumerate() {
        rivals(shape, &signatures);
        let is_counted = only_counts(plan, &patterns[number]) && is_countable(shape);
        if is_counted {
            shape.parents.clear();
        }
        counted.push(is_counted);
    }
    let mut buffers = Buffers::default();
    for (shape, patterns) in shapes.iter().zip(&patterns) {
        let emitted = patterns.iter().map(|&(pattern, _)| plan.patterns[pattern as usize].lookback).max().unwrap_or(0);
        let counts = patterns.iter().any(|&(pattern, _)| plan.patterns[pattern as usize].report == Report::Exists);
        let all = shape.slots.iter().map(|slot| slot.signature).chain(shape.absences.iter().map(|absence| absence.signature));
        all.for_each(|signature| buffers.keep(signature, lookback(shape, counts).max(emitted)));
    }
    let mut instances: Vec<Option<Instances>> = shapes.iter().map(|_| None).collect();
    for parent in shapes.iter().flat_map(|shape| &shape.parents) {
        let of = &shapes[parent.vertex];
        instances[parent.vertex].get_or_insert_with(|| Instances::new(of.slots.len(), of.within));
    }
    let mut vertices: Vec<Vertex> = Vec::new();
    for (((mut shape, spec), patterns), is_counted) in shapes.into_iter().zip(&plan.vertices).zip(patterns).zip(counted) {
        let slots = shape.slots.len() as u8;
        let mut compiler = Compiler { buffers: &mut buffers, instances: &mut instances, uses_parents: true };
        let arrival: Vec<Program> = (0..slots).map(|slot| compiler.program(&mut shape, slot)).collect();
        compiler.uses_parents = false;
        let counters =
            (0..slots).filter(|_| is_counted).filter_map(|slot| Counter::new(&shape, slot, compiler.buffers)).collect();
        let has_parents = !shape.parents.is_empty();
        let alone = (0..slots).filter(|_| has_parents).map(|slot| compiler.program(&mut shape, slot)).collect();
        let number = vertices.len() as u32;
        for (slot, program) in (0..).zip(&arrival) {
            if let Some((rows, _)) = &program.driver {
                let place = rows.slots.iter().position(|&other| other == slot).unwrap_or(0);
                vertices[rows.vertex].feeds[place].push(Target::new(number, slot, true, &shape));
            }
        }
        vertices.push(Vertex {
            mode: Mode::of(plan, &shape, &patterns),
            feeds: vec![Vec::new(); shape.slots.len()],
            aggregates: spec.aggregates.clone(),
            arrival,
            alone,
            patterns,
            counters,
            shape,
        });
    }
    buffers.seal();
    let targets = targets(&vertices, signatures.len());
    let places = places(&vertices, signatures.len());
    let begins = begins(plan, &places, &vertices);
    Compiled { vertices, signatures, buffers, instances, targets, places, begins }
}

/// By vertex: the patterns that it is a branch of.
fn patterns_of(plan: &PlanSpec) -> Vec<Vec<(u32, u32)>> {
    let mut patterns = vec![Vec::new(); plan.vertices.len()];
    for (number, pattern) in (0..).zip(&plan.patterns) {
        for (branch, &vertex) in (0..).zip(&pattern.branches) {
            patterns[vertex as usize].push((number, branch));
        }
    }
    patterns
}

/// Whether nobody asks for more than how many matches an event completes.
fn only_counts(plan: &PlanSpec, patterns: &[(u32, u32)]) -> bool {
    let mut patterns = patterns.iter().map(|&(pattern, _)| &plan.patterns[pattern as usize]);
    patterns.all(|pattern| pattern.report == Report::Exists && pattern.branches.len() == 1 && pattern.distinct.is_empty())
}

fn targets(vertices: &[Vertex], signatures: usize) -> Vec<Vec<Target>> {
    let mut targets = vec![Vec::new(); signatures];
    let is_of_use = |vertex: &Vertex| !vertex.patterns.is_empty() || vertex.feeds.iter().any(|feeds| !feeds.is_empty());
    for (number, vertex) in (0..).zip(vertices).filter(|(_, vertex)| is_of_use(vertex)) {
        for (slot, program) in (0..).zip(&vertex.arrival) {
            if program.driver.is_none() {
                let is_inner = vertex.feeds.iter().any(|feeds| !feeds.is_empty());
                let signature: SignatureId = vertex.shape.slots[usize::from(slot)].signature;
                targets[signature.place()].push(Target::new(number, slot, is_inner, &vertex.shape));
            }
        }
    }
    targets
}

fn twice(within: Time) -> Time {
    within.saturating_mul(2).saturating_add(1)
}

fn places(vertices: &[Vertex], signatures: usize) -> Vec<Vec<(u32, u8)>> {
    let mut places = vec![Vec::new(); signatures];
    for (number, vertex) in (0..).zip(vertices).filter(|(_, vertex)| !vertex.patterns.is_empty()) {
        for (slot, each) in (0..).zip(&vertex.shape.slots) {
            places[each.signature.place()].push((number, slot));
        }
    }
    places
}

fn begins(plan: &PlanSpec, places: &[Vec<(u32, u8)>], vertices: &[Vertex]) -> Vec<Vec<(u32, Time)>> {
    let of_place = |&(number, slot): &(u32, u8)| {
        let vertex = &vertices[number as usize];
        let emitted =
            vertex.patterns.iter().filter(move |&&(pattern, _)| slot == 0 && plan.patterns[pattern as usize].emits_timeouts);
        emitted.map(|&(pattern, _)| (pattern, vertex.shape.within))
    };
    let of_signature = |places: &Vec<(u32, u8)>| {
        let mut begins: Vec<(u32, Time)> = places.iter().flat_map(of_place).collect();
        begins.sort_unstable();
        begins.dedup();
        begins
    };
    places.iter().map(of_signature).collect()
}

/// How long events are of use: the time of the sub-pattern and a tick, since a timeout is reported with the next event. It is
/// twice that time in two cases. What must not come is asked for beyond the first event or the last. Or matches are emitted
/// together, so some of them may be over a whole time before the others.
fn lookback(shape: &Shape, counts: bool) -> Time {
    let beyond = |absence: &Absence| (absence.after == 0 || absence.before == 0) && !absence.is_inner;
    if counts || shape.absences.iter().any(beyond) { twice(shape.within) } else { shape.within.saturating_add(1) }
}

fn shape(vertex: &VertexSpec, signatures: &mut Signatures, symbols: &mut SymbolTable, earlier: &[Shape]) -> Shape {
    let slots = vertex.slots.len();
    let predicates = conjuncts(&vertex.predicates);
    let lists = vertex.slots.iter().enumerate().filter(|(_, slot)| slot.repeat.is_some());
    let lists = lists.fold(0, |lists, (slot, _)| lists | 1 << slot);
    let is_own = |predicate: &&Expression| {
        let is_whole = Predicate::new((*predicate).clone()).reads_whole != 0;
        places_of(predicate).is_power_of_two() && !is_whole
    };
    let mut signature = |place: usize, types: &[String]| {
        let own = predicates.iter().filter(is_own).filter(|predicate| places_of(predicate) == 1 << place);
        let shared = vertex.partition.iter().map(|part| Expression::Not(Box::new(Expression::IsNull(Box::new(part.clone())))));
        let own: Vec<Expression> = own.map(|predicate| moved(predicate, &|_| 0)).chain(shared).collect();
        signatures.add(types, &own, symbols)
    };
    let mut shape_slots: Vec<Slot> = Vec::new();
    for (place, slot) in vertex.slots.iter().enumerate() {
        let related =
            |of: &dyn Fn(&(u8, u8)) -> Option<u8>| vertex.order.iter().filter_map(of).fold(0, |set, slot| set | 1 << slot);
        let place_number = place as u8;
        shape_slots.push(Slot {
            signature: signature(place, &slot.types),
            repeat: slot.repeat,
            before: related(&|pair| (pair.1 == place_number).then_some(pair.0)),
            after: related(&|pair| (pair.0 == place_number).then_some(pair.1)),
            rivals: 0,
        });
    }
    let absences: Vec<(usize, SignatureId)> = vertex
        .absences
        .iter()
        .enumerate()
        .map(|(number, absence)| (number, signature(slots + number, &absence.types)))
        .collect();
    let own_predicates: Vec<Predicate> =
        predicates.iter().filter(|predicate| !is_own(predicate)).cloned().map(Predicate::new).collect();
    let parents = vertex.parents.iter().filter(|parent| earlier[parent.vertex as usize].lists == 0);
    let parents = parents.map(|parent| inherited(parent.vertex as usize, &parent.slots, earlier)).collect();
    let mut shape = Shape {
        slots: shape_slots,
        within: vertex.within,
        own_predicates: own_predicates.len(),
        predicates: own_predicates,
        absences: Vec::new(),
        partition: vertex.partition.clone(),
        alike: alike(&vertex.partition, 0, 1),
        parents,
        lists,
    };
    for (number, signature) in absences {
        let spec = &vertex.absences[number];
        let place = slots + number;
        let reads = shape.predicates.iter().enumerate().filter(|(_, predicate)| predicate.reads >> place & 1 == 1);
        let mut predicates: Vec<usize> = reads.map(|(number, _)| number).collect();
        let other = ones(mask_below(slots) & !lists).next().unwrap_or(0);
        predicates.extend(shared(&mut shape, other, place as u8));
        let set = |slots: &[u8]| slots.iter().fold(0, |set, slot| set | 1 << slot);
        let (after, before, of) = (set(&spec.after), set(&spec.before), set(&spec.of));
        shape.absences.push(Absence { signature, after, before, of, is_inner: spec.is_inner, predicates });
    }
    shape
}

/// What a parent makes sure of, over slots of the child.
fn inherited(vertex: usize, slots: &[u8], earlier: &[Shape]) -> Parent {
    let own = &earlier[vertex];
    let to = |slot: u8| slots.get(usize::from(slot)).copied().unwrap_or(slot);
    let is_of_slots = |predicate: &&Predicate| predicate.reads & !mask_below(slots.len()) == 0;
    let order = own.slots.iter().enumerate();
    Parent {
        vertex,
        slots: slots.to_vec(),
        signatures: own.slots.iter().map(|slot| slot.signature).collect(),
        order: order.flat_map(|(slot, each)| ones(each.after).map(move |after| (to(slot as u8), to(after)))).collect(),
        predicates: own.predicates.iter().filter(is_of_slots).map(|predicate| moved(&predicate.expression, &to)).collect(),
    }
}

fn rivals(shape: &mut Shape, signatures: &Signatures) {
    let own: Vec<SignatureId> = shape.slots.iter().map(|slot| slot.signature).collect();
    for (place, slot) in shape.slots.iter_mut().enumerate() {
        let meets =
            |&(other, id): &(usize, &SignatureId)| other != place && signatures.get(slot.signature).meets(signatures.get(*id));
        slot.rivals = own.iter().enumerate().filter(meets).fold(0, |set, (other, _)| set | 1 << other);
    }
}
