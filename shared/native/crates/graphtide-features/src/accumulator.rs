//! The value of one function for one key: records enter and leave.

use std::collections::{BTreeMap, VecDeque};

use graphtide_graph::value::OwnedValue;

use crate::different::Different;
use crate::exact_sum::ExactSum;
use crate::held::Held;
use crate::number::Number;
use crate::spec::Function;

/// What a function has of its window.
#[derive(Clone, Debug)]
pub(crate) enum Accumulator {
    Count(u64),
    Different(Box<Different>),
    Sum(Sum),
    /// How often there is each number.
    Extremes(BTreeMap<Number, u32>),
    /// Numbers in the log of the records with a value; those that were deleted stay until they pass.
    Last(VecDeque<u64>),
}

/// A sum of integers and other numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    integers: i128,
    others: Option<Box<ExactSum>>,
    count: u64,
    other_count: u64,
}

impl Accumulator {
    pub(crate) fn new(function: Function) -> Self {
        match function {
            Function::Count => Self::Count(0),
            Function::Different => Self::Different(Box::default()),
            Function::Sum | Function::Avg => Self::Sum(Sum::default()),
            Function::Min | Function::Max => Self::Extremes(BTreeMap::new()),
            Function::Last => Self::Last(VecDeque::new()),
        }
    }

    /// Adds the value of a record, by its number in the log.
    pub(crate) fn add(&mut self, number: u64, value: &Held) {
        match self {
            Self::Count(count) => *count += u64::from(!value.is_missing()),
            Self::Different(different) => different.add(number, value),
            Self::Sum(sum) => sum.add(value),
            Self::Extremes(numbers) => {
                if let Some(number) = value.number() {
                    *numbers.entry(number).or_insert(0) += 1;
                }
            }
            Self::Last(numbers) => {
                if !value.is_missing() {
                    numbers.push_back(number);
                }
            }
        }
    }

    /// Takes a value away that was added, of the oldest record or of one that is deleted; `held` gives the values of the others.
    pub(crate) fn take<'h>(&mut self, number: u64, value: &Held, is_oldest: bool, held: impl Fn(u64) -> Option<&'h Held>) {
        match self {
            Self::Count(count) => *count -= u64::from(!value.is_missing()),
            Self::Different(different) if is_oldest => different.take(number, value, held),
            Self::Different(different) => different.delete(number, value, held),
            Self::Sum(sum) => sum.take(value),
            Self::Extremes(numbers) => {
                if let Some(number) = value.number()
                    && let Some(count) = numbers.get_mut(&number)
                {
                    *count -= 1;
                    if *count == 0 {
                        numbers.remove(&number);
                    }
                }
            }
            Self::Last(numbers) => {
                while is_oldest && numbers.front().is_some_and(|&first| first <= number) {
                    numbers.pop_front();
                }
            }
        }
    }

    /// The value of the function; `held` gives the value of a record, or none if it was deleted.
    pub(crate) fn value<'h>(&mut self, function: Function, held: impl Fn(u64) -> Option<&'h Held>) -> OwnedValue {
        match self {
            Self::Count(count) => OwnedValue::Int(count.cast_signed()),
            Self::Different(different) => OwnedValue::Int(different.count().cast_signed()),
            Self::Sum(sum) if function == Function::Avg => sum.mean(),
            Self::Sum(sum) => sum.total(),
            Self::Extremes(numbers) => {
                let found = if function == Function::Min { numbers.first_key_value() } else { numbers.last_key_value() };
                match found {
                    Some((Number::Int(number), _)) => OwnedValue::Int(*number),
                    Some((Number::Float(number), _)) => OwnedValue::Float(*number),
                    None => OwnedValue::Null,
                }
            }
            Self::Last(numbers) => {
                while let Some(&last) = numbers.back() {
                    match held(last) {
                        Some(value) => return value.to_value(),
                        None => _ = numbers.pop_back(),
                    }
                }
                OwnedValue::Null
            }
        }
    }
}

impl Sum {
    fn add(&mut self, value: &Held) {
        match *value {
            Held::Int(number) => self.integers += i128::from(number),
            Held::Float(number) if number.is_finite() => {
                self.others.get_or_insert_default().add(number);
                self.other_count += 1;
            }
            _ => return,
        }
        self.count += 1;
    }

    fn take(&mut self, value: &Held) {
        match *value {
            Held::Int(number) => self.integers -= i128::from(number),
            Held::Float(number) if number.is_finite() => {
                self.other_count -= 1;
                match &mut self.others {
                    Some(others) if self.other_count > 0 => others.take(number),
                    others => *others = None,
                }
            }
            _ => return,
        }
        self.count -= 1;
    }

    /// The sum, rounded once.
    fn rounded(&self) -> Option<f64> {
        match &self.others {
            Some(others) => others.round_with(self.integers),
            None => Some(self.integers as f64),
        }
    }

    fn total(&self) -> OwnedValue {
        if self.count == 0 {
            return OwnedValue::Null;
        }
        match i64::try_from(self.integers) {
            Ok(number) if self.other_count == 0 => OwnedValue::Int(number),
            _ => self.rounded().map_or(OwnedValue::Null, OwnedValue::Float),
        }
    }

    fn mean(&self) -> OwnedValue {
        match self.rounded() {
            Some(total) if self.count > 0 => OwnedValue::Float(total / self.count as f64),
            _ => OwnedValue::Null,
        }
    }
}
