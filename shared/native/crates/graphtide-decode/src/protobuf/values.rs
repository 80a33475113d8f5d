//! Values of a message as bytes have them: those on the paths of a statement are read, the others are passed over.
//!
//! What is written twice counts as it came last, and messages are merged, as Protobuf has it. Cost: each byte a constant number
//! of times for each message that it stands in.

use bumpalo::Bump;
use graphtide_graph::value::ValueRef;

use super::descriptor::Kind;
use super::plan::{Items, Node, Pick, Plan, Reads, State};
use super::wire::{DEEP, DEEPEST, Flaw, Wire, field, fixed, varint, zigzag};
use crate::error::RowError;
use crate::statement::bytes::{duration_text, hex_text, second_text};
use crate::statement::nulls::Nulls;

/// One pass over a record.
pub(super) struct Reading<'r, 'b> {
    pub(super) plans: &'r [Plan],
    pub(super) states: &'r mut [State],
    /// The number of the record, from 1.
    pub(super) record: u64,
    pub(super) slots: &'r mut [ValueRef<'b>],
    pub(super) arena: &'b Bump,
    pub(super) nulls: &'r Nulls,
    /// What is wrong with a value that some path reads; what follows it can be read.
    pub(super) refused: Option<RowError>,
}

impl<'r, 'b> Reading<'r, 'b> {
    /// Reads a message by its plan.
    pub(super) fn message(&mut self, plan: usize, mut bytes: &'b [u8], depth: usize) -> Result<(), Flaw> {
        if depth > DEEPEST {
            return Err(DEEP);
        }
        let (state, plans) = (&mut self.states[plan], self.plans);
        if std::mem::replace(&mut state.seen, self.record) != self.record {
            state.counts.fill(0);
            state.found.iter_mut().for_each(|found| found.fill(false));
            self.begin(&plans[plan]);
        }
        while !bytes.is_empty() {
            let (number, value) = field(&mut bytes)?;
            if let Ok(part) = plans[plan].parts.binary_search_by_key(&number, |part| part.number) {
                self.part(plan, part, value, depth)?;
            }
        }
        Ok(())
    }

    /// Gives fields that are always there the default of their type.
    fn begin(&mut self, plan: &Plan) {
        for part in &plan.parts {
            if let Reads::Value(node) = &part.reads
                && !part.has_presence
            {
                let value = self.default(&part.kind);
                self.keep(&node.slots, value);
            }
        }
    }

    fn default(&self, kind: &Kind) -> ValueRef<'b> {
        match kind {
            Kind::Double | Kind::Float => ValueRef::Float(0.0),
            Kind::Bool => ValueRef::Bool(false),
            Kind::String | Kind::Bytes => ValueRef::Text(""),
            Kind::Enum { symbols, .. } => {
                symbols.get(&0).map_or(ValueRef::Int(0), |name| ValueRef::Text(self.arena.alloc_str(name)))
            }
            Kind::Message(_) | Kind::Group(_) | Kind::Map(..) | Kind::Timestamp | Kind::Duration => ValueRef::Null,
            _ => ValueRef::Int(0),
        }
    }

    fn part(&mut self, plan: usize, part: usize, wire: Wire<'b>, depth: usize) -> Result<(), Flaw> {
        let plans: &'r [Plan] = self.plans;
        let own = &plans[plan].parts[part];
        if !is_written_as(&own.kind, own.is_repeated, wire) {
            return Ok(());
        }
        for other in &own.ends {
            self.forget_reads(&plans[plan].parts[*other].reads);
        }
        match &own.reads {
            Reads::Nothing => Ok(()),
            Reads::Value(node) => self.value(&own.kind, node, wire, depth),
            Reads::Items(items) => self.items((plan, part), &own.kind, items, wire, depth),
            Reads::Keys(keys) => self.entry(&own.kind, keys, wire, depth),
        }
    }

    fn value(&mut self, kind: &Kind, node: &Node, wire: Wire<'b>, depth: usize) -> Result<(), Flaw> {
        match (node.plan, wire) {
            (Some(plan), Wire::Bytes(bytes) | Wire::Group(bytes)) => self.message(plan, bytes, depth + 1),
            (Some(_), _) => Ok(()),
            (None, wire) => {
                if let Some(value) = self.scalar(kind, wire)? {
                    self.keep(&node.slots, value);
                }
                Ok(())
            }
        }
    }

    fn items(
        &mut self,
        (plan, part): (usize, usize),
        kind: &Kind,
        items: &Items,
        wire: Wire<'b>,
        depth: usize,
    ) -> Result<(), Flaw> {
        let one = |reading: &mut Self, wire| {
            // A value that is none of a closed enum takes no place.
            if matches!(kind, Kind::Enum { .. }) && reading.scalar(kind, wire)?.is_none() {
                return Ok(());
            }
            let count = &mut reading.states[plan].counts[part];
            let place = *count;
            *count = count.saturating_add(1);
            for (number, pick) in items.picks.iter().enumerate() {
                if !reading.states[plan].found[part][number] && reading.meets(kind, pick, wire, depth)? {
                    reading.states[plan].found[part][number] = true;
                    reading.value(kind, &pick.node, wire, depth)?;
                }
            }
            match items.at.iter().find(|(wanted, _)| *wanted == place) {
                Some((_, node)) => reading.value(kind, node, wire, depth),
                None => Ok(()),
            }
        };
        match (wire, packed_as(kind)) {
            (Wire::Bytes(mut bytes), Some(packed)) => {
                while !bytes.is_empty() {
                    let wire = packed.take(&mut bytes)?;
                    one(self, wire)?;
                }
                Ok(())
            }
            (wire, _) => one(self, wire),
        }
    }

    /// Whether an item has the field of a condition with its text.
    fn meets(&mut self, kind: &Kind, pick: &Pick, wire: Wire<'b>, depth: usize) -> Result<bool, Flaw> {
        let Self { plans, record, arena, nulls, .. } = *self;
        let mut value = [ValueRef::Null];
        let states = &mut *self.states;
        let mut reading = Reading { plans, states, record, slots: &mut value, arena, nulls, refused: None };
        reading.forget(&pick.field);
        reading.value(kind, &pick.field, wire, depth)?;
        Ok(value == [ValueRef::Text(&pick.text)])
    }

    /// Reads an entry of a map.
    fn entry(&mut self, kind: &Kind, wanted: &[(Box<str>, Node)], wire: Wire<'b>, depth: usize) -> Result<(), Flaw> {
        let (Kind::Map(key_kind, value_kind), Wire::Bytes(mut bytes)) = (kind, wire) else { return Ok(()) };
        let (mut key, mut value) = (self.default(key_kind), None);
        while !bytes.is_empty() {
            match field(&mut bytes)? {
                (1, wire) if is_written_as(key_kind, false, wire) => key = self.scalar(key_kind, wire)?.unwrap_or(key),
                (2, wire) if is_written_as(value_kind, false, wire) => value = Some(wire),
                _ => {}
            }
        }
        let text = match key {
            ValueRef::Text(text) => text,
            ValueRef::Int(number) => self.arena.alloc_str(itoa::Buffer::new().format(number)),
            ValueRef::Bool(value) => {
                if value {
                    "true"
                } else {
                    "false"
                }
            }
            _ => return Ok(()),
        };
        let Some((_, node)) = wanted.iter().find(|(name, _)| **name == *text) else { return Ok(()) };
        self.forget(node);
        match value {
            Some(wire) => self.value(value_kind, node, wire, depth),
            None if node.plan.is_some() => self.value(value_kind, node, Wire::Bytes(&[]), depth),
            None => {
                let value = self.default(value_kind);
                self.keep(&node.slots, value);
                Ok(())
            }
        }
    }

    fn forget_reads(&mut self, reads: &Reads) {
        match reads {
            Reads::Nothing => {}
            Reads::Value(node) => self.forget(node),
            Reads::Items(items) => {
                items.at.iter().for_each(|(_, node)| self.forget(node));
                items.picks.iter().for_each(|pick| self.forget(&pick.node));
            }
            Reads::Keys(keys) => keys.iter().for_each(|(_, node)| self.forget(node)),
        }
    }

    /// Makes all missing that a node reads, as if it had not come.
    fn forget(&mut self, node: &Node) {
        for slot in &node.slots {
            self.slots[*slot] = ValueRef::Null;
        }
        if let Some(plan) = node.plan {
            self.states[plan].seen = 0;
            let plans: &'r [Plan] = self.plans;
            for part in &plans[plan].parts {
                self.forget_reads(&part.reads);
            }
        }
    }

    /// The value of a field; None for one that its enum does not have.
    fn scalar(&mut self, kind: &Kind, wire: Wire<'b>) -> Result<Option<ValueRef<'b>>, Flaw> {
        let arena = self.arena;
        Ok(Some(match (kind, wire) {
            (Kind::Double, Wire::Fixed64(bits)) => float(f64::from_bits(bits)),
            (Kind::Float, Wire::Fixed32(bits)) => float(f64::from(f32::from_bits(bits))),
            (Kind::Int64, Wire::Varint(number)) | (Kind::Sfixed64, Wire::Fixed64(number)) => {
                ValueRef::Int(number.cast_signed())
            }
            (Kind::Uint64, Wire::Varint(number)) | (Kind::Fixed64, Wire::Fixed64(number)) => unsigned(number),
            (Kind::Int32, Wire::Varint(number)) => ValueRef::Int(i64::from(number as i32)),
            (Kind::Uint32, Wire::Varint(number)) => ValueRef::Int(i64::from(number as u32)),
            (Kind::Sint64, Wire::Varint(number)) => ValueRef::Int(zigzag(number)),
            (Kind::Sint32, Wire::Varint(number)) => ValueRef::Int(zigzag(u64::from(number as u32))),
            (Kind::Fixed32, Wire::Fixed32(number)) => ValueRef::Int(i64::from(number)),
            (Kind::Sfixed32, Wire::Fixed32(number)) => ValueRef::Int(i64::from(number.cast_signed())),
            (Kind::Bool, Wire::Varint(number)) => ValueRef::Bool(number != 0),
            (Kind::String, Wire::Bytes(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => ValueRef::Text(text),
                Err(error) => self.refuse(RowError::NotUtf8 { offset: error.valid_up_to() }),
            },
            (Kind::Bytes, Wire::Bytes(bytes)) => ValueRef::Text(hex_text(bytes, arena)),
            (Kind::Enum { symbols, is_closed }, Wire::Varint(number)) => match symbols.get(&(number as i32)) {
                Some(symbol) => ValueRef::Text(arena.alloc_str(symbol)),
                None if *is_closed => return Ok(None),
                None => ValueRef::Int(i64::from(number as i32)),
            },
            (Kind::Timestamp, Wire::Bytes(bytes)) => {
                let (seconds, nanos) = of_seconds(bytes)?;
                let text = if (0..1_000_000_000).contains(&nanos) {
                    second_text(seconds, nanos.into(), (9, true), arena)
                } else {
                    None
                };
                text.map_or_else(|| self.refuse(RowError::NoMoment), ValueRef::Text)
            }
            (Kind::Duration, Wire::Bytes(bytes)) => {
                let (seconds, nanos) = of_seconds(bytes)?;
                duration_text(seconds, nanos, arena).map_or(ValueRef::Null, ValueRef::infer)
            }
            _ => ValueRef::Null,
        }))
    }

    #[cold]
    fn refuse(&mut self, error: RowError) -> ValueRef<'b> {
        self.refused.get_or_insert(error);
        ValueRef::Null
    }

    #[inline]
    fn keep(&mut self, slots: &[usize], value: ValueRef<'b>) {
        let value = match value {
            ValueRef::Text(text) if self.nulls.contain(text) => ValueRef::Null,
            value => value,
        };
        for slot in slots {
            self.slots[*slot] = value;
        }
    }
}

/// Whether a field of this type is written so; what is written otherwise is a field that nobody knows.
pub(super) fn is_written_as(kind: &Kind, is_repeated: bool, wire: Wire<'_>) -> bool {
    let packed = packed_as(kind);
    match wire {
        Wire::Varint(_) => packed == Some(Packed::Varint),
        Wire::Fixed64(_) => packed == Some(Packed::Fixed64),
        Wire::Fixed32(_) => packed == Some(Packed::Fixed32),
        Wire::Bytes(_) => (packed.is_none() || is_repeated) && !matches!(kind, Kind::Group(_)),
        Wire::Group(_) => matches!(kind, Kind::Group(_)),
    }
}

/// How the values of a type are written, where several may stand in one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packed {
    Varint,
    Fixed64,
    Fixed32,
}

impl Packed {
    pub(super) fn take<'b>(self, bytes: &mut &'b [u8]) -> Result<Wire<'b>, Flaw> {
        Ok(match self {
            Self::Varint => Wire::Varint(varint(bytes)?),
            Self::Fixed64 => Wire::Fixed64(u64::from_le_bytes(fixed(bytes)?)),
            Self::Fixed32 => Wire::Fixed32(u32::from_le_bytes(fixed(bytes)?)),
        })
    }
}

pub(super) fn packed_as(kind: &Kind) -> Option<Packed> {
    Some(match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => Packed::Fixed64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => Packed::Fixed32,
        Kind::Int64
        | Kind::Uint64
        | Kind::Int32
        | Kind::Uint32
        | Kind::Sint64
        | Kind::Sint32
        | Kind::Bool
        | Kind::Enum { .. } => Packed::Varint,
        _ => return None,
    })
}

/// A number; what is none is missing, as in tables.
fn float<'b>(number: f64) -> ValueRef<'b> {
    if number.is_nan() { ValueRef::Null } else { ValueRef::Float(number) }
}

/// Past 64 bits signed, the nearest number.
fn unsigned<'b>(number: u64) -> ValueRef<'b> {
    i64::try_from(number).map_or(ValueRef::Float(number as f64), ValueRef::Int)
}

/// The seconds and nanoseconds of a timestamp or a duration.
fn of_seconds(mut bytes: &[u8]) -> Result<(i64, i32), Flaw> {
    let (mut seconds, mut nanos) = (0, 0);
    while !bytes.is_empty() {
        match field(&mut bytes)? {
            (1, Wire::Varint(number)) => seconds = number.cast_signed(),
            (2, Wire::Varint(number)) => nanos = number as i32,
            _ => {}
        }
    }
    Ok((seconds, nanos))
}
