//! A statement that reads records: the program, what it read so far, and the memory that it works in.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bumpalo::Bump;
use graphtide_expression::Context;
use graphtide_graph::batch::Bulk;
use graphtide_graph::symbol::SharedSymbols;
use graphtide_graph::value::ValueRef;

use super::attributes::Reading;
use super::definition::DefinitionForm;
use super::joins::{Joins, Tables, joined_columns};
use super::nulls::Nulls;
use super::paths::Paths;
use super::program::columns::Columns;
use super::program::{Outcome, Program};
use crate::csv::table::Table;
use crate::decoder::Options;
use crate::error::{Refused, StatementError};
use crate::times::Zone;
use crate::types::Projection;
use crate::writer::{Target, Writer};

/// A statement, and what came of the records that it read.
#[derive(Debug)]
pub(crate) struct Statement {
    program: Program,
    joins: Option<Box<Joins>>,
    pub(crate) paths: Paths,
    pub(crate) nulls: Nulls,
    seen: Outcome,
    filtered: u64,
    /// Names that a SET states and nobody asked for.
    others: Vec<String>,
    /// What the expressions of a record make; a lock that nothing waits for, because arenas are not shared.
    arena: Mutex<Bump>,
}

impl Clone for Statement {
    fn clone(&self) -> Self {
        let Self { program, joins, paths, nulls, seen, filtered, others, arena: _ } = self;
        let (program, paths, nulls, others) = (program.clone(), paths.clone(), nulls.clone(), others.clone());
        let joins = joins.clone();
        Self { program, joins, paths, nulls, seen: *seen, filtered: *filtered, others, arena: Mutex::default() }
    }
}

impl AsRef<Self> for Statement {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Statement {
    /// Compiles a statement for a format whose fields are read so. `clocks` are those of the zones that it names, and `tables`
    /// those that it joins.
    pub(crate) fn compile(
        definition: &DefinitionForm,
        options: &Options,
        reading: Reading,
        (clocks, tables, symbols): (HashMap<String, Zone>, &Tables, &SharedSymbols),
    ) -> Result<Self, StatementError> {
        let context = Context { ticks_per_second: definition.ticks_per_second()?, zones: clocks };
        let attributes = Projection::new(options.attributes.clone(), options.declared.clone());
        let stated = definition.clauses.iter().flat_map(|clause| &clause.sets).chain(&definition.sets);
        let stated = stated.chain(definition.joins.iter().flat_map(|join| &join.sets));
        let mut others: Vec<String> = Vec::new();
        for (name, _) in stated {
            if !options.attributes.contains(name) && !others.contains(name) {
                others.push(name.clone());
            }
        }
        let mut paths = Paths::with(joined_columns(definition));
        let program = Program::compile(definition, attributes, reading, &mut paths, (&context, symbols))?;
        let joins = Joins::compile(definition, &mut paths, &context, tables, program.reads_rows())?.map(Box::new);
        let nulls = Nulls::new(definition.nulls.iter().chain(&options.nulls));
        Ok(Self { program, joins, paths, nulls, seen: Outcome::default(), filtered: 0, others, arena: Mutex::default() })
    }

    /// Writes what a record gives. `read` gives the values of its paths, whose slots are missing at first.
    #[inline]
    pub(crate) fn write<'r>(
        &'r mut self,
        (writer, target): (&mut Writer, &mut Target<'_>),
        (line, raw): (u64, &'r [u8]),
        read: impl FnOnce(&mut [ValueRef<'r>], &'r Bump, &Nulls) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        if let Some(joins) = &mut self.joins {
            joins.refresh();
        }
        let Self { program, joins, paths, nulls, seen, filtered, arena, .. } = self;
        let arena = arena.get_mut().unwrap_or_else(PoisonError::into_inner);
        arena.reset();
        let arena = &*arena;
        let count = paths.all().len();
        let mut few: [ValueRef<'r>; SLOTS] = [ValueRef::Null; SLOTS];
        let slots = match few.get_mut(..count) {
            Some(few) => few,
            None => arena.alloc_slice_fill_copy(count, ValueRef::Null),
        };
        read(slots, arena, nulls)?;
        if let Some(joins) = &*joins {
            join(joins, program, slots, arena);
        }
        let outcome = program.write((slots, arena), writer, target, (line, raw))?;
        *filtered += u64::from(outcome.is_filtered);
        seen.has_ids |= outcome.has_ids;
        seen.has_operations |= outcome.has_operations;
        Ok(())
    }

    /// What all records of these columns give; None if each needs a look of its own.
    pub(crate) fn bulk(
        &mut self,
        columns: (Table<'_>, &[Option<usize>]),
        writer: &mut Writer,
        target: &mut Target<'_>,
    ) -> Option<Bulk> {
        let (table, places) = columns;
        if self.joins.is_some() {
            return None;
        }
        let (bulk, has_ids) = self.program.bulk(Columns { table, places, nulls: &self.nulls }, writer, target)?;
        self.seen.has_ids |= has_ids;
        Some(bulk)
    }

    /// Whether the time of a record is read of a slot.
    pub(crate) fn is_time(&self, slot: usize) -> bool {
        self.program.is_time(slot)
    }

    /// Lets texts of that slot be times of ISO 8601, whatever the statement says of how times are written, or not.
    pub(crate) fn read_moments(&mut self, are_moments: bool) {
        self.program.read_moments(are_moments);
    }

    /// Records that are not of the stream.
    pub(crate) fn filtered(&self) -> u64 {
        self.filtered
    }

    /// Whether the stream gives ids: by what the statement says, or by a record so far.
    pub(crate) fn has_ids(&self) -> bool {
        self.program.has_ids() || self.seen.has_ids
    }

    /// Whether the stream gives deletions, as [`has_ids`](Self::has_ids).
    pub(crate) fn has_operations(&self) -> bool {
        self.program.has_operations() || self.seen.has_operations
    }

    /// Whether a date so far named no zone.
    pub(crate) fn had_zoneless(&self) -> bool {
        self.program.had_zoneless()
    }

    /// Attributes that the statement states and nobody asked for.
    pub(crate) fn others(&self) -> &[String] {
        &self.others
    }
}

/// Gives a record its rows. One that the condition leaves out is looked up only if the condition reads a row.
#[inline(never)]
fn join<'r>(joins: &'r Joins, program: &'r Program, slots: &mut [ValueRef<'r>], arena: &'r Bump) {
    if joins.precede_condition() || program.is_of_stream(slots, arena) {
        joins.fill(slots, arena, |slots| program.time_of(slots, arena));
    }
}

/// Paths of a statement that need no memory of their own.
const SLOTS: usize = 8;
