//! What is computed from the values of a list: of the events of an iteration, of the edges of a component.

use serde::Deserialize;

use crate::expression::{Comparison, Expression, Operand, compare, is_label};

/// Columns from here on are aggregates: that many later is the place among them.
pub const AGGREGATE: u16 = 1 << 15;

/// What is computed from a list of values; those that are missing are left out, but by `First` and `Last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// How many there are.
    Count,
    /// Their sum, an integer if they all are.
    Sum,
    /// Their sum through their number.
    Average,
    /// The least.
    Least,
    /// The greatest.
    Greatest,
    /// That of the earliest event.
    First,
    /// That of the latest event.
    Last,
}

/// What an expression reads of a whole list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregateSpec {
    /// What is computed.
    pub function: Aggregation,
    /// From what of each event.
    pub of: Of,
}

/// What is read of each event of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// Its time.
    Ts,
    /// Its id.
    Id,
    /// The name of its source (0) or target (1).
    End(u8),
    /// An attribute, or a label.
    Column(u16),
}

impl AggregateSpec {
    /// Whether records of so many attributes have what it reads.
    pub fn is_fit(self, width: usize) -> bool {
        if let Of::Column(column) = self.of { is_column(column, width) } else { true }
    }
}

/// Whether a column is an aggregate.
pub fn is_aggregate(column: u16) -> bool {
    column >= AGGREGATE && !is_label(column)
}

/// Whether records of so many attributes have a column.
fn is_column(column: u16, width: usize) -> bool {
    is_label(column) || usize::from(column) < width
}

/// Whether all columns that an expression reads are there, or computed from lists.
pub fn reads_columns(expression: &Expression, width: usize, aggregates: &[AggregateSpec]) -> bool {
    let is_known = |column: u16| is_aggregate(column) && usize::from(column - AGGREGATE) < aggregates.len();
    let mut is_fit = true;
    expression.clone().attributes(&mut |_, column| is_fit &= is_column(*column, width) || is_known(*column));
    is_fit
}

/// Computes it; the values are in the order of the stream.
pub fn aggregate<'a>(function: Aggregation, mut values: impl DoubleEndedIterator<Item = Operand<'a>>) -> Operand<'a> {
    match function {
        Aggregation::First => return values.next().unwrap_or(Operand::Null),
        Aggregation::Last => return values.next_back().unwrap_or(Operand::Null),
        _ => {}
    }
    let known = values.filter(|value| !matches!(value, Operand::Null));
    match function {
        Aggregation::Sum => sum(known).map_or(Operand::Null, |(total, _)| total),
        Aggregation::Average => match sum(known) {
            Some((Operand::Int(total), count)) => Operand::Float(total as f64 / count as f64),
            Some((Operand::Float(total), count)) => Operand::Float(total / count as f64),
            _ => Operand::Null,
        },
        Aggregation::Least => extreme(known, Comparison::Less),
        Aggregation::Greatest => extreme(known, Comparison::Greater),
        _ => Operand::Int(i64::try_from(known.count()).unwrap_or(i64::MAX)),
    }
}

/// Sum and number of values. None where there is none, where one is not a number, or where the sum is none that its type has.
fn sum<'a>(values: impl Iterator<Item = Operand<'a>>) -> Option<(Operand<'a>, usize)> {
    let (mut whole, mut total, mut are_whole, mut count) = (0_i128, 0.0, true, 0);
    for value in values {
        count += 1;
        match value {
            Operand::Int(number) => {
                whole += i128::from(number);
                total += number as f64;
            }
            Operand::Float(number) => {
                are_whole = false;
                total += number;
            }
            Operand::Null | Operand::Bool(_) | Operand::Text(_) | Operand::Digits(_) | Operand::Made(_) => return None,
        }
    }
    let sum = if are_whole { i64::try_from(whole).ok().map(Operand::Int) } else { Some(Operand::Float(total)) };
    sum.filter(|_| count > 0 && total.is_finite()).map(|sum| (sum, count))
}

/// The value that lies before all others in an order; none where two of them have none.
fn extreme<'a>(mut values: impl Iterator<Item = Operand<'a>>, wanted: Comparison) -> Operand<'a> {
    let first = values.next().unwrap_or(Operand::Null);
    // A truth value has no order, not even with itself.
    if compare(Comparison::LessOrEqual, first, first).is_none() {
        return Operand::Null;
    }
    let mut best = Some(first);
    for value in values {
        best = best.and_then(|best| compare(wanted, value, best).map(|is_better| if is_better { value } else { best }));
    }
    best.unwrap_or(Operand::Null)
}
