//! What a stream calls the columns that have a meaning, and where in a header they are.

use crate::column::Column;
use crate::error::DecodeError;
use crate::suggest::{names_ends, similar};

/// What a stream calls its columns.
#[derive(Clone, Debug)]
pub struct ColumnNames {
    names: [String; Column::COUNT],
    /// Whether edges need a column for their label.
    needs_label: bool,
    /// Whether no column has a meaning: something else says what records are.
    has_none: bool,
}

impl Default for ColumnNames {
    fn default() -> Self {
        Self { names: Column::ALL.map(|column| column.name().to_owned()), needs_label: true, has_none: false }
    }
}

impl ColumnNames {
    /// Makes names from pairs of a canonical name and the stream's own.
    pub fn new(mapping: impl IntoIterator<Item = (String, String)>) -> Result<Self, DecodeError> {
        let mut made = Self::default();
        for (canonical, actual) in mapping {
            let Some(column) = Column::ALL.into_iter().find(|column| column.name() == canonical) else {
                let known = Column::ALL.map(Column::name).join(", ");
                return Err(DecodeError::UnknownColumn { name: canonical, known });
            };
            made.names[column as usize] = actual;
        }
        // Any other column named `type` is an attribute, not the type of events.
        let of_events = Column::Type as usize;
        let names = &mut made.names;
        if names[of_events] == Column::Type.name() && names[..of_events].contains(&names[of_events]) {
            names[of_events].clear();
        }
        for (position, name) in names.iter().enumerate() {
            if let Some(first) = names[..position].iter().position(|other| other == name) {
                let [first, second] = [first, position].map(|index| Column::ALL[index].name());
                return Err(DecodeError::SharedColumn { name: name.clone(), first, second });
            }
        }
        Ok(made)
    }

    /// The same for edges that need no column for their label.
    #[must_use]
    pub fn without_label(self) -> Self {
        Self { needs_label: false, ..self }
    }

    /// Names for records that a statement reads: no column has a meaning by its name.
    pub(crate) fn of_no_column() -> Self {
        Self { has_none: true, ..Self::default() }
    }

    /// What the stream calls a column.
    pub fn get(&self, column: Column) -> &str {
        &self.names[column as usize]
    }

    /// Which column the stream calls so.
    pub fn find(&self, name: &str) -> Option<Column> {
        Column::ALL.into_iter().find(|column| self.get(*column) == name)
    }
}

/// Where the wanted columns are in a header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Place of each [`Column`]; that of a label is the type's where records are events.
    pub(crate) columns: [Option<usize>; Column::COUNT],
    /// Whether records are events: they have no ends.
    pub(crate) is_events: bool,
    /// Place of each attribute; an attribute that the stream does not have is missing in every record.
    pub(crate) attributes: Vec<Option<usize>>,
}

impl Layout {
    /// Finds the wanted columns in a header.
    pub(crate) fn resolve(names: &ColumnNames, attributes: &[String], header: &[String]) -> Result<Self, DecodeError> {
        let mut layout = Self::default();
        if names.has_none {
            layout.attributes = attributes.iter().map(|name| locate(name, header)).collect::<Result<_, _>>()?;
            return Ok(layout);
        }
        let kind = locate(names.get(Column::Type), header)?;
        let is_edge = Column::OF_EDGES.iter().any(|column| header.iter().any(|name| name == names.get(*column)));
        layout.is_events = kind.is_some() && !is_edge && !names_ends(header);
        for column in Column::ALL {
            let place = match column {
                Column::Type => None,
                Column::Label if layout.is_events => kind,
                Column::SourceLabel | Column::TargetLabel if layout.is_events => None,
                column => locate(names.get(column), header)?,
            };
            let is_of_others = layout.is_events && Column::OF_EDGES.contains(&column);
            let is_needed = column.is_required() && !is_of_others && (names.needs_label || column != Column::Label);
            if place.is_none() && is_needed {
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
        (None, _) if column == Column::Label => "; a label for all edges can be stated".to_owned(),
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
        assert_eq!(refused(&names, "type,label,src"), "no column \"ts\"; the columns are \"type\", \"label\", \"src\"");
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
    fn a_header_with_a_type_and_without_ends_and_label_is_one_of_events() {
        let place = |names: &ColumnNames, columns: &str| {
            let layout = Layout::resolve(names, &["type".to_owned()], &header(columns)).ok();
            layout.map(|layout| (layout.is_events, layout.get(Column::Label), layout.get(Column::Source), layout.attributes))
        };
        let names = ColumnNames::default();
        assert_eq!(place(&names, "ts,type,speed"), Some((true, Some(1), None, vec![Some(1)])));
        assert_eq!(place(&names, "ts,src,dst,label,type"), Some((false, Some(3), Some(1), vec![Some(4)])));
        assert_eq!(place(&names, "ts,src,type"), None);
        assert_eq!(
            refused(&names, "ts,source,target,type"),
            "no column \"src\"; the columns are \"ts\", \"source\", \"target\", \"type\"; did you mean \"source\"?"
        );
        let map = |canonical: &str, actual: &str| ColumnNames::new([(canonical.to_owned(), actual.to_owned())]);
        let events = map("type", "kind").ok().and_then(|names| place(&names, "kind,ts"));
        assert_eq!(events, Some((true, Some(0), None, vec![None])));
        let edges = map("label", "type").ok().and_then(|names| place(&names, "ts,src,dst,type"));
        assert_eq!(edges, Some((false, Some(3), Some(1), vec![Some(3)])));
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
