//! The decoder of a format that a statement alone reads: it says how bytes become records, the rest is the same for all of them.

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::symbol::SharedSymbols;
use memchr::memchr_iter;

use super::reading::Statement;
use crate::decoder::{Decoder, Options};
use crate::error::{DecodeError, RowError};
use crate::writer::{Target, Writer};

/// Where records go, while nothing is written to it: then others may look up labels.
pub(crate) struct Sink<'s, B> {
    by: &'s mut B,
    writer: &'s mut Writer,
    symbols: SharedSymbols,
    batch: &'s mut EdgeBatch,
    dead: &'s mut Vec<DeadLetter>,
}

/// Where records go while they are written: what reads them, what numbers and writes them, and to what.
pub(crate) struct Output<'o, 't, B> {
    pub(crate) by: &'o mut B,
    pub(crate) writer: &'o mut Writer,
    pub(crate) target: &'o mut Target<'t>,
}

impl<B> Sink<'_, B> {
    /// Lets records be written. What asks others, who may wait for labels themselves, comes before.
    pub(crate) fn write<R>(&mut self, write: impl FnOnce(&mut Output<'_, '_, B>) -> R) -> R {
        let Self { by, writer, symbols, batch, dead } = self;
        write(&mut Output { by, writer, target: &mut Target { symbols: &mut symbols.lock(), batch, dead } })
    }
}

impl<B> Output<'_, '_, B> {
    /// Rejects a record.
    pub(crate) fn reject(&mut self, line: u64, error: &RowError, bytes: &[u8]) {
        self.writer.reject(self.target, line, error, bytes);
    }
}

/// How the bytes of a format become records of a statement.
pub(crate) trait Records {
    /// What reads a record: the statement, or one over fields.
    type By: AsRef<Statement>;

    /// Takes a block, and writes what it makes whole.
    fn feed(&mut self, block: &[u8], sink: &mut Sink<'_, Self::By>) -> Result<(), DecodeError>;

    /// Writes what the end of the stream, or of a piece of it, makes whole.
    fn finish(&mut self, sink: &mut Sink<'_, Self::By>) -> Result<(), DecodeError>;

    /// Begins the next piece, whose first record has this ordinal; see [`Decoder::begin_piece`].
    fn begin_piece(&mut self, line: u64, ordinal: u64);

    /// How many lines a piece has; the next record would have this ordinal. See [`Decoder::lines`].
    fn lines(&self, piece: &[u8], _ordinal: u64) -> u64 {
        memchr_iter(b'\n', piece).count() as u64
    }

    /// Names of the columns; see [`Decoder::columns`].
    fn columns(&self) -> Option<&[String]> {
        None
    }
}

/// The decoder of such records.
#[derive(Debug)]
pub(crate) struct ByStatement<R: Records> {
    records: R,
    by: R::By,
    writer: Writer,
}

impl<R: Records> ByStatement<R> {
    /// Makes the decoder of records, with what reads them.
    pub(crate) fn new((records, by): (R, R::By), options: &Options, symbols: &SharedSymbols) -> Self {
        Self { records, by, writer: Writer::new(symbols.clone(), options.keep_raw, options.substitutes) }
    }
}

impl<R: Records> Decoder for ByStatement<R> {
    fn feed(&mut self, block: &[u8], batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let Self { records, by, writer } = self;
        let symbols = writer.symbols.clone();
        records.feed(block, &mut Sink { by, writer, symbols, batch, dead })
    }

    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let Self { records, by, writer } = self;
        let symbols = writer.symbols.clone();
        records.finish(&mut Sink { by, writer, symbols, batch, dead })
    }

    fn begin_piece(&mut self, line: u64) {
        self.records.begin_piece(line, self.writer.ordinal());
    }

    fn lines(&self, piece: &[u8]) -> u64 {
        self.records.lines(piece, self.writer.ordinal())
    }

    fn columns(&self) -> Option<&[String]> {
        self.records.columns()
    }

    fn has_ids(&self) -> bool {
        self.by.as_ref().has_ids()
    }

    fn has_operations(&self) -> bool {
        self.by.as_ref().has_operations()
    }

    fn has_zoneless_times(&self) -> bool {
        self.by.as_ref().had_zoneless()
    }

    fn discovered(&self) -> &[String] {
        self.by.as_ref().others()
    }

    fn filtered(&self) -> u64 {
        self.by.as_ref().filtered()
    }

    fn ordinal(&self) -> u64 {
        self.writer.ordinal()
    }

    fn accept_until(&mut self, latest: Time) {
        self.writer.accept_until(latest);
    }

    fn start_at(&mut self, ordinal: u64) {
        self.writer.start_at(ordinal);
    }
}
