//! Values of binary formats as texts: bytes, UUIDs, decimals, dates and timestamps, as tables have them.

use std::fmt::Write;

use bumpalo::Bump;
use bumpalo::collections::String;

use crate::times::date_of_days;

const SECONDS: i64 = 86_400;
/// Bytes of a decimal of up to 38 digits.
const LONGEST_DECIMAL: usize = 16;
/// Bytes of `2024-01-31T12:00:00.000000000Z`.
const LONGEST_MOMENT: usize = 30;

/// Bytes as hexadecimal digits in lower case.
pub(crate) fn hex_text<'a>(bytes: &[u8], arena: &'a Bump) -> &'a str {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity_in(2 * bytes.len(), arena);
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text.into_bump_str()
}

/// The bytes that a text in base 64 stands for; None for another text.
pub(crate) fn read_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        match group.len() {
            4 => bytes.extend_from_slice(&bits.to_be_bytes()[1..]),
            3 => bytes.extend_from_slice(&(bits >> 2).to_be_bytes()[2..]),
            2 => bytes.push((bits >> 4) as u8),
            _ => return None,
        }
    }
    Some(bytes)
}

/// Sixteen bytes as a UUID.
pub(crate) fn uuid_text<'a>(bytes: &[u8], arena: &'a Bump) -> &'a str {
    let digits = hex_text(bytes, arena);
    let mut text = String::with_capacity_in(digits.len() + 4, arena);
    for (place, digit) in digits.chars().enumerate() {
        if matches!(place, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    text.into_bump_str()
}

/// The digits of a number, highest byte first and with its sign in the highest bit; None for more than 16 bytes.
pub(crate) fn decimal_text<'a>(bytes: &[u8], places: u8, arena: &'a Bump) -> Option<&'a str> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { 0xff } else { 0 };
    let extra = bytes.len().saturating_sub(LONGEST_DECIMAL);
    if bytes[..extra].iter().any(|byte| *byte != sign) || (extra > 0 && (bytes[extra] ^ sign) >= 0x80) {
        return None;
    }
    let mut all = [sign; LONGEST_DECIMAL];
    let kept = &bytes[extra..];
    all[LONGEST_DECIMAL - kept.len()..].copy_from_slice(kept);
    let number = i128::from_be_bytes(all);
    let mut text = String::with_capacity_in(48, arena);
    if number < 0 {
        text.push('-');
    }
    let (number, unit) = (number.unsigned_abs(), 10_u128.pow(u32::from(places)));
    write!(text, "{}", number / unit).ok()?;
    if places > 0 {
        write!(text, ".{:0width$}", number % unit, width = usize::from(places)).ok()?;
    }
    Some(text.into_bump_str())
}

/// The date of so many days since 1970; None past the years 1 to 9999.
pub(crate) fn date_text(days: i64, arena: &Bump) -> Option<&str> {
    let (year, month, day) = date_of_days(days)?;
    let mut text = String::with_capacity_in(LONGEST_MOMENT, arena);
    write!(text, "{year:04}-{month:02}-{day:02}").ok()?;
    Some(text.into_bump_str())
}

/// A time since 1970 in units of so many decimals of a second; None past the years 1 to 9999.
pub(crate) fn moment_text(units: i64, decimals: u8, is_utc: bool, arena: &Bump) -> Option<&str> {
    let per_second = 10_i64.pow(u32::from(decimals));
    second_text(units.div_euclid(per_second), units.rem_euclid(per_second), (decimals, is_utc), arena)
}

/// A time since 1970 in seconds, and in units of so many decimals of a second behind them; None past the years 1 to 9999.
pub(crate) fn second_text(seconds: i64, rest: i64, (decimals, is_utc): (u8, bool), arena: &Bump) -> Option<&str> {
    let (year, month, day) = date_of_days(seconds.div_euclid(SECONDS))?;
    let of_day = seconds.rem_euclid(SECONDS);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let mut text = String::with_capacity_in(LONGEST_MOMENT, arena);
    write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}").ok()?;
    if decimals > 0 {
        write!(text, ".{rest:0width$}", width = usize::from(decimals)).ok()?;
    }
    if is_utc {
        text.push('Z');
    }
    Some(text.into_bump_str())
}

/// A duration in seconds, with the decimals that it has.
pub(crate) fn duration_text(seconds: i64, nanoseconds: i32, arena: &Bump) -> Option<&str> {
    const NANOSECONDS: i128 = 1_000_000_000;
    let total = i128::from(seconds) * NANOSECONDS + i128::from(nanoseconds);
    let (whole, rest) = (total.abs() / NANOSECONDS, total.abs() % NANOSECONDS);
    let mut text = String::with_capacity_in(LONGEST_MOMENT, arena);
    write!(text, "{}{whole}", if total < 0 { "-" } else { "" }).ok()?;
    if rest > 0 {
        write!(text, ".{rest:09}").ok()?;
    }
    Some(text.into_bump_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_have_their_digits_and_their_point() {
        let arena = Bump::new();
        let cases: [(&[u8], u8, Option<&str>); 8] = [
            (&[], 0, Some("0")),
            (&[0x05], 2, Some("0.05")),
            (&[0xff], 2, Some("-0.01")),
            (&[0x00, 0xff], 0, Some("255")),
            (&[0x80], 0, Some("-128")),
            (&[0x00; 20], 38, Some("0.00000000000000000000000000000000000000")),
            (&[0xff; 40], 1, Some("-0.1")),
            (&[0x01; 17], 0, None),
        ];
        for (bytes, places, text) in cases {
            assert_eq!(decimal_text(bytes, places, &arena), text);
        }
        assert_eq!(decimal_text(&[&[0, 0x80][..], &[0; 15]].concat(), 0, &arena), None);
    }

    #[test]
    fn moments_have_the_decimals_of_their_unit() {
        let arena = Bump::new();
        assert_eq!(moment_text(-1, 3, true, &arena), Some("1969-12-31T23:59:59.999Z"));
        assert_eq!(moment_text(1, 9, false, &arena), Some("1970-01-01T00:00:00.000000001"));
        assert_eq!(moment_text(i64::MAX, 3, true, &arena), None);
        assert_eq!(date_text(-1, &arena), Some("1969-12-31"));
        assert_eq!(date_text(i64::MIN, &arena), None);
        assert_eq!(read_base64("Zm9vYg=="), Some(b"foob".to_vec()));
        assert_eq!(read_base64("Zm9vYmE="), Some(b"fooba".to_vec()));
        assert_eq!(read_base64("Zm9vY"), None);
        assert_eq!(duration_text(-1, -500_000_000, &arena), Some("-1.500000000"));
        assert_eq!(uuid_text(&[0xab; 16], &arena), "abababab-abab-abab-abab-abababababab");
    }
}
