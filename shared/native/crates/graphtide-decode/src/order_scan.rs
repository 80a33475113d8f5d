//! A look at the times of a text alone: whether its records are surely in order of time, without decoding them.
//!
//! It may answer no where records are in order: what it does not know for certain is left to a decoder. So it never has to agree
//! with a decoder about a record that is bad. Cost: a search for line ends and the times, nothing a record else.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use graphtide_graph::digits;
use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter, memrchr};

/// Looks at lines that come in blocks.
pub struct OrderScan {
    form: Form,
    newest: Newest,
    /// Whether a number is a time.
    numbers: bool,
    /// The beginning of a line whose end is in a later block.
    carried: Vec<u8>,
}

enum Form {
    /// Fields between bytes: how many come before the time, and the quote, which none may have.
    Fields { delimiter: u8, before: usize, quote: Option<u8> },
    /// Lines of JSON with the time under a name.
    Json(Arc<Finder<'static>>),
}

/// The newest time, by how times are written.
enum Newest {
    None,
    /// An integer, and its digits.
    Integer {
        time: u64,
        length: usize,
    },
    /// Seconds and the digits behind the point.
    Decimal(u64, Vec<u8>),
    /// ISO 8601 in UTC, always as long: later ones have greater bytes.
    Iso(Vec<u8>),
}

/// The longest time that is looked at, in bytes; a number of so many digits fits.
const LONGEST: usize = 40;
const MOST_DIGITS: usize = 18;

/// The longest line that blocks may cut, in bytes.
const MOST_CARRIED: usize = 1 << 22;

impl OrderScan {
    /// Prepares for text with fields, without its header line; `numbers` says whether a number is a time.
    pub fn fields(delimiter: u8, before: usize, quote: Option<u8>, numbers: bool) -> Self {
        Self::new(Form::Fields { delimiter, before, quote }, numbers)
    }

    /// Prepares for lines of JSON, with times under a name of letters, digits and underscores.
    pub fn json(name: &str, numbers: bool) -> Self {
        Self::new(Form::Json(Arc::new(Finder::new(&format!("\"{name}\"")).into_owned())), numbers)
    }

    fn new(form: Form, numbers: bool) -> Self {
        Self { form, newest: Newest::None, numbers, carried: Vec::new() }
    }

    /// Looks at a block; returns whether all is surely in order so far.
    pub fn feed(&mut self, block: &[u8]) -> bool {
        let Some(end) = memrchr(b'\n', block) else {
            // A line without an end is not kept.
            let is_short = self.carried.len() + block.len() <= MOST_CARRIED;
            if is_short {
                self.carried.extend_from_slice(block);
            }
            return is_short;
        };
        if !self.is_plain(block) {
            return false;
        }
        let mut start = 0;
        if !self.carried.is_empty() {
            start = memchr(b'\n', block).map_or(block.len(), |end| end + 1);
            let mut line = std::mem::take(&mut self.carried);
            line.extend_from_slice(&block[..start]);
            if !(self.is_plain(&line) && self.look(&line)) {
                return false;
            }
        }
        if !self.look(&block[start..=end]) {
            return false;
        }
        self.carried.extend_from_slice(&block[end + 1..]);
        true
    }

    /// Looks at lines with their ends.
    fn look(&mut self, lines: &[u8]) -> bool {
        if let Form::Json(name) = &self.form {
            let name = Arc::clone(name);
            return self.look_at_objects(lines, &name);
        }
        let mut from = 0;
        for to in memchr_iter(b'\n', lines) {
            if !self.look_at_row(without_return(&lines[from..to])) {
                return false;
            }
            from = to + 1;
        }
        true
    }

    /// Looks at lines of JSON by one search for the name, which must be once in each that is not empty.
    fn look_at_objects(&mut self, lines: &[u8], name: &Finder<'_>) -> bool {
        let mut names = name.find_iter(lines).peekable();
        let mut from = 0;
        for to in memchr_iter(b'\n', lines) {
            let line = without_return(&lines[from..to]);
            if !line.is_empty() {
                let Some(at) = names.next_if(|at| *at < to) else { return false };
                let is_later =
                    time_behind(&lines[at + name.needle().len()..to]).is_some_and(|time| self.newest.take(time, self.numbers));
                if !is_later || names.peek().is_some_and(|next| *next < to) {
                    return false;
                }
            }
            from = to + 1;
        }
        true
    }

    /// Looks at a last line without an end.
    pub fn finish(&mut self) -> bool {
        let mut line = std::mem::take(&mut self.carried);
        line.push(b'\n');
        self.is_plain(&line) && self.look(&line)
    }

    /// Whether lines end at line ends, and names are written as they are.
    fn is_plain(&self, bytes: &[u8]) -> bool {
        match self.form {
            Form::Fields { quote, .. } => quote.is_none_or(|quote| memchr(quote, bytes).is_none()),
            Form::Json(_) => memchr(b'\\', bytes).is_none(),
        }
    }

    #[inline]
    fn look_at_row(&mut self, line: &[u8]) -> bool {
        let Form::Fields { delimiter, before, .. } = self.form else { return false };
        if line.is_empty() {
            return true;
        }
        if before == 0
            && let Newest::Integer { time, length } = &mut self.newest
            && line.get(*length).is_none_or(|byte| *byte == delimiter)
            && let Some(number) = line.get(..*length).and_then(whole)
        {
            // Most times of a file are as long.
            return number >= std::mem::replace(time, number);
        }
        let mut rest = line;
        for _ in 0..before {
            let Some(end) = memchr(delimiter, rest) else { return false };
            rest = &rest[end + 1..];
        }
        let value = &rest[..memchr(delimiter, &rest[..rest.len().min(LONGEST)]).unwrap_or(rest.len())];
        self.newest.take(value, self.numbers)
    }
}

/// What may be a time behind a name of JSON.
#[inline]
fn time_behind(rest: &[u8]) -> Option<&[u8]> {
    let value = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    if let Some(text) = value.strip_prefix(b"\"") {
        return Some(&text[..memchr(b'"', text)?]);
    }
    let end = value.iter().position(|byte| !(byte.is_ascii_digit() || *byte == b'.')).unwrap_or(value.len());
    matches!(value.get(end), None | Some(b',' | b'}' | b' ')).then(|| &value[..end])
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

impl Newest {
    /// Takes the next time; returns whether it is surely not earlier.
    #[inline]
    fn take(&mut self, value: &[u8], numbers: bool) -> bool {
        match self {
            Self::Integer { time, length } => match whole(value) {
                Some(found) if found >= *time => {
                    (*time, *length) = (found, value.len());
                    true
                }
                _ => false,
            },
            Self::Decimal(newest, digits) => match decimal(value) {
                Some((time, found)) if found.len() == digits.len() && (time, found) >= (*newest, digits.as_slice()) => {
                    *newest = time;
                    digits.copy_from_slice(found);
                    true
                }
                _ => false,
            },
            Self::Iso(newest) => {
                let is_later = value.len() == newest.len() && is_iso(value) && value >= newest.as_slice();
                if is_later {
                    newest.copy_from_slice(value);
                }
                is_later
            }
            Self::None => {
                *self = if let Some(time) = whole(value).filter(|_| numbers) {
                    Self::Integer { time, length: value.len() }
                } else if let Some((time, digits)) = decimal(value).filter(|_| numbers) {
                    Self::Decimal(time, digits.to_vec())
                } else if is_iso(value) {
                    Self::Iso(value.to_vec())
                } else {
                    return false;
                };
                true
            }
        }
    }
}

/// Whether the values of a column of integers or times that are there are at least `newest`, and ascend; `newest` becomes the last.
pub fn ascends(column: &ArrayRef, newest: &mut i64) -> bool {
    match column.data_type() {
        DataType::Int8 => ascend::<Int8Type>(column, newest),
        DataType::Int16 => ascend::<Int16Type>(column, newest),
        DataType::Int32 => ascend::<Int32Type>(column, newest),
        DataType::Int64 => ascend::<Int64Type>(column, newest),
        DataType::UInt8 => ascend::<UInt8Type>(column, newest),
        DataType::UInt16 => ascend::<UInt16Type>(column, newest),
        DataType::UInt32 => ascend::<UInt32Type>(column, newest),
        DataType::Date32 => ascend::<Date32Type>(column, newest),
        DataType::Date64 => ascend::<Date64Type>(column, newest),
        DataType::Timestamp(TimeUnit::Second, _) => ascend::<TimestampSecondType>(column, newest),
        DataType::Timestamp(TimeUnit::Millisecond, _) => ascend::<TimestampMillisecondType>(column, newest),
        DataType::Timestamp(TimeUnit::Microsecond, _) => ascend::<TimestampMicrosecondType>(column, newest),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => ascend::<TimestampNanosecondType>(column, newest),
        _ => false,
    }
}

fn ascend<T: ArrowPrimitiveType<Native: Into<i64>>>(column: &ArrayRef, newest: &mut i64) -> bool {
    let mut is_later = |value: T::Native| {
        let before = std::mem::replace(newest, value.into());
        *newest >= before
    };
    let column = column.as_primitive::<T>();
    if column.null_count() == 0 {
        return column.values().iter().all(|&value| is_later(value));
    }
    column.iter().flatten().all(is_later)
}

/// The number of digits, without a sign or a leading zero.
#[inline]
fn whole(value: &[u8]) -> Option<u64> {
    digits::unsigned(value).filter(|_| value[0] != b'0' || value.len() == 1)
}

fn decimal(value: &[u8]) -> Option<(u64, &[u8])> {
    let point = memchr(b'.', value)?;
    let digits = &value[point + 1..];
    let is_number = !digits.is_empty() && digits.len() <= MOST_DIGITS && digits.iter().all(u8::is_ascii_digit);
    is_number.then_some((whole(&value[..point])?, digits))
}

/// Whether a text is a date and a time of ISO 8601 that names UTC or no zone.
fn is_iso(value: &[u8]) -> bool {
    let form = value.strip_suffix(b"Z").unwrap_or(value);
    form.len() >= 19
        && form.len() <= LONGEST - 10
        && form.iter().enumerate().all(|(place, &byte)| match place {
            4 | 7 => byte == b'-',
            10 => byte == b'T' || byte == b' ',
            13 | 16 => byte == b':',
            19 => byte == b'.',
            _ => byte.is_ascii_digit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(mut make: impl FnMut() -> OrderScan, text: &str) -> bool {
        let mut whole = make();
        let expected = whole.feed(text.as_bytes()) && whole.finish();
        for size in 1..9 {
            let mut scan = make();
            let found = text.as_bytes().chunks(size).all(|block| scan.feed(block)) && scan.finish();
            assert_eq!(found, expected, "{text:?} in blocks of {size}");
        }
        expected
    }

    #[test]
    fn fields_are_in_order_where_that_is_sure() {
        let cases = [
            ("a,1,x\nb,1,y\r\n\nc,20,z", true),
            ("a,2\nb,10\nc,9\n", false),
            ("a,1\nb\n", false),
            ("a,1\nb,02\n", false),
            ("a,-1\n", false),
            ("a,1.25\nb,1.26\nc,10.01\n", true),
            ("a,1.3\nb,1.25\n", false),
            ("a,1.25\nb,1.24\n", false),
            ("a,1\nb,1.5\n", false),
            ("a,2026-01-31T10:00:00Z\nb,2026-02-01T09:00:00Z\n", true),
            ("a,2026-02-01T10:00:00Z\nb,2026-02-01T09:00:00Z\n", false),
            ("a,2026-02-01T10:00:00Z\nb,2026-02-01T11:00:00+02:00\n", false),
            ("a,2026-02-01T10:00:00\nb,2026-02-01T11:00:00.5\n", false),
            ("\"a\",1\n", false),
            ("", true),
        ];
        for (text, expected) in cases {
            assert_eq!(scan(|| OrderScan::fields(b',', 1, Some(b'"'), true), text), expected, "{text:?}");
        }
    }

    #[test]
    fn times_in_front_are_in_order_where_that_is_sure() {
        let cases =
            [("1,a\n2\n10,b", true), ("2,a\n1,b\n", false), ("1,a\n2x,b\n", false), ("1,a\n,b\n", false), ("1\n02\n", false)];
        for (text, expected) in cases {
            assert_eq!(scan(|| OrderScan::fields(b',', 0, Some(b'"'), true), text), expected, "{text:?}");
        }
        assert!(!scan(|| OrderScan::fields(b',', 0, Some(b'"'), false), "2026\n20270101\n"));
    }

    #[test]
    fn a_line_without_an_end_is_not_kept() {
        let mut scan = OrderScan::fields(b',', 0, None, true);
        let block = vec![b'1'; MOST_CARRIED / 2];
        assert!(scan.feed(&block) && scan.feed(&block));
        assert!(!scan.feed(&block));
        assert_eq!(scan.carried.len(), MOST_CARRIED);
    }

    #[test]
    fn lines_of_json_are_in_order_where_that_is_sure() {
        let cases = [
            ("{\"ts\":1}\n{\"a\": 1, \"ts\" : 3 }\n\n{\"ts\":\"4\"}", true),
            ("{\"ts\":2}\n{\"ts\":1}\n", false),
            ("{\"ts\":1,\"a\":{\"ts\":2}}\n", false),
            ("{\"a\":\"ts\"}\n", false),
            ("{\"\\u0074s\":2,\"a\":{\"ts\":3}}\n", false),
            ("{\"ts\":1e3}\n", false),
            ("{\"ts\":-5}\n", false),
            ("{\"ts\":1.5}\n{\"ts\":2.5}\n", true),
        ];
        for (text, expected) in cases {
            assert_eq!(scan(|| OrderScan::json("ts", true), text), expected, "{text:?}");
        }
    }
}
