//! The wire format of Protobuf: fields with their numbers, one after another.

pub(crate) use crate::varint::Flaw;
pub(super) use crate::varint::{varint, zigzag};

use crate::varint::CUT;

/// How deep messages may stand in each other.
pub(super) const DEEPEST: usize = 100;
pub(super) const DEEP: Flaw = "its messages stand more than 100 deep in each other";

/// The value of a field as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire<'b> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'b [u8]),
    Fixed32(u32),
    /// What stands between the two ends of a group.
    Group(&'b [u8]),
}

/// Takes bytes that their length stands before.
#[inline]
pub(super) fn prefixed<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], Flaw> {
    let length = usize::try_from(varint(bytes)?).map_err(|_| CUT)?;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(CUT)?;
    *bytes = rest;
    Ok(taken)
}

/// Takes a field: its number and its value.
#[inline]
pub(super) fn field<'b>(bytes: &mut &'b [u8]) -> Result<(u32, Wire<'b>), Flaw> {
    let (number, kind) = tag(bytes)?;
    Ok((number, value(number, kind, bytes, 0)?))
}

fn tag(bytes: &mut &[u8]) -> Result<(u32, u8), Flaw> {
    let tag = varint(bytes)?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
    Ok((number.ok_or("a field has no number")?, (tag & 7) as u8))
}

fn value<'b>(number: u32, kind: u8, bytes: &mut &'b [u8], depth: usize) -> Result<Wire<'b>, Flaw> {
    match kind {
        0 => varint(bytes).map(Wire::Varint),
        1 => fixed(bytes).map(|found| Wire::Fixed64(u64::from_le_bytes(found))),
        2 => prefixed(bytes).map(Wire::Bytes),
        3 if depth < DEEPEST => {
            let begun = *bytes;
            loop {
                let length = begun.len() - bytes.len();
                match tag(bytes)? {
                    (closed, 4) if closed == number => return Ok(Wire::Group(&begun[..length])),
                    (_, 4) => return Err("a group ends that did not begin"),
                    (inner, kind) => drop(value(inner, kind, bytes, depth + 1)?),
                }
            }
        }
        3 => Err(DEEP),
        5 => fixed(bytes).map(|found| Wire::Fixed32(u32::from_le_bytes(found))),
        _ => Err("a field is written in a way that Protobuf does not have"),
    }
}

#[inline]
pub(super) fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Flaw> {
    let (taken, rest) = bytes.split_first_chunk::<N>().ok_or(CUT)?;
    *bytes = rest;
    Ok(*taken)
}
