//! Dates in a format of their own, as `strptime` has it.
//!
//! A number takes as many digits as its field has, at most; a blank stands for one blank or more. Names of months and days are
//! English, in any case. Nothing is tried twice: the text is read once, from its beginning.

use graphtide_expression::times::calendar::{Day, Moment, digits, fraction, of_day_of_year, offset, seconds};

/// A format, taken apart.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    text: Box<str>,
    items: Box<[Item]>,
    /// What days without a year come before.
    before: Option<Day>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Year,
    ShortYear,
    Month,
    MonthName,
    ShortMonthName,
    Day,
    DayOfYear,
    DayName,
    ShortDayName,
    Hour,
    HourOfHalf,
    Half,
    Minute,
    Second,
    Fraction,
    Offset,
    Utc,
    Blank,
    Byte(u8),
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Letters of a short name.
const SHORT: usize = 3;
/// Longest format, in bytes.
const LONGEST: usize = 256;

/// What was read so far.
#[derive(Default)]
struct Parts {
    year: u32,
    month: u32,
    day: u32,
    day_of_year: Option<u32>,
    hour: u32,
    /// Hours that the half of the day adds.
    half: u32,
    /// Whether the hour is one of twelve.
    is_of_half: bool,
    minute: u32,
    second: u32,
    nanoseconds: u32,
    offset: Option<i32>,
}

impl Pattern {
    /// Takes a format apart; says what is wrong with it. One without a year needs a day that its days come before.
    pub(super) fn new(text: &str, before: Option<Day>) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let mut items = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            match byte {
                b'%' => directive(rest.next(), &mut items)?,
                byte if byte.is_ascii_whitespace() => {
                    if items.last() != Some(&Item::Blank) {
                        items.push(Item::Blank);
                    }
                }
                byte => items.push(Item::Byte(byte)),
            }
        }
        let has = |wanted: &[Item]| items.iter().any(|item| wanted.contains(item));
        let has_month = has(&[Item::Month, Item::MonthName, Item::ShortMonthName]);
        match (has(&[Item::Year, Item::ShortYear]), before) {
            (false, None) => return Err("it has no year: %Y or %y".to_owned()),
            (true, Some(_)) => return Err("it has a year, and a day before it".to_owned()),
            _ => {}
        }
        match (has(&[Item::DayOfYear]), has_month, has(&[Item::Day])) {
            (true, false, false) | (false, true, true) => {}
            (true, ..) => return Err("it has a day of the year, %j, and a day of a month".to_owned()),
            (false, ..) => return Err("it has no day: %d and %m, or %j".to_owned()),
        }
        Ok(Self { text: text.into(), items: items.into(), before })
    }

    /// The format.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Reads a text; None if it is written otherwise.
    pub(super) fn read(&self, text: &str) -> Option<Moment> {
        let mut parts = Parts::default();
        let mut rest = text.as_bytes();
        for item in &self.items {
            rest = parts.take(*item, rest)?;
        }
        if rest.is_empty() { parts.moment(self.before) } else { None }
    }
}

fn directive(letter: Option<u8>, items: &mut Vec<Item>) -> Result<(), String> {
    let mut add = |several: &[Item]| items.extend_from_slice(several);
    match letter {
        Some(b'Y') => add(&[Item::Year]),
        Some(b'y') => add(&[Item::ShortYear]),
        Some(b'm') => add(&[Item::Month]),
        Some(b'B') => add(&[Item::MonthName]),
        Some(b'b' | b'h') => add(&[Item::ShortMonthName]),
        Some(b'd' | b'e') => add(&[Item::Day]),
        Some(b'j') => add(&[Item::DayOfYear]),
        Some(b'A') => add(&[Item::DayName]),
        Some(b'a') => add(&[Item::ShortDayName]),
        Some(b'H') => add(&[Item::Hour]),
        Some(b'I') => add(&[Item::HourOfHalf]),
        Some(b'p') => add(&[Item::Half]),
        Some(b'M') => add(&[Item::Minute]),
        Some(b'S') => add(&[Item::Second]),
        Some(b'f') => add(&[Item::Fraction]),
        Some(b'z') => add(&[Item::Offset]),
        Some(b'Z') => add(&[Item::Utc]),
        Some(b'%') => add(&[Item::Byte(b'%')]),
        Some(b'F') => add(&[Item::Year, Item::Byte(b'-'), Item::Month, Item::Byte(b'-'), Item::Day]),
        Some(b'D') => add(&[Item::Month, Item::Byte(b'/'), Item::Day, Item::Byte(b'/'), Item::ShortYear]),
        Some(b'T') => add(&[Item::Hour, Item::Byte(b':'), Item::Minute, Item::Byte(b':'), Item::Second]),
        Some(b'R') => add(&[Item::Hour, Item::Byte(b':'), Item::Minute]),
        Some(other) => {
            let other = char::from(other);
            return Err(format!(
                "there is no %{other}; known are %Y %y %m %b %B %d %j %a %A %H %I %p %M %S %f %z %Z %F %D %T %R %%"
            ));
        }
        None => return Err("it ends in %".to_owned()),
    }
    Ok(())
}

impl Parts {
    /// Takes what an item says from the beginning of a text; returns the rest, None if it is not there.
    #[inline]
    fn take<'t>(&mut self, item: Item, text: &'t [u8]) -> Option<&'t [u8]> {
        let rest;
        match item {
            Item::Year => (self.year, rest) = digits(text, 4)?,
            Item::ShortYear => {
                let (year, behind) = digits(text, 2)?;
                // As POSIX has it.
                self.year = if year < 69 { 2000 + year } else { 1900 + year };
                rest = behind;
            }
            Item::Month => (self.month, rest) = up_to(text, 2)?,
            Item::MonthName => (self.month, rest) = name(text, &MONTHS, usize::MAX)?,
            Item::ShortMonthName => (self.month, rest) = name(text, &MONTHS, SHORT)?,
            Item::Day => (self.day, rest) = padded(text)?,
            Item::DayOfYear => {
                let (day, behind) = up_to(text, 3)?;
                self.day_of_year = Some(day);
                rest = behind;
            }
            Item::DayName => (_, rest) = name(text, &DAYS, usize::MAX)?,
            Item::ShortDayName => (_, rest) = name(text, &DAYS, SHORT)?,
            Item::Hour => (self.hour, rest) = up_to(text, 2)?,
            Item::HourOfHalf => {
                (self.hour, rest) = up_to(text, 2).filter(|(hour, _)| (1..=12).contains(hour))?;
                self.hour %= 12;
                self.is_of_half = true;
            }
            Item::Half => {
                let halves = [without(text, b"am").map(|rest| (0, rest)), without(text, b"pm").map(|rest| (12, rest))];
                (self.half, rest) = halves.into_iter().flatten().next()?;
            }
            Item::Minute => (self.minute, rest) = up_to(text, 2)?,
            Item::Second => (self.second, rest) = up_to(text, 2)?,
            Item::Fraction => (self.nanoseconds, rest) = fraction(text)?,
            Item::Offset => {
                let (ahead, behind) = offset(text)?;
                self.offset = Some(ahead);
                rest = behind;
            }
            Item::Utc => {
                rest = ["UTC", "GMT", "Z"].iter().find_map(|word| without(text, word.as_bytes()))?;
                self.offset = Some(0);
            }
            Item::Blank => rest = Some(text.trim_ascii_start()).filter(|rest| rest.len() < text.len())?,
            Item::Byte(byte) => rest = without(text, &[byte])?,
        }
        Some(rest)
    }

    fn moment(&self, before: Option<Day>) -> Option<Moment> {
        let of_year = |year| match self.day_of_year {
            Some(day) => of_day_of_year(year, day),
            None => Some((self.month, self.day)),
        };
        let year = match before {
            Some(before) => before.year_of(of_year)?,
            None => self.year,
        };
        let (month, day) = of_year(year)?;
        // A clock of 24 hours needs no half of the day.
        let hour = if self.is_of_half { self.hour + self.half } else { self.hour };
        let seconds = seconds(year, month, day, (hour, self.minute, self.second))?;
        Some(Moment { seconds, nanoseconds: self.nanoseconds, offset: self.offset })
    }
}

/// The number of a month's short name at the beginning of a text, from 1, and what follows.
pub(super) fn short_month(text: &[u8]) -> Option<(u32, &[u8])> {
    name(text, &MONTHS, SHORT)
}

/// A text without its beginning, in any case of letters; None if it begins otherwise.
#[inline]
fn without<'t>(text: &'t [u8], beginning: &[u8]) -> Option<&'t [u8]> {
    let (begins, rest) = text.split_at_checked(beginning.len())?;
    begins.eq_ignore_ascii_case(beginning).then_some(rest)
}

/// A number of one digit up to `most`.
#[inline]
fn up_to(text: &[u8], most: usize) -> Option<(u32, &[u8])> {
    let count = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { None } else { digits(text, count) }
}

/// A number of two digits, of which the first may be a blank or missing.
#[inline]
fn padded(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [b' ', rest @ ..] => digits(rest, 1),
        text => up_to(text, 2),
    }
}

/// The number of a name, from 1; `letters` of it are written.
fn name<'t>(text: &'t [u8], names: &[&str], letters: usize) -> Option<(u32, &'t [u8])> {
    (1..).zip(names).find_map(|(number, name)| {
        let written = &name.as_bytes()[..letters.min(name.len())];
        without(text, written).map(|rest| (number, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_that_names_no_day_is_refused() {
        let refused = |text: &str| Pattern::new(text, None).map_or_else(|reason| reason, |_| String::new());
        assert_eq!(refused("%H:%M"), "it has no year: %Y or %y");
        assert_eq!(refused("%Y %b"), "it has no day: %d and %m, or %j");
        assert_eq!(refused("%Y %j %d"), "it has a day of the year, %j, and a day of a month");
        assert_eq!(refused("%Y%m%d %"), "it ends in %");
        assert!(refused("%Y-%m-%d %Q").starts_with("there is no %Q; known are %Y"));
        assert_eq!(refused("%F %T"), "");
    }
}
