//! Which bytes of a chunk are of a kind: a bit for each of its 64 bytes, the lowest for the first.
//!
//! Cost: two or three instructions for 16 bytes, on processors that compare so many at once.

use wide::u8x16;

/// Bytes whose places are bits of a number.
pub(crate) const CHUNK: usize = 64;

/// The bytes of a chunk, those of a register side by side.
#[derive(Clone, Copy)]
pub(crate) struct Chunk([u8x16; 4]);

/// Cuts bytes into chunks; the last one is filled up with zeros.
#[inline]
pub(crate) fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk> {
    let (whole, rest) = bytes.as_chunks();
    let mut last = [0; CHUNK];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then(|| Chunk::new(&last));
    whole.iter().map(Chunk::new).chain(last)
}

impl Chunk {
    #[inline]
    pub(crate) fn new(bytes: &[u8; CHUNK]) -> Self {
        let (registers, _) = bytes.as_chunks();
        Self([0, 1, 2, 3].map(|place| u8x16::new(registers[place])))
    }

    /// Which bytes are this one.
    #[inline]
    pub(crate) fn equal(self, byte: u8) -> u64 {
        let wanted = u8x16::splat(byte);
        self.marked(|bytes| bytes.simd_eq(wanted))
    }

    /// Which bytes are one of these two.
    #[inline]
    pub(crate) fn either(self, one: u8, other: u8) -> u64 {
        let (one, other) = (u8x16::splat(one), u8x16::splat(other));
        self.marked(|bytes| bytes.simd_eq(one) | bytes.simd_eq(other))
    }

    /// Which bytes are quotes, escapes or controls: those with a meaning in a text of JSON.
    #[inline]
    pub(crate) fn quotes_and_odd(self) -> u64 {
        let [last, quote, escape] = [b' ' - 1, b'"', b'\\'].map(u8x16::splat);
        self.marked(|bytes| bytes.min(last).simd_eq(bytes) | bytes.simd_eq(quote) | bytes.simd_eq(escape))
    }

    #[inline]
    fn marked(self, mark: impl Fn(u8x16) -> u8x16) -> u64 {
        self.0.iter().rev().fold(0, |bits, bytes| bits << 16 | u64::from(mark(*bytes).to_bitmask()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_seen_wherever_it_is() {
        for (place, byte) in (0..CHUNK).flat_map(|place| (0..=u8::MAX).map(move |byte| (place, byte))) {
            let mut bytes = [b'x'; CHUNK];
            bytes[place] = byte;
            bytes[(place + 9) % CHUNK] = b'\n';
            for wanted in [byte, b',', b'x', 127, 128] {
                let places = |is_wanted: &dyn Fn(u8) -> bool| {
                    bytes.iter().zip(0..).fold(0_u64, |bits, (byte, place)| bits | u64::from(is_wanted(*byte)) << place)
                };
                let chunk = Chunk::new(&bytes);
                let is_odd = |byte| byte < b' ' || matches!(byte, b'"' | b'\\');
                assert_eq!(chunk.quotes_and_odd(), places(&is_odd), "{bytes:?}");
                assert_eq!(chunk.equal(wanted), places(&|byte| byte == wanted), "{bytes:?}");
                assert_eq!(chunk.either(wanted, b'\n'), places(&|byte| byte == wanted || byte == b'\n'), "{bytes:?}");
            }
        }
    }

    #[test]
    fn the_last_chunk_is_filled_up_with_zeros() {
        for length in 0..200_usize {
            let found: Vec<u64> = chunks(&vec![b','; length]).map(|chunk| chunk.equal(b',')).collect();
            let expected = (0..length.div_ceil(CHUNK)).map(|chunk| u64::MAX >> (CHUNK - (length - chunk * CHUNK).min(CHUNK)));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{length}");
        }
    }
}
