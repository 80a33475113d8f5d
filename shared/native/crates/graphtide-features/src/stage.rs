//! The stage of a run that adds features to batches, and what emissions give.

use std::collections::HashMap;

use graphtide_graph::Time;
use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::{OwnedValue, ValueRef};

use crate::emission::{Emission, Output, is_emitted};
use crate::group::Group;
use crate::record::Record;
use crate::spec::{Spec, SpecError};

/// The features and emissions of a stream, with what they have of it.
#[derive(Debug)]
pub struct Features {
    inputs: Vec<String>,
    groups: Vec<Group>,
    names: Vec<String>,
    emissions: Vec<Emission>,
    most_records: usize,
    most_keys: usize,
    shed: u64,
    uncounted: u64,
    /// The first end of an open window.
    next_end: Option<Time>,
    /// How many edges and events emissions gave.
    given: u64,
    stream: Symbol,
}

/// Where the attributes of results come from, for batches with certain attributes.
#[derive(Debug)]
pub struct Layout {
    /// The attributes of the batches.
    before: Vec<String>,
    /// The attributes of the results.
    pub after: Vec<String>,
    /// Where the batches have each input.
    columns: Vec<Option<usize>>,
    /// Where each attribute of the result comes from: a column of the batch, or the feature of that number behind all of them.
    /// None for what only emissions have.
    places: Vec<Option<usize>>,
    /// Of each emission, where it has each attribute of the result.
    emitted: Vec<Vec<Option<usize>>>,
}

impl Layout {
    /// Whether it is for batches with these attributes.
    pub fn is_for(&self, attributes: &[String]) -> bool {
        self.before == attributes
    }
}

impl Features {
    /// Reads features and emissions as Python states them.
    pub fn new(json: &str) -> Result<Self, SpecError> {
        let spec: Spec = serde_json::from_str(json).map_err(|error| SpecError(error.to_string()))?;
        let groups = spec.groups.into_iter().map(Group::sliding).collect::<Result<Vec<_>, _>>().map_err(SpecError)?;
        let emissions = spec.emissions.into_iter().map(Emission::new).collect::<Result<_, _>>().map_err(SpecError)?;
        let names = groups.iter().flat_map(|group| group.names().map(str::to_owned)).collect();
        Ok(Self {
            inputs: spec.inputs,
            groups,
            names,
            emissions,
            most_records: spec.most_records.max(1),
            most_keys: spec.most_keys.max(1),
            shed: 0,
            uncounted: 0,
            next_end: None,
            given: 0,
            stream: Symbol::ABSENT,
        })
    }

    /// Records that left the windows of a group before their time, because its log was full.
    pub fn shed(&self) -> u64 {
        self.shed
    }

    /// Records that are in no window of an emission, because it was full.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Records that the logs of all groups and emissions hold.
    pub fn held(&self) -> usize {
        self.groups.iter().map(Group::len).chain(self.emissions.iter().map(Emission::len)).sum()
    }

    /// Forgets all records: the times of the stream begin anew.
    pub fn clear(&mut self) {
        self.groups.iter_mut().for_each(Group::clear);
        self.emissions.iter_mut().for_each(Emission::clear);
        self.next_end = None;
    }

    /// Lays out results for batches with these attributes. Emissions keep the attributes that are among `kept`; all if it is none.
    pub fn lay_out(&self, before: &[String], kept: Option<&[String]>) -> Layout {
        let width = before.len();
        let is_kept = |name: &&String| kept.is_none_or(|kept| kept.contains(name));
        let emitted = self.emissions.iter().flat_map(Emission::names).filter(is_kept);
        let mut after = before.to_vec();
        for name in self.names.iter().chain(emitted) {
            if !after.contains(name) {
                after.push(name.clone());
            }
        }
        let own: HashMap<&str, usize> = before.iter().chain(&self.names).map(String::as_str).zip(0..).collect();
        let columns = self.inputs.iter().map(|name| before.iter().position(|each| each == name)).collect();
        let places = after.iter().map(|name| own.get(name.as_str()).copied()).collect();
        let among = |names: &[String]| after.iter().map(|name| names.iter().position(|each| each == name)).collect();
        let emitted = self.emissions.iter().map(|each| among(each.names())).collect();
        debug_assert!(own.values().all(|&place| place < width + self.names.len()));
        Layout { before: before.to_vec(), columns, places, emitted, after }
    }

    /// Takes the next batch of the ordered stream, and gives its records with the values of the features. What emissions give of
    /// windows that end by then is between the records.
    #[must_use]
    pub fn add_to(&mut self, batch: &EdgeBatch, symbols: &mut SymbolTable, layout: &Layout) -> EdgeBatch {
        let mut added = EdgeBatch::new(layout.after.len());
        let mut values: Vec<OwnedValue> = Vec::new();
        for row in 0..batch.len() {
            self.stream = batch.stream(row);
            self.give_until(batch.ts()[row], symbols, layout, &mut added);
            values.clear();
            if batch.operations()[row] == Operation::Delete {
                self.delete(batch, row);
            } else if !is_emitted(batch.id(row)) {
                self.take(&Record { batch, row, symbols, columns: &layout.columns }, &mut values);
            }
            let attribute = |place: &Option<usize>| match place.map(|place| place.checked_sub(batch.width()).ok_or(place)) {
                None => ValueRef::Null,
                Some(Err(column)) => batch.attribute(row, column),
                Some(Ok(feature)) => values.get(feature).map_or(ValueRef::Null, OwnedValue::get),
            };
            added.push(&batch.row(row), layout.places.iter().map(attribute));
        }
        added
    }

    /// Lets time pass: gives what emissions have of windows that end at this time or before.
    #[must_use]
    pub fn advance(&mut self, time: Time, symbols: &mut SymbolTable, layout: &Layout) -> EdgeBatch {
        let mut given = EdgeBatch::new(layout.after.len());
        self.give_until(time, symbols, layout, &mut given);
        given
    }

    /// Whether a window ends at this time or before.
    pub fn is_due(&self, time: Time) -> bool {
        self.next_end.is_some_and(|end| end <= time)
    }

    fn give_until(&mut self, time: Time, symbols: &mut SymbolTable, layout: &Layout, batch: &mut EdgeBatch) {
        while let Some(end) = self.next_end.filter(|&end| end <= time) {
            for (emission, columns) in self.emissions.iter_mut().zip(&layout.emitted) {
                if emission.end() == Some(end) {
                    let (stream, given) = (self.stream, &mut self.given);
                    emission.give(&mut Output { batch: &mut *batch, symbols: &mut *symbols, columns, stream, given });
                }
            }
            self.next_end = self.emissions.iter().filter_map(Emission::end).min();
        }
    }

    fn delete(&mut self, batch: &EdgeBatch, row: usize) {
        self.groups.iter_mut().for_each(|group| group.delete(batch.id(row)));
        self.emissions.iter_mut().for_each(|emission| emission.delete(batch.id(row)));
    }

    fn take(&mut self, record: &Record<'_>, values: &mut Vec<OwnedValue>) {
        for group in &mut self.groups {
            group.take(record, values);
            if group.len() > self.most_records {
                group.shed();
                self.shed += 1;
            }
        }
        for emission in &mut self.emissions {
            let is_counted = emission.take(record, self.most_keys, self.most_records);
            self.uncounted += u64::from(!is_counted);
            self.next_end = self.next_end.into_iter().chain(emission.end()).min();
        }
    }
}
