//! The tokens of JSON, one after another, and whole values that nobody reads.
//!
//! Every function passes what it reads, and returns None where JSON has something else. Cost: each byte is looked at a constant
//! number of times; values that are passed over take a byte of memory for each level.

use smallvec::SmallVec;

use crate::json_record::flat::{has_controls, quote_or_escape};

/// Levels of a value that is passed over without memory of its own.
const SHALLOW: usize = 64;

/// The part of a text that is not read yet.
pub(super) struct Rest<'t> {
    text: &'t str,
    place: usize,
    /// Where the last text began, behind its quote.
    begun: usize,
    /// Whether no byte of it is a control character, so that texts need no look at them.
    is_plain: bool,
}

impl<'t> Rest<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, place: 0, begun: 0, is_plain: !has_controls(text.as_bytes()) }
    }

    /// The next byte that is not a blank.
    #[inline]
    pub(super) fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.place)?;
            self.place += 1;
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
        }
    }

    #[inline]
    pub(super) fn token(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    /// How far it was read.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Goes back to where it was read to.
    pub(super) fn go_to(&mut self, place: usize) {
        self.place = place;
    }

    /// Whether the value that comes next is an object whose field, as it comes last, is this text. Passes it, or a part.
    pub(super) fn has(&mut self, field: &str, text: &str) -> Option<bool> {
        if self.next()? != b'{' {
            return Some(false);
        }
        let (mut has, mut next) = (false, self.next()?);
        while next != b'}' {
            if next != b'"' {
                return None;
            }
            let is_wanted = self.is_text(field)?;
            self.token(b':')?;
            let first = self.next()?;
            if is_wanted && first == b'"' {
                has = self.is_text(text)?;
            } else {
                has &= !is_wanted;
                self.skip_rest(first)?;
            }
            match self.next()? {
                b',' => next = self.next()?,
                b'}' => break,
                _ => return None,
            }
        }
        Some(has)
    }

    /// Whether a text behind its opening quote is this one.
    fn is_text(&mut self, wanted: &str) -> Option<bool> {
        let (text, has_escapes) = self.string()?;
        if !has_escapes {
            return Some(text == wanted);
        }
        Some(serde_json::from_str::<String>(self.quoted()).ok()? == wanted)
    }

    /// Whether nothing follows but blanks.
    pub(super) fn is_blank(&mut self) -> bool {
        self.next().is_none()
    }

    /// Passes these bytes, if they come next.
    #[inline]
    pub(super) fn passes(&mut self, wanted: Option<&str>) -> bool {
        let length =
            wanted.filter(|wanted| self.text.as_bytes()[self.place..].starts_with(wanted.as_bytes())).map_or(0, str::len);
        self.place += length;
        length > 0
    }

    /// Passes the bracket that ends a list, if it comes next.
    #[inline]
    pub(super) fn ends_list(&mut self) -> bool {
        let place = self.place;
        let ends = self.next() == Some(b']');
        if !ends {
            self.place = place;
        }
        ends
    }

    /// The rest of a word.
    #[inline]
    pub(super) fn word(&mut self, rest: &str) -> Option<()> {
        let is_there = self.text.as_bytes()[self.place..].starts_with(rest.as_bytes());
        self.place += rest.len();
        is_there.then_some(())
    }

    /// A text behind its opening quote, as it is written, and whether it has escapes, which are not looked at.
    #[inline]
    pub(super) fn string(&mut self) -> Option<(&'t str, bool)> {
        let bytes = self.text.as_bytes();
        self.begun = self.place;
        let mut end = self.place + quote_or_escape(&bytes[self.place..])?;
        let has_escapes = bytes[end] == b'\\';
        while bytes[end] == b'\\' {
            end += 2;
            end += quote_or_escape(bytes.get(end..)?)?;
        }
        self.place = end + 1;
        let text = self.text.get(self.begun..end)?;
        (self.is_plain || !has_controls(text.as_bytes())).then_some((text, has_escapes))
    }

    /// The text that was read last, with its quotes.
    pub(super) fn quoted(&self) -> &'t str {
        &self.text[self.begun - 1..self.place]
    }

    /// The number that begins with this byte, which was read, as it is written; and whether it is without places and exponent.
    #[inline]
    pub(super) fn number(&mut self, first: u8) -> Option<(&'t str, bool)> {
        let bytes = self.text.as_bytes();
        let begin = self.place - 1;
        let count = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = begin + usize::from(first == b'-');
        let digits = count(whole);
        if digits == 0 || (digits > 1 && bytes[whole] == b'0') {
            return None;
        }
        let mut end = whole + digits;
        let mut is_whole = true;
        if bytes.get(end) == Some(&b'.') {
            let places = count(end + 1);
            if places == 0 {
                return None;
            }
            end += 1 + places;
            is_whole = false;
        }
        if let Some(b'e' | b'E') = bytes.get(end) {
            end += 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let places = count(end.min(bytes.len()));
            if places == 0 {
                return None;
            }
            end += places;
            is_whole = false;
        }
        self.place = end;
        Some((&self.text[begin..end], is_whole))
    }

    /// Passes over a value.
    #[inline]
    pub(super) fn skip_value(&mut self) -> Option<()> {
        let first = self.next()?;
        self.skip_rest(first)
    }

    /// Passes over a value whose first byte was read.
    pub(super) fn skip_rest(&mut self, mut first: u8) -> Option<()> {
        // Whether each object or list that is open is an object.
        let mut open: SmallVec<[bool; SHALLOW]> = SmallVec::new();
        loop {
            match first {
                b'"' => self.skip_string()?,
                b'{' => match self.next()? {
                    b'}' => {}
                    quote => {
                        first = self.skip_key(quote)?;
                        open.push(true);
                        continue;
                    }
                },
                b'[' => match self.next()? {
                    b']' => {}
                    item => {
                        first = item;
                        open.push(false);
                        continue;
                    }
                },
                b't' => self.word("rue")?,
                b'f' => self.word("alse")?,
                b'n' => self.word("ull")?,
                first => drop(self.number(first)?),
            }
            loop {
                let Some(is_object) = open.last() else { return Some(()) };
                match (self.next()?, is_object) {
                    (b',', true) => {
                        let quote = self.next()?;
                        first = self.skip_key(quote)?;
                        break;
                    }
                    (b',', false) => {
                        first = self.next()?;
                        break;
                    }
                    (b'}', true) | (b']', false) => _ = open.pop(),
                    _ => return None,
                }
            }
        }
    }

    /// Passes over a key and its colon; returns the first byte of the value.
    fn skip_key(&mut self, quote: u8) -> Option<u8> {
        if quote != b'"' {
            return None;
        }
        self.skip_string()?;
        self.token(b':')?;
        self.next()
    }

    /// Passes over a text behind its opening quote.
    #[inline]
    pub(super) fn skip_string(&mut self) -> Option<()> {
        match self.string()? {
            (_, false) => Some(()),
            (text, true) => are_escapes(text.as_bytes()),
        }
    }
}

/// Some if all escapes are ones that JSON has.
pub(super) fn are_escapes(text: &[u8]) -> Option<()> {
    let mut rest = text;
    while let Some(place) = memchr::memchr(b'\\', rest) {
        let digits = match rest.get(place + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 0,
            b'u' => 4,
            _ => return None,
        };
        let (digits, behind) = rest[place + 2..].split_at_checked(digits)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        rest = behind;
    }
    Some(())
}
