//! The way to the records in a value of Avro, and what is made of each.

use bumpalo::Bump;
use graphtide_graph::value::ValueRef;

use super::plan::Plans;
use super::schema::{Kind, Place, Schema};
use super::values::{Flaw, Reading, branch, count, prefixed, skip};
use crate::error::RowError;
use crate::statement::around::TreeAround;
use crate::statement::paths::Step;
use crate::statement::reading::Statement;
use crate::statement::tree::PathTree;
use crate::writer::{Target, Writer};

/// What is written.
const ROOT: Place = 0;
const DEEPEST: usize = 128;

/// One pass over a value with records in it.
pub(super) struct Walk<'w, 't> {
    pub(super) statement: &'w mut Statement,
    pub(super) writer: &'w mut Writer,
    pub(super) target: &'w mut Target<'t>,
    pub(super) tree: &'w PathTree,
    pub(super) around: &'w mut [TreeAround],
    pub(super) schema: &'w Schema,
    pub(super) plans: &'w mut Plans,
    /// The line of what is read, and the ordinal of its first record: in a file each record is a line.
    pub(super) begun: (u64, u64),
    /// What a dead letter has, and what a record keeps; None for the bytes of the record alone.
    pub(super) whole: Option<&'w [u8]>,
    /// Whether a path leads to the records: then one that is missing is none.
    pub(super) has_path: bool,
}

impl Walk<'_, '_> {
    /// Writes the records that these steps lead to, as [`JsonObjects`](crate::json_objects::JsonObjects) finds them.
    pub(super) fn records(&mut self, steps: &[Step], bytes: &mut &[u8]) -> Result<(), Flaw> {
        self.walk(ROOT, steps, bytes, 0)
    }

    fn line(&self) -> u64 {
        let (line, first) = self.begun;
        if self.whole.is_some() { line } else { line + (self.writer.ordinal() - first) }
    }

    fn walk(&mut self, place: Place, steps: &[Step], bytes: &mut &[u8], depth: usize) -> Result<(), Flaw> {
        if depth > DEEPEST {
            return Err("its values stand more than 128 deep in each other");
        }
        let schema = self.schema;
        match (schema.at(place), steps) {
            (Kind::Union(branches), _) => {
                let branch = branch(bytes, branches.len())?;
                self.walk(branches[branch], steps, bytes, depth + 1)
            }
            (Kind::Array(items), _) => self.list(*items, steps, bytes, depth),
            (Kind::Record(fields), [Step::Name(wanted), rest @ ..]) => {
                self.read_around(place, steps, bytes, depth)?;
                for (name, field) in fields {
                    if name == wanted {
                        self.walk(*field, rest, bytes, depth + 1)?;
                    } else {
                        skip(schema, *field, bytes, depth + 1)?;
                    }
                }
                Ok(())
            }
            (Kind::Map(values), [Step::Name(wanted), rest @ ..]) => {
                self.read_around(place, steps, bytes, depth)?;
                loop {
                    let count = count(bytes)?;
                    if count == 0 {
                        return Ok(());
                    }
                    for _ in 0..count {
                        if prefixed(bytes)? == wanted.as_bytes() {
                            self.walk(*values, rest, bytes, depth + 1)?;
                        } else {
                            skip(schema, *values, bytes, depth + 1)?;
                        }
                    }
                }
            }
            (Kind::Record(_) | Kind::Map(_), []) => self.record(place, bytes),
            (Kind::Null, []) if self.has_path => Ok(()),
            (_, []) => self.reject(place, bytes, depth),
            _ => skip(schema, place, bytes, depth),
        }
    }

    /// Reads what is read of an object around records, from which these steps lead to them.
    fn read_around(&mut self, place: Place, steps: &[Step], bytes: &[u8], depth: usize) -> Result<(), Flaw> {
        let Self { statement, around, schema, plans, .. } = self;
        let Some((level, around)) = TreeAround::find(around, steps) else { return Ok(()) };
        let plan = plans.of_object(level, place, schema, &around.tree);
        let (arena, mut slots) = (Bump::new(), vec![ValueRef::Null; statement.paths.all().len()]);
        let (plans, nulls) = (&**plans, &statement.nulls);
        let mut reading = Reading { schema, plans, slots: &mut slots, arena: &arena, nulls, refused: None };
        let mut rest = bytes;
        reading.value(place, plan, &mut rest, depth)?;
        let is_read = reading.refused.is_none();
        around.values.keep(is_read.then_some(&slots));
        Ok(())
    }

    /// Walks over the items of a list, or to the one that the next step wants.
    fn list(&mut self, items: Place, steps: &[Step], bytes: &mut &[u8], depth: usize) -> Result<(), Flaw> {
        let (wanted, steps) = match steps {
            [Step::Position(wanted), rest @ ..] => (Some(u64::from(*wanted)), rest),
            steps => (None, steps),
        };
        let mut position = 0_u64;
        loop {
            let count = count(bytes)?;
            if count == 0 {
                return Ok(());
            }
            if self.schema.is_empty(items) && count > bytes.len() as u64 {
                return Err("a list has more items than bytes");
            }
            for _ in 0..count {
                if wanted.is_none_or(|wanted| wanted == position) {
                    self.walk(items, steps, bytes, depth + 1)?;
                } else {
                    skip(self.schema, items, bytes, depth + 1)?;
                }
                position += 1;
            }
        }
    }

    /// Writes or rejects a record.
    fn record(&mut self, place: Place, bytes: &mut &[u8]) -> Result<(), Flaw> {
        let line = self.line();
        let Self { statement, writer, target, tree, around, schema, plans, whole, .. } = self;
        let (schema, begin, around) = (*schema, *bytes, &**around);
        let plan = plans.of_object(0, place, schema, tree);
        let plans = &**plans;
        let is_moment = plans.moments().iter().any(|slot| statement.is_time(*slot));
        statement.read_moments(is_moment);
        let raw = match *whole {
            Some(whole) => whole,
            None if writer.keep_raw => {
                let mut end = begin;
                skip(schema, place, &mut end, 0)?;
                &begin[..begin.len() - end.len()]
            }
            None => &[],
        };
        let (mut left, mut flaw) = (0, None);
        let written = statement.write((writer, target), (line, raw), |slots, arena, nulls| {
            let mut rest = begin;
            let mut reading = Reading { schema, plans, slots, arena, nulls, refused: None };
            if let Err(found) = reading.value(place, plan, &mut rest, 0) {
                flaw = Some(found);
                return Err(RowError::NoFields.into());
            }
            left = rest.len();
            let refused = reading.refused;
            around.iter().try_for_each(|around| around.values.give(slots))?;
            refused.map_or(Ok(()), |error| Err(error.into()))
        });
        if let Some(flaw) = flaw {
            return Err(flaw);
        }
        let (own, rest) = begin.split_at(begin.len() - left);
        *bytes = rest;
        if let Err(error) = written {
            writer.reject(target, line, &error, whole.unwrap_or(own));
        }
        Ok(())
    }

    /// Rejects what is not a record.
    fn reject(&mut self, place: Place, bytes: &mut &[u8], depth: usize) -> Result<(), Flaw> {
        let begin = *bytes;
        skip(self.schema, place, bytes, depth)?;
        let own = &begin[..begin.len() - bytes.len()];
        let line = self.line();
        self.writer.reject(self.target, line, &RowError::NoFields, self.whole.unwrap_or(own));
        Ok(())
    }
}
