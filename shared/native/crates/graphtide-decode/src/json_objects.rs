//! Finds the records in a text of JSON, wherever they stand: a state of a few bytes walks over it, and no tree is built.
//!
//! Records are the objects at the top, one after another, and the elements of lists there. With a path they are what is under
//! its keys in these objects: an object, or the elements of a list. A list on the way to it is passed element by element, so
//! `resourceSpans`, `scopeSpans`, `spans` finds the spans of OTLP. A position in the path takes one element. What stands beside
//! the path is skipped. Blanks and commas between records are all alike.
//!
//! Invariant: the pieces depend on the bytes alone, not on the blocks they came in. Memory: a record, or a key of up to
//! [`LONGEST_KEY`]. Cost: each byte is looked at a constant number of times.

use std::ops::Range;

use memchr::memchr2;

use crate::error::DecodeError;
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD, Piece};
use crate::statement::paths::Step;

const FORMAT: &str = "JSON";
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Longest key that may be one of the path, in bytes as it is written.
const LONGEST_KEY: usize = 1 << 10;

/// How deep objects and lists may stand in each other around records.
const DEEPEST: usize = 128;

/// Where the walk is, outside records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In a list, or at the top: a value may follow.
    Values,
    /// In an object of the path: a key may follow.
    Keys,
    /// Behind a key: a colon, then its value.
    Value {
        /// Whether the key is the next of the path.
        is_wanted: bool,
    },
}

/// An object or list around records.
#[derive(Clone, Copy, Debug)]
struct Frame {
    is_list: bool,
    /// How many steps of the path lead to what stands in it.
    keys: usize,
    /// How many elements began, where one of them is wanted.
    elements: u32,
    /// Where it begins in the buffer; only of a text that is taken at once it stays so.
    from: usize,
}

/// What is being passed byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    /// Nothing.
    No,
    /// A value: a record, or one that is skipped.
    Value(Scan),
    /// The rest of a record past the bound.
    Rest(Scan),
}

/// How far a value was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scan {
    /// Bytes of it already examined.
    offset: usize,
    /// Objects and lists that are open.
    depth: usize,
    in_string: bool,
    /// Whether it is a number or a word, which ends before what follows.
    is_word: bool,
}

/// Finds records in JSON.
#[derive(Clone, Debug)]
pub(crate) struct JsonObjects {
    path: Box<[Step]>,
    buffer: Vec<u8>,
    start: usize,
    line: u64,
    begun: bool,
    frames: Vec<Frame>,
    place: Place,
    passing: Passing,
    /// Whether the value that is passed is a record.
    is_record: bool,
    /// What is wrong with the text behind the records so far; nothing is read from there on.
    broken: Option<DecodeError>,
}

/// Where a record lies in the buffer.
struct Found {
    line: u64,
    from: usize,
    to: usize,
    is_too_long: bool,
}

/// How far a walk came.
enum Walk {
    Done,
    Found(Found),
    /// More bytes are needed.
    Waits,
}

impl JsonObjects {
    /// Makes a walk to the records under a path.
    pub(crate) fn new(path: Box<[Step]>) -> Self {
        Self {
            path,
            buffer: Vec::new(),
            start: 0,
            line: 1,
            begun: false,
            frames: Vec::new(),
            place: Place::Values,
            passing: Passing::No,
            is_record: false,
            broken: None,
        }
    }

    /// Forgets what is unfinished, and begins anew with this line.
    pub(crate) fn restart(&mut self, line: u64) {
        let (path, mut buffer) = (std::mem::take(&mut self.path), std::mem::take(&mut self.buffer));
        buffer.clear();
        *self = Self { path, buffer, line, ..Self::new(Box::default()) };
    }

    /// Takes a block; call [`next`](Self::next) until it has no more.
    pub(crate) fn feed(&mut self, block: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(block);
    }

    /// Returns the next record that is complete; none behind what is [`broken`](Self::broken).
    pub(crate) fn next(&mut self) -> Option<Piece<'_>> {
        let found = self.look_on(false)?;
        Some(self.piece(&found))
    }

    /// Returns the last record, if the text ends with it; call when [`next`](Self::next) has no more.
    pub(crate) fn finish(&mut self) -> Option<Piece<'_>> {
        let found = self.look_on(true);
        let is_cut = self.passing != Passing::No || self.place != Place::Values || !self.frames.is_empty();
        if found.is_none() && self.broken.is_none() && (is_cut || self.start < self.buffer.len()) {
            self.broken = Some(wrong("it breaks off: an object, a list or a text is not closed".to_owned()));
        }
        found.map(|found| self.piece(&found))
    }

    /// The same as the place of the record in a text that was taken at once, and its line.
    pub(crate) fn next_place(&mut self, is_last: bool) -> Option<(u64, Range<usize>)> {
        let found = self.look_on(is_last)?;
        (!found.is_too_long).then_some((found.line, found.from..found.to))
    }

    /// The text that was taken at once.
    pub(crate) fn text(&self) -> &[u8] {
        &self.buffer
    }

    /// Where objects begin that are around the record found last, the innermost first; see [`next_place`](Self::next_place).
    pub(crate) fn around(&self) -> impl Iterator<Item = usize> {
        self.frames.iter().rev().filter(|frame| !frame.is_list).map(|frame| frame.from)
    }

    /// What is wrong with the text behind the records so far.
    pub(crate) fn broken(&self) -> Option<&DecodeError> {
        self.broken.as_ref()
    }

    fn look_on(&mut self, is_last: bool) -> Option<Found> {
        if self.broken.is_some() {
            return None;
        }
        self.advance(is_last).unwrap_or_else(|error| {
            self.broken = Some(error);
            None
        })
    }

    fn piece(&self, found: &Found) -> Piece<'_> {
        let (line, bytes) = (found.line, &self.buffer[found.from..found.to]);
        if found.is_too_long { Piece::TooLong { line, head: bytes } } else { Piece::Record { line, bytes, quoted: false } }
    }

    fn advance(&mut self, is_last: bool) -> Result<Option<Found>, DecodeError> {
        if !self.begun {
            if !is_last && self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
                return Ok(None);
            }
            self.begun = true;
            self.start += if self.buffer.starts_with(BOM) { BOM.len() } else { 0 };
        }
        loop {
            let step = match self.passing {
                Passing::No => self.walk(is_last)?,
                Passing::Value(scan) => self.pass(scan, is_last),
                Passing::Rest(scan) => self.pass_rest(scan, is_last),
            };
            match step {
                Walk::Done => {}
                Walk::Found(found) => return Ok(Some(found)),
                Walk::Waits => return Ok(None),
            }
        }
    }

    /// Looks at what comes next outside values.
    fn walk(&mut self, is_last: bool) -> Result<Walk, DecodeError> {
        let Some(byte) = self.buffer.get(self.start).copied() else { return Ok(Walk::Waits) };
        match (byte, self.place) {
            (b'\n', _) => {
                self.line += 1;
                self.start += 1;
            }
            (b' ' | b'\t' | b'\r', _) | (b',', Place::Values | Place::Keys) | (b':', Place::Value { .. }) => self.start += 1,
            (b'}', Place::Keys) => self.close(false)?,
            (b']', Place::Values) => self.close(true)?,
            (b'"', Place::Keys) => return Ok(self.key(is_last)),
            (b'}' | b']' | b':' | b',', _) | (_, Place::Keys) => {
                return Err(wrong(format!("a {:?} in line {} does not belong there", char::from(byte), self.line)));
            }
            (byte, Place::Values) => {
                let mut keys = self.frames.last().map_or(0, |frame| frame.keys);
                if let Some(Step::Position(wanted)) = self.path.get(keys)
                    && let Some(frame) = self.frames.last_mut().filter(|frame| frame.is_list)
                {
                    let element = frame.elements;
                    frame.elements = element.saturating_add(1);
                    if element != *wanted {
                        self.begin(false);
                        return Ok(Walk::Done);
                    }
                    keys += 1;
                }
                self.open(byte, keys)?;
            }
            (byte, Place::Value { is_wanted }) => {
                let keys = self.frames.last().map_or(0, |frame| frame.keys);
                self.place = Place::Keys;
                if is_wanted {
                    self.open(byte, keys + 1)?;
                } else {
                    self.begin(false);
                }
            }
        }
        Ok(Walk::Done)
    }

    /// Begins a value to which so many keys of the path lead.
    fn open(&mut self, byte: u8, keys: usize) -> Result<(), DecodeError> {
        let is_list = byte == b'[';
        let is_around = is_list || (byte == b'{' && matches!(self.path.get(keys), Some(Step::Name(_))));
        if !is_around {
            // Beside objects, only what is at the end of the path, or at the top, is a record, if a bad one; null is none.
            let is_null = self.buffer[self.start] == b'n' && !self.path.is_empty();
            self.begin(keys == self.path.len() && !is_null);
            return Ok(());
        }
        if self.frames.len() == DEEPEST {
            return Err(wrong(format!(
                "objects and lists stand more than {DEEPEST} deep in each other, in line {}",
                self.line
            )));
        }
        self.frames.push(Frame { is_list, keys, elements: 0, from: self.start });
        self.place = if is_list { Place::Values } else { Place::Keys };
        self.start += 1;
        Ok(())
    }

    fn close(&mut self, is_list: bool) -> Result<(), DecodeError> {
        if self.frames.pop().is_none_or(|frame| frame.is_list != is_list) {
            let byte = if is_list { ']' } else { '}' };
            return Err(wrong(format!("a {byte:?} in line {} closes nothing", self.line)));
        }
        self.place = if self.frames.last().is_none_or(|frame| frame.is_list) { Place::Values } else { Place::Keys };
        self.start += 1;
        Ok(())
    }

    fn begin(&mut self, is_record: bool) {
        self.is_record = is_record;
        self.passing = Passing::Value(Scan::default());
    }

    /// Reads a key.
    fn key(&mut self, is_last: bool) -> Walk {
        let rest = &self.buffer[self.start..];
        let mut scan = Scan::default();
        let Some(length) = scan.end(rest, is_last) else {
            if rest.len() > LONGEST_KEY {
                // It is none of the path: skipped as values are.
                self.place = Place::Value { is_wanted: false };
                self.is_record = false;
                self.passing = Passing::Value(scan);
                return Walk::Done;
            }
            return Walk::Waits;
        };
        let wanted = self.frames.last().and_then(|frame| self.path.get(frame.keys));
        let is_wanted = length <= LONGEST_KEY
            && matches!(wanted, Some(Step::Name(wanted))
                if serde_json::from_slice::<String>(&rest[..length]).is_ok_and(|key| *key == **wanted));
        self.place = Place::Value { is_wanted };
        self.line += line_feeds(&rest[..length]);
        self.start += length;
        Walk::Done
    }

    /// Passes a value.
    fn pass(&mut self, mut scan: Scan, is_last: bool) -> Walk {
        let rest = &self.buffer[self.start..];
        if let Some(end) = scan.end(rest, is_last).filter(|end| !self.is_record || *end <= MAX_RECORD) {
            let found = Found { line: self.line, from: self.start, to: self.start + end, is_too_long: false };
            self.line += line_feeds(&rest[..end]);
            self.start += end;
            self.passing = Passing::No;
            return if self.is_record { Walk::Found(found) } else { Walk::Done };
        }
        if !self.is_record {
            // What was looked at is not needed again.
            self.line += line_feeds(&rest[..scan.offset]);
            self.start += scan.offset;
            self.passing = Passing::Value(Scan { offset: 0, ..scan });
            return Walk::Waits;
        }
        if rest.len() <= MAX_RECORD {
            self.passing = Passing::Value(scan);
            return Walk::Waits;
        }
        // What is past the bound is looked at again from where the head ends, so that the walk is the same for all blocks.
        let mut scan = Scan::default();
        _ = scan.end(&rest[..MAX_RECORD], false);
        let skipped = scan.offset;
        let found = Found { line: self.line, from: self.start, to: self.start + KEPT_OF_LONG_RECORD, is_too_long: true };
        self.line += line_feeds(&rest[..skipped]);
        self.start += skipped;
        self.passing = Passing::Rest(Scan { offset: 0, ..scan });
        Walk::Found(found)
    }

    /// Passes the rest of a record past the bound.
    fn pass_rest(&mut self, mut scan: Scan, is_last: bool) -> Walk {
        let rest = &self.buffer[self.start..];
        let end = scan.end(rest, is_last);
        let passed = end.unwrap_or(scan.offset);
        self.line += line_feeds(&rest[..passed]);
        self.start += passed;
        self.passing = if end.is_some() { Passing::No } else { Passing::Rest(Scan { offset: 0, ..scan }) };
        if end.is_some() { Walk::Done } else { Walk::Waits }
    }
}

impl Scan {
    /// Finds the end of a value that begins where the offset was 0; remembers how far it looked.
    fn end(&mut self, value: &[u8], is_last: bool) -> Option<usize> {
        while let Some(byte) = value.get(self.offset).copied() {
            if self.in_string {
                let Some(place) = memchr2(b'"', b'\\', &value[self.offset..]).map(|place| self.offset + place) else {
                    self.offset = value.len();
                    break;
                };
                if value[place] == b'\\' {
                    if place + 1 == value.len() {
                        // What it escapes is not there yet.
                        self.offset = place;
                        return None;
                    }
                    self.offset = place + 2;
                    continue;
                }
                self.in_string = false;
                self.offset = place + 1;
                if self.depth == 0 {
                    return Some(self.offset);
                }
                continue;
            }
            if self.is_word {
                if matches!(byte, b',' | b']' | b'}' | b'{' | b'[' | b'"' | b' ' | b'\t' | b'\r' | b'\n') {
                    return Some(self.offset);
                }
                self.offset += 1;
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.offset += 1;
                        return Some(self.offset);
                    }
                }
                _ if self.depth == 0 => self.is_word = true,
                _ => {}
            }
            self.offset += 1;
        }
        (is_last && self.is_word).then_some(self.offset)
    }
}

/// The value that begins a text; the whole text if it does not end.
pub(crate) fn first_value(text: &[u8]) -> &[u8] {
    let end = Scan::default().end(text, true);
    &text[..end.unwrap_or(text.len())]
}

fn wrong(reason: String) -> DecodeError {
    DecodeError::NotThisFormat { format: FORMAT, reason }
}

fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a text that comes in blocks of this size.
    fn flaw_of(text: &[u8], size: usize) -> String {
        let mut objects = JsonObjects::new(Box::new([Step::Name("a".into())]));
        for block in text.chunks(size) {
            objects.feed(block);
            while objects.next().is_some() {}
        }
        _ = objects.finish();
        objects.broken().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn the_lines_of_a_key_count_however_long_it_is_and_whatever_the_blocks() {
        for length in [1, 2 * LONGEST_KEY] {
            let text = format!("{{\"{}\n\n\": 1, ]", "k".repeat(length));
            for size in [1, 7, text.len()] {
                let flaw = flaw_of(text.as_bytes(), size);
                assert!(flaw.contains("a ']' in line 3 does not belong there"), "{length}, {size}: {flaw}");
            }
        }
    }
}
