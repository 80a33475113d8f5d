//! What messages of Protobuf have in them, by a descriptor set as `protoc --include_imports --descriptor_set_out` writes it.

use std::collections::HashMap;
use std::sync::Arc;

use super::wire::{Flaw, Wire, field};
use crate::statement::paths::Step;

/// Symbols of an enum by their numbers.
pub(super) type Symbols = Arc<HashMap<i32, Box<str>>>;

/// The place of a message among those of a set.
pub(super) type Place = usize;

const TIMESTAMP: &str = ".google.protobuf.Timestamp";
const DURATION: &str = ".google.protobuf.Duration";
const DEEPEST: usize = 64;

/// A type of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Double,
    Float,
    Int64,
    Uint64,
    Int32,
    Uint32,
    Sint64,
    Sint32,
    Fixed64,
    Fixed32,
    Sfixed64,
    Sfixed32,
    Bool,
    String,
    Bytes,
    /// Symbols by their numbers; whether others are none of it.
    Enum {
        symbols: Symbols,
        is_closed: bool,
    },
    Message(Place),
    /// A map, by its entries: the types of keys and values.
    Map(Box<Kind>, Box<Kind>),
    Timestamp,
    Duration,
    /// A message that is written between two ends, as groups of proto2 are, and not behind its length.
    Group(Place),
}

/// A field of a message.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: Box<str>,
    pub(super) kind: Kind,
    pub(super) is_repeated: bool,
    /// Whether a message says if it has the field; else it has the default of its type where it is not written.
    pub(super) has_presence: bool,
    /// The choice that it is one of.
    pub(super) oneof: Option<u32>,
}

/// The messages of a set.
#[derive(Clone, Debug)]
pub(super) struct Descriptor {
    messages: Vec<Vec<Field>>,
    pub(super) root: Place,
}

impl Descriptor {
    /// Reads a set for a message by its full name; says what is wrong with it.
    pub(super) fn read(bytes: &[u8], message: &str) -> Result<Self, String> {
        let set = parse_set(bytes).map_err(|flaw| format!("the descriptor cannot be read: {flaw}"))?;
        let wanted = format!(".{}", message.trim_start_matches('.'));
        let places: HashMap<&str, Place> = set.messages.iter().enumerate().map(|(place, each)| (&*each.name, place)).collect();
        let root = places.get(&*wanted).copied().filter(|place| !set.messages[*place].is_map);
        let root = root.ok_or_else(|| {
            let known: Vec<&str> =
                set.messages.iter().filter(|each| !each.is_map).map(|each| &each.name[1..]).take(8).collect();
            format!("the descriptor has no message {message:?}; it has {}", known.join(", "))
        })?;
        if let Some(file) = set.unread {
            return Err(format!("{file}; proto2, proto3 and the editions 2023 and 2024 are read"));
        }
        let messages = set.messages.iter().map(|each| each.fields.iter().map(|raw| made(raw, &set, &places)).collect());
        Ok(Self { messages: messages.collect::<Result<_, String>>()?, root })
    }

    /// Refuses a path that does not lead to messages.
    pub(super) fn check(&self, path: &[Step]) -> Result<(), String> {
        let (mut place, mut is_list) = (self.root, false);
        for step in path {
            match step {
                Step::Name(name) => {
                    let field = self.fields(place).iter().find(|field| field.name == *name);
                    let field =
                        field.ok_or_else(|| format!("UNNEST has the field {name:?}, which its message does not have"))?;
                    let (Kind::Message(inner) | Kind::Group(inner)) = field.kind else {
                        return Err(format!("UNNEST has the field {name:?}, which is no message"));
                    };
                    (place, is_list) = (inner, field.is_repeated);
                }
                Step::Position(_) if is_list => is_list = false,
                Step::Item(..) | Step::Outer => return Err("UNNEST goes by names and positions alone".to_owned()),
                Step::Position(place) => return Err(format!("UNNEST has the position {place} of what is not repeated")),
            }
        }
        Ok(())
    }

    /// The fields of a message.
    pub(super) fn fields(&self, place: Place) -> &[Field] {
        &self.messages[place]
    }
}

/// A set as it is written.
#[derive(Default)]
struct Set {
    messages: Vec<RawMessage>,
    enums: HashMap<String, (Symbols, bool)>,
    /// A file in a syntax that is not read, and which that is.
    unread: Option<String>,
}

#[derive(Default)]
struct RawMessage {
    name: String,
    fields: Vec<RawField>,
    is_map: bool,
}

#[derive(Default)]
struct RawField {
    name: String,
    number: u32,
    label: u64,
    kind: u64,
    type_name: String,
    oneof: Option<u32>,
    is_optional: bool,
    features: Features,
}

/// What a file, a message or a field says of how it is written and read. What is in it has the same, unless it says otherwise.
#[derive(Clone, Copy, Default)]
struct Features {
    /// Whether a field that has the default of its type is not written.
    is_implicit: bool,
    /// Whether enums have no other numbers than theirs.
    is_closed: bool,
    /// Whether messages are written as groups.
    is_delimited: bool,
}

impl Features {
    const PROTO2: Self = Self { is_implicit: false, is_closed: true, is_delimited: false };
    const PROTO3: Self = Self { is_implicit: true, is_closed: false, is_delimited: false };
    const EDITIONS: Self = Self { is_implicit: false, is_closed: false, is_delimited: false };

    /// With what options say, which have features in the field of this number.
    fn with(self, options: &[u8], place: u32) -> Result<Self, Flaw> {
        const PRESENCE: u32 = 1;
        const ENUM_TYPE: u32 = 2;
        const MESSAGE_ENCODING: u32 = 5;
        let mut found = self;
        each(options, |number, value| {
            if number != place {
                return Ok(());
            }
            each(bytes_of(value)?, |number, value| {
                match (number, number_of(value)) {
                    (PRESENCE, stated @ 1..=3) => found.is_implicit = stated == 2,
                    (ENUM_TYPE, stated @ 1..=2) => found.is_closed = stated == 2,
                    (MESSAGE_ENCODING, stated @ 1..=2) => found.is_delimited = stated == 2,
                    _ => {}
                }
                Ok(())
            })
        })?;
        Ok(found)
    }
}

fn made(raw: &RawField, set: &Set, places: &HashMap<&str, Place>) -> Result<Field, String> {
    const REPEATED: u64 = 3;
    let kind = kind_of(raw, set, places, 0)?;
    let is_repeated = raw.label == REPEATED;
    let is_message = matches!(kind, Kind::Message(_) | Kind::Timestamp | Kind::Duration | Kind::Group(_));
    let has_presence = is_repeated || is_message || !raw.features.is_implicit || raw.is_optional || raw.oneof.is_some();
    let name = raw.name.as_str().into();
    Ok(Field { number: raw.number, name, kind, is_repeated, has_presence, oneof: raw.oneof })
}

fn kind_of(raw: &RawField, set: &Set, places: &HashMap<&str, Place>, depth: usize) -> Result<Kind, String> {
    let missing = || format!("the descriptor does not have {}; write it with --include_imports", &raw.type_name);
    Ok(match raw.kind {
        1 => Kind::Double,
        2 => Kind::Float,
        3 => Kind::Int64,
        4 => Kind::Uint64,
        5 => Kind::Int32,
        6 => Kind::Fixed64,
        7 => Kind::Fixed32,
        8 => Kind::Bool,
        9 => Kind::String,
        10 => Kind::Group(*places.get(&*raw.type_name).ok_or_else(missing)?),
        11 => {
            let place = places.get(&*raw.type_name).copied();
            // What a map has is always written behind its length, and so are its entries.
            if raw.features.is_delimited && depth == 0 && place.is_none_or(|place| !set.messages[place].is_map) {
                return Ok(Kind::Group(place.ok_or_else(missing)?));
            }
            match &*raw.type_name {
                TIMESTAMP => return Ok(Kind::Timestamp),
                DURATION => return Ok(Kind::Duration),
                _ => {}
            }
            let place = place.ok_or_else(missing)?;
            let entry = &set.messages[place];
            let part = |number| entry.fields.iter().find(|field| field.number == number);
            match (entry.is_map, part(1), part(2)) {
                (true, Some(key), Some(value)) if depth == 0 => {
                    let key = kind_of(key, set, places, 1)?;
                    Kind::Map(Box::new(key), Box::new(kind_of(value, set, places, 1)?))
                }
                _ => Kind::Message(place),
            }
        }
        12 => Kind::Bytes,
        13 => Kind::Uint32,
        14 => {
            let (symbols, is_closed) = set.enums.get(&raw.type_name).ok_or_else(missing)?;
            Kind::Enum { symbols: Arc::clone(symbols), is_closed: *is_closed }
        }
        15 => Kind::Sfixed32,
        16 => Kind::Sfixed64,
        17 => Kind::Sint32,
        18 => Kind::Sint64,
        other => return Err(format!("the descriptor has a type {other}, which Protobuf does not have")),
    })
}

/// Calls back for each field of a message.
fn each<'b>(mut bytes: &'b [u8], mut take: impl FnMut(u32, Wire<'b>) -> Result<(), Flaw>) -> Result<(), Flaw> {
    while !bytes.is_empty() {
        let (number, value) = field(&mut bytes)?;
        take(number, value)?;
    }
    Ok(())
}

fn text(value: Wire<'_>) -> Result<String, Flaw> {
    match value {
        Wire::Bytes(bytes) => std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| "a name is not UTF-8"),
        _ => Err("a name is not a text"),
    }
}

fn bytes_of(value: Wire<'_>) -> Result<&[u8], Flaw> {
    if let Wire::Bytes(bytes) = value { Ok(bytes) } else { Err("a message is none") }
}

fn number_of(value: Wire<'_>) -> u64 {
    if let Wire::Varint(number) = value { number } else { 0 }
}

fn parse_set(bytes: &[u8]) -> Result<Set, Flaw> {
    let mut set = Set::default();
    each(bytes, |number, value| if number == 1 { parse_file(bytes_of(value)?, &mut set) } else { Ok(()) })?;
    Ok(set)
}

fn parse_file(bytes: &[u8], set: &mut Set) -> Result<(), Flaw> {
    const EDITIONS: std::ops::RangeInclusive<u64> = 1_000..=1_001;
    let (mut name, mut space, mut syntax) = (String::new(), String::new(), String::new());
    let (mut options, mut edition): (&[u8], u64) = (&[], 0);
    each(bytes, |number, value| {
        match number {
            1 => name = text(value)?,
            2 => space = text(value)?,
            8 => options = bytes_of(value)?,
            12 => syntax = text(value)?,
            14 => edition = number_of(value),
            _ => {}
        }
        Ok(())
    })?;
    let features = match &*syntax {
        "" | "proto2" => Features::PROTO2,
        "proto3" => Features::PROTO3,
        "editions" if EDITIONS.contains(&edition) => Features::EDITIONS.with(options, 50)?,
        "editions" => {
            set.unread = Some(format!("{name} is of the edition {edition} of Protobuf"));
            Features::EDITIONS
        }
        other => {
            set.unread = Some(format!("{name} has the syntax {other:?}"));
            Features::EDITIONS
        }
    };
    let space = if space.is_empty() { String::new() } else { format!(".{space}") };
    each(bytes, |number, value| match number {
        4 => parse_message(bytes_of(value)?, &space, features, set, 0),
        5 => parse_enum(bytes_of(value)?, &space, features, set),
        _ => Ok(()),
    })
}

/// The options of a part of a file, which it has in the field of this number.
fn options_of(bytes: &[u8], place: u32) -> Result<&[u8], Flaw> {
    let mut options: &[u8] = &[];
    each(bytes, |number, value| {
        if number == place {
            options = bytes_of(value)?;
        }
        Ok(())
    })?;
    Ok(options)
}

fn parse_message(bytes: &[u8], space: &str, features: Features, set: &mut Set, depth: usize) -> Result<(), Flaw> {
    if depth > DEEPEST {
        return Err("its messages are nested too deep");
    }
    let options = options_of(bytes, 7)?;
    let features = features.with(options, 12)?;
    let mut message = RawMessage::default();
    // Options say whether it is the entry of a map.
    each(options, |number, value| {
        message.is_map |= number == 7 && number_of(value) != 0;
        Ok(())
    })?;
    each(bytes, |number, value| {
        match number {
            1 => message.name = format!("{space}.{}", text(value)?),
            2 => message.fields.push(parse_field(bytes_of(value)?, features)?),
            _ => {}
        }
        Ok(())
    })?;
    let space = message.name.clone();
    set.messages.push(message);
    each(bytes, |number, value| match number {
        3 => parse_message(bytes_of(value)?, &space, features, set, depth + 1),
        4 => parse_enum(bytes_of(value)?, &space, features, set),
        _ => Ok(()),
    })
}

fn parse_field(bytes: &[u8], features: Features) -> Result<RawField, Flaw> {
    let features = features.with(options_of(bytes, 8)?, 21)?;
    let mut made = RawField { features, ..RawField::default() };
    each(bytes, |number, value| {
        match number {
            1 => made.name = text(value)?,
            3 => made.number = u32::try_from(number_of(value)).map_err(|_| "a field has no number")?,
            4 => made.label = number_of(value),
            5 => made.kind = number_of(value),
            6 => made.type_name = text(value)?,
            9 => made.oneof = u32::try_from(number_of(value)).ok(),
            17 => made.is_optional = number_of(value) != 0,
            _ => {}
        }
        Ok(())
    })?;
    Ok(made)
}

fn parse_enum(bytes: &[u8], space: &str, features: Features, set: &mut Set) -> Result<(), Flaw> {
    let features = features.with(options_of(bytes, 3)?, 7)?;
    let (mut name, mut symbols) = (String::new(), HashMap::new());
    each(bytes, |number, value| {
        match number {
            1 => name = format!("{space}.{}", text(value)?),
            2 => {
                let (mut symbol, mut code) = (String::new(), 0);
                each(bytes_of(value)?, |number, value| {
                    match number {
                        1 => symbol = text(value)?,
                        2 => code = number_of(value) as i32,
                        _ => {}
                    }
                    Ok(())
                })?;
                // Of names for one number the first counts.
                symbols.entry(code).or_insert_with(|| symbol.into());
            }
            _ => {}
        }
        Ok(())
    })?;
    set.enums.insert(name, (Arc::new(symbols), features.is_closed));
    Ok(())
}
