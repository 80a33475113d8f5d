//! What is computed from the values of a list of events.

use graphtide_engine::expression::{Comparison, Operand, compare};

use crate::plan::Aggregation;

/// Computes it; the values are in the order of the stream.
pub(crate) fn aggregate<'a>(function: Aggregation, mut values: impl DoubleEndedIterator<Item = Operand<'a>>) -> Operand<'a> {
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

/// Sum and number of values; none where there is none, where one is no number, or where the sum is none that its type has.
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
            Operand::Null | Operand::Bool(_) | Operand::Text(_) | Operand::Digits(_) => return None,
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
