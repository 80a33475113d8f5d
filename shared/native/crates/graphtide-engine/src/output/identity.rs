//! What the identity of a match is hashed of: names and ids, each part behind its length.

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};
use graphtide_graph::key::IdRef;

/// What an identity is hashed with.
pub(super) type Identity = Blake2b<U16>;

/// Part before an id that was given and is a number, as made ones are; twice before one that a clause made. No id is empty.
const MARK: &str = "";

/// In place of a name, before the id of the event that completes matches that are counted; no event has it.
pub(super) const COMPLETED_BY: &str = "";

/// The digits of an identity.
pub(super) fn hexadecimal(identity: Identity) -> [u8; 32] {
    let mut hex = [0; 32];
    for (digits, byte) in hex.chunks_exact_mut(2).zip(identity.finalize()) {
        digits[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        digits[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    hex
}

/// Hashes an id, with marks that set apart given and made ones of one text.
pub(super) fn hash_id(identity: &mut Identity, id: IdRef<'_>) {
    let marks = match id {
        IdRef::Given(key) => usize::from(key.is_number()),
        IdRef::Made(_) => 2 * usize::from(id.clause() > 0),
    };
    (0..marks).for_each(|_| hash_part(identity, MARK));
    id.with_text(|id| hash_part(identity, id));
}

/// Hashes a part.
pub(super) fn hash_part(identity: &mut Identity, part: &str) {
    identity.update((part.len() as u32).to_le_bytes());
    identity.update(part.as_bytes());
}
