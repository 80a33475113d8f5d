//! A small cache before the table of labels: streams repeat few labels, most of them short.
//!
//! Invariant: an entry is what the table would say. It may be kept for ever, because a table never changes a number it gave,
//! and a label refused for want of room stays refused. Cost: a few nanoseconds for a label of up to 16 bytes.

use graphtide_graph::symbol::{Symbol, SymbolTable};

const SLOTS: usize = 256;

/// Longest label that is cached, in bytes.
const LONGEST: usize = 16;

/// A short label by value: its length, its first bytes and its last ones, which overlap unless it is as long as both.
type Short = (usize, u64, u64);

/// Direct-mapped: a label has one slot, and the last one to use it stays.
#[derive(Clone, Debug)]
pub(crate) struct LabelCache {
    slots: Box<[(Short, Symbol); SLOTS]>,
}

impl Default for LabelCache {
    fn default() -> Self {
        // A slot of zeros is the empty label, which is what the table says of it too.
        Self { slots: Box::new([((0, 0, 0), Symbol::ABSENT); SLOTS]) }
    }
}

impl LabelCache {
    /// Returns the number of a label.
    #[inline]
    pub(crate) fn intern(&mut self, label: &str, table: &mut SymbolTable) -> Symbol {
        let Some(short) = short(label.as_bytes()) else { return table.intern(label) };
        let slot = &mut self.slots[place(short)];
        if slot.0 != short {
            *slot = (short, table.intern(label));
        }
        slot.1
    }

    /// Returns the number of a label that is in the cache, by its bytes.
    #[inline]
    pub(crate) fn find(&self, label: &[u8]) -> Option<Symbol> {
        let short = short(label)?;
        let slot = &self.slots[place(short)];
        (slot.0 == short).then_some(slot.1)
    }
}

/// The slot of a label.
#[inline]
fn place((length, first, last): Short) -> usize {
    let folded = (first ^ last.rotate_left(32) ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (folded >> 56) as usize
}

#[inline]
fn short(label: &[u8]) -> Option<Short> {
    let (first, last) = if let (Some(first), Some(last)) = (label.first_chunk::<8>(), label.last_chunk::<8>()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else if let (Some(first), Some(last)) = (label.first_chunk::<4>(), label.last_chunk::<4>()) {
        (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
    } else if let [first, .., last] = label {
        (u64::from(*first) << 8 | u64::from(label[1]), u64::from(*last))
    } else {
        (label.first().copied().unwrap_or_default().into(), 0)
    };
    (label.len() <= LONGEST).then_some((label.len(), first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_never_disagrees_with_the_table() {
        let mut table = SymbolTable::with_capacity(700);
        let mut cache = LabelCache::default();
        for round in 0..3 {
            for number in 0..1000 {
                let label = "x".repeat(number % 20) + &number.to_string() + &"y".repeat(number / 20 % 3);
                assert!(cache.find(label.as_bytes()).is_none_or(|known| known == table.intern(&label)), "round {round}");
                assert_eq!(cache.intern(&label, &mut table), table.intern(&label), "round {round}");
                assert!(label.len() > LONGEST || cache.find(label.as_bytes()).is_some(), "round {round}");
            }
            assert_eq!(cache.intern("", &mut table), Symbol::ABSENT);
        }
    }
}
