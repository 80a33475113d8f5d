//! Protobuf that a statement reads: files of messages that their lengths stand before, and single messages, plain or in
//! Confluent's form.
//!
//! A piece of a stream is one message. One that begins with 0 has the number of its schema and the place of its type behind it.
//! These are passed over, because the statement says what the type is. A file that is damaged ends there; a message that is
//! damaged is a bad record. Memory: a message of up to [`MAX_RECORD`]. Cost: linear in the bytes, for each message that a byte
//! stands in.

mod descriptor;
mod plan;
mod values;
mod wire;

use bumpalo::Bump;
use graphtide_graph::value::ValueRef;
use smallvec::SmallVec;

use crate::error::{DecodeError, RowError, StatementError};
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD};
use crate::statement::around::TreeAround;
use crate::statement::decoding::{Output, Records, Sink};
use crate::statement::paths::Step;
use crate::statement::reading::Statement;
use crate::statement::tree::PathTree;
use descriptor::{Descriptor, Field, Kind, Place};
use plan::Plans;
use values::{Reading, is_written_as};
use wire::{DEEP, DEEPEST, Flaw, Wire, field, varint, zigzag};

/// What begins a message in Confluent's form, and how many bytes it has with the number behind it.
const CONFLUENT: u8 = 0;
const HEAD: usize = 5;
/// Bytes of the length before a message.
const LONGEST_LENGTH: usize = 10;

/// Messages of Protobuf that a statement reads.
#[derive(Debug)]
pub(crate) struct ProtobufRecords {
    tree: PathTree,
    around: Box<[TreeAround]>,
    /// Where records are in a message; empty where it is a record itself.
    path: Box<[Step]>,
    descriptor: Descriptor,
    plans: Plans,
    is_piece: bool,
    line: u64,
    buffer: Vec<u8>,
    start: usize,
    passed: u64,
    is_too_long: bool,
}

impl ProtobufRecords {
    /// Makes a reader of a message by its name in a descriptor set.
    pub(crate) fn new(
        statement: &Statement,
        path: Option<Box<[Step]>>,
        (descriptor, message): (&[u8], &str),
    ) -> Result<Self, DecodeError> {
        let descriptor = Descriptor::read(descriptor, message).map_err(StatementError::new)?;
        let path = path.unwrap_or_default();
        descriptor.check(&path).map_err(StatementError::new)?;
        Ok(Self {
            tree: PathTree::new(&statement.paths.of_level(0)),
            around: TreeAround::all(&statement.paths),
            path,
            descriptor,
            plans: Plans::default(),
            is_piece: false,
            line: 1,
            buffer: Vec::new(),
            start: 0,
            passed: 0,
            is_too_long: false,
        })
    }

    /// Reads the messages of a file that are whole.
    fn read_file(&mut self, output: &mut Output<'_, '_, Statement>) -> Result<(), DecodeError> {
        loop {
            let rest = &self.buffer[self.start..];
            let place = self.passed + self.start as u64;
            let mut behind = rest;
            let length = match varint(&mut behind) {
                Ok(length) => length,
                Err(_) if rest.len() < LONGEST_LENGTH => return Ok(()),
                Err(flaw) => return Err(not_protobuf(format!("the length at byte {place}: {flaw}"))),
            };
            let Some(length) = usize::try_from(length).ok().filter(|length| *length <= MAX_RECORD) else {
                let reason = format!("the message at byte {place} has {length} bytes; at most {MAX_RECORD} are allowed");
                return Err(not_protobuf(reason));
            };
            if behind.len() < length {
                return Ok(());
            }
            let head = rest.len() - behind.len();
            let buffer = std::mem::take(&mut self.buffer);
            let message = &buffer[self.start + head..self.start + head + length];
            let read = self.read_message(message, message, output);
            self.buffer = buffer;
            self.start += head + length;
            read.map_err(|flaw| not_protobuf(format!("the message at byte {place}: {flaw}")))?;
        }
    }

    /// Reads the message of a piece.
    fn read_piece(&mut self, output: &mut Output<'_, '_, Statement>) {
        let whole = std::mem::take(&mut self.buffer);
        let message = if whole.first() == Some(&CONFLUENT) { without_head(&whole) } else { Ok(&whole[..]) };
        if let Err(flaw) = message.and_then(|message| self.read_message(message, &whole, output)) {
            let error = RowError::Protobuf { reason: flaw };
            output.reject(self.line, &error, &whole);
        }
        self.buffer = whole;
        self.buffer.clear();
    }

    /// Writes the records of a message; `whole` is what dead letters have.
    fn read_message(&mut self, message: &[u8], whole: &[u8], output: &mut Output<'_, '_, Statement>) -> Result<(), Flaw> {
        let path = std::mem::take(&mut self.path);
        let read = self.walk(self.descriptor.root, &path, (message, whole), output, 0);
        self.path = path;
        read
    }

    fn walk(
        &mut self,
        place: Place,
        steps: &[Step],
        (mut bytes, whole): (&[u8], &[u8]),
        output: &mut Output<'_, '_, Statement>,
        depth: usize,
    ) -> Result<(), Flaw> {
        if depth > DEEPEST {
            return Err(DEEP);
        }
        let [Step::Name(name), behind @ ..] = steps else { return self.record(place, bytes, whole, output) };
        self.read_around(output.by, place, steps, bytes, depth)?;
        let found = self.descriptor.fields(place).iter().find(|field| field.name == *name).cloned();
        let Some(Field { kind, number, is_repeated, oneof, .. }) = found else { return Ok(()) };
        let (Kind::Message(inner) | Kind::Group(inner)) = kind else { return Ok(()) };
        let (wanted, behind) = match behind {
            [Step::Position(wanted), rest @ ..] => (Some(*wanted), rest),
            behind => (None, behind),
        };
        let (mut count, mut parts) = (0_u32, SmallVec::<[&[u8]; 2]>::new());
        while !bytes.is_empty() {
            let (found, wire) = field(&mut bytes)?;
            match (found, wire) {
                (found, Wire::Bytes(inside) | Wire::Group(inside))
                    if found == number && is_repeated && is_written_as(&kind, is_repeated, wire) =>
                {
                    if wanted.is_none_or(|wanted| wanted == count) {
                        self.walk(inner, behind, (inside, whole), output, depth + 1)?;
                    }
                    count = count.saturating_add(1);
                }
                (found, Wire::Bytes(inside) | Wire::Group(inside))
                    if found == number && is_written_as(&kind, is_repeated, wire) =>
                {
                    parts.push(inside);
                }
                (found, wire) if oneof.is_some() && self.is_of(place, found, oneof, wire) => parts.clear(),
                _ => {}
            }
        }
        match &*parts {
            [] => Ok(()),
            [one] => self.walk(inner, behind, (one, whole), output, depth + 1),
            // Messages that follow one another are merged.
            several => self.walk(inner, behind, (&several.concat(), whole), output, depth + 1),
        }
    }

    /// Reads what is read of a message around records, from which these steps lead to them.
    fn read_around(
        &mut self,
        statement: &Statement,
        place: Place,
        steps: &[Step],
        message: &[u8],
        depth: usize,
    ) -> Result<(), Flaw> {
        let Self { around, plans, descriptor, .. } = self;
        let Some((level, around)) = TreeAround::find(around, steps) else { return Ok(()) };
        let plan = plans.of_object(level, place, descriptor, &around.tree);
        plans.records += 1;
        let Plans { plans, states, records, .. } = plans;
        let (arena, mut slots) = (Bump::new(), vec![ValueRef::Null; statement.paths.all().len()]);
        let (record, nulls) = (*records, &statement.nulls);
        let mut reading = Reading { plans, states, record, slots: &mut slots, arena: &arena, nulls, refused: None };
        reading.message(plan, message, depth)?;
        let is_read = reading.refused.is_none();
        around.values.keep(is_read.then_some(&slots));
        Ok(())
    }

    /// Whether a field that is written so is one of a choice.
    fn is_of(&self, place: Place, number: u32, oneof: Option<u32>, wire: Wire<'_>) -> bool {
        let mut fields = self.descriptor.fields(place).iter();
        fields
            .any(|field| field.number == number && field.oneof == oneof && is_written_as(&field.kind, field.is_repeated, wire))
    }

    /// Writes or rejects a record.
    fn record(
        &mut self,
        place: Place,
        message: &[u8],
        whole: &[u8],
        output: &mut Output<'_, '_, Statement>,
    ) -> Result<(), Flaw> {
        let Output { by: statement, writer, target } = output;
        let line = if self.is_piece { self.line } else { writer.ordinal() + 1 };
        let Self { plans, tree, around, descriptor, .. } = self;
        let around = &*around;
        let plan = plans.of_object(0, place, descriptor, tree);
        plans.records += 1;
        let Plans { plans, states, moments, records, .. } = plans;
        let is_moment = moments.iter().any(|slot| statement.is_time(*slot));
        statement.read_moments(is_moment);
        let mut flaw = None;
        let written = statement.write((writer, target), (line, whole), |slots, arena, nulls| {
            around.iter().try_for_each(|around| around.values.give(slots))?;
            let mut reading = Reading { plans, states, record: *records, slots, arena, nulls, refused: None };
            if let Err(found) = reading.message(plan, message, 0) {
                flaw = Some(found);
                return Err(RowError::NoFields.into());
            }
            reading.refused.map_or(Ok(()), |error| Err(error.into()))
        });
        match (flaw, written) {
            (Some(flaw), _) => Err(flaw),
            (None, Ok(())) => Ok(()),
            (None, Err(error)) => {
                writer.reject(target, line, &error, whole);
                Ok(())
            }
        }
    }
}

/// A message in Confluent's form without what stands before it.
fn without_head(whole: &[u8]) -> Result<&[u8], Flaw> {
    let mut rest = whole.get(HEAD..).ok_or("it breaks off")?;
    let count = zigzag(varint(&mut rest)?);
    for _ in 0..count {
        varint(&mut rest)?;
    }
    Ok(rest)
}

impl Records for ProtobufRecords {
    type By = Statement;

    fn feed(&mut self, block: &[u8], sink: &mut Sink<'_, Statement>) -> Result<(), DecodeError> {
        if self.is_too_long {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.passed += self.start as u64;
        self.start = 0;
        self.buffer.extend_from_slice(block);
        if !self.is_piece {
            return sink.write(|output| self.read_file(output));
        }
        if self.buffer.len() > MAX_RECORD {
            self.is_too_long = true;
            let error = RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD };
            sink.write(|output| output.reject(self.line, &error, &self.buffer[..KEPT_OF_LONG_RECORD]));
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink<'_, Statement>) -> Result<(), DecodeError> {
        if !self.is_piece {
            let is_whole = self.start == self.buffer.len();
            return if is_whole { Ok(()) } else { Err(not_protobuf("it breaks off within a message".to_owned())) };
        }
        if !self.is_too_long {
            sink.write(|output| self.read_piece(output));
        }
        Ok(())
    }

    fn begin_piece(&mut self, line: u64, _: u64) {
        self.buffer.clear();
        (self.is_piece, self.line, self.start, self.is_too_long) = (true, line, 0, false);
    }

    fn lines(&self, _: &[u8], _: u64) -> u64 {
        0
    }
}

fn not_protobuf(reason: String) -> DecodeError {
    DecodeError::NotThisFormat { format: "a file of Protobuf messages", reason }
}
