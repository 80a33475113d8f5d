//! Integers of variable length, as Avro and Protobuf write them: seven bits a byte, the lowest first.

/// What is wrong with bytes: nothing behind them can be read.
pub(crate) type Flaw = &'static str;

pub(crate) const CUT: Flaw = "it breaks off";

/// Takes an integer of 64 bits at most.
#[inline]
pub(crate) fn varint(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    let mut number = 0_u64;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            if place == 9 && *byte > 1 {
                break;
            }
            *bytes = &bytes[place + 1..];
            return Ok(number);
        }
    }
    Err(if bytes.len() < 10 { CUT } else { "an integer is longer than 64 bits" })
}

/// Returns the signed integer that an unsigned one stands for: 0, -1, 1, -2, and so on.
#[inline]
pub(crate) fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}
