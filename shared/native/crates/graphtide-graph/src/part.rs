//! The part of a record, in a stream that a key divides into parts.
//!
//! The part is murmur2 of the key's text, without the sign, modulo the number of parts, as Kafka's default partitioners compute
//! it. Values that the pattern language calls equal have one text. `graphtide_core.part_key` is the model.

use std::fmt::Write;

use crate::batch::{EdgeBatch, Operation};
use crate::key::IdRef;
use crate::symbol::SymbolTable;
use crate::value::ValueRef;

const MULTIPLIER: u32 = 0x5BD1_E995;
const SEED: u32 = 0x9747_B28C;

/// Integers are from the negative of this to below it.
const INTEGERS: f64 = 9_223_372_036_854_775_808.0;

/// The field of records that divides a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The source of an edge.
    Source,
    /// Its target.
    Target,
    /// Both its ends: the edge goes to the parts of both.
    Vertex,
    /// The label of an edge, the type of an event.
    Label,
    /// The type of an event.
    Type,
    /// The id.
    Id,
    /// An attribute.
    Attribute,
}

/// What divides a stream, in a batch.
#[derive(Clone, Copy, Debug)]
pub struct PartKey {
    field: Field,
    /// The attribute of this name, if there is one: events have no ends, and edges no type.
    column: Option<usize>,
}

impl PartKey {
    /// The key of this name in batches with these attributes; `None` is both ends.
    pub fn named(name: Option<&str>, attributes: &[String]) -> Self {
        let field = match name {
            None => Field::Vertex,
            Some("src") => Field::Source,
            Some("dst") => Field::Target,
            Some("label") => Field::Label,
            Some("type") => Field::Type,
            Some("id") => Field::Id,
            Some(_) => Field::Attribute,
        };
        Self { field, column: name.and_then(|name| attributes.iter().position(|own| own == name)) }
    }

    fn part(self, field: Field, batch: &EdgeBatch, symbols: &SymbolTable, row: usize, parts: u32, text: &mut String) -> usize {
        let is_event = batch.is_event(row);
        match field {
            Field::Source | Field::Vertex if !is_event => return batch.source(row).with_text(|text| part_of(text, parts)),
            Field::Target if !is_event => return batch.target(row).with_text(|text| part_of(text, parts)),
            Field::Label => return part_of(symbols.name(batch.labels()[row][1]), parts),
            Field::Type if is_event => return part_of(symbols.name(batch.labels()[row][1]), parts),
            Field::Id => {
                if let IdRef::Given(id) = batch.id(row) {
                    return id.with_text(|text| part_of(text, parts));
                }
            }
            _ => match self.column.map_or(ValueRef::Null, |column| batch.attribute(row, column)) {
                ValueRef::Text(value) => return part_of(value, parts),
                value => {
                    text.clear();
                    write_key(value, text);
                    return part_of(text, parts);
                }
            },
        }
        part_of("", parts)
    }
}

/// Divides a batch: for each part, the places of its records, ascending.
///
/// Deletions carry an id alone, so they go to every part. Complexity: O(records, and deletions times parts).
pub fn divide(batch: &EdgeBatch, symbols: &SymbolTable, key: PartKey, parts: u32) -> Vec<Vec<usize>> {
    let mut places = vec![Vec::new(); parts.max(1) as usize];
    let mut text = String::new();
    for row in 0..batch.len() {
        if batch.operations()[row] == Operation::Delete {
            for own in &mut places {
                own.push(row);
            }
            continue;
        }
        let first = key.part(key.field, batch, symbols, row, parts, &mut text);
        places[first].push(row);
        if key.field == Field::Vertex {
            let second = key.part(Field::Target, batch, symbols, row, parts, &mut text);
            if second != first {
                places[second].push(row);
            }
        }
    }
    places
}

/// The part of a key's text, from 0. Complexity: O(length).
pub fn part_of(text: &str, parts: u32) -> usize {
    ((murmur2(text.as_bytes()) & 0x7FFF_FFFF) % parts.max(1)) as usize
}

/// Appends the text of a key: a number as the shortest decimal, whole ones without a point; nothing for a missing value.
pub fn write_key(value: ValueRef<'_>, text: &mut String) {
    match value {
        ValueRef::Null => {}
        ValueRef::Bool(value) => text.push_str(if value { "true" } else { "false" }),
        ValueRef::Int(value) => {
            let _ = write!(text, "{value}");
        }
        ValueRef::Float(value) => write_float(value, text),
        ValueRef::Text(value) => text.push_str(value),
    }
}

fn write_float(value: f64, text: &mut String) {
    if !value.is_finite() {
        text.push_str(if value > 0.0 { "inf" } else { "-inf" });
    } else if value.fract() == 0.0 && (-INTEGERS..INTEGERS).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and in the range")]
        let whole = value as i64;
        let _ = write!(text, "{whole}");
    } else if value.fract() != 0.0 && value.abs() >= 1e-4 {
        let _ = write!(text, "{value}");
    } else {
        let scientific = format!("{value:e}");
        let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        let _ = write!(text, "{digits}e{sign}{exponent:0>2}");
    }
}

/// Austin Appleby's `MurmurHash2`, as Kafka computes it.
fn murmur2(data: &[u8]) -> u32 {
    let length = u32::try_from(data.len() & 0xFFFF_FFFF).unwrap_or(u32::MAX);
    let mut hashed = SEED ^ length;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        let mut word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(MULTIPLIER);
        word = (word ^ (word >> 24)).wrapping_mul(MULTIPLIER);
        hashed = hashed.wrapping_mul(MULTIPLIER) ^ word;
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        hashed = (hashed ^ u32::from_le_bytes(last)).wrapping_mul(MULTIPLIER);
    }
    hashed = (hashed ^ (hashed >> 13)).wrapping_mul(MULTIPLIER);
    hashed ^ (hashed >> 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(value: ValueRef<'_>) -> String {
        let mut text = String::new();
        write_key(value, &mut text);
        text
    }

    #[test]
    fn hashes_are_those_of_kafka() {
        // From `org.apache.kafka.common.utils.UtilsTest`.
        assert_eq!(murmur2(b"21"), (-973_932_308_i32).cast_unsigned());
        assert_eq!(murmur2(b"foobar"), (-790_332_482_i32).cast_unsigned());
        assert_eq!(murmur2(b"a-little-bit-long-string"), (-985_981_536_i32).cast_unsigned());
        assert_eq!(murmur2(b"abc"), 479_470_107);
    }

    #[test]
    fn equal_numbers_have_one_text() {
        assert_eq!(key(ValueRef::Float(5.0)), key(ValueRef::Int(5)));
        assert_eq!(key(ValueRef::Float(-0.0)), "0");
        assert_eq!(key(ValueRef::Float(-9_223_372_036_854_775_808.0)), key(ValueRef::Int(i64::MIN)));
        assert_eq!(key(ValueRef::Float(1e20)), "1e+20");
        assert_eq!(key(ValueRef::Float(0.5)), "0.5");
        assert_eq!(key(ValueRef::Float(0.000_012_5)), "1.25e-05");
        assert_eq!(key(ValueRef::Float(0.0001)), "0.0001");
        assert_eq!(key(ValueRef::Float(1e-7)), "1e-07");
        assert_eq!(key(ValueRef::Float(1.5e-123)), "1.5e-123");
        assert_eq!(key(ValueRef::Null), "");
    }
}
