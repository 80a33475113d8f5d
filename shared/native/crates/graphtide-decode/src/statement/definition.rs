//! The JSON form of a statement, as `graphtide_wire.stream_definition` writes it; what says how bytes become records is in
//! [`FormatForm`].

use graphtide_expression::expression::MOST_LEVELS;
use serde::Deserialize;
use serde_json::Value as Form;

use super::paths::{Step, steps};
use crate::error::StatementError;

/// A statement.
#[derive(Debug, Deserialize)]
pub(crate) struct DefinitionForm {
    pub(crate) time: TimeForm,
    pub(crate) unit: String,
    #[serde(default)]
    pub(crate) format: Option<FormatForm>,
    #[serde(default)]
    pub(crate) clauses: Vec<ClauseForm>,
    #[serde(default)]
    pub(crate) id: Option<Form>,
    #[serde(default)]
    pub(crate) sets: Vec<(String, Form)>,
    #[serde(default, rename = "where")]
    pub(crate) holds: Option<Form>,
    #[serde(default)]
    pub(crate) delete_where: Option<Form>,
    #[serde(default)]
    pub(crate) update_where: Option<Form>,
    #[serde(default)]
    pub(crate) nulls: Vec<String>,
    #[serde(default)]
    pub(crate) joins: Vec<JoinForm>,
}

/// A table whose rows records are joined with.
#[derive(Debug, Deserialize)]
pub(crate) struct JoinForm {
    pub(crate) table: String,
    pub(crate) key: Form,
    #[serde(default)]
    pub(crate) alias: Option<String>,
    #[serde(default)]
    pub(crate) sets: Vec<(String, Form)>,
}

impl JoinForm {
    /// The name by which expressions read its columns.
    pub(crate) fn alias(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.table)
    }
}

/// An edge or an event that a record gives.
#[derive(Debug, Deserialize)]
pub(crate) struct ClauseForm {
    pub(crate) gives: Gives,
    #[serde(default)]
    pub(crate) source: Option<EndForm>,
    #[serde(default)]
    pub(crate) target: Option<EndForm>,
    #[serde(default)]
    pub(crate) label: Option<Form>,
    #[serde(default, rename = "type")]
    pub(crate) kind: Option<Form>,
    #[serde(default, rename = "where")]
    pub(crate) holds: Option<Form>,
    #[serde(default)]
    pub(crate) sets: Vec<(String, Form)>,
    #[serde(default)]
    pub(crate) id: Option<Form>,
}

/// What a clause gives.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Gives {
    Edge,
    Event,
}

/// An end of an edge.
#[derive(Debug, Deserialize)]
pub(crate) struct EndForm {
    pub(crate) value: Form,
    #[serde(default)]
    pub(crate) label: Option<Form>,
}

/// The time of a record.
#[derive(Debug, Deserialize)]
pub(crate) struct TimeForm {
    pub(crate) value: Form,
    #[serde(default)]
    pub(crate) unit: Option<String>,
    #[serde(default)]
    pub(crate) format: Option<String>,
    #[serde(default)]
    pub(crate) zone: Option<String>,
    /// The day that times without a year come before.
    #[serde(default)]
    pub(crate) before: Option<String>,
}

/// How bytes become records; see `graphtide_core.record_format`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct FormatForm {
    /// The format.
    pub(crate) name: String,
    /// The regular expression of a line.
    #[serde(default)]
    pub(crate) pattern: Option<String>,
    /// What separates fields.
    #[serde(default)]
    pub(crate) delimiter: Option<String>,
    /// Whether the first line names the columns.
    #[serde(default)]
    pub(crate) header: Option<bool>,
    /// The names of the columns.
    #[serde(default)]
    pub(crate) columns: Option<Vec<String>>,
    /// How a line starts that is skipped.
    #[serde(default)]
    pub(crate) comment: Option<String>,
    /// The character around fields; empty for none.
    #[serde(default)]
    pub(crate) quote: Option<String>,
    /// The sign before decimals.
    #[serde(default)]
    pub(crate) decimal: Option<String>,
    /// How characters are written.
    #[serde(default)]
    pub(crate) encoding: Option<String>,
    /// The elements of XML that are records.
    #[serde(default)]
    pub(crate) row: Option<String>,
    /// The schema of messages of Avro.
    #[serde(default)]
    pub(crate) schema: Option<String>,
    /// The descriptor set of Protobuf, in base 64.
    #[serde(default)]
    pub(crate) descriptor: Option<String>,
    /// The full name of a message in it.
    #[serde(default)]
    pub(crate) message: Option<String>,
    /// Where records are in JSON, Avro and Protobuf.
    #[serde(default)]
    pub(crate) unnest: Option<Form>,
}

impl FormatForm {
    /// Where records are in JSON, if it says so.
    pub(crate) fn path_of_records(&self) -> Result<Option<Box<[Step]>>, StatementError> {
        let wrong = |form: &Form| StatementError::new(format!("{form} is not a path"));
        self.unnest.as_ref().map(|form| steps(form).ok_or_else(|| wrong(form))).transpose()
    }
}

impl DefinitionForm {
    /// Reads the form.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, StatementError> {
        if depth(bytes) > MOST_DEEP {
            return Err(StatementError::new("the form of the statement is nested too deep"));
        }
        // The library's own bound is below what an expression may have.
        let mut json = serde_json::Deserializer::from_slice(bytes);
        json.disable_recursion_limit();
        let read = Self::deserialize(&mut json).and_then(|form| json.end().map(|()| form));
        read.map_err(|error| StatementError::new(error.to_string()))
    }

    /// How many ticks make a second.
    pub(crate) fn ticks_per_second(&self) -> Result<i64, StatementError> {
        per_second(&self.unit).ok_or_else(|| StatementError::new(format!("{:?} is not a unit of time", self.unit)))
    }
}

/// Objects and lists inside each other: two for each level of an expression, and those of a statement around it.
const MOST_DEEP: usize = 2 * MOST_LEVELS + 16;

/// How deep objects and lists of JSON are inside each other.
fn depth(json: &[u8]) -> usize {
    let (mut depth, mut most, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                most = most.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// How many units of this name make a second.
pub(crate) fn per_second(unit: &str) -> Option<i64> {
    [("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)]
        .into_iter()
        .find_map(|(name, per_second)| (name == unit).then_some(per_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_texts_do_not_count_as_depth() {
        assert_eq!(depth(br#"{"a": [[1], "[[[\"[[", {}]}"#), 3);
        assert_eq!(depth(b"]]}}"), 0);
    }

    #[test]
    fn a_form_that_is_nested_without_end_is_refused() {
        let form = format!(r#"{{"time": {}"#, "[".repeat(1_000_000));
        let error = DefinitionForm::read(form.as_bytes()).err();
        assert_eq!(error, Some(StatementError::new("the form of the statement is nested too deep")));
    }
}
