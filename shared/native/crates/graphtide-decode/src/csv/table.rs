//! Lines of equally many fields as a table: one pass over the text finds where each field begins.
//!
//! Lines without quotes that protect anything. Cost: a few instructions for each byte, 64 of them at once.

use super::fields::Texts;
use crate::splitter::PlainLines;

/// Places of fields, kept from text to text for their memory alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Where each field begins, and behind them the end of the text.
    starts: Vec<u32>,
}

impl Places {
    /// Finds all fields; None if a line has not so many.
    pub(super) fn find<'t>(&'t mut self, lines: PlainLines<'t>, delimiter: u8, width: usize) -> Option<Table<'t>> {
        let text = lines.text.as_bytes();
        self.starts.clear();
        self.starts.reserve(lines.count * width + 1);
        self.starts.push(0);
        let (chunks, rest) = text.as_chunks::<CHUNK>();
        for (number, chunk) in chunks.iter().enumerate() {
            self.take(ends_in(chunk, delimiter), number * CHUNK);
        }
        let mut last = [0; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        self.take(ends_in(&last, delimiter), chunks.len() * CHUNK);
        // As many lines as are counted end where they should, so no other does.
        let is_table = self.starts.len() == lines.count * width + 1
            && self.starts[1..].chunks_exact(width).all(|line| text[line[width - 1] as usize - 1] == b'\n');
        is_table.then_some(Table { text: lines.text, line: lines.line, starts: &self.starts, width, count: lines.count })
    }

    /// Notes the fields that begin behind these places of a chunk, which are set bits.
    #[inline]
    fn take(&mut self, mut places: u64, from: usize) {
        while places != 0 {
            self.starts.push(from as u32 + places.trailing_zeros() + 1);
            places &= places - 1;
        }
    }
}

/// Bytes whose places are bits of a number.
const CHUNK: usize = 64;

/// Where fields end in a chunk: a bit for each byte.
#[inline]
fn ends_in(chunk: &[u8; CHUNK], delimiter: u8) -> u64 {
    let ends = chunk.map(|byte| u8::from(byte == delimiter || byte == b'\n'));
    let (words, _) = ends.as_chunks::<8>();
    // Multiplied so, the bits of eight bytes meet in the highest one.
    let eight = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    words.iter().rev().fold(0, |bits, word| bits << 8 | eight(word))
}

/// Lines of equally many fields.
#[derive(Clone, Copy)]
pub(crate) struct Table<'t> {
    text: &'t str,
    /// The line of the first.
    pub(crate) line: u64,
    starts: &'t [u32],
    /// Fields of a line.
    pub(crate) width: usize,
    /// How many lines there are.
    pub(crate) count: usize,
}

impl<'t> Table<'t> {
    /// The texts of a column.
    #[inline]
    pub(crate) fn column(self, place: usize) -> impl ExactSizeIterator<Item = &'t str> {
        (0..self.count).map(move |row| self.field(row, place))
    }

    /// The text of a field.
    #[inline]
    pub(crate) fn field(self, row: usize, place: usize) -> &'t str {
        let at = row * self.width + place;
        let field = &self.text[self.starts[at] as usize..self.starts[at + 1] as usize - 1];
        if place + 1 == self.width { without_return(field) } else { field }
    }

    /// The text of a line, without its end.
    #[inline]
    pub(crate) fn row(self, row: usize) -> &'t str {
        let line = |row: usize| self.starts[row * self.width] as usize;
        without_return(&self.text[line(row)..line(row + 1) - 1])
    }

    /// The fields of a line.
    #[inline]
    pub(crate) fn fields(self, row: usize) -> FieldsOfRow<'t> {
        let from = row * self.width;
        FieldsOfRow { text: self.text, starts: &self.starts[from..=from + self.width] }
    }

    /// The texts of the lines.
    pub(crate) fn rows(self) -> impl ExactSizeIterator<Item = &'t str> {
        (0..self.count).map(move |row| self.row(row))
    }
}

/// The fields of one line.
#[derive(Clone, Copy)]
pub(crate) struct FieldsOfRow<'t> {
    text: &'t str,
    starts: &'t [u32],
}

impl Texts for FieldsOfRow<'_> {
    #[inline]
    fn text(&self, place: usize) -> &str {
        let field = &self.text[self.starts[place] as usize..self.starts[place + 1] as usize - 1];
        if place + 2 == self.starts.len() { without_return(field) } else { field }
    }
}

#[inline]
fn without_return(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_ends_are_those_of_the_bytes() {
        for place in 0..CHUNK {
            let mut chunk = [b'x'; CHUNK];
            chunk[place] = b',';
            chunk[(place + 9) % CHUNK] = b'\n';
            assert_eq!(ends_in(&chunk, b','), 1 << place | 1 << ((place + 9) % CHUNK));
        }
    }
}
