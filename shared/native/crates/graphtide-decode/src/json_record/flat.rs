//! Flat objects of plain values, which most records are, read in one pass.
//!
//! Whatever is not plain (escapes, nesting, numbers with places, an odd character) is left to the full reader; what both read is the
//! same. Cost: each byte is looked at once, and a key is mostly the one that is expected.

use std::borrow::Cow;

use memchr::memchr2;

use super::{Fields, Keys, Meaning, Scalar};

/// Digits of an integer that surely fits 64 bits.
const MOST_DIGITS: usize = 18;

impl Keys {
    /// Reads an object into fields of which none is there; false, and fields to be thrown away, if it is not flat and plain, or none.
    pub(crate) fn flat<'t>(&self, text: &'t str, fields: &mut Fields<'t>) -> bool {
        // Not even between values: then texts need no look at them.
        let is_plain = text.bytes().all(|byte| byte >= b' ');
        is_plain && self.members(&mut Rest { text, place: 0 }, fields).is_some()
    }

    fn members<'t>(&self, rest: &mut Rest<'t>, fields: &mut Fields<'t>) -> Option<()> {
        let mut expected = 0;
        rest.token(b'{')?;
        loop {
            rest.token(b'"')?;
            let key = rest.string()?;
            rest.token(b':')?;
            let meaning = self.find_from(key, &mut expected);
            if meaning.nests {
                return None;
            }
            rest.value(|value| self.keep(fields, meaning, key, value))?;
            match rest.next()? {
                b',' => {}
                b'}' => return rest.is_blank().then_some(()),
                _ => return None,
            }
        }
    }

    #[inline(never)]
    fn keep<'t>(&self, fields: &mut Fields<'t>, meaning: Meaning, key: &str, value: Scalar<'t>) {
        if meaning != Meaning::default() {
            fields.keep(meaning, value);
        } else if self.discover {
            fields.discover(key.into(), &value);
        }
    }

    /// What a key means; the search begins with the one after the last that was found.
    #[inline]
    fn find_from(&self, name: &str, expected: &mut usize) -> Meaning {
        let (before, after) = self.keys.split_at((*expected).min(self.keys.len()));
        let found = after.iter().chain(before).position(|(key, _)| **key == *name);
        found.map_or(Meaning::default(), |steps| {
            let place = (before.len() + steps) % self.keys.len();
            *expected = place + 1;
            self.keys[place].1
        })
    }
}

/// The part of a text that is not read yet.
struct Rest<'t> {
    text: &'t str,
    place: usize,
}

impl<'t> Rest<'t> {
    /// The next byte that is no blank.
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

    /// A text up to its closing quote, without escapes.
    #[inline]
    fn string(&mut self) -> Option<&'t str> {
        let rest = &self.text.as_bytes()[self.place..];
        let length = memchr2(b'"', b'\\', rest)?;
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
                let number = self.digits().filter(|number| *number != 0)?;
                keep(Scalar::Int(-number));
            }
            b'0'..=b'9' => {
                self.place -= 1;
                let number = self.digits()?;
                keep(Scalar::Int(number));
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

    /// An integer without a sign: not too long, without zeros in front, and with nothing behind it that goes on with it.
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

#[cfg(test)]
mod tests {
    use serde::de::DeserializeSeed;

    use super::*;
    use crate::columns::ColumnNames;

    const VALUES: [&str; 30] = [
        "1",
        "0",
        "-1",
        "-0",
        "01",
        "-",
        "1.5",
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
    const LINES: [&str; 12] = [
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
    ];

    #[test]
    fn what_it_reads_the_full_reader_reads_alike() {
        let names = ColumnNames::default();
        let mut flat_ones = 0;
        for (attributes, discover) in
            [(vec![], false), (vec!["n".to_owned()], false), (vec!["n".to_owned(), "ts".to_owned()], true)]
        {
            let keys = Keys::new(&names, &attributes, discover);
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
}
