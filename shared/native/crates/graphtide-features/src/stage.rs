//! The stage of a run that adds features to batches.

use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::symbol::SymbolTable;
use graphtide_graph::value::{OwnedValue, ValueRef};

use crate::group::Group;
use crate::record::Record;
use crate::spec::{Spec, SpecError};

/// The features of a stream, with what they have of it.
#[derive(Debug)]
pub struct Features {
    inputs: Vec<String>,
    groups: Vec<Group>,
    names: Vec<String>,
    most_records: usize,
    shed: u64,
}

impl Features {
    /// Reads features as Python states them.
    pub fn new(json: &str) -> Result<Self, SpecError> {
        let spec: Spec = serde_json::from_str(json).map_err(|error| SpecError(error.to_string()))?;
        let groups = spec.groups.into_iter().map(Group::new).collect::<Result<Vec<_>, _>>().map_err(SpecError)?;
        let names = groups.iter().flat_map(|group| group.names().map(str::to_owned)).collect();
        Ok(Self { inputs: spec.inputs, groups, names, most_records: spec.most_records.max(1), shed: 0 })
    }

    /// The attributes that the features read.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The names of the features, in the order of their values.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Records that left the windows of a group before their time, because its log was full.
    pub fn shed(&self) -> u64 {
        self.shed
    }

    /// Records that the logs of all groups hold.
    pub fn held(&self) -> usize {
        self.groups.iter().map(Group::len).sum()
    }

    /// Forgets all records: the times of the stream begin anew.
    pub fn clear(&mut self) {
        self.groups.iter_mut().for_each(Group::clear);
    }

    /// Takes the next batch of the ordered stream, and gives its records with the values of the features.
    ///
    /// `columns` has where the batch has each input. `layout` has where each attribute of the result comes from: a column of
    /// the batch, or the feature of that number behind all of them.
    #[must_use]
    pub fn add_to(
        &mut self,
        batch: &EdgeBatch,
        symbols: &SymbolTable,
        columns: &[Option<usize>],
        layout: &[usize],
    ) -> EdgeBatch {
        let mut added = EdgeBatch::new(layout.len());
        let mut values: Vec<OwnedValue> = Vec::new();
        for row in 0..batch.len() {
            values.clear();
            if batch.operations()[row] == Operation::Delete {
                self.groups.iter_mut().for_each(|group| group.delete(batch.id(row)));
            } else {
                self.take(&Record { batch, row, symbols, columns }, &mut values);
            }
            let attribute = |&place: &usize| match place.checked_sub(batch.width()) {
                None => batch.attribute(row, place),
                Some(feature) => values.get(feature).map_or(ValueRef::Null, OwnedValue::get),
            };
            added.push(&batch.row(row), layout.iter().map(attribute));
        }
        added
    }

    fn take(&mut self, record: &Record<'_>, values: &mut Vec<OwnedValue>) {
        for group in &mut self.groups {
            group.take(record, values);
            if group.len() > self.most_records {
                group.shed();
                self.shed += 1;
            }
        }
    }
}
