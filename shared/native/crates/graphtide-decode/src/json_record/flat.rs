//! Flat objects of plain values, which most records are, read in one pass.
//!
//! Everything that is not plain (escapes, nesting, numbers with exponents, an odd character) is left to the full reader; what both
//! read is the same. Cost: each byte is looked at once or twice, in words; a key is mostly the one that followed last time.

use std::borrow::Cow;

use graphtide_graph::value::ValueRef;
use memchr::memchr2;

use super::{Fields, Keys, Meaning, Scalar};

/// The place of the key that begins an object, among those that come next.
const BEGINNING: usize = 0;

/// Keys that are remembered, at most: more would be searched through for each that is not among them.
const MOST_KEYS: usize = 64;

/// Bytes of a key that is remembered though it means nothing, at most.
const LONGEST_KEY: usize = 64;

/// Digits of an integer that surely fits 64 bits.
const MOST_DIGITS: usize = 18;

/// Words in which a text mostly ends.
const SHORT_TEXT: usize = 4;

impl Keys {
    /// Reads an object into empty fields; returns false, with fields to discard, if it is not a flat and plain object.
    pub(crate) fn flat<'t>(&mut self, text: &'t str, fields: &mut Fields<'t>) -> bool {
        // Not even between values: then texts need no look at them.
        !has_controls(text.as_bytes()) && self.members(&mut Rest { text, place: 0 }, fields).is_some()
    }

    fn members<'t>(&mut self, rest: &mut Rest<'t>, fields: &mut Fields<'t>) -> Option<()> {
        let mut last = BEGINNING;
        rest.token(b'{')?;
        loop {
            rest.token(b'"')?;
            let expected = self.next[last];
            let place = if self.keys[expected].closed.as_ref().is_some_and(|closed| rest.passes(closed)) {
                Some(expected)
            } else {
                let key = rest.string()?;
                rest.token(b':')?;
                let found = self.found_after(last, key);
                if found.is_none() {
                    rest.value(|value| self.pass(fields, key, &value))?;
                }
                found
            };
            if let Some(place) = place {
                last = place + 1;
                self.member(self.keys[place].meaning, rest, fields)?;
            }
            match rest.next()? {
                b',' => {}
                b'}' => return rest.is_blank().then_some(()),
                _ => return None,
            }
        }
    }

    /// Reads the value of a key.
    #[inline]
    fn member<'t>(&self, meaning: Meaning, rest: &mut Rest<'t>, fields: &mut Fields<'t>) -> Option<()> {
        if meaning == Meaning::default() {
            rest.value(drop)
        } else if meaning.nests {
            None
        } else if self.is_as_written(meaning) {
            if let Some(digits) = rest.decimal() {
                return fields.keep_as_written(meaning, digits).ok();
            }
            let mut is_whole = true;
            rest.value(|value| {
                is_whole = !matches!(value, Scalar::Float(_));
                keep(fields, meaning, value);
            })?;
            is_whole.then_some(())
        } else {
            rest.value(|value| keep(fields, meaning, value))
        }
    }

    /// The place of a key, to be expected after another from now on; none if it means nothing and is not to be remembered.
    fn found_after(&mut self, last: usize, name: &str) -> Option<usize> {
        let found = self.keys.iter().position(|key| *key.name == *name).or_else(|| self.remember(name))?;
        self.next[last] = found;
        Some(found)
    }

    /// Remembers a key that means nothing, unless its name is wanted, or there are many.
    #[cold]
    fn remember(&mut self, name: &str) -> Option<usize> {
        if self.discover || self.keys.len() >= MOST_KEYS || name.len() > LONGEST_KEY {
            return None;
        }
        self.meaning(name);
        self.next.push(0);
        Some(self.keys.len() - 1)
    }

    /// Passes over the value of a key that means nothing.
    #[inline(never)]
    fn pass<'t>(&self, fields: &mut Fields<'t>, key: &'t str, value: &Scalar<'t>) {
        if self.discover {
            fields.discover(key.into(), value);
        }
    }
}

#[inline(never)]
fn keep<'t>(fields: &mut Fields<'t>, meaning: Meaning, value: Scalar<'t>) {
    fields.keep(meaning, value);
}

/// Bytes that are compared at once.
const AT_ONCE: usize = 16;

/// Bytes to compare, such as a key with what closes it; as a number, too, if they are few.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    text: Box<str>,
    bytes: u128,
    /// The bits that count; none where the key is longer.
    mask: u128,
}

impl Closed {
    pub(crate) fn new(text: String) -> Self {
        let (mut bytes, mut mask) = ([0; AT_ONCE], [0; AT_ONCE]);
        if text.len() <= AT_ONCE {
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            mask[..text.len()].fill(u8::MAX);
        }
        Self { text: text.into(), bytes: u128::from_le_bytes(bytes), mask: u128::from_le_bytes(mask) }
    }

    /// How many bytes they are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    #[inline]
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        match text.first_chunk() {
            Some(first) if self.mask != 0 => u128::from_le_bytes(*first) & self.mask == self.bytes,
            _ => text.starts_with(self.text.as_bytes()),
        }
    }
}

/// A value that is no text, alone but for blanks around it; None if it is no plain one.
pub(crate) fn bare<'v>(text: &str) -> Option<ValueRef<'v>> {
    let mut rest = Rest { text, place: 0 };
    let mut found = None;
    rest.value(|value| {
        found = match value {
            Scalar::Null => Some(ValueRef::Null),
            Scalar::Bool(truth) => Some(ValueRef::Bool(truth)),
            Scalar::Int(number) => Some(ValueRef::Int(number)),
            Scalar::Float(number) => Some(ValueRef::Float(number)),
            Scalar::Unsigned(_) | Scalar::Written(_) | Scalar::Text(_) | Scalar::Nested => None,
        };
    })?;
    found.filter(|_| rest.is_blank())
}

/// The part of a text that is not read yet.
struct Rest<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Rest<'t> {
    /// The next byte that is not a blank.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.place)?;
            self.place += 1;
            if byte != b' ' {
                return Some(byte);
            }
        }
    }

    #[inline]
    fn token(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn is_blank(&mut self) -> bool {
        self.next().is_none()
    }

    /// Passes these bytes, if they come next.
    #[inline]
    fn passes(&mut self, wanted: &Closed) -> bool {
        let begins = self.text.as_bytes().get(self.place..).is_some_and(|rest| wanted.begins(rest));
        self.place += if begins { wanted.text.len() } else { 0 };
        begins
    }

    /// A text up to its closing quote, without escapes.
    #[inline]
    fn string(&mut self) -> Option<&'t str> {
        let rest = &self.text.as_bytes()[self.place..];
        let length = quote_or_escape(rest)?;
        if rest[length] != b'"' {
            return None;
        }
        let begin = self.place;
        self.place += length + 1;
        self.text.get(begin..begin + length)
    }

    /// Reads a value and hands it on from where it was read: values that are passed on as optional ones cost ten times as much.
    #[inline]
    fn value(&mut self, keep: impl FnOnce(Scalar<'t>)) -> Option<()> {
        match self.next()? {
            b'"' => {
                let text = self.string()?;
                keep(Scalar::Text(Cow::Borrowed(text)));
            }
            b'-' => {
                let begin = self.place;
                match self.digits() {
                    Some(0) => return None,
                    Some(number) => keep(Scalar::Int(-number)),
                    None => keep(Scalar::Float(-self.fraction(begin)?)),
                }
            }
            b'0'..=b'9' => {
                self.place -= 1;
                let begin = self.place;
                match self.digits() {
                    Some(number) => keep(Scalar::Int(number)),
                    None => keep(Scalar::Float(self.fraction(begin)?)),
                }
            }
            b't' => {
                self.word("rue")?;
                keep(Scalar::Bool(true));
            }
            b'f' => {
                self.word("alse")?;
                keep(Scalar::Bool(false));
            }
            b'n' => {
                self.word("ull")?;
                keep(Scalar::Null);
            }
            _ => return None,
        }
        Some(())
    }

    fn word(&mut self, rest: &str) -> Option<()> {
        let is_there = self.text[self.place..].starts_with(rest);
        self.place += rest.len();
        is_there.then_some(())
    }

    /// A number without a sign and without an exponent that has a decimal point; nothing is passed if it is another value.
    fn decimal(&mut self) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        let begin = self.place + bytes.get(self.place..)?.iter().take_while(|byte| **byte == b' ').count();
        let count = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = count(begin);
        let point = begin + whole;
        let has_zeros = whole > 1 && bytes[begin] == b'0';
        if whole == 0 || has_zeros || bytes.get(point) != Some(&b'.') {
            return None;
        }
        let places = count(point + 1);
        let end = point + 1 + places;
        if places == 0 || matches!(bytes.get(end), Some(b'e' | b'E')) {
            return None;
        }
        self.place = end;
        self.text.get(begin..end)
    }

    /// A number with a decimal point that begins there, without a sign and without an exponent.
    fn fraction(&mut self, begin: usize) -> Option<f64> {
        let is_digit = self.text.as_bytes().get(begin).is_some_and(u8::is_ascii_digit);
        self.decimal().filter(|_| is_digit)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// An integer without a sign: not too long, without zeros in front, and with nothing behind it that continues with it.
    #[inline]
    fn digits(&mut self) -> Option<i64> {
        let bytes = &self.text.as_bytes()[self.place..];
        let mut number = 0_i64;
        let mut length = 0;
        while let Some(digit) = bytes.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            if length == MOST_DIGITS {
                return None;
            }
            number = number * 10 + i64::from(digit);
            length += 1;
        }
        let has_zeros = length > 1 && bytes[0] == b'0';
        if length == 0 || has_zeros || matches!(bytes.get(length), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.place += length;
        Some(number)
    }
}

/// Every byte of a word is one.
const ONES: u64 = u64::MAX / 255;

/// Whether a byte is below that of a blank.
#[inline]
pub(crate) fn has_controls(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let below = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        word.wrapping_sub(ONES * u64::from(b' ')) & !word
    };
    // All of them: that is faster than to look whether it was the last.
    words.iter().fold(0, |found, word| found | below(word)) & (ONES << 7) != 0 || rest.iter().any(|byte| *byte < b' ')
}

/// Where the first quote or backslash is. Most texts are a few words long.
#[inline]
pub(crate) fn quote_or_escape(bytes: &[u8]) -> Option<usize> {
    const QUOTES: u64 = ONES * b'"' as u64;
    const ESCAPES: u64 = ONES * b'\\' as u64;
    // The lowest bit is that of the lowest byte that is zero.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (words, _) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().take(SHORT_TEXT).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ QUOTES) | zeros(word ^ ESCAPES);
        if found != 0 {
            return Some(number * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let passed = words.len().min(SHORT_TEXT) * 8;
    memchr2(b'"', b'\\', &bytes[passed..]).map(|place| passed + place)
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeSeed;

    use super::*;
    use crate::columns::ColumnNames;

    const VALUES: [&str; 36] = [
        "1",
        "0",
        "-1",
        "-0",
        "01",
        "-",
        "1.5",
        "-1.5",
        "-0.0",
        "- 1.5",
        "01.5",
        "0.1000000000000000055511151231257827",
        "1.5e3",
        "1e3",
        "1E3",
        "999999999999999999",
        "9999999999999999999",
        "true",
        "false",
        "null",
        "nul",
        "truex",
        "\"\"",
        "\"a\"",
        "\"\\u0041\"",
        "\"ü\"",
        "\"\t\"",
        "\"a",
        "{}",
        "[]",
        "{\"a\":1}",
        "",
        "+1",
        "1 2",
        " 7 ",
        "tru\u{fc}",
    ];
    const LINES: [&str; 16] = [
        "{\"ts\":V,\"src\":\"a\"}",
        " { \"src\" : V , \"n\" : 1 } \r",
        "{\"n\":1,\"n\":V}",
        "{\"other\":V,\"ts\":2}",
        "{\"attributes\":V}",
        "{\"ts\":V,}",
        "{\"ts\":V}}",
        "{\"ts\" V}",
        "[V]",
        "V",
        "{\"op\":V,\"ts\":1,\"id\":V,\"n\":V}",
        "{\"t\\u0073\":V}",
        "{\"q\"t\":V}",
        "{\"q\\\"t\":V,\"b\\\\s\":V}",
        "{\"b\\s\":V}",
        "{\"a text that is longer than four words of eight bytes each\":V,\"src\":\"another that is longer than those four\"}",
    ];

    #[test]
    fn what_it_reads_the_full_reader_reads_alike() {
        let names = ColumnNames::default();
        let mut flat_ones = 0;
        let odd = ["n", "ts", "q\"t", "b\\s", ""].map(str::to_owned).to_vec();
        for (attributes, discover) in [(vec![], false), (vec!["n".to_owned()], false), (odd, true)] {
            let mut keys = Keys::new(&names, &attributes, discover);
            for line in LINES {
                for value in VALUES {
                    let text = line.replace('V', value);
                    let mut flat = keys.no_fields();
                    if !keys.flat(&text, &mut flat) {
                        continue;
                    }
                    flat_ones += 1;
                    let mut reader = serde_json::Deserializer::from_str(&text);
                    let full = (&keys).deserialize(&mut reader).and_then(|fields| reader.end().map(|()| fields));
                    assert_eq!(
                        format!("{flat:?}"),
                        format!("{:?}", full.as_ref().ok()).replacen("Some(", "", 1).strip_suffix(')').unwrap_or(""),
                        "{text}"
                    );
                }
            }
        }
        assert!(flat_ones > 100, "only {flat_ones} were flat");
    }

    #[test]
    fn words_are_searched_as_bytes_would_be() {
        for length in 0..40 {
            for (place, byte) in (0..length).flat_map(|place| (0..=255).map(move |byte| (place, byte))) {
                let mut bytes = vec![b'x'; length];
                bytes[place] = byte;
                if place > 0 {
                    bytes[place - 1] = b'!';
                }
                assert_eq!(has_controls(&bytes), byte < b' ', "{bytes:?}");
                assert_eq!(quote_or_escape(&bytes), matches!(byte, b'"' | b'\\').then_some(place), "{bytes:?}");
            }
        }
        assert_eq!(
            quote_or_escape(b"0123456\\\"\"").into_iter().chain(quote_or_escape(b"[]#\"\\")).collect::<Vec<_>>(),
            [7, 3]
        );
    }
}
