//! A small cache before the table of labels: streams repeat few labels, most of them short.
//!
//! Invariant: an entry is what the table would say. It may be kept for ever, because a table never changes a number it gave,
//! and a label refused for want of room stays refused. Cost: a few nanoseconds for a label of up to 15 bytes.

use graphtide_graph::symbol::{Symbol, SymbolTable};

const SLOTS: usize = 256;

/// Longest label that is cached: sixteen bytes less one for the length.
const LONGEST: usize = 15;

/// Direct-mapped: a label has one slot, and the last one to use it stays.
#[derive(Clone, Debug)]
pub(crate) struct LabelCache {
    slots: Box<[(u128, Symbol)]>,
}

impl Default for LabelCache {
    fn default() -> Self {
        // A slot of zeros is the empty label, which is what the table says of it too.
        Self { slots: vec![(0, Symbol::ABSENT); SLOTS].into_boxed_slice() }
    }
}

impl LabelCache {
    /// Returns the number of a label.
    #[inline]
    pub(crate) fn intern(&mut self, label: &str, table: &mut SymbolTable) -> Symbol {
        if label.len() > LONGEST {
            return table.intern(label);
        }
        let mut bytes = [0; 16];
        bytes[..label.len()].copy_from_slice(label.as_bytes());
        bytes[LONGEST] = label.len() as u8;
        let key = u128::from_le_bytes(bytes);
        let folded = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let slot = &mut self.slots[(folded >> 56) as usize];
        if slot.0 != key {
            *slot = (key, table.intern(label));
        }
        slot.1
    }
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
                let label = "x".repeat(number % 20) + &number.to_string();
                assert_eq!(cache.intern(&label, &mut table), table.intern(&label), "round {round}");
            }
            assert_eq!(cache.intern("", &mut table), Symbol::ABSENT);
        }
    }
}
