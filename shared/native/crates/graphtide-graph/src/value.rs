//! Attribute values.

use crate::digits;
use crate::key::{Gathering, Key, KeyRef, TextArena};

/// A value in a batch; texts lie in the batch's arena.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// Missing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number, never NaN.
    Float(f64),
    /// A text.
    Text(Key),
}

/// A value by reference, for comparing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueRef<'a> {
    /// Missing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number, never NaN.
    Float(f64),
    /// A text.
    Text(&'a str),
}

/// A value that owns its text, for keeping past its batch.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedValue {
    /// Missing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number, never NaN.
    Float(f64),
    /// A text.
    Text(Box<str>),
}

impl Value {
    /// Stores a value, its text in `arena`.
    #[inline]
    pub fn store(value: ValueRef<'_>, arena: &mut TextArena) -> Self {
        Self::store_by(value, |text| arena.insert(KeyRef::Text(text)))
    }

    /// The same, with a text among others that are gathered.
    #[inline]
    pub fn gather(value: ValueRef<'_>, texts: &mut Gathering<'_>) -> Self {
        Self::store_by(value, |text| texts.insert(KeyRef::Text(text)))
    }

    #[inline]
    fn store_by(value: ValueRef<'_>, insert: impl FnOnce(&str) -> Key) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Bool(truth) => Self::Bool(truth),
            ValueRef::Int(number) => Self::Int(number),
            ValueRef::Float(number) => Self::Float(number),
            ValueRef::Text(text) => Self::Text(insert(text)),
        }
    }

    /// Reads the value; `arena` is the one it was stored with.
    #[inline]
    pub fn get(self, arena: &TextArena) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Bool(truth) => ValueRef::Bool(truth),
            Self::Int(number) => ValueRef::Int(number),
            Self::Float(number) => ValueRef::Float(number),
            Self::Text(key) => match arena.get(key) {
                KeyRef::Text(text) => ValueRef::Text(text),
                KeyRef::Number(_) => ValueRef::Null,
            },
        }
    }
}

impl OwnedValue {
    /// Copies a value with its text.
    pub fn new(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Bool(truth) => Self::Bool(truth),
            ValueRef::Int(number) => Self::Int(number),
            ValueRef::Float(number) => Self::Float(number),
            ValueRef::Text(text) => Self::Text(text.into()),
        }
    }

    /// Reads the value.
    #[inline]
    pub fn get(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Bool(truth) => ValueRef::Bool(*truth),
            Self::Int(number) => ValueRef::Int(*number),
            Self::Float(number) => ValueRef::Float(*number),
            Self::Text(text) => ValueRef::Text(text),
        }
    }
}

impl<'a> ValueRef<'a> {
    /// Reads a field of a text format, which has no types: empty is missing, then integer, number, truth value, text.
    ///
    /// `inf` and `nan` stay texts: a stream that means them as numbers has no use for comparing them. So does what a number
    /// would not give back: with zeros in front (`01234`), or with a plus (`+4930`).
    pub fn infer(text: &'a str) -> Self {
        let Some(&first) = text.as_bytes().first() else { return Self::Null };
        match first {
            b'0'..=b'9' | b'-' | b'.' => {
                let digits = text.as_bytes();
                let digits = if first == b'-' { &digits[1..] } else { digits };
                if let [b'0', b'0'..=b'9', ..] | [b'+', ..] = digits {
                    return Self::Text(text);
                }
                if let Some(number) = digits::integer(text) {
                    return Self::Int(number);
                }
                match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Self::Float(number),
                    _ => Self::Text(text),
                }
            }
            b't' if text == "true" => Self::Bool(true),
            b'f' if text == "false" => Self::Bool(false),
            _ => Self::Text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_text_format_get_the_narrowest_type() {
        let cases = [
            ("", ValueRef::Null),
            ("17", ValueRef::Int(17)),
            ("-3", ValueRef::Int(-3)),
            ("0", ValueRef::Int(0)),
            ("01234", ValueRef::Text("01234")),
            ("-007.5", ValueRef::Text("-007.5")),
            ("0.5", ValueRef::Float(0.5)),
            ("-0.5", ValueRef::Float(-0.5)),
            (".5", ValueRef::Float(0.5)),
            ("+4930", ValueRef::Text("+4930")),
            ("2.5", ValueRef::Float(2.5)),
            ("1e3", ValueRef::Float(1000.0)),
            ("true", ValueRef::Bool(true)),
            ("True", ValueRef::Text("True")),
            ("10.0.0.7", ValueRef::Text("10.0.0.7")),
            ("S0", ValueRef::Text("S0")),
            ("inf", ValueRef::Text("inf")),
            ("1e999", ValueRef::Text("1e999")),
        ];
        for (text, value) in cases {
            assert_eq!(ValueRef::infer(text), value, "{text}");
        }
    }
}
