//! A schema of Avro: what is written, and in which order.
//!
//! Types that have names may lead back to themselves, so a schema is a list of types that name others by their places.

use std::collections::HashMap;

use serde_json::{Map, Value as Form};

/// Longest schema, in bytes.
pub(crate) const LONGEST: usize = 1 << 20;
/// Decimals behind the point, and bytes of a decimal that is read as a number.
const MOST_PLACES: u64 = 38;

/// The place of a type in its schema.
pub(crate) type Place = usize;

/// The fields of a record: their names and types.
pub(crate) type Fields = Box<[(Box<str>, Place)]>;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum(Box<[Box<str>]>),
    Array(Place),
    Map(Place),
    Union(Box<[Place]>),
    Record(Fields),
    /// An integer of days since 1970.
    Date,
    /// An integer of so many units a second since 1970, with the decimals that it is written with; in UTC or by any clock.
    Timestamp {
        decimals: u8,
        is_utc: bool,
    },
    /// The digits of a number; so many of them are behind the point. It has so many bytes, or says how many itself.
    Decimal {
        places: u8,
        size: Option<usize>,
    },
    /// Sixteen bytes, written as a UUID.
    Uuid,
}

/// A schema; its first type is that of what is written.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    kinds: Vec<Kind>,
    are_empty: Vec<bool>,
}

impl Schema {
    /// Reads a schema; says what is wrong with it.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the schema is longer than {LONGEST} bytes"));
        }
        let form: Form = serde_json::from_slice(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
        let mut reading = Reading { kinds: Vec::new(), named: HashMap::new() };
        reading.kind(&form, "")?;
        let are_empty = are_empty(&reading.kinds);
        Ok(Self { kinds: reading.kinds, are_empty })
    }

    /// A type.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> &Kind {
        &self.kinds[place]
    }

    /// Whether values of a type take no bytes, so that there may be any number of them.
    #[inline]
    pub(crate) fn is_empty(&self, place: Place) -> bool {
        self.are_empty[place]
    }
}

/// Of each type whether its values take no bytes; one that leads to itself alone has no value.
fn are_empty(kinds: &[Kind]) -> Vec<bool> {
    let mut are_empty = vec![false; kinds.len()];
    loop {
        let mut has_more = false;
        for (place, kind) in kinds.iter().enumerate() {
            let is_empty = match kind {
                Kind::Null | Kind::Fixed(0) | Kind::Decimal { size: Some(0), .. } => true,
                Kind::Record(fields) => fields.iter().all(|(_, place)| are_empty[*place]),
                _ => false,
            };
            has_more |= is_empty && !are_empty[place];
            are_empty[place] |= is_empty;
        }
        if !has_more {
            return are_empty;
        }
    }
}

struct Reading {
    kinds: Vec<Kind>,
    named: HashMap<String, Place>,
}

impl Reading {
    fn add(&mut self, kind: Kind) -> Place {
        self.kinds.push(kind);
        self.kinds.len() - 1
    }

    fn kind(&mut self, form: &Form, space: &str) -> Result<Place, String> {
        match form {
            Form::String(name) => self.referred(name, space),
            Form::Array(branches) => {
                let place = self.add(Kind::Null);
                let branches = branches.iter().map(|branch| self.kind(branch, space)).collect::<Result<_, _>>()?;
                self.kinds[place] = Kind::Union(branches);
                Ok(place)
            }
            Form::Object(stated) => self.stated(stated, space),
            _ => Err("a type of the schema is neither a name nor an object nor a list".to_owned()),
        }
    }

    fn referred(&mut self, name: &str, space: &str) -> Result<Place, String> {
        if let Some(kind) = primitive(name) {
            return Ok(self.add(kind));
        }
        let full = full_name(name, space);
        let found = self.named.get(&full).or_else(|| self.named.get(name));
        found.copied().ok_or_else(|| format!("the schema does not say what {name:?} is"))
    }

    fn stated(&mut self, stated: &Map<String, Form>, space: &str) -> Result<Place, String> {
        let part = |name: &str| stated.get(name).ok_or_else(|| format!("a type of the schema lacks {name:?}"));
        let kind = match part("type")? {
            Form::String(kind) => kind.as_str(),
            // A type in the place of a name.
            inner => return self.kind(inner, space),
        };
        match kind {
            "array" => {
                let place = self.add(Kind::Null);
                self.kinds[place] = Kind::Array(self.kind(part("items")?, space)?);
                Ok(place)
            }
            "map" => {
                let place = self.add(Kind::Null);
                self.kinds[place] = Kind::Map(self.kind(part("values")?, space)?);
                Ok(place)
            }
            "record" | "error" | "enum" | "fixed" => {
                let name = part("name")?.as_str().ok_or("a name of the schema is not a text")?;
                let own = stated.get("namespace").and_then(Form::as_str).unwrap_or(space);
                let full = full_name(name, own);
                let space = full.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
                let place = self.add(Kind::Null);
                if self.named.insert(full.clone(), place).is_some() {
                    return Err(format!("the schema says twice what {full:?} is"));
                }
                self.kinds[place] = match kind {
                    "enum" => Kind::Enum(symbols(part("symbols")?)?),
                    "fixed" => fixed(stated, part("size")?)?,
                    _ => Kind::Record(self.fields(part("fields")?, &space)?),
                };
                Ok(place)
            }
            name => match primitive(name) {
                Some(kind) => Ok(self.add(logical(kind, stated))),
                None => self.referred(name, space),
            },
        }
    }

    fn fields(&mut self, form: &Form, space: &str) -> Result<Fields, String> {
        let wrong = || "the fields of a record of the schema are not a list of names and types".to_owned();
        let field = |form: &Form| {
            let name = form["name"].as_str().ok_or_else(wrong)?;
            Ok((name.into(), self.kind(form.get("type").ok_or_else(wrong)?, space)?))
        };
        form.as_array().ok_or_else(wrong)?.iter().map(field).collect()
    }
}

fn full_name(name: &str, space: &str) -> String {
    if space.is_empty() || name.contains('.') { name.to_owned() } else { format!("{space}.{name}") }
}

fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::String,
        _ => return None,
    })
}

fn symbols(form: &Form) -> Result<Box<[Box<str>]>, String> {
    let wrong = || "the symbols of an enum of the schema are not a list of texts".to_owned();
    let symbol = |form: &Form| form.as_str().map(Into::into).ok_or_else(wrong);
    form.as_array().ok_or_else(wrong)?.iter().map(symbol).collect()
}

fn fixed(stated: &Map<String, Form>, size: &Form) -> Result<Kind, String> {
    let size = size.as_u64().and_then(|size| usize::try_from(size).ok()).ok_or("the size of a fixed type is not a number")?;
    let logical = stated.get("logicalType").and_then(Form::as_str);
    Ok(match (logical, places(stated)) {
        (Some("decimal"), Some(places)) => Kind::Decimal { places, size: Some(size) },
        (Some("uuid"), _) if size == 16 => Kind::Uuid,
        _ => Kind::Fixed(size),
    })
}

/// Returns the logical type of a primitive one. A logical type that does not fit is ignored, as the specification asks.
fn logical(kind: Kind, stated: &Map<String, Form>) -> Kind {
    let timestamp = |decimals, is_utc| Kind::Timestamp { decimals, is_utc };
    match (&kind, stated.get("logicalType").and_then(Form::as_str)) {
        (Kind::Int, Some("date")) => Kind::Date,
        (Kind::Long, Some("timestamp-millis")) => timestamp(3, true),
        (Kind::Long, Some("timestamp-micros")) => timestamp(6, true),
        (Kind::Long, Some("timestamp-nanos")) => timestamp(9, true),
        (Kind::Long, Some("local-timestamp-millis")) => timestamp(3, false),
        (Kind::Long, Some("local-timestamp-micros")) => timestamp(6, false),
        (Kind::Long, Some("local-timestamp-nanos")) => timestamp(9, false),
        (Kind::Bytes, Some("decimal")) => match places(stated) {
            Some(places) => Kind::Decimal { places, size: None },
            None => kind,
        },
        _ => kind,
    }
}

/// The decimals behind the point of a decimal; None where it says none that can be.
fn places(stated: &Map<String, Form>) -> Option<u8> {
    let places = stated.get("scale").map_or(Some(0), Form::as_u64)?;
    u8::try_from(places).ok().filter(|_| places <= MOST_PLACES)
}
