//! The connected components of the data edges that still match something.
//!
//! Invariant: each such edge is in one component, in the order of the candidates.
//! Cost: O(edges), but for the inverse Ackermann function.

use std::ops::Range;

use crate::candidates::Candidates;

const NONE: u32 = u32::MAX;

/// The components.
#[derive(Debug, Default)]
pub(crate) struct Components {
    /// By vertex: one that it is connected with.
    parents: Vec<u32>,
    /// By vertex that stands for its component: the component's number.
    numbers: Vec<u32>,
    /// By edge: the number of its component.
    of: Vec<u32>,
    /// Where each component begins among `edges`.
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Components {
    /// Finds the components of what is left of the candidates.
    pub(crate) fn find(&mut self, candidates: &Candidates) {
        self.parents.clear();
        self.parents.extend(0..candidates.len() as u32);
        for edge in candidates.edges.iter().filter(|edge| edge.pairs != 0) {
            let [one, other] = edge.ends.map(|vertex| self.root(vertex));
            self.parents[one as usize] = other;
        }
        self.numbers.clear();
        self.numbers.resize(candidates.len(), NONE);
        self.of.clear();
        self.starts.clear();
        for edge in &candidates.edges {
            let component = if edge.pairs == 0 { NONE } else { self.number(edge.ends[0]) };
            self.of.push(component);
        }
        self.sort();
    }

    /// Number of components.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The edges of a component.
    pub(crate) fn get(&self, component: usize) -> &[u32] {
        &self.edges[self.range(component)]
    }

    /// The edges of the component that an edge is in; none where it matches nothing.
    pub(crate) fn of(&self, edge: usize) -> &[u32] {
        if self.of[edge] == NONE { &[] } else { self.get(self.of[edge] as usize) }
    }

    /// Where the edges of a component are listed.
    pub(crate) fn range(&self, component: usize) -> Range<usize> {
        self.starts[component] as usize..self.starts[component + 1] as usize
    }

    /// The edge at a place of the list.
    #[inline]
    pub(crate) fn edge(&self, place: usize) -> usize {
        self.edges[place] as usize
    }

    /// The number of a vertex's component, which gets one with its first edge; counts the edge.
    fn number(&mut self, vertex: u32) -> u32 {
        let root = self.root(vertex) as usize;
        if self.numbers[root] == NONE {
            self.numbers[root] = self.starts.len() as u32;
            self.starts.push(0);
        }
        self.starts[self.numbers[root] as usize] += 1;
        self.numbers[root]
    }

    /// Lists the edges by component. `starts` holds how many each has.
    fn sort(&mut self) {
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.starts.push(sum);
        self.edges.clear();
        self.edges.resize(sum as usize, 0);
        for (edge, &component) in self.of.iter().enumerate().rev() {
            if component != NONE {
                let start = &mut self.starts[component as usize];
                *start -= 1;
                self.edges[*start as usize] = edge as u32;
            }
        }
    }

    fn root(&mut self, mut vertex: u32) -> u32 {
        while self.parents[vertex as usize] != vertex {
            let next = self.parents[vertex as usize];
            self.parents[vertex as usize] = self.parents[next as usize];
            vertex = next;
        }
        vertex
    }
}
