//! A streaming graph query over records in order: its operators, the edges that they know, and what it tells.
//!
//! An edge goes to the scans that ask for its label, and from there through the operators, each after its operands. Whatever it
//! changes is told with it. What has ended is given up when time is past it.
//! Cost: a look-up of the label a record that nobody asks for.

use std::hash::BuildHasher;

use graphtide_engine::dispatch::Record;
use graphtide_engine::engine::Usage;
use graphtide_engine::meter::{Meter, Refusal};
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::vertex::{Vertex, VertexTable};
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::answers::{Answers, Changed};
use crate::grid::Grid;
use crate::join::Join;
use crate::operator::{Direction, Operands, Operator, Union};
use crate::path::{AnyPath, Walked};
use crate::plan::{InvalidPlan, OperatorSpec, OutputSpec, PlanSpec};
use crate::relation::Relation;
use crate::scan::{Scan, Window};

/// What a query is to be ready for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Edges may be deleted.
    pub deletions: bool,
    /// Tuples and chunks of paths that it may hold; an edge that comes beyond is not taken.
    pub most: Option<usize>,
}

/// What came of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Whether what follows may depend on it.
    pub is_kept: bool,
    /// Why its work was cut, so that results may lack.
    pub refusal: Option<Refusal>,
    /// Whether it was not taken, since the query holds as much as it may.
    pub is_limited: bool,
}

/// Numbers of scans.
type Scans = SmallVec<[u32; 2]>;

/// An edge as its scans know it: their numbers, with the stream of which they read it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Class {
    stream: Symbol,
    scans: Scans,
}

/// A query.
#[derive(Debug)]
pub struct Query {
    windows: Vec<Window>,
    operators: Vec<Operator>,
    outputs: Vec<OutputSpec>,
    labels: Vec<String>,
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
    /// The operands of each operator.
    operands: Vec<Vec<usize>>,
    /// Edges that are alive, where they may be deleted or told; the class of each is the scans that have it.
    store: Option<EdgeStore>,
    classes: Vec<Class>,
    by_class: HashMap<Class, u32, FxBuildHasher>,
    /// Of each stream: edges by their ids.
    by_id: HashTable<EdgeRef>,
    longest: i64,
    now: Time,
    /// Records of the present instant that brought something about.
    telling: u32,
    /// How many of those there were before the last record.
    nth: u32,
    peak: usize,
    /// Operators that the last record changed.
    touched: Vec<usize>,
}

impl Query {
    /// Makes a query ready.
    pub fn new(plan: &PlanSpec, symbols: &SharedSymbols, options: Options) -> Result<Self, InvalidPlan> {
        plan.check()?;
        let windows: Vec<Window> = plan.inputs.iter().map(|input| Window::new(input, symbols)).collect();
        let grid = Grid::new(plan.inputs.iter().map(|input| (input.length, input.slide)));
        let longest = plan.inputs.iter().map(|input| input.length).max().unwrap_or(1);
        let tells_paths = plan.outputs.iter().any(|output| !output.paths.is_empty());
        let keeps_edges = options.deletions || tells_paths;
        let mut walked: Vec<Vec<usize>> = vec![Vec::new(); plan.operators.len()];
        let mut operators: Vec<Operator> = Vec::with_capacity(plan.operators.len());
        for (number, spec) in plan.operators.iter().enumerate() {
            let operator = match spec {
                OperatorSpec::Scan { input } => Operator::Scan(Scan::new(*input, keeps_edges)),
                OperatorSpec::Union { operands } => {
                    let arity = operands.first().and_then(|&first| operators[first].relation()).map_or(2, Relation::arity);
                    Operator::Union(Union { operands: operands.clone(), relation: Relation::new(arity) })
                }
                OperatorSpec::Join(join) => Operator::Join(Join::new(join, |operand, columns| {
                    operators[operand].relation_mut().map_or(0, |relation| relation.index_on(columns))
                })),
                OperatorSpec::Path(path) => {
                    let is_read = plan.operators[number + 1..].iter().any(|other| reads(other, number));
                    path.symbols.iter().for_each(|&(operand, _)| walked[operand].push(number));
                    Operator::Path(Box::new(AnyPath::new(path, (grid, longest), tells_paths, is_read)))
                }
            };
            operators.push(operator);
        }
        walked.iter_mut().for_each(Vec::dedup);
        let mut query = Self {
            windows,
            operands: operators.iter().map(Operator::operands).collect(),
            operators,
            outputs: plan.outputs.clone(),
            labels: plan.labels.clone(),
            options,
            symbols: symbols.clone(),
            texts: Vec::new(),
            names: VertexTable::default(),
            by_label: Vec::new(),
            of_any_label: Scans::new(),
            walked,
            store: keeps_edges.then(|| EdgeStore::new(0)),
            classes: Vec::new(),
            by_class: HashMap::default(),
            by_id: HashTable::new(),
            longest,
            now: Time::MIN,
            telling: 0,
            nth: 0,
            peak: 0,
            touched: Vec::new(),
        };
        query.subscribe();
        query.learn_names();
        Ok(query)
    }

    /// Learns the labels that came since the last time; before records that have them.
    pub fn learn_names(&mut self) {
        self.symbols.lock().copy_new_names(&mut self.texts);
    }

    /// Labels that it asks for, by number; none if edges of every label.
    pub fn asks(&self) -> Option<impl Iterator<Item = u32>> {
        let labels = (0..).zip(&self.by_label).filter(|(_, scans)| !scans.is_empty()).map(|(label, _)| label);
        self.of_any_label.is_empty().then_some(labels)
    }

    /// Takes one record of a batch, which may take so many steps of work. What it brings about is added to `out`.
    pub fn push_row(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        allowance: u64,
        out: &mut Answers,
        meter: &mut Meter<'_>,
    ) -> Taken {
        meter.begin(allowance);
        self.advance(batch.ts()[row], meter);
        self.begin();
        let (mut is_kept, mut is_limited) = (false, false);
        if batch.operations()[row] == Operation::Delete {
            is_kept = self.delete(batch.id(row), batch.stream(row));
            self.follow(Direction::Fall, meter);
        } else if batch.is_edge(row) {
            is_limited = self.options.most.is_some_and(|most| self.live() >= most);
            is_kept = !is_limited && self.insert(batch, row);
            self.follow(Direction::Rise, meter);
        }
        let before = out.found().len();
        self.tell(out);
        self.nth = self.telling;
        self.telling += u32::from(out.found().len() > before);
        Taken { is_kept, refusal: meter.end(), is_limited }
    }

    /// Lets time pass without a record: nothing is told, and what ended is given up.
    pub fn advance(&mut self, now: Time, meter: &mut Meter<'_>) {
        if now <= self.now {
            return;
        }
        self.now = now;
        self.telling = 0;
        // What the last record changed is history, before numbers are given up.
        self.begin();
        for number in 0..self.operators.len() {
            let walked = &self.walked[number];
            let mut gone: SmallVec<[[Vertex; 2]; 4]> = SmallVec::new();
            self.operators[number].expire(now, &mut self.names, |values| {
                if let (false, &[source, target]) = (walked.is_empty(), values) {
                    gone.push([source, target]);
                }
            });
            for place in 0..if gone.is_empty() { 0 } else { walked.len() } {
                if let Operator::Path(path) = &mut self.operators[self.walked[number][place]] {
                    for values in &gone {
                        path.forget(number, values, now, meter);
                    }
                }
            }
        }
        let from = now.saturating_sub(self.longest);
        while let Some(store) = &self.store
            && let Some((edge, stored)) = store.oldest()
            && stored.ts < from
        {
            let (ends, class) = ((stored.source, stored.target), stored.class);
            self.forget(edge, ends, class);
        }
    }

    /// The time up to which records came.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many records of the instant of the last one brought something about before it.
    pub fn nth(&self) -> u32 {
        self.nth
    }

    /// What it reports, by number.
    pub fn outputs(&self) -> &[OutputSpec] {
        &self.outputs
    }

    /// Name of a vertex of an answer; until the next record.
    pub fn name(&self, vertex: Vertex) -> KeyRef<'_> {
        self.names.name(vertex)
    }

    /// The edge that a step of a path is; none if it is a derived one, which [`label`](Self::label) names. Until the next record.
    pub fn edge(&self, step: &Walked) -> Option<IdRef<'_>> {
        match (&self.operators[step.operand], &self.store) {
            (Operator::Scan(scan), Some(store)) => scan.edge(step.source, step.target).map(|edge| store.id(edge)),
            _ => None,
        }
    }

    /// What the tuples of an operator are called.
    pub fn label(&self, operator: usize) -> &str {
        &self.labels[operator]
    }

    /// What it holds and held.
    pub fn usage(&self) -> Usage {
        let operators: usize = self.operators.iter().map(Operator::bytes).sum();
        let store = self.store.as_ref().map_or(0, EdgeStore::bytes) + self.by_id.capacity() * 5;
        Usage { live: self.live(), peak: self.peak, bytes: operators + store + self.names.bytes() }
    }

    /// By operator: what it holds.
    pub fn held(&self) -> impl Iterator<Item = usize> {
        self.operators.iter().map(Operator::held)
    }

    fn live(&self) -> usize {
        self.operators.iter().map(Operator::held).sum()
    }

    fn subscribe(&mut self) {
        for (number, operator) in (0..).zip(&self.operators) {
            let Operator::Scan(scan) = operator else { continue };
            match self.windows[scan.input].label {
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

    /// Keeps an edge, if edges are kept; then it has a use of its ends.
    fn keep(&mut self, batch: &EdgeBatch, row: usize, ends: (Vertex, Vertex), scans: &Scans) -> Option<EdgeRef> {
        let store = self.store.as_mut()?;
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
        for number in 0..self.operators.len() {
            let (before, rest) = self.operators.split_at_mut(number);
            let Some(operator) = rest.first_mut() else { break };
            let operands = Operands::new(before);
            let is_changed = |operand: usize| !operands.get(operand).changed().is_empty();
            if self.operands[number].iter().copied().any(is_changed) {
                operator.follow(direction, operands, &self.names, self.now, meter);
                self.touched.push(number);
            }
        }
        self.peak = self.peak.max(self.live());
    }

    /// Tells what the record changed about outputs.
    fn tell(&self, out: &mut Answers) {
        if self.touched.is_empty() {
            return;
        }
        for (output, spec) in (0..).zip(&self.outputs) {
            let path = |values: &[Vertex], end: Time| self.walk(spec, values, end);
            match &self.operators[spec.operator] {
                Operator::Path(own) if own.relation().is_none() => {
                    for change in own.changes() {
                        let values = [change.source, change.target];
                        let changed = Changed { output, values: &values, before: change.before, after: change.after };
                        out.push(changed, self.now, spec.is_appended, || path(&values, change.after));
                    }
                }
                operator => {
                    let Some(relation) = operator.relation() else { continue };
                    for &tuple in relation.changed() {
                        let values = relation.get(tuple);
                        let (before, after) = (relation.before(tuple), relation.end(tuple));
                        if before == after {
                            continue;
                        }
                        let changed = Changed { output, values, before, after };
                        out.push(changed, self.now, spec.is_appended, || path(values, after));
                    }
                }
            }
        }
    }

    /// The path that is told with a result: one that lasts as long as that does.
    fn walk(&self, output: &OutputSpec, values: &[Vertex], end: Time) -> Option<Vec<Walked>> {
        output.paths.iter().find_map(|path| {
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
                Operator::Path(own) => own.walk(source, target),
                _ => Some(vec![Walked { operand: path.operator, source, target }]),
            }
        })
    }
}

fn reads(operator: &OperatorSpec, number: usize) -> bool {
    match operator {
        OperatorSpec::Scan { .. } => false,
        OperatorSpec::Union { operands } => operands.contains(&number),
        OperatorSpec::Join(join) => join.parts.iter().any(|part| part.operand == number),
        OperatorSpec::Path(path) => path.symbols.iter().any(|&(operand, _)| operand == number),
    }
}

fn hash(named: (IdRef<'_>, Symbol)) -> u64 {
    FxBuildHasher.hash_one(named)
}
