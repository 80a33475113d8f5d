//! The events of the lookback, listed once for each signature that they satisfy, in the order of time.
//!
//! Every list is an array in the order of the stream, so that the events of an interval are found by bisection. A signature
//! whose events are joined by equal values has them listed by the hashes of those values, too. Deleted events stay until they
//! expire. Signatures of about the same lookback expire together, from one end. Lookbacks are rounded up to a power of two for
//! that, so there are few queues to look at. A list holds at most twice the time that it has to.
//! Cost: O(lists of the signature) to add an event, O(expired) to expire.

use std::collections::VecDeque;
use std::hash::BuildHasher;

use graphtide_engine::expression::Expression;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::{Time, clock};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::signatures::SignatureId;
use crate::view::Events;

/// An event in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) ts: Time,
    pub(crate) event: EdgeRef,
}

/// Events in the order of the stream.
pub(crate) type List = VecDeque<Entry>;

/// A list of events by the values that join them.
#[derive(Debug)]
struct Keyed {
    /// Over event 0.
    key: Vec<Expression>,
    lists: HashMap<u64, List, FxBuildHasher>,
}

/// The events of one signature.
#[derive(Debug, Default)]
struct Buffer {
    all: List,
    keyed: Vec<Keyed>,
    lookback: Time,
    queue: usize,
}

/// Events and signatures that expire together.
#[derive(Debug)]
struct Queue {
    lookback: Time,
    entries: VecDeque<(Entry, SignatureId)>,
}

/// The events of all signatures.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    buffers: Vec<Buffer>,
    queues: Vec<Queue>,
    listed: usize,
    /// By signature: when the newest event came, deleted or not; side by side, since each event asks for many.
    newest: Vec<Time>,
}

/// A list by the values that join its events, of one signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyId(usize);

/// Hash of several values, by their own.
pub(crate) fn combined(hashes: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    hashes.into_iter().try_fold(0_u64, |seen, hash| hash.map(|hash| FxBuildHasher.hash_one((seen, hash))))
}

impl Buffers {
    /// Keeps the events of a signature for so many ticks, or for longer, if that was asked for before.
    pub(crate) fn keep(&mut self, signature: SignatureId, lookback: Time) {
        let missing = (signature.place() + 1).saturating_sub(self.buffers.len());
        self.buffers.extend((0..missing).map(|_| Buffer::default()));
        let buffer = &mut self.buffers[signature.place()];
        buffer.lookback = buffer.lookback.max(lookback);
    }

    /// Lists the events of a signature by the values of expressions over event 0, too.
    pub(crate) fn join(&mut self, signature: SignatureId, key: &[Expression]) -> KeyId {
        let keyed = &mut self.buffers[signature.place()].keyed;
        let known = keyed.iter().position(|keyed| keyed.key == key);
        KeyId(known.unwrap_or_else(|| {
            keyed.push(Keyed { key: key.to_vec(), lists: HashMap::default() });
            keyed.len() - 1
        }))
    }

    /// Makes the lists ready once all were asked for.
    pub(crate) fn seal(&mut self) {
        self.newest.resize(self.buffers.len(), Time::MIN);
        for buffer in &mut self.buffers {
            let lookback = buffer.lookback.max(1).unsigned_abs().checked_next_power_of_two();
            let lookback = lookback.and_then(|lookback| Time::try_from(lookback).ok()).unwrap_or(Time::MAX);
            let known = self.queues.iter().position(|queue| queue.lookback == lookback);
            buffer.queue = known.unwrap_or_else(|| {
                self.queues.push(Queue { lookback, entries: VecDeque::new() });
                self.queues.len() - 1
            });
        }
    }

    /// Lists an event under a signature that it satisfies; it is the newest.
    #[inline]
    pub(crate) fn push(&mut self, signature: SignatureId, entry: Entry, events: Events<'_>) {
        let buffer = &mut self.buffers[signature.place()];
        buffer.all.push_back(entry);
        self.newest[signature.place()] = entry.ts;
        self.listed += 1;
        let place = [entry.event];
        for keyed in &mut buffer.keyed {
            if let Some(hash) = combined(keyed.key.iter().map(|key| key.hash(&events.at(&place)))) {
                keyed.lists.entry(hash).or_default().push_back(entry);
            }
        }
        self.queues[buffer.queue].entries.push_back((entry, signature));
    }

    /// Drops expired events; returns the number of lists that had one.
    pub(crate) fn expire(&mut self, now: Time, events: Events<'_>) -> u32 {
        let mut dropped = 0;
        for queue in &mut self.queues {
            let from = clock::subtract(now, queue.lookback);
            while let Some((entry, signature)) = queue.entries.pop_front_if(|(entry, _)| entry.ts < from) {
                let buffer = &mut self.buffers[signature.place()];
                buffer.all.pop_front();
                dropped += 1;
                let place = [entry.event];
                for keyed in &mut buffer.keyed {
                    let hash = combined(keyed.key.iter().map(|key| key.hash(&events.at(&place))));
                    if let Some(hash) = hash
                        && let Some(list) = keyed.lists.get_mut(&hash)
                    {
                        list.pop_front();
                        if list.is_empty() {
                            keyed.lists.remove(&hash);
                        }
                    }
                }
            }
        }
        self.listed -= dropped as usize;
        dropped
    }

    /// The events of a signature.
    #[inline]
    pub(crate) fn list(&self, signature: SignatureId) -> &List {
        &self.buffers[signature.place()].all
    }

    /// The events of a signature whose values have a hash.
    #[inline]
    pub(crate) fn joined(&self, signature: SignatureId, key: KeyId, hash: u64) -> Option<&List> {
        self.buffers[signature.place()].keyed[key.0].lists.get(&hash)
    }

    /// When the newest event of a signature came, deleted or not; the earliest time there is if none has come.
    #[inline]
    pub(crate) fn newest(&self, signature: SignatureId) -> Time {
        self.newest[signature.place()]
    }

    /// How long events are kept at most.
    pub(crate) fn lookback(&self) -> Time {
        self.queues.iter().map(|queue| queue.lookback).max().unwrap_or(0)
    }

    /// Bytes of what is listed.
    pub(crate) fn bytes(&self) -> usize {
        let keyed: usize = self.buffers.iter().map(|buffer| buffer.keyed.len() * buffer.all.len()).sum();
        let buffered = (self.listed + keyed) * size_of::<Entry>();
        buffered + self.listed * size_of::<(Entry, SignatureId)>()
    }
}

/// The events of a list from one time to another, both included.
#[inline]
pub(crate) fn between(list: &List, from: Time, to: Time) -> impl DoubleEndedIterator<Item = Entry> + ExactSizeIterator {
    let start = list.partition_point(|entry| entry.ts < from);
    let end =
        if list.back().is_none_or(|entry| entry.ts <= to) { list.len() } else { list.partition_point(|entry| entry.ts <= to) };
    list.range(start..end.max(start)).copied()
}
