//! What patterns return of their matches beside ids: values, each one or a list, match after match.

use graphtide_graph::key::{Key, KeyRef, TextArena, with_text_of_made};

use super::json::{begin_member, write_string};
use crate::expression::Operand;

/// One value, or how many that follow are a list.
#[derive(Clone, Copy, Debug)]
enum Item {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Key),
    List(u32),
}

/// Values whose texts lie in an arena.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    items: Vec<Item>,
}

/// The values of a match, by reference.
#[derive(Clone, Copy, Debug)]
pub struct FieldsRef<'a> {
    items: &'a [Item],
    text: &'a TextArena,
}

/// A value of a match.
#[derive(Clone, Copy, Debug)]
pub enum FieldRef<'a> {
    /// A single one.
    One(Operand<'a>),
    /// A list of single ones.
    List(FieldsRef<'a>),
}

impl Fields {
    /// Where the next value will be.
    pub fn end(&self) -> usize {
        self.items.len()
    }

    /// Adds a value.
    pub fn push(&mut self, value: Operand<'_>, text: &mut TextArena) {
        self.items.push(match value {
            Operand::Null => Item::Null,
            Operand::Bool(truth) => Item::Bool(truth),
            Operand::Int(number) => Item::Int(number),
            Operand::Float(number) => Item::Float(number),
            Operand::Text(value) => Item::Text(text.insert(KeyRef::Text(value))),
            Operand::Digits(number) => Item::Text(text.insert(KeyRef::Number(number))),
            Operand::Made(number) => Item::Text(with_text_of_made(number, |made| text.insert(KeyRef::parse(made)))),
        });
    }

    /// Begins a list of so many values, which are to be added next.
    pub fn begin_list(&mut self, length: usize) {
        self.items.push(Item::List(length as u32));
    }

    /// Adds all values of a match; returns where they begin and end.
    pub fn extend(&mut self, values: FieldsRef<'_>, text: &mut TextArena) -> (usize, usize) {
        let start = self.end();
        for &item in values.items {
            self.items.push(match item {
                Item::Text(key) => Item::Text(text.insert(values.text.get(key))),
                other => other,
            });
        }
        (start, self.end())
    }

    /// Reads the values between two places.
    pub fn get<'a>(&'a self, (start, end): (usize, usize), text: &'a TextArena) -> FieldsRef<'a> {
        FieldsRef { items: &self.items[start..end], text }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Bytes held, but for texts.
    pub fn bytes(&self) -> usize {
        self.items.len() * size_of::<Item>()
    }
}

impl<'a> FieldsRef<'a> {
    /// The values.
    pub fn iter(self) -> impl Iterator<Item = FieldRef<'a>> {
        let (mut rest, text) = (self.items, self.text);
        std::iter::from_fn(move || {
            let (&first, others) = rest.split_first()?;
            let length = if let Item::List(length) = first { length as usize } else { 0 };
            let (list, others) = others.split_at(length);
            rest = others;
            Some(match first {
                Item::List(_) => FieldRef::List(FieldsRef { items: list, text }),
                Item::Null => FieldRef::One(Operand::Null),
                Item::Bool(truth) => FieldRef::One(Operand::Bool(truth)),
                Item::Int(number) => FieldRef::One(Operand::Int(number)),
                Item::Float(number) => FieldRef::One(Operand::Float(number)),
                Item::Text(key) => FieldRef::One(text.get(key).into()),
            })
        })
    }

    /// Writes them as a JSON object under names that are written already, each with its colon.
    pub(super) fn write_json(self, names: &[Vec<u8>], out: &mut Vec<u8>) {
        out.push(b'{');
        for (number, (name, value)) in names.iter().zip(self.iter()).enumerate() {
            begin_member(number, name, out);
            write_value(value, out);
        }
        out.push(b'}');
    }
}

/// Adds a value to the bytes of a key: those of equal values are equal, whole numbers of both types too.
pub fn write_key(value: Operand<'_>, out: &mut Vec<u8>) {
    /// Beyond them, floats cannot represent two neighbours.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let mut text = |text: &str| {
        out.push(b't');
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    match value {
        Operand::Text(value) => text(value),
        Operand::Digits(number) => text(itoa::Buffer::new().format(number)),
        Operand::Made(number) => with_text_of_made(number, text),
        Operand::Null => out.push(b'n'),
        Operand::Bool(truth) => out.extend_from_slice(&[b'b', u8::from(truth)]),
        Operand::Float(number) if number.fract() != 0.0 || number.abs() > EXACT || number.is_nan() => {
            out.push(b'f');
            out.extend_from_slice(&number.to_bits().to_le_bytes());
        }
        Operand::Float(number) => write_key(Operand::Int(number as i64), out),
        Operand::Int(number) => {
            out.push(b'i');
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

fn write_value(value: FieldRef<'_>, out: &mut Vec<u8>) {
    match value {
        FieldRef::One(Operand::Null) => out.extend_from_slice(b"null"),
        FieldRef::One(Operand::Bool(truth)) => out.extend_from_slice(if truth { b"true" } else { b"false" }),
        FieldRef::One(Operand::Int(number)) => out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
        // Writing a number to memory cannot fail; one that is not finite is null in JSON.
        FieldRef::One(Operand::Float(number)) => drop(serde_json::to_writer(out, &number)),
        FieldRef::One(Operand::Text(text)) => write_string(text, out),
        FieldRef::One(Operand::Digits(number)) => write_string(itoa::Buffer::new().format(number), out),
        FieldRef::One(Operand::Made(number)) => with_text_of_made(number, |text| write_string(text, out)),
        FieldRef::List(values) => {
            out.push(b'[');
            for (number, value) in values.iter().enumerate() {
                begin_member(number, b"", out);
                write_value(value, out);
            }
            out.push(b']');
        }
    }
}
