//! What a stream calls the columns that every record has, and where in a header they are.

use crate::column::Column;
use crate::error::DecodeError;
use crate::suggest::similar;

/// What a stream calls its columns.
#[derive(Clone, Debug)]
pub struct ColumnNames([String; Column::COUNT]);

impl Default for ColumnNames {
    fn default() -> Self {
        Self(Column::ALL.map(|column| column.name().to_owned()))
    }
}

impl ColumnNames {
    /// Makes names from pairs of a canonical name and the stream's own.
    pub fn new(mapping: impl IntoIterator<Item = (String, String)>) -> Result<Self, DecodeError> {
        let mut names = Self::default();
        for (canonical, actual) in mapping {
            let Some(column) = Column::ALL.into_iter().find(|column| column.name() == canonical) else {
                let known = Column::ALL.map(Column::name).join(", ");
                return Err(DecodeError::UnknownColumn { name: canonical, known });
            };
            names.0[column as usize] = actual;
        }
        for (position, name) in names.0.iter().enumerate() {
            if let Some(first) = names.0[..position].iter().position(|other| other == name) {
                let [first, second] = [first, position].map(|index| Column::ALL[index].name());
                return Err(DecodeError::SharedColumn { name: name.clone(), first, second });
            }
        }
        Ok(names)
    }

    /// What the stream calls a column.
    pub fn get(&self, column: Column) -> &str {
        &self.0[column as usize]
    }

    /// Which column the stream calls so.
    pub fn find(&self, name: &str) -> Option<Column> {
        Column::ALL.into_iter().find(|column| self.get(*column) == name)
    }
}

/// Where the wanted columns are in a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Place of each [`Column`].
    pub(crate) columns: [Option<usize>; Column::COUNT],
    /// Place of each attribute; an attribute that the stream does not have is missing in every record.
    pub(crate) attributes: Vec<Option<usize>>,
}

impl Layout {
    /// Finds the wanted columns in a header.
    pub(crate) fn resolve(names: &ColumnNames, attributes: &[String], header: &[String]) -> Result<Self, DecodeError> {
        let mut layout = Self::default();
        for column in Column::ALL {
            let place = locate(names.get(column), header)?;
            if place.is_none() && column.is_required() {
                return Err(missing(column, names.get(column), header));
            }
            layout.columns[column as usize] = place;
        }
        layout.attributes = attributes.iter().map(|name| locate(name, header)).collect::<Result<_, _>>()?;
        Ok(layout)
    }

    /// Place of a column.
    pub(crate) fn get(&self, column: Column) -> Option<usize> {
        self.columns[column as usize]
    }
}

fn locate(name: &str, header: &[String]) -> Result<Option<usize>, DecodeError> {
    let mut places = header.iter().enumerate().filter(|(_, other)| *other == name).map(|(place, _)| place);
    let first = places.next();
    match places.next() {
        Some(_) => Err(DecodeError::RepeatedColumn { name: name.to_owned() }),
        None => Ok(first),
    }
}

fn missing(column: Column, name: &str, header: &[String]) -> DecodeError {
    const SHOWN: usize = 40;
    let role = if name == column.name() { String::new() } else { format!(" (for {})", column.name()) };
    let mut available = header.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if header.len() > SHOWN {
        available.push_str(", …");
    }
    let hint = match (similar(column, name, header), header) {
        (Some(other), _) => format!("; did you mean {other:?}?"),
        (None, [only]) if only.starts_with(['{', '[']) => "; this looks like JSON Lines".to_owned(),
        (None, [only]) => [("a tab", '\t'), ("a semicolon", ';'), ("a vertical bar", '|'), ("a comma", ',')]
            .into_iter()
            .find(|(_, delimiter)| only.contains(*delimiter))
            .map_or_else(String::new, |(what, _)| format!("; the delimiter looks like {what}")),
        (None, _) => String::new(),
    };
    DecodeError::MissingColumn { name: name.to_owned(), role, available, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &str) -> Vec<String> {
        names.split(',').map(String::from).collect()
    }

    fn refused(names: &ColumnNames, columns: &str) -> String {
        Layout::resolve(names, &[], &header(columns)).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn a_missing_column_is_named_with_those_there_are_and_the_likely_one() {
        let names = ColumnNames::default();
        assert_eq!(
            refused(&names, "ts,source,dst,label"),
            "no column \"src\"; the columns are \"ts\", \"source\", \"dst\", \"label\"; did you mean \"source\"?"
        );
        assert_eq!(
            refused(&names, "ts;src;dst;label"),
            "no column \"ts\"; the columns are \"ts;src;dst;label\"; the delimiter looks like a semicolon"
        );
        assert_eq!(refused(&names, "ts,src,dst,label,src"), "column \"src\" occurs twice");
    }

    #[test]
    fn a_mapping_is_refused_if_it_names_nothing_or_one_thing_twice() {
        let map = |pairs: &[(&str, &str)]| ColumnNames::new(pairs.iter().map(|(a, b)| ((*a).into(), (*b).into())));
        assert!(matches!(map(&[("source", "x")]), Err(DecodeError::UnknownColumn { .. })));
        assert!(matches!(map(&[("src", "dst")]), Err(DecodeError::SharedColumn { first: "src", second: "dst", .. })));
        let swapped = map(&[("src", "dst"), ("dst", "src")]);
        assert_eq!(swapped.map(|names| names.find("dst")).ok().flatten(), Some(Column::Source));
    }
}
