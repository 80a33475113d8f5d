//! Edges of the window that came to the store late: nobody wanted them when they came.
//!
//! Invariant: once settled, `order` names each slot in use once, in order of (ts, when it was added). A slot that was left is
//! given to the next.
//! Cost: O(1) to add and to read, O(late edges) to settle, O(expired) to expire.

use std::collections::VecDeque;

use super::{EdgeRef, LATE, StoredEdge};
use crate::Time;
use crate::value::OwnedValue;

/// An edge that came late, with what it keeps for itself.
#[derive(Debug)]
pub(super) struct OutOfOrderEdge {
    pub(super) stored: StoredEdge,
    /// How many edges had come with it, where that is known.
    pub(super) edges: i64,
    /// The id, if it is a text.
    pub(super) text: Option<Box<str>>,
    pub(super) attributes: Box<[OwnedValue]>,
}

/// Edges that came late.
#[derive(Debug, Default)]
pub(super) struct OutOfOrderEdges {
    slots: Vec<OutOfOrderEdge>,
    free: Vec<u32>,
    order: VecDeque<u32>,
    /// Added since it was settled.
    fresh: Vec<u32>,
}

impl OutOfOrderEdges {
    pub(super) fn add(&mut self, stored: StoredEdge, text: Option<Box<str>>, attributes: Box<[OwnedValue]>) -> EdgeRef {
        let edge = OutOfOrderEdge { stored, edges: i64::MIN, text, attributes };
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = edge;
            slot
        } else {
            self.slots.push(edge);
            self.slots.len() as u32 - 1
        };
        self.fresh.push(slot);
        EdgeRef(LATE | slot)
    }

    /// Puts what was added in its place.
    pub(super) fn settle(&mut self) {
        let time = |slot: u32| self.slots[slot as usize].stored.ts;
        self.fresh.sort_by_key(|&slot| time(slot));
        let mut fresh = std::mem::take(&mut self.fresh).into_iter().peekable();
        let mut order = VecDeque::with_capacity(self.order.len() + fresh.len());
        for &slot in &self.order {
            order.extend(std::iter::from_fn(|| fresh.next_if(|&new| time(new) < time(slot))));
            order.push_back(slot);
        }
        order.extend(fresh);
        self.order = order;
    }

    pub(super) fn get(&self, edge: EdgeRef) -> &OutOfOrderEdge {
        &self.slots[(edge.0 & !LATE) as usize]
    }

    pub(super) fn get_mut(&mut self, edge: EdgeRef) -> &mut OutOfOrderEdge {
        &mut self.slots[(edge.0 & !LATE) as usize]
    }

    /// All, oldest first.
    pub(super) fn refs(&self) -> impl Iterator<Item = EdgeRef> {
        self.order.iter().map(|&slot| EdgeRef(LATE | slot))
    }

    /// Those of a time.
    pub(super) fn of_time(&self, ts: Time) -> impl Iterator<Item = EdgeRef> {
        let time = |slot: &u32| self.slots[*slot as usize].stored.ts;
        let start = self.order.partition_point(|slot| time(slot) < ts);
        self.order.range(start..).take_while(move |slot| time(slot) == ts).map(|&slot| EdgeRef(LATE | slot))
    }

    pub(super) fn oldest(&self) -> Option<(EdgeRef, &StoredEdge)> {
        let edge = EdgeRef(LATE | *self.order.front()?);
        Some((edge, &self.get(edge).stored))
    }

    pub(super) fn pop_oldest(&mut self) -> Option<StoredEdge> {
        let slot = self.order.pop_front()?;
        self.free.push(slot);
        let edge = &mut self.slots[slot as usize];
        (edge.text, edge.attributes) = (None, Box::default());
        let stored = edge.stored;
        if self.order.is_empty() {
            // Seldom is there a late edge at all.
            *self = Self::default();
        }
        Some(stored)
    }

    pub(super) fn widen(&mut self, width: usize) {
        for edge in &mut self.slots {
            let mut attributes = std::mem::take(&mut edge.attributes).into_vec();
            attributes.resize(width, OwnedValue::Null);
            edge.attributes = attributes.into();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        let own = |edge: &OutOfOrderEdge| edge.text.as_deref().map_or(0, str::len) + size_of_val(&*edge.attributes);
        self.slots.iter().map(|edge| size_of::<OutOfOrderEdge>() + own(edge)).sum::<usize>()
            + self.order.len() * size_of::<u32>()
    }
}
