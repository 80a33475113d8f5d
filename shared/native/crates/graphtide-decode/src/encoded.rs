//! A stream of text in another encoding than UTF-8: it is turned into UTF-8 before it is decoded.
//!
//! What is no character of the encoding becomes a byte that UTF-8 does not have. So the record that it is in is a bad one.
//! Bytes of records and of dead letters are those of the text in UTF-8. Cost: one pass over each block, and a copy.

use std::borrow::Cow;

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};

use crate::decoder::Decoder;
use crate::error::DecodeError;
use crate::types::Settled;
use crate::unusable_values::UnusableValues;

/// Stands in the table for what Windows-1252 does not define.
const UNDEFINED: char = char::REPLACEMENT_CHARACTER;

/// Characters of Windows-1252 for the bytes from 0x80 to 0x9F.
const WINDOWS: [char; 32] = [
    '€', UNDEFINED, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', UNDEFINED, 'Ž', UNDEFINED, UNDEFINED, '‘', '’', '“',
    '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', UNDEFINED, 'ž', 'Ÿ',
];

/// Stands for what is no character: UTF-8 has no such byte.
const NONE: u8 = 0xff;

/// How the reason of a record begins that has it.
const NOT_UTF8: &str = "not UTF-8 at byte ";

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Latin1,
    Windows1252,
    /// In the order of bytes that a mark at the beginning says; without one the lower byte comes first.
    Utf16,
}

impl Encoding {
    /// The encoding of a name; None for UTF-8.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        match name {
            "latin-1" => Some(Self::Latin1),
            "windows-1252" => Some(Self::Windows1252),
            "utf-16" => Some(Self::Utf16),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Latin1 => "latin-1",
            Self::Windows1252 => "windows-1252",
            Self::Utf16 => "utf-16",
        }
    }
}

/// A decoder of text in another encoding.
pub(crate) struct Encoded {
    inner: Box<dyn Decoder + Send + Sync>,
    text: Text,
}

/// How far a text was read.
#[derive(Clone, Debug)]
struct Text {
    encoding: Encoding,
    /// Bytes of a character that blocks cut.
    cut: Vec<u8>,
    /// Whether the upper byte comes first; None before the first character.
    is_big: Option<bool>,
}

impl Text {
    fn new(encoding: Encoding) -> Self {
        Self { encoding, cut: Vec::new(), is_big: None }
    }

    fn read(&mut self, block: &[u8], is_last: bool) -> Vec<u8> {
        match self.encoding {
            Encoding::Latin1 => written(block.iter().map(|byte| Some(char::from(*byte)))),
            Encoding::Windows1252 => {
                let char = |byte: &u8| match byte {
                    0x80..=0x9f => Some(WINDOWS[usize::from(byte - 0x80)]).filter(|char| *char != UNDEFINED),
                    byte => Some(char::from(*byte)),
                };
                written(block.iter().map(char))
            }
            Encoding::Utf16 => self.read_pairs(block, is_last),
        }
    }

    fn read_pairs(&mut self, block: &[u8], is_last: bool) -> Vec<u8> {
        let mut bytes = Cow::Borrowed(block);
        if !self.cut.is_empty() {
            bytes = Cow::Owned([&std::mem::take(&mut self.cut), block].concat());
        }
        let (mut pairs, mut rest) = bytes.as_chunks::<2>();
        if self.is_big.is_none() && !pairs.is_empty() {
            self.is_big = Some(pairs[0] == [0xfe, 0xff]);
            pairs = if matches!(pairs[0], [0xfe, 0xff] | [0xff, 0xfe]) { &pairs[1..] } else { pairs };
        }
        let is_big = self.is_big == Some(true);
        let unit = |pair: &[u8; 2]| if is_big { u16::from_be_bytes(*pair) } else { u16::from_le_bytes(*pair) };
        if !is_last
            && let [before @ .., last] = pairs
            && (0xd800..0xdc00).contains(&unit(last))
        {
            rest = &bytes[bytes.len() - rest.len() - 2..];
            pairs = before;
        }
        let mut text = written(char::decode_utf16(pairs.iter().map(unit)).map(Result::ok));
        if is_last && !rest.is_empty() {
            text.push(NONE);
        } else {
            self.cut = rest.to_vec();
        }
        text
    }
}

/// Characters in UTF-8.
fn written(chars: impl Iterator<Item = Option<char>>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(chars.size_hint().0);
    for char in chars {
        match char {
            Some(char) => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            None => bytes.push(NONE),
        }
    }
    bytes
}

impl Encoded {
    /// Makes a decoder of another one for UTF-8.
    pub(crate) fn new(inner: Box<dyn Decoder + Send + Sync>, encoding: Encoding) -> Self {
        Self { inner, text: Text::new(encoding) }
    }

    /// Lets dead letters say which encoding it is that bytes are not of.
    fn name(&self, dead: &mut [DeadLetter]) {
        for letter in dead {
            if let Some(place) = letter.reason.strip_prefix(NOT_UTF8) {
                letter.reason = format!("not {} at what is byte {place} in UTF-8", self.text.encoding.name());
            }
        }
    }
}

impl Decoder for Encoded {
    fn feed(&mut self, block: &[u8], batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let (text, before) = (self.text.read(block, false), dead.len());
        let read = self.inner.feed(&text, batch, dead);
        self.name(&mut dead[before..]);
        read
    }

    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let (text, before) = (self.text.read(&[], true), dead.len());
        let read = self.inner.feed(&text, batch, dead).and_then(|()| self.inner.finish(batch, dead));
        self.name(&mut dead[before..]);
        read
    }

    fn begin_piece(&mut self, line: u64) {
        self.text = Text::new(self.text.encoding);
        self.inner.begin_piece(line);
    }

    fn columns(&self) -> Option<&[String]> {
        self.inner.columns()
    }

    fn has_ids(&self) -> bool {
        self.inner.has_ids()
    }

    fn has_operations(&self) -> bool {
        self.inner.has_operations()
    }

    fn discovered(&self) -> &[String] {
        self.inner.discovered()
    }

    fn unusable_values(&self) -> &[UnusableValues] {
        self.inner.unusable_values()
    }

    fn lines(&self, piece: &[u8]) -> u64 {
        self.inner.lines(&Text::new(self.text.encoding).read(piece, true))
    }

    fn settled(&self) -> &[Settled] {
        self.inner.settled()
    }

    fn has_zoneless_times(&self) -> bool {
        self.inner.has_zoneless_times()
    }

    fn filtered(&self) -> u64 {
        self.inner.filtered()
    }

    fn ordinal(&self) -> u64 {
        self.inner.ordinal()
    }

    fn accept_until(&mut self, latest: Time) {
        self.inner.accept_until(latest);
    }

    fn start_at(&mut self, ordinal: u64) {
        self.inner.start_at(ordinal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_the_same_whatever_the_blocks() {
        let text = "a€\u{1f600}\nü\u{a0a}";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        let cases: [(Encoding, &[u8], &[u8]); 5] = [
            (Encoding::Utf16, &little, text.as_bytes()),
            (Encoding::Utf16, &big, text.as_bytes()),
            (Encoding::Utf16, &[0x3d, 0xd8, b'a', 0, 7], b"\xffa\xff"),
            (Encoding::Latin1, b"\xfc\x80", "ü\u{80}".as_bytes()),
            (Encoding::Windows1252, b"\xfc\x80\x81", b"\xc3\xbc\xe2\x82\xac\xff"),
        ];
        for (encoding, bytes, expected) in cases {
            for step in 1..=bytes.len() {
                let mut reader = Text::new(encoding);
                let mut read: Vec<u8> = bytes.chunks(step).flat_map(|block| reader.read(block, false)).collect();
                read.extend(reader.read(&[], true));
                assert_eq!(read, expected, "{encoding:?} in blocks of {step}");
            }
        }
    }
}
