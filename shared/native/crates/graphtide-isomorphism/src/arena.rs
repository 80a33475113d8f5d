//! One item of an expansion list: its partial matches as fixed-width nodes in one vector, hashed by join vertices.
//!
//! A node is `[chain, previous, next, payload…]` in 32-bit words. `previous`/`next` link the nodes of one bucket, newest first;
//! `chain` links the nodes that expire with the same edge and is the engine's. Freed nodes are linked through `next`.
//! Invariant: a bucket exists while it has a node. `previous` of its first node is the bucket itself, marked by [`BUCKET`];
//! `previous` of a freed node, and of no other, is [`FREED`].
//! Cost: O(1) expected to add, remove and find a bucket; O(bucket) to walk it.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

/// No node.
pub const NIL: u32 = u32::MAX;

const CHAIN: usize = 0;
const PREVIOUS: usize = 1;
const NEXT: usize = 2;
const HEADER: usize = 3;
const BUCKET: u32 = 1 << 31;

/// Stands for the previous node of a freed one.
const FREED: u32 = u32::MAX - 1;

#[derive(Debug)]
struct Bucket {
    key: u64,
    first: u32,
}

/// Partial matches of one sub-pattern.
#[derive(Debug)]
pub struct Item {
    stride: usize,
    words: Vec<u32>,
    free: u32,
    live: usize,
    peak: usize,
    created: u64,
    numbers: HashTable<u32>,
    buckets: Vec<Bucket>,
    free_buckets: Vec<u32>,
    indexed: bool,
}

#[inline]
fn hash(key: u64) -> u64 {
    FxBuildHasher.hash_one(key)
}

impl Item {
    /// Makes an empty item of nodes with `payload` words; only an indexed one can be read by key.
    pub fn new(payload: usize, indexed: bool) -> Self {
        Self {
            stride: HEADER + payload,
            words: Vec::new(),
            free: NIL,
            live: 0,
            peak: 0,
            created: 0,
            numbers: HashTable::new(),
            buckets: Vec::new(),
            free_buckets: Vec::new(),
            indexed,
        }
    }

    /// Adds a node and returns it; `chain` is the node that so far expired first with the same edge.
    #[inline]
    pub fn add(&mut self, key: u64, chain: u32, payload: impl IntoIterator<Item = u32>) -> u32 {
        let node = if self.free == NIL {
            let node = (self.words.len() / self.stride) as u32;
            self.words.resize(self.words.len() + self.stride, 0);
            node
        } else {
            let node = self.free;
            self.free = self.words[node as usize * self.stride + NEXT];
            node
        };
        let start = node as usize * self.stride;
        let words = &mut self.words[start..start + self.stride];
        for (word, value) in words[HEADER..].iter_mut().zip(payload) {
            *word = value;
        }
        words[CHAIN] = chain;
        words[PREVIOUS] = NIL;
        words[NEXT] = NIL;
        if self.indexed {
            self.link(node, key);
        }
        self.live += 1;
        self.created += 1;
        self.peak = self.peak.max(self.live);
        node
    }

    #[inline]
    fn link(&mut self, node: u32, key: u64) {
        let start = node as usize * self.stride;
        let hashed = hash(key);
        if let Some(&number) = self.numbers.find(hashed, |&number| self.buckets[number as usize].key == key) {
            let second = std::mem::replace(&mut self.buckets[number as usize].first, node);
            self.words[start + PREVIOUS] = BUCKET | number;
            self.words[start + NEXT] = second;
            self.words[second as usize * self.stride + PREVIOUS] = node;
            return;
        }
        let bucket = Bucket { key, first: node };
        let number = if let Some(number) = self.free_buckets.pop() {
            self.buckets[number as usize] = bucket;
            number
        } else {
            self.buckets.push(bucket);
            self.buckets.len() as u32 - 1
        };
        let buckets = &self.buckets;
        self.numbers.insert_unique(hashed, number, |&number| hash(buckets[number as usize].key));
        self.words[start + PREVIOUS] = BUCKET | number;
    }

    /// Removes a node; returns the next of its chain.
    #[inline]
    pub fn remove(&mut self, node: u32) -> u32 {
        let start = node as usize * self.stride;
        let (chain, previous, next) = (self.words[start + CHAIN], self.words[start + PREVIOUS], self.words[start + NEXT]);
        if self.indexed {
            if next != NIL {
                self.words[next as usize * self.stride + PREVIOUS] = previous;
            }
            if previous & BUCKET == 0 {
                self.words[previous as usize * self.stride + NEXT] = next;
            } else {
                let number = previous & !BUCKET;
                self.buckets[number as usize].first = next;
                if next == NIL {
                    self.drop_bucket(number);
                }
            }
        }
        self.words[start + PREVIOUS] = FREED;
        self.words[start + NEXT] = self.free;
        self.free = node;
        self.live -= 1;
        chain
    }

    #[inline]
    fn drop_bucket(&mut self, number: u32) {
        let hashed = hash(self.buckets[number as usize].key);
        if let Ok(entry) = self.numbers.find_entry(hashed, |&other| other == number) {
            entry.remove();
        }
        self.free_buckets.push(number);
    }

    /// First node of a key's bucket, or [`NIL`].
    #[inline]
    pub fn first(&self, key: u64) -> u32 {
        self.numbers
            .find(hash(key), |&number| self.buckets[number as usize].key == key)
            .map_or(NIL, |&number| self.buckets[number as usize].first)
    }

    /// Next node of the same bucket, or [`NIL`].
    #[inline]
    pub fn next(&self, node: u32) -> u32 {
        self.words[node as usize * self.stride + NEXT]
    }

    /// Next node of the same chain, or [`NIL`].
    pub fn chained(&self, node: u32) -> u32 {
        self.words[node as usize * self.stride + CHAIN]
    }

    /// How many nodes [`nodes`](Self::nodes) looks at, freed ones too.
    pub fn places(&self) -> usize {
        self.words.len() / self.stride
    }

    /// All nodes alive, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = u32> {
        let nodes = self.words.chunks_exact(self.stride).enumerate();
        nodes.filter(|(_, words)| words[PREVIOUS] != FREED).map(|(node, _)| node as u32)
    }

    /// What a node holds.
    #[inline]
    pub fn payload(&self, node: u32) -> &[u32] {
        let start = node as usize * self.stride;
        &self.words[start + HEADER..start + self.stride]
    }

    /// Nodes alive.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Most nodes ever alive at once.
    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Nodes ever added.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// Bytes a node takes.
    pub fn node_bytes(&self) -> usize {
        self.stride * size_of::<u32>()
    }

    /// Bytes that a node takes at most, with a bucket of its own.
    pub fn most_node_bytes(&self) -> usize {
        self.node_bytes() + size_of::<Bucket>() + size_of::<u32>() + 1
    }

    /// Bytes that the live nodes and buckets take.
    pub fn bytes(&self) -> usize {
        self.live * self.node_bytes() + self.numbers.len() * (size_of::<Bucket>() + size_of::<u32>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(item: &Item, key: u64) -> Vec<u32> {
        let mut found = Vec::new();
        let mut node = item.first(key);
        while node != NIL {
            found.push(item.payload(node)[0]);
            node = item.next(node);
        }
        found
    }

    #[test]
    fn buckets_keep_their_nodes_newest_first_through_removals() {
        let mut item = Item::new(1, true);
        let nodes: Vec<u32> = (0..4).map(|value| item.add(7, NIL, [value])).collect();
        item.add(8, NIL, [99]);
        assert_eq!(bucket(&item, 7), [3, 2, 1, 0]);
        item.remove(nodes[2]);
        item.remove(nodes[3]);
        assert_eq!(bucket(&item, 7), [1, 0]);
        item.remove(nodes[0]);
        item.remove(nodes[1]);
        assert!(bucket(&item, 7).is_empty());
        assert_eq!(bucket(&item, 8), [99]);
        assert_eq!((item.live(), item.peak(), item.created()), (1, 5, 5));
    }

    #[test]
    fn freed_nodes_and_buckets_are_used_again() {
        let mut item = Item::new(2, true);
        for round in 0..100 {
            let nodes: Vec<u32> = (0..10).map(|value| item.add(value + round, NIL, [0, 0])).collect();
            for node in nodes {
                item.remove(node);
            }
        }
        assert_eq!((item.words.len(), item.buckets.len()), (10 * 5, 10));
        assert_eq!((item.places(), item.nodes().count()), (10, 0));
    }

    #[test]
    fn all_nodes_are_those_alive() {
        for indexed in [false, true] {
            let mut item = Item::new(1, indexed);
            let nodes: Vec<u32> = (0..5).map(|value| item.add(u64::from(value % 2), NIL, [value])).collect();
            item.remove(nodes[1]);
            item.remove(nodes[3]);
            item.add(0, NIL, [9]);
            let mut found: Vec<u32> = item.nodes().map(|node| item.payload(node)[0]).collect();
            found.sort_unstable();
            assert_eq!(found, [0, 2, 4, 9]);
        }
    }
}
