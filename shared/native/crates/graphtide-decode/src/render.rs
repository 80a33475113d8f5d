//! A record of a batch as a JSON object, for a dead letter of a format that has no bytes a person could read.

use std::fmt::Write as _;

use graphtide_graph::batch::{EdgeBatch, Operation};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::ValueRef;

use crate::column::Column;

/// Renders a record as the JSON Lines decoder would read it; labels past the table's bound and an id that was made are left
/// out.
pub fn record(batch: &EdgeBatch, index: usize, symbols: &SymbolTable, attributes: &[String]) -> Vec<u8> {
    let row = batch.row(index);
    let mut object = Object::default();
    object.member(Column::Ts.name(), ValueRef::Int(row.ts));
    let mut key = |column: Column, key: KeyRef<'_>| key.with_text(|text| object.member(column.name(), ValueRef::Text(text)));
    key(Column::Source, row.source);
    key(Column::Target, row.target);
    if let IdRef::Given(id) = row.id {
        key(Column::Id, id);
    }
    let labels = [(Column::Label, row.label), (Column::SourceLabel, row.source_label), (Column::TargetLabel, row.target_label)];
    for (column, symbol) in labels {
        if symbol != Symbol::ABSENT {
            object.member(column.name(), ValueRef::Text(symbols.name(symbol)));
        }
    }
    if row.operation == Operation::Delete {
        object.member(Column::Operation.name(), ValueRef::Text("delete"));
    }
    for (name, value) in attributes.iter().zip(batch.attributes(index)) {
        object.member(name, value);
    }
    object.finish()
}

/// A JSON object that grows member by member.
#[derive(Default)]
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn member(&mut self, name: &str, value: ValueRef<'_>) {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        self.string(name);
        self.text.push(':');
        // Writing into a String cannot fail.
        let _ = match value {
            ValueRef::Bool(truth) => write!(self.text, "{truth}"),
            ValueRef::Int(number) => write!(self.text, "{number}"),
            ValueRef::Float(number) if number.is_finite() => write!(self.text, "{number:?}"),
            ValueRef::Null | ValueRef::Float(_) => write!(self.text, "null"),
            ValueRef::Text(text) => {
                self.string(text);
                Ok(())
            }
        };
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        if self.text.is_empty() {
            self.text.push('{');
        }
        self.text.push('}');
        self.text.into_bytes()
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for char in text.chars() {
            let _ = match char {
                '"' | '\\' => write!(self.text, "\\{char}"),
                '\0'..='\x1f' => write!(self.text, "\\u{:04x}", u32::from(char)),
                _ => self.text.write_char(char),
            };
        }
        self.text.push('"');
    }
}
