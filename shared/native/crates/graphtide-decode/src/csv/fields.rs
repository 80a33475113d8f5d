//! The fields of a record of CSV, as the text between delimiters.

use memchr::{memchr, memchr_iter};

use crate::dialect::Delimiter;
use crate::error::RowError;

/// Places of fields, kept from record to record for their memory alone.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// The sign around fields.
    quote: u8,
    places: Vec<(usize, usize)>,
    unquoted: String,
}

/// The fields of one record.
#[derive(Clone, Copy)]
pub(crate) struct FieldsOf<'a> {
    text: &'a str,
    places: &'a [(usize, usize)],
}

/// The texts of the fields of one record.
pub(crate) trait Texts {
    /// The text of the field at this place.
    fn text(&self, place: usize) -> &str;
}

impl<'a> FieldsOf<'a> {
    #[inline]
    pub(super) fn len(self) -> usize {
        self.places.len()
    }

    #[inline]
    pub(crate) fn get(self, place: usize) -> &'a str {
        let (start, end) = self.places[place];
        &self.text[start..end]
    }
}

impl Texts for FieldsOf<'_> {
    #[inline]
    fn text(&self, place: usize) -> &str {
        self.get(place)
    }
}

impl Default for Fields {
    fn default() -> Self {
        Self::quoted_by(b'"')
    }
}

impl Fields {
    /// Fields with this ASCII sign around them, where it is needed.
    pub(crate) fn quoted_by(quote: u8) -> Self {
        Self { quote, places: Vec::new(), unquoted: String::new() }
    }

    /// Takes a record apart whose fields a byte separates.
    #[inline]
    pub(super) fn split<'a>(&'a mut self, record: &'a [u8], delimiter: u8, quoted: bool) -> Result<FieldsOf<'a>, RowError> {
        let text = text_of(record)?;
        self.places.clear();
        self.split_at_byte(text, delimiter, quoted);
        Ok(FieldsOf { text: if quoted { &self.unquoted } else { text }, places: &self.places })
    }

    /// The fields of a text that begin and end there.
    pub(crate) fn of_places<'a>(&'a mut self, text: &'a str, places: impl Iterator<Item = (usize, usize)>) -> FieldsOf<'a> {
        self.places.clear();
        self.places.extend(places);
        FieldsOf { text, places: &self.places }
    }

    /// Takes a record apart that anything may separate; fields that stand for a missing value are empty.
    pub(super) fn split_by<'a>(
        &'a mut self,
        record: &'a [u8],
        delimiter: &Delimiter,
        nulls: &[String],
        quoted: bool,
    ) -> Result<FieldsOf<'a>, RowError> {
        let text = text_of(record)?;
        self.places.clear();
        match delimiter {
            Delimiter::Byte(delimiter) => self.split_at_byte(text, *delimiter, quoted),
            Delimiter::Text(finder) => {
                let width = finder.needle().len();
                self.split_at(finder.find_iter(record), width, record.len());
            }
            Delimiter::Blanks => self.split_at_blanks(record),
        }
        let text = if quoted { &self.unquoted } else { text };
        for (start, end) in &mut self.places {
            if nulls.iter().any(|null| null == &text[*start..*end]) {
                *end = *start;
            }
        }
        Ok(FieldsOf { text, places: &self.places })
    }

    #[inline]
    fn split_at_byte(&mut self, text: &str, delimiter: u8, quoted: bool) {
        if quoted {
            self.unquote(text, delimiter);
        } else {
            self.split_at(memchr_iter(delimiter, text.as_bytes()), 1, text.len());
        }
    }

    /// Takes a record of this length apart at delimiters that begin there and are so wide.
    #[inline]
    fn split_at(&mut self, delimiters: impl Iterator<Item = usize>, width: usize, length: usize) {
        let mut start = 0;
        for end in delimiters {
            self.places.push((start, end));
            start = end + width;
        }
        self.places.push((start, length));
    }

    fn split_at_blanks(&mut self, record: &[u8]) {
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let mut start = None;
        for (place, byte) in record.iter().enumerate() {
            match start {
                None if !is_blank(byte) => start = Some(place),
                Some(from) if is_blank(byte) => {
                    self.places.push((from, place));
                    start = None;
                }
                _ => {}
            }
        }
        if let Some(from) = start {
            self.places.push((from, record.len()));
        }
    }

    fn unquote(&mut self, mut rest: &str, delimiter: u8) {
        self.unquoted.clear();
        let quote = char::from(self.quote);
        loop {
            let start = self.unquoted.len();
            if let Some(inner) = rest.strip_prefix(quote) {
                rest = inner;
                while let Some(end) = memchr(self.quote, rest.as_bytes()) {
                    self.unquoted.push_str(&rest[..end]);
                    rest = &rest[end + 1..];
                    let Some(after) = rest.strip_prefix(quote) else { break };
                    self.unquoted.push(quote);
                    rest = after;
                }
            }
            let end = memchr(delimiter, rest.as_bytes());
            self.unquoted.push_str(&rest[..end.unwrap_or(rest.len())]);
            self.places.push((start, self.unquoted.len()));
            let Some(end) = end else { return };
            rest = &rest[end + 1..];
        }
    }
}

#[inline]
fn text_of(record: &[u8]) -> Result<&str, RowError> {
    std::str::from_utf8(record).map_err(|error| RowError::NotUtf8 { offset: error.valid_up_to() })
}
