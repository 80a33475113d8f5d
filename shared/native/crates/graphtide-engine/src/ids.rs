//! Numbers that name what patterns share.

/// A signature's position.
pub type SignatureId = u32;

/// Lists of some or all edges of one signature.
pub type RingId = u32;

/// A reader of lists, who reads some for a while.
pub type ReaderId = u32;
