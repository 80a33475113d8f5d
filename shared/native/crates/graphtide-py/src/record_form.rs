//! How a stream is written, as Python says it: `graphtide_native.record_form`.

use graphtide_decode::{DecodeError, Delimiter, Dialect, Heading, Options, Times, Zone};
use pyo3::prelude::*;

/// How times are written: a format, how many ticks make a second, changes of clocks, and until when these are known.
type Written = (String, i64, Vec<(i64, i32)>, i64);

/// The attributes of a `RecordForm`.
#[derive(Default, FromPyObject)]
pub(crate) struct PyRecordForm {
    times: Option<Written>,
    label: Option<String>,
    nulls: Vec<String>,
    comment: String,
    heading: String,
    header: Vec<String>,
    has_decimal_comma: bool,
    path: Option<Vec<String>>,
}

impl PyRecordForm {
    /// The dialect of CSV.
    pub(crate) fn dialect(&self, delimiter: &str) -> Result<Dialect, DecodeError> {
        let heading = match self.heading.as_str() {
            "given" => Heading::Given(self.header.clone()),
            "numbers" => Heading::Numbers,
            "directives" => Heading::Zeek,
            _ => Heading::Line,
        };
        let dialect = Dialect::new(Delimiter::new(delimiter)?).headed(heading);
        Ok(if self.has_decimal_comma { dialect.with_decimal_comma() } else { dialect })
    }

    /// The keys that lead to records of JSON; None if each is a line.
    pub(crate) fn path(&self) -> Option<Vec<String>> {
        self.path.clone()
    }

    /// Adds what all formats have to the options of a decoder.
    pub(crate) fn add_to(self, options: Options) -> Result<Options, DecodeError> {
        let times = match self.times {
            None => None,
            Some((format, ticks_per_second, changes, until)) => {
                Some(Times::new(&format, ticks_per_second, Zone::new(changes, until).ok_or(DecodeError::Zone)?)?)
            }
        };
        Ok(Options { times, label: self.label, nulls: self.nulls, comment: self.comment, ..options })
    }
}
