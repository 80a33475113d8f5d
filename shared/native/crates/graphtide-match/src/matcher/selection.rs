//! The records of a batch that the state of patterns can depend on, where patterns may change.
//!
//! What an engine knows follows from the edges of its window alone, in their order. So the records that some query edge could
//! be, and the deletions, are all there is to keep. A new matcher that takes them, with its output discarded, has the state of
//! the old one, for any two plans.

use graphtide_graph::batch::EdgeBatch;

/// Rows of the batch that was taken last, ascending.
#[derive(Debug)]
pub struct Selection {
    is_on: bool,
    rows: Vec<u32>,
    /// Those that graph queries depend on.
    of_graphs: Vec<u32>,
}

impl Selection {
    /// Selects rows if that is on, else none.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, rows: Vec::new(), of_graphs: Vec::new() }
    }

    /// Begins a batch.
    pub fn begin(&mut self) {
        self.rows.clear();
        self.of_graphs.clear();
    }

    /// Selects a row.
    #[inline]
    pub fn select(&mut self, row: usize) {
        if self.is_on && self.rows.last() != Some(&(row as u32)) {
            self.rows.push(row as u32);
        }
    }

    /// Selects a row that graph queries depend on.
    pub fn select_of_graphs(&mut self, row: usize) {
        self.select(row);
        if self.is_on {
            self.of_graphs.push(row as u32);
        }
    }

    /// The rows as records, whose ordinals are how many edges had come before; so many had come when the batch ended.
    pub fn records(&self, batch: &EdgeBatch, edges: i64) -> EdgeBatch {
        Self::picked(batch, &self.rows, edges)
    }

    /// As [`records`](Self::records), of graph queries alone.
    pub fn records_of_graphs(&self, batch: &EdgeBatch, edges: i64) -> EdgeBatch {
        Self::picked(batch, &self.of_graphs, edges)
    }

    fn picked(batch: &EdgeBatch, rows: &[u32], edges: i64) -> EdgeBatch {
        let mut number = edges.cast_unsigned().wrapping_sub(batch.edges(0..batch.len()));
        let mut row = 0;
        batch.renumbered(rows.iter().map(|&place| {
            number = number.wrapping_add(batch.edges(row..place as usize));
            row = place as usize;
            (row, number)
        }))
    }
}
