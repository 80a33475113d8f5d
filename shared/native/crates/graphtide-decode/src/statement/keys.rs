//! Values as ends and ids: their texts. Most are numbers, and are held as numbers.

use bumpalo::Bump;
use graphtide_expression::value_text::write_text;
use graphtide_graph::key::KeyRef;
use graphtide_graph::value::ValueRef;

/// The key that the text of a value is; None for a value without one, or with an empty one.
#[inline]
pub(crate) fn key_of<'a>(value: ValueRef<'a>, arena: &'a Bump) -> Option<KeyRef<'a>> {
    const LIMIT: i64 = 1_000_000_000_000_000_000;
    match value {
        ValueRef::Text(text) => (!text.is_empty()).then(|| KeyRef::parse(text)),
        ValueRef::Int(number) if (0..LIMIT).contains(&number) => Some(KeyRef::Number(number.unsigned_abs())),
        value => write_text(value, arena).map(KeyRef::parse),
    }
}
