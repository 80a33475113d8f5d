//! Columns of an Arrow record batch, read row by row without a look at their type.
//!
//! Every integer column is made one of 64 bits once a batch (without a copy where it is one). So a row costs a branch that
//! always goes the same way. Cost: O(rows) a batch for narrower integers and for dictionaries, nothing for the rest.

use arrow_array::array::AnyDictionaryArray;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, LargeStringArray, StringArray, StringViewArray};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, TimeUnit};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::{OwnedValue, ValueRef};

use crate::arrow_writer::{ENCODING, JSON};
use crate::arrow_written::{Written, is_written, written};
use crate::error::RowError;
use crate::json_record::Scalar;
use crate::writer::{Label, Writer, check_text};

/// Numbers and which of them are missing.
pub(crate) struct Numbers<T: ArrowNativeType> {
    values: ScalarBuffer<T>,
    nulls: Option<NullBuffer>,
}

impl<T: ArrowNativeType> Numbers<T> {
    /// Whether one may be missing.
    pub(crate) fn has_missing(&self) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.null_count() > 0)
    }

    /// The numbers; any stands for one that is missing.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<T> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some(self.values[row])
    }
}

/// The places of a dictionary's values, row by row; any stands for one that is missing.
pub(crate) enum Codes {
    /// As they lie in memory.
    Short(ScalarBuffer<i32>),
    Other(Vec<usize>),
}

impl Codes {
    fn of(dictionary: &dyn AnyDictionaryArray) -> Self {
        match dictionary.keys().as_primitive_opt::<Int32Type>() {
            Some(codes) => Self::Short(codes.values().clone()),
            None => Self::Other(dictionary.normalized_keys()),
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Short(codes) => codes.len(),
            Self::Other(codes) => codes.len(),
        }
    }

    /// Calls `f` with the place of each row's value, until it has no answer.
    #[inline]
    pub(crate) fn try_each(&self, mut f: impl FnMut(usize) -> Option<()>) -> Option<()> {
        match self {
            Self::Short(codes) => codes.iter().try_for_each(|code| f(code.as_usize())),
            Self::Other(codes) => codes.iter().try_for_each(|code| f(*code)),
        }
    }

    /// The place of a row's value.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> usize {
        match self {
            Self::Short(codes) => codes[row].as_usize(),
            Self::Other(codes) => codes[row],
        }
    }
}

/// Texts, plain or by a dictionary.
pub(crate) enum Texts<'a> {
    Utf8(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
    Dictionary {
        codes: Codes,
        nulls: Option<NullBuffer>,
        values: Box<Texts<'a>>,
        distinct: usize,
    },
    /// A column without a value, whatever its type.
    Missing,
}

impl<'a> Texts<'a> {
    /// Reads a column of texts; None if it is of another type.
    pub(crate) fn new(array: &'a ArrayRef) -> Option<Self> {
        match array.data_type() {
            DataType::Null => Some(Self::Missing),
            DataType::Utf8 => Some(Self::Utf8(array.as_string())),
            DataType::LargeUtf8 => Some(Self::Large(array.as_string())),
            DataType::Utf8View => Some(Self::View(array.as_string_view())),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary_opt()?;
                let values = Box::new(Self::new(dictionary.values())?);
                let distinct = dictionary.values().len();
                if distinct == 0 {
                    return Some(Self::Missing);
                }
                Some(Self::Dictionary { codes: Codes::of(dictionary), nulls: array.nulls().cloned(), values, distinct })
            }
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary { codes, nulls, values, .. } => {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    return None;
                }
                values.get(codes.at(row))
            }
            Self::Missing => None,
        }
    }
}

/// Vertices or ids.
pub(crate) enum Keys<'a> {
    Texts(Texts<'a>),
    Signed(Numbers<i64>),
    Unsigned(Numbers<u64>),
}

impl<'a> Keys<'a> {
    /// Reads a column of texts or integers; None if it is of another type.
    pub(crate) fn new(array: &'a ArrayRef) -> Option<Self> {
        if let Some(texts) = Texts::new(array) {
            return Some(Self::Texts(texts));
        }
        integers(array).map(|integers| match integers {
            Integers::Signed(numbers) => Self::Signed(numbers),
            Integers::Unsigned(numbers) => Self::Unsigned(numbers),
        })
    }
}

/// Labels; those of a dictionary are looked up once each.
pub(crate) struct Labels<'a> {
    texts: Texts<'a>,
    /// Numbers of a dictionary's texts, as far as rows asked for them; empty where a dictionary is none or not worth it.
    known: Vec<Option<Symbol>>,
}

impl<'a> Labels<'a> {
    /// Reads a column of labels; None if it is of another type.
    pub(crate) fn new(array: &'a ArrayRef) -> Option<Self> {
        let texts = Texts::new(array)?;
        let known = match &texts {
            Texts::Dictionary { distinct, .. } if *distinct <= array.len() => vec![None; *distinct],
            _ => Vec::new(),
        };
        Some(Self { texts, known })
    }

    /// The numbers of the labels of all rows, one place each; a missing one is [`Symbol::ABSENT`].
    pub(crate) fn write<'s>(
        &mut self,
        mut places: impl Iterator<Item = &'s mut Symbol>,
        writer: &mut Writer,
        table: &mut SymbolTable,
    ) -> Option<()> {
        let Self { texts, known } = self;
        match texts {
            Texts::Dictionary { codes, nulls: None, values, .. } if !known.is_empty() => codes.try_each(|code| {
                let look_up = || values.get(code).map_or(Symbol::ABSENT, |text| writer.intern(text, table));
                *places.next()? = *known.get_mut(code)?.get_or_insert_with(look_up);
                Some(())
            }),
            texts => {
                for (row, place) in places.enumerate() {
                    *place = texts.get(row).map_or(Symbol::ABSENT, |text| writer.intern(text, table));
                }
                Some(())
            }
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, row: usize, writer: &mut Writer, table: &mut SymbolTable) -> Option<Label<'_>> {
        if let Texts::Dictionary { codes, nulls, values, .. } = &self.texts {
            let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            if let Some(slot) = self.known.get_mut(codes.at(row)).filter(|_| !is_null) {
                if slot.is_none() {
                    *slot = Some(writer.intern(values.get(codes.at(row))?, table));
                }
                return slot.map(Label::Known);
            }
        }
        self.texts.get(row).map(Label::Text)
    }
}

/// Values of an attribute.
pub(crate) enum Values<'a> {
    Bool(&'a BooleanArray),
    Signed(Numbers<i64>),
    Unsigned(Numbers<u64>),
    Float(Numbers<f64>),
    Texts(Texts<'a>),
    /// Values that were read from texts of JSON, or are as texts would have them.
    Read(Written),
    /// Values of other types than texts, by a dictionary.
    Dictionary {
        codes: Codes,
        nulls: Option<NullBuffer>,
        values: Box<Values<'a>>,
    },
}

impl<'a> Values<'a> {
    /// Whether an attribute can have values of a type.
    pub(crate) fn can_be(kind: &DataType) -> bool {
        use DataType::{Boolean, Dictionary, Float16, Float32, Float64, LargeUtf8, Null, Utf8, Utf8View};
        match kind {
            Null | Boolean | Float16 | Float32 | Float64 | Utf8 | LargeUtf8 | Utf8View => true,
            Dictionary(_, values) => Self::can_be(values),
            kind => kind.is_integer() || is_written(kind),
        }
    }

    /// Reads a column as its field says it is written. What is not JSON where it should be is missing; None for a type that no
    /// attribute can have.
    pub(crate) fn of_field(field: &Field, array: &'a ArrayRef) -> Option<Self> {
        if field.metadata().get(ENCODING).map(String::as_str) != Some(JSON) {
            return Self::new(array);
        }
        let Some(texts) = Texts::new(array) else { return Self::new(array) };
        let read = |row| {
            let value = texts.get(row).map(serde_json::from_str::<Scalar>);
            Some(value.map_or(OwnedValue::Null, |value| OwnedValue::new(value.unwrap_or_default().attribute())))
        };
        Some(Self::Read((0..array.len()).map(read).collect()))
    }

    /// Reads a column; None for a type that no attribute can have.
    pub(crate) fn new(array: &'a ArrayRef) -> Option<Self> {
        let floats = |values| Self::Float(Numbers { values, nulls: array.nulls().cloned() });
        Some(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean()),
            DataType::Float64 => floats(array.as_primitive::<Float64Type>().values().clone()),
            DataType::Float32 => floats(array.as_primitive::<Float32Type>().values().iter().map(|n| f64::from(*n)).collect()),
            DataType::Float16 => floats(array.as_primitive::<Float16Type>().values().iter().map(|n| n.to_f64()).collect()),
            kind if is_written(kind) => Self::Read(written(array)?),
            _ => match Keys::new(array) {
                Some(Keys::Texts(texts)) => Self::Texts(texts),
                Some(Keys::Signed(numbers)) => Self::Signed(numbers),
                Some(Keys::Unsigned(numbers)) => Self::Unsigned(numbers),
                None => Self::by_dictionary(array)?,
            },
        })
    }

    fn by_dictionary(array: &'a ArrayRef) -> Option<Self> {
        let dictionary = array.as_any_dictionary_opt()?;
        let values = Self::new(dictionary.values())?;
        if dictionary.values().is_empty() {
            return Some(Self::Texts(Texts::Missing));
        }
        Some(Self::Dictionary { codes: Codes::of(dictionary), nulls: array.nulls().cloned(), values: Box::new(values) })
    }

    /// Counts a value that no attribute can have.
    #[inline]
    pub(crate) fn check(&self, row: usize, name: &str) -> Result<(), RowError> {
        match self {
            Self::Bool(_) | Self::Signed(_) | Self::Unsigned(_) | Self::Float(_) => Ok(()),
            Self::Texts(texts) => texts.get(row).map_or(Ok(()), |text| check_text(text, name)),
            Self::Read(values) => match &values[row] {
                None => Err(RowError::NoTime { column: name.to_owned() }),
                Some(OwnedValue::Text(text)) => check_text(text, name),
                Some(_) => Ok(()),
            },
            Self::Dictionary { nulls, .. } if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) => Ok(()),
            Self::Dictionary { codes, values, .. } => values.check(codes.at(row), name),
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> ValueRef<'_> {
        let value = match self {
            Self::Bool(array) => array.is_valid(row).then(|| ValueRef::Bool(array.value(row))),
            Self::Signed(numbers) => numbers.get(row).map(ValueRef::Int),
            // Past 64 bits signed, the nearest number: as the text formats have it.
            Self::Unsigned(numbers) => {
                numbers.get(row).map(|n| i64::try_from(n).map_or(ValueRef::Float(n as f64), ValueRef::Int))
            }
            Self::Float(numbers) => numbers.get(row).filter(|number| !number.is_nan()).map(ValueRef::Float),
            Self::Texts(texts) => texts.get(row).map(ValueRef::Text),
            Self::Read(values) => values[row].as_ref().map(OwnedValue::get),
            Self::Dictionary { codes, nulls, values } => {
                let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
                (!is_null).then(|| values.get(codes.at(row)))
            }
        };
        value.unwrap_or(ValueRef::Null)
    }
}

/// Integers of one width.
pub(crate) enum Integers {
    Signed(Numbers<i64>),
    Unsigned(Numbers<u64>),
}

/// Reads a column of integers; None if it is of another type.
pub(crate) fn integers(array: &ArrayRef) -> Option<Integers> {
    let values: ScalarBuffer<i64> = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().values().clone(),
        DataType::Int32 => array.as_primitive::<Int32Type>().values().iter().map(|n| i64::from(*n)).collect(),
        DataType::Int16 => array.as_primitive::<Int16Type>().values().iter().map(|n| i64::from(*n)).collect(),
        DataType::Int8 => array.as_primitive::<Int8Type>().values().iter().map(|n| i64::from(*n)).collect(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().values().iter().map(|n| i64::from(*n)).collect(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().values().iter().map(|n| i64::from(*n)).collect(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().values().iter().map(|n| i64::from(*n)).collect(),
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values().clone();
            return Some(Integers::Unsigned(Numbers { values, nulls: array.nulls().cloned() }));
        }
        _ => return None,
    };
    Some(Integers::Signed(Numbers { values, nulls: array.nulls().cloned() }))
}

/// Reads a column of dates as timestamps; None if it is of another type.
pub(crate) fn dates(array: &ArrayRef) -> Option<(Numbers<i64>, i64)> {
    const SECONDS: i64 = 86_400;
    let nulls = array.nulls().cloned();
    let seconds = |days: &i32| i64::from(*days) * SECONDS;
    match array.data_type() {
        DataType::Date32 => {
            Some((Numbers { values: array.as_primitive::<Date32Type>().values().iter().map(seconds).collect(), nulls }, 1))
        }
        DataType::Date64 => Some((Numbers { values: array.as_primitive::<Date64Type>().values().clone(), nulls }, 1_000)),
        _ => None,
    }
}

/// Reads a column of timestamps, with how many of its units a second has; None if it is of another type.
pub(crate) fn timestamps(array: &ArrayRef) -> Option<(Numbers<i64>, i64)> {
    let DataType::Timestamp(unit, _) = array.data_type() else { return None };
    let (values, per_second) = match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().values(), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().values(), 1_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().values(), 1_000_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().values(), 1_000_000_000),
    };
    Some((Numbers { values: values.clone(), nulls: array.nulls().cloned() }, per_second))
}
