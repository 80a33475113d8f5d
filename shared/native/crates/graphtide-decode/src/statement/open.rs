//! The decoder of a format that a statement reads.

use std::collections::HashMap;

use graphtide_expression::regex;
use graphtide_graph::symbol::SharedSymbols;

use super::attributes::Reading;
use super::bytes::read_base64;
use super::decoding::ByStatement;
use super::definition::{DefinitionForm, FormatForm};
use super::joins::Tables;
use super::reading::Statement;
use crate::arrow::ArrowDecoder;
use crate::avro::AvroRecords;
use crate::csv::CsvDecoder;
use crate::decoder::{Decoder, Options};
use crate::dialect::{Delimiter, Dialect, Heading};
use crate::encoded::{Encoded, Encoding};
use crate::error::{DecodeError, StatementError};
use crate::json_lines::JsonLinesDecoder;
use crate::lines::regex_lines;
use crate::protobuf::ProtobufRecords;
use crate::surroundings::Surroundings;
use crate::syslog::syslog_lines;
use crate::times::Zone;
use crate::xml_rows::XmlRows;

/// What begins a descriptor that is written, and not the name of a file.
const WRITTEN: &str = "base64:";

/// A statement, and how the records that it reads are written.
#[derive(Debug)]
pub struct Source {
    /// The form of the statement, as JSON.
    pub definition: Vec<u8>,
    /// The format, where the statement does not say it.
    pub format: String,
    /// How fields are separated and columns named, likewise.
    pub dialect: Dialect,
    /// The keys that lead to records of JSON, likewise; None if each is a line.
    pub path: Option<Vec<String>>,
    /// The clocks of the zones that the statement names.
    pub clocks: HashMap<String, Zone>,
    /// What decoders ask for.
    pub surroundings: Surroundings,
    /// The tables that the statement joins.
    pub tables: Tables,
}

/// Makes a decoder of records that a statement reads.
pub fn open(source: Source, options: Options, symbols: &SharedSymbols) -> Result<Box<dyn Decoder + Send + Sync>, DecodeError> {
    let Source { definition, format, dialect, path, clocks, surroundings, tables } = source;
    let definition = DefinitionForm::read(&definition)?;
    let form = definition.format.clone().unwrap_or_else(|| FormatForm { name: format, ..FormatForm::default() });
    let dialect = said(dialect, &form)?;
    let options = Options { comment: form.comment.clone().unwrap_or(options.comment), ..options };
    let reading = match form.name.as_str() {
        "csv" if dialect.has_decimal_comma => Reading::WithComma,
        "csv" | "zeek" | "regex" | "syslog" | "xml" => Reading::Written,
        "arrow" | "parquet" => Reading::Rows,
        _ => Reading::Typed,
    };
    let statement = Statement::compile(&definition, &options, reading, (clocks, &tables, symbols))?;
    if statement.paths.read_nested() && !matches!(&*form.name, "json" | "jsonl" | "avro" | "protobuf") {
        let message = format!("OUTER and conditions in paths read JSON, Avro and Protobuf, not {}", form.name);
        return Err(StatementError::new(message).into());
    }
    let decoder: Box<dyn Decoder + Send + Sync> = match form.name.as_str() {
        "json" | "jsonl" => {
            let decoder = JsonLinesDecoder::new(options, symbols.clone());
            Box::new(match (form.path_of_records()?, path) {
                (Some(steps), _) if form.name == "jsonl" => decoder.by_in_lines(statement, steps),
                (Some(steps), _) => decoder.by_with_surroundings(statement, &steps),
                (None, Some(path)) => decoder.by(statement).anywhere(path),
                (None, None) if form.name == "json" => decoder.by(statement).at(Box::default()),
                (None, None) => decoder.by(statement),
            })
        }
        "regex" => {
            let regex = regex::compile(form.pattern.as_deref().unwrap_or_default()).map_err(StatementError::from)?;
            Box::new(ByStatement::new(regex_lines(&options, statement, regex), &options, symbols))
        }
        "syslog" => Box::new(ByStatement::new(syslog_lines(&options, statement), &options, symbols)),
        "avro" => {
            let of_records = (form.path_of_records()?, form.schema.as_deref());
            let records = AvroRecords::new(&statement, of_records, surroundings)?;
            Box::new(ByStatement::new((records, statement), &options, symbols))
        }
        "protobuf" => {
            let descriptor = form.descriptor.as_deref().and_then(|text| text.strip_prefix(WRITTEN)).and_then(read_base64);
            let descriptor = descriptor.ok_or_else(|| StatementError::new("DESCRIPTOR is not written in base 64"))?;
            let of_message = (&*descriptor, form.message.as_deref().unwrap_or_default());
            let path = form.path_of_records()?;
            let records = ProtobufRecords::new(&statement, path, of_message)?;
            Box::new(ByStatement::new((records, statement), &options, symbols))
        }
        "xml" => {
            let row = form.row.as_deref().unwrap_or_default();
            Box::new(ByStatement::new(XmlRows::new(statement, row), &options, symbols))
        }
        "csv" | "zeek" => Box::new(CsvDecoder::new(options, dialect, symbols.clone()).by(statement)),
        "arrow" | "parquet" => {
            Box::new(ArrowDecoder::new(options, definition.ticks_per_second()?, symbols.clone())?.by(statement))
        }
        other => return Err(StatementError::new(format!("there is no decoder of the format {other:?}")).into()),
    };
    Ok(match form.encoding.as_deref().and_then(Encoding::of_name) {
        Some(encoding) => Box::new(Encoded::new(decoder, encoding)),
        None => decoder,
    })
}

/// A dialect with what a format says of it.
fn said(dialect: Dialect, form: &FormatForm) -> Result<Dialect, DecodeError> {
    let delimiter = match &form.delimiter {
        Some(text) => Delimiter::new(text)?,
        None => dialect.delimiter,
    };
    let heading = match (form.name.as_str(), &form.columns, form.header) {
        ("zeek", ..) => Heading::Zeek,
        (_, Some(columns), Some(true)) => Heading::Replaced(columns.clone()),
        (_, Some(columns), _) => Heading::Given(columns.clone()),
        (_, None, Some(false)) => Heading::Numbers,
        (_, None, Some(true)) => Heading::Line,
        (_, None, None) => dialect.heading,
    };
    let quote = match form.quote.as_deref().map(str::as_bytes) {
        None => dialect.quote,
        Some([]) => None,
        Some([quote]) if quote.is_ascii() => Some(*quote),
        Some(_) => return Err(StatementError::new("QUOTE is an ASCII character").into()),
    };
    let has_decimal_comma = form.decimal.as_ref().map_or(dialect.has_decimal_comma, |sign| sign == ",");
    Ok(Dialect { delimiter, heading, quote, has_decimal_comma })
}
