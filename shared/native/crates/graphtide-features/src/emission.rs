//! Edges and events that a stream gives for each window of time and key.
//!
//! Invariant: at most one window is open, that of the last record, and its end is later than that record. The order of the
//! stream lets a window end before the first record of a later one. So what is given follows from the records alone, wherever
//! batches end and however often a process starts again.
//! Cost: O(values) a record, and O(values) a key at the end of its window.

use std::cell::OnceCell;

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest as _};
use graphtide_engine::expression::{Bindings, Expression, LABEL, Operand, SOURCE_LABEL, TARGET_LABEL};
use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation, Row};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::{OwnedValue, ValueRef};
use smallvec::SmallVec;

use crate::group::Group;
use crate::key::Values;
use crate::record::Record;
use crate::spec::EmissionSpec;

/// How ids of what is given begin; `graphtide_core.stream_emissions` has it, too.
const ID_PREFIX: &str = "emit:";

/// Ordinals of what is given, above those of records.
const FIRST_ORDINAL: u64 = 1 << 54;

/// Whether a record was given by an emission, as its id says.
pub(crate) fn is_emitted(id: IdRef<'_>) -> bool {
    matches!(id, IdRef::Given(KeyRef::Text(text)) if text.starts_with(ID_PREFIX))
}

/// An emission, with its open window.
#[derive(Debug)]
pub(crate) struct Emission {
    label: String,
    ends: Option<[Option<String>; 2]>,
    every: Time,
    group: Group,
    names: Vec<String>,
    having: Option<Expression>,
    /// Where the open window ends; none while no record is in one.
    end: Option<Time>,
}

/// Where emissions put what they give.
pub(crate) struct Output<'o> {
    pub(crate) batch: &'o mut EdgeBatch,
    pub(crate) symbols: &'o mut SymbolTable,
    /// Where each attribute of the batch is among those of the emission, if it has it.
    pub(crate) columns: &'o [Option<usize>],
    pub(crate) stream: Symbol,
    /// How many were given so far.
    pub(crate) given: &'o mut u64,
}

impl Emission {
    pub(crate) fn new(spec: EmissionSpec) -> Result<Self, String> {
        let EmissionSpec { label, ends, every, group, names, having } = spec;
        if every < 1 {
            return Err(format!("windows of {label} have no length"));
        }
        Ok(Self { label, ends, every, group: Group::tumbling(group)?, names, having, end: None })
    }

    /// The attributes of what it gives.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Records that are held so that they can be deleted.
    pub(crate) fn len(&self) -> usize {
        self.group.len()
    }

    /// Where the open window ends.
    pub(crate) fn end(&self) -> Option<Time> {
        self.end
    }

    /// Forgets all records.
    pub(crate) fn clear(&mut self) {
        self.group.clear();
        self.end = None;
    }

    /// Takes the latest record away that has an id and was not deleted.
    pub(crate) fn delete(&mut self, id: IdRef<'_>) {
        self.group.delete(id);
    }

    /// Takes the next record; windows that end at or before its time were [given](Self::give). Returns false if there is no room
    /// for it, as a window has at most so many keys, and records that can be deleted.
    pub(crate) fn take(&mut self, record: &Record<'_>, most_keys: usize, most_records: usize) -> bool {
        let ts = record.batch.ts()[record.row];
        let Some(end) = ts.div_euclid(self.every).checked_add(1).and_then(|window| window.checked_mul(self.every)) else {
            // No time is its end.
            return true;
        };
        let Some(key) = self.group.key_of(record) else { return true };
        if self.ends.is_some() && !Values(key).take(2).all(is_end) {
            return true;
        }
        if self.group.len() >= most_records || !self.group.has_room(most_keys) {
            return false;
        }
        self.end = Some(end);
        self.group.enter(record, ts);
        true
    }

    /// Gives what the open window has, and closes it.
    pub(crate) fn give(&mut self, output: &mut Output<'_>) {
        let Some(end) = self.end.take() else { return };
        let labels = self.labels(output.symbols);
        let mut values = Vec::new();
        for slot in 0..self.group.keys() {
            values.clear();
            self.group.read(Some(slot), &mut values);
            if values.first() == Some(&OwnedValue::Int(0)) {
                continue;
            }
            self.give_one(end, self.group.key(slot), &values[1..], labels, output);
        }
        self.group.clear();
    }

    fn labels(&self, symbols: &mut SymbolTable) -> [Symbol; 3] {
        let mut of = |name: &Option<String>| name.as_deref().map_or(Symbol::ABSENT, |name| symbols.intern(name));
        let [source, target] = self.ends.as_ref().map_or([Symbol::ABSENT; 2], |[source, target]| [of(source), of(target)]);
        [source, symbols.intern(&self.label), target]
    }

    fn give_one(&self, ts: Time, key: &[u8], values: &[OwnedValue], labels: [Symbol; 3], output: &mut Output<'_>) {
        let mut rest = Values(key);
        let mut digits = [itoa::Buffer::new(), itoa::Buffer::new()];
        let mut ends = [KeyRef::ABSENT; 2];
        if self.ends.is_some() {
            for (end, digits) in ends.iter_mut().zip(&mut digits) {
                *end = match rest.next() {
                    Some(ValueRef::Text(text)) => KeyRef::parse(text),
                    Some(ValueRef::Int(number)) => KeyRef::parse(digits.format(number)),
                    _ => return,
                };
            }
        }
        let attributes: SmallVec<[ValueRef<'_>; 8]> = rest.chain(values.iter().map(OwnedValue::get)).collect();
        let given = Given { emission: self, ts, key, ends, attributes: &attributes, id: OnceCell::new() };
        if self.having.as_ref().is_some_and(|having| !having.holds(&given)) {
            return;
        }
        let [source_label, label, target_label] = labels;
        let row = Row {
            ordinal: FIRST_ORDINAL + *output.given % FIRST_ORDINAL,
            line: 0,
            ts,
            operation: Operation::Insert,
            source: ends[0],
            target: ends[1],
            label,
            source_label,
            target_label,
            stream: output.stream,
            id: given.id(0),
            raw: b"",
        };
        *output.given += 1;
        let value = |column: &Option<usize>| column.map_or(ValueRef::Null, |column| attributes[column]);
        output.batch.push(&row, output.columns.iter().map(value));
    }
}

/// An edge or event before it is given, as HAVING reads it.
struct Given<'g> {
    emission: &'g Emission,
    ts: Time,
    key: &'g [u8],
    ends: [KeyRef<'g>; 2],
    attributes: &'g [ValueRef<'g>],
    /// Its id, once it was asked for: most of what HAVING leaves out needs none.
    id: OnceCell<String>,
}

impl Bindings for Given<'_> {
    fn attribute(&self, _: u8, column: u16) -> Operand<'_> {
        let end = |place: usize| self.emission.ends.as_ref().and_then(|ends| ends[place].as_deref());
        let label = match column {
            LABEL => Some(self.emission.label.as_str()),
            SOURCE_LABEL => end(0),
            TARGET_LABEL => end(1),
            column => return self.attributes.get(usize::from(column)).map_or(Operand::Null, |&value| value.into()),
        };
        label.map_or(Operand::Null, Operand::Text)
    }

    fn ts(&self, _: u8) -> i64 {
        self.ts
    }

    fn id(&self, _: u8) -> IdRef<'_> {
        let Emission { label, every, .. } = self.emission;
        IdRef::Given(KeyRef::Text(self.id.get_or_init(|| spell_id(label, self.ts - every, *every, self.key))))
    }

    fn vertex(&self, side: u8) -> KeyRef<'_> {
        self.ends[usize::from(side != 0)]
    }
}

/// Whether a value of a key can be an end.
fn is_end(value: ValueRef<'_>) -> bool {
    match value {
        ValueRef::Text(text) => !text.is_empty(),
        value => matches!(value, ValueRef::Int(_)),
    }
}

fn spell_id(label: &str, start: Time, length: Time, key: &[u8]) -> String {
    let digest: [u8; 16] = Blake2b::<U16>::digest(key).into();
    format!("{ID_PREFIX}{label}:{start}+{length}:{:032x}", u128::from_be_bytes(digest))
}
