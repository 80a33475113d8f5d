//! An operator of a plan, of any kind, and its view of its inputs.

use std::sync::LazyLock;

use graphtide_engine::meter::Meter;
use graphtide_graph::clock::Present;
use graphtide_graph::vertex::{Vertex, VertexTable};
use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use crate::join::Join;
use crate::path::AnyPath;
use crate::relation::{ENDED, Relation, Tuple};
use crate::scan::Scan;

/// A UNION with its results.
#[derive(Debug)]
pub struct Union {
    /// Numbers of its operands.
    pub operands: Vec<usize>,
    /// What it gives.
    pub relation: Relation,
}

/// An operator.
#[derive(Debug)]
pub enum Operator {
    /// Edges of an input.
    Scan(Scan),
    /// What some operand has.
    Union(Union),
    /// Tuples that agree.
    Join(Join),
    /// Pairs with a path between them.
    Path(Box<AnyPath>),
    /// One that no query needs any more.
    Gone,
}

/// What a record does: either tuples end later by it, or earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// An edge came.
    Rise,
    /// An edge was deleted.
    Invalidate,
}

/// The operators before one.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    operators: &'a [Operator],
}

static NOTHING: LazyLock<Relation> = LazyLock::new(|| Relation::new(2));

impl<'a> Operands<'a> {
    /// Sees these.
    pub fn new(operators: &'a [Operator]) -> Self {
        Self { operators }
    }

    /// What an operator gives.
    #[inline]
    pub fn get(self, number: usize) -> &'a Relation {
        self.operators[number].relation().unwrap_or(&NOTHING)
    }
}

impl Operator {
    /// What it gives; none of a path that no operator reads.
    #[inline]
    pub fn relation(&self) -> Option<&Relation> {
        match self {
            Self::Scan(scan) => Some(&scan.relation),
            Self::Union(union) => Some(&union.relation),
            Self::Join(join) => Some(&join.relation),
            Self::Path(path) => path.relation(),
            Self::Gone => None,
        }
    }

    /// As [`relation`](Self::relation).
    pub fn relation_mut(&mut self) -> Option<&mut Relation> {
        match self {
            Self::Scan(scan) => Some(&mut scan.relation),
            Self::Union(union) => Some(&mut union.relation),
            Self::Join(join) => Some(&mut join.relation),
            Self::Path(path) => path.relation_mut(),
            Self::Gone => None,
        }
    }

    /// Numbers of its operands.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Scan(_) | Self::Gone => Vec::new(),
            Self::Union(union) => union.operands.clone(),
            Self::Join(join) => join.operands().collect(),
            Self::Path(path) => path.operands(),
        }
    }

    /// The indexes that it reads: the operand, and the number of the index there.
    pub fn indexes(&self) -> Vec<(usize, usize)> {
        if let Self::Join(join) = self { join.indexes().collect() } else { Vec::new() }
    }

    /// Takes what a record did to its operands.
    pub fn follow(
        &mut self,
        direction: Direction,
        operands: Operands<'_>,
        names: &VertexTable,
        now: Present,
        meter: &mut Meter<'_>,
    ) {
        match (self, direction) {
            (Self::Scan(_) | Self::Gone, _) => {}
            (Self::Union(union), Direction::Rise) => union.rise(operands, now, meter),
            (Self::Union(union), Direction::Invalidate) => union.invalidate(operands, now, meter),
            (Self::Join(join), Direction::Rise) => join.rise(operands, names, now, meter),
            (Self::Join(join), Direction::Invalidate) => join.invalidate(operands, names, now, meter),
            (Self::Path(path), Direction::Rise) => path.rise(operands, names, now, meter),
            (Self::Path(path), Direction::Invalidate) => path.invalidate(operands, now, meter),
        }
    }

    /// Whether the record changed what it gives.
    pub fn has_changed(&self) -> bool {
        self.relation().is_some_and(|relation| !relation.changed().is_empty())
    }

    /// Begins a record.
    pub fn begin(&mut self) {
        if let Self::Path(path) = self {
            path.begin();
        }
        if let Some(relation) = self.relation_mut() {
            relation.begin();
        }
    }

    /// Gives up what ended before now; calls `f` with the vertices of each of its tuples.
    pub fn expire(&mut self, now: Present, names: &mut VertexTable, mut f: impl FnMut(&[Vertex])) {
        match self {
            Self::Scan(scan) => scan.expire(now, names, f),
            Self::Union(_) | Self::Join(_) | Self::Path(_) | Self::Gone => {
                if let Some(relation) = self.relation_mut() {
                    relation.expire(now, |_, values| f(values));
                }
            }
        }
    }

    /// What it holds: tuples, and chunks of ends of paths.
    pub fn held(&self) -> usize {
        let chunks = if let Self::Path(path) = self { path.held() } else { 0 };
        chunks + self.relation().map_or(0, Relation::len)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Scan(scan) => scan.bytes(),
            Self::Union(union) => union.relation.bytes(),
            Self::Join(join) => join.bytes(),
            Self::Path(path) => path.bytes(),
            Self::Gone => 0,
        }
    }
}

impl Union {
    fn rise(&mut self, operands: Operands<'_>, now: Present, meter: &mut Meter<'_>) {
        let bytes = self.relation.tuple_bytes();
        for &operand in &self.operands {
            let operand = operands.get(operand);
            for &tuple in operand.changed() {
                let before = self.relation.len();
                self.relation.raise(operand.get(tuple), operand.end(tuple), now);
                if !meter.keep((self.relation.len() - before) * bytes) {
                    return;
                }
            }
        }
    }

    fn invalidate(&mut self, operands: Operands<'_>, now: Present, meter: &mut Meter<'_>) {
        let mut unchecked: HashSet<Tuple, FxBuildHasher> = HashSet::default();
        for &operand in &self.operands {
            let operand = operands.get(operand);
            let known = operand.changed().iter().filter_map(|&tuple| self.relation.find(operand.get(tuple)));
            unchecked.extend(known);
        }
        let mut unchecked: Vec<Tuple> = unchecked.into_iter().collect();
        unchecked.sort_unstable();
        for tuple in unchecked {
            meter.tick(1);
            let values = self.relation.get(tuple);
            let ends = self.operands.iter().filter_map(|&operand| {
                let operand = operands.get(operand);
                Some(operand.end(operand.find(values)?))
            });
            let end = ends.max().filter(|&end| now.precedes(end)).unwrap_or(ENDED);
            if now.precedes(self.relation.end(tuple)) && end < self.relation.end(tuple) {
                self.relation.lower(tuple, end, now);
            }
        }
    }
}
