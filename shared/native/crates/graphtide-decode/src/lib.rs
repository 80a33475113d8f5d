//! Bytes of a stream to batches of records: CSV, JSON Lines, Arrow IPC.
//!
//! Every decoder keeps one contract. Blocks may cut records anywhere. A record that cannot be used becomes a [`DeadLetter`]
//! with its place, a reason and its bytes, and its neighbours continue. Only a stream that cannot be read at all is a
//! [`DecodeError`]. Only projected attributes are decoded. A record without an id has its 0-based ordinal for one, and bad
//! records count in it.

pub mod added_fields;
pub mod arrow;
pub mod arrow_writer;
pub mod column;
pub mod columns;
pub mod csv;
pub mod decoder;
pub mod dialect;
pub mod error;
pub mod json_lines;
pub mod order_scan;
pub mod raw_batch;
pub mod render;
pub mod tables;
pub mod times;
pub mod types;

mod arrow_bulk;
mod arrow_columns;
mod arrow_ticks;
mod arrow_written;
mod avro;
mod bulk;
mod encoded;
mod json_objects;
mod json_record;
mod json_table;
mod labels;
mod lines;
mod marks;
mod protobuf;
mod splitter;
pub mod statement;
mod suggest;
pub mod surroundings;
mod syslog;
mod unusable_values;
mod varint;
mod writer;
mod xml_rows;
mod zeek;

pub use added_fields::AddedFields;
pub use arrow::ArrowDecoder;
pub use column::Column;
pub use columns::ColumnNames;
pub use csv::CsvDecoder;
pub use decoder::{Decoder, Options};
pub use dialect::{Delimiter, Dialect, Heading};
pub use error::DecodeError;
pub use graphtide_graph::batch::DeadLetter;
pub use json_lines::JsonLinesDecoder;
pub use splitter::{KEPT_OF_LONG_RECORD, MAX_RECORD};
pub use times::{Times, Zone};
pub use types::{AttributeType, Settled};
pub use unusable_values::UnusableValues;
pub use writer::SUBSTITUTE;
