//! How a stream of lines with fields is written, where it is not as RFC 4180 has it.

use memchr::memmem::Finder;

use crate::error::DecodeError;

/// How fields, columns and numbers are written.
#[derive(Clone, Debug)]
pub struct Dialect {
    pub(crate) delimiter: Delimiter,
    pub(crate) heading: Heading,
    /// The ASCII sign around fields; None if there is none.
    pub(crate) quote: Option<u8>,
    /// Whether numbers have a decimal comma, and points between thousands: `1.234,50`.
    pub(crate) has_decimal_comma: bool,
}

/// What separates fields.
#[derive(Clone, Debug)]
pub enum Delimiter {
    /// One byte; quotes protect it.
    Byte(u8),
    /// A text of several bytes; quotes have no meaning.
    Text(Box<Finder<'static>>),
    /// Blanks and tabs, any number of them, also in front and behind; quotes have no meaning.
    Blanks,
}

/// Where the names of the columns are.
#[derive(Clone, Debug)]
pub enum Heading {
    /// In the first line.
    Line,
    /// Nowhere: they are given.
    Given(Vec<String>),
    /// In the first line; others are given in their place.
    Replaced(Vec<String>),
    /// Nowhere: they are the numbers of the columns, from 1.
    Numbers,
    /// In lines such as Zeek writes, which begin with `#`; they say the delimiter, types and words for missing values, too.
    Zeek,
}

impl Heading {
    /// Whether the first line is not a record.
    pub(crate) fn is_line(&self) -> bool {
        matches!(self, Self::Line | Self::Replaced(_))
    }
}

impl Delimiter {
    /// Makes a delimiter of a text; `whitespace` is [`Blanks`](Self::Blanks).
    pub fn new(text: &str) -> Result<Self, DecodeError> {
        let cannot = |byte: &u8| matches!(byte, b'"' | b'\n' | b'\r' | 0);
        match text.as_bytes() {
            _ if text == "whitespace" => Ok(Self::Blanks),
            [byte] if byte.is_ascii() && !cannot(byte) => Ok(Self::Byte(*byte)),
            [_, _, ..] if !text.bytes().any(|byte| cannot(&byte)) => {
                Ok(Self::Text(Box::new(Finder::new(text.as_bytes()).into_owned())))
            }
            _ => Err(DecodeError::Delimiter { delimiter: text.to_owned() }),
        }
    }

    /// The delimiter, where quotes protect it.
    pub(crate) fn quoted(&self) -> Option<u8> {
        if let Self::Byte(byte) = self { Some(*byte) } else { None }
    }
}

impl Dialect {
    /// Fields that a byte separates, below a header line.
    pub fn new(delimiter: Delimiter) -> Self {
        Self { delimiter, heading: Heading::Line, quote: Some(b'"'), has_decimal_comma: false }
    }

    /// The same with another heading.
    #[must_use]
    pub fn headed(self, heading: Heading) -> Self {
        Self { heading, ..self }
    }

    /// The delimiter, where quotes protect it.
    pub(crate) fn quoted(&self) -> Option<u8> {
        self.delimiter.quoted().filter(|_| self.quote.is_some())
    }

    /// The same with a decimal comma.
    #[must_use]
    pub fn with_decimal_comma(self) -> Self {
        Self { has_decimal_comma: true, ..self }
    }
}

/// Longest number that is read with a decimal comma, in bytes.
const LONGEST: usize = 64;

/// A number as it is written with a decimal point, and without points between thousands.
pub(crate) struct Point {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Point {
    /// Reads a number with a decimal comma; None for other texts.
    pub(crate) fn of_comma(text: &str) -> Option<Self> {
        let mut made = Self { bytes: [0; LONGEST], length: 0 };
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (number, exponent) = match unsigned.find(['e', 'E']) {
            Some(place) => unsigned.split_at(place),
            None => (unsigned, ""),
        };
        let (whole, places) = number.split_once(',').map_or((number, None), |(whole, places)| (whole, Some(places)));
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if text.len() > LONGEST || !places.is_none_or(is_number) {
            return None;
        }
        let mut groups = whole.split('.');
        let first = groups.next().filter(|first| is_number(first))?;
        let is_grouped = whole.len() > first.len();
        if is_grouped && (first.len() > 3 || groups.any(|group| group.len() != 3 || !is_number(group))) {
            return None;
        }
        if text.starts_with(['-', '+']) {
            made.push(&text[..1]);
        }
        whole.split('.').for_each(|group| made.push(group));
        if let Some(places) = places {
            made.push(".");
            made.push(places);
        }
        made.push(exponent);
        Some(made)
    }

    fn push(&mut self, text: &str) {
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text.as_bytes());
        self.length += text.len();
    }

    /// The number.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_with_a_decimal_comma_is_read_if_its_thousands_are_grouped_or_not() {
        let read = |text| Point::of_comma(text).map(|point| point.text().to_owned());
        let cases = [
            ("1.234,50", Some("1234.50")),
            ("-1.234.567", Some("-1234567")),
            ("17", Some("17")),
            ("0,5", Some("0.5")),
            ("1,5e3", Some("1.5e3")),
            ("1.5", None),
            ("1234.567", None),
            ("1.2345", None),
            (",5", None),
            ("5,", None),
            ("1,2,3", None),
            ("31.12.2024", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).as_deref(), expected, "{text}");
        }
        assert!(read(&"1".repeat(65)).is_none());
    }

    #[test]
    fn what_cannot_separate_fields_is_refused() {
        for text in ["", "\"", "\n", "ü", "a\"", "\0"] {
            let expected = text == "ü";
            assert_eq!(Delimiter::new(text).is_ok(), expected, "{text:?}");
        }
        assert!(matches!(Delimiter::new("whitespace"), Ok(Delimiter::Blanks)));
        assert!(matches!(Delimiter::new("::"), Ok(Delimiter::Text(_))));
    }
}
