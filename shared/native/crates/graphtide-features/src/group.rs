//! Features with equal keys and conditions: one log of records, one accumulator for each key and function.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};

use graphtide_engine::expression::Expression;
use graphtide_graph::Time;
use graphtide_graph::key::IdRef;
use graphtide_graph::value::OwnedValue;
use smallvec::SmallVec;

use crate::accumulator::Accumulator;
use crate::held::{Held, Needs};
use crate::key::spell;
use crate::record::Record;
use crate::spec::{FeatureSpec, Function, GroupSpec};

/// Two hashes of an id by secrets of the process, so that no two ids can be found that are taken for one.
type IdHash = [u64; 2];

/// A function over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measure {
    function: Function,
    value: Option<usize>,
    over: Time,
}

/// Where a feature's value comes from.
#[derive(Debug)]
struct Feature {
    name: String,
    function: Function,
    measure: usize,
    /// The measure of the longer window, and how many windows it has.
    against: Option<(usize, f64)>,
    excludes_current: bool,
}

/// A record in the log.
#[derive(Debug)]
struct Entry {
    ts: Time,
    key: u32,
    is_alive: bool,
    /// None for an id that was made.
    id: Option<IdHash>,
}

/// A key that records in the log have.
#[derive(Debug, Default)]
struct Slot {
    key: Box<[u8]>,
    records: u32,
}

/// The features of a group, with what they have of the stream.
#[derive(Debug)]
pub(crate) struct Group {
    keys: Vec<Expression>,
    condition: Option<Expression>,
    values: Vec<Expression>,
    needs: Vec<Needs>,
    measures: Vec<Measure>,
    features: Vec<Feature>,
    log: VecDeque<Entry>,
    /// As many for each record of the log as there are values.
    held: VecDeque<Held>,
    /// Whether the log has all records; else it has those alone that can be deleted.
    keeps_all: bool,
    /// The number of the log's first record.
    first: u64,
    /// Of each measure, the number of the first record that is in its window.
    cursors: Vec<u64>,
    by_key: HashMap<Box<[u8]>, u32>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Those of each slot, in the order of the measures.
    accumulators: Vec<Accumulator>,
    /// The records in the log with each id, once something was deleted.
    by_id: Option<HashMap<IdHash, SmallVec<[u64; 1]>>>,
    hashers: [RandomState; 2],
    spelled: Vec<u8>,
}

static MISSING: Held = Held::Missing;
/// The value of a record for a count of records.
static PRESENT: Held = Held::SomeText;

impl Group {
    /// A group whose records leave one by one, by their windows.
    pub(crate) fn sliding(spec: GroupSpec) -> Result<Self, String> {
        Self::new(spec).map(|group| Self { keeps_all: true, ..group })
    }

    /// A group whose records leave all at once, by [`clear`](Self::clear).
    pub(crate) fn tumbling(spec: GroupSpec) -> Result<Self, String> {
        Self::new(spec).map(|group| {
            let needs_log = |each: &Measure| matches!(each.function, Function::Different | Function::Last);
            Self { keeps_all: group.measures.iter().any(needs_log), ..group }
        })
    }

    fn new(spec: GroupSpec) -> Result<Self, String> {
        let mut needs = vec![Needs::default(); spec.values.len()];
        let mut measures: Vec<Measure> = Vec::new();
        let mut place = |function, value, over| {
            let wanted = Measure { function, value, over };
            measures.iter().position(|each| *each == wanted).unwrap_or_else(|| {
                measures.push(wanted);
                measures.len() - 1
            })
        };
        let mut features = Vec::new();
        for FeatureSpec { name, function, value, over, against, excludes_current } in spec.features {
            let needs = match value {
                Some(value) => {
                    needs.get_mut(value).ok_or_else(|| format!("feature {name} is over a value that is not there"))?
                }
                None if function == Function::Count => &mut Needs::default(),
                None => return Err(format!("feature {name} needs a value")),
            };
            needs.digests |= function == Function::Different;
            needs.texts |= function == Function::Last;
            let measure = place(function, value, over);
            let against = against.map(|(longer, windows)| (place(function, value, longer), windows));
            features.push(Feature { name, function, measure, against, excludes_current });
        }
        Ok(Self {
            keys: spec.keys,
            condition: spec.condition,
            values: spec.values,
            needs,
            cursors: vec![0; measures.len()],
            measures,
            features,
            log: VecDeque::new(),
            held: VecDeque::new(),
            keeps_all: true,
            first: 0,
            by_key: HashMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            accumulators: Vec::new(),
            by_id: None,
            hashers: [RandomState::new(), RandomState::new()],
            spelled: Vec::new(),
        })
    }

    /// The names of its features.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.features.iter().map(|each| each.name.as_str())
    }

    /// Records in the log.
    pub(crate) fn len(&self) -> usize {
        self.log.len()
    }

    /// Forgets all records.
    pub(crate) fn clear(&mut self) {
        self.log.clear();
        self.held.clear();
        self.by_key.clear();
        self.slots.clear();
        self.free.clear();
        self.accumulators.clear();
        self.by_id = None;
        self.first = 0;
        self.cursors.fill(0);
    }

    /// Takes the next record, and appends the values of the features.
    pub(crate) fn take(&mut self, record: &Record<'_>, values: &mut Vec<OwnedValue>) {
        let ts = record.batch.ts()[record.row];
        self.pass(ts);
        if !self.spell_key(record) {
            values.extend(self.features.iter().map(|_| OwnedValue::Null));
            return;
        }
        let is_counted = self.condition.as_ref().is_none_or(|condition| condition.holds(record));
        let begun = values.len();
        let is_read_before = !is_counted || self.features.iter().any(|each| each.excludes_current);
        if is_read_before {
            let slot = self.by_key.get(self.spelled.as_slice()).copied();
            self.read(slot, values);
        }
        if !is_counted {
            return;
        }
        let slot = self.enter(record, ts);
        self.read(Some(slot), values);
        if is_read_before {
            // What excludes the record was read before it came, the others after it.
            let after = values.split_off(begun + self.features.len());
            for ((feature, value), after) in self.features.iter().zip(&mut values[begun..]).zip(after) {
                if !feature.excludes_current {
                    *value = after;
                }
            }
        }
    }

    /// Takes the latest record away that has an id and was not deleted.
    pub(crate) fn delete(&mut self, id: IdRef<'_>) {
        let Some(hash) = hash_of(&self.hashers, id) else { return };
        let (first, log) = (self.first, &self.log);
        let by_id = self.by_id.get_or_insert_with(|| {
            let mut by_id: HashMap<IdHash, SmallVec<[u64; 1]>> = HashMap::new();
            for (entry, number) in log.iter().zip(first..).filter(|(entry, _)| entry.is_alive) {
                if let Some(id) = entry.id {
                    by_id.entry(id).or_default().push(number);
                }
            }
            by_id
        });
        let Some(numbers) = by_id.get_mut(&hash) else { return };
        let Some(number) = numbers.pop() else { return };
        if numbers.is_empty() {
            by_id.remove(&hash);
        }
        let place = (number - self.first) as usize;
        self.log[place].is_alive = false;
        let slot = self.log[place].key;
        for measure in 0..self.measures.len() {
            if number >= self.cursors[measure] {
                self.leave(measure, slot, number, false);
            }
        }
    }

    /// Lets the oldest record leave all windows, before its time.
    pub(crate) fn shed(&mut self) {
        for measure in 0..self.measures.len() {
            if self.cursors[measure] == self.first {
                self.step(measure);
            }
        }
        self.drop_passed();
    }

    /// Lets records leave the windows that they are too old for at a time.
    fn pass(&mut self, now: Time) {
        for measure in 0..self.measures.len() {
            let over = self.measures[measure].over;
            while let Some(entry) = self.log.get((self.cursors[measure] - self.first) as usize)
                && now.saturating_sub(entry.ts) >= over
            {
                self.step(measure);
            }
        }
        self.drop_passed();
    }

    /// Moves the cursor of a measure past the first record of its window.
    fn step(&mut self, measure: usize) {
        let number = self.cursors[measure];
        self.cursors[measure] += 1;
        let entry = &self.log[(number - self.first) as usize];
        if entry.is_alive {
            let slot = entry.key;
            self.leave(measure, slot, number, true);
        }
    }

    fn leave(&mut self, measure: usize, slot: u32, number: u64, is_oldest: bool) {
        let value = self.measures[measure].value;
        let view = View { log: &self.log, held: &self.held, first: self.first, width: self.values.len(), value };
        let accumulator = &mut self.accumulators[slot as usize * self.measures.len() + measure];
        accumulator.take(number, view.at(number), is_oldest, |number| view.alive(number));
    }

    /// Drops the records that no window has any more.
    fn drop_passed(&mut self) {
        let Some(&kept) = self.cursors.iter().min() else { return };
        while self.first < kept {
            let Some(entry) = self.log.pop_front() else { return };
            self.held.drain(..self.values.len());
            if entry.is_alive
                && let (Some(by_id), Some(id)) = (&mut self.by_id, entry.id)
                && let Some(numbers) = by_id.get_mut(&id)
            {
                numbers.retain(|number| *number != self.first);
                if numbers.is_empty() {
                    by_id.remove(&id);
                }
            }
            self.first += 1;
            let slot = &mut self.slots[entry.key as usize];
            slot.records -= 1;
            if slot.records == 0 {
                self.by_key.remove(&std::mem::take(&mut slot.key));
                self.free.push(entry.key);
            }
        }
    }

    /// Writes the key of a record, so that equal keys have equal bytes; returns whether it has one.
    fn spell_key(&mut self, record: &Record<'_>) -> bool {
        self.spelled.clear();
        let spelled = &mut self.spelled;
        self.keys.iter().all(|key| key.with_value(record, |value| spell(value, spelled)))
    }

    /// The key of a record for [`enter`](Self::enter); none if it lacks a value of the key, or does not satisfy the condition.
    pub(crate) fn key_of(&mut self, record: &Record<'_>) -> Option<&[u8]> {
        let is_counted = self.spell_key(record) && self.condition.as_ref().is_none_or(|condition| condition.holds(record));
        is_counted.then_some(self.spelled.as_slice())
    }

    /// Whether the last key is one of a record in the log, or there are fewer keys than these.
    pub(crate) fn has_room(&self, most_keys: usize) -> bool {
        self.slots.len() < most_keys || self.by_key.contains_key(self.spelled.as_slice())
    }

    /// How many keys there were since the last [`clear`](Self::clear), of a tumbling group.
    pub(crate) fn keys(&self) -> u32 {
        self.slots.len() as u32
    }

    /// A key, by its number in the order of the first records.
    pub(crate) fn key(&self, slot: u32) -> &[u8] {
        &self.slots[slot as usize].key
    }

    /// Enters a record with the key that was spelled, and returns its slot.
    pub(crate) fn enter(&mut self, record: &Record<'_>, ts: Time) -> u32 {
        let slot = match self.by_key.get(self.spelled.as_slice()) {
            Some(&slot) => slot,
            None => self.open_slot(),
        };
        let number = self.first + self.log.len() as u64;
        let values = self.values.iter().zip(&self.needs);
        let values: SmallVec<[Held; 4]> =
            values.map(|(value, needs)| value.with_value(record, |value| Held::new(value, *needs))).collect();
        let first = slot as usize * self.measures.len();
        let accumulators = &mut self.accumulators[first..first + self.measures.len()];
        for (accumulator, measure) in accumulators.iter_mut().zip(&self.measures) {
            accumulator.add(number, measure.value.map_or(&PRESENT, |value| &values[value]));
        }
        let id = hash_of(&self.hashers, record.batch.id(record.row));
        if !self.keeps_all && id.is_none() {
            return slot;
        }
        self.slots[slot as usize].records += 1;
        if let (Some(by_id), Some(id)) = (&mut self.by_id, id) {
            by_id.entry(id).or_default().push(number);
        }
        self.log.push_back(Entry { ts, key: slot, is_alive: true, id });
        self.held.extend(values);
        slot
    }

    fn open_slot(&mut self) -> u32 {
        let key: Box<[u8]> = self.spelled.as_slice().into();
        let slot = self.free.pop().unwrap_or(self.slots.len() as u32);
        let fresh = self.measures.iter().map(|measure| Accumulator::new(measure.function));
        if slot as usize == self.slots.len() {
            self.slots.push(Slot::default());
            self.accumulators.extend(fresh);
        } else {
            let first = slot as usize * self.measures.len();
            self.accumulators.splice(first..first + self.measures.len(), fresh);
        }
        self.slots[slot as usize].key.clone_from(&key);
        self.by_key.insert(key, slot);
        slot
    }

    /// Appends the values of the features for a key as they are now; none for one that no record in the log has.
    pub(crate) fn read(&mut self, slot: Option<u32>, values: &mut Vec<OwnedValue>) {
        let width = self.measures.len();
        for feature in &self.features {
            let mut measured = |measure: usize| {
                let function = feature.function;
                let Some(slot) = slot else { return Accumulator::new(function).value(function, |_| None) };
                let value = self.measures[measure].value;
                let view = View { log: &self.log, held: &self.held, first: self.first, width: self.values.len(), value };
                self.accumulators[slot as usize * width + measure].value(function, |number| view.alive(number))
            };
            let value = measured(feature.measure);
            values.push(match feature.against {
                None => value,
                Some((longer, windows)) => compare(&value, &measured(longer), windows),
            });
        }
    }
}

/// The log's values for one measure.
#[derive(Clone, Copy)]
struct View<'g> {
    log: &'g VecDeque<Entry>,
    held: &'g VecDeque<Held>,
    first: u64,
    width: usize,
    value: Option<usize>,
}

impl<'g> View<'g> {
    /// The value of a record in the log.
    fn at(&self, number: u64) -> &'g Held {
        match self.value {
            None => &PRESENT,
            Some(value) => self.held.get((number - self.first) as usize * self.width + value).unwrap_or(&MISSING),
        }
    }

    /// As [`at`](Self::at), none for a record that was deleted.
    fn alive(&self, number: u64) -> Option<&'g Held> {
        let place = number.checked_sub(self.first)? as usize;
        self.log.get(place).filter(|entry| entry.is_alive).map(|_| self.at(number))
    }
}

/// A count or sum by the mean of windows of its length in a longer one.
fn compare(value: &OwnedValue, longer: &OwnedValue, windows: f64) -> OwnedValue {
    let number = |value: &OwnedValue| match *value {
        OwnedValue::Int(number) => Some(number as f64),
        OwnedValue::Float(number) => Some(number),
        _ => None,
    };
    match (number(value), number(longer)) {
        (Some(value), Some(longer)) if longer != 0.0 => {
            let ratio = value * windows / longer;
            if ratio.is_finite() { OwnedValue::Float(ratio) } else { OwnedValue::Null }
        }
        _ => OwnedValue::Null,
    }
}

fn hash_of(hashers: &[RandomState; 2], id: IdRef<'_>) -> Option<IdHash> {
    match id {
        IdRef::Made(_) => None,
        IdRef::Given(key) => Some([hashers[0].hash_one(key), hashers[1].hash_one(key)]),
    }
}
