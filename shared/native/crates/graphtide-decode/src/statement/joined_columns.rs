//! The columns of tables that a statement reads, each with a slot.
//!
//! A JOIN whose key reads an end of an edge is looked up for each clause. Each clause is a *scope* with columns of its own, by its
//! number from 1; the scope 0 is the record.

/// The columns that are read so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinedColumns {
    /// Of each JOIN, its name, and whether it is looked up for each clause.
    aliases: Vec<(String, bool)>,
    scope: usize,
    columns: Vec<JoinedColumn>,
}

/// A column of the row of a JOIN in a scope.
#[derive(Clone, Debug)]
pub(crate) struct JoinedColumn {
    join: usize,
    scope: usize,
    pub(crate) name: Box<str>,
    pub(crate) slot: usize,
}

impl JoinedColumns {
    /// Adds a JOIN behind those that are there.
    pub(crate) fn add(&mut self, alias: &str, is_by_edge: bool) {
        self.aliases.push((alias.to_owned(), is_by_edge));
    }

    /// Whether a JOIN of this name is looked up for each clause.
    pub(crate) fn is_by_edge(&self, name: &str) -> bool {
        self.aliases.iter().any(|(alias, is_by_edge)| alias == name && *is_by_edge)
    }

    /// Lets columns that depend on the edge be those of a scope.
    pub(crate) fn enter(&mut self, scope: usize) {
        self.scope = scope;
    }

    /// Whether a column is read so far.
    pub(crate) fn are_read(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The slot of a column, `next` if it had none; None if no JOIN has that name.
    pub(crate) fn slot(&mut self, alias: &str, name: &str, next: usize) -> Option<usize> {
        let join = self.aliases.iter().position(|(known, _)| known == alias)?;
        let scope = if self.aliases[join].1 { self.scope } else { 0 };
        if let Some(known) = self.of(join, scope).find(|column| *column.name == *name) {
            return Some(known.slot);
        }
        self.columns.push(JoinedColumn { join, scope, name: name.into(), slot: next });
        Some(next)
    }

    /// The columns that are read of a JOIN in a scope.
    pub(crate) fn of(&self, join: usize, scope: usize) -> impl Iterator<Item = &JoinedColumn> {
        self.columns.iter().filter(move |column| (column.join, column.scope) == (join, scope))
    }

    /// The scopes in which a JOIN is read, in ascending order.
    pub(crate) fn scopes(&self, join: usize) -> Vec<usize> {
        let mut found: Vec<_> = self.columns.iter().filter(|column| column.join == join).map(|column| column.scope).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
