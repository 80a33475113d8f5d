//! Texts that come at one end and go at the other, end to end.
//!
//! Invariant: a text keeps its place, the number of bytes that came before it, until it is dropped.
//! Cost: O(bytes) to append, O(1) to read; a byte is moved at most once, amortised.

/// Texts in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct TextQueue {
    text: String,
    start: u64,
}

/// Bytes that are not worth being given back.
const FEW: usize = 4096;

impl TextQueue {
    /// Appends a text; returns its place.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) -> u64 {
        let place = self.start + self.text.len() as u64;
        self.text.push_str(text);
        place
    }

    /// Reads a text of so many bytes.
    #[inline]
    pub(crate) fn get(&self, place: u64, length: u32) -> &str {
        let start = (place - self.start) as usize;
        &self.text[start..start + length as usize]
    }

    /// Drops the text of so many bytes at a place, and all before it.
    #[inline]
    pub(crate) fn drop_to(&mut self, place: u64, length: u32) {
        let garbage = (place - self.start) as usize + length as usize;
        if garbage == self.text.len() || (garbage > FEW && garbage * 2 > self.text.len()) {
            self.text.drain(..garbage);
            self.start += garbage as u64;
        }
    }

    /// Takes back the text at a place, and all behind it.
    #[inline]
    pub(crate) fn take_back(&mut self, place: u64) {
        self.text.truncate((place - self.start) as usize);
    }

    /// Bytes of texts.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }
}
