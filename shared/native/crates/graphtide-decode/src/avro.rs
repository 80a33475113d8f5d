//! Avro that a statement reads: object container files, and single messages in Confluent's form.
//!
//! The first byte of a stream, or of a piece of it, says which of the two it is. A file has its own schema. A message begins with
//! 0 and the number of its schema, which the statement states or a registry keeps; it ends where its piece does.
//!
//! A record is read by the schema that it was written by. What stands at a path in several branches of a union is read
//! whichever it is. A file that is damaged ends there; a message that is damaged is a bad record. Memory: a block of a file as it
//! is written and as it is unpacked, or a message; no length and no count is trusted. Cost: linear in the bytes.

mod container;
mod plan;
mod schema;
mod snappy;
mod values;
mod walk;

use crate::error::{DecodeError, RowError, StatementError};
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD};
use crate::statement::around::TreeAround;
use crate::statement::decoding::{Output, Records, Sink};
use crate::statement::paths::Step;
use crate::statement::reading::Statement;
use crate::statement::tree::PathTree;
use crate::surroundings::{SchemaOf, Surroundings, Ungiven};
use container::{Container, not_avro};
use plan::Plans;
use schema::Schema;
use values::Flaw;
use walk::Walk;

/// What begins a message in Confluent's form, and how many bytes it has with the number behind it.
const MESSAGE: u8 = 0;
const HEAD: usize = 5;

/// Records of Avro that a statement reads.
#[derive(Debug)]
pub(crate) struct AvroRecords {
    tree: PathTree,
    around: Box<[TreeAround]>,
    /// Where records are in what is written; empty where it is a record itself, or a list of them.
    path: Box<[Step]>,
    surroundings: Surroundings,
    schemas: Schemas,
    form: Form,
    /// The line of a piece, and the ordinal of its first record.
    begun: (u64, u64),
}

/// How a stream is written.
#[derive(Debug)]
enum Form {
    /// Not known yet.
    Unknown,
    File(Box<File>),
    Message(Vec<u8>),
    /// The rest of a message past the bound.
    LongMessage,
}

#[derive(Debug)]
struct File {
    container: Container,
    known: Option<Known>,
}

/// A schema and what is read of it.
#[derive(Debug)]
struct Known {
    schema: Schema,
    plans: Plans,
}

impl Known {
    fn read(text: &[u8]) -> Result<Self, String> {
        Ok(Self { schema: Schema::read(text)?, plans: Plans::default() })
    }
}

/// The schemas of messages.
#[derive(Debug)]
struct Schemas {
    /// Whether the statement states the one that all messages have.
    is_stated: bool,
    /// By their numbers; the one that is stated has 0.
    known: Vec<(u32, Known)>,
}

impl Schemas {
    /// So many are kept.
    const MOST: usize = 64;

    /// Returns the place of a schema, and lets it be known if it is not; a reason where there is none.
    fn find(&mut self, number: u32, schema_of: Option<&SchemaOf>) -> Result<Result<usize, String>, DecodeError> {
        let number = if self.is_stated { 0 } else { number };
        if let Some(place) = self.known.iter().position(|(known, _)| *known == number) {
            return Ok(Ok(place));
        }
        let Some(schema_of) = schema_of else {
            return Ok(Err(format!("its schema has the number {number}: state SCHEMA, or set a registry of schemas")));
        };
        match schema_of(number).map(|text| Known::read(&text)) {
            Ok(Ok(known)) => {
                if self.known.len() == Self::MOST {
                    self.known.remove(0);
                }
                self.known.push((number, known));
                Ok(Ok(self.known.len() - 1))
            }
            Ok(Err(reason)) => Ok(Err(format!("its schema has the number {number}: {reason}"))),
            Err(Ungiven::Never(reason)) => Ok(Err(reason)),
            Err(Ungiven::Now(reason)) => Err(DecodeError::Unavailable { reason }),
        }
    }
}

impl AvroRecords {
    /// Makes a reader; `stated` is the schema of messages, if the statement states it.
    pub(crate) fn new(
        statement: &Statement,
        (path, stated): (Option<Box<[Step]>>, Option<&str>),
        surroundings: Surroundings,
    ) -> Result<Self, DecodeError> {
        let stated = stated.map(|text| Known::read(text.as_bytes())).transpose().map_err(StatementError::new)?;
        Ok(Self {
            tree: PathTree::new(&statement.paths.of_level(0)),
            around: TreeAround::all(&statement.paths),
            path: path.unwrap_or_default(),
            surroundings,
            schemas: Schemas { is_stated: stated.is_some(), known: stated.into_iter().map(|known| (0, known)).collect() },
            form: Form::Unknown,
            begun: (1, 0),
        })
    }

    /// Reads what a file has so far.
    fn read_file(&mut self, file: &mut File, block: &[u8], sink: &mut Sink<'_, Statement>) -> Result<(), DecodeError> {
        let File { container, known } = file;
        let Self { tree, around, path, surroundings, begun, .. } = self;
        let begun = *begun;
        container.feed(block);
        while let Some(block) = container.next(surroundings)? {
            if known.is_none() {
                *known = Some(Known::read(block.schema).map_err(not_avro)?);
            }
            let Some(Known { schema, plans }) = known else { continue };
            let mut rest = &block.bytes[..];
            sink.write(|Output { by: statement, writer, target }| {
                for number in 1..=block.records {
                    let (whole, has_path) = (None, !path.is_empty());
                    let mut walk = Walk { statement, writer, target, tree, around, schema, plans, begun, whole, has_path };
                    walk.records(path, &mut rest).map_err(|flaw| {
                        not_avro(format!("record {number} of the block at byte {} cannot be read: {flaw}", block.place))
                    })?;
                }
                Ok::<(), DecodeError>(())
            })?;
            if !rest.is_empty() {
                return Err(not_avro(format!("the block at byte {} has bytes behind its records", block.place)));
            }
        }
        Ok(())
    }

    /// Reads a message.
    fn read_message(&mut self, message: &[u8], sink: &mut Sink<'_, Statement>) -> Result<(), DecodeError> {
        let Self { tree, around, path, surroundings, schemas, begun, .. } = self;
        let (begun, line) = (*begun, begun.0);
        let read = match message.split_first_chunk::<HEAD>() {
            None => Err("it breaks off".to_owned()),
            Some(([_, number @ ..], mut rest)) => {
                match schemas.find(u32::from_be_bytes(*number), surroundings.schema_of.as_ref())? {
                    Err(reason) => Err(reason),
                    Ok(place) => {
                        let Known { schema, plans } = &mut schemas.known[place].1;
                        let (whole, has_path) = (Some(message), !path.is_empty());
                        let read = sink.write(|Output { by: statement, writer, target }| {
                            Walk { statement, writer, target, tree, around, schema, plans, begun, whole, has_path }
                                .records(path, &mut rest)
                        });
                        read.and(if rest.is_empty() { Ok(()) } else { Err("bytes follow it") })
                            .map_err(|flaw: Flaw| flaw.to_owned())
                    }
                }
            }
        };
        if let Err(reason) = read {
            sink.write(|output| output.reject(line, &RowError::Avro { reason }, message));
        }
        Ok(())
    }
}

impl Records for AvroRecords {
    type By = Statement;

    fn feed(&mut self, block: &[u8], sink: &mut Sink<'_, Statement>) -> Result<(), DecodeError> {
        let Some(first) = block.first() else { return Ok(()) };
        if matches!(self.form, Form::Unknown) {
            self.form = if *first == MESSAGE {
                Form::Message(Vec::new())
            } else {
                Form::File(Box::new(File { container: Container::default(), known: None }))
            };
        }
        match std::mem::replace(&mut self.form, Form::LongMessage) {
            Form::File(mut file) => {
                let read = self.read_file(&mut file, block, sink);
                self.form = Form::File(file);
                return read;
            }
            Form::Message(mut message) => {
                message.extend_from_slice(block);
                if message.len() <= MAX_RECORD {
                    self.form = Form::Message(message);
                } else {
                    let error = RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD };
                    let head = &message[..KEPT_OF_LONG_RECORD];
                    sink.write(|output| output.reject(self.begun.0, &error, head));
                }
            }
            Form::Unknown | Form::LongMessage => {}
        }
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink<'_, Statement>) -> Result<(), DecodeError> {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => Err(not_avro("it is empty".to_owned())),
            Form::File(file) => file.container.finish(),
            Form::Message(message) => self.read_message(&message, sink),
            Form::LongMessage => Ok(()),
        }
    }

    fn begin_piece(&mut self, line: u64, ordinal: u64) {
        self.form = Form::Unknown;
        self.begun = (line, ordinal);
    }

    fn lines(&self, _: &[u8], ordinal: u64) -> u64 {
        (ordinal - self.begun.1).saturating_sub(1)
    }
}
