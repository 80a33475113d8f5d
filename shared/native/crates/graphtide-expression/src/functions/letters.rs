//! Small and capital letters, each character by itself: `Σ` becomes `σ` wherever it stands, so equal parts of texts stay equal.
//!
//! Letters are those of Unicode 14. What later versions added is left as it is. So every program that reads a stream gives the
//! same texts, whatever its library knows; `graphtide_core.functions` has the same list.

use bumpalo::Bump;
use bumpalo::collections::String;

use super::LONGEST_TEXT;

/// Characters that have letters of the other case since Unicode 15.
const LATER: [(char, char); 10] = [
    ('\u{19b}', '\u{19b}'),
    ('\u{264}', '\u{264}'),
    ('\u{1c89}', '\u{1c8a}'),
    ('\u{a7cb}', '\u{a7cf}'),
    ('\u{a7d2}', '\u{a7d5}'),
    ('\u{a7da}', '\u{a7dc}'),
    ('\u{10d50}', '\u{10d65}'),
    ('\u{10d70}', '\u{10d85}'),
    ('\u{16ea0}', '\u{16eb8}'),
    ('\u{16ebb}', '\u{16ed3}'),
];

/// A text in small letters; None if it is too long.
pub(super) fn lower<'a>(text: &'a str, arena: &'a Bump) -> Option<&'a str> {
    if text.len() <= LONGEST_TEXT && text.is_ascii() {
        return Some(convert_ascii(text, arena, |byte| byte.is_ascii_uppercase(), str::make_ascii_lowercase));
    }
    convert(text, arena, char::to_lowercase)
}

/// A text in capital letters; None if it is too long.
pub(super) fn upper<'a>(text: &'a str, arena: &'a Bump) -> Option<&'a str> {
    if text.len() <= LONGEST_TEXT && text.is_ascii() {
        return Some(convert_ascii(text, arena, |byte| byte.is_ascii_lowercase(), str::make_ascii_uppercase));
    }
    convert(text, arena, char::to_uppercase)
}

/// Converts ASCII; a text that stays as it is is not copied.
#[inline]
fn convert_ascii<'a>(text: &'a str, arena: &'a Bump, changes: fn(u8) -> bool, convert: fn(&mut str)) -> &'a str {
    if !text.bytes().any(changes) {
        return text;
    }
    let copy = arena.alloc_str(text);
    convert(copy);
    copy
}

fn convert<'a, C: Iterator<Item = char>>(text: &str, arena: &'a Bump, convert: fn(char) -> C) -> Option<&'a str> {
    if text.len() > LONGEST_TEXT {
        return None;
    }
    let mut converted = String::with_capacity_in(text.len(), arena);
    for char in text.chars() {
        if is_later(char) {
            converted.push(char);
        } else {
            converted.extend(convert(char));
        }
    }
    (converted.len() <= LONGEST_TEXT).then(|| converted.into_bump_str())
}

#[inline]
fn is_later(char: char) -> bool {
    char >= LATER[0].0 && LATER.iter().any(|(first, last)| (*first..=*last).contains(&char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_character_is_converted_by_itself() {
        let arena = Bump::new();
        assert_eq!(lower("ÄΣ İ", &arena), Some("äσ i\u{307}"));
        assert_eq!(upper("straße ŉ", &arena), Some("STRASSE ʼN"));
        assert_eq!(upper("\u{264}\u{10d70}", &arena), Some("\u{264}\u{10d70}"));
    }

    #[test]
    fn a_text_without_letters_to_convert_is_not_copied() {
        let arena = Bump::new();
        let text = "10.0.0.1 a";
        assert!(std::ptr::eq(lower(text, &arena).unwrap_or_default(), text));
        assert_eq!(arena.allocated_bytes(), 0);
    }

    #[test]
    fn a_text_that_becomes_too_long_is_missing() {
        let arena = Bump::new();
        assert_eq!(upper(&"ΐ".repeat(LONGEST_TEXT / 4), &arena), None);
        assert_eq!(lower(&"A".repeat(LONGEST_TEXT + 1), &arena), None);
        assert!(lower(&"A".repeat(LONGEST_TEXT), &arena).is_some());
    }
}
