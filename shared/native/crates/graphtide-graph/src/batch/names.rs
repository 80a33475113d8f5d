//! Which names that patterns ask for a batch has: labels of edges and of vertices, attributes with a value.
//!
//! Deletions count for nothing. Cost: one pass over the records, a few instructions each, for the labels and for each
//! attribute. An attribute that has been found is not looked for again, which is up to the caller.

use crate::batch::{EdgeBatch, Operation};
use crate::symbol::Symbol;
use crate::value::ValueRef;

impl EdgeBatch {
    /// How many records add something, and which symbols label their edges and which their vertices: flags by number of a
    /// symbol, of those below `symbols`.
    pub fn labels_used(&self, symbols: usize) -> (u64, [Vec<bool>; 2]) {
        let [mut edges, mut vertices] = [vec![false; symbols], vec![false; symbols]];
        let mut records = 0;
        let use_of = |flags: &mut Vec<bool>, symbol: Symbol| {
            if let Some(flag) = flags.get_mut(symbol.0 as usize) {
                *flag = true;
            }
        };
        for (&[source, label, target], &operation) in self.labels().iter().zip(self.operations()) {
            if operation == Operation::Insert {
                records += 1;
                use_of(&mut edges, label);
                use_of(&mut vertices, source);
                use_of(&mut vertices, target);
            }
        }
        (records, [edges, vertices])
    }

    /// Whether a column has a value, and if it has, whether all of its values are numbers. Looks at every record.
    pub fn values_in(&self, column: usize) -> Option<bool> {
        let mut numbers = None;
        for (row, &operation) in self.operations().iter().enumerate() {
            if operation == Operation::Insert {
                match self.attribute(row, column) {
                    ValueRef::Null => {}
                    ValueRef::Int(_) | ValueRef::Float(_) => numbers = numbers.or(Some(true)),
                    ValueRef::Bool(_) | ValueRef::Text(_) => return Some(false),
                }
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Row;
    use crate::key::{IdRef, KeyRef};

    fn row(operation: Operation, labels: [u32; 3]) -> Row<'static> {
        let [source_label, label, target_label] = labels.map(Symbol);
        Row {
            ordinal: 0,
            line: 1,
            ts: 0,
            operation,
            source: KeyRef::parse("a"),
            target: KeyRef::parse("b"),
            label,
            source_label,
            target_label,
            stream: Symbol::ABSENT,
            id: IdRef::Made(0),
            raw: b"",
        }
    }

    #[test]
    fn labels_are_those_of_records_that_add_something() {
        let mut batch = EdgeBatch::new(0);
        batch.push(&row(Operation::Insert, [0, 2, 3]), []);
        batch.push(&row(Operation::Delete, [4, 4, 4]), []);
        let (records, [edges, vertices]) = batch.labels_used(5);
        assert_eq!(records, 1);
        assert_eq!(edges, [false, false, true, false, false]);
        assert_eq!(vertices, [true, false, false, true, false]);
        assert_eq!(batch.labels_used(1).1[0], [false], "a symbol past those that are asked for is none of them");
    }

    #[test]
    fn a_column_has_numbers_alone_where_no_record_says_otherwise() {
        let text = ValueRef::Text("t");
        let mut batch = EdgeBatch::new(5);
        let columns = |values: [ValueRef<'static>; 5]| values;
        let (null, one) = (ValueRef::Null, ValueRef::Int(1));
        batch.push(&row(Operation::Insert, [0; 3]), columns([null, null, one, one, ValueRef::Bool(true)]));
        batch.push(&row(Operation::Insert, [0; 3]), columns([null, ValueRef::Float(0.5), text, null, null]));
        batch.push(&row(Operation::Delete, [0; 3]), columns([one, text, one, text, one]));
        let found: Vec<_> = (0..5).map(|column| batch.values_in(column)).collect();
        assert_eq!(found, [None, Some(true), Some(false), Some(true), Some(false)]);
    }
}
