//! Integers of their decimal digits, eight at a time.

/// Digits of a number that surely fits.
const MOST: usize = 18;

/// Every byte of a word is one.
const ONES: u64 = u64::MAX / 255;

/// Eight bytes that are the digit zero.
const ZEROS: u64 = ONES * b'0' as u64;

/// Reads an integer, as the standard library does.
#[inline]
pub fn integer(text: &str) -> Option<i64> {
    match unsigned(text.as_bytes()) {
        Some(number) => Some(number.cast_signed()),
        None => text.parse().ok(),
    }
}

/// The number of up to 18 digits; None for anything else.
#[inline]
pub fn unsigned(text: &[u8]) -> Option<u64> {
    let length = text.len();
    if !(4..=16).contains(&length) {
        return one_by_one(text);
    }
    // Bytes in front of the digits are zeros, so that every number has eight digits or sixteen.
    let bits_of = |bytes: usize| 8 * bytes as u32;
    if length > 8
        && let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk())
    {
        let first = u64::from_le_bytes(*first) << bits_of(16 - length) | ZEROS.unbounded_shr(bits_of(length - 8));
        return Some(eight(first)? * 100_000_000 + eight(u64::from_le_bytes(*last))?);
    }
    let (first, last) = (u32::from_le_bytes(*text.first_chunk()?), u32::from_le_bytes(*text.last_chunk()?));
    eight(u64::from(first) << bits_of(8 - length) | u64::from(last) << 32 | ZEROS.unbounded_shr(bits_of(length)))
}

fn one_by_one(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > MOST {
        return None;
    }
    text.iter().try_fold(0, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + u64::from(digit))
    })
}

/// The number of eight digits, the first of them in the lowest byte; None if one is no digit.
#[inline]
fn eight(word: u64) -> Option<u64> {
    let digits = word.wrapping_sub(ONES * u64::from(b'0'));
    // A byte past nine has a bit of the upper half, or gets one by six more.
    if (digits | digits.wrapping_add(ONES * 6)) & (ONES * 0xf0) != 0 {
        return None;
    }
    // Neighbours become numbers of two digits, then of four, then of eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & (ONES / 257 * 0xff);
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_standard_library() {
        let numbers = ["0", "7", "00000000", "12345678", "1767225600000", "999999999999999999", "9999999999999999999"];
        let signed = numbers.iter().flat_map(|number| ["", "-", "+"].map(|sign| format!("{sign}{number}")));
        for number in signed.chain([String::new(), "-".to_owned(), "1 ".to_owned()]) {
            assert_eq!(integer(&number), number.parse().ok(), "{number:?}");
        }
    }

    #[test]
    fn a_byte_that_is_no_digit_is_seen_wherever_it_is() {
        for (length, place) in (1..=MOST).flat_map(|length| (0..length).map(move |place| (length, place))) {
            for byte in 0..=u8::MAX {
                let mut text = b"987654321098765432"[..length].to_vec();
                text[place] = byte;
                let expected =
                    std::str::from_utf8(&text).ok().filter(|_| byte.is_ascii_digit()).and_then(|text| text.parse().ok());
                assert_eq!(unsigned(&text), expected, "{text:?}");
            }
        }
    }
}
