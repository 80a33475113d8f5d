//! The times of a column of Arrow, in ticks.

use std::io::Write;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::arrow_columns::{Integers, Numbers, Texts, Values, dates, integers, timestamps};
use crate::column::Column;
use crate::error::RowError;
use crate::times::{Times, Zone};

/// Bytes that the longest floating-point number takes, with an exponent: `-2.2250738585072014e-308`.
const LONGEST_FLOAT: usize = 24;

/// How times become ticks.
#[derive(Clone, Copy)]
pub(crate) struct Scale<'a> {
    /// How times are written; None for integers that count ticks.
    pub(crate) times: Option<&'a Times>,
    pub(crate) ticks_per_second: i64,
}

impl Scale<'_> {
    /// The types that a column of times could have.
    pub(crate) fn expected(self) -> &'static str {
        match self.times {
            None => "an integer, a timestamp or a date",
            Some(times) if times.units_per_second().is_some() => "a number, a timestamp or a date",
            Some(_) => "a text, an integer, a timestamp or a date",
        }
    }
}

/// Event times in ticks.
pub(crate) enum Ticks<'a> {
    /// Counted in ticks already.
    Signed(Numbers<i64>),
    /// Counted in ticks already, and some may be past the range of time.
    Unsigned(Numbers<u64>),
    /// Of another unit; `per_second` make a second.
    Scaled { numbers: Numbers<i64>, ticks_per_second: i64, per_second: i64 },
    /// Of a unit, too, by the clocks of a zone.
    Clock { numbers: Numbers<i64>, ticks_per_second: i64, per_second: i64, zone: &'a Zone },
    /// As texts have them.
    Texts(Texts<'a>, &'a Times),
    /// The decimals that are nearest to them.
    Floats(Numbers<f64>, &'a Times),
    /// Of another unit, and past 64 bits signed, maybe.
    Large(Numbers<u64>, &'a Times),
}

impl<'a> Ticks<'a> {
    /// Reads a column; None if its type is not one of times.
    pub(crate) fn new(array: &'a ArrayRef, scale: Scale<'a>) -> Option<Self> {
        let Scale { times, ticks_per_second } = scale;
        let is_of_zone = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
        if let Some((numbers, per_second)) = timestamps(array).or_else(|| dates(array)) {
            return Some(match times.and_then(Times::zone).filter(|_| !is_of_zone) {
                Some(zone) => Self::Clock { numbers, ticks_per_second, per_second, zone },
                None if per_second == ticks_per_second => Self::Signed(numbers),
                None => Self::Scaled { numbers, ticks_per_second, per_second },
            });
        }
        let unit = times.and_then(Times::units_per_second).unwrap_or(ticks_per_second);
        if let Some(times) = times {
            if let Some(texts) = Texts::new(array) {
                return Some(Self::Texts(texts, times));
            }
            if let Some(Values::Float(numbers)) = Values::new(array).filter(|_| times.units_per_second().is_some()) {
                return Some(Self::Floats(numbers, times));
            }
        }
        Some(match (integers(array)?, times) {
            (Integers::Unsigned(numbers), Some(times)) if unit != ticks_per_second => Self::Large(numbers, times),
            (Integers::Unsigned(numbers), _) => Self::Unsigned(numbers),
            (Integers::Signed(numbers), _) if unit == ticks_per_second => Self::Signed(numbers),
            (Integers::Signed(numbers), _) => Self::Scaled { numbers, ticks_per_second, per_second: unit },
        })
    }

    /// The time of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Result<i64, RowError> {
        let column = Column::Ts.name();
        let missing = RowError::Missing { column };
        match self {
            Self::Signed(numbers) => numbers.get(row).ok_or(missing),
            Self::Unsigned(numbers) => {
                let number = numbers.get(row).ok_or(missing)?;
                i64::try_from(number).map_err(|_| RowError::OutOfRange { column, text: number.to_string() })
            }
            Self::Scaled { numbers, ticks_per_second, per_second } => {
                let number = numbers.get(row).ok_or(missing)?;
                let ticks = (i128::from(number) * i128::from(*ticks_per_second)).div_euclid(i128::from(*per_second));
                i64::try_from(ticks).map_err(|_| RowError::OutOfRange { column, text: ticks.to_string() })
            }
            Self::Clock { numbers, ticks_per_second, per_second, zone } => {
                Times::of_clock(zone, numbers.get(row).ok_or(missing)?, *per_second, *ticks_per_second)
            }
            Self::Texts(texts, times) => times.read(texts.get(row).ok_or(missing)?),
            Self::Floats(numbers, times) => {
                let number = numbers.get(row).filter(|number| !number.is_nan()).ok_or(missing)?;
                let mut text = [0; LONGEST_FLOAT];
                let mut rest = text.as_mut_slice();
                // It has room for every number.
                _ = write!(rest, "{number:e}");
                let length = LONGEST_FLOAT - rest.len();
                times.read(std::str::from_utf8(&text[..length]).unwrap_or_default())
            }
            Self::Large(numbers, times) => times.read(itoa::Buffer::new().format(numbers.get(row).ok_or(missing)?)),
        }
    }
}
