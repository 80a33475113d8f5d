//! Functions of texts. Texts count in code points, positions from 0.

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};
use bumpalo::Bump;
use bumpalo::collections::String;
use graphtide_graph::value::ValueRef;

use super::{LONGEST_TEXT, letters};
use crate::value_text::write_text;

fn missing_or(text: Option<&str>) -> ValueRef<'_> {
    text.map_or(ValueRef::Null, ValueRef::Text)
}

pub(super) fn lower<'a>(arguments: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(text)] = arguments else { return ValueRef::Null };
    missing_or(letters::lower(text, arena))
}

pub(super) fn upper<'a>(arguments: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(text)] = arguments else { return ValueRef::Null };
    missing_or(letters::upper(text, arena))
}

pub(super) fn trim<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(text)] = arguments else { return ValueRef::Null };
    ValueRef::Text(text.trim())
}

pub(super) fn length<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(text)] = arguments else { return ValueRef::Null };
    ValueRef::Int(integer(text.chars().count()))
}

/// A count as an integer of the language; no text has more characters than fit.
fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn substring<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    let (text, start, length) = match *arguments {
        [ValueRef::Text(text), ValueRef::Int(start)] => (text, start, i64::MAX),
        [ValueRef::Text(text), ValueRef::Int(start), ValueRef::Int(length)] => (text, start, length),
        _ => return ValueRef::Null,
    };
    let (Ok(start), Ok(length)) = (usize::try_from(start), usize::try_from(length)) else { return ValueRef::Null };
    let behind = skip(text, start);
    ValueRef::Text(&behind[..behind.len() - skip(behind, length).len()])
}

/// What follows so many characters.
fn skip(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or("", |(place, _)| &text[place..])
}

pub(super) fn split<'a>(arguments: &[ValueRef<'a>], _arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(text), ValueRef::Text(separator), ValueRef::Int(position)] = *arguments else {
        return ValueRef::Null;
    };
    if separator.is_empty() {
        return ValueRef::Null;
    }
    let from_start = if position < 0 { position.saturating_add(integer(text.split(separator).count())) } else { position };
    missing_or(usize::try_from(from_start).ok().and_then(|place| text.split(separator).nth(place)))
}

pub(super) fn replace<'a>(arguments: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(text), ValueRef::Text(old), ValueRef::Text(new)] = *arguments else { return ValueRef::Null };
    if old.is_empty() {
        return ValueRef::Text(text);
    }
    let count = text.matches(old).count();
    if count == 0 {
        return ValueRef::Text(text);
    }
    // Counts and lengths of texts in memory: their product is far below 2^128.
    let length = (text.len() - count * old.len()) as u128 + count as u128 * new.len() as u128;
    if length > LONGEST_TEXT as u128 {
        return ValueRef::Null;
    }
    let mut replaced = String::with_capacity_in(length as usize, arena);
    let mut parts = text.split(old);
    replaced.push_str(parts.next().unwrap_or_default());
    for part in parts {
        replaced.push_str(new);
        replaced.push_str(part);
    }
    ValueRef::Text(replaced.into_bump_str())
}

pub(super) fn concat<'a>(arguments: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
    let mut text = String::new_in(arena);
    for value in arguments {
        match write_text(*value, arena) {
            Some(part) if part.len() <= LONGEST_TEXT - text.len() => text.push_str(part),
            _ => return ValueRef::Null,
        }
    }
    ValueRef::Text(text.into_bump_str())
}

/// What is left of a URL, or of `host:port`, without scheme, path, user and port.
pub(super) fn host_of<'a>(arguments: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
    let [ValueRef::Text(url)] = *arguments else { return ValueRef::Null };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = if let Some(address) = rest.strip_prefix('[') {
        address.split(']').next().unwrap_or_default()
    } else {
        match rest.split_once(':') {
            // More than one colon is an address of IPv6 without brackets, which has no port.
            Some((_, port)) if port.contains(':') => rest,
            Some((host, _)) => host,
            None => rest,
        }
    };
    missing_or(letters::lower(host, arena).filter(|host| !host.is_empty()))
}

pub(super) fn hash<'a>(arguments: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let [value] = arguments else { return ValueRef::Null };
    let Some(text) = write_text(*value, arena) else { return ValueRef::Null };
    let mut written = String::with_capacity_in(32, arena);
    for byte in Blake2b::<U16>::digest(text.as_bytes()) {
        written.push(char::from(DIGITS[usize::from(byte >> 4)]));
        written.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    ValueRef::Text(written.into_bump_str())
}
