//! The JOIN clauses of a statement: rows of tables that are looked up for a record, before anything of it is written.
//!
//! A JOIN whose key reads `src` or `dst` is looked up for each clause, by the values of its ends. Cost: one look-up for each JOIN
//! and scope whose columns are read.

use std::sync::Arc;

use bumpalo::Bump;
use graphtide_expression::Context;
use graphtide_graph::Time;
use graphtide_graph::value::ValueRef;
use serde_json::{Value as Form, json};

use super::definition::{ClauseForm, DefinitionForm, Gives, JoinForm};
use super::joined_columns::{JoinedColumn, JoinedColumns};
use super::keys::key_of;
use super::paths::{Paths, Step, path_of};
use super::program::TextSource;
use crate::error::StatementError;
use crate::tables::{SharedTable, Table};

/// Tables by their names, as the program around a decoder gives them.
pub type Tables = Vec<(String, SharedTable)>;

/// What is looked up for a record.
#[derive(Clone, Debug)]
pub(crate) struct Joins {
    lookups: Box<[Lookup]>,
    tables: Box<[Held]>,
    /// Whether the condition on records reads a column.
    precede_condition: bool,
}

#[derive(Clone, Debug)]
struct Lookup {
    table: usize,
    key: TextSource,
    /// Slots, and the columns whose values they get.
    columns: Box<[(usize, usize)]>,
}

/// A table, as it was when it was last looked at.
#[derive(Clone, Debug)]
struct Held {
    shared: SharedTable,
    version: u64,
    table: Arc<Table>,
}

/// The columns of a statement's joins; none is read yet.
pub(crate) fn joined_columns(definition: &DefinitionForm) -> JoinedColumns {
    let mut found = JoinedColumns::default();
    for join in &definition.joins {
        let is_by_edge = !definition.clauses.is_empty() && reads_edge(&join.key, &found);
        found.add(join.alias(), is_by_edge);
    }
    found
}

/// Whether a form reads an end of an edge, or a JOIN that does.
fn reads_edge(form: &Form, joined: &JoinedColumns) -> bool {
    match form {
        Form::Object(_) if form["is"] == "path" => match path_of(form).as_deref() {
            Some([Step::Name(name)]) if is_end(name) => true,
            Some([Step::Name(first), ..]) => joined.is_by_edge(first),
            _ => false,
        },
        Form::Object(members) => members.values().any(|member| reads_edge(member, joined)),
        Form::Array(items) => items.iter().any(|item| reads_edge(item, joined)),
        _ => false,
    }
}

impl Joins {
    /// Compiles what the columns that are read so far need; None if there are none.
    pub(crate) fn compile(
        definition: &DefinitionForm,
        paths: &mut Paths,
        context: &Context,
        given: &Tables,
        precede_condition: bool,
    ) -> Result<Option<Self>, StatementError> {
        let mut lookups = Vec::new();
        let tables = given.iter().map(|(_, shared)| Held::new(shared.clone())).collect();
        // The last first: the key of a JOIN may read columns of those before it.
        for (number, join) in definition.joins.iter().enumerate().rev() {
            for scope in paths.joined.scopes(number) {
                paths.joined.enter(scope);
                let key = match scope.checked_sub(1).and_then(|clause| definition.clauses.get(clause)) {
                    Some(clause) => TextSource::compile(&with_ends(&join.key, clause), paths, context)?,
                    None => TextSource::compile(&join.key, paths, context)?,
                };
                lookups.push(Lookup::new(join, (number, scope), key, &paths.joined, given)?);
            }
        }
        lookups.reverse();
        paths.joined.enter(0);
        let lookups: Box<[Lookup]> = lookups.into();
        Ok((!lookups.is_empty()).then_some(Self { lookups, tables, precede_condition }))
    }

    /// Whether the condition on records needs the rows.
    pub(crate) fn precede_condition(&self) -> bool {
        self.precede_condition
    }

    /// Takes tables that were replaced.
    #[inline(never)]
    pub(crate) fn refresh(&mut self) {
        for held in &mut self.tables {
            if held.version != held.shared.version() {
                *held = Held::new(held.shared.clone());
            }
        }
    }

    /// Gives slots the columns of the rows that a record is joined with; `time` reads its time.
    pub(crate) fn fill<'a>(
        &'a self,
        slots: &mut [ValueRef<'a>],
        arena: &'a Bump,
        time: impl Fn(&[ValueRef<'a>]) -> Option<Time>,
    ) {
        let mut ts = None;
        for Lookup { table, key, columns } in &self.lookups {
            let table = &self.tables[*table].table;
            let Some(key) = key_of(key.value(slots, arena), arena) else { continue };
            if table.has_times() && ts.is_none() {
                ts = time(slots);
            }
            let Some(row) = table.find(key, ts) else { continue };
            for (slot, column) in columns {
                slots[*slot] = row.get(*column);
            }
        }
    }
}

impl Lookup {
    fn new(
        join: &JoinForm,
        (number, scope): (usize, usize),
        key: TextSource,
        joined: &JoinedColumns,
        given: &Tables,
    ) -> Result<Self, StatementError> {
        let place = given.iter().position(|(name, _)| *name == join.table);
        let table = place.ok_or_else(|| StatementError::new(format!("the table {:?} is not given", join.table)))?;
        let names = given[table].1.columns();
        let column = |column: &JoinedColumn| {
            let place = names.iter().position(|name| **name == *column.name);
            let lacking = || StatementError::new(format!("the table {:?} is given without {:?}", join.table, column.name));
            Ok((column.slot, place.ok_or_else(lacking)?))
        };
        let own = joined.of(number, scope);
        Ok(Self { table, key, columns: own.map(column).collect::<Result<_, StatementError>>()? })
    }
}

impl Held {
    fn new(shared: SharedTable) -> Self {
        // The number first: a table that comes in between is taken again.
        let version = shared.version();
        let table = shared.current();
        Self { shared, version, table }
    }
}

/// The key of a JOIN with the ends of a clause in place of their names; an event has none.
fn with_ends(form: &Form, clause: &ClauseForm) -> Form {
    match form {
        Form::Object(_) if form["is"] == "path" => match path_of(form).as_deref() {
            Some([Step::Name(name)]) if is_end(name) => {
                let end = if **name == *"src" { &clause.source } else { &clause.target };
                let end = end.as_ref().filter(|_| clause.gives == Gives::Edge);
                end.map_or_else(|| json!({"is": "constant", "value": null}), |end| end.value.clone())
            }
            _ => form.clone(),
        },
        Form::Object(members) => members.iter().map(|(name, member)| (name.clone(), with_ends(member, clause))).collect(),
        Form::Array(items) => items.iter().map(|item| with_ends(item, clause)).collect(),
        _ => form.clone(),
    }
}

fn is_end(name: &str) -> bool {
    name == "src" || name == "dst"
}
