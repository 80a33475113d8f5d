//! The lines in a log of Zeek that say how it is written: each begins with `#`.
//!
//! `#separator` comes first, in hexadecimal; `#unset_field` and `#empty_field` are what stands for a missing value; `#fields` and
//! `#types` name the columns and their types. Logs that were joined have these lines again, maybe with other columns. Others, such
//! as `#open` and `#close`, mean nothing here.

use crate::dialect::Delimiter;
use crate::error::{DecodeError, shorten};
use crate::types::{AttributeType, Projection};

/// What the lines said so far.
#[derive(Clone, Debug)]
pub(crate) struct Zeek {
    /// What stands for a missing value whatever the lines say.
    nulls: Vec<String>,
    separator: u8,
    unset: String,
    empty: String,
    columns: Vec<String>,
    types: Vec<String>,
}

impl Zeek {
    /// Starts with what Zeek writes unless lines say otherwise, and with these further words for a missing value.
    pub(crate) fn new(nulls: &[String]) -> Self {
        Self {
            nulls: nulls.to_vec(),
            separator: b'\t',
            unset: "-".into(),
            empty: "(empty)".into(),
            columns: Vec::new(),
            types: Vec::new(),
        }
    }

    /// Forgets what lines said.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(&std::mem::take(&mut self.nulls));
    }

    /// Takes such a line; returns whether it named the columns or their types.
    pub(crate) fn take(&mut self, line: &[u8]) -> Result<bool, DecodeError> {
        let wrong = |reason: String| DecodeError::NotThisFormat { format: "a log of Zeek", reason };
        let line = std::str::from_utf8(line).map_err(|_| wrong("a line of its header is not UTF-8".to_owned()))?;
        if let Some(separator) = line.strip_prefix("#separator ") {
            self.separator = separator_of(separator)
                .ok_or_else(|| wrong(format!("its separator {:?} is no byte that separates fields", shorten(separator))))?;
            return Ok(false);
        }
        let mut words = line.split(char::from(self.separator));
        match words.next() {
            Some("#unset_field") => words.next().unwrap_or_default().clone_into(&mut self.unset),
            Some("#empty_field") => words.next().unwrap_or_default().clone_into(&mut self.empty),
            Some("#fields") => {
                self.columns = words.map(str::to_owned).collect();
                self.types.clear();
                return Ok(true);
            }
            Some("#types") => {
                self.types = words.map(str::to_owned).collect();
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    /// What separates fields.
    pub(crate) fn delimiter(&self) -> Delimiter {
        Delimiter::Byte(self.separator)
    }

    /// The columns; empty while they are not known.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// What stands for a missing value.
    pub(crate) fn nulls(&self) -> Vec<String> {
        self.nulls.iter().chain([&self.unset, &self.empty]).cloned().collect()
    }

    /// Gives attributes the types of their columns; what is declared of them stays.
    pub(crate) fn settle(&self, declared: &[AttributeType], projection: &mut Projection) {
        for ((name, kind), declared) in projection.names.iter().zip(&mut projection.types).zip(declared) {
            let place = self.columns.iter().position(|column| column == name);
            let written = place.and_then(|place| self.types.get(place)).map(|word| type_of(word));
            *kind = match (declared, written) {
                (AttributeType::Any, Some(written)) => written,
                (AttributeType::Boolean, Some(AttributeType::Letter)) => AttributeType::Letter,
                _ => *declared,
            };
        }
    }
}

/// Reads a byte as `\x09`, or as itself.
fn separator_of(text: &str) -> Option<u8> {
    let byte = match text.strip_prefix("\\x") {
        Some(digits) if digits.len() == 2 => u8::from_str_radix(digits, 16).ok()?,
        _ => *text.as_bytes().first().filter(|_| text.len() == 1)?,
    };
    (byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'#' | 0)).then_some(byte)
}

/// The type of values that Zeek calls so.
fn type_of(word: &str) -> AttributeType {
    match word {
        "bool" => AttributeType::Letter,
        "count" | "int" | "port" => AttributeType::Integer,
        "double" | "interval" | "time" => AttributeType::Number,
        _ => AttributeType::String,
    }
}
