//! Ids that ascend, as those of a counter do: none of them is a duplicate, and each is compared with the one before alone.
//!
//! Cost: a comparison a record, of 16 bytes at once.

use std::cmp::Ordering;

use crate::batch::{EdgeBatch, Operation};
use crate::key::{IdRef, KeyRef};

/// What the ids of a batch ascend behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Continues {
    /// The one that came last.
    Before,
    /// None that came before.
    Itself,
    /// They do not ascend, or one is deleted.
    Nothing,
}

/// What the ids of a batch continue, if this was the last one before it; a look at each, as long as they ascend.
pub(super) fn continues(batch: &EdgeBatch, before: Option<KeyRef<'_>>) -> Continues {
    let (mut last, mut follows) = (None, true);
    for (row, operation) in batch.operations().iter().enumerate() {
        if let IdRef::Given(id) = batch.id(row) {
            if *operation == Operation::Delete || last.is_some_and(|last| !precedes(last, id)) {
                return Continues::Nothing;
            }
            if last.is_none() {
                follows = before.is_none_or(|before| precedes(before, id));
            }
            last = Some(id);
        }
    }
    if follows { Continues::Before } else { Continues::Itself }
}

/// Whether an id comes before another: numbers before texts, shorter texts before longer ones.
#[inline]
pub(super) fn precedes(one: KeyRef<'_>, other: KeyRef<'_>) -> bool {
    match (one, other) {
        (KeyRef::Number(one), KeyRef::Number(other)) => one < other,
        (KeyRef::Text(one), KeyRef::Text(other)) => one.len().cmp(&other.len()).then_with(|| compare(one, other)).is_lt(),
        (KeyRef::Number(_), KeyRef::Text(_)) => true,
        (KeyRef::Text(_), KeyRef::Number(_)) => false,
    }
}

/// Compares texts of one length; those of 8 to 16 bytes by their first and their last eight, without a call.
#[inline]
fn compare(one: &str, other: &str) -> Ordering {
    let halves = |text: &str| {
        let (first, last) = (text.as_bytes().first_chunk::<8>()?, text.as_bytes().last_chunk::<8>()?);
        (text.len() <= 16).then(|| (u64::from_be_bytes(*first), u64::from_be_bytes(*last)))
    };
    match (halves(one), halves(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_one_length_are_compared_as_their_bytes_are() {
        for length in 0..20 {
            let texts: Vec<String> = (0..27).map(|number| text(length, number)).collect();
            for (one, other) in texts.iter().flat_map(|one| texts.iter().map(move |other| (one, other))) {
                assert_eq!(compare(one, other), one.cmp(other), "{one:?} {other:?}");
            }
        }
    }

    /// A text whose first, middle and last letters are digits of a number to the base of three.
    fn text(length: usize, number: usize) -> String {
        let mut text = vec![b'm'; length];
        for (place, unit) in [(0, 9), (length / 2, 3), (length.saturating_sub(1), 1)] {
            if let Some(letter) = text.get_mut(place) {
                *letter = [b'a', b'm', b'z'][number / unit % 3];
            }
        }
        String::from_utf8(text).unwrap()
    }
}
