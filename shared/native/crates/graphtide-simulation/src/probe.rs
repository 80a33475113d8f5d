//! What a benchmark asks of an engine besides its reports; nothing else sets one.

/// A probe in an engine. Without one an engine reads no clock.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Nanoseconds since some time in the past; asked before and after each verification.
    pub clock: fn() -> u64,
    /// Whether what is known of the window is computed anew from all its edges for each that arrives. So do the variants
    /// "recomp" of paper 000, Fig. 12.
    pub is_from_scratch: bool,
}
