//! Lines that a regular expression takes apart: its named groups are the fields of a record that a statement reads.
//!
//! The expression is searched for in the line; a line without it is a bad record. A group that took no part, or took nothing, is
//! missing. Other fields are as in CSV: a value has the type that its text looks like, and ends, labels, ids and times are read
//! of the text. Cost: linear in the line, with the size of the expression as factor.

use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use graphtide_graph::symbol::SharedSymbols;
use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::util::primitives::PatternID;

use crate::csv::fields::Fields;
use crate::decoder::{Decoder, Options};
use crate::error::{DecodeError, RowError};
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD, Piece, Splitter};
use crate::statement::csv::{CsvStatement, Record};
use crate::statement::reading::Statement;
use crate::types::Projection;
use crate::writer::{Target, Writer};

/// Decoder of lines that a statement reads by a regular expression.
#[derive(Clone, Debug)]
pub(crate) struct LinesDecoder {
    splitter: Splitter,
    writer: Writer,
    statement: CsvStatement,
    regex: Regex,
    captures: Captures,
    /// Names of the groups that are fields, and their numbers.
    columns: Vec<String>,
    groups: Vec<usize>,
    /// Of each column that is read: where it is.
    places: Vec<Option<usize>>,
    read: Projection,
    fields: Fields,
}

impl LinesDecoder {
    /// Makes a decoder.
    pub(crate) fn new(options: &Options, symbols: &SharedSymbols, statement: Statement, regex: Regex) -> Self {
        let (statement, read) = CsvStatement::new(statement);
        let named = regex.group_info().pattern_names(PatternID::ZERO).enumerate();
        let (groups, columns): (Vec<usize>, Vec<String>) =
            named.filter_map(|(group, name)| Some((group, name?.to_owned()))).unzip();
        Self {
            splitter: Splitter::new(None).without_comments(&options.comment),
            writer: Writer::new(symbols.clone(), options.keep_raw, options.substitutes),
            statement,
            captures: regex.create_captures(),
            regex,
            places: read.iter().map(|name| columns.iter().position(|column| column == name)).collect(),
            read: Projection::new(read, Vec::new()),
            columns,
            groups,
            fields: Fields::default(),
        }
    }

    fn drain(&mut self, last: bool, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) {
        let Self { splitter, writer, statement, regex, captures, groups, places, read, fields, .. } = self;
        let symbols = writer.symbols.clone();
        let mut target = Target { symbols: &mut symbols.lock(), batch, dead };
        loop {
            let piece = if let Some(piece) = splitter.next() {
                piece
            } else if last && let Some(piece) = splitter.finish() {
                piece
            } else {
                break;
            };
            let (line, bytes, error) = match piece {
                Piece::Record { line, bytes, .. } => match std::str::from_utf8(bytes) {
                    Ok(text) => {
                        regex.captures(Input::new(text), captures);
                        if captures.is_match() {
                            let found = groups.iter().map(|group| captures.get_group(*group));
                            let fields =
                                fields.of_places(text, found.map(|span| span.map_or((0, 0), |span| (span.start, span.end))));
                            let (columns, nulls, has_decimal_comma) = (&*read, &[][..], false);
                            let record = Record { line, bytes, fields, places, columns, nulls, has_decimal_comma };
                            statement.take(writer, &mut target, record);
                            continue;
                        }
                        (line, bytes, RowError::NoMatch)
                    }
                    Err(error) => (line, bytes, RowError::NotUtf8 { offset: error.valid_up_to() }),
                },
                Piece::TooLong { line, head } => {
                    (line, head, RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD })
                }
                Piece::OpenQuote { line, bytes } => (line, bytes, RowError::OpenQuote),
            };
            writer.reject(&mut target, line, &error, bytes);
        }
    }
}

impl Decoder for LinesDecoder {
    fn feed(&mut self, block: &[u8], batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        self.splitter.feed(block);
        self.drain(false, batch, dead);
        Ok(())
    }

    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        self.drain(true, batch, dead);
        Ok(())
    }

    fn begin_piece(&mut self, line: u64) {
        self.splitter.restart(line);
        self.splitter.expect_mark();
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.columns)
    }

    fn has_ids(&self) -> bool {
        self.statement.statement.has_ids()
    }

    fn has_operations(&self) -> bool {
        self.statement.statement.has_operations()
    }

    fn has_zoneless_times(&self) -> bool {
        self.statement.statement.had_zoneless()
    }

    fn discovered(&self) -> &[String] {
        self.statement.statement.others()
    }

    fn filtered(&self) -> u64 {
        self.statement.statement.filtered()
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
