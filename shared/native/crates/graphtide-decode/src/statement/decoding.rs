//! The decoder of a format that a statement alone reads: it says how bytes become records, the rest is the same for all of them.

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::symbol::SharedSymbols;
use memchr::memchr_iter;

use super::reading::Statement;
use crate::decoder::Decoder;
use crate::error::DecodeError;
use crate::writer::{Target, Writer};

/// Where records go, while nothing is written to it: then others may look up labels.
pub(crate) struct Sink<'t> {
    symbols: SharedSymbols,
    batch: &'t mut EdgeBatch,
    dead: &'t mut Vec<DeadLetter>,
}

impl Sink<'_> {
    /// Lets records be written. What asks others, who may wait for labels themselves, comes before.
    pub(crate) fn write<R>(&mut self, write: impl FnOnce(&mut Target<'_>) -> R) -> R {
        let Self { symbols, batch, dead } = self;
        write(&mut Target { symbols: &mut symbols.lock(), batch, dead })
    }
}

/// How the bytes of a format become records of a statement.
pub(crate) trait Records {
    /// Takes a block, and writes what it makes whole.
    fn feed(&mut self, block: &[u8], sink: &mut Sink<'_>) -> Result<(), DecodeError>;

    /// Writes what the end of the stream, or of a piece of it, makes whole.
    fn finish(&mut self, sink: &mut Sink<'_>) -> Result<(), DecodeError>;

    /// Begins the next piece; see [`Decoder::begin_piece`].
    fn begin_piece(&mut self, line: u64);

    /// How many lines a piece has; see [`Decoder::lines`].
    fn lines(&self, piece: &[u8]) -> u64 {
        memchr_iter(b'\n', piece).count() as u64
    }

    /// Names of the columns; see [`Decoder::columns`].
    fn columns(&self) -> Option<&[String]> {
        None
    }

    /// The statement that reads them.
    fn statement(&self) -> &Statement;

    /// What numbers and writes them.
    fn writer(&self) -> &Writer;

    /// The same, to change it.
    fn writer_mut(&mut self) -> &mut Writer;
}

/// The decoder of such records.
#[derive(Clone, Debug)]
pub(crate) struct ByStatement<R>(pub(crate) R);

impl<R: Records> Decoder for ByStatement<R> {
    fn feed(&mut self, block: &[u8], batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let symbols = self.0.writer().symbols.clone();
        self.0.feed(block, &mut Sink { symbols, batch, dead })
    }

    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        let symbols = self.0.writer().symbols.clone();
        self.0.finish(&mut Sink { symbols, batch, dead })
    }

    fn begin_piece(&mut self, line: u64) {
        self.0.begin_piece(line);
    }

    fn lines(&self, piece: &[u8]) -> u64 {
        self.0.lines(piece)
    }

    fn columns(&self) -> Option<&[String]> {
        self.0.columns()
    }

    fn has_ids(&self) -> bool {
        self.0.statement().has_ids()
    }

    fn has_operations(&self) -> bool {
        self.0.statement().has_operations()
    }

    fn has_zoneless_times(&self) -> bool {
        self.0.statement().had_zoneless()
    }

    fn discovered(&self) -> &[String] {
        self.0.statement().others()
    }

    fn filtered(&self) -> u64 {
        self.0.statement().filtered()
    }

    fn ordinal(&self) -> u64 {
        self.0.writer().ordinal()
    }

    fn accept_until(&mut self, latest: Time) {
        self.0.writer_mut().accept_until(latest);
    }

    fn start_at(&mut self, ordinal: u64) {
        self.0.writer_mut().start_at(ordinal);
    }
}
