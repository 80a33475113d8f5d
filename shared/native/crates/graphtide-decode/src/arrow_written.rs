//! Values of Arrow types that no attribute has, as the text formats write them: decimals, dates, times of day, timestamps.
//!
//! A decimal is the number that its digits are in CSV: an integer where it has no places, else the floating-point number
//! nearest to it. A date is `2024-01-31`, a time of day `12:34:56`, a timestamp `2024-01-31T12:34:56`, with `Z` behind it if it
//! has a zone. They have as many decimals of a second as their unit has, so texts of one column are in the order of their
//! times.
//! Cost: one allocation for each value.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_date, as_datetime, as_time};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};
use graphtide_graph::value::{OwnedValue, ValueRef};

/// Values of a column; None is one that no calendar or clock has.
pub(crate) type Written = Vec<Option<OwnedValue>>;

/// Whether a column is of a type that [`written`] reads.
pub(crate) fn is_written(kind: &DataType) -> bool {
    use DataType::{Date32, Date64, Time32, Time64, Timestamp};
    is_decimal(kind) || matches!(kind, Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..))
}

/// Whether a column is of decimals.
pub(crate) fn is_decimal(kind: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(kind, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..))
}

/// Reads a column of decimals, dates, times of day or timestamps; None if it is of another type.
pub(crate) fn written(array: &ArrayRef) -> Option<Written> {
    Some(match array.data_type() {
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        DataType::Date32 => texts::<Date32Type>(array, |days| Some(as_date::<Date32Type>(days.into())?.to_string())),
        DataType::Date64 => texts::<Date64Type>(array, |ticks| Some(as_date::<Date64Type>(ticks)?.to_string())),
        DataType::Time32(TimeUnit::Second) => times::<Time32SecondType>(array, ""),
        DataType::Time32(_) => times::<Time32MillisecondType>(array, "%.3f"),
        DataType::Time64(TimeUnit::Microsecond) => times::<Time64MicrosecondType>(array, "%.6f"),
        DataType::Time64(_) => times::<Time64NanosecondType>(array, "%.9f"),
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "Z" } else { "" };
            match unit {
                TimeUnit::Second => timestamps::<TimestampSecondType>(array, "", zone),
                TimeUnit::Millisecond => timestamps::<TimestampMillisecondType>(array, "%.3f", zone),
                TimeUnit::Microsecond => timestamps::<TimestampMicrosecondType>(array, "%.6f", zone),
                TimeUnit::Nanosecond => timestamps::<TimestampNanosecondType>(array, "%.9f", zone),
            }
        }
        _ => return None,
    })
}

fn decimals<T: DecimalType>(array: &ArrayRef) -> Written {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let read = |row: usize| {
        if array.is_null(row) {
            return Some(OwnedValue::Null);
        }
        let digits = array.value_as_string(row);
        let integer = digits.parse().ok().map(OwnedValue::Int);
        integer.or_else(|| digits.parse().ok().map(OwnedValue::Float))
    };
    (0..array.len()).map(read).collect()
}

fn times<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef, decimals: &str) -> Written {
    let form = format!("%H:%M:%S{decimals}");
    texts::<T>(array, |ticks| Some(as_time::<T>(ticks.into())?.format(&form).to_string()))
}

fn timestamps<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef, decimals: &str, zone: &str) -> Written {
    let form = format!("%Y-%m-%dT%H:%M:%S{decimals}{zone}");
    texts::<T>(array, |ticks| Some(as_datetime::<T>(ticks)?.format(&form).to_string()))
}

fn texts<T: ArrowPrimitiveType>(array: &ArrayRef, text: impl Fn(T::Native) -> Option<String>) -> Written {
    let array: &PrimitiveArray<T> = array.as_primitive();
    let read = |value: Option<T::Native>| match value {
        None => Some(OwnedValue::Null),
        Some(value) => text(value).map(|text| OwnedValue::new(ValueRef::Text(&text))),
    };
    array.iter().map(read).collect()
}
