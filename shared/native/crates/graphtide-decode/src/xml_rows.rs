//! Elements of XML with a given name, such as `<row Id="1" …/>`: their attributes are the fields of a record that a statement
//! reads.
//!
//! Elements may be anywhere. What is in them and around them is passed over, and so are comments, instructions, sections of
//! characters and a declaration of the document's type. References are those that XML has by itself (`&lt;`, `&#10;`), so no
//! text can grow. An element that is not written as XML has it is a bad record. Memory: one tag of up to [`MAX_RECORD`]. Cost:
//! each byte is looked at a constant number of times.

use memchr::{memchr, memchr_iter, memmem};

use crate::csv::fields::Fields;
use crate::error::{DecodeError, RowError};
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD};
use crate::statement::csv::{CsvStatement, Record};
use crate::statement::decoding::{Output, Records, Sink};
use crate::statement::reading::Statement;
use crate::types::Projection;

/// What is passed over, by how it begins and ends.
const PASSED: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<![CDATA[", b"]]>"), (b"<?", b"?>")];

/// The references that XML has by itself.
const REFERENCES: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];

/// Elements that a statement reads.
#[derive(Clone, Debug)]
pub(crate) struct XmlRows {
    row: Box<str>,
    buffer: Vec<u8>,
    start: usize,
    line: u64,
    /// What ends what is passed over.
    until: Option<&'static [u8]>,
    scan: Scan,
    read: Projection,
    places: Vec<Option<usize>>,
    fields: Fields,
    /// The values of an element, end to end, and where each of those that are read is.
    text: String,
    spans: Vec<(usize, usize)>,
}

/// How far a tag was looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Scan {
    /// Bytes of it.
    offset: usize,
    quote: Option<u8>,
    /// Whether it is inside the brackets of a declaration.
    is_inside: bool,
}

/// How far a tag goes.
enum Tag {
    /// Its bytes, with both brackets.
    Whole(usize),
    /// What is passed over begins, and ends so.
    Passed(&'static [u8]),
    TooLong,
    /// More bytes are needed.
    Open,
}

impl XmlRows {
    /// Makes a reader of the elements called `row`; returns it with the statement over their attributes.
    pub(crate) fn new(statement: Statement, row: &str) -> (Self, CsvStatement) {
        let (statement, read) = CsvStatement::new(statement);
        let rows = Self {
            row: row.into(),
            buffer: Vec::new(),
            start: 0,
            line: 1,
            until: None,
            scan: Scan::default(),
            places: (0..read.len()).map(Some).collect(),
            spans: vec![(0, 0); read.len()],
            read: Projection::new(read, Vec::new()),
            fields: Fields::default(),
            text: String::new(),
        };
        (rows, statement)
    }

    fn drain(&mut self, output: &mut Output<'_, '_, CsvStatement>) {
        loop {
            if let Some(end) = self.until {
                let Some(place) = memmem::find(&self.buffer[self.start..], end) else {
                    // The end may be cut.
                    let kept = (self.buffer.len() - self.start).min(end.len() - 1);
                    self.pass(self.buffer.len() - self.start - kept);
                    return;
                };
                self.pass(place + end.len());
                self.until = None;
            }
            let Some(place) = memchr(b'<', &self.buffer[self.start..]) else {
                self.pass(self.buffer.len() - self.start);
                return;
            };
            self.pass(place);
            let found = self.scan.tag(&self.buffer[self.start..]);
            if !matches!(found, Tag::Open) {
                self.scan = Scan::default();
            }
            match found {
                Tag::Open => return,
                Tag::Passed(end) => self.until = Some(end),
                Tag::Whole(length) => {
                    self.element(length, output);
                    self.pass(length);
                }
                Tag::TooLong => {
                    let error = RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD };
                    let head = &self.buffer[self.start..self.start + KEPT_OF_LONG_RECORD];
                    output.reject(self.line, &error, head);
                    self.pass(MAX_RECORD);
                    self.until = Some(b">");
                }
            }
        }
    }

    /// Passes bytes, and counts their lines.
    fn pass(&mut self, length: usize) {
        self.line += memchr_iter(b'\n', &self.buffer[self.start..self.start + length]).count() as u64;
        self.start += length;
    }

    /// Writes or rejects the record that a tag is, if it begins an element of the name.
    fn element(&mut self, length: usize, output: &mut Output<'_, '_, CsvStatement>) {
        let Self { row, buffer, start, line, read, places, fields, text, spans, .. } = self;
        let bytes = &buffer[*start..*start + length];
        let Some(rest) = bytes[1..].strip_prefix(row.as_bytes()) else { return };
        if !matches!(rest[0], b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'>') {
            return;
        }
        text.clear();
        spans.fill((0, 0));
        match attributes(rest, &read.names, text, spans) {
            Ok(()) => {
                let fields = fields.of_places(text, spans.iter().copied());
                let (nulls, has_decimal_comma) = (&[][..], false);
                let record = Record { line: *line, bytes, fields, places, columns: read, nulls, has_decimal_comma };
                output.by.take(output.writer, output.target, &record);
            }
            Err(error) => output.reject(*line, &error, bytes),
        }
    }
}

impl Scan {
    /// How far the tag goes that the bytes begin with.
    fn tag(&mut self, bytes: &[u8]) -> Tag {
        if self.offset == 0 {
            for (begin, end) in PASSED {
                if bytes.starts_with(begin) {
                    return Tag::Passed(end);
                }
                if begin.starts_with(bytes) {
                    return Tag::Open;
                }
            }
        }
        let is_declaration = bytes.starts_with(b"<!");
        let looked_at = &bytes[..bytes.len().min(MAX_RECORD)];
        for (place, byte) in looked_at.iter().enumerate().skip(self.offset) {
            match (self.quote, byte) {
                (Some(open), byte) if open == *byte => self.quote = None,
                (None, b'"' | b'\'') => self.quote = Some(*byte),
                (None, b'[') if is_declaration => self.is_inside = true,
                (None, b']') if is_declaration => self.is_inside = false,
                (None, b'>') if !self.is_inside => return Tag::Whole(place + 1),
                _ => {}
            }
        }
        self.offset = looked_at.len();
        if bytes.len() > MAX_RECORD { Tag::TooLong } else { Tag::Open }
    }
}

/// Reads the attributes behind the name of a tag, as far as they are among `names`.
fn attributes(rest: &[u8], names: &[String], values: &mut String, spans: &mut [(usize, usize)]) -> Result<(), RowError> {
    let wrong = |reason: &str| RowError::Xml { reason: reason.to_owned() };
    let rest = std::str::from_utf8(rest).map_err(|error| RowError::NotUtf8 { offset: error.valid_up_to() })?;
    let is_blank = |char: char| matches!(char, ' ' | '\t' | '\r' | '\n');
    let mut rest = rest.trim_start_matches(is_blank);
    loop {
        if matches!(rest, ">" | "/>") {
            return Ok(());
        }
        let (name, behind) = rest.split_once('=').ok_or_else(|| wrong("an attribute has no value"))?;
        let name = name.trim_end_matches(is_blank);
        let behind = behind.trim_start_matches(is_blank);
        let quote = behind.chars().next().filter(|char| matches!(char, '"' | '\''));
        let quote = quote.ok_or_else(|| wrong("a value is not in quotes"))?;
        let (value, behind) = behind[1..].split_once(quote).ok_or_else(|| wrong("a value is not closed"))?;
        if name.is_empty() || name.contains(|char: char| is_blank(char) || matches!(char, '"' | '\'' | '<' | '>' | '/')) {
            return Err(wrong("an attribute has no name"));
        }
        let wanted = names.iter().position(|known| known == name);
        let begin = values.len();
        unescape(value, values).ok_or_else(|| wrong("a reference or a sign in a value is not one that XML has"))?;
        match wanted {
            Some(place) => spans[place] = (begin, values.len()),
            None => values.truncate(begin),
        }
        rest = behind.trim_start_matches(is_blank);
        if rest.len() == behind.len() && !matches!(rest, ">" | "/>") {
            return Err(wrong("attributes are not apart"));
        }
    }
}

/// Appends a value, with what its references stand for and a blank for each blank; None if a reference is none.
fn unescape(value: &str, into: &mut String) -> Option<()> {
    let mut rest = value;
    while let Some(place) = rest.find(['&', '<', '\t', '\n', '\r']) {
        into.push_str(&rest[..place]);
        let sign = &rest[place..];
        match sign.as_bytes()[0] {
            b'&' => {
                let (name, behind) = sign[1..].split_once(';')?;
                into.push(referred(name)?);
                rest = behind;
            }
            b'<' => return None,
            _ => {
                into.push(' ');
                rest = sign.strip_prefix("\r\n").unwrap_or(&sign[1..]);
            }
        }
    }
    into.push_str(rest);
    Some(())
}

/// The character of a reference.
fn referred(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        return REFERENCES.iter().find_map(|(known, char)| (*known == name).then_some(*char));
    };
    let (digits, base) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| char::from(byte).is_digit(base));
    let char = u32::from_str_radix(digits, base).ok().filter(|_| is_plain).and_then(char::from_u32)?;
    matches!(char, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..).then_some(char)
}

impl Records for XmlRows {
    type By = CsvStatement;

    fn feed(&mut self, block: &[u8], sink: &mut Sink<'_, CsvStatement>) -> Result<(), DecodeError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(block);
        sink.write(|output| self.drain(output));
        Ok(())
    }

    fn finish(&mut self, _: &mut Sink<'_, CsvStatement>) -> Result<(), DecodeError> {
        if self.until.is_some() || self.start < self.buffer.len() {
            let reason = "it breaks off within a tag or a comment".to_owned();
            return Err(DecodeError::NotThisFormat { format: "XML", reason });
        }
        Ok(())
    }

    fn begin_piece(&mut self, line: u64, _: u64) {
        self.buffer.clear();
        (self.start, self.line, self.until, self.scan) = (0, line, None, Scan::default());
    }
}
