//! Times of syslog: `Oct 11 22:14:15`, with a year behind the day or without one and with decimals or not. Or ISO 8601, which
//! begins with a digit.

use graphtide_expression::times::calendar::{Day, Flaw, Moment, digits, fraction, seconds};
use graphtide_expression::times::iso;

use super::pattern::short_month;

/// Reads a text; one without a year is of the last in which its day comes before the given one.
pub(crate) fn read(text: &str, before: Option<Day>) -> Result<Moment, Flaw> {
    if text.as_bytes().first().is_none_or(u8::is_ascii_digit) {
        return iso::read(text).ok_or(Flaw::Form);
    }
    let (month, day, stated, clock, nanoseconds) = parts(text.as_bytes()).ok_or(Flaw::Form)?;
    let year = match stated {
        Some(year) => year,
        None => before.ok_or(Flaw::Year)?.year_of(|_| Some((month, day))).ok_or(Flaw::Form)?,
    };
    let seconds = seconds(year, month, day, clock).ok_or(Flaw::Form)?;
    Ok(Moment { seconds, nanoseconds, offset: None })
}

/// Month, day, year, time of day and nanoseconds.
type Parts = (u32, u32, Option<u32>, (u32, u32, u32), u32);

fn parts(text: &[u8]) -> Option<Parts> {
    let (month, rest) = short_month(text)?;
    let rest = blanks(rest)?;
    let (day, rest) = digits(rest, 2).or_else(|| digits(rest, 1))?;
    let rest = blanks(rest)?;
    let (year, rest) = match digits(rest, 4) {
        Some((year, rest)) => (Some(year), blanks(rest)?),
        None => (None, rest),
    };
    let (hour, rest) = digits(rest, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let (second, rest) = digits(rest.strip_prefix(b":")?, 2)?;
    let nanoseconds = match rest {
        [] => 0,
        [b'.', places @ ..] => fraction(places).filter(|(_, rest)| rest.is_empty())?.0,
        _ => return None,
    };
    Some((month, day, year, (hour, minute, second), nanoseconds))
}

fn blanks(text: &[u8]) -> Option<&[u8]> {
    let count = text.iter().take_while(|byte| **byte == b' ').count();
    (count > 0).then(|| &text[count..])
}
