//! The types of attributes: declared by the caller, or settled by the beginning of a CSV stream.
//!
//! CSV has no types. A column whose first texts are not all numbers and truth values holds texts: in it `77` is one, too, and
//! `01234` keeps its zero. In other columns each value has the type that it looks like. What is declared holds for every value;
//! a record with another is bad. A missing value is of every type.

use arrow_schema::DataType;
use graphtide_graph::value::ValueRef;

use crate::arrow_columns::Values;
use crate::arrow_written::is_decimal;
use crate::dialect::Point;
use crate::error::{RowError, shorten};

/// The type of an attribute's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AttributeType {
    /// Any: a value of a text format has the type that it looks like.
    #[default]
    Any,
    /// Texts.
    String,
    /// Integers of 64 bits.
    Integer,
    /// Integers and floating-point numbers.
    Number,
    /// Truth values.
    Boolean,
    /// Truth values, written `T` and `F`; none declares it.
    Letter,
}

/// Where the column of an attribute holds texts, and which shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The column.
    pub column: String,
    /// The line of its first text.
    pub line: u64,
    /// The text.
    pub text: String,
}

/// How much of the beginning of a stream settles its columns, in bytes.
pub const SETTLED_BY: usize = 256 << 10;

/// Words that stand for a missing number in a column of numbers, so that they do not make it one of texts.
const MISSING: [&str; 12] = ["-", "?", "NA", "N/A", "n/a", "#N/A", "NULL", "Null", "null", "None", "none", "\\N"];

/// How NaN is written: no number to compare with, and no text either.
const NAN: [&str; 3] = ["NaN", "nan", "NAN"];

impl AttributeType {
    /// All that can be declared.
    pub const DECLARED: [Self; 4] = [Self::String, Self::Integer, Self::Number, Self::Boolean];

    /// What a declaration calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean | Self::Letter => "boolean",
        }
    }

    /// The type that a declaration calls so.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::DECLARED.into_iter().find(|each| each.name() == name)
    }

    /// Reads a field of CSV; None if it is of another type. An empty field is missing.
    #[inline]
    pub(crate) fn read(self, text: &str) -> Option<ValueRef<'_>> {
        match self {
            Self::Any => Some(ValueRef::infer(text)),
            _ if text.is_empty() => Some(ValueRef::Null),
            Self::String => Some(ValueRef::Text(text)),
            Self::Integer => text.parse().ok().map(ValueRef::Int),
            Self::Number => match text.parse() {
                Ok(number) => Some(ValueRef::Int(number)),
                Err(_) => text.parse().ok().filter(|number: &f64| number.is_finite()).map(ValueRef::Float),
            },
            Self::Boolean => match text {
                "true" => Some(ValueRef::Bool(true)),
                "false" => Some(ValueRef::Bool(false)),
                _ => None,
            },
            Self::Letter => match text {
                "T" => Some(ValueRef::Bool(true)),
                "F" => Some(ValueRef::Bool(false)),
                _ => None,
            },
        }
    }

    /// Reads a field of CSV whose numbers have a decimal comma; None if it is of another type.
    pub(crate) fn read_comma(self, text: &str) -> Option<ValueRef<'_>> {
        if matches!(self, Self::String | Self::Boolean | Self::Letter) {
            return self.read(text);
        }
        let number = |value: ValueRef<'_>| match value {
            ValueRef::Int(number) => Some(ValueRef::Int(number)),
            ValueRef::Float(number) => Some(ValueRef::Float(number)),
            _ => None,
        };
        let read = Point::of_comma(text).and_then(|point| self.read(point.text()).and_then(number));
        match (read, self) {
            (Some(number), _) => Some(number),
            (None, Self::Any) => match self.read(text) {
                // What is a number with a point is none with a comma.
                Some(ValueRef::Int(_) | ValueRef::Float(_)) => Some(ValueRef::Text(text)),
                value => value,
            },
            (None, _) => text.is_empty().then_some(ValueRef::Null),
        }
    }

    /// Whether a value of a format with types is of this one.
    #[inline]
    pub(crate) fn fits(self, value: ValueRef<'_>) -> bool {
        match (self, value) {
            (Self::Any, _) | (_, ValueRef::Null) => true,
            (kind, ValueRef::Text(_)) => kind == Self::String,
            (kind, ValueRef::Int(_)) => matches!(kind, Self::Integer | Self::Number),
            (kind, ValueRef::Float(_)) => kind == Self::Number,
            (kind, ValueRef::Bool(_)) => matches!(kind, Self::Boolean | Self::Letter),
        }
    }

    /// Whether all values of an Arrow column are of this type.
    pub(crate) fn fits_column(self, kind: &DataType) -> bool {
        match (self, kind) {
            (Self::Any, _) | (_, DataType::Null) => Values::can_be(kind),
            (_, DataType::Dictionary(_, values)) => self.fits_column(values),
            (Self::Boolean | Self::Letter, kind) => *kind == DataType::Boolean,
            (Self::Integer, kind) => kind.is_integer(),
            (Self::Number, kind) => kind.is_integer() || kind.is_floating() || is_decimal(kind),
            (Self::String, kind) => {
                let is_other = *kind == DataType::Boolean || kind.is_integer() || kind.is_floating() || is_decimal(kind);
                !is_other && Values::can_be(kind)
            }
        }
    }
}

/// The attributes that a decoder reads: those that are wanted, then those that are only checked.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<AttributeType>,
    pub(crate) wanted: usize,
}

impl Projection {
    pub(crate) fn new(wanted: Vec<String>, declared: Vec<(String, AttributeType)>) -> Self {
        let mut made = Self { types: vec![AttributeType::Any; wanted.len()], wanted: wanted.len(), names: wanted };
        for (name, kind) in declared {
            if let Some(place) = made.names.iter().position(|known| *known == name) {
                made.types[place] = kind;
            } else {
                made.names.push(name);
                made.types.push(kind);
            }
        }
        made
    }

    /// The names of what is wanted.
    pub(crate) fn wanted(&self) -> &[String] {
        &self.names[..self.wanted]
    }
}

/// Whether a field of CSV shows that its column holds texts.
pub(crate) fn is_text(field: &str, has_decimal_comma: bool) -> bool {
    let value = if has_decimal_comma { AttributeType::Any.read_comma(field) } else { AttributeType::Any.read(field) };
    matches!(value, Some(ValueRef::Text(_))) && !MISSING.contains(&field) && !NAN.contains(&field)
}

/// Says that a value is not of the type that is declared.
#[cold]
pub(crate) fn refuse(column: &str, found: &str, kind: AttributeType) -> RowError {
    RowError::NotDeclared { column: column.to_owned(), found: shorten(found), declared: kind.name() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_declared_is_read_as_it_is_or_refused() {
        use AttributeType::{Any, Boolean, Integer, Number, String};
        let cases = [
            (Any, "01234", Some(ValueRef::Text("01234"))),
            (String, "77", Some(ValueRef::Text("77"))),
            (String, "", Some(ValueRef::Null)),
            (Integer, "007", Some(ValueRef::Int(7))),
            (Integer, "7.0", None),
            (Integer, "99999999999999999999", None),
            (Number, "7", Some(ValueRef::Int(7))),
            (Number, "2.50", Some(ValueRef::Float(2.5))),
            (Number, "inf", None),
            (Number, "x", None),
            (Boolean, "true", Some(ValueRef::Bool(true))),
            (Boolean, "1", None),
            (Boolean, "", Some(ValueRef::Null)),
        ];
        for (kind, text, value) in cases {
            assert_eq!(kind.read(text), value, "{text:?} as {kind:?}");
        }
    }

    #[test]
    fn a_number_with_a_decimal_comma_is_no_text_and_one_with_a_point_is() {
        use AttributeType::{Any, Integer, Number, String};
        let cases = [
            (Any, "1.234,50", Some(ValueRef::Float(1234.5))),
            (Any, "1.234", Some(ValueRef::Int(1234))),
            (Any, "1.5", Some(ValueRef::Text("1.5"))),
            (Any, "01,5", Some(ValueRef::Text("01,5"))),
            (Any, "true", Some(ValueRef::Bool(true))),
            (Any, "", Some(ValueRef::Null)),
            (Number, "-1,5", Some(ValueRef::Float(-1.5))),
            (Number, "1.5", None),
            (Number, "", Some(ValueRef::Null)),
            (Integer, "1.000", Some(ValueRef::Int(1000))),
            (Integer, "1,0", None),
            (String, "1,0", Some(ValueRef::Text("1,0"))),
        ];
        for (kind, text, value) in cases {
            assert_eq!(kind.read_comma(text), value, "{text:?} as {kind:?}");
        }
    }

    #[test]
    fn words_for_what_is_missing_make_no_column_of_texts() {
        for field in ["", "7", "-2.5", "1e3", "true", "NA", "-", "NaN", "null"] {
            assert!(!is_text(field, false), "{field}");
        }
        for field in ["x", "01234", "+49", "10.0.0.7", "True"] {
            assert!(is_text(field, false), "{field}");
        }
    }
}
