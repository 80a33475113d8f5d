//! One JSON object as the fields of a record, borrowed from its text.
//!
//! A key is looked up before its value is read: values nobody asked for are skipped without being built. Texts are borrowed
//! unless an escape forces a copy. A key given twice counts as given last. Where attributes are to be discovered, the names of
//! values nobody asked for are collected.

pub(crate) mod flat;

use std::borrow::Cow;
use std::fmt;

use graphtide_graph::value::ValueRef;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::{SmallVec, smallvec};

use crate::column::Column;
use crate::columns::ColumnNames;
use crate::error::RowError;

/// The key of the nested object whose members are attributes.
pub(crate) const ATTRIBUTES: &str = "attributes";

/// Longest name of an attribute that is discovered, in bytes.
pub(crate) const MAX_NAME: usize = 256;

/// A value of a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Scalar<'t> {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    /// An integer past the signed range.
    Unsigned(u64),
    Float(f64),
    /// A number as it is written: a time, if the stream says how times are written. No attribute is one.
    Written(&'t str),
    Text(Cow<'t, str>),
    /// A list or an object.
    Nested,
}

impl Scalar<'_> {
    /// The value as an attribute. An integer past 64 bits is the nearest number, as it is in CSV.
    pub(crate) fn attribute(&self) -> ValueRef<'_> {
        match self {
            Self::Null | Self::Written(_) | Self::Nested => ValueRef::Null,
            Self::Bool(truth) => ValueRef::Bool(*truth),
            Self::Int(number) => ValueRef::Int(*number),
            Self::Unsigned(number) => ValueRef::Float(*number as f64),
            Self::Float(number) => ValueRef::Float(*number),
            Self::Text(text) => ValueRef::Text(text),
        }
    }

    /// The value in a message.
    #[cold]
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(truth) => truth.to_string(),
            Self::Int(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            // Debug keeps the point of 1.0, which may be what is wrong with it.
            Self::Float(number) => format!("{number:?}"),
            Self::Written(number) => (*number).to_owned(),
            Self::Text(text) => text.to_string(),
            Self::Nested => "a list or object".to_owned(),
        }
    }
}

/// What a key means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub(crate) column: Option<Column>,
    pub(crate) attribute: Option<usize>,
    /// Whether this is the key of the nested object.
    nests: bool,
}

/// A key that means something.
#[derive(Clone, Debug)]
struct Known {
    name: Box<str>,
    /// The name as it is written, with the quote and the colon behind it; none if it is written with escapes.
    closed: Option<flat::Closed>,
    meaning: Meaning,
}

/// The keys that mean something; a handful, so that a search by length and bytes beats hashing.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    keys: Vec<Known>,
    /// For the beginning of an object, and behind it for every key, the key that came next the last time.
    next: Vec<usize>,
    attributes: usize,
    /// Whether names of other attributes are wanted.
    discover: bool,
    /// Whether numbers that are times are kept as they are written.
    times_as_written: bool,
    /// What a type of events is called, where that is to be discovered as an attribute of edges.
    kind: Option<Box<str>>,
}

impl Keys {
    pub(crate) fn new(names: &ColumnNames, attributes: &[String], discover: bool) -> Self {
        let kind = names.get(Column::Type);
        let is_wanted = discover && !kind.is_empty() && !attributes.iter().any(|name| name == kind);
        let kind = is_wanted.then(|| kind.into());
        let (attributes_count, times_as_written) = (attributes.len(), false);
        let mut keys =
            Self { keys: Vec::new(), next: Vec::new(), attributes: attributes_count, discover, times_as_written, kind };
        for column in Column::ALL {
            // A type of events that something else is called has no name.
            if !names.get(column).is_empty() {
                keys.meaning(names.get(column)).column = Some(column);
            }
        }
        for (place, name) in attributes.iter().enumerate() {
            keys.meaning(name).attribute = Some(place);
        }
        if !attributes.is_empty() || discover {
            keys.meaning(ATTRIBUTES).nests = true;
        }
        keys.next = vec![0; keys.keys.len() + 1];
        keys
    }

    /// The same, with numbers that are times as they are written.
    pub(crate) fn with_times_as_written(self) -> Self {
        Self { times_as_written: true, ..self }
    }

    #[inline]
    fn is_as_written(&self, meaning: Meaning) -> bool {
        self.times_as_written && meaning.column == Some(Column::Ts)
    }

    /// Empty fields.
    pub(crate) fn no_fields<'t>(&self) -> Fields<'t> {
        let attributes = smallvec![Scalar::Null; self.attributes];
        Fields { columns: Default::default(), attributes, others: Vec::new(), attributes_fit: true }
    }

    /// The name that a type of events is discovered by, where a record that has one is an edge.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    fn meaning(&mut self, name: &str) -> &mut Meaning {
        let place = self.keys.iter().position(|key| *key.name == *name).unwrap_or_else(|| {
            let is_plain = !name.contains(['"', '\\']);
            let closed = is_plain.then(|| flat::Closed::new(format!("{name}\":")));
            self.keys.push(Known { name: name.into(), closed, meaning: Meaning::default() });
            self.keys.len() - 1
        });
        &mut self.keys[place].meaning
    }

    /// How many attributes are wanted or checked.
    pub(crate) fn attributes(&self) -> usize {
        self.attributes
    }

    #[inline]
    pub(crate) fn find(&self, name: &str) -> Meaning {
        self.keys.iter().find(|key| *key.name == *name).map_or(Meaning::default(), |key| key.meaning)
    }
}

/// The fields of one record.
#[derive(Debug)]
pub(crate) struct Fields<'t> {
    columns: [Scalar<'t>; Column::COUNT],
    pub(crate) attributes: SmallVec<[Scalar<'t>; 4]>,
    /// Names of attributes nobody asked for, where they are to be discovered.
    pub(crate) others: Vec<Box<str>>,
    /// False if the key `attributes` had a value, which is not an object and nobody's attribute.
    pub(crate) attributes_fit: bool,
}

impl<'t> Fields<'t> {
    pub(crate) fn get(&self, column: Column) -> &Scalar<'t> {
        &self.columns[column as usize]
    }

    /// Keeps the value of a time from its text in JSON: a number as it is written, any other value as always.
    fn keep_as_written(&mut self, meaning: Meaning, text: &'t str) -> serde_json::Result<()> {
        let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        if !is_number {
            self.keep(meaning, serde_json::from_str(text)?);
            return Ok(());
        }
        self.keep(Meaning { attribute: None, ..meaning }, Scalar::Written(text));
        if meaning.attribute.is_some() {
            self.keep(Meaning { column: None, ..meaning }, serde_json::from_str(text)?);
        }
        Ok(())
    }

    /// Makes texts missing that stand for a missing value.
    pub(crate) fn drop_nulls(&mut self, nulls: &[String]) {
        for value in self.columns.iter_mut().chain(&mut self.attributes) {
            if let Scalar::Text(text) = value
                && nulls.iter().any(|null| null == text)
            {
                *value = Scalar::Null;
            }
        }
    }

    fn keep(&mut self, meaning: Meaning, value: Scalar<'t>) {
        match (meaning.column, meaning.attribute) {
            (Some(column), Some(attribute)) => {
                self.attributes[attribute] = value.clone();
                self.columns[column as usize] = value;
            }
            (Some(column), None) => self.columns[column as usize] = value,
            (None, Some(attribute)) => self.attributes[attribute] = value,
            (None, None) => {}
        }
    }

    /// Notes a name whose value could be an attribute's.
    fn discover(&mut self, name: Box<str>, value: &Scalar<'_>) {
        if !matches!(value, Scalar::Null | Scalar::Nested) && name.len() <= MAX_NAME {
            self.others.push(name);
        }
    }
}

/// Says what is wrong and where; the line that the parser counts is that of the record, from 1.
#[cold]
pub(crate) fn refuse_json(error: &serde_json::Error) -> RowError {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    // The parser's column is 0 where it has nothing to point at yet.
    let place = match (error.line(), error.column()) {
        (_, 0) => String::new(),
        (0 | 1, column) => format!(" (column {column})"),
        (line, column) => format!(" (its line {line}, column {column})"),
    };
    RowError::Json { reason: format!("{reason}{place}") }
}

impl<'t> DeserializeSeed<'t> for &Keys {
    type Value = Fields<'t>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'t> Visitor<'t> for &Keys {
    type Value = Fields<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = self.no_fields();
        while let Some(key) = map.next_key_seed(KeySeed(self))? {
            match key {
                Key::Known(meaning) if meaning.nests => {
                    let value = map.next_value_seed(NestedSeed { keys: self, fields: &mut fields })?;
                    if let Some(value) = value {
                        fields.attributes_fit = value == Scalar::Null || meaning.attribute.is_some();
                        fields.keep(meaning, value);
                    }
                }
                Key::Known(meaning) if self.is_as_written(meaning) => {
                    fields.keep_as_written(meaning, map.next_value::<&RawValue>()?.get()).map_err(Error::custom)?;
                }
                Key::Known(meaning) => {
                    let value = map.next_value_seed(ScalarSeed)?;
                    fields.keep(meaning, value);
                }
                Key::Other(name) => fields.discover(name, &map.next_value_seed(ScalarSeed)?),
                Key::Unwanted => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(fields)
    }
}

/// A key as far as it matters.
enum Key {
    /// It means something.
    Known(Meaning),
    /// It may be the name of an attribute that is to be discovered.
    Other(Box<str>),
    /// Its value is skipped.
    Unwanted,
}

struct KeySeed<'k>(&'k Keys);

impl<'t> DeserializeSeed<'t> for KeySeed<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    #[inline]
    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(match self.0.find(key) {
            meaning if meaning != Meaning::default() => Key::Known(meaning),
            _ if self.0.discover => Key::Other(key.into()),
            _ => Key::Unwanted,
        })
    }
}

/// Reads the value of the key `attributes`: an object gives its members to the fields, anything else is a value itself.
struct NestedSeed<'k, 'f, 't> {
    keys: &'k Keys,
    fields: &'f mut Fields<'t>,
}

impl<'t> DeserializeSeed<'t> for NestedSeed<'_, '_, 't> {
    type Value = Option<Scalar<'t>>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for NestedSeed<'_, '_, 't> {
    type Value = Option<Scalar<'t>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while let Some(key) = map.next_key_seed(KeySeed(self.keys))? {
            match key {
                // A member is an attribute whatever it is called.
                Key::Known(meaning) if meaning.attribute.is_some() => {
                    let value = map.next_value_seed(ScalarSeed)?;
                    self.fields.keep(Meaning { column: None, ..meaning }, value);
                }
                Key::Other(name) => self.fields.discover(name, &map.next_value_seed(ScalarSeed)?),
                Key::Known(Meaning { column: Some(Column::Type), .. }) if let Some(kind) = &self.keys.kind => {
                    self.fields.discover(kind.clone(), &map.next_value_seed(ScalarSeed)?);
                }
                Key::Known(_) | Key::Unwanted => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        ScalarSeed.visit_unit().map(Some)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        ScalarSeed.visit_bool(value).map(Some)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        ScalarSeed.visit_i64(value).map(Some)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        ScalarSeed.visit_u64(value).map(Some)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        ScalarSeed.visit_f64(value).map(Some)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'t str) -> Result<Self::Value, E> {
        ScalarSeed.visit_borrowed_str(value).map(Some)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        ScalarSeed.visit_str(value).map(Some)
    }

    fn visit_seq<A: SeqAccess<'t>>(self, seq: A) -> Result<Self::Value, A::Error> {
        ScalarSeed.visit_seq(seq).map(Some)
    }
}

impl<'t> Deserialize<'t> for Scalar<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        ScalarSeed.deserialize(deserializer)
    }
}

#[derive(Clone, Copy)]
struct ScalarSeed;

impl<'t> DeserializeSeed<'t> for ScalarSeed {
    type Value = Scalar<'t>;

    #[inline]
    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for ScalarSeed {
    type Value = Scalar<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Bool(value))
    }

    #[inline]
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Int(value))
    }

    #[inline]
    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(value).map_or(Scalar::Unsigned(value), Scalar::Int))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Float(value))
    }

    #[inline]
    fn visit_borrowed_str<E: Error>(self, value: &'t str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nested)
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Nested)
    }
}
