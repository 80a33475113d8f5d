//! Texts that come at one end and go at the other, in blocks.
//!
//! Invariant: a text lies in one block and keeps its place until it is dropped. The place is the number of the block and where
//! in it the text begins. A block goes with its last text, and is used again.
//! Cost: O(bytes) to append, O(1) to read and to drop; no byte is ever moved. Memory: the texts, and a block at either end.

use std::collections::VecDeque;

/// Bytes of a block; a longer text has one of its own.
const BLOCK: usize = 1 << 16;
/// Bits of a place within a block: texts are shorter.
const WITHIN: u32 = 32;

/// Texts in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct TextQueue {
    blocks: VecDeque<String>,
    /// Number of the first block.
    first: u64,
    /// A block that was given back.
    spare: Option<String>,
    texts: usize,
    bytes: usize,
}

impl TextQueue {
    /// Appends a text; returns its place.
    #[inline]
    pub(crate) fn push(&mut self, text: &str) -> u64 {
        self.texts += 1;
        self.bytes += text.len();
        let number = self.first + self.blocks.len() as u64;
        if let Some(block) = self.blocks.back_mut()
            && block.capacity() - block.len() >= text.len()
        {
            let place = (number - 1) << WITHIN | block.len() as u64;
            block.push_str(text);
            return place;
        }
        self.begin(text);
        number << WITHIN
    }

    /// Begins a block with a text.
    #[cold]
    fn begin(&mut self, text: &str) {
        let spare = self.spare.take_if(|spare| spare.capacity() >= text.len());
        let mut block = spare.unwrap_or_else(|| String::with_capacity(text.len().max(BLOCK)));
        block.push_str(text);
        self.blocks.push_back(block);
    }

    #[inline]
    fn block(&self, place: u64) -> usize {
        ((place >> WITHIN) - self.first) as usize
    }

    /// Reads a text of so many bytes.
    #[inline]
    pub(crate) fn get(&self, place: u64, length: u32) -> &str {
        let start = place as u32 as usize;
        &self.blocks[self.block(place)][start..start + length as usize]
    }

    /// Drops the oldest text, of so many bytes at a place.
    #[inline]
    pub(crate) fn pop_front(&mut self, place: u64, length: u32) {
        self.texts -= 1;
        self.bytes -= length as usize;
        if self.block(place) > 0 || self.texts == 0 {
            self.give_back(place);
        }
    }

    /// Gives back the blocks before that of the oldest text, which was dropped, and this one, too, if no other text is left.
    #[cold]
    fn give_back(&mut self, place: u64) {
        let gone = if self.texts == 0 { self.blocks.len() } else { self.block(place) };
        self.first += gone as u64;
        for mut block in self.blocks.drain(..gone) {
            if block.capacity() <= BLOCK {
                block.clear();
                self.spare = Some(block);
            }
        }
    }

    /// Takes back the newest text, of so many bytes at a place.
    #[inline]
    pub(crate) fn pop_back(&mut self, place: u64, length: u32) {
        self.texts -= 1;
        self.bytes -= length as usize;
        let block = self.block(place);
        self.blocks.truncate(block + 1);
        self.blocks[block].truncate(place as u32 as usize);
    }

    /// Bytes of texts.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn texts_keep_their_places_until_they_are_dropped() {
        let mut seed = 3_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for most in [3, 40, 9_000, 70_000] {
            let (mut queue, mut held): (_, VecDeque<(u64, String)>) = (TextQueue::default(), VecDeque::new());
            for step in 0..1_000 {
                let growing = step % 400 < 200;
                match random(8) {
                    0 => {
                        if let Some((place, text)) = held.pop_back() {
                            queue.pop_back(place, text.len() as u32);
                        }
                    }
                    1..4 if !growing || held.len() > 60 => {
                        if let Some((place, text)) = held.pop_front() {
                            queue.pop_front(place, text.len() as u32);
                        }
                    }
                    _ => {
                        let text = format!("{}é", step % 10).repeat(random(most / 3 + 1) as usize);
                        held.push_back((queue.push(&text), text));
                    }
                }
                assert_eq!(queue.len(), held.iter().map(|(_, text)| text.len()).sum::<usize>());
                for (place, text) in held.iter().take(3).chain(held.iter().rev().take(3)) {
                    assert_eq!(queue.get(*place, text.len() as u32), text);
                }
            }
        }
    }

    #[test]
    fn blocks_are_used_again_and_long_ones_are_not_kept() {
        let mut queue = TextQueue::default();
        let text = "x".repeat(1_000);
        let mut places = VecDeque::new();
        for _ in 0..10_000 {
            places.push_back(queue.push(&text));
            if places.len() > 100 {
                let place = places.pop_front().unwrap_or_default();
                queue.pop_front(place, 1_000);
            }
        }
        assert!(queue.blocks.len() <= 3);
        let long = "y".repeat(10 * BLOCK);
        let place = queue.push(&long);
        for place in places {
            queue.pop_front(place, 1_000);
        }
        queue.pop_front(place, long.len() as u32);
        assert!(queue.blocks.is_empty());
        assert!(queue.spare.is_some_and(|spare| spare.is_empty() && spare.capacity() <= BLOCK));
    }
}
