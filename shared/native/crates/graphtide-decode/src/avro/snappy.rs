//! Blocks that are compressed by Snappy, as Avro has them: the sum of what is compressed stands behind it.

/// Unpacks a block into at most so many bytes; says why it cannot be.
pub(super) fn unpack(block: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    const DAMAGED: &str = "its Snappy data is damaged";
    let (packed, sum) = block.split_last_chunk::<4>().ok_or(DAMAGED)?;
    let mut rest = packed;
    let length = length(&mut rest).ok_or(DAMAGED)?;
    if length > most {
        return Err("it is unpacked to more than a block may have");
    }
    // What is announced is not trusted: memory grows as bytes come.
    let mut text = Vec::with_capacity(length.min(packed.len().saturating_mul(4)));
    while let [tag, behind @ ..] = rest {
        rest = element(*tag, behind, &mut text, length).ok_or(DAMAGED)?;
    }
    if text.len() == length && crc32(&text) == u32::from_be_bytes(*sum) { Ok(text) } else { Err(DAMAGED) }
}

/// Takes the length of what is unpacked.
fn length(bytes: &mut &[u8]) -> Option<usize> {
    let mut length = 0_u32;
    for (place, byte) in bytes.iter().enumerate().take(5) {
        length |= u32::from(byte & 0x7f).checked_shl(7 * u32::try_from(place).ok()?)?;
        if *byte < 0x80 {
            *bytes = &bytes[place + 1..];
            return usize::try_from(length).ok();
        }
    }
    None
}

/// Appends what an element is; returns what follows it.
fn element<'b>(tag: u8, rest: &'b [u8], text: &mut Vec<u8>, most: usize) -> Option<&'b [u8]> {
    let upper = usize::from(tag >> 2);
    let (length, from, rest) = match tag & 3 {
        0 => {
            let (length, rest) = match upper {
                60.. => {
                    let (bytes, rest) = rest.split_at_checked(upper - 59)?;
                    (little(bytes), rest)
                }
                _ => (upper, rest),
            };
            let (literal, rest) = rest.split_at_checked(length + 1)?;
            if text.len() + literal.len() > most {
                return None;
            }
            text.extend_from_slice(literal);
            return Some(rest);
        }
        1 => {
            let (low, rest) = rest.split_first()?;
            ((upper & 7) + 4, (upper >> 3) << 8 | usize::from(*low), rest)
        }
        kind => {
            let (bytes, rest) = rest.split_at_checked(if kind == 2 { 2 } else { 4 })?;
            (upper + 1, little(bytes), rest)
        }
    };
    let start = text.len().checked_sub(from).filter(|_| from > 0)?;
    if text.len() + length > most {
        return None;
    }
    // It may copy what it writes.
    for place in start..start + length {
        text.push(text[place]);
    }
    Some(rest)
}

fn little(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(u32::MAX, |sum, byte| TABLE[usize::from((sum as u8) ^ byte)] ^ (sum >> 8))
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut place = 0;
    while place < 256 {
        let mut sum = place as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 1 { 0xedb8_8320 ^ (sum >> 1) } else { sum >> 1 };
            bit += 1;
        }
        table[place] = sum;
        place += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_literals_are_unpacked_and_damage_is_found() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        // "ab", then twelve bytes from two back.
        let packed = [14, 1 << 2, b'a', b'b', 11 << 2 | 2, 2, 0];
        let text = b"ababababababab";
        let sum = crc32(text).to_be_bytes();
        let block = [&packed[..], &sum].concat();
        assert_eq!(unpack(&block, 14), Ok(text.to_vec()));
        assert!(unpack(&block, 13).is_err());
        for place in 0..block.len() {
            let mut damaged = block.clone();
            damaged[place] ^= 0x41;
            assert!(unpack(&damaged, 1 << 20).is_err(), "byte {place}");
        }
    }
}
