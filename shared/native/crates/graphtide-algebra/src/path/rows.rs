//! Ends of paths, side by side: for each pair of a vertex and a state, when the path that lasts longest ends, from every root.
//!
//! This is the forest of spanning trees of the paper with its sides exchanged. What a tree has at a node is stored with the
//! node, at the column of the tree's root. So a step of all trees that have a node is one pass over numbers that lie side by
//! side, taken many at a time. Trees that run together share it. Columns come in chunks; a node has those that some root
//! reaches it from.
//! Cost: a chunk takes as long as two or three of its entries would one by one.

use crate::end_width::End;

/// Columns of a chunk.
pub const END_WIDTHS: usize = 32;

/// A pair of a vertex and a state, by number.
pub type NodeId = u32;

/// A root's column.
pub type Column = u32;

/// No record.
const NEVER: u64 = u64::MAX;

/// Where a path came from: the arc that it took last, and the state before.
pub type Parent = (u32, u16);

/// Ends of the paths from some roots to a node.
#[derive(Debug)]
pub struct Chunk<L> {
    /// Ends, by column.
    pub ends: [L; END_WIDTHS],
    /// Last steps of the paths, if they are asked for.
    parents: Option<Box<[Parent; END_WIDTHS]>>,
    /// The record that has noted its ends from before.
    noted: u64,
    is_pending: bool,
}

#[derive(Debug, Default)]
struct Node {
    /// Numbers of chunks, ascending, and where each is.
    chunks: Vec<(u32, u32)>,
    /// Numbers of those that changed and were not passed on.
    pending: Vec<u32>,
}

/// A chunk of a result, as it was before the record.
#[derive(Debug)]
pub struct Noted<L> {
    /// Of which node.
    pub node: NodeId,
    /// Number of the chunk.
    pub number: u32,
    /// Ends from before.
    pub ends: [L; END_WIDTHS],
}

/// All nodes.
#[derive(Debug)]
pub struct Rows<L> {
    nodes: Vec<Node>,
    chunks: Vec<Chunk<L>>,
    free: Vec<u32>,
    /// Whether chunks have the last steps of paths.
    keeps_parents: bool,
    record: u64,
    noted: Vec<Noted<L>>,
    queue: std::collections::VecDeque<NodeId>,
    /// What is looked at now; kept for its room.
    working: Vec<(u32, [L; END_WIDTHS])>,
}

/// An end that a step gives, and of what it is the least.
#[derive(Clone, Copy, Debug)]
pub struct Step<L> {
    /// When the arc ends.
    pub most: L,
    /// Ends up to here are past.
    pub passed: L,
    /// Whether the results of the node are emitted.
    pub is_result: bool,
    /// The arc, and the state before it.
    pub parent: Parent,
}

impl<L: End> Rows<L> {
    /// Makes rows without nodes; they keep which arc a path takes last if that is asked for.
    pub fn new(keeps_parents: bool) -> Self {
        Self {
            nodes: Vec::new(),
            chunks: Vec::new(),
            free: Vec::new(),
            keeps_parents,
            record: 0,
            noted: Vec::new(),
            queue: std::collections::VecDeque::new(),
            working: Vec::new(),
        }
    }

    /// Makes sure that there are so many nodes.
    pub fn grow(&mut self, nodes: usize) {
        if self.nodes.len() < nodes {
            self.nodes.resize_with(nodes, Node::default);
        }
    }

    /// Begins a record.
    pub fn begin(&mut self) {
        self.record += 1;
        self.noted.clear();
    }

    /// Chunks of results that the record changed, as they were before; in the order of their first changes.
    pub fn take_noted(&mut self) -> Vec<Noted<L>> {
        std::mem::take(&mut self.noted)
    }

    /// As [`take_noted`](Self::take_noted), to look at.
    pub fn noted(&self) -> &[Noted<L>] {
        &self.noted
    }

    /// Forgets what the record changed.
    pub fn forget_noted(&mut self) {
        self.noted.clear();
    }

    /// Gives the room of a list back.
    pub fn give_back(&mut self, mut noted: Vec<Noted<L>>) {
        noted.clear();
        self.noted = noted;
    }

    /// The end at a node from a column.
    #[inline]
    pub fn end(&self, node: NodeId, column: Column) -> L {
        self.find(node, column / END_WIDTHS as u32).map_or(L::default(), |chunk| chunk.ends[column as usize % END_WIDTHS])
    }

    /// The chunk of a number at a node.
    #[inline]
    pub fn find(&self, node: NodeId, number: u32) -> Option<&Chunk<L>> {
        let chunks = &self.nodes[node as usize].chunks;
        let place = chunks.binary_search_by_key(&number, |&(number, _)| number).ok()?;
        Some(&self.chunks[chunks[place].1 as usize])
    }

    /// Calls `f` with each chunk of a node and its number.
    pub fn each(&self, node: NodeId, mut f: impl FnMut(u32, &[L; END_WIDTHS])) {
        for &(number, chunk) in &self.nodes[node as usize].chunks {
            f(number, &self.chunks[chunk as usize].ends);
        }
    }

    /// The last step of the path to a node from a column.
    pub fn parent(&self, node: NodeId, column: Column) -> Option<Parent> {
        self.find(node, column / END_WIDTHS as u32)?.parents.as_ref().map(|parents| parents[column as usize % END_WIDTHS])
    }

    /// Lets a path from one column end no earlier than a step says.
    pub fn raise_one(&mut self, node: NodeId, column: Column, step: Step<L>) {
        let (number, end_width) = (column / END_WIDTHS as u32, column as usize % END_WIDTHS);
        let mut from = [L::default(); END_WIDTHS];
        from[end_width] = step.most;
        self.raise_chunk(node, number, &from, step);
    }

    /// Lets paths to a node continue from all that another has; returns how many chunks that were.
    pub fn raise_all(&mut self, from: NodeId, node: NodeId, step: Step<L>) -> u32 {
        let mut working = std::mem::take(&mut self.working);
        working.clear();
        working
            .extend(self.nodes[from as usize].chunks.iter().map(|&(number, chunk)| (number, self.chunks[chunk as usize].ends)));
        for (number, ends) in &working {
            self.raise_chunk(node, *number, ends, step);
        }
        let count = working.len() as u32;
        self.working = working;
        count
    }

    /// The next node that has something to pass on, with what: numbers of chunks and their ends.
    pub fn next_pending(&mut self, into: &mut Vec<(u32, [L; END_WIDTHS])>) -> Option<NodeId> {
        let node = self.queue.pop_front()?;
        into.clear();
        let mut pending = std::mem::take(&mut self.nodes[node as usize].pending);
        for number in pending.drain(..) {
            if let Some(chunk) = self.find_mut(node, number) {
                chunk.is_pending = false;
                into.push((number, chunk.ends));
            }
        }
        self.nodes[node as usize].pending = pending;
        Some(node)
    }

    /// Lets nothing be passed on any more.
    pub fn drop_pending(&mut self) {
        let mut ignored = Vec::new();
        while self.next_pending(&mut ignored).is_some() {}
    }

    /// Lets paths to a node continue from those that come with a chunk.
    #[inline]
    pub fn raise_chunk(&mut self, node: NodeId, number: u32, from: &[L; END_WIDTHS], step: Step<L>) {
        let Step { most, passed, .. } = step;
        let mut new = [L::default(); END_WIDTHS];
        for (new, &end) in new.iter_mut().zip(from) {
            let end = end.min(most);
            // What is past by now never was: the arc is valid from now on.
            *new = if end > passed { end } else { L::default() };
        }
        let found = self.nodes[node as usize].chunks.binary_search_by_key(&number, |&(number, _)| number);
        let place = match found {
            Ok(place) => {
                let chunk = self.nodes[node as usize].chunks[place].1;
                let own = &self.chunks[chunk as usize].ends;
                // Without a branch, so that many are compared at a time.
                let later = new.iter().zip(own).fold(0, |later, (new, own)| later | u8::from(new > own));
                if later == 0 {
                    return;
                }
                chunk
            }
            Err(place) => {
                if new.iter().all(|&end| end == L::default()) {
                    return;
                }
                let chunk = self.make();
                self.nodes[node as usize].chunks.insert(place, (number, chunk));
                chunk
            }
        };
        self.write(node, number, place, &new, step);
    }

    /// Sets the end of a path, whatever it was; for what is derived anew.
    pub fn set(&mut self, node: NodeId, column: Column, end: L, is_result: bool) {
        let (number, end_width) = (column / END_WIDTHS as u32, column as usize % END_WIDTHS);
        if is_result {
            self.note(node, number);
        }
        if let Some(chunk) = self.find_mut(node, number) {
            chunk.ends[end_width] = end;
        }
    }

    /// Sets the last step of a path.
    pub fn set_parent(&mut self, node: NodeId, column: Column, parent: Parent) {
        if let Some(parents) = self.find_mut(node, column / END_WIDTHS as u32).and_then(|chunk| chunk.parents.as_mut()) {
            parents[column as usize % END_WIDTHS] = parent;
        }
    }

    /// Forgets all of a node.
    pub fn clear(&mut self, node: NodeId) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            self.free.extend(node.chunks.drain(..).map(|(_, chunk)| chunk));
            node.pending.clear();
        }
    }

    /// Counts the ends from an origin that lies so much later.
    pub fn rebase(&mut self, by: u64) {
        for chunk in &mut self.chunks {
            for end in &mut chunk.ends {
                *end = L::of(end.get().saturating_sub(by));
            }
        }
    }

    /// Chunks in use.
    pub fn len(&self) -> usize {
        self.chunks.len() - self.free.len()
    }

    /// Chunks that there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        self.chunks.len()
    }

    /// Bytes that one more chunk takes, with what is noted of it while its record is taken.
    pub fn chunk_bytes(&self) -> usize {
        let parents = usize::from(self.keeps_parents) * END_WIDTHS * size_of::<Parent>();
        size_of::<Chunk<L>>() + parents + 8 + size_of::<Noted<L>>()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let parents = usize::from(self.keeps_parents) * END_WIDTHS * size_of::<Parent>();
        self.chunks.len() * (size_of::<Chunk<L>>() + parents + 8) + self.nodes.capacity() * size_of::<Node>()
    }

    #[inline]
    fn write(&mut self, node: NodeId, number: u32, place: u32, new: &[L; END_WIDTHS], step: Step<L>) {
        if step.is_result {
            self.note(node, number);
        }
        let chunk = &mut self.chunks[place as usize];
        if let Some(parents) = &mut chunk.parents {
            for ((own, &new), parent) in chunk.ends.iter().zip(new).zip(parents.iter_mut()) {
                if new > *own {
                    *parent = step.parent;
                }
            }
        }
        for (own, &new) in chunk.ends.iter_mut().zip(new) {
            *own = (*own).max(new);
        }
        if !chunk.is_pending {
            chunk.is_pending = true;
            let node_of = &mut self.nodes[node as usize];
            if node_of.pending.is_empty() {
                self.queue.push_back(node);
            }
            node_of.pending.push(number);
        }
    }

    /// Notes the ends of a chunk from before the record, at its first change.
    #[inline]
    fn note(&mut self, node: NodeId, number: u32) {
        let record = self.record;
        let Some(chunk) = self.find_mut(node, number) else { return };
        if chunk.noted != record {
            chunk.noted = record;
            let ends = chunk.ends;
            self.noted.push(Noted { node, number, ends });
        }
    }

    #[inline]
    fn find_mut(&mut self, node: NodeId, number: u32) -> Option<&mut Chunk<L>> {
        let chunks = &self.nodes[node as usize].chunks;
        let place = chunks.binary_search_by_key(&number, |&(number, _)| number).ok()?;
        Some(&mut self.chunks[chunks[place].1 as usize])
    }

    fn make(&mut self) -> u32 {
        let parents = self.keeps_parents.then(|| Box::new([(u32::MAX, 0); END_WIDTHS]));
        let made = Chunk { ends: [L::default(); END_WIDTHS], parents, noted: NEVER, is_pending: false };
        if let Some(place) = self.free.pop() {
            self.chunks[place as usize] = made;
            return place;
        }
        self.chunks.push(made);
        self.chunks.len() as u32 - 1
    }
}
