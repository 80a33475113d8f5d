//! Dates and times of ISO 8601 and RFC 3339: `2024-01-31`, `2024-01-31T12:00:00.25Z`, `2024-01-31 12:00+02:00`.
//!
//! Between date and time is `T`, `t` or a blank, and seconds may be missing. A decimal point or comma is followed by any number
//! of digits.

use super::calendar::{Moment, digits, fraction, offset, seconds};

/// Reads a text; None if it is written otherwise.
#[inline]
pub fn read(text: &str) -> Option<Moment> {
    let (year, rest) = digits(text.as_bytes(), 4)?;
    let (month, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let (day, rest) = digits(rest.strip_prefix(b"-")?, 2)?;
    let Some((between, rest)) = rest.split_first() else {
        return Some(Moment { seconds: seconds(year, month, day, (0, 0, 0))?, nanoseconds: 0, offset: None });
    };
    if !matches!(between, b'T' | b't' | b' ') {
        return None;
    }
    let (hour, rest) = digits(rest, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (mut second, mut nanoseconds) = (0, 0);
    if let Some(behind) = rest.strip_prefix(b":") {
        (second, rest) = digits(behind, 2)?;
        if let [b'.' | b',', behind @ ..] = rest {
            (nanoseconds, rest) = fraction(behind)?;
        }
    }
    let seconds = seconds(year, month, day, (hour, minute, second))?;
    if rest.is_empty() {
        return Some(Moment { seconds, nanoseconds, offset: None });
    }
    let (offset, rest) = offset(rest)?;
    rest.is_empty().then_some(Moment { seconds, nanoseconds, offset: Some(offset) })
}
