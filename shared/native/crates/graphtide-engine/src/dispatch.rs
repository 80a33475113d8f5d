//! From an edge's labels to the query edges it can match.
//!
//! A *signature* is what one query edge asks of one data edge: labels, loop or not, fixed end vertices, predicates that the
//! edge alone decides. Query edges with equal signatures, in one pattern or in a thousand, share it: its test runs once an
//! edge.
//! Invariant: `class` names, for a triple of labels, exactly the signatures whose labels fit it; it is built when the triple
//! first comes by. Labels no pattern mentions are one label, so the number of classes is bounded by the patterns, not by the
//! stream. Patterns come and go: signatures that nobody has any more are in no class.
//! Cost: three array reads and one table read an edge; an edge no pattern wants ends there. Of the signatures that ask
//! something of the edge to equal a constant, only those are tested whose constant it is. A pattern that comes or goes costs a
//! look at each class, for each signature that is new or that nothing else has.

mod constants;

use std::hash::BuildHasher;

use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::ValueRef;
use hashbrown::{HashMap, HashTable};
use rustc_hash::FxBuildHasher;

use constants::Constants;

use crate::expression::{Bindings, Expression, LABEL, Operand, SOURCE_LABEL, is_label};
use crate::ids::{SignatureId, UnitId};
use crate::lists::Gate;
use crate::meter::Meter;
use crate::pattern::{EdgeSpec, Pattern};
use crate::trace::Reason;

/// Whether an edge may be a self-loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// It must be one: both ends are the same query vertex.
    Only,
    /// It must not: two query vertices are two data vertices.
    Never,
    /// Either: query vertices may coincide.
    Any,
}

/// What a query edge asks of a data edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    labels: [Option<Symbol>; 3],
    loops: Loops,
    source_key: Option<Box<str>>,
    target_key: Option<Box<str>>,
    /// Over edge 0, vertices 0 (source) and 1 (target).
    predicates: Vec<Expression>,
    /// Steps that it takes to test.
    steps: u32,
}

/// A number that is equal for equal signatures.
fn hash(signature: &Signature) -> u64 {
    FxBuildHasher.hash_one(format!("{signature:?}"))
}

/// What a query edge asks of a data edge, by names.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    labels: [Option<&'a str>; 3],
    loops: Loops,
    keys: [Option<&'a str>; 2],
    /// Over edge 0, vertices 0 (source) and 1 (target).
    predicates: Vec<Expression>,
}

impl<'a> Asked<'a> {
    /// What an edge of a pattern asks; `alone` are the predicates that it decides by itself.
    pub fn new(pattern: &Pattern<'a>, edge: &'a EdgeSpec, loops: Loops, alone: &[Expression]) -> Self {
        let [source, target] = [edge.source, edge.target].map(|vertex| &pattern.vertices[usize::from(vertex)]);
        Self {
            labels: [source.label.as_deref(), edge.label.as_deref(), target.label.as_deref()],
            loops,
            keys: [source.key.as_deref(), target.key.as_deref()],
            predicates: alone
                .iter()
                .map(|predicate| predicate.renamed(&|_| 0, &|vertex| u8::from(vertex != edge.source)))
                .collect(),
        }
    }

    /// The same of both ends, where the query edge is a loop and its vertex may be matched by two.
    #[must_use]
    pub fn of_both_ends(mut self) -> Self {
        let of_target: Vec<Expression> = self.predicates.iter().map(|each| each.renamed(&|_| 0, &|_| 1)).collect();
        self.predicates.extend(of_target);
        self
    }

    fn signature(self, symbols: &mut SymbolTable) -> Signature {
        let [source_key, target_key] = self.keys.map(|key| key.map(Into::into));
        Signature {
            labels: self.labels.map(|label| label.map(|label| symbols.intern(label))),
            loops: self.loops,
            source_key,
            target_key,
            steps: 1 + self.predicates.iter().map(Expression::steps).sum::<u32>(),
            predicates: self.predicates,
        }
    }
}

/// A query edge of a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The unit that matches it.
    pub unit: UnitId,
    /// Position of the edge in it.
    pub edge: u8,
    /// When such an edge can be of use.
    pub admission: Admission,
}

/// When an arriving edge can be of use as a query edge, as far as that is known without the engine.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// Whether the engine looks at such edges when they arrive.
    pub is_wanted: bool,
    /// What must be there.
    pub gates: [Option<Gate>; 2],
}

impl Admission {
    /// It can be of use whatever is there.
    pub const ALWAYS: Self = Self { is_wanted: true, gates: [None; 2] };
}

/// The query edges that share a signature: first those that are visited one by one, then those that share a search.
#[derive(Debug, Default)]
struct Targets {
    all: Vec<Target>,
    alone: usize,
}

impl Targets {
    fn push(&mut self, target: Target) {
        self.all.insert(self.alone, target);
        self.alone += 1;
    }

    fn remove(&mut self, unit: UnitId) {
        self.alone -= self.all[..self.alone].iter().filter(|target| target.unit == unit).count();
        self.all.retain(|target| target.unit != unit);
    }

    /// Says which share a search; the others keep their order.
    fn share(&mut self, is_shared: impl Fn(&Target) -> bool) {
        let (shared, alone): (Vec<Target>, Vec<Target>) = self.all.drain(..).partition(is_shared);
        self.alone = alone.len();
        self.all.extend(alone.into_iter().chain(shared));
    }

    /// Lets those of a unit be visited one by one.
    fn expel(&mut self, unit: UnitId) {
        let (expelled, shared): (Vec<Target>, Vec<Target>) =
            self.all.drain(self.alone..).partition(|target| target.unit == unit);
        self.alone += expelled.len();
        self.all.extend(expelled.into_iter().chain(shared));
    }
}

/// Signatures of one triple of labels.
#[derive(Debug, Default)]
struct Class {
    codes: [u32; 3],
    free: Vec<SignatureId>,
    constants: Constants,
    /// Steps that it takes to test all.
    steps: u64,
    /// Whether that is so much work that it may have to pause.
    is_long: bool,
}

impl Class {
    /// Whether the labels of its edges are those that a signature asks for; `codes` are those of labels.
    fn fits(&self, asked: &[Option<Symbol>; 3], codes: &[Vec<u32>; 3]) -> bool {
        let mut places = asked.iter().zip(codes).zip(self.codes);
        places.all(|((asked, codes), code)| asked.is_none_or(|Symbol(number)| codes[number as usize] == code))
    }

    fn add(&mut self, id: SignatureId, signature: &Signature) {
        if !self.constants.add(id, signature) {
            self.free.push(id);
        }
        self.steps += u64::from(signature.steps);
        self.is_long = self.steps > SHORT;
    }

    fn remove(&mut self, id: SignatureId, signature: &Signature) {
        if !self.constants.remove(id, signature) {
            self.free.retain(|&other| other != id);
        }
        self.steps -= u64::from(signature.steps);
        self.is_long = self.steps > SHORT;
    }
}

/// The places of a triple without a label, one bit for each.
fn wildcards(labels: &[Option<Symbol>; 3]) -> usize {
    (0..3).filter(|&place| labels[place].is_none()).map(|place| 1 << place).sum()
}

/// The table from labels to signatures.
#[derive(Debug, Default)]
pub struct Dispatch {
    signatures: Vec<Signature>,
    targets: Vec<Targets>,
    by_labels: HashMap<[Option<Symbol>; 3], Vec<SignatureId>, FxBuildHasher>,
    /// By the places without a label, one bit for each: triples of `by_labels` that have these.
    wildcards: [u32; 8],
    /// By all that they ask.
    known: HashTable<SignatureId>,
    /// For source, edge and target label: symbol to code; 0 for labels that no pattern mentions there.
    codes: [Vec<u32>; 3],
    mentioned: [u32; 3],
    classes: HashMap<[u32; 3], u32, FxBuildHasher>,
    dense: Vec<u32>,
    class_list: Vec<Class>,
    /// Numbers of signatures that may be given again.
    free: Vec<SignatureId>,
}

/// No signature fits.
pub const NO_CLASS: u32 = 0;
const UNKNOWN: u32 = u32::MAX;
const DENSE_CELLS: usize = 1 << 20;
/// Steps of a class's tests that are taken without a pause.
const SHORT: u64 = 64;

impl Dispatch {
    /// Adds the query edges of a unit; returns the signature of each. Once all were added, the table must be sealed.
    pub fn add<'a>(
        &mut self,
        unit: UnitId,
        edges: impl IntoIterator<Item = Asked<'a>>,
        symbols: &mut SymbolTable,
    ) -> Vec<SignatureId> {
        (0..)
            .zip(edges)
            .map(|(edge, asked)| {
                let id = self.signature(asked.signature(symbols));
                self.targets[id.place()].push(Target { unit, edge, admission: Admission::ALWAYS });
                id
            })
            .collect()
    }

    fn signature(&mut self, signature: Signature) -> SignatureId {
        let asked = hash(&signature);
        if let Some(&id) = self.known.find(asked, |id| self.signatures[id.place()] == signature) {
            return id;
        }
        let id = self.free.pop().unwrap_or(SignatureId(self.signatures.len() as u32));
        let alike = self.by_labels.entry(signature.labels).or_default();
        self.wildcards[wildcards(&signature.labels)] += u32::from(alike.is_empty());
        alike.push(id);
        for (position, label) in signature.labels.iter().enumerate() {
            if let Some(Symbol(number)) = *label {
                let codes = &mut self.codes[position];
                codes.resize(codes.len().max(number as usize + 1), 0);
                if codes[number as usize] == 0 {
                    self.mentioned[position] += 1;
                    codes[number as usize] = self.mentioned[position];
                }
            }
        }
        for class in self.class_list.iter_mut().skip(1) {
            if class.fits(&signature.labels, &self.codes) {
                class.add(id, &signature);
            }
        }
        if id.place() == self.signatures.len() {
            self.signatures.push(signature);
            self.targets.push(Targets::default());
        } else {
            self.signatures[id.place()] = signature;
        }
        self.known.insert_unique(asked, id, |id| hash(&self.signatures[id.place()]));
        id
    }

    /// Removes the query edges of a unit, whose signatures these are; calls `f` with each that nothing else has. Its number is
    /// not given again before it is [freed](Self::free).
    pub fn remove(&mut self, unit: UnitId, signatures: &[SignatureId], mut f: impl FnMut(SignatureId)) {
        for &id in signatures {
            let targets = &mut self.targets[id.place()];
            if targets.all.is_empty() {
                continue;
            }
            targets.remove(unit);
            if targets.all.is_empty() {
                let signature = &self.signatures[id.place()];
                if let Ok(entry) = self.known.find_entry(hash(signature), |&known| known == id) {
                    entry.remove();
                }
                if let Some(known) = self.by_labels.get_mut(&signature.labels) {
                    known.retain(|&other| other != id);
                    if known.is_empty() {
                        self.by_labels.remove(&signature.labels);
                        self.wildcards[wildcards(&signature.labels)] -= 1;
                    }
                }
                for class in self.class_list.iter_mut().skip(1) {
                    if class.fits(&signature.labels, &self.codes) {
                        class.remove(id, signature);
                    }
                }
                f(id);
            }
        }
    }

    /// Lets the number of a signature that was removed be given again.
    pub fn free(&mut self, id: SignatureId) {
        self.free.push(id);
    }

    /// Sets for every query edge of these signatures of a unit when an edge can be of use.
    pub fn admit(&mut self, unit: UnitId, signatures: &[SignatureId], admission: impl Fn(u8) -> Admission) {
        for &id in signatures {
            for target in self.targets[id.place()].all.iter_mut().filter(|target| target.unit == unit) {
                target.admission = admission(target.edge);
            }
        }
    }

    /// Makes the table ready once patterns were added. Complexity: O(classes and cells of the table).
    pub fn seal(&mut self) {
        if self.class_list.is_empty() {
            self.class_list.push(Class::default());
        }
        self.classes.clear();
        self.dense.clear();
        let cells: usize = self.mentioned.iter().map(|&labels| labels as usize + 1).product();
        if cells <= DENSE_CELLS {
            self.dense.resize(cells, UNKNOWN);
        }
        for number in 1..self.class_list.len() {
            let codes = self.class_list[number].codes;
            if self.dense.is_empty() {
                self.classes.insert(codes, number as u32);
            } else {
                let cell = self.cell(codes);
                self.dense[cell] = number as u32;
            }
        }
    }

    #[inline]
    fn cell(&self, codes: [u32; 3]) -> usize {
        let [_, edges, targets] = self.mentioned;
        ((codes[0] * (edges + 1) + codes[1]) * (targets + 1) + codes[2]) as usize
    }

    /// Signatures known.
    pub fn len(&self) -> usize {
        self.signatures.len()
    }

    /// Whether no pattern was added.
    pub fn is_empty(&self) -> bool {
        self.signatures.is_empty()
    }

    /// The query edges that share a signature.
    #[inline]
    pub fn targets(&self, signature: SignatureId) -> &[Target] {
        &self.targets[signature.place()].all
    }

    /// Of the query edges that share a signature, those that an edge visits one by one.
    #[inline]
    pub fn alone(&self, signature: SignatureId) -> &[Target] {
        let targets = &self.targets[signature.place()];
        &targets.all[..targets.alone]
    }

    /// Of the query edges that share a signature, those for which one search is made.
    pub fn shared(&self, signature: SignatureId) -> &[Target] {
        let targets = &self.targets[signature.place()];
        &targets.all[targets.alone..]
    }

    /// Lets an edge visit the query edges of a unit one by one.
    pub fn expel(&mut self, unit: UnitId, signature: SignatureId) {
        self.targets[signature.place()].expel(unit);
    }

    /// Says for which query edges of a signature one search is made.
    pub fn share(&mut self, signature: SignatureId, is_shared: impl Fn(&Target) -> bool) {
        self.targets[signature.place()].share(is_shared);
    }

    #[inline]
    fn code(&self, position: usize, symbol: Symbol) -> u32 {
        self.codes[position].get(symbol.0 as usize).copied().unwrap_or(0)
    }

    /// Returns the class of a triple of labels; [`NO_CLASS`] if no query edge has such labels.
    // Compiled with tracing and without, it would else be a call in both.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub fn class(&mut self, labels: [Symbol; 3]) -> u32 {
        let codes = [self.code(0, labels[0]), self.code(1, labels[1]), self.code(2, labels[2])];
        if self.dense.is_empty() {
            if let Some(&class) = self.classes.get(&codes) {
                return class;
            }
            let class = self.new_class(labels, codes);
            self.classes.insert(codes, class);
            return class;
        }
        let cell = self.cell(codes);
        let class = self.dense[cell];
        if class != UNKNOWN {
            return class;
        }
        let class = self.new_class(labels, codes);
        self.dense[cell] = class;
        class
    }

    #[cold]
    fn new_class(&mut self, labels: [Symbol; 3], codes: [u32; 3]) -> u32 {
        let mut class = Class { codes, ..Class::default() };
        let mut found = false;
        for wildcards in (0..8_u8).filter(|&wildcards| self.wildcards[usize::from(wildcards)] > 0) {
            let asked: [Option<Symbol>; 3] =
                std::array::from_fn(|position| (wildcards >> position & 1 == 0).then_some(labels[position]));
            // A label that no pattern mentions at its place is met by wildcards alone.
            if (0..3).any(|position| asked[position].is_some() && codes[position] == 0) {
                continue;
            }
            for &id in self.by_labels.get(&asked).map_or(&[][..], Vec::as_slice) {
                found = true;
                class.add(id, &self.signatures[id.place()]);
            }
        }
        if !found {
            return NO_CLASS;
        }
        self.class_list.push(class);
        self.class_list.len() as u32 - 1
    }

    /// Calls `f` with every signature of the class that the record satisfies whole.
    #[inline]
    pub fn satisfied(&self, class: u32, record: &Record<'_>, meter: &mut Meter<'_>, mut f: impl FnMut(SignatureId)) {
        let Record { batch, row, .. } = *record;
        let class = &self.class_list[class as usize];
        let (source, target) = (batch.source(row), batch.target(row));
        if class.is_long {
            return self.satisfied_slowly(class, record, meter, f);
        }
        let mut test = |id: SignatureId| {
            if self.signatures[id.place()].misfit(record, source, target).is_none() {
                f(id);
            }
        };
        class.free.iter().copied().for_each(&mut test);
        class.constants.of(record).for_each(test);
    }

    /// As [`satisfied`](Self::satisfied), where the tests are so much work that it may have to pause between them.
    #[inline(never)]
    fn satisfied_slowly(&self, class: &Class, record: &Record<'_>, meter: &mut Meter<'_>, mut f: impl FnMut(SignatureId)) {
        let (source, target) = (record.batch.source(record.row), record.batch.target(record.row));
        for id in class.free.iter().copied().chain(class.constants.of(record)) {
            let signature = &self.signatures[id.place()];
            meter.tick(signature.steps);
            if signature.misfit(record, source, target).is_none() {
                f(id);
            }
        }
    }

    /// Why a record does not satisfy a signature; none if it does.
    pub fn refusal(&self, signature: SignatureId, record: &Record<'_>) -> Option<Reason> {
        let signature = &self.signatures[signature.place()];
        let labels = record.batch.labels()[record.row];
        let (source, target) = (record.batch.source(record.row), record.batch.target(record.row));
        if signature.labels.iter().zip(labels).any(|(asked, label)| asked.is_some_and(|asked| asked != label)) {
            return Some(Reason::Label);
        }
        signature.misfit(record, source, target)
    }

    /// Calls `f` with every signature of the class, satisfied or not.
    pub fn signatures_of_class(&self, class: u32, f: impl FnMut(SignatureId)) {
        let class = &self.class_list[class as usize];
        class.free.iter().copied().chain(class.constants.all()).for_each(f);
    }
}

impl Signature {
    /// Why a record whose labels fit does not satisfy the signature; none if it does.
    // Compiled with tracing and without, it would else be a call in both.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn misfit(&self, record: &Record<'_>, source: KeyRef<'_>, target: KeyRef<'_>) -> Option<Reason> {
        let loops = match self.loops {
            Loops::Any => true,
            Loops::Only => source == target,
            Loops::Never => source != target,
        };
        if !loops {
            return Some(Reason::Ends);
        }
        let fits = |key: &Option<Box<str>>, vertex| key.as_deref().is_none_or(|key| KeyRef::parse(key) == vertex);
        if !fits(&self.source_key, source) || !fits(&self.target_key, target) {
            return Some(Reason::VertexId);
        }
        (!self.predicates.iter().all(|predicate| predicate.holds(record))).then_some(Reason::Predicate)
    }
}

/// A record, read by the predicates of its signature.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The batch.
    pub batch: &'a EdgeBatch,
    /// The record's place in it.
    pub row: usize,
    /// Names of labels by number.
    pub labels: &'a [Box<str>],
}

impl<'a> Record<'a> {
    /// Reads an attribute, or a label.
    #[inline]
    pub fn value(&self, column: u16) -> ValueRef<'a> {
        if is_label(column) {
            let [source, label, target] = self.batch.labels()[self.row];
            return match column {
                LABEL => self.name(label),
                SOURCE_LABEL => self.name(source),
                _ => self.name(target),
            };
        }
        self.batch.attribute(self.row, usize::from(column))
    }

    fn name(&self, label: Symbol) -> ValueRef<'a> {
        let name = self.labels.get(label.0 as usize).filter(|_| label != Symbol::ABSENT);
        name.map_or(ValueRef::Null, |name| ValueRef::Text(name))
    }
}

impl Bindings for Record<'_> {
    fn attribute(&self, _: u8, column: u16) -> Operand<'_> {
        self.value(column).into()
    }

    fn ts(&self, _: u8) -> i64 {
        self.batch.ts()[self.row]
    }

    fn id(&self, _: u8) -> IdRef<'_> {
        self.batch.id(self.row)
    }

    fn vertex(&self, vertex: u8) -> KeyRef<'_> {
        if vertex == 0 { self.batch.source(self.row) } else { self.batch.target(self.row) }
    }
}
