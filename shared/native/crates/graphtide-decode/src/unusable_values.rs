//! Counts values that no attribute can have: they are missing. Says in which attributes, and how often.
//!
//! Cost: one entry an attribute and kind of value; a record without such a value costs nothing.

/// Values of one attribute that no attribute can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusableValues {
    /// The attribute.
    pub name: String,
    /// What the values are instead.
    pub found: String,
    /// How many good records had one.
    pub records: u64,
    /// The line of the first of them.
    pub line: u64,
}

/// Counts such a value of a good record.
#[cold]
pub(crate) fn count(unusable_values: &mut Vec<UnusableValues>, name: &str, found: &str, line: u64) {
    match unusable_values.iter_mut().find(|known| known.name == name && known.found == found) {
        Some(known) => known.records += 1,
        None => unusable_values.push(UnusableValues { name: name.to_owned(), found: found.to_owned(), records: 1, line }),
    }
}
