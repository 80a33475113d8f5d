//! Times as streams write them, to ticks: numbers with decimals, dates of ISO 8601, dates in a format of the stream's own.
//!
//! Exact: no number goes through floating point; what is finer than a tick is rounded down, as timestamps of tables are. Dates
//! are of the proleptic Gregorian calendar. A date without a zone of its own is of the stream's [`Zone`]. Cost: one pass over
//! each text.

mod pattern;
mod rfc2822;
mod syslog;

pub use graphtide_expression::times::Zone;
pub(crate) use graphtide_expression::times::calendar::{Day, Flaw};
pub(crate) use rfc2822::read as rfc2822;
pub(crate) use syslog::read as syslog;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphtide_expression::times::calendar::{self, Moment};
use graphtide_expression::times::iso;

use crate::column::Column;
use crate::error::{DecodeError, RowError, shorten};
use pattern::Pattern;

/// How a stream writes its times, and the ticks that they become.
#[derive(Clone, Debug)]
pub struct Times {
    form: Form,
    zone: Zone,
    /// How many ticks make a second; a power of ten.
    ticks_per_second: i64,
    /// Whether a time was of no zone of its own.
    zoneless: Arc<AtomicBool>,
}

#[derive(Clone, Debug)]
enum Form {
    /// A number in decimals; so many of its units make a second.
    Number { per_second: i64 },
    /// A date and time of ISO 8601.
    Iso,
    /// A date and time as a format of `strptime` has it.
    Pattern(Pattern),
}

/// Longest number, in digits and zeros that its exponent adds: more is past 64 bits in any unit.
const MOST_DIGITS: i64 = 40;

impl Times {
    /// Reads what a format is called: `s`, `ms`, `us` or `ns` for numbers in such units, `iso`, or a format with `%`.
    pub fn new(format: &str, ticks_per_second: i64, zone: Zone) -> Result<Self, DecodeError> {
        Self::before(format, ticks_per_second, zone, None)
    }

    /// The same of a format that has no year: days are the last before the given one.
    pub(crate) fn before(format: &str, ticks_per_second: i64, zone: Zone, before: Option<Day>) -> Result<Self, DecodeError> {
        if decimals(ticks_per_second).is_none() {
            return Err(DecodeError::TicksPerSecond { ticks: ticks_per_second });
        }
        let form = match format {
            "s" => Form::Number { per_second: 1 },
            "ms" => Form::Number { per_second: 1_000 },
            "us" => Form::Number { per_second: 1_000_000 },
            "ns" => Form::Number { per_second: 1_000_000_000 },
            "iso" => Form::Iso,
            format => Form::Pattern(
                Pattern::new(format, before).map_err(|reason| DecodeError::TimeFormat { format: format.to_owned(), reason })?,
            ),
        };
        Ok(Self { form, zone, ticks_per_second, zoneless: Arc::default() })
    }

    /// How many units of a number make a second; None where times are dates.
    pub(crate) fn units_per_second(&self) -> Option<i64> {
        if let Form::Number { per_second } = self.form { Some(per_second) } else { None }
    }

    /// Whether a date so far named no zone, and was one of the stream's.
    pub(crate) fn had_zoneless(&self) -> bool {
        self.zoneless.load(Ordering::Relaxed)
    }

    /// The zone of times that have none; None if it is UTC.
    pub(crate) fn zone(&self) -> Option<&Zone> {
        (!self.zone.is_utc()).then_some(&self.zone)
    }

    /// Reads a text.
    #[inline]
    pub(crate) fn read(&self, text: &str) -> Result<i64, RowError> {
        self.ticks_of(text).map_err(|flaw| self.refuse(text, flaw))
    }

    /// Reads a text; says why it is no time.
    #[inline]
    pub(crate) fn ticks_of(&self, text: &str) -> Result<i64, Flaw> {
        match &self.form {
            Form::Number { per_second } => number(text, *per_second, self.ticks_per_second),
            Form::Iso => iso::read(text).ok_or(Flaw::Form).and_then(|moment| self.ticks(&moment)),
            Form::Pattern(pattern) => pattern.read(text).ok_or(Flaw::Form).and_then(|moment| self.ticks(&moment)),
        }
    }

    /// The ticks of a moment.
    #[inline]
    pub(crate) fn ticks(&self, moment: &Moment) -> Result<i64, Flaw> {
        let offset = if let Some(offset) = moment.offset {
            i64::from(offset)
        } else {
            self.zoneless.store(true, Ordering::Relaxed);
            self.zone.offset(moment.seconds).ok_or(Flaw::Zone)?
        };
        let nanoseconds = i128::from(moment.seconds - offset) * NANOSECONDS + i128::from(moment.nanoseconds);
        let ticks = (nanoseconds * i128::from(self.ticks_per_second)).div_euclid(NANOSECONDS);
        i64::try_from(ticks).map_err(|_| Flaw::Range)
    }

    /// The ticks of a moment of a table: so many units since 1970 by the clocks of the zone.
    #[inline]
    pub(crate) fn of_clock(zone: &Zone, units: i64, per_second: i64, ticks_per_second: i64) -> Result<i64, RowError> {
        let column = Column::Ts.name();
        let text = || format!("{units}");
        let offset = zone.offset(units.div_euclid(per_second));
        let offset = offset.ok_or_else(|| RowError::ZoneUnknown { column, text: text() })?;
        let (ticks, per) = (i128::from(ticks_per_second), i128::from(per_second));
        let ticks = ((i128::from(units) - i128::from(offset) * per) * ticks).div_euclid(per);
        i64::try_from(ticks).map_err(|_| RowError::OutOfRange { column, text: text() })
    }

    /// Refuses a value that is neither a text nor a number.
    #[cold]
    pub(crate) fn not_time(&self, shown: &str) -> RowError {
        self.refuse(shown, Flaw::Form)
    }

    #[cold]
    fn refuse(&self, text: &str, flaw: Flaw) -> RowError {
        let (column, shown) = (Column::Ts.name(), shorten(text));
        match flaw {
            Flaw::Form if text.is_empty() => RowError::Empty { column },
            Flaw::Form | Flaw::Year => RowError::NotTime { column, text: shown, expected: self.expected() },
            Flaw::Range => RowError::OutOfRange { column, text: shown },
            Flaw::Zone => RowError::ZoneUnknown { column, text: shown },
        }
    }

    fn expected(&self) -> String {
        match &self.form {
            Form::Number { .. } => "a number".to_owned(),
            Form::Iso => "a date and time such as 2024-01-31T12:00:00Z".to_owned(),
            Form::Pattern(pattern) => format!("a time of the format {:?}", pattern.text()),
        }
    }
}

/// Year, month and day of so many days since 1970; None past the years 1 to 9999.
pub(crate) fn date_of_days(days: i64) -> Option<(i64, i64, i64)> {
    /// Of 0001-01-01, and of the first day after the year 9999.
    const KNOWN: std::ops::Range<i64> = -719_162..2_932_897;
    KNOWN.contains(&days).then(|| calendar::of_days(days))
}

const NANOSECONDS: i128 = 1_000_000_000;

/// How many zeros a power of ten up to 10⁹ has; None for other numbers.
fn decimals(power: i64) -> Option<i64> {
    (0..10).find(|zeros| 10_i64.pow(*zeros) == power).map(i64::from)
}

/// Refuses a text that is not a number of ticks, and says which format of times reads it, if one does.
#[cold]
pub(crate) fn not_ticks(text: &str) -> RowError {
    RowError::NotInteger { column: Column::Ts.name(), text: shorten(text), hint: hint(text) }
}

fn hint(text: &str) -> &'static str {
    let epoch = |(seconds, rest): (&str, &str)| {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        seconds.len() >= 9 && is_number(seconds) && is_number(rest)
    };
    if iso::read(text).is_some() {
        "; the time format iso reads it"
    } else if text.split_once('.').is_some_and(epoch) {
        "; the time format s reads such seconds"
    } else if is_date(text) {
        "; state the format of times, such as %d/%m/%Y %H:%M"
    } else {
        ""
    }
}

/// Whether a text looks like a date, or a time of day: groups of digits with two of the signs between them that those have.
fn is_date(text: &str) -> bool {
    let (mut groups, mut signs) = (0, 0);
    for part in text.split_inclusive(['/', '-', '.', ':']) {
        groups += usize::from(part.starts_with(|sign: char| sign.is_ascii_digit()));
        signs += usize::from(part.ends_with(['/', '-', '.', ':']));
    }
    groups >= 3 && signs >= 2
}

/// Sizes below which a number counts seconds, milliseconds and microseconds, if its size shows the unit, and how many of these
/// make a second.
const SIZES: [(i64, i64); 3] = [(100_000_000_000, 1), (100_000_000_000_000, 1_000), (100_000_000_000_000_000, 1_000_000)];

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// How many units make a second, by the size of a number of them.
#[inline]
pub(crate) fn unit_of(number: i64) -> i64 {
    let size = number.unsigned_abs();
    SIZES.iter().find(|(limit, _)| size < limit.unsigned_abs()).map_or(NANOSECONDS_PER_SECOND, |(_, per_second)| *per_second)
}

/// Ticks of a number in the unit that its size shows.
pub(crate) fn number_of_any_unit(text: &str, ticks_per_second: i64) -> Result<i64, Flaw> {
    // Without its sign it is rounded towards zero, as sizes are.
    let per_second = match number(text.strip_prefix(['-', '+']).unwrap_or(text), 1, 1) {
        Ok(size) => unit_of(size),
        Err(Flaw::Range) => NANOSECONDS_PER_SECOND,
        Err(flaw) => return Err(flaw),
    };
    number(text, per_second, ticks_per_second)
}

/// Ticks of an integer of units; so many make a second.
#[inline]
pub(crate) fn whole(number: i64, per_second: i64, ticks_per_second: i64) -> Result<i64, Flaw> {
    if per_second == ticks_per_second {
        return Ok(number);
    }
    let ticks = (i128::from(number) * i128::from(ticks_per_second)).div_euclid(i128::from(per_second));
    i64::try_from(ticks).map_err(|_| Flaw::Range)
}

/// Ticks of a number: its digits, cut where the unit of the stream ends.
#[inline]
pub(crate) fn number(text: &str, per_second: i64, ticks_per_second: i64) -> Result<i64, Flaw> {
    let bytes = text.as_bytes();
    let (is_negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let end = digits.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(digits.len());
    let exponent = if end < digits.len() { exponent(&digits[end + 1..])? } else { 0 };
    let point = digits[..end].iter().position(|byte| *byte == b'.').unwrap_or(end);
    let (whole, places) = (&digits[..point], digits.get(point + 1..end).unwrap_or_default());
    if whole.is_empty() && places.is_empty() {
        return Err(Flaw::Form);
    }
    let shift = decimals(ticks_per_second).unwrap_or(0) - decimals(per_second).unwrap_or(0) + exponent;
    // Digits that stand before the point once it is moved; zeros are added where there are too few.
    let kept = i64::try_from(whole.len()).map_err(|_| Flaw::Range)? + shift;
    let (mut ticks, mut has_rest, mut place) = (0_i128, false, 0_i64);
    for byte in whole.iter().chain(places) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(Flaw::Form);
        }
        if place < kept {
            if ticks > i128::from(i64::MAX) {
                return Err(Flaw::Range);
            }
            ticks = ticks * 10 + i128::from(digit);
        } else {
            has_rest |= digit != 0;
        }
        place += 1;
    }
    if ticks != 0 && kept - place > MOST_DIGITS {
        return Err(Flaw::Range);
    }
    while ticks != 0 && place < kept {
        if ticks > i128::from(i64::MAX) {
            return Err(Flaw::Range);
        }
        ticks *= 10;
        place += 1;
    }
    let ticks = if is_negative { -ticks - i128::from(has_rest) } else { ticks };
    i64::try_from(ticks).map_err(|_| Flaw::Range)
}

fn exponent(digits: &[u8]) -> Result<i64, Flaw> {
    const LONGEST: usize = 6;
    let text = std::str::from_utf8(digits).map_err(|_| Flaw::Form)?;
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    if number.is_empty() || number.len() > LONGEST || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Flaw::Form);
    }
    text.parse().map_err(|_| Flaw::Form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: &str, ticks_per_second: i64, text: &str) -> Result<i64, String> {
        let times = Times::new(format, ticks_per_second, Zone::utc()).map_err(|error| error.to_string())?;
        times.read(text).map_err(|error| error.to_string())
    }

    #[test]
    fn numbers_are_exact_and_rounded_down() {
        let cases = [
            ("s", 1_000_000, "1521911721.258458", 1_521_911_721_258_458),
            ("s", 1_000, "1521911721.258999", 1_521_911_721_258),
            ("s", 1_000, "-1.0001", -1_001),
            ("s", 1_000, "-1.0010", -1_001),
            ("ms", 1, "1999", 1),
            ("ms", 1, "-1", -1),
            ("us", 1_000_000_000, "1.5", 1_500),
            ("ns", 1_000_000_000, "9223372036854775807", i64::MAX),
            ("ns", 1_000_000_000, "-9223372036854775808", i64::MIN),
            ("s", 1_000_000_000, "1.521911721258458123e9", 1_521_911_721_258_458_123),
            ("s", 1_000, "15E-1", 1_500),
            ("s", 1, "1e-9999", 0),
            ("s", 1, "-1e-9999", -1),
            ("s", 1, "0e99999", 0),
            ("s", 1, ".5", 0),
            ("s", 1, "5.", 5),
            ("s", 1, "+00000000000000000000000000000000000000000000000000007", 7),
        ];
        for (format, ticks, text, expected) in cases {
            assert_eq!(read(format, ticks, text), Ok(expected), "{text} in {format} as {ticks}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_was_expected() {
        let cases = [
            ("s", "", "ts is empty"),
            ("s", ".", "ts \".\" is not a number"),
            ("s", "1.2.3", "ts \"1.2.3\" is not a number"),
            ("s", "1e", "ts \"1e\" is not a number"),
            ("s", "0x10", "ts \"0x10\" is not a number"),
            ("s", "1e30", "ts \"1e30\" does not fit in 64 bits"),
            ("s", "9223372036854775808", "ts \"9223372036854775808\" does not fit in 64 bits"),
            ("iso", "2024-02-30", "ts \"2024-02-30\" is not a date and time such as 2024-01-31T12:00:00Z"),
            ("%d/%m/%Y", "1/2", "ts \"1/2\" is not a time of the format \"%d/%m/%Y\""),
        ];
        for (format, text, reason) in cases {
            assert_eq!(read(format, 1_000, text), Err(reason.to_owned()));
        }
    }

    #[test]
    fn a_text_that_looks_like_a_time_is_said_to_be_one() {
        assert_eq!(hint("2024-01-31 12:00"), "; the time format iso reads it");
        assert_eq!(hint("1521911721.258458"), "; the time format s reads such seconds");
        assert_eq!(hint("1.50"), "");
        assert_eq!(hint("2024-01"), "");
        for text in ["01/05/2026 08:00", "5.1.2026", "08:00:07"] {
            assert_eq!(hint(text), "; state the format of times, such as %d/%m/%Y %H:%M");
        }
        for text in ["", "x", "-5", "a-b-c", "1e-5", "::1"] {
            assert_eq!(hint(text), "", "{text}");
        }
    }
}
