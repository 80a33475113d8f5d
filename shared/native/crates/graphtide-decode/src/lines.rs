//! Lines that a pattern takes apart: what it finds are the fields of a record that a statement reads.
//!
//! A line that the pattern does not take is a bad record. Other fields are as in CSV: a value has the type that its text looks
//! like. Ends, labels, ids and times are read of the text. Cost: one pass of the pattern over each line.

use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::util::primitives::PatternID;

use crate::csv::fields::{Fields, FieldsOf};
use crate::decoder::Options;
use crate::error::{DecodeError, RowError};
use crate::splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD, Piece, Splitter};
use crate::statement::csv::{CsvStatement, Record};
use crate::statement::decoding::{Output, Records, Sink};
use crate::statement::reading::Statement;
use crate::types::Projection;

/// Takes lines apart.
pub(crate) trait LinePattern {
    /// The fields of a line.
    fn fields<'a>(&'a mut self, line: &'a str) -> Result<FieldsOf<'a>, RowError>;

    /// The names of all fields that a line may have, if there is such a list.
    fn columns(&self) -> Option<&[String]>;
}

/// Lines that a statement reads by a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Lines<P> {
    splitter: Splitter,
    pattern: P,
    /// Of each field that is read: where it is among those of a line.
    places: Vec<Option<usize>>,
    read: Projection,
}

impl<P: LinePattern> Lines<P> {
    /// Makes a reader of lines; `names` are those of the fields that the statement reads.
    pub(crate) fn new(options: &Options, names: Vec<String>, (pattern, places): (P, Vec<Option<usize>>)) -> Self {
        Self {
            splitter: Splitter::new(None).without_comments(&options.comment),
            pattern,
            places,
            read: Projection::new(names, Vec::new()),
        }
    }

    fn drain(&mut self, last: bool, output: &mut Output<'_, '_, CsvStatement>) {
        let Self { splitter, pattern, places, read } = self;
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
                    Ok(text) => match pattern.fields(text) {
                        Ok(fields) => {
                            let (columns, nulls, has_decimal_comma) = (&*read, &[][..], false);
                            let record = Record { line, bytes, fields, places, columns, nulls, has_decimal_comma };
                            output.by.take(output.writer, output.target, &record);
                            continue;
                        }
                        Err(error) => (line, bytes, error),
                    },
                    Err(error) => (line, bytes, RowError::NotUtf8 { offset: error.valid_up_to() }),
                },
                Piece::TooLong { line, head } => {
                    (line, head, RowError::RecordTooLong { limit: MAX_RECORD, kept: KEPT_OF_LONG_RECORD })
                }
                Piece::OpenQuote { line, bytes } => (line, bytes, RowError::OpenQuote),
            };
            output.reject(line, &error, bytes);
        }
    }
}

impl<P: LinePattern> Records for Lines<P> {
    type By = CsvStatement;

    fn feed(&mut self, block: &[u8], sink: &mut Sink<'_, CsvStatement>) -> Result<(), DecodeError> {
        self.splitter.feed(block);
        sink.write(|output| self.drain(false, output));
        Ok(())
    }

    fn finish(&mut self, sink: &mut Sink<'_, CsvStatement>) -> Result<(), DecodeError> {
        sink.write(|output| self.drain(true, output));
        Ok(())
    }

    fn begin_piece(&mut self, line: u64, _: u64) {
        self.splitter.restart(line);
        self.splitter.expect_mark();
    }

    fn columns(&self) -> Option<&[String]> {
        self.pattern.columns()
    }
}

/// A regular expression that is searched for in each line: its named groups are the fields. A group that took no part, or took
/// nothing, is missing. Cost: linear in the line, with the size of the expression as factor.
#[derive(Clone, Debug)]
pub(crate) struct RegexPattern {
    regex: Regex,
    captures: Captures,
    /// Names of the groups that are fields, and their numbers.
    columns: Vec<String>,
    groups: Vec<usize>,
    fields: Fields,
}

impl RegexPattern {
    fn new(regex: Regex) -> Self {
        let named = regex.group_info().pattern_names(PatternID::ZERO).enumerate();
        let (groups, columns): (Vec<usize>, Vec<String>) =
            named.filter_map(|(group, name)| Some((group, name?.to_owned()))).unzip();
        Self { captures: regex.create_captures(), regex, columns, groups, fields: Fields::default() }
    }
}

impl LinePattern for RegexPattern {
    #[inline]
    fn fields<'a>(&'a mut self, line: &'a str) -> Result<FieldsOf<'a>, RowError> {
        let Self { regex, captures, groups, fields, .. } = self;
        regex.captures(Input::new(line), captures);
        if !captures.is_match() {
            return Err(RowError::NoMatch);
        }
        let found = groups.iter().map(|group| captures.get_group(*group));
        Ok(fields.of_places(line, found.map(|span| span.map_or((0, 0), |span| (span.start, span.end)))))
    }

    fn columns(&self) -> Option<&[String]> {
        Some(&self.columns)
    }
}

/// Lines that a regular expression takes apart, and the statement over their fields.
pub(crate) fn regex_lines(options: &Options, statement: Statement, regex: Regex) -> (Lines<RegexPattern>, CsvStatement) {
    let (statement, names) = CsvStatement::new(statement);
    let pattern = RegexPattern::new(regex);
    let places = names.iter().map(|name| pattern.columns.iter().position(|column| column == name)).collect();
    (Lines::new(options, names, (pattern, places)), statement)
}
