//! Values as texts, as ends, labels and ids are: a floating-point number with its shortest digits, as JSON has it.

use bumpalo::Bump;
use graphtide_graph::key::KeyRef;
use graphtide_graph::value::ValueRef;

/// The text of a value; None for one that is missing or not finite.
#[inline]
pub(crate) fn text_of<'a>(value: ValueRef<'a>, arena: &'a Bump) -> Option<&'a str> {
    match value {
        ValueRef::Text(text) => Some(text),
        ValueRef::Null => None,
        ValueRef::Bool(truth) => Some(if truth { "true" } else { "false" }),
        ValueRef::Int(number) => Some(arena.alloc_str(itoa::Buffer::new().format(number))),
        ValueRef::Float(number) => number.is_finite().then(|| {
            let mut text = [0; 32];
            let mut rest = text.as_mut_slice();
            // It has room for every number.
            _ = serde_json::to_writer(&mut rest, &number);
            let length = 32 - rest.len();
            &*arena.alloc_str(std::str::from_utf8(&text[..length]).unwrap_or_default())
        }),
    }
}

/// The key that the text of a value is; None for a value without one, or with an empty one.
#[inline]
pub(crate) fn key_of<'a>(value: ValueRef<'a>, arena: &'a Bump) -> Option<KeyRef<'a>> {
    const LIMIT: i64 = 1_000_000_000_000_000_000;
    match value {
        ValueRef::Text(text) => (!text.is_empty()).then(|| KeyRef::parse(text)),
        ValueRef::Int(number) if (0..LIMIT).contains(&number) => Some(KeyRef::Number(number.unsigned_abs())),
        value => text_of(value, arena).map(KeyRef::parse),
    }
}
