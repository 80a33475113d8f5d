//! What every decoder does, and the options that all of them take.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use graphtide_graph::Time;
use graphtide_graph::batch::{DeadLetter, EdgeBatch};
use memchr::memchr_iter;

use crate::columns::ColumnNames;
use crate::error::DecodeError;
use crate::times::Times;
use crate::types::{AttributeType, Settled};
use crate::unusable_values::UnusableValues;

/// What every decoder does.
pub trait Decoder {
    /// Decodes every record that is whole once `block` is added; `batch` is as wide as there are attributes.
    fn feed(&mut self, block: &[u8], batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError>;

    /// Decodes what the end of the stream, or of a piece of it, completes; call once, after its last block.
    fn finish(&mut self, batch: &mut EdgeBatch, dead: &mut Vec<DeadLetter>) -> Result<(), DecodeError>;

    /// Begins the next piece of the stream, which is whole in itself and whose first line is `line`; call after
    /// [`finish`](Self::finish). Columns that a header line named, ordinals and what was seen stay as they are. What a piece
    /// says of itself, such as the lines of Zeek, holds for it alone.
    fn begin_piece(&mut self, line: u64);

    /// Names of the stream's columns, once known; None for ever where a format has no such list.
    fn columns(&self) -> Option<&[String]>;

    /// Whether the stream gives ids: by its columns, or by a record so far where a format has no list of them.
    fn has_ids(&self) -> bool;

    /// Whether the stream gives operations, known as [`has_ids`](Self::has_ids) is.
    fn has_operations(&self) -> bool;

    /// Attributes that good records had and nobody asked for, where a format must look to know and [`Options::discover`] says
    /// so.
    fn discovered(&self) -> &[String] {
        &[]
    }

    /// Requested attributes with values that no attribute can have, in good records: such values are missing.
    fn unusable_values(&self) -> &[UnusableValues] {
        &[]
    }

    /// Decodes these attributes in place of those before, from the next record on; what was discovered is forgotten. Only the
    /// decoder of JSON Lines can: the batches that follow are as wide as there are attributes then.
    fn project(&mut self, _: Vec<String>) {}

    /// How many lines a piece has that was just fed, but for its last line end.
    fn lines(&self, piece: &[u8]) -> u64 {
        memchr_iter(b'\n', piece).count() as u64
    }

    /// Checks the columns of the next rows, which their own schema must have, too. Only the Arrow decoder can.
    fn check_columns(&mut self, _: &Schema) -> Result<(), DecodeError> {
        Err(reads_bytes())
    }

    /// Decodes rows in memory, which must be sound. Only the decoder of Arrow can.
    fn feed_rows(&mut self, _: &RecordBatch, _: &mut EdgeBatch, _: &mut Vec<DeadLetter>) -> Result<(), DecodeError> {
        Err(reads_bytes())
    }

    /// Columns that the beginning of the stream showed to hold texts, where it was asked to look.
    fn settled(&self) -> &[Settled] {
        &[]
    }

    /// Whether a date so far named no zone, and was one of the stream's: only where the options say how times are written.
    fn has_zoneless_times(&self) -> bool {
        false
    }

    /// Records so far that are not of the stream, as its statement says.
    fn filtered(&self) -> u64 {
        0
    }

    /// Ordinal that the next record will have: how many came before.
    fn ordinal(&self) -> u64;

    /// Refuses records that are later than this, from the next on; at first all are accepted.
    fn accept_until(&mut self, latest: Time);

    /// Continues counting from an ordinal: the stream is a later piece of one whose records have ordinals for ids.
    fn start_at(&mut self, ordinal: u64);
}

/// Options of a decoder, whatever its format.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of the attributes to decode, in the order of a batch's columns.
    pub attributes: Vec<String>,
    /// What is declared of attributes by name, decoded or not: a record with another value is bad, a table with another column
    /// refused.
    pub declared: Vec<(String, AttributeType)>,
    /// What the stream calls the columns that every record has.
    pub columns: ColumnNames,
    /// How times are written; None for integers that count ticks.
    pub times: Option<Times>,
    /// Label of edges that have none: then the stream needs no column of labels.
    pub label: Option<String>,
    /// Texts of a text format that stand for a missing value.
    pub nulls: Vec<String>,
    /// Beginning of lines of a text format that are no records; empty if there are none.
    pub comment: String,
    /// Whether rows keep their bytes: costs a copy, needed if a later stage may reject rows.
    pub keep_raw: bool,
    /// Whether a line that is [`SUBSTITUTE`] stands for a record that was rejected before: it has an ordinal, and no dead
    /// letter.
    pub substitutes: bool,
    /// Whether a format without columns notes the attributes that nobody asked for, a few hundred at most.
    pub discover: bool,
}

fn reads_bytes() -> DecodeError {
    DecodeError::Arrow { reason: "this decoder reads bytes".to_owned() }
}
