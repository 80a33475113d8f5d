//! Values of Avro as bytes have them: those on the paths of a statement are read, the others are passed over.
//!
//! Nothing is allocated by what a length or a count says. Cost: linear in the bytes, whatever the schema says. Values that take
//! no bytes cost nothing, and records are at most [`DEEPEST`] deep in each other.

use bumpalo::Bump;
use graphtide_graph::value::ValueRef;
use smallvec::{SmallVec, smallvec};

use super::plan::{Pick, Plans};
use super::schema::{Kind, Place, Schema};
use crate::error::RowError;
use crate::statement::bytes::{date_text, decimal_text, hex_text, moment_text, uuid_text};
use crate::statement::nulls::Nulls;
pub(crate) use crate::varint::Flaw;
use crate::varint::{CUT, varint, zigzag};

/// How deep values may stand in each other.
const DEEPEST: usize = 128;

const DEEP: Flaw = "its values stand more than 128 deep in each other";

/// Takes an integer from the beginning of bytes; numbers near 0, also below it, are short.
#[inline]
pub(crate) fn long(bytes: &mut &[u8]) -> Result<i64, Flaw> {
    varint(bytes).map(zigzag)
}

/// Takes so many bytes.
#[inline]
fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Result<&'b [u8], Flaw> {
    let (taken, rest) = bytes.split_at_checked(count).ok_or(CUT)?;
    *bytes = rest;
    Ok(taken)
}

/// Takes bytes that their length stands before.
#[inline]
pub(crate) fn prefixed<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], Flaw> {
    let length = usize::try_from(long(bytes)?).map_err(|_| "a length is negative")?;
    take(bytes, length)
}

/// Takes how many items follow, 0 at the end; a count that is negative has the size of the items behind it.
pub(crate) fn count(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    let found = long(bytes)?;
    if found < 0 {
        long(bytes)?;
    }
    Ok(found.unsigned_abs())
}

/// Takes the place of the branch of a union.
#[inline]
pub(crate) fn branch(bytes: &mut &[u8], branches: usize) -> Result<usize, Flaw> {
    usize::try_from(long(bytes)?).ok().filter(|branch| *branch < branches).ok_or("a union has no such branch")
}

/// Passes a value.
pub(crate) fn skip(schema: &Schema, place: Place, bytes: &mut &[u8], depth: usize) -> Result<(), Flaw> {
    if depth > DEEPEST {
        return Err(DEEP);
    }
    if schema.is_empty(place) {
        return Ok(());
    }
    match schema.at(place) {
        Kind::Null => {}
        Kind::Boolean => drop(take(bytes, 1)?),
        Kind::Int | Kind::Long | Kind::Date | Kind::Timestamp { .. } | Kind::Enum(_) => drop(long(bytes)?),
        Kind::Float => drop(take(bytes, 4)?),
        Kind::Double => drop(take(bytes, 8)?),
        Kind::Bytes | Kind::String | Kind::Decimal { size: None, .. } => drop(prefixed(bytes)?),
        Kind::Fixed(size) | Kind::Decimal { size: Some(size), .. } => drop(take(bytes, *size)?),
        Kind::Uuid => drop(take(bytes, 16)?),
        Kind::Array(items) => loop {
            let count = count(bytes)?;
            if count == 0 {
                break;
            }
            if !schema.is_empty(*items) {
                for _ in 0..count {
                    skip(schema, *items, bytes, depth + 1)?;
                }
            }
        },
        Kind::Map(values) => loop {
            let count = count(bytes)?;
            if count == 0 {
                break;
            }
            for _ in 0..count {
                prefixed(bytes)?;
                skip(schema, *values, bytes, depth + 1)?;
            }
        },
        Kind::Union(branches) => {
            let place = branches[branch(bytes, branches.len())?];
            skip(schema, place, bytes, depth + 1)?;
        }
        Kind::Record(fields) => {
            for (_, field) in fields {
                skip(schema, *field, bytes, depth + 1)?;
            }
        }
    }
    Ok(())
}

/// One pass over a record.
pub(crate) struct Reading<'r, 'b> {
    pub(crate) schema: &'r Schema,
    pub(crate) plans: &'r Plans,
    pub(crate) slots: &'r mut [ValueRef<'b>],
    pub(crate) arena: &'b Bump,
    pub(crate) nulls: &'r Nulls,
    /// What is wrong with a value that some path reads; what follows it can be read.
    pub(crate) refused: Option<RowError>,
}

impl<'b> Reading<'_, 'b> {
    /// Reads a value by its plan.
    pub(crate) fn value(&mut self, place: Place, plan: usize, bytes: &mut &'b [u8], depth: usize) -> Result<(), Flaw> {
        if depth > DEEPEST {
            return Err(DEEP);
        }
        match self.schema.at(place) {
            Kind::Record(fields) => {
                for (field, (_, place)) in fields.iter().enumerate() {
                    match self.plans.at(plan).parts[field] {
                        Some(plan) => self.value(*place, plan, bytes, depth + 1)?,
                        None => skip(self.schema, *place, bytes, depth + 1)?,
                    }
                }
            }
            Kind::Union(branches) => {
                let branch = branch(bytes, branches.len())?;
                match self.plans.at(plan).parts[branch] {
                    Some(plan) => self.value(branches[branch], plan, bytes, depth + 1)?,
                    None => skip(self.schema, branches[branch], bytes, depth + 1)?,
                }
            }
            Kind::Array(items) => self.array(*items, plan, bytes, depth)?,
            Kind::Map(values) => self.map(*values, plan, bytes, depth)?,
            kind => {
                let value = self.scalar(kind, bytes)?;
                self.keep(plan, value);
            }
        }
        Ok(())
    }

    fn array(&mut self, items: Place, plan: usize, bytes: &mut &'b [u8], depth: usize) -> Result<(), Flaw> {
        let is_empty = self.schema.is_empty(items);
        let mut position = 0_u32;
        let mut found: SmallVec<[bool; 8]> = smallvec![false; self.plans.at(plan).picks.len()];
        loop {
            let count = count(bytes)?;
            if count == 0 {
                return Ok(());
            }
            for _ in 0..if is_empty { 0 } else { count } {
                self.pick(items, plan, (*bytes, &mut found), depth)?;
                let wanted = self.plans.at(plan).items.iter().find(|(wanted, _)| *wanted == position).map(|found| found.1);
                match wanted {
                    Some(plan) => self.value(items, plan, bytes, depth + 1)?,
                    None => skip(self.schema, items, bytes, depth + 1)?,
                }
                position = position.saturating_add(1);
            }
        }
    }

    /// Reads the item that comes next for each condition that it is the first to meet.
    fn pick(&mut self, items: Place, plan: usize, (bytes, found): (&'b [u8], &mut [bool]), depth: usize) -> Result<(), Flaw> {
        let plans = self.plans;
        for (pick, is_found) in plans.at(plan).picks.iter().zip(found) {
            if !*is_found && self.meets(items, pick, bytes, depth)? {
                *is_found = true;
                self.value(items, pick.plan, &mut { bytes }, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether an item has the field of a condition with its text.
    fn meets(&self, items: Place, pick: &Pick, mut bytes: &'b [u8], depth: usize) -> Result<bool, Flaw> {
        let Self { schema, plans, arena, nulls, .. } = *self;
        let mut value = [ValueRef::Null];
        let mut reading = Reading { schema, plans, slots: &mut value, arena, nulls, refused: None };
        reading.value(items, pick.field, &mut bytes, depth + 1)?;
        Ok(value == [ValueRef::Text(&pick.text)])
    }

    fn map(&mut self, values: Place, plan: usize, bytes: &mut &'b [u8], depth: usize) -> Result<(), Flaw> {
        loop {
            let count = count(bytes)?;
            if count == 0 {
                return Ok(());
            }
            for _ in 0..count {
                let key = prefixed(bytes)?;
                let wanted = self.plans.at(plan).keys.iter().find(|(wanted, _)| wanted.as_bytes() == key).map(|found| found.1);
                match wanted {
                    Some(plan) => {
                        // Of a key that comes twice the last counts.
                        self.forget(plan);
                        self.value(values, plan, bytes, depth + 1)?;
                    }
                    None => skip(self.schema, values, bytes, depth + 1)?,
                }
            }
        }
    }

    /// Makes all missing that a plan reads.
    fn forget(&mut self, plan: usize) {
        let plan = self.plans.at(plan);
        for slot in &plan.slots {
            self.slots[*slot] = ValueRef::Null;
        }
        let of_items = plan.items.iter().map(|item| &item.1).chain(plan.picks.iter().map(|pick| &pick.plan));
        let below = plan.parts.iter().flatten().chain(plan.keys.iter().map(|key| &key.1)).chain(of_items);
        for plan in below {
            self.forget(*plan);
        }
    }

    fn scalar(&mut self, kind: &Kind, bytes: &mut &'b [u8]) -> Result<ValueRef<'b>, Flaw> {
        let arena = self.arena;
        Ok(match kind {
            Kind::Boolean => match take(bytes, 1)? {
                [0] => ValueRef::Bool(false),
                [1] => ValueRef::Bool(true),
                _ => return Err("a truth value is neither 0 nor 1"),
            },
            Kind::Int => {
                let number = long(bytes)?;
                i32::try_from(number).map_err(|_| "an int is longer than 32 bits")?;
                ValueRef::Int(number)
            }
            Kind::Long => ValueRef::Int(long(bytes)?),
            Kind::Float => float(f64::from(f32::from_le_bytes(take(bytes, 4)?.try_into().map_err(|_| CUT)?))),
            Kind::Double => float(f64::from_le_bytes(take(bytes, 8)?.try_into().map_err(|_| CUT)?)),
            Kind::String => self.text(prefixed(bytes)?),
            Kind::Bytes => ValueRef::Text(hex_text(prefixed(bytes)?, arena)),
            Kind::Fixed(size) => ValueRef::Text(hex_text(take(bytes, *size)?, arena)),
            Kind::Uuid => ValueRef::Text(uuid_text(take(bytes, 16)?, arena)),
            Kind::Enum(symbols) => {
                let place = usize::try_from(long(bytes)?).ok();
                let symbol = place.and_then(|place| symbols.get(place)).ok_or("an enum has no such symbol")?;
                ValueRef::Text(arena.alloc_str(symbol))
            }
            Kind::Decimal { places, size } => {
                let digits = match size {
                    Some(size) => take(bytes, *size)?,
                    None => prefixed(bytes)?,
                };
                match decimal_text(digits, *places, arena) {
                    Some(text) => ValueRef::infer(text),
                    None => self.refuse(RowError::LongDecimal),
                }
            }
            Kind::Date => {
                let days = long(bytes)?;
                date_text(days, arena).map_or_else(|| self.refuse(RowError::NoMoment), ValueRef::Text)
            }
            Kind::Timestamp { decimals, is_utc } => {
                let units = long(bytes)?;
                let text = moment_text(units, *decimals, *is_utc, arena);
                text.map_or_else(|| self.refuse(RowError::NoMoment), ValueRef::Text)
            }
            Kind::Null | Kind::Array(_) | Kind::Map(_) | Kind::Union(_) | Kind::Record(_) => ValueRef::Null,
        })
    }

    fn text(&mut self, bytes: &'b [u8]) -> ValueRef<'b> {
        match std::str::from_utf8(bytes) {
            Ok(text) => ValueRef::Text(text),
            Err(error) => self.refuse(RowError::NotUtf8 { offset: error.valid_up_to() }),
        }
    }

    #[cold]
    fn refuse(&mut self, error: RowError) -> ValueRef<'b> {
        self.refused.get_or_insert(error);
        ValueRef::Null
    }

    #[inline]
    fn keep(&mut self, plan: usize, value: ValueRef<'b>) {
        let value = match value {
            ValueRef::Text(text) if self.nulls.contain(text) => ValueRef::Null,
            value => value,
        };
        for slot in &self.plans.at(plan).slots {
            self.slots[*slot] = value;
        }
    }
}

/// A number; what is none is missing, as in tables.
fn float<'b>(number: f64) -> ValueRef<'b> {
    if number.is_nan() { ValueRef::Null } else { ValueRef::Float(number) }
}
