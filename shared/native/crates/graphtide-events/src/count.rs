//! How many instances an event completes, counted without listing them.
//!
//! The instances that an arriving event completes are simple to count if no predicate relates two slots and no event could fill
//! two. They are all combinations of events that the order allows. Every other event lies in the time before it, whatever is
//! chosen for the rest. So the slots fall into chains, parts that the order says nothing about, and the counts of the chains
//! are multiplied. A chain is counted along its order. For each event of a slot it is the sum over the events of the slot
//! before that are no later.
//! Cost: O(events of the lookback in the slots of chains + log(events) for each single slot).

use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};

use crate::buffers::{Entry, List, between};
use crate::past::Past;
use crate::program::{Shape, ones};

/// The chains of a sub-pattern, each in its order.
#[derive(Debug)]
pub(crate) struct Factors(Vec<Vec<u8>>);

impl Factors {
    /// Returns the chains; none if instances must be listed to be counted.
    pub(crate) fn of(shape: &Shape) -> Option<Self> {
        let is_bare =
            shape.predicates.is_empty() && shape.absences.is_empty() && shape.partition.is_empty() && shape.lists == 0;
        if !is_bare || shape.slots.iter().any(|slot| slot.rivals != 0) {
            return None;
        }
        let mut chains: Vec<Vec<u8>> = Vec::new();
        let mut left = crate::plan::mask_below(shape.slots.len());
        while let Some(slot) = ones(left).next() {
            let related = |slot: u8| {
                let own = &shape.slots[usize::from(slot)];
                own.before | own.after | 1 << slot
            };
            let set = related(slot);
            // In a chain each slot is related to all others.
            if ones(set).any(|other| related(other) != set) {
                return None;
            }
            let mut chain: Vec<u8> = ones(set).collect();
            chain.sort_by_key(|&slot| shape.slots[usize::from(slot)].before.count_ones());
            chains.push(chain);
            left &= !set;
        }
        Some(Self(chains))
    }

    /// How many instances an event completes as a slot, at most [`u64::MAX`].
    pub(crate) fn count(&self, past: &Past<'_>, shape: &Shape, slot: u8, now: Time) -> u64 {
        let from = clock::subtract(now, shape.within);
        self.0.iter().fold(1, |product: u64, chain| {
            if product == 0 {
                return 0;
            }
            let parts: Vec<&[u8]> = match chain.iter().position(|&other| other == slot) {
                None => vec![chain],
                Some(place) => vec![&chain[..place], &chain[place + 1..]],
            };
            let is_own = parts.len() == 2;
            parts.iter().enumerate().fold(product, |product, (number, part)| {
                // What comes after the event in the order has its time.
                let from = if is_own && number == 1 { now } else { from };
                product.saturating_mul(chain_count(past, shape, part, from, now))
            })
        })
    }

    /// One of them; there must be some.
    pub(crate) fn witness(&self, past: &Past<'_>, shape: &Shape, slot: u8, event: EdgeRef) -> Vec<EdgeRef> {
        let mut found = vec![event; shape.slots.len()];
        let now = past.events.store.get(event).ts;
        for chain in &self.0 {
            let mut to = now;
            for &other in chain.iter().rev() {
                if other == slot {
                    // What comes before the event may still have its time.
                    to = now;
                    continue;
                }
                let list = past.buffers.list(shape.slots[usize::from(other)].signature);
                let mut latest = between(list, clock::subtract(now, shape.within), to).rev();
                if let Some(entry) = latest.find(|entry| is_alive(past, *entry)) {
                    found[usize::from(other)] = entry.event;
                    to = entry.ts;
                }
            }
        }
        found
    }
}

fn is_alive(past: &Past<'_>, entry: Entry) -> bool {
    !past.deletions.contains_key(&entry.event.0)
}

fn chain_count(past: &Past<'_>, shape: &Shape, chain: &[u8], from: Time, to: Time) -> u64 {
    let list = |slot: u8| past.buffers.list(shape.slots[usize::from(slot)].signature);
    match chain {
        [] => 1,
        &[slot] if past.deletions.is_empty() => length(list(slot), from, to),
        _ => {
            // Of each event of a slot, how many chains end with it, summed up to it.
            let mut sums: Vec<(Time, u64)> = vec![(Time::MIN, 1)];
            for &slot in chain {
                let mut next = Vec::new();
                let (mut place, mut total) = (0, 0_u64);
                for entry in between(list(slot), from, to).filter(|&entry| is_alive(past, entry)) {
                    while sums.get(place + 1).is_some_and(|&(ts, _)| ts <= entry.ts) {
                        place += 1;
                    }
                    let ends = sums.get(place).filter(|&&(ts, _)| ts <= entry.ts).map_or(0, |&(_, sum)| sum);
                    total = total.saturating_add(ends);
                    next.push((entry.ts, total));
                }
                sums = next;
            }
            sums.last().map_or(0, |&(_, sum)| sum)
        }
    }
}

fn length(list: &List, from: Time, to: Time) -> u64 {
    between(list, from, to).len() as u64
}
