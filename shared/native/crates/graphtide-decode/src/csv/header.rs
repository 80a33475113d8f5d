//! The header of a stream of CSV: what its columns are called, and where those of every record are.

use memchr::memchr;

use super::fields::{Fields, FieldsOf};
use crate::columns::{ColumnNames, Layout};
use crate::dialect::{Delimiter, Dialect, Heading};
use crate::error::{DecodeError, RowError};
use crate::splitter::Piece;

const FORMAT: &str = "CSV";

/// Names of the columns, and where those are that mean something.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) columns: Vec<String>,
    pub(super) layout: Layout,
}

impl Header {
    /// Finds the columns where their names are given, or else by the first line.
    pub(super) fn read(
        piece: &Piece<'_>,
        dialect: &Dialect,
        fields: &mut Fields,
        names: &ColumnNames,
        attributes: &[String],
    ) -> Result<Self, DecodeError> {
        match &dialect.heading {
            Heading::Line => Self::of_columns(first_line(piece, &dialect.delimiter, fields)?, names, attributes),
            Heading::Given(columns) | Heading::Replaced(columns) => Self::of_columns(columns.clone(), names, attributes),
            Heading::Numbers => {
                let count = first_line(piece, &dialect.delimiter, fields)?.len();
                Self::of_columns((1..=count).map(|number| number.to_string()).collect(), names, attributes)
            }
            Heading::Zeek => {
                let reason = "it does not begin with lines such as #separator and #fields".to_owned();
                Err(DecodeError::NotThisFormat { format: "a log of Zeek", reason })
            }
        }
    }

    /// Refuses a record that has not as many fields as there are columns.
    #[inline]
    pub(super) fn check(&self, fields: FieldsOf<'_>) -> Result<(), RowError> {
        let (expected, found) = (self.columns.len(), fields.len());
        if found == expected { Ok(()) } else { Err(RowError::FieldCount { expected, found }) }
    }

    /// Finds the columns among these.
    pub(super) fn of_columns(columns: Vec<String>, names: &ColumnNames, attributes: &[String]) -> Result<Self, DecodeError> {
        let layout = Layout::resolve(names, attributes, &columns)?;
        Ok(Self { columns, layout })
    }
}

/// Whether a line has no field, as only one of blanks can.
#[inline]
pub(super) fn is_blank(piece: &Piece<'_>, delimiter: &Delimiter) -> bool {
    matches!(delimiter, Delimiter::Blanks)
        && matches!(piece, Piece::Record { bytes, .. } if bytes.iter().all(|byte| matches!(byte, b' ' | b'\t')))
}

/// The fields of the first line, which shows whether this is CSV at all.
fn first_line(piece: &Piece<'_>, delimiter: &Delimiter, fields: &mut Fields) -> Result<Vec<String>, DecodeError> {
    let no_csv = |reason: &str| DecodeError::NotThisFormat { format: FORMAT, reason: reason.to_owned() };
    // Longer or shorter than a block or the bound, the first line of such a stream is the whole stream.
    let returns = || no_csv("its lines end in carriage returns alone; turn them into line feeds");
    let (bytes, quoted) = match *piece {
        Piece::Record { bytes, quoted, .. } => (bytes, quoted),
        Piece::TooLong { head: bytes, .. } | Piece::OpenQuote { bytes, .. } => {
            let has_returns = !bytes.starts_with(b"\"") && memchr(b'\r', bytes).is_some();
            return Err(if has_returns { returns() } else { no_csv("its first line has no end") });
        }
    };
    if memchr(0, bytes).is_some() {
        return Err(no_csv("its first line is binary"));
    }
    if !quoted && memchr(b'\r', bytes).is_some() {
        return Err(returns());
    }
    let fields = fields.split_by(bytes, delimiter, &[], quoted).map_err(|_| no_csv("its first line is not UTF-8"))?;
    let columns: Vec<String> = (0..fields.len()).map(|place| fields.get(place).to_owned()).collect();
    if columns.iter().any(|name| name.contains('\r')) {
        return Err(returns());
    }
    Ok(columns)
}
