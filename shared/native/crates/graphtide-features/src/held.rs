//! Values that a window holds, in the form that the functions of its features need.

use std::sync::Arc;

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest as _};
use graphtide_engine::expression::Operand;
use graphtide_graph::value::OwnedValue;

use crate::number::Number;

/// What is kept of the texts of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Needs {
    /// Their digests, for what counts different values.
    pub(crate) digests: bool,
    /// The texts, for what reports one.
    pub(crate) texts: bool,
}

/// A value of a record in a window.
#[derive(Clone, Debug, Default)]
pub(crate) enum Held {
    #[default]
    Missing,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A text of which nothing is needed but that it is there.
    SomeText,
    Digest(u128),
    Text(Arc<str>),
    /// A text that is reported and compared.
    Both(u128, Arc<str>),
}

/// What equal values share, and no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Identity {
    Bool(bool),
    Int(i64),
    /// The bits of a number that is no integer of 64 bits.
    Float(u64),
    Text(u128),
}

impl Held {
    pub(crate) fn new(value: Operand<'_>, needs: Needs) -> Self {
        match value {
            Operand::Null => Self::Missing,
            Operand::Bool(truth) => Self::Bool(truth),
            Operand::Int(number) => Self::Int(number),
            Operand::Float(number) => Self::Float(number),
            text => text.with_text(|text| Self::of_text(text, needs)).unwrap_or_default(),
        }
    }

    fn of_text(text: &str, needs: Needs) -> Self {
        match (needs.digests, needs.texts) {
            (false, false) => Self::SomeText,
            (true, false) => Self::Digest(digest(b't', text.as_bytes())),
            (false, true) => Self::Text(text.into()),
            (true, true) => Self::Both(digest(b't', text.as_bytes()), text.into()),
        }
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// The number that it is, if it is a finite one.
    pub(crate) fn number(&self) -> Option<Number> {
        match *self {
            Self::Int(number) => Some(Number::Int(number)),
            Self::Float(number) if number.is_finite() => Some(Number::of(number)),
            _ => None,
        }
    }

    /// Its identity; none if it is missing, or a text whose digest was not kept.
    pub(crate) fn identity(&self) -> Option<Identity> {
        Some(match *self {
            Self::Bool(truth) => Identity::Bool(truth),
            Self::Int(number) => Identity::Int(number),
            Self::Float(number) => match Number::of(number) {
                Number::Int(number) => Identity::Int(number),
                Number::Float(number) => Identity::Float(number.to_bits()),
            },
            Self::Digest(digest) | Self::Both(digest, _) => Identity::Text(digest),
            Self::Missing | Self::SomeText | Self::Text(_) => return None,
        })
    }

    /// The value as an attribute.
    pub(crate) fn to_value(&self) -> OwnedValue {
        match self {
            Self::Bool(truth) => OwnedValue::Bool(*truth),
            Self::Int(number) => OwnedValue::Int(*number),
            Self::Float(number) => OwnedValue::Float(*number),
            Self::Text(text) | Self::Both(_, text) => OwnedValue::Text(Box::from(&**text)),
            Self::Missing | Self::SomeText | Self::Digest(_) => OwnedValue::Null,
        }
    }
}

impl Identity {
    /// A number that is the same in every process, for estimates.
    pub(crate) fn hash(self) -> u64 {
        let whole = match self {
            Self::Bool(truth) => digest(b'b', &[u8::from(truth)]),
            Self::Int(number) => digest(b'i', &number.to_le_bytes()),
            Self::Float(bits) => digest(b'f', &bits.to_le_bytes()),
            Self::Text(digest) => digest,
        };
        whole as u64
    }
}

fn digest(kind: u8, bytes: &[u8]) -> u128 {
    let mut hasher = Blake2b::<U16>::new();
    hasher.update([kind]);
    hasher.update(bytes);
    u128::from_le_bytes(hasher.finalize().into())
}
