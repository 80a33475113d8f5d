//! Predicates: three-valued evaluation over bound edges and vertices.
//!
//! Unknown is `None` for truth values and [`Operand::Null`] for others. The rules are those of `graphtide_core.predicate`.
//! Cost: O(size of the expression), without allocation; functions make texts in an arena (`crate::computed`).

use std::hash::BuildHasher;

use graphtide_graph::key::{IdRef, KeyRef, with_text_of_made};
pub use graphtide_graph::logic::{Arithmetic, Comparison};
use graphtide_graph::logic::{all, any, int_to_float};
use graphtide_graph::value::ValueRef;
use rustc_hash::FxBuildHasher;
use serde::Deserialize;

use crate::computed::Computed;

/// The column that holds an edge's label.
pub const LABEL: u16 = u16::MAX;

/// The column that holds the label of an edge's source, as its record states it.
pub const SOURCE_LABEL: u16 = u16::MAX - 1;

/// The column that holds the label of an edge's target, as its record states it.
pub const TARGET_LABEL: u16 = u16::MAX - 2;

/// Whether a column holds a label.
pub fn is_label(column: u16) -> bool {
    column >= TARGET_LABEL
}

/// An expression over the parts of a match, by position.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expression {
    /// A constant.
    Literal(Scalar),
    /// Attribute of an edge: (edge, column); [`LABEL`], [`SOURCE_LABEL`] and [`TARGET_LABEL`] are labels.
    Attribute(u8, u16),
    /// Event time of an edge.
    Ts(u8),
    /// Id of an edge.
    Id(u8),
    /// Name of a vertex.
    VertexId(u8),
    /// Name of an edge's source (0) or target (1), where that one record is bound alone: both may be one query vertex then.
    End(u8, u8),
    /// Comparison of two values.
    Compare(Comparison, Box<(Expression, Expression)>),
    /// Arithmetic on two numbers.
    Compute(Arithmetic, Box<(Expression, Expression)>),
    /// Change of sign.
    Negate(Box<Expression>),
    /// All are true.
    And(Vec<Expression>),
    /// Some is true.
    Or(Vec<Expression>),
    /// It is false.
    Not(Box<Expression>),
    /// It equals one of the constants.
    In(Box<Expression>, Vec<Scalar>),
    /// It is a text that starts so.
    StartsWith(Box<Expression>, String),
    /// It is missing.
    IsNull(Box<Expression>),
    /// A value or condition with functions.
    Computed(Box<Computed>),
    /// Comparison of two values, of which one or both are [`Expression::Computed`].
    CompareComputed(Comparison, Box<(Expression, Expression)>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(String),
    /// Missing.
    Null(()),
}

/// What an expression reads: the parts bound so far.
pub trait Bindings {
    /// Attribute of a bound edge.
    fn attribute(&self, edge: u8, column: u16) -> Operand<'_>;
    /// Event time of a bound edge.
    fn ts(&self, edge: u8) -> i64;
    /// Id of a bound edge.
    fn id(&self, edge: u8) -> IdRef<'_>;
    /// Name of a bound vertex.
    fn vertex(&self, vertex: u8) -> KeyRef<'_>;
}

/// What an expression evaluates to.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// Missing or unknown.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(&'a str),
    /// The decimal text of a number.
    Digits(u64),
    /// The text of an id that was made, by its number.
    Made(u64),
}

impl Operand<'_> {
    /// Calls `f` with the text that it is; None if it is not a text.
    #[inline]
    pub fn with_text<R>(self, f: impl FnOnce(&str) -> R) -> Option<R> {
        match self {
            Self::Text(text) => Some(f(text)),
            Self::Digits(number) => Some(f(itoa::Buffer::new().format(number))),
            Self::Made(number) => Some(with_text_of_made(number, f)),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => None,
        }
    }
}

impl<'a> From<ValueRef<'a>> for Operand<'a> {
    fn from(value: ValueRef<'a>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Bool(truth) => Self::Bool(truth),
            ValueRef::Int(number) => Self::Int(number),
            ValueRef::Float(number) => Self::Float(number),
            ValueRef::Text(text) => Self::Text(text),
        }
    }
}

impl<'a> From<&'a Scalar> for ValueRef<'a> {
    #[inline]
    fn from(value: &'a Scalar) -> Self {
        match value {
            Scalar::Null(()) => Self::Null,
            Scalar::Bool(truth) => Self::Bool(*truth),
            Scalar::Int(number) => Self::Int(*number),
            Scalar::Float(number) => Self::Float(*number),
            Scalar::Text(text) => Self::Text(text),
        }
    }
}

impl<'a> From<&'a Scalar> for Operand<'a> {
    fn from(value: &'a Scalar) -> Self {
        ValueRef::from(value).into()
    }
}

impl<'a> From<KeyRef<'a>> for Operand<'a> {
    fn from(key: KeyRef<'a>) -> Self {
        match key {
            KeyRef::Number(number) => Self::Digits(number),
            KeyRef::Text(text) => Self::Text(text),
        }
    }
}

impl<'a> From<IdRef<'a>> for Operand<'a> {
    fn from(id: IdRef<'a>) -> Self {
        match id {
            IdRef::Given(key) => key.into(),
            IdRef::Made(number) => Self::Made(number),
        }
    }
}

impl From<Option<bool>> for Operand<'_> {
    fn from(truth: Option<bool>) -> Self {
        truth.map_or(Self::Null, Self::Bool)
    }
}

impl Expression {
    /// Whether the expression is true; unknown is not.
    #[inline]
    pub fn holds(&self, bindings: &impl Bindings) -> bool {
        self.truth(bindings) == Some(true)
    }

    fn truth(&self, bindings: &impl Bindings) -> Option<bool> {
        match self {
            Self::And(operands) => all(operands.iter().map(|operand| operand.truth(bindings))),
            Self::Or(operands) => any(operands.iter().map(|operand| operand.truth(bindings))),
            Self::Not(operand) => operand.truth(bindings).map(|truth| !truth),
            Self::Compare(comparison, operands) => {
                compare(*comparison, operands.0.evaluate(bindings), operands.1.evaluate(bindings))
            }
            Self::In(operand, options) => {
                let operand = operand.evaluate(bindings);
                any(options.iter().map(|option| compare(Comparison::Equal, operand, option.into())))
            }
            Self::StartsWith(operand, prefix) => match operand.evaluate(bindings) {
                Operand::Text(text) => Some(text.starts_with(prefix.as_str())),
                operand => operand.with_text(|text| text.starts_with(prefix.as_str())),
            },
            Self::IsNull(operand) => Some(matches!(operand.evaluate(bindings), Operand::Null)),
            Self::Computed(computed) => computed.with_value(bindings, |value| match value {
                Operand::Bool(truth) => Some(truth),
                _ => None,
            }),
            Self::CompareComputed(comparison, operands) => operands
                .0
                .with_value(bindings, |left| operands.1.with_value(bindings, |right| compare(*comparison, left, right))),
            _ => match self.evaluate(bindings) {
                Operand::Bool(truth) => Some(truth),
                _ => None,
            },
        }
    }

    /// Calls `f` with its value.
    #[inline]
    pub fn with_value<R>(&self, bindings: &impl Bindings, f: impl FnOnce(Operand<'_>) -> R) -> R {
        match self {
            Self::Computed(computed) => computed.with_value(bindings, f),
            _ => f(self.evaluate(bindings)),
        }
    }

    /// Whether it reads one thing of one part, or nothing.
    pub(crate) fn is_leaf(&self) -> bool {
        let of_part = matches!(self, Self::Attribute(..) | Self::Ts(_) | Self::Id(_) | Self::VertexId(_) | Self::End(..));
        of_part || matches!(self, Self::Literal(_))
    }

    /// Returns its value; of a computed one, which may be a text that is not kept, only whether it is true.
    pub(crate) fn evaluate<'a>(&'a self, bindings: &'a impl Bindings) -> Operand<'a> {
        match self {
            Self::Literal(scalar) => scalar.into(),
            Self::Attribute(edge, column) => bindings.attribute(*edge, *column),
            Self::Ts(edge) => Operand::Int(bindings.ts(*edge)),
            Self::Id(edge) => bindings.id(*edge).into(),
            Self::VertexId(vertex) => end(bindings.vertex(*vertex)),
            Self::End(_, side) => end(bindings.vertex(*side)),
            Self::Compute(operator, operands) => {
                compute(*operator, operands.0.evaluate(bindings), operands.1.evaluate(bindings))
            }
            Self::Negate(operand) => match operand.evaluate(bindings) {
                Operand::Int(number) => number.checked_neg().map_or(Operand::Null, Operand::Int),
                Operand::Float(number) if number.is_finite() => Operand::Float(-number),
                _ => Operand::Null,
            },
            _ => self.truth(bindings).into(),
        }
    }

    /// Returns equal numbers for values that compare as equal; none for a value that is missing, which equals nothing.
    #[inline]
    pub fn hash(&self, bindings: &impl Bindings) -> Option<u64> {
        self.with_value(bindings, hash)
    }

    /// The edges (first) and vertices (second) the expression reads, as bit sets.
    pub fn reads(&self) -> (u64, u128) {
        match self {
            Self::Literal(_) => (0, 0),
            Self::Attribute(edge, _) | Self::Ts(edge) | Self::Id(edge) | Self::End(edge, _) => (1 << edge, 0),
            Self::VertexId(vertex) => (0, 1 << vertex),
            Self::Compare(_, operands) | Self::Compute(_, operands) | Self::CompareComputed(_, operands) => {
                union(operands.0.reads(), operands.1.reads())
            }
            Self::And(operands) | Self::Or(operands) => operands.iter().map(Self::reads).fold((0, 0), union),
            Self::Computed(computed) => computed.reads().iter().map(Self::reads).fold((0, 0), union),
            Self::Negate(operand)
            | Self::Not(operand)
            | Self::In(operand, _)
            | Self::StartsWith(operand, _)
            | Self::IsNull(operand) => operand.reads(),
        }
    }

    /// Steps that it takes to evaluate: its parts.
    pub fn steps(&self) -> u32 {
        1 + match self {
            Self::Literal(_) | Self::Attribute(..) | Self::Ts(_) | Self::Id(_) | Self::VertexId(_) | Self::End(..) => 0,
            Self::Compare(_, operands) | Self::Compute(_, operands) | Self::CompareComputed(_, operands) => {
                operands.0.steps() + operands.1.steps()
            }
            Self::Computed(computed) => computed.steps(),
            Self::And(operands) | Self::Or(operands) => operands.iter().map(Self::steps).sum(),
            Self::In(operand, options) => operand.steps() + options.len() as u32,
            Self::Negate(operand) | Self::Not(operand) | Self::StartsWith(operand, _) | Self::IsNull(operand) => {
                operand.steps()
            }
        }
    }

    /// Calls `f` on every attribute read: edge and column.
    pub fn attributes(&mut self, f: &mut impl FnMut(u8, &mut u16)) {
        match self {
            Self::Attribute(edge, column) => f(*edge, column),
            Self::Literal(_) | Self::Ts(_) | Self::Id(_) | Self::VertexId(_) | Self::End(..) => {}
            Self::Compare(_, operands) | Self::Compute(_, operands) | Self::CompareComputed(_, operands) => {
                operands.0.attributes(f);
                operands.1.attributes(f);
            }
            Self::And(operands) | Self::Or(operands) => operands.iter_mut().for_each(|operand| operand.attributes(f)),
            Self::Computed(computed) => computed.reads_mut().iter_mut().for_each(|leaf| leaf.attributes(f)),
            Self::Negate(operand)
            | Self::Not(operand)
            | Self::In(operand, _)
            | Self::StartsWith(operand, _)
            | Self::IsNull(operand) => {
                operand.attributes(f);
            }
        }
    }

    /// Renames the parts: every edge by `edge`, every vertex by `vertex`.
    #[must_use]
    pub fn renamed(&self, edge: &impl Fn(u8) -> u8, vertex: &impl Fn(u8) -> u8) -> Self {
        let one = |operand: &Self| Box::new(operand.renamed(edge, vertex));
        let two = |operands: &(Self, Self)| Box::new((operands.0.renamed(edge, vertex), operands.1.renamed(edge, vertex)));
        let many = |operands: &[Self]| operands.iter().map(|operand| operand.renamed(edge, vertex)).collect();
        match self {
            Self::Literal(scalar) => Self::Literal(scalar.clone()),
            Self::Attribute(name, column) => Self::Attribute(edge(*name), *column),
            Self::Ts(name) => Self::Ts(edge(*name)),
            Self::Id(name) => Self::Id(edge(*name)),
            Self::VertexId(name) => Self::VertexId(vertex(*name)),
            Self::End(name, side) => Self::End(edge(*name), *side),
            Self::Compare(comparison, operands) => Self::Compare(*comparison, two(operands)),
            Self::Compute(operator, operands) => Self::Compute(*operator, two(operands)),
            Self::Negate(operand) => Self::Negate(one(operand)),
            Self::And(operands) => Self::And(many(operands)),
            Self::Or(operands) => Self::Or(many(operands)),
            Self::Not(operand) => Self::Not(one(operand)),
            Self::In(operand, options) => Self::In(one(operand), options.clone()),
            Self::StartsWith(operand, prefix) => Self::StartsWith(one(operand), prefix.clone()),
            Self::IsNull(operand) => Self::IsNull(one(operand)),
            Self::Computed(computed) => Self::Computed(Box::new(computed.over(|leaf| leaf.renamed(edge, vertex)))),
            Self::CompareComputed(comparison, operands) => Self::CompareComputed(*comparison, two(operands)),
        }
    }
}

/// The name of an end of an edge as a value; an event, which has none, is stored with empty ones.
pub fn end(name: KeyRef<'_>) -> Operand<'_> {
    if name == KeyRef::Text("") { Operand::Null } else { name.into() }
}

impl Scalar {
    /// As [`Expression::hash`], of the constant.
    pub fn hash(&self) -> Option<u64> {
        hash(self.into())
    }
}

fn hash(operand: Operand<'_>) -> Option<u64> {
    Some(match operand {
        Operand::Null => return None,
        Operand::Bool(truth) => u64::from(truth),
        Operand::Int(number) => FxBuildHasher.hash_one(number),
        // Beyond the integers' range the conversion saturates: a few share a number.
        Operand::Float(number) if number.fract() == 0.0 => FxBuildHasher.hash_one(number as i64),
        Operand::Float(number) => FxBuildHasher.hash_one(number.to_bits()),
        Operand::Text(text) => FxBuildHasher.hash_one(KeyRef::parse(text)),
        operand @ (Operand::Digits(_) | Operand::Made(_)) => {
            return operand.with_text(|text| FxBuildHasher.hash_one(KeyRef::parse(text)));
        }
    })
}

fn union(left: (u64, u128), right: (u64, u128)) -> (u64, u128) {
    (left.0 | right.0, left.1 | right.1)
}

/// Compares two values; none if that is unknown.
pub fn compare(comparison: Comparison, left: Operand<'_>, right: Operand<'_>) -> Option<bool> {
    let ordering = match (left, right) {
        (Operand::Bool(left), Operand::Bool(right)) => return comparison.of_truths(left, right),
        (Operand::Int(left), Operand::Int(right)) => left.cmp(&right),
        (Operand::Float(left), Operand::Float(right)) => left.partial_cmp(&right)?,
        (Operand::Int(left), Operand::Float(right)) => int_to_float(left, right)?,
        (Operand::Float(left), Operand::Int(right)) => int_to_float(right, left)?.reverse(),
        (Operand::Text(left), Operand::Text(right)) => left.cmp(right),
        (left, right) => left.with_text(|left| right.with_text(|right| left.cmp(right)))??,
    };
    Some(comparison.holds(ordering))
}

fn compute<'a>(operator: Arithmetic, left: Operand<'a>, right: Operand<'a>) -> Operand<'a> {
    if let (Operand::Int(left), Operand::Int(right)) = (left, right)
        && operator != Arithmetic::Divide
    {
        return operator.of_integers(left, right).map_or(Operand::Null, Operand::Int);
    }
    let (Some(left), Some(right)) = (float(left), float(right)) else { return Operand::Null };
    operator.of_floats(left, right).map_or(Operand::Null, Operand::Float)
}

fn float(operand: Operand<'_>) -> Option<f64> {
    match operand {
        Operand::Int(number) => Some(number as f64),
        Operand::Float(number) => Some(number),
        _ => None,
    }
}
