//! "Did you mean": the column a user probably meant, from its spelling or from what other tools call it.

use crate::column::Column;

/// Returns the most likely of `available` for a column that should be called `wanted`.
pub(crate) fn similar<'a>(column: Column, wanted: &str, available: &'a [String]) -> Option<&'a str> {
    let lower = |text: &str| text.trim().to_lowercase();
    let wanted = lower(wanted);
    let same = available.iter().find(|name| lower(name) == wanted);
    let alias = || available.iter().find(|name| aliases(column).contains(&lower(name).as_str()));
    let close = || {
        let near = available.iter().map(|name| (distance(&lower(name), &wanted), name));
        near.filter(|(distance, name)| *distance <= 2 && *distance < name.len()).min().map(|(_, name)| name)
    };
    same.or_else(alias).or_else(close).map(String::as_str)
}

/// Whether columns look as if they were the ends of edges, under other names than those that are read.
pub(crate) fn names_ends(available: &[String]) -> bool {
    let begins =
        |with: &[&str]| available.iter().any(|name| with.iter().any(|word| name.trim().to_lowercase().starts_with(word)));
    begins(&["src", "source"]) && begins(&["dst", "dest", "target"])
}

fn aliases(column: Column) -> &'static [&'static str] {
    match column {
        Column::Ts => &["timestamp", "time", "event_time", "datetime", "date", "t"],
        Column::Source => &["source", "from", "src_ip", "source_ip", "subject", "u", "sender"],
        Column::Target => &["target", "destination", "dest", "to", "dst_ip", "dest_ip", "object", "v", "receiver"],
        Column::Label => &["type", "edge_type", "predicate", "relation", "kind", "protocol", "proto"],
        Column::SourceLabel => &["src_type", "source_label", "source_type"],
        Column::TargetLabel => &["dst_type", "target_label", "target_type"],
        Column::Id => &["edge_id", "uuid"],
        Column::Operation => &["operation", "action"],
        Column::Type => &["event_type", "event", "kind"],
    }
}

/// Levenshtein's distance; O(n·m), on names of columns only.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in right.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(a != b)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likely_column_is_found_by_case_by_habit_and_by_typing_error() {
        let names = ["TS", "source", "lable", "x"].map(String::from);
        assert_eq!(similar(Column::Ts, "ts", &names), Some("TS"));
        assert_eq!(similar(Column::Source, "src", &names), Some("source"));
        assert_eq!(similar(Column::Label, "label", &names), Some("lable"));
        assert_eq!(similar(Column::Id, "id", &names), None);
    }
}
