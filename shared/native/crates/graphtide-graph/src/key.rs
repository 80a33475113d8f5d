//! Vertex names and record ids: short texts, most of them numbers, held in eight bytes.
//!
//! Invariant: equal texts have equal [`KeyRef`]s. A text of up to 18 decimal digits without sign or leading zero is held as its
//! number; every other text lies in a [`TextArena`]. So `5` in a JSON record and `"5"` in a CSV file are the same vertex. An
//! [`IdRef`] that was made equals none that was given, whatever their texts.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::digits;

/// A key by value: a number, or a text that lives elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyRef<'a> {
    /// A canonical decimal number.
    Number(u64),
    /// Any other text.
    Text(&'a str),
}

/// The id of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdRef<'a> {
    /// The one it gives.
    Given(KeyRef<'a>),
    /// Where it gives none, the number that [`IdRef::made`] makes of it.
    Made(u64),
}

/// What ordinals of records are below.
pub const ORDINAL_LIMIT: u64 = 1 << CLAUSE_SHIFT;

/// Clauses of a statement that make ids, at most.
pub const MOST_CLAUSES: u8 = 64;

/// Where the number of a clause begins in a number that was made.
const CLAUSE_SHIFT: u32 = 55;

impl<'a> KeyRef<'a> {
    /// The end of a record that has none: no vertex is called so.
    pub const ABSENT: KeyRef<'static> = KeyRef::Text("");

    /// Reads a text as a key.
    #[inline]
    pub fn parse(text: &'a str) -> Self {
        canonical(text.as_bytes()).map_or(Self::Text(text), Self::Number)
    }

    /// Whether this is the empty text.
    #[inline]
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Text(""))
    }

    /// Whether its text is a number's, without sign or leading zero, however long.
    pub fn is_number(self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Text(text) => {
                let bytes = text.as_bytes();
                bytes.iter().all(u8::is_ascii_digit) && bytes.first().is_some_and(|&first| first != b'0')
            }
        }
    }

    /// Calls `f` with the text of the key.
    pub fn with_text<R>(self, f: impl FnOnce(&str) -> R) -> R {
        match self {
            Self::Number(number) => f(itoa::Buffer::new().format(number)),
            Self::Text(text) => f(text),
        }
    }
}

/// The number of a text that is one's, without a sign or a leading zero, and short enough to be held as one.
#[inline]
fn canonical(text: &[u8]) -> Option<u64> {
    let begins = matches!(text, [b'0'] | [b'1'..=b'9', ..]);
    if begins { digits::unsigned(text) } else { None }
}

impl Hash for KeyRef<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Number(number) => state.write_u64(*number),
            Self::Text(text) => state.write(text.as_bytes()),
        }
    }
}

impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl IdRef<'_> {
    /// The id of a record that gives none: its ordinal, below [`ORDINAL_LIMIT`]. Where a record gives several edges and events,
    /// it has the number of the clause that gives this one, from 1 to [`MOST_CLAUSES`], else 0.
    #[inline]
    pub const fn made(ordinal: u64, clause: u8) -> IdRef<'static> {
        IdRef::Made(ordinal | (clause as u64) << CLAUSE_SHIFT)
    }

    /// The id that was made, from its text: `17`, or `17#2` for that of a clause.
    pub fn parse_made(text: &str) -> Option<IdRef<'static>> {
        let number = |text: &str| Some(text).filter(|text| KeyRef::parse(text).is_number())?.parse().ok();
        let (ordinal, clause) = match text.split_once('#') {
            Some((ordinal, clause)) => (number(ordinal)?, u8::try_from(number(clause)?).ok().filter(|clause| *clause > 0)?),
            None => (number(text)?, 0),
        };
        (ordinal < ORDINAL_LIMIT && clause <= MOST_CLAUSES).then_some(IdRef::made(ordinal, clause))
    }

    /// Whether nobody gave it.
    #[inline]
    pub fn is_made(self) -> bool {
        matches!(self, Self::Made(_))
    }

    /// The number of the clause that made it; 0 if none did.
    #[inline]
    pub fn clause(self) -> u8 {
        if let Self::Made(number) = self { (number >> CLAUSE_SHIFT) as u8 } else { 0 }
    }

    /// Calls `f` with its text, which does not say whether it was given or made.
    pub fn with_text<R>(self, f: impl FnOnce(&str) -> R) -> R {
        match self {
            Self::Given(key) => key.with_text(f),
            Self::Made(number) => with_text_of_made(number, f),
        }
    }
}

impl fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(text))
    }
}

impl Hash for IdRef<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Given(key) => key.hash(state),
            Self::Made(number) => state.write_u64(!number),
        }
    }
}

/// Calls `f` with the text of an id that was made.
#[inline]
pub fn with_text_of_made<R>(number: u64, f: impl FnOnce(&str) -> R) -> R {
    if number < ORDINAL_LIMIT {
        return f(itoa::Buffer::new().format(number));
    }
    // An ordinal has 17 digits at most.
    let mut text = [b'#'; 20];
    let mut length = 0;
    for number in [number % ORDINAL_LIMIT, number >> CLAUSE_SHIFT] {
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(number).as_bytes();
        text[length..length + digits.len()].copy_from_slice(digits);
        length += digits.len() + 1;
    }
    f(std::str::from_utf8(&text[..length - 1]).unwrap_or_default())
}

/// A key or an id in eight bytes: a number inline, given or made, or a place in the [`TextArena`] it was made with.
///
/// The lowest bit separates texts from numbers, the highest one made numbers from given ones.
/// Not comparable: two keys of different arenas, or of equal texts stored twice, differ. Compare [`KeyRef`]s.
#[derive(Clone, Copy, Debug)]
pub struct Key(u64);

const LENGTH_BITS: u32 = 24;

const MADE: u64 = 1 << 63;

/// Longest text that is gathered without a call.
const AT_ONCE: usize = 16;

/// Longest text a key can hold, in bytes.
pub const MAX_TEXT: usize = (1 << LENGTH_BITS) - 1;

impl Key {
    /// The empty text.
    pub const EMPTY: Self = Self(1);

    /// The key of a text of an arena.
    #[inline]
    fn of_place(offset: usize, length: usize) -> Self {
        Self(((offset as u64) << LENGTH_BITS | length as u64) << 1 | 1)
    }

    /// Whether it is the empty text; needs no arena.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 & ((MAX_TEXT as u64) << 1 | 1) == 1
    }

    /// The id that a clause makes of the ordinal of a record that has none; None if either is past its limit.
    pub(crate) fn made(ordinal: u64, clause: u8) -> Option<Self> {
        let IdRef::Made(number) = IdRef::made(ordinal, clause) else { return None };
        (ordinal < ORDINAL_LIMIT && clause <= MOST_CLAUSES).then_some(Self(MADE | number << 1))
    }

    /// The number of the clause that made an id of this ordinal, 0 for none; None for other ids.
    pub(crate) fn clause_of(self, ordinal: u64) -> Option<u8> {
        let number = (self.0 & !MADE) >> 1;
        (self.is_made() && number % ORDINAL_LIMIT == ordinal).then_some((number >> CLAUSE_SHIFT) as u8)
    }

    /// Whether this is an id that was made.
    pub(crate) fn is_made(self) -> bool {
        self.0 & (MADE | 1) == MADE
    }

    /// The eight bytes, for a copy of the arena it was made with.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// Bytes of many texts, end to end.
#[derive(Clone, Debug, Default)]
pub struct TextArena {
    text: String,
}

impl TextArena {
    /// Stores a key. A text past [`MAX_TEXT`] bytes is cut at a character boundary; readers refuse such texts before.
    #[inline]
    pub fn insert(&mut self, key: KeyRef<'_>) -> Key {
        match key {
            KeyRef::Number(number) => Key(number << 1),
            KeyRef::Text(text) => {
                let text = &text[..text.floor_char_boundary(MAX_TEXT)];
                let offset = self.text.len();
                self.text.push_str(text);
                Key::of_place(offset, text.len())
            }
        }
    }

    /// Begins to store many keys, most of them of short texts. `room` is used on the way, for its memory alone.
    pub fn gather<'a>(&'a mut self, room: &'a mut Vec<u8>) -> Gathering<'a> {
        Gathering { begin: self.text.len(), texts: room, used: 0, arena: self }
    }

    /// Stores texts end to end; [`part`](Self::part) makes keys of them. Returns where they begin.
    pub fn append(&mut self, texts: &str) -> usize {
        let begin = self.text.len();
        self.text.push_str(texts);
        begin
    }

    /// The key of a text that [`append`](Self::append) stored, by its first byte and its length, up to [`MAX_TEXT`]. It must
    /// not be that of a number that a key holds as one.
    #[inline]
    pub fn part(&self, start: usize, length: usize) -> Key {
        debug_assert!(length <= MAX_TEXT && self.text.get(start..start + length).is_some());
        Key::of_place(start, length)
    }

    /// Reads a key that this arena made.
    #[inline]
    pub fn get(&self, key: Key) -> KeyRef<'_> {
        if key.0 & 1 == 0 {
            return KeyRef::Number((key.0 & !MADE) >> 1);
        }
        let length = (key.0 >> 1) as usize & MAX_TEXT;
        let offset = (key.0 >> (LENGTH_BITS + 1)) as usize;
        KeyRef::Text(&self.text[offset..offset + length])
    }

    /// Stores an id, as [`insert`](Self::insert) stores keys.
    #[inline]
    pub fn insert_id(&mut self, id: IdRef<'_>) -> Key {
        match id {
            IdRef::Given(key) => self.insert(key),
            IdRef::Made(number) => Key(MADE | number << 1),
        }
    }

    /// Reads an id that this arena made.
    #[inline]
    pub fn get_id(&self, id: Key) -> IdRef<'_> {
        if id.is_made() { IdRef::Made((id.0 & !MADE) >> 1) } else { IdRef::Given(self.get(id)) }
    }

    /// The key of these bits, if this arena, or the one it is a copy of, can have made it.
    pub(crate) fn key(&self, bits: u64) -> Option<Key> {
        let length = (bits >> 1) as usize & MAX_TEXT;
        let offset = (bits >> (LENGTH_BITS + 1)) as usize;
        (bits & 1 == 0 || self.text.get(offset..offset + length).is_some()).then_some(Key(bits))
    }

    /// All texts, end to end.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// An arena with the texts of another.
    pub(crate) fn with_text(text: String) -> Self {
        Self { text }
    }

    /// Forgets every text; keys made before are void.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
    }
}

/// Keys on their way into an arena, which has their texts once this is dropped.
///
/// Cost: a few instructions for a text of up to 16 bytes, where a copy of its own takes some ten times as many.
#[derive(Debug)]
pub struct Gathering<'a> {
    arena: &'a mut TextArena,
    begin: usize,
    /// The texts end to end, and room for more.
    texts: &'a mut Vec<u8>,
    used: usize,
}

impl Gathering<'_> {
    /// Stores a key, as [`TextArena::insert`] does.
    #[inline]
    pub fn insert(&mut self, key: KeyRef<'_>) -> Key {
        match key {
            KeyRef::Number(number) => Key(number << 1),
            KeyRef::Text(text) => {
                let offset = self.begin + self.used;
                let length = self.push(text);
                Key::of_place(offset, length)
            }
        }
    }

    /// Stores an id, as [`TextArena::insert_id`] does.
    #[inline]
    pub fn insert_id(&mut self, id: IdRef<'_>) -> Key {
        match id {
            IdRef::Given(key) => self.insert(key),
            IdRef::Made(number) => Key(MADE | number << 1),
        }
    }

    /// Stores the key of a text by its bytes, as [`KeyRef::parse`] reads it. It is shorter than [`MAX_TEXT`].
    #[inline]
    pub fn insert_text(&mut self, text: &[u8]) -> Key {
        if let Some(number) = canonical(text) {
            return Key(number << 1);
        }
        let offset = self.begin + self.used;
        self.push_bytes(text);
        Key::of_place(offset, text.len())
    }

    /// Appends a text, cut as the arena does; returns its length.
    #[inline]
    fn push(&mut self, text: &str) -> usize {
        let text = if text.len() <= AT_ONCE { text } else { &text[..text.floor_char_boundary(MAX_TEXT)] };
        self.push_bytes(text.as_bytes());
        text.len()
    }

    #[inline]
    fn push_bytes(&mut self, bytes: &[u8]) {
        let length = bytes.len();
        let room = self.texts.get_mut(self.used..).and_then(<[u8]>::first_chunk_mut::<AT_ONCE>);
        let Some(room) = room.filter(|_| length <= AT_ONCE) else { return self.push_long(bytes) };
        // The first bytes, then the last ones, where they overlap.
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            room[..8].copy_from_slice(first);
            room[length - 8..length].copy_from_slice(last);
        } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            room[..4].copy_from_slice(first);
            room[length - 4..length].copy_from_slice(last);
        } else {
            room[..length].copy_from_slice(bytes);
        }
        self.used += length;
    }

    /// Appends a text that is long, or for which there is no room.
    #[inline(never)]
    fn push_long(&mut self, bytes: &[u8]) {
        let end = self.used + bytes.len();
        if end + AT_ONCE > self.texts.len() {
            self.texts.resize(2 * (end + AT_ONCE), 0);
        }
        self.texts[self.used..end].copy_from_slice(bytes);
        self.used = end;
    }
}

impl Drop for Gathering<'_> {
    fn drop(&mut self) {
        let texts = &self.texts[..self.used];
        match str::from_utf8(texts) {
            Ok(texts) => self.arena.text.push_str(texts),
            // Never: texts end to end are a text.
            Err(_) => self.arena.text.extend(texts.iter().map(|_| '?')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_decimal_text_are_one_key() {
        assert_eq!(KeyRef::parse("42"), KeyRef::Number(42));
        assert_eq!(KeyRef::parse("0"), KeyRef::Number(0));
    }

    #[test]
    fn a_text_that_only_looks_like_a_number_stays_a_text() {
        for text in ["", "007", "-1", "1.5", "+3", "1234567890123456789", "12a"] {
            assert_eq!(KeyRef::parse(text), KeyRef::Text(text));
        }
    }

    #[test]
    fn an_id_that_was_made_is_none_that_was_given() {
        let mut arena = TextArena::default();
        let numbers = [0, 7, ORDINAL_LIMIT - 1];
        for (number, clause) in numbers.into_iter().flat_map(|number| [0, 1, 2, MOST_CLAUSES].map(|clause| (number, clause))) {
            let made = IdRef::made(number, clause);
            let key = arena.insert_id(made);
            assert_eq!((arena.get_id(key), Key::made(number, clause).map(Key::bits)), (made, Some(key.bits())));
            assert_eq!((key.clause_of(number), key.clause_of(number + 1)), (Some(clause), None));
            let text = if clause == 0 { number.to_string() } else { format!("{number}#{clause}") };
            assert_eq!(IdRef::parse_made(&text), Some(made));
            let given = IdRef::Given(KeyRef::parse(&text));
            let key = arena.insert_id(given);
            assert_eq!(arena.get_id(key), given);
            assert_ne!(made, given);
            assert_eq!((made.to_string(), given.to_string()), (text.clone(), text));
        }
        assert!(Key::made(ORDINAL_LIMIT, 0).is_none() && Key::made(0, MOST_CLAUSES + 1).is_none());
    }

    #[test]
    fn a_text_that_nothing_makes_is_no_made_id() {
        for text in ["", "#", "7#", "#1", "7#0", "7#01", "07", "7#65", "7#1#1", "-1", "+1", "7 ", "36028797018963968", "a"] {
            assert_eq!(IdRef::parse_made(text), None, "{text}");
        }
        assert_eq!(IdRef::parse_made("36028797018963967#64").map(|id| id.to_string()).as_deref(), Some("36028797018963967#64"));
    }

    #[test]
    fn a_number_is_any_text_that_a_made_id_might_have() {
        for text in ["0", "7", "999999999999999999", "1234567890123456789", "99999999999999999999999"] {
            assert!(KeyRef::parse(text).is_number(), "{text}");
        }
        for text in ["", "007", "-1", "1.5", "+3", "12a", "\u{663}"] {
            assert!(!KeyRef::parse(text).is_number(), "{text}");
        }
    }

    #[test]
    fn keys_are_the_same_one_by_one_and_gathered() {
        let texts: Vec<String> = (0..40).map(|length| "aüb".chars().cycle().skip(length % 3).take(length).collect()).collect();
        let (mut alone, mut together) = (TextArena::default(), TextArena::default());
        let mut room = Vec::new();
        for _ in 0..2 {
            let mut gathering = together.gather(&mut room);
            for text in texts.iter().map(String::as_str).chain(["17", "007", "123456789012345678"]) {
                let key = KeyRef::parse(text);
                assert_eq!(gathering.insert(key).bits(), alone.insert(key).bits());
                assert_eq!(gathering.insert_text(text.as_bytes()).bits(), alone.insert(key).bits());
                assert_eq!(gathering.insert_id(IdRef::Given(key)).bits(), alone.insert_id(IdRef::Given(key)).bits());
            }
            assert_eq!(gathering.insert_id(IdRef::Made(7)).bits(), alone.insert_id(IdRef::Made(7)).bits());
            drop(gathering);
            assert_eq!(together.text(), alone.text());
        }
    }

    #[test]
    fn an_arena_gives_back_what_it_took() {
        let mut arena = TextArena::default();
        let texts = ["10.0.0.7", "", "42", "ein Größenwahn", "999999999999999999"];
        let keys: Vec<Key> = texts.iter().map(|text| arena.insert(KeyRef::parse(text))).collect();
        for (text, key) in texts.iter().zip(keys) {
            assert_eq!(arena.get(key).to_string(), *text);
        }
        assert!(arena.get(Key::EMPTY).is_empty());
    }
}
