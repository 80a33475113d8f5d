//! What can be wrong: with a whole stream ([`DecodeError`]), or with one record ([`RowError`]).

use graphtide_expression::ExpressionError;
use thiserror::Error;

/// The stream as a whole cannot be read, or the decoder was asked for something impossible.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    /// A text format whose bytes are not text.
    #[error("this is not {format}: {reason}")]
    NotThisFormat {
        /// The format that was expected.
        format: &'static str,
        /// What was found.
        reason: String,
    },
    /// There is no first line to name the columns.
    #[error("the stream is empty: it has no header")]
    NoHeader,
    /// A column that every record needs is not there.
    #[error("no column {name:?}{role}; the columns are {available}{hint}")]
    MissingColumn {
        /// The column looked for.
        name: String,
        /// What it would have been used for, if called otherwise.
        role: String,
        /// The columns there are.
        available: String,
        /// What to do about it; empty if nothing comes to mind.
        hint: String,
    },
    /// Two columns carry one name that is needed.
    #[error("column {name:?} occurs twice")]
    RepeatedColumn {
        /// The name.
        name: String,
    },
    /// A column is of a type that cannot be what it should be.
    #[error("column {name:?} is of type {found}, not {expected}")]
    ColumnType {
        /// The column.
        name: String,
        /// Its type.
        found: String,
        /// The types it could have.
        expected: &'static str,
    },
    /// A column is of another type than was declared.
    #[error("column {name:?} is of type {found}, and {declared} was declared")]
    NotDeclared {
        /// The column.
        name: String,
        /// Its type.
        found: String,
        /// What was declared.
        declared: &'static str,
    },
    /// The mapping of columns names something that no record has.
    #[error("there is no {name:?} to map a column to; one of {known}")]
    UnknownColumn {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The mapping of columns reads two things from one column.
    #[error("column {name:?} cannot be both {first} and {second}; map one of them to another column")]
    SharedColumn {
        /// The column of the stream.
        name: String,
        /// One use.
        first: &'static str,
        /// The other use.
        second: &'static str,
    },
    /// A delimiter that could not be distinguished from the text around it.
    #[error(
        "delimiter {delimiter:?} cannot separate fields; it has no quote, no line end, and is ASCII if it is one character"
    )]
    Delimiter {
        /// The text given.
        delimiter: String,
    },
    /// A format of times that cannot be read.
    #[error("{format:?} is not a format of times: {reason}")]
    TimeFormat {
        /// The format given.
        format: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Changes of clocks that no zone has.
    #[error("a zone has changes of clocks that ascend, each by less than a day")]
    Zone,
    /// A unit of time that no clock has.
    #[error("a second cannot have {ticks} ticks")]
    TicksPerSecond {
        /// The number given.
        ticks: i64,
    },
    /// What is needed to read the stream cannot be had now: the same call may succeed later.
    #[error("{reason}")]
    Unavailable {
        /// What it is, and why.
        reason: String,
    },
    /// A statement that cannot read any record.
    #[error("the definition of the stream cannot be used: {0}")]
    Statement(#[from] StatementError),
    /// The bytes are not an Arrow IPC stream, or a damaged one.
    #[error("this is not a readable Arrow IPC stream: {reason}")]
    Arrow {
        /// What the reader of the format says.
        reason: String,
    },
}

/// The form of a statement is not one that this version reads.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{reason}")]
pub struct StatementError {
    reason: String,
}

impl StatementError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl From<ExpressionError> for StatementError {
    fn from(error: ExpressionError) -> Self {
        Self::new(error.to_string())
    }
}

/// Why a record was rejected; its text is the reason in the dead letter.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum RowError {
    #[error("expected {expected} fields, found {found}")]
    FieldCount { expected: usize, found: usize },
    #[error("{column} is missing")]
    Missing { column: &'static str },
    #[error("{column} is empty")]
    Empty { column: &'static str },
    #[error("{column} {text:?} is not an integer{hint}")]
    NotInteger { column: &'static str, text: String, hint: &'static str },
    #[error("{column} {text:?} does not fit in 64 bits")]
    OutOfRange { column: &'static str, text: String },
    #[error("{column} {text:?} is not {expected}")]
    NotTime { column: &'static str, text: String, expected: String },
    #[error("{column} {text:?} is outside the years for which the clocks of its time zone are known")]
    ZoneUnknown { column: &'static str, text: String },
    #[error("the object around it cannot be read")]
    Around,
    #[error("id {text:?} is marked as made, and is not the number of a record")]
    NotMade { text: String },
    #[error("{column} is neither a text nor an integer of 64 bits")]
    NotKey { column: &'static str },
    #[error("{column} is past the range of dates and times")]
    NoTime { column: String },
    #[error("{column} {found:?} is not of the type {declared}, which was declared")]
    NotDeclared { column: String, found: String, declared: &'static str },
    #[error("{column} is not a text")]
    NotText { column: &'static str },
    #[error("op {text:?} is neither \"insert\" nor \"delete\"")]
    Operation { text: String },
    #[error("a delete needs the id of the edge it retracts")]
    DeleteWithoutId,
    #[error("not UTF-8 at byte {offset}")]
    NotUtf8 { offset: usize },
    #[error("{column} is {length} bytes long; at most {limit} are allowed")]
    TextTooLong { column: String, length: usize, limit: usize },
    #[error("the record is longer than {limit} bytes; its first {kept} are kept")]
    RecordTooLong { limit: usize, kept: usize },
    #[error("a quote is opened and never closed")]
    OpenQuote,
    #[error("ts {ts} is in the future: times up to {latest} are taken{hint}")]
    Future { ts: i64, latest: i64, hint: &'static str },
    #[error("not a JSON object: {reason}")]
    Json { reason: String },
    #[error("not an element of XML: {reason}")]
    Xml { reason: String },
    #[error("not a record of Avro: {reason}")]
    Avro { reason: String },
    #[error("not a message of Protobuf: {reason}")]
    Protobuf { reason: &'static str },
    #[error("not an object with fields")]
    NoFields,
    #[error("a decimal has more than 38 digits")]
    LongDecimal,
    #[error("a date is past the years 1 to 9999")]
    NoMoment,
    #[error("not a message of syslog: {reason}")]
    Syslog { reason: &'static str },
    #[error("the regular expression does not match the line")]
    NoMatch,
    #[error("no time")]
    NoRecordTime,
    #[error("the time {text} cannot be read")]
    UnreadableTime { text: String },
    #[error("the time {text} cannot be read: the clocks of its zone are not known so far away")]
    TimeBeyondZone { text: String },
    #[error("the time {text} has no year; BEFORE says which one it is of")]
    TimeWithoutYear { text: String },
    #[error("the time {text} is out of range")]
    TimeOutOfRange { text: String },
    #[error("no {end}")]
    NoEnd { end: &'static str },
    #[error("no type")]
    NoType,
    #[error("no id, which {change} needs")]
    NoId { change: &'static str },
    #[error("unknown operation {text}")]
    UnknownOperation { text: String },
}

/// Why a record is rejected: small where it is not, because every step returns it.
pub(crate) type Refused = Box<RowError>;

impl RowError {
    /// A time past the latest that is taken.
    #[cold]
    pub(crate) fn future(ts: i64, latest: i64) -> Self {
        // A clock that is wrong is wrong by hours or years; a time that counts smaller ticks, a thousand times and more.
        let is_other_unit = ts / 500 > latest.max(0);
        let hint = if is_other_unit { "; does it count a smaller unit of time than the stream?" } else { "" };
        Self::Future { ts, latest, hint }
    }
}

/// Cuts a text that goes into a reason, so that a reason stays a line.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 60;
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let mut end = SHOWN;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
