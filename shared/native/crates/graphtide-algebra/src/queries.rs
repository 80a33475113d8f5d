//! Streaming graph queries over records in order: the operators that they share, the edges that these know, and the output of
//! each.
//!
//! An edge goes to the scans that ask for its label, and from there through the operators that read what changed, each after
//! its operands. Its changes are emitted with it. Ended state is dropped when time is past it.
//! Cost: a look-up of the label a record that nobody asks for; else what the operators do that it changes, however many there
//! are.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::hash::BuildHasher;

use graphtide_engine::dispatch::Record;
use graphtide_engine::engine::Usage;
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_engine::output::Kind;
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::clock::{self, Present};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::vertex::{Vertex, VertexTable};
use hashbrown::{HashMap, HashSet, HashTable};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::answers::{Answer, Changed};
use crate::grid::Grid;
use crate::join::Join;
use crate::operator::{Direction, Operands, Operator, Union};
use crate::path::{AnyPath, Walked};
use crate::plan::{InvalidPlan, OperatorSpec, OutputSpec, PlanSpec};
use crate::relation::Relation;
use crate::scan::{Scan, Window};
use crate::sharing::SharedPlan;
use crate::upkeep::Upkeep;

/// What queries are to be ready for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Edges may be deleted.
    pub deletions: bool,
    /// Tuples and chunks of paths that they may hold; an edge that comes beyond is not taken.
    pub most: Option<usize>,
}

/// What a record may take.
#[derive(Clone, Copy, Debug)]
pub struct Lent {
    /// Steps of work.
    pub steps: u64,
    /// Bytes that an edge may come to hold; one that may hold none is not taken.
    pub bytes: u64,
}

impl Lent {
    /// As much as there is.
    pub const ALL: Self = Self { steps: u64::MAX, bytes: u64::MAX };
}

/// Bytes that an edge takes itself, about: in its scan, and where edges are kept.
const EDGE_BYTES: usize = 128;

/// What came of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether what follows may depend on it.
    pub is_kept: bool,
    /// Why its work was cut, so that results may lack.
    pub refusal: Option<Refusal>,
    /// Whether it was not taken, since the queries hold as much as they may.
    pub is_limited: bool,
    /// Bytes that they came to hold by it, about; what they gave up meanwhile does not count.
    pub held: u64,
}

/// Numbers of scans.
type Scans = SmallVec<[u32; 2]>;

/// An edge as its scans know it: their numbers, with the stream that they read it from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Class {
    stream: Symbol,
    scans: Scans,
}

/// A query among those that share operators.
#[derive(Debug)]
struct Member {
    /// By its own number of an operator: that of the operator here.
    operators: Vec<usize>,
    /// Whether it was not removed.
    is_there: bool,
    /// Up to when records came that brought something about for it.
    emitted_at: Time,
    /// Records of that instant that brought something about for it.
    records_at: u32,
}

/// The output of an operator's tuples.
#[derive(Debug)]
struct Output {
    member: u32,
    /// Its number among those of the query.
    number: u32,
    spec: OutputSpec,
}

/// Queries that share operators.
#[derive(Debug)]
pub struct Queries {
    windows: Vec<Window>,
    operators: Vec<Operator>,
    members: Vec<Member>,
    /// The output of each operator's tuples.
    outputs: Vec<Vec<Output>>,
    options: Options,
    symbols: SharedSymbols,
    texts: Vec<Box<str>>,
    names: VertexTable,
    /// By label: the scans that ask for it.
    by_label: Vec<Scans>,
    /// The scans that ask for every label.
    of_any_label: Scans,
    /// Operators whose tuples are symbols of paths, with those paths.
    walked: Vec<Vec<usize>>,
    /// The operators that read each.
    readers: Vec<Vec<usize>>,
    /// Edges that are alive, if they may be deleted or reported; the class of each is the scans that have it.
    store: Option<EdgeStore>,
    classes: Vec<Class>,
    by_class: HashMap<Class, u32, FxBuildHasher>,
    /// Of each stream: edges by their ids.
    by_id: HashTable<EdgeRef>,
    longest: i64,
    /// The instant of the last record.
    now: Present,
    upkeep: Upkeep,
    /// Operators that the last record changed.
    touched: Vec<usize>,
    /// Operators that are still to take what the record changed.
    pending: BinaryHeap<Reverse<usize>>,
    /// Whether the last record brought something about.
    has_answers: bool,
}

impl Queries {
    /// Makes queries ready, whose operators are shared where they are equal; each has its place among the plans.
    pub fn new(plans: &[&PlanSpec], symbols: &SharedSymbols, options: Options) -> Result<Self, InvalidPlan> {
        plans.iter().try_for_each(|plan| plan.check())?;
        let plan = SharedPlan::new(plans);
        let windows: Vec<Window> = plan.inputs.iter().map(|input| Window::new(input, symbols)).collect();
        let keeps = keeps_steps(&plan, options);
        let readers = readers(plan.operators.iter().map(OperatorSpec::operands));
        let operators = operators(&plan, &keeps, &readers);
        let mut outputs: Vec<Vec<Output>> = operators.iter().map(|_| Vec::new()).collect();
        for (member, own) in (0..).zip(&plan.members) {
            for (number, spec) in (0..).zip(&own.outputs) {
                outputs[spec.operator].push(Output { member, number, spec: spec.clone() });
            }
        }
        let members = plan.members.into_iter().map(|own| Member {
            operators: own.operators,
            is_there: true,
            emitted_at: Time::MIN,
            records_at: 0,
        });
        let mut queries = Self {
            windows,
            members: members.collect(),
            outputs,
            options,
            symbols: symbols.clone(),
            texts: Vec::new(),
            names: VertexTable::default(),
            by_label: Vec::new(),
            of_any_label: Scans::new(),
            walked: Vec::new(),
            readers: Vec::new(),
            store: keeps.contains(&true).then(|| EdgeStore::new(0)),
            classes: Vec::new(),
            by_class: HashMap::default(),
            by_id: HashTable::new(),
            longest: 1,
            now: Present::at(Time::MIN),
            upkeep: Upkeep::new(operators.len()),
            operators,
            touched: Vec::new(),
            pending: BinaryHeap::new(),
            has_answers: false,
        };
        queries.link();
        queries.learn_names();
        Ok(queries)
    }

    /// Learns the labels that came since the last time; before records that have them.
    pub fn learn_names(&mut self) {
        self.symbols.lock().copy_new_names(&mut self.texts);
    }

    /// Labels that they ask for, by number; none if edges of every label.
    pub fn asks(&self) -> Option<impl Iterator<Item = u32>> {
        let labels = (0..).zip(&self.by_label).filter(|(_, scans)| !scans.is_empty()).map(|(label, _)| label);
        self.of_any_label.is_empty().then_some(labels)
    }

    /// Takes one record of a batch. What it brings about is there until the next one: see [`each_answer`](Self::each_answer).
    pub fn push_row(&mut self, batch: &EdgeBatch, row: usize, lent: Lent, meter: &mut Meter<'_>) -> Taken {
        meter.begin(lent.steps);
        self.advance(batch.ts()[row], meter);
        self.begin();
        let (mut is_kept, mut is_limited) = (false, false);
        if batch.operations()[row] == Operation::Delete {
            is_kept = self.delete(batch.id(row), batch.stream(row));
            self.follow(Direction::Invalidate, meter);
        } else if batch.is_edge(row) {
            is_limited = lent.bytes == 0 || self.options.most.is_some_and(|most| self.upkeep.live() >= most);
            is_kept = !is_limited && self.insert(batch, row);
            meter.lend_bytes(lent.bytes);
            meter.hold(usize::from(is_kept) * EDGE_BYTES);
            self.follow(Direction::Rise, meter);
        }
        self.count_answers();
        let held = meter.take_bytes();
        Taken { is_kept, refusal: meter.end(), is_limited, held }
    }

    /// Advances time without a record: nothing is emitted, and ended state is dropped.
    pub fn advance(&mut self, ts: Time, meter: &mut Meter<'_>) {
        if ts <= self.now.ts() {
            return;
        }
        let now = Present::at(ts);
        self.now = now;
        // What the last record changed is history, before numbers are given up.
        self.begin();
        for number in self.upkeep.take_due(now) {
            let walked = &self.walked[number];
            let mut gone: SmallVec<[[Vertex; 2]; 4]> = SmallVec::new();
            self.operators[number].expire(now, &mut self.names, |values| {
                meter.tick(1);
                if let (false, &[source, target]) = (walked.is_empty(), values) {
                    gone.push([source, target]);
                }
            });
            self.upkeep.note(number, &self.operators[number]);
            for place in 0..if gone.is_empty() { 0 } else { walked.len() } {
                let walking = self.walked[number][place];
                if let Operator::Path(path) = &mut self.operators[walking] {
                    for values in &gone {
                        path.forget(number, values, now, meter);
                    }
                }
                self.upkeep.note(walking, &self.operators[walking]);
            }
        }
        let from = clock::subtract(ts, self.longest);
        while let Some(store) = &self.store
            && let Some((edge, stored)) = store.oldest()
            && stored.ts < from
        {
            let (ends, class) = ((stored.source, stored.target), stored.class);
            self.forget(edge, ends, class);
        }
    }

    /// The time up to which records came.
    pub fn latest(&self) -> Time {
        self.now.ts()
    }

    /// How many records of the present instant brought something about for a query before the last one that did.
    pub fn nth(&self, member: u32) -> u32 {
        self.members[member as usize].records_at.saturating_sub(1)
    }

    /// What a query calls an operator that a path of its leads over.
    pub fn own_number(&self, member: u32, operator: usize) -> Option<usize> {
        self.members[member as usize].operators.iter().position(|&number| number == operator)
    }

    /// Name of a vertex of an answer; until the next record.
    pub fn name(&self, vertex: Vertex) -> KeyRef<'_> {
        self.names.name(vertex)
    }

    /// The edge that a step of a path is; none if it is a derived one. Until the next record.
    pub fn edge(&self, step: &Walked) -> Option<IdRef<'_>> {
        match (&self.operators[step.operand], &self.store) {
            (Operator::Scan(scan), Some(store)) => scan.edge(step.source, step.target).map(|edge| store.id(edge)),
            _ => None,
        }
    }

    /// What they hold and held.
    pub fn usage(&self) -> Usage {
        let operators: usize = self.operators.iter().map(Operator::bytes).sum();
        let store = self.store.as_ref().map_or(0, EdgeStore::bytes) + self.by_id.capacity() * 5;
        let bytes = operators + store + self.names.bytes() + self.upkeep.bytes();
        Usage { live: self.upkeep.live(), peak: self.upkeep.peak(), bytes }
    }

    /// What operators of a query hold, and at most held, those that it shares with others, too.
    pub fn held_by(&self, member: u32) -> (usize, usize) {
        let own = &self.members[member as usize].operators;
        (self.held(member).sum(), self.upkeep.peak_of(own))
    }

    /// By operator of a query: what it holds.
    pub fn held(&self, member: u32) -> impl Iterator<Item = usize> {
        self.members[member as usize].operators.iter().map(|&number| self.upkeep.held(number))
    }

    /// Answers a query no more, and gives up the operators and indexes that no other needs. Edges of theirs go as they end.
    ///
    /// Cost: the operators, and the vertices of what is given up.
    pub fn remove(&mut self, member: u32) {
        self.begin();
        self.members[member as usize].is_there = false;
        self.outputs.iter_mut().for_each(|outputs| outputs.retain(|output| output.member != member));
        let mut is_needed = vec![false; self.operators.len()];
        let left = self.members.iter().filter(|member| member.is_there);
        left.flat_map(|member| &member.operators).for_each(|&number| is_needed[number] = true);
        for number in (0..self.operators.len()).filter(|&number| !is_needed[number]) {
            if let Operator::Scan(scan) = std::mem::replace(&mut self.operators[number], Operator::Gone) {
                scan.give_up(&mut self.names);
            }
        }
        self.link();
        let indexes: HashSet<(usize, usize), FxBuildHasher> = self.operators.iter().flat_map(Operator::indexes).collect();
        for (number, operator) in self.operators.iter_mut().enumerate() {
            if let (true, Operator::Path(path)) = (self.readers[number].is_empty(), &mut *operator) {
                path.end_reading();
            }
            if let Some(relation) = operator.relation_mut() {
                relation.retain_indexes(|index| indexes.contains(&(number, index)));
            }
            self.upkeep.note(number, operator);
        }
    }

    /// Lets operators know who reads them, and scans have their labels.
    fn link(&mut self) {
        self.readers = readers(self.operators.iter().map(Operator::operands));
        let is_path = |number: &usize| matches!(self.operators[*number], Operator::Path(_));
        self.walked = self.readers.iter().map(|readers| readers.iter().copied().filter(is_path).collect()).collect();
        (self.by_label, self.of_any_label, self.longest) = (Vec::new(), Scans::new(), 1);
        for (number, operator) in (0..).zip(&self.operators) {
            let Operator::Scan(scan) = operator else { continue };
            let window = &self.windows[scan.input];
            self.longest = self.longest.max(window.length());
            match window.label {
                None => self.of_any_label.push(number),
                Some(label) => {
                    let label = label.0 as usize;
                    self.by_label.resize_with(self.by_label.len().max(label + 1), Scans::new);
                    self.by_label[label].push(number);
                }
            }
        }
    }

    fn begin(&mut self) {
        for number in self.touched.drain(..) {
            self.operators[number].begin();
        }
    }

    /// Lets scans have an edge; says whether some took it.
    fn insert(&mut self, batch: &EdgeBatch, row: usize) -> bool {
        let label = batch.labels()[row][1].0 as usize;
        let record = Record { batch, row, labels: &self.texts };
        let asked = self.by_label.get(label).into_iter().flatten().chain(&self.of_any_label);
        let (operators, windows) = (&self.operators, &self.windows);
        let scans: Scans = asked
            .copied()
            .filter(|&number| match &operators[number as usize] {
                Operator::Scan(scan) => windows[scan.input].takes(&record),
                _ => false,
            })
            .collect();
        if scans.is_empty() {
            return false;
        }
        let ends = (self.names.acquire(batch.source(row)), self.names.acquire(batch.target(row)));
        let edge = self.keep(batch, row, ends, &scans);
        let ts = batch.ts()[row];
        for &number in &scans {
            if let Operator::Scan(scan) = &mut self.operators[number as usize] {
                let end = self.windows[scan.input].end(ts);
                scan.insert(ends, edge, (end, self.now), &mut self.names);
                self.touched.push(number as usize);
            }
        }
        if edge.is_none() {
            self.names.release(ends.0);
            self.names.release(ends.1);
        }
        true
    }

    /// Keeps an edge, if a scan keeps it; then it has a use of its ends.
    fn keep(&mut self, batch: &EdgeBatch, row: usize, ends: (Vertex, Vertex), scans: &Scans) -> Option<EdgeRef> {
        let is_kept = |&number: &u32| matches!(&self.operators[number as usize], Operator::Scan(scan) if scan.keeps_edges());
        let store = self.store.as_mut().filter(|_| scans.iter().any(is_kept))?;
        let classes = &mut self.classes;
        let stream = batch.stream(row);
        let class = *self.by_class.entry(Class { stream, scans: scans.clone() }).or_insert_with_key(|class| {
            classes.push(class.clone());
            classes.len() as u32 - 1
        });
        let id = batch.id(row);
        let edge = store.push((batch.ts()[row], class), ends, id, std::iter::empty());
        if self.options.deletions && !id.is_made() {
            let (store, classes) = (&*store, &*classes);
            let named = |other: EdgeRef| (store.id(other), classes[store.get(other).class as usize].stream);
            match self.by_id.find_mut(hash((id, stream)), |&other| named(other) == (id, stream)) {
                Some(known) => *known = edge,
                None => drop(self.by_id.insert_unique(hash((id, stream)), edge, |&other| hash(named(other)))),
            }
        }
        Some(edge)
    }

    /// Takes an edge from its scans; says whether it was alive.
    fn delete(&mut self, id: IdRef<'_>, stream: Symbol) -> bool {
        let Some(store) = &mut self.store else { return false };
        let classes = &self.classes;
        let is_it = |&edge: &EdgeRef| store.id(edge) == id && classes[store.get(edge).class as usize].stream == stream;
        let Ok(entry) = self.by_id.find_entry(hash((id, stream)), is_it) else { return false };
        let (edge, _) = entry.remove();
        let stored = *store.get(edge);
        store.delete(edge);
        for &number in &self.classes[stored.class as usize].scans {
            if let Operator::Scan(scan) = &mut self.operators[number as usize] {
                let window = &self.windows[scan.input];
                let store = &*store;
                scan.delete((stored.source, stored.target), edge, self.now, |other| window.end(store.get(other).ts));
                self.touched.push(number as usize);
            }
        }
        true
    }

    fn forget(&mut self, edge: EdgeRef, (source, target): (Vertex, Vertex), class: u32) {
        let Some(store) = &mut self.store else { return };
        let class = &self.classes[class as usize];
        if let Ok(entry) = self.by_id.find_entry(hash((store.id(edge), class.stream)), |&other| other == edge) {
            entry.remove();
        }
        for &number in &class.scans {
            if let Operator::Scan(scan) = &mut self.operators[number as usize] {
                scan.forget((source, target), edge);
            }
        }
        store.pop_oldest();
        self.names.release(source);
        self.names.release(target);
    }

    /// Lets operators take what the record changed.
    fn follow(&mut self, direction: Direction, meter: &mut Meter<'_>) {
        if self.touched.is_empty() {
            return;
        }
        for place in 0..self.touched.len() {
            self.pass_on(self.touched[place]);
        }
        let mut last = None;
        while let Some(Reverse(number)) = self.pending.pop() {
            if last.replace(number) == Some(number) {
                continue;
            }
            let (before, rest) = self.operators.split_at_mut(number);
            let Some(operator) = rest.first_mut() else { break };
            operator.follow(direction, Operands::new(before), &self.names, self.now, meter);
            self.touched.push(number);
            self.pass_on(number);
        }
        self.upkeep.note_peak();
    }

    /// Schedules the readers of an operator that has changed.
    fn pass_on(&mut self, number: usize) {
        let operator = &self.operators[number];
        self.upkeep.note(number, operator);
        if operator.has_changed() {
            self.pending.extend(self.readers[number].iter().map(|&reader| Reverse(reader)));
        }
    }

    /// Counts the record for the queries for which it brought something about.
    fn count_answers(&mut self) {
        let mut emitted: SmallVec<[u32; 4]> = SmallVec::new();
        for &number in &self.touched {
            for output in &self.outputs[number] {
                let is_emitted = |changed: Changed<'_>| changed.emitted(self.now.ts(), output.spec.is_appended).is_some();
                if !emitted.contains(&output.member) && !each_change(&self.operators[number], |changed| !is_emitted(changed)) {
                    emitted.push(output.member);
                }
            }
        }
        self.has_answers = !emitted.is_empty();
        for number in emitted {
            let member = &mut self.members[number as usize];
            member.records_at = if member.emitted_at == self.now.ts() { member.records_at + 1 } else { 1 };
            member.emitted_at = self.now.ts();
        }
    }

    /// Whether the last record brought something about.
    #[inline]
    pub fn has_answers(&self) -> bool {
        self.has_answers
    }

    /// Calls `f` with what the last record brought about, in the order of the queries and of their outputs, as long as it says
    /// so.
    pub fn each_answer(&self, mut f: impl FnMut(Answer<'_>) -> bool) {
        let emitted = self.touched.iter().flat_map(|&number| self.outputs[number].iter().map(move |output| (output, number)));
        let mut emitted: SmallVec<[(&Output, usize); 4]> = emitted.collect();
        emitted.sort_by_key(|(output, _)| (output.member, output.number));
        for (Output { member, number, spec }, operator) in emitted {
            let goes_on = each_change(&self.operators[operator], |changed| {
                let Some((kind, valid)) = changed.emitted(self.now.ts(), spec.is_appended) else { return true };
                f(Answer { member: *member, output: *number, kind, values: changed.values, valid, spec })
            });
            if !goes_on {
                return;
            }
        }
    }

    /// The path that is reported with an answer: one that lasts as long as its result. None if no path is reported.
    pub fn path(&self, answer: &Answer<'_>) -> Option<Vec<Walked>> {
        if answer.kind == Kind::Retract {
            return None;
        }
        let (values, end) = (answer.values, answer.valid.1);
        answer.spec.paths.iter().find_map(|path| {
            let ends = [path.ends.0, path.ends.1].map(usize::from);
            let [source, target] = match path.join {
                None => {
                    let own = ends.map(|column| values[column]);
                    // Of several rules another may have derived it.
                    let lasts = |relation: &Relation| relation.find(&own).is_some_and(|tuple| relation.end(tuple) >= end);
                    if !self.operators[path.operator].relation().is_none_or(lasts) {
                        return None;
                    }
                    own
                }
                Some(join) => {
                    let Operator::Join(own) = &self.operators[join] else { return None };
                    let operands = Operands::new(&self.operators[..join]);
                    let bound = own.witness(operands, &self.names, self.now, values, end)?;
                    ends.map(|slot| bound[slot])
                }
            };
            match &self.operators[path.operator] {
                Operator::Path(own) if !path.is_edge => own.walk(source, target),
                _ => Some(vec![Walked { operand: path.operator, source, target }]),
            }
        })
    }
}

/// Calls `f` with each result whose end the record changed, as long as it says so; says whether it always did.
fn each_change(operator: &Operator, mut f: impl FnMut(Changed<'_>) -> bool) -> bool {
    match operator {
        Operator::Path(own) if own.relation().is_none() => own.each_change(|change| {
            f(Changed { values: &[change.source, change.target], before: change.before, after: change.after })
        }),
        operator => operator.relation().is_none_or(|relation| {
            relation.changed().iter().all(|&tuple| {
                let (before, after) = (relation.before(tuple), relation.end(tuple));
                before == after || f(Changed { values: relation.get(tuple), before, after })
            })
        }),
    }
}

/// By operator: those that read it, each once, by the operands of each.
fn readers(operands: impl ExactSizeIterator<Item = Vec<usize>>) -> Vec<Vec<usize>> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); operands.len()];
    for (number, operands) in operands.enumerate() {
        for operand in operands {
            readers[operand].push(number);
        }
    }
    readers.iter_mut().for_each(Vec::dedup);
    readers
}

/// Which operators keep the steps of paths. If edges may be deleted, all scans do; else the paths that are reported, and the
/// scans that those walk.
fn keeps_steps(plan: &SharedPlan, options: Options) -> Vec<bool> {
    let is_scan = |operator: &OperatorSpec| matches!(operator, OperatorSpec::Scan { .. });
    let mut keeps: Vec<bool> = plan.operators.iter().map(|operator| options.deletions && is_scan(operator)).collect();
    for emitted in plan.members.iter().flat_map(|member| &member.outputs).flat_map(|output| &output.paths) {
        let operands = match &plan.operators[emitted.operator] {
            OperatorSpec::Path(_) if emitted.is_edge => continue,
            OperatorSpec::Path(path) => path.symbols.as_slice(),
            _ => &[],
        };
        keeps[emitted.operator] = true;
        for &(operand, _) in operands {
            keeps[operand] |= is_scan(&plan.operators[operand]);
        }
    }
    keeps
}

/// Makes the operators of a plan.
fn operators(plan: &SharedPlan, keeps: &[bool], readers: &[Vec<usize>]) -> Vec<Operator> {
    let mut operators: Vec<Operator> = Vec::with_capacity(plan.operators.len());
    // The windows that each reads: the ends of its tuples do not depend on others.
    let mut read: Vec<BTreeSet<usize>> = Vec::with_capacity(plan.operators.len());
    for (number, spec) in plan.operators.iter().enumerate() {
        let own: BTreeSet<usize> = spec.operands().into_iter().flat_map(|operand| read[operand].iter().copied()).collect();
        read.push(if let OperatorSpec::Scan { input } = spec { BTreeSet::from([*input]) } else { own });
        let operator = match spec {
            OperatorSpec::Scan { input } => Operator::Scan(Scan::new(*input, keeps[number])),
            OperatorSpec::Union { operands } => {
                let arity = operands.first().and_then(|&first| operators[first].relation()).map_or(2, Relation::arity);
                Operator::Union(Union { operands: operands.clone(), relation: Relation::new(arity) })
            }
            OperatorSpec::Join(join) => Operator::Join(Join::new(join, |operand, columns| {
                operators[operand].relation_mut().map_or(0, |relation| relation.index_on(columns))
            })),
            OperatorSpec::Path(path) => {
                let windows = || read[number].iter().map(|&input| &plan.inputs[input]);
                let grid = Grid::new(windows().map(|input| (input.length, input.slide)));
                let longest = windows().map(|input| input.length).max().unwrap_or(1);
                Operator::Path(Box::new(AnyPath::new(path, (grid, longest), keeps[number], !readers[number].is_empty())))
            }
        };
        operators.push(operator);
    }
    operators
}

fn hash(named: (IdRef<'_>, Symbol)) -> u64 {
    FxBuildHasher.hash_one(named)
}
