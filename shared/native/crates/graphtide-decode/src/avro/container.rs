//! The blocks of an Avro file: a header with its schema, then blocks of records, each with a mark behind it.

use super::values::{long, prefixed};
use super::{schema, snappy};
use crate::error::DecodeError;
use crate::surroundings::{Surroundings, Ungiven};

const FORMAT: &str = "an Avro file";
const MAGIC: &[u8] = b"Obj\x01";
const MARK: usize = 16;
/// Bytes of a header; the schema is a part of it.
const LONGEST_HEADER: usize = 2 * schema::LONGEST;
/// Bytes of a block as it is written, and as it is unpacked.
const LONGEST_BLOCK: usize = 64 << 20;
/// Bytes of the two numbers before a block.
const LONGEST_COUNTS: usize = 20;

/// A file that is read.
#[derive(Debug, Default)]
pub(super) struct Container {
    buffer: Vec<u8>,
    start: usize,
    /// Bytes of the file before those of the buffer.
    passed: u64,
    header: Option<Header>,
}

#[derive(Clone, Debug)]
struct Header {
    schema: Vec<u8>,
    codec: String,
    mark: [u8; MARK],
}

/// A block, unpacked.
#[derive(Debug)]
pub(super) struct Block<'c> {
    /// The byte of the file that it begins at.
    pub(super) place: u64,
    pub(super) schema: &'c [u8],
    pub(super) records: u64,
    pub(super) bytes: Vec<u8>,
}

impl Container {
    /// Takes bytes; call [`next`](Self::next) until it has no more.
    pub(super) fn feed(&mut self, block: &[u8]) {
        self.buffer.drain(..self.start);
        self.passed += self.start as u64;
        self.start = 0;
        self.buffer.extend_from_slice(block);
    }

    /// The next block that is whole.
    pub(super) fn next(&mut self, surroundings: &Surroundings) -> Result<Option<Block<'_>>, DecodeError> {
        if self.header.is_none() && !self.begin()? {
            return Ok(None);
        }
        let place = self.passed + self.start as u64;
        let Some(Header { schema, codec, mark }) = &self.header else { return Ok(None) };
        let rest = &self.buffer[self.start..];
        let mut behind = rest;
        let counts = long(&mut behind).and_then(|records| Ok((records, long(&mut behind)?)));
        let (records, size) = match counts {
            Ok(counts) => counts,
            Err(_) if rest.len() < LONGEST_COUNTS => return Ok(None),
            Err(flaw) => return Err(not_avro(format!("at byte {place} is no block: {flaw}"))),
        };
        let sizes = (u64::try_from(records), usize::try_from(size));
        let (Ok(records), Ok(size)) = sizes else {
            return Err(not_avro(format!("at byte {place} is no block: its counts are negative")));
        };
        if size > LONGEST_BLOCK {
            return Err(not_avro(format!("the block at byte {place} has {size} bytes; at most {LONGEST_BLOCK} are allowed")));
        }
        let Some((packed, found)) =
            behind.split_at_checked(size).and_then(|(packed, rest)| Some((packed, rest.first_chunk()?)))
        else {
            return Ok(None);
        };
        if found != mark {
            return Err(not_avro(format!("the block at byte {place} is damaged: its mark is not that of the file")));
        }
        let unpacked = unpack(codec, packed, surroundings)?;
        let bytes = unpacked.map_err(|reason| not_avro(format!("the block at byte {place}: {reason}")))?;
        if records > bytes.len() as u64 {
            return Err(not_avro(format!("the block at byte {place} says that it has more records than bytes")));
        }
        self.start += rest.len() - behind.len() + size + MARK;
        Ok(Some(Block { place, schema, records, bytes }))
    }

    /// Refuses a file that breaks off.
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        if self.header.is_some() && self.start == self.buffer.len() {
            Ok(())
        } else {
            Err(not_avro("it breaks off".to_owned()))
        }
    }

    /// Reads the header; false while there are too few bytes.
    fn begin(&mut self) -> Result<bool, DecodeError> {
        let known = self.buffer.len().min(MAGIC.len());
        if self.buffer[..known] != MAGIC[..known] {
            return Err(not_avro("it does not begin as one".to_owned()));
        }
        match read_header(&self.buffer) {
            Some(Ok((header, length))) => {
                self.start = length;
                self.header = Some(header);
                Ok(true)
            }
            Some(Err(reason)) => Err(not_avro(reason)),
            None if self.buffer.len() > LONGEST_HEADER => {
                Err(not_avro(format!("its header is longer than {LONGEST_HEADER} bytes")))
            }
            None => Ok(false),
        }
    }
}

/// Reads a header and its length; None while it breaks off.
fn read_header(bytes: &[u8]) -> Option<Result<(Header, usize), String>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let (mut schema, mut codec) = (None, "null".to_owned());
    loop {
        let count = long(&mut rest).ok()?;
        if count == 0 {
            break;
        }
        if count < 0 {
            long(&mut rest).ok()?;
        }
        for _ in 0..count.unsigned_abs() {
            let (key, value) = (prefixed(&mut rest).ok()?, prefixed(&mut rest).ok()?);
            match key {
                b"avro.schema" => schema = Some(value.to_vec()),
                b"avro.codec" => String::from_utf8_lossy(value).as_ref().clone_into(&mut codec),
                _ => {}
            }
        }
    }
    let (mark, rest) = rest.split_first_chunk()?;
    let length = bytes.len() - rest.len();
    let Some(schema) = schema else { return Some(Err("its header has no schema".to_owned())) };
    Some(Ok((Header { schema, codec, mark: *mark }, length)))
}

/// Unpacks a block; says why it cannot be.
fn unpack(codec: &str, packed: &[u8], surroundings: &Surroundings) -> Result<Result<Vec<u8>, String>, DecodeError> {
    match (codec, &surroundings.unpack) {
        ("null", _) => Ok(Ok(packed.to_vec())),
        ("snappy", _) => Ok(snappy::unpack(packed, LONGEST_BLOCK).map_err(str::to_owned)),
        ("deflate" | "zstandard" | "bzip2" | "xz", Some(unpack)) => match unpack(codec, packed, LONGEST_BLOCK) {
            Ok(bytes) => Ok(Ok(bytes)),
            Err(Ungiven::Never(reason)) => Ok(Err(reason)),
            Err(Ungiven::Now(reason)) => Err(DecodeError::Unavailable { reason }),
        },
        (other, _) => Ok(Err(format!("its codec {:?} is not known", crate::error::shorten(other)))),
    }
}

pub(super) fn not_avro(reason: String) -> DecodeError {
    DecodeError::NotThisFormat { format: FORMAT, reason }
}
