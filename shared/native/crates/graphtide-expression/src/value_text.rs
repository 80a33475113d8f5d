//! Values as texts and texts as numbers, as expressions over records write and read them.
//!
//! A floating-point number has its shortest digits: plain from 10⁻⁵ up to below 10¹⁶ (`0.1`, `1000.0`), else with an exponent
//! (`1e16`, `1.5e-7`).

use bumpalo::Bump;
use bumpalo::collections::String;
use graphtide_graph::value::ValueRef;

/// Bytes of the longest number that is read.
const LONGEST_NUMBER: usize = 400;

/// A value as a text; None for what is missing or infinite. Numbers lie in the arena.
#[inline]
pub fn write_text<'a>(value: ValueRef<'a>, arena: &'a Bump) -> Option<&'a str> {
    Some(match value {
        ValueRef::Bool(true) => "true",
        ValueRef::Bool(false) => "false",
        ValueRef::Int(number) => arena.alloc_str(itoa::Buffer::new().format(number)),
        ValueRef::Float(number) if number.is_finite() => write_float(number, arena),
        ValueRef::Null | ValueRef::Float(_) => return None,
        ValueRef::Text(text) => text,
    })
}

fn write_float(number: f64, arena: &Bump) -> &str {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(number);
    match text.split_once('+') {
        None => arena.alloc_str(text),
        Some((digits, exponent)) => {
            let mut written = String::with_capacity_in(text.len(), arena);
            written.push_str(digits);
            written.push_str(exponent);
            written.into_bump_str()
        }
    }
}

/// The number that a text says in decimal digits; missing if it says none.
///
/// Digits alone are an integer, beyond 64 bits the nearest floating-point number; what is larger than any of those is none.
pub fn read_number<'a>(text: &str) -> ValueRef<'a> {
    let text = text.trim();
    let Some(is_integer) = number_form(text.as_bytes()) else { return ValueRef::Null };
    if is_integer && let Ok(number) = text.parse() {
        return ValueRef::Int(number);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => ValueRef::Float(number),
        _ => ValueRef::Null,
    }
}

/// Whether a number has digits alone; None for what is not a number.
fn number_form(text: &[u8]) -> Option<bool> {
    if text.len() > LONGEST_NUMBER {
        return None;
    }
    let unsigned = |text: &[u8]| -> usize { usize::from(matches!(text.first(), Some(b'+' | b'-'))) };
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = &text[unsigned(text)..];
    let whole = digits(text);
    let mut rest = &text[whole..];
    if rest.is_empty() {
        return (whole > 0).then_some(true);
    }
    if let Some(behind) = rest.strip_prefix(b".") {
        let places = digits(behind);
        if whole + places == 0 {
            return None;
        }
        rest = &behind[places..];
    } else if whole == 0 {
        return None;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = &exponent[unsigned(exponent)..];
        let count = digits(exponent);
        if count == 0 {
            return None;
        }
        rest = &exponent[count..];
    }
    rest.is_empty().then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_their_shortest_digits_and_read_back() {
        let arena = Bump::new();
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (-1234.5, "-1234.5"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e16"),
            (1.5e300, "1.5e300"),
            (0.00001, "0.00001"),
            (0.000_001_5, "1.5e-6"),
            (5e-324, "5e-324"),
        ];
        for (number, text) in cases {
            assert_eq!(write_text(ValueRef::Float(number), &arena), Some(text));
            assert_eq!(read_number(text), ValueRef::Float(number));
        }
        assert_eq!(write_text(ValueRef::Float(f64::INFINITY), &arena), None);
        assert_eq!(write_text(ValueRef::Int(i64::MIN), &arena), Some("-9223372036854775808"));
    }

    #[test]
    fn a_text_that_is_not_a_decimal_number_says_none() {
        let (long, longer) = (format!("{}1", "0".repeat(399)), format!("{}1", "0".repeat(400)));
        assert_eq!(read_number(&long), ValueRef::Int(1));
        for text in ["", ".", "+", "1e", "e5", "0x10", "inf", "NaN", "1_000", "1e999", "1 2", "--1", "\u{665}", &longer] {
            assert_eq!(read_number(text), ValueRef::Null, "{text}");
        }
        assert_eq!(read_number("\u{3000}+42\n"), ValueRef::Int(42));
        assert_eq!(read_number("-.5e1"), ValueRef::Float(-5.0));
        assert_eq!(read_number("9223372036854775808"), ValueRef::Float(9_223_372_036_854_775_808.0));
    }
}
