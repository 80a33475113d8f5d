//! Cuts a stream of bytes into records, wherever blocks cut it.
//!
//! Invariant: the records, their lines and what is too long depend on the bytes alone, not on the blocks they came in. A record
//! ends at a line feed outside quotes. Its line end (LF or CRLF) is not a part of it, and empty lines are not records.
//! Cost: each byte is looked at a constant number of times, also in a record that many blocks carry.

use memchr::{memchr, memchr_iter, memchr2, memrchr};

/// Longest record of a text format, in bytes; a longer one is rejected and reading continues after the next line feed.
pub const MAX_RECORD: usize = 16 << 20;

/// How much of a record past [`MAX_RECORD`] its dead letter keeps.
pub const KEPT_OF_LONG_RECORD: usize = 64 << 10;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What stands between two line ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'b> {
    /// A whole record; `quoted` if a quote occurs in it (never set where quotes have no meaning).
    Record { line: u64, bytes: &'b [u8], quoted: bool },
    /// The beginning of a record past the bound; the rest is skipped.
    TooLong { line: u64, head: &'b [u8] },
    /// The rest of a stream that ends within quotes.
    OpenQuote { line: u64, bytes: &'b [u8] },
}

/// How far an unfinished record was looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// Bytes of the record already examined.
    offset: usize,
    /// Where the next byte stands.
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    FieldStart,
    InField,
    InQuotes,
}

/// Bytes up to a line end, from the beginning of a record on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeLines<'b> {
    /// The line of the first.
    pub(crate) line: u64,
    /// The bytes, with the line ends.
    pub(crate) bytes: &'b [u8],
}

impl<'b> WholeLines<'b> {
    /// The lines up to the first one that is not UTF-8.
    pub(crate) fn text(self) -> &'b str {
        match std::str::from_utf8(self.bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = &self.bytes[..error.valid_up_to()];
                let whole = memrchr(b'\n', valid).map_or(0, |end| end + 1);
                std::str::from_utf8(&valid[..whole]).unwrap_or_default()
            }
        }
    }
}

/// The lines of a text without their ends.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    memchr_iter(b'\n', text.as_bytes()).map(move |to| {
        let line = &text[from..to];
        from = to + 1;
        line.strip_suffix('\r').unwrap_or(line)
    })
}

/// Bytes of lines that are handed out together, or up to twice as many: they stay in the cache while they are read.
const ENOUGH_LINES: usize = 64 << 10;

/// Where the next piece lies in the buffer.
#[derive(Clone, Copy, Debug)]
struct Found {
    line: u64,
    from: usize,
    length: usize,
    quoted: bool,
    too_long: bool,
}

/// The bytes not yet handed out.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    /// Separates fields, if quotes have a meaning.
    delimiter: Option<u8>,
    /// The sign around fields, if it has one.
    quote: u8,
    /// Beginning of lines that are no records; empty if there are none.
    comment: Box<[u8]>,
    buffer: Vec<u8>,
    start: usize,
    line: u64,
    scan: Scan,
    skipping: bool,
    begun: bool,
    /// Up to where lines are to be records of their own.
    one_by_one: usize,
}

impl Splitter {
    /// Makes a splitter for lines; with a delimiter, quotes at the start of a field protect line ends.
    pub(crate) fn new(delimiter: Option<u8>) -> Self {
        let (comment, buffer, scan) = (Box::default(), Vec::new(), Scan::default());
        Self { delimiter, quote: b'"', comment, buffer, start: 0, line: 1, scan, skipping: false, begun: false, one_by_one: 0 }
    }

    /// The same with another sign around fields.
    pub(crate) fn quoted_by(self, quote: u8) -> Self {
        Self { quote, ..self }
    }

    /// The same, but lines that begin so are no records, and quotes in them have no meaning.
    pub(crate) fn without_comments(self, comment: &str) -> Self {
        Self { comment: comment.as_bytes().into(), ..self }
    }

    /// The sign around fields, if it has a meaning.
    pub(crate) fn quote(&self) -> Option<u8> {
        self.delimiter.map(|_| self.quote)
    }

    /// Forgets what is unfinished, and begins anew with this line.
    pub(crate) fn restart(&mut self, line: u64) {
        self.buffer.clear();
        self.start = 0;
        self.one_by_one = 0;
        self.line = line;
        self.scan = Scan::default();
        self.skipping = false;
    }

    /// Skips a byte order mark once more, if the next bytes are one.
    pub(crate) fn expect_mark(&mut self) {
        self.begun = false;
    }

    /// Takes a block; call [`next`](Self::next) until it has no more.
    pub(crate) fn feed(&mut self, block: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.one_by_one = 0;
        self.buffer.extend_from_slice(block);
    }

    /// Returns the next lines that are whole, unless something but plain records may be among them. They are still there until
    /// they are [passed](Self::pass_lines), or [left](Self::leave_lines) to [`next`](Self::next).
    pub(crate) fn whole_lines(&self) -> Option<WholeLines<'_>> {
        // A record that was looked at before is cut by blocks.
        let is_cut = self.scan.offset > 0 || self.start < self.one_by_one;
        if is_cut { None } else { self.whole_lines_in(&self.buffer[self.start..]) }
    }

    /// The same of bytes that were not fed, if all that were are handed out. Lines are [counted](Self::count_lines), not passed.
    pub(crate) fn whole_lines_of<'b>(&self, block: &'b [u8]) -> Option<WholeLines<'b>> {
        if self.is_within() { None } else { self.whole_lines_in(block) }
    }

    fn whole_lines_in<'b>(&self, bytes: &'b [u8]) -> Option<WholeLines<'b>> {
        if !self.begun || self.skipping || !self.comment.is_empty() {
            return None;
        }
        // A rest that is short is not left alone.
        let most = if bytes.len() < 2 * ENOUGH_LINES { bytes } else { &bytes[..ENOUGH_LINES] };
        Some(WholeLines { line: self.line, bytes: &most[..=memrchr(b'\n', most)?] })
    }

    /// Whether there are bytes that are not handed out, or the stream has not begun.
    pub(crate) fn is_within(&self) -> bool {
        !self.begun || self.skipping || self.start < self.buffer.len()
    }

    /// Cuts a block behind the line that is within it at the beginning; nothing is cut off where none is.
    pub(crate) fn cut<'b>(&self, block: &'b [u8]) -> (&'b [u8], &'b [u8]) {
        let end = memchr(b'\n', block).filter(|_| self.is_within()).map_or(0, |end| end + 1);
        block.split_at(end)
    }

    /// Counts lines that were not fed.
    pub(crate) fn count_lines(&mut self, count: usize) {
        self.line += count as u64;
    }

    /// Passes whole lines: so many bytes, so many lines.
    pub(crate) fn pass_lines(&mut self, (bytes, count): (usize, usize)) {
        self.scan = Scan::default();
        self.start += bytes;
        self.line += count as u64;
    }

    /// Leaves whole lines to [`next`](Self::next): so many bytes.
    pub(crate) fn leave_lines(&mut self, bytes: usize) {
        self.one_by_one = self.start + bytes;
    }

    /// Returns the next piece that is complete.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Piece<'_>> {
        if !self.begun && !self.begin() {
            return None;
        }
        // Places first, slices last: a piece that borrows would forbid to look on.
        let found = self.advance()?;
        let bytes = &self.buffer[found.from..found.from + found.length];
        let line = found.line;
        Some(if found.too_long {
            Piece::TooLong { line, head: bytes }
        } else {
            Piece::Record { line, bytes, quoted: found.quoted }
        })
    }

    #[inline]
    fn advance(&mut self) -> Option<Found> {
        loop {
            if self.skipping && !self.skip() {
                return None;
            }
            if !self.comment.is_empty() && !self.pass_comments() {
                return None;
            }
            let rest = &self.buffer[self.start..];
            let found = self.scan.find(rest, self.delimiter, self.quote);
            let Some((end, quoted)) = found.filter(|(end, _)| *end <= MAX_RECORD) else {
                return (rest.len() > MAX_RECORD).then(|| self.too_long());
            };
            let (line, from) = (self.line, self.start);
            self.line += 1;
            if quoted {
                self.line += line_feeds(&rest[..end]);
            }
            self.scan = Scan::default();
            self.start += end + 1;
            let length = without_return(&self.buffer[from..from + end]).len();
            if length > 0 {
                return Some(Found { line, from, length, quoted, too_long: false });
            }
        }
    }

    /// Returns the last record, if the stream ended without a line end; call when [`next`](Self::next) has no more.
    pub(crate) fn finish(&mut self) -> Option<Piece<'_>> {
        self.begun = true;
        if self.skipping || self.start == self.buffer.len() {
            return None;
        }
        let (from, line) = (self.start, self.line);
        self.start = self.buffer.len();
        let scan = std::mem::take(&mut self.scan);
        let bytes = &self.buffer[from..];
        if scan.mode == Mode::InQuotes && scan.offset == bytes.len() {
            // A last quote that closes is left unjudged, because a second one could still have followed.
            return Some(Piece::OpenQuote { line, bytes });
        }
        let bytes = without_return(bytes);
        let quoted = self.delimiter.is_some() && memchr(self.quote, bytes).is_some();
        (!bytes.is_empty()).then_some(Piece::Record { line, bytes, quoted })
    }

    /// Skips a byte order mark; false while there are too few bytes to know.
    fn begin(&mut self) -> bool {
        if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
            return false;
        }
        self.begun = true;
        if self.buffer.starts_with(BOM) {
            self.start = BOM.len();
        }
        true
    }

    /// Hands out the head of a record past the bound, and starts to skip where the bound is.
    fn too_long(&mut self) -> Found {
        let (line, from) = (self.line, self.start);
        self.start += MAX_RECORD;
        self.line += line_feeds(&self.buffer[from..self.start]);
        self.scan = Scan::default();
        self.skipping = true;
        Found { line, from, length: KEPT_OF_LONG_RECORD, quoted: false, too_long: true }
    }

    /// Passes lines that are no records; false while there are too few bytes to know, or to find the end of one.
    fn pass_comments(&mut self) -> bool {
        loop {
            let rest = &self.buffer[self.start..];
            if !rest.starts_with(&self.comment) {
                return rest.len() >= self.comment.len() || !self.comment.starts_with(rest);
            }
            self.skipping = true;
            if !self.skip() {
                return false;
            }
        }
    }

    /// Skips to behind the next line feed; false if there is none yet.
    fn skip(&mut self) -> bool {
        if let Some(end) = memchr(b'\n', &self.buffer[self.start..]) {
            self.start += end + 1;
            self.line += 1;
            self.skipping = false;
        } else {
            self.start = self.buffer.len();
        }
        !self.skipping
    }
}

impl Scan {
    /// Finds the line feed that ends the record, and whether there is a quote before it; remembers how far it looked.
    #[inline]
    fn find(&mut self, record: &[u8], delimiter: Option<u8>, quote: u8) -> Option<(usize, bool)> {
        let Some(delimiter) = delimiter else {
            let found = memchr(b'\n', &record[self.offset..]).map(|at| (self.offset + at, false));
            self.offset = record.len();
            return found;
        };
        if self.offset == 0 {
            // Most records have no quotes: two fast searches settle them.
            if let Some(end) = memchr(b'\n', record)
                && memchr(quote, &record[..end]).is_none()
            {
                return Some((end, false));
            }
        }
        // A record that blocks cut is examined byte by byte, with quotes or without.
        self.find_quoted(record, delimiter, quote).map(|end| (end, memchr(quote, &record[..end]).is_some()))
    }

    fn find_quoted(&mut self, record: &[u8], delimiter: u8, quote: u8) -> Option<usize> {
        loop {
            let rest = &record[self.offset..];
            match self.mode {
                Mode::FieldStart => {
                    let opens = *rest.first()? == quote;
                    self.offset += usize::from(opens);
                    self.mode = if opens { Mode::InQuotes } else { Mode::InField };
                }
                Mode::InField => {
                    let Some(at) = memchr2(delimiter, b'\n', rest) else {
                        self.offset = record.len();
                        return None;
                    };
                    if rest[at] == b'\n' {
                        return Some(self.offset + at);
                    }
                    self.offset += at + 1;
                    self.mode = Mode::FieldStart;
                }
                Mode::InQuotes => {
                    let Some(at) = memchr(quote, rest) else {
                        self.offset = record.len();
                        return None;
                    };
                    self.offset += at;
                    // The byte after a quote says whether it closes or is literal.
                    let doubled = *rest.get(at + 1)? == quote;
                    self.offset += 1 + usize::from(doubled);
                    if !doubled {
                        self.mode = Mode::InField;
                    }
                }
            }
        }
    }
}

fn line_feeds(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

fn without_return(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(input: &[u8], step: usize, delimiter: Option<u8>) -> Vec<(u64, String)> {
        let mut splitter = Splitter::new(delimiter);
        let mut pieces = Vec::new();
        let mut keep = |piece: Piece<'_>| {
            let (line, bytes, mark) = match piece {
                Piece::Record { line, bytes, .. } => (line, bytes, ""),
                Piece::TooLong { line, head } => (line, &head[..3], "too long "),
                Piece::OpenQuote { line, bytes } => (line, bytes, "open "),
            };
            pieces.push((line, mark.to_owned() + &String::from_utf8_lossy(bytes)));
        };
        for block in input.chunks(step) {
            splitter.feed(block);
            while let Some(piece) = splitter.next() {
                keep(piece);
            }
        }
        if let Some(piece) = splitter.finish() {
            keep(piece);
        }
        pieces
    }

    #[test]
    fn a_record_without_quotes_is_said_to_have_none_whatever_the_blocks() {
        for step in 1..=8 {
            let mut splitter = Splitter::new(Some(b','));
            let mut quoted = Vec::new();
            for block in b"a,b\n\"c\"\nd\re\n".chunks(step) {
                splitter.feed(block);
                while let Some(piece) = splitter.next() {
                    quoted.push(matches!(piece, Piece::Record { quoted: true, .. }));
                }
            }
            assert_eq!(quoted, [false, true, false], "blocks of {step}");
        }
    }

    fn owned(pieces: &[(u64, &str)]) -> Vec<(u64, String)> {
        pieces.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
    }

    #[test]
    fn records_do_not_depend_on_blocks() {
        let input = b"\xEF\xBB\xBFa,b\r\n\n\"x\r\ny\",\"\"\"\"\nc\"d,\"e\"f\n\r\nlast,\"\"";
        let whole = [(1, "a,b"), (3, "\"x\r\ny\",\"\"\"\""), (5, "c\"d,\"e\"f"), (7, "last,\"\"")];
        for step in 1..=input.len() {
            assert_eq!(split(input, step, Some(b',')), owned(&whole), "blocks of {step}");
        }
    }

    #[test]
    fn without_a_delimiter_quotes_protect_nothing() {
        for step in 1..6 {
            assert_eq!(split(b"\"a\nb\"\n", step, None), owned(&[(1, "\"a"), (2, "b\"")]));
        }
    }

    #[test]
    fn a_quote_left_open_differs_from_one_that_closes_the_stream() {
        for step in 1..8 {
            assert_eq!(split(b"a,\"b\nc", step, Some(b',')), owned(&[(1, "open a,\"b\nc")]));
            assert_eq!(split(b"a,\"", step, Some(b',')), owned(&[(1, "open a,\"")]));
            assert_eq!(split(b"a,\"b\"\"", step, Some(b',')), owned(&[(1, "open a,\"b\"\"")]));
            assert_eq!(split(b"a,\"b\"", step, Some(b',')), owned(&[(1, "a,\"b\"")]));
            assert_eq!(split(b"a,\"\"\"\"", step, Some(b',')), owned(&[(1, "a,\"\"\"\"")]));
        }
    }

    #[test]
    fn a_record_past_the_bound_is_cut_at_the_same_place_whatever_the_blocks() {
        let mut input = b"a\n\"".to_vec();
        input.resize(input.len() + MAX_RECORD / 2, b'\n');
        input.resize(input.len() + MAX_RECORD, b'x');
        input.extend_from_slice(b"\nb\n");
        let line = 2 + (MAX_RECORD / 2) as u64;
        for step in [1 << 16, (1 << 20) + 1, 1 << 26] {
            let pieces = split(&input, step, Some(b','));
            assert_eq!(pieces, owned(&[(1, "a"), (2, "too long \"\n\n"), (line + 1, "b")]), "blocks of {step}");
        }
    }
}
