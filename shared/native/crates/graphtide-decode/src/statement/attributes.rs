//! Attributes of what a clause gives: those that SET states, or without one the fields that are called so.

use bumpalo::Bump;
use graphtide_expression::{Context, Expression};
use graphtide_graph::value::ValueRef;
use serde_json::Value as Form;

use super::definition::JoinForm;
use super::names::paths_named;
use super::paths::{Paths, Role, path_of};
use crate::error::{Refused, StatementError};
use crate::types::{AttributeType, refuse};

/// Names of the fields that a record has itself: no attribute is called so.
const OF_EDGES: [&str; 8] = ["ts", "id", "src", "dst", "label", "src_label", "dst_label", "op"];
const OF_EVENTS: [&str; 4] = ["ts", "id", "type", "op"];

/// How fields of a format become values of a declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They have types.
    Typed,
    /// They have types, and texts of any length.
    Rows,
    /// They are texts.
    Written,
    /// They are texts, and numbers have a decimal comma.
    WithComma,
}

/// The attributes that a clause states.
pub(crate) struct Sets<'f> {
    pub(crate) of_stream: &'f [(String, Form)],
    pub(crate) of_clause: &'f [(String, Form)],
    /// What JOIN adds, to all fields too.
    pub(crate) of_joins: &'f [JoinForm],
    pub(crate) is_event: bool,
}

/// Where the value of an attribute is read.
#[derive(Clone, Debug)]
pub(crate) enum Attribute {
    Missing,
    Slot(usize),
    /// The first of these fields that is there.
    FirstOf(Box<[usize]>),
    /// The first of these fields that is there: a text, which must be of the declared type.
    Written(Box<[usize]>, Reading),
    Expression(Expression),
}

impl Sets<'_> {
    /// Where the value of an attribute of this name and declared type is read.
    pub(crate) fn attribute(
        &self,
        name: &str,
        (kind, reading): (AttributeType, Reading),
        paths: &mut Paths,
        context: &Context,
    ) -> Result<Attribute, StatementError> {
        let is_written = kind != AttributeType::Any && !matches!(reading, Reading::Typed | Reading::Rows);
        let role = if is_written { Role::Text } else { Role::Value };
        let stated = |sets: &[(String, Form)]| sets.iter().find(|(stated, _)| stated == name).map(|(_, form)| form.clone());
        let added = self.of_joins.iter().find_map(|join| stated(&join.sets));
        let steps = if added.is_none() && self.of_stream.is_empty() && self.of_clause.is_empty() {
            let is_own = if self.is_event { OF_EVENTS.contains(&name) } else { OF_EDGES.contains(&name) };
            if is_own { Vec::new() } else { paths_named(name) }
        } else {
            let Some(form) = added.or_else(|| stated(self.of_clause)).or_else(|| stated(self.of_stream)) else {
                return Ok(Attribute::Missing);
            };
            match path_of(&form) {
                Some(steps) => vec![steps],
                None => return Ok(Attribute::Expression(Expression::compile(&form, paths, context)?)),
            }
        };
        let slots: Box<[usize]> = steps.into_iter().map(|steps| paths.slot_as(steps, role)).collect();
        Ok(match *slots {
            [] => Attribute::Missing,
            _ if is_written => Attribute::Written(slots, reading),
            [slot] => Attribute::Slot(slot),
            _ => Attribute::FirstOf(slots),
        })
    }
}

impl Attribute {
    /// Its value, where nothing is declared of it.
    #[inline]
    pub(crate) fn get<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
        match self {
            Self::Missing => ValueRef::Null,
            Self::Slot(slot) => slots[*slot],
            Self::FirstOf(places) | Self::Written(places, _) => first(places, slots),
            Self::Expression(expression) => expression.evaluate(slots, arena),
        }
    }

    /// Its value; an error where it is not of the declared type.
    #[inline]
    pub(crate) fn value<'a>(
        &'a self,
        slots: &[ValueRef<'a>],
        arena: &'a Bump,
        name: &str,
        kind: AttributeType,
    ) -> Result<ValueRef<'a>, Refused> {
        let value = self.get(slots, arena);
        if let (Self::Written(_, reading), ValueRef::Text(text)) = (self, value) {
            let read = if *reading == Reading::WithComma { kind.read_comma(text) } else { kind.read(text) };
            return read.ok_or_else(|| refuse(name, text, kind).into());
        }
        if kind.fits(value) { Ok(value) } else { Err(refuse(name, &format!("{value:?}"), kind).into()) }
    }
}

/// The first value of these slots that is there.
fn first<'a>(places: &[usize], slots: &[ValueRef<'a>]) -> ValueRef<'a> {
    let mut values = places.iter().map(|place| slots[*place]);
    values.find(|value| *value != ValueRef::Null).unwrap_or(ValueRef::Null)
}
