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
    // Zeros are shifted in front of the digits, so that every number has eight or sixteen. The first word and the last one overlap.
    let bits_of = |bytes: usize| 8 * bytes as u32;
    if length > 8
        && let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk())
    {
        let [first, last] = [digits(u64::from_le_bytes(*first))?, digits(u64::from_le_bytes(*last))?];
        return Some(number(first << bits_of(16 - length)) * 100_000_000 + number(last));
    }
    let [first, last] = [text.first_chunk()?, text.last_chunk()?].map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
    let all = digits(first | last << 32)?;
    Some(number((all & u64::from(u32::MAX)) << bits_of(8 - length) | all >> 32 << 32))
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

/// The values of eight digits; None if one is no digit.
#[inline]
fn digits(word: u64) -> Option<u64> {
    let digits = word.wrapping_sub(ZEROS);
    // A byte past nine has a bit of the upper half, or gets one by six more.
    ((digits | digits.wrapping_add(ONES * 6)) & (ONES * 0xf0) == 0).then_some(digits)
}

/// The number of eight digits, the first of them in the lowest byte.
#[inline]
fn number(digits: u64) -> u64 {
    // Neighbours become numbers of two digits, then of four, then of eight.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & (ONES / 257 * 0xff);
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
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
