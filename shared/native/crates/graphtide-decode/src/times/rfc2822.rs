//! Dates and times of RFC 2822: `Wed, 31 Jan 2024 12:00:00 +0100`.
//!
//! The day of the week and the seconds may be missing; a zone is an offset, or one of `GMT`, `UT`, `UTC` and `Z`.

use graphtide_expression::times::calendar::{Moment, digits, offset, seconds};

const DAYS: [&[u8]; 7] = [b"Mon, ", b"Tue, ", b"Wed, ", b"Thu, ", b"Fri, ", b"Sat, ", b"Sun, "];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const ZONES: [&[u8]; 4] = [b"GMT", b"UT", b"UTC", b"Z"];

/// Reads a text; None if it is written otherwise.
pub(crate) fn read(text: &str) -> Option<Moment> {
    let text = text.as_bytes();
    let text = DAYS.iter().find_map(|day| text.strip_prefix(*day)).unwrap_or(text);
    let (day, rest) = digits(text, 2).or_else(|| digits(text, 1))?;
    let (month, rest) = rest.strip_prefix(b" ")?.split_at_checked(3)?;
    let is_name = month[0].is_ascii_uppercase() && month[1..].iter().all(u8::is_ascii_lowercase);
    let month = (1..).zip(MONTHS).find_map(|(number, name)| (is_name && name.as_bytes() == month).then_some(number))?;
    let (year, rest) = digits(rest.strip_prefix(b" ")?, 4)?;
    let (hour, rest) = digits(rest.strip_prefix(b" ")?, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (second, rest) = match rest.strip_prefix(b":") {
        Some(rest) => digits(rest, 2)?,
        None => (0, rest),
    };
    let zone = rest.strip_prefix(b" ")?;
    let ahead = match zone {
        zone if ZONES.contains(&zone) => 0,
        [b'+' | b'-', digits @ ..] if digits.len() == 4 && digits.iter().all(u8::is_ascii_digit) => offset(zone)?.0,
        _ => return None,
    };
    let seconds = seconds(year, month, day, (hour, minute, second))?;
    Some(Moment { seconds, nanoseconds: 0, offset: Some(ahead) })
}
