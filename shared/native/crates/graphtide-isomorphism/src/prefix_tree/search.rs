//! The search: candidates of a step are read once, and carry along for which members they are good.

use graphtide_engine::arrival::Arrival;
use graphtide_engine::ids::UnitId;
use graphtide_engine::lists::{Entry, Mask, Postings};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::Rows;
use graphtide_graph::clock;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::vertex::Vertex;

use super::tree::{Asks, Bits, Group, MOST, Member, NOBODY, Node, Opens, PrefixTree, Sharing, Step};
use crate::shape::{Across, Bound, bits};

struct Run<'r, 'a, 'p> {
    tree: &'r PrefixTree,
    alive: &'r mut Vec<u64>,
    alive_from: &'r [i64],
    arrival: &'r Arrival<'a>,
    postings: &'r Postings,
    rows: &'r mut Rows,
    meter: &'r mut Meter<'p>,
    edges: [EdgeRef; MOST],
    times: [i64; MOST],
    vertices: [Vertex; MOST],
}

/// How far a search is: edges and vertices bound, and where the set of members alive lies.
#[derive(Clone, Copy)]
struct Depth {
    edges: usize,
    vertices: usize,
    /// Of the set: its first word's place on the stack, and its number.
    base: usize,
    first: usize,
}

impl PrefixTree {
    /// Members.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it has no member.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Reports the matches that an arriving edge completes as any member, as far as the meter lets it.
    pub fn search(&mut self, arrival: &Arrival<'_>, postings: &Postings, rows: &mut Rows, meter: &mut Meter<'_>) {
        let Some(root) = self.nodes.last() else { return };
        let (source, target) = (postings.mask(arrival.source), postings.mask(arrival.target));
        meter.tick(self.roots.len() as u32 / 8);
        let mut alive = std::mem::take(&mut self.alive);
        alive.clear();
        alive.resize(root.members.words().1, 0);
        let mut any = false;
        let is_met = |of_source: Mask, of_target: Mask| of_source & !source == 0 && of_target & !target == 0;
        for root in self.roots.iter().filter(|root| is_met(root.source, root.target)) {
            let needs = &self.needs[root.needs.range()];
            meter.tick(needs.len() as u32 / 8);
            for need in needs.iter().filter(|need| is_met(need.source, need.target)) {
                any = true;
                for &Bits { word, bits } in &self.bits[need.bits.range()] {
                    alive[word as usize] |= bits;
                }
            }
        }
        if any {
            let mut alive_from = std::mem::take(&mut self.alive_from);
            alive_from.clear();
            alive_from.extend(self.windows.iter().map(|&window| clock::alive_from(arrival.at, window)));
            let mut run = Run {
                tree: self,
                alive: &mut alive,
                alive_from: &alive_from,
                arrival,
                postings,
                rows,
                meter,
                edges: [arrival.edge; MOST],
                times: [arrival.at; MOST],
                vertices: [Vertex::NONE; MOST],
            };
            run.vertices[0] = arrival.source;
            let vertices = if arrival.source == arrival.target { 1 } else { 2 };
            run.vertices[vertices - 1] = arrival.target;
            run.descend(root, Depth { edges: 1, vertices, base: 0, first: 0 });
            self.alive_from = alive_from;
        }
        self.alive = alive;
    }

    /// Adds what the members of a unit do together with members of others.
    pub fn add_sharing(&self, unit: UnitId, sharing: &mut Sharing) {
        let Some(root) = self.nodes.last() else { return };
        for (number, _) in (0_u32..).zip(&self.members).filter(|(_, member)| member.unit == unit) {
            let mut node = root;
            while number >= node.complete {
                let steps = &self.steps[node.steps.range()];
                let step = &steps[steps.partition_point(|step| step.members.end <= number)];
                let others = self.members[step.members.range()].iter().map(|member| member.unit);
                let before = sharing.look_ups.1;
                for other in others.filter(|&other| other != unit && other != NOBODY) {
                    sharing.look_ups.1 = before + 1;
                    sharing.with.insert(other);
                }
                sharing.look_ups.0 += 1;
                node = &self.nodes[step.node as usize];
            }
        }
    }

    /// Takes the members of a unit out of every search from now on.
    pub fn disable(&mut self, unit: UnitId) {
        for (number, member) in (0_u32..).zip(&mut self.members).filter(|(_, member)| member.unit == unit) {
            member.unit = NOBODY;
            for need in &self.needs {
                for bits in &mut self.bits[need.bits.range()] {
                    if bits.word == number / 64 {
                        bits.bits &= !(1 << (number % 64));
                    }
                }
            }
        }
    }
}

impl<'r> Run<'r, '_, '_> {
    /// The first member alive from a number on, before another.
    #[inline]
    fn next(&self, depth: Depth, from: u32, end: u32) -> Option<u32> {
        let (from, end) = (from as usize, end as usize);
        if from >= end {
            return None;
        }
        let mut word = from / 64;
        let mut bits = self.alive[depth.base + word - depth.first] & (u64::MAX << (from % 64));
        loop {
            if bits != 0 {
                let found = word * 64 + bits.trailing_zeros() as usize;
                return (found < end).then_some(found as u32);
            }
            word += 1;
            if word * 64 >= end {
                return None;
            }
            bits = self.alive[depth.base + word - depth.first];
        }
    }

    /// Reports the members that are complete, and lets the others take their next steps.
    fn descend(&mut self, node: &Node, depth: Depth) {
        let tree = self.tree;
        let mut next = node.members.start;
        while let Some(member) = self.next(depth, next, node.complete) {
            self.complete(member, depth);
            next = member + 1;
        }
        let steps = &tree.steps[node.steps.range()];
        let mut next = node.complete;
        while let Some(member) = self.next(depth, next, node.members.end) {
            let step = &steps[steps.partition_point(|step| step.members.end <= member)];
            if step.bits == 0 {
                self.take(step, depth);
            } else {
                let (word, _) = step.members.words();
                let alive = self.alive[depth.base + word - depth.first] & step.bits;
                self.take_word(step, alive, depth);
            }
            next = step.members.end;
        }
    }

    /// As [`descend`](Self::descend), where all members lie in one word; `alive` has the bits of those alive.
    fn descend_word(&mut self, node: &Node, alive: u64, depth: Depth) {
        let tree = self.tree;
        let first = node.members.start / 64 * 64;
        for bit in bits(alive & node.complete_bits) {
            self.complete(first + bit as u32, depth);
        }
        let steps = &tree.steps[node.steps.range()];
        let mut left = alive & !node.complete_bits;
        while left != 0 {
            let member = first + left.trailing_zeros();
            let place = if steps.len() == 1 { 0 } else { steps.partition_point(|step| step.members.end <= member) };
            let step = &steps[place];
            self.take_word(step, left & step.bits, depth);
            left &= !step.bits;
        }
    }

    fn complete(&mut self, member: u32, depth: Depth) {
        let Member { unit, edges, vertices } = &self.tree.members[member as usize];
        let edge = |&place: &u8| self.edges[..depth.edges][usize::from(place)];
        let vertex = |&place: &u8| self.vertices[..depth.vertices][usize::from(place)];
        let (edges, vertices) = (edges.iter().map(edge), vertices.iter().map(vertex));
        self.rows.complete(*unit, self.arrival, edges, vertices, self.meter);
    }

    /// The times that a step leaves to its candidates.
    #[inline]
    fn range(&self, step: &Step) -> Option<(i64, i64)> {
        let (mut earliest, mut latest) = (self.alive_from[step.window as usize], i64::MAX);
        for edge in bits(step.after.into()) {
            earliest = earliest.max(clock::find_next(self.times[edge])?);
        }
        for edge in bits(step.before.into()) {
            latest = latest.min(self.times[edge].checked_sub(1)?);
        }
        (earliest <= latest).then_some((earliest, latest))
    }

    /// The newest candidate of a step that is not too late.
    #[inline]
    fn newest(&mut self, step: &Step, latest: i64) -> Option<&'r Entry> {
        let ends = (self.vertices[usize::from(step.ends.0)], self.vertices[usize::from(step.ends.1)]);
        let newest = self.postings.newest(step.ring, step.access, ends.0, ends.1)?;
        if newest.at <= latest {
            return Some(newest);
        }
        self.postings.older_until(step.ring, step.access, newest, latest, self.meter)
    }

    /// Binds a candidate, if it is none of the edges and brings none of the vertices that are bound; says whether it did.
    #[inline]
    fn bind(&mut self, step: &Step, entry: &Entry, depth: Depth) -> bool {
        if entry.deleted {
            return false;
        }
        if step.opens == Opens::Neither {
            // Edges with the same ends may be one.
            if self.edges[..depth.edges].contains(&entry.edge) {
                return false;
            }
        } else {
            let brought = if step.opens == Opens::Source { entry.source } else { entry.target };
            if self.vertices[..depth.vertices].contains(&brought) {
                return false;
            }
            self.vertices[depth.vertices] = brought;
        }
        self.edges[depth.edges] = entry.edge;
        self.times[depth.edges] = entry.at;
        true
    }

    /// Reads the candidates of a step, newest first, and continues with each that is good for a member.
    fn take(&mut self, step: &Step, depth: Depth) {
        let Some((earliest, latest)) = self.range(step) else { return };
        let (first, words) = step.members.words();
        let base = self.alive.len();
        let vertices = depth.vertices + usize::from(step.opens != Opens::Neither);
        let inner = Depth { edges: depth.edges + 1, vertices, base, first };
        let node = &self.tree.nodes[step.node as usize];
        let mut next = self.newest(step, latest);
        while let Some(entry) = next {
            if !self.meter.step() || entry.at < earliest {
                return;
            }
            next = self.postings.older(step.ring, step.access, entry);
            if !self.bind(step, entry, depth) {
                continue;
            }
            self.alive.resize(base + words, 0);
            if self.select(step, entry.at, depth, inner) && (step.predicates.is_empty() || self.hold(step, inner, node)) {
                self.descend(node, inner);
            }
            self.alive.truncate(base);
        }
    }

    /// As [`take`](Self::take), where the members lie in one word; `alive` has the bits of those alive.
    fn take_word(&mut self, step: &Step, alive: u64, depth: Depth) {
        let Some((earliest, latest)) = self.range(step) else { return };
        let vertices = depth.vertices + usize::from(step.opens != Opens::Neither);
        let inner = Depth { edges: depth.edges + 1, vertices, ..depth };
        let node = &self.tree.nodes[step.node as usize];
        let mut next = self.newest(step, latest);
        while let Some(entry) = next {
            if !self.meter.step() || entry.at < earliest {
                return;
            }
            next = self.postings.older(step.ring, step.access, entry);
            if !self.bind(step, entry, depth) {
                continue;
            }
            let mut good = alive;
            if !step.asks.nothing() {
                let found = self.found(step, entry.at, depth);
                let is_good = |group: &&Group| self.is_good(step.asks, group, &found);
                let groups = self.tree.groups[step.groups.range()].iter();
                good &= groups.filter(is_good).fold(0, |all, group| all | group.word);
            }
            if good != 0 && !step.predicates.is_empty() {
                good = self.hold_word(step, good);
            }
            if good != 0 {
                self.descend_word(node, good, inner);
            }
        }
    }

    /// What members ask of a candidate that was bound.
    #[inline]
    fn found(&self, step: &Step, at: i64, depth: Depth) -> Candidate {
        let mut found = Candidate { at, mask: 0, earlier: 0, later: 0 };
        if step.asks.lists {
            found.mask = self.postings.mask(self.vertices[depth.vertices]);
        }
        if step.asks.order {
            for (place, &time) in self.times[..depth.edges].iter().enumerate() {
                found.earlier |= u16::from(time < at) << place;
                found.later |= u16::from(time > at) << place;
            }
        }
        found
    }

    #[inline]
    fn is_good(&self, asks: Asks, group: &Group, found: &Candidate) -> bool {
        group.need & !found.mask == 0
            && (!asks.order || (group.after & !found.earlier == 0 && group.before & !found.later == 0))
            && (!asks.window || found.at >= self.alive_from[group.window as usize])
    }

    /// Selects the members for which a candidate of that time is good; says whether there are.
    #[inline]
    fn select(&mut self, step: &Step, at: i64, depth: Depth, inner: Depth) -> bool {
        let found = self.found(step, at, depth);
        let mut any = 0;
        for group in &self.tree.groups[step.groups.range()] {
            if !self.is_good(step.asks, group, &found) {
                continue;
            }
            for &Bits { word, bits } in &self.tree.bits[group.bits.range()] {
                let place = word as usize - inner.first;
                let alive = bits & self.alive[depth.base + inner.first - depth.first + place];
                self.alive[inner.base + place] |= alive;
                any |= alive;
            }
        }
        any != 0
    }

    /// Drops the members whose predicates do not hold of what is bound; says whether others are left.
    fn hold(&mut self, step: &Step, inner: Depth, node: &Node) -> bool {
        for (member, across) in &self.tree.predicates[step.predicates.range()] {
            let (word, bit) = (inner.base + *member as usize / 64 - inner.first, 1 << (member % 64));
            if self.alive[word] & bit != 0 && !self.holds(across) {
                self.alive[word] &= !bit;
            }
        }
        self.next(inner, node.members.start, node.members.end).is_some()
    }

    /// As [`hold`](Self::hold), where the members lie in one word; returns those that are left.
    fn hold_word(&mut self, step: &Step, mut alive: u64) -> u64 {
        for (member, across) in &self.tree.predicates[step.predicates.range()] {
            let bit = 1 << (member % 64);
            if alive & bit != 0 && !self.holds(across) {
                alive &= !bit;
            }
        }
        alive
    }

    fn holds(&mut self, across: &Across) -> bool {
        let Arrival { store, names, .. } = *self.arrival;
        across.holds(&Bound { store, names, edges: &self.edges, vertices: &self.vertices }, self.meter)
    }
}

/// What a candidate has for members to ask of it.
struct Candidate {
    at: i64,
    /// Lists at the vertex that it brings.
    mask: Mask,
    /// Bound edges that are earlier, and later.
    earlier: u16,
    later: u16,
}
