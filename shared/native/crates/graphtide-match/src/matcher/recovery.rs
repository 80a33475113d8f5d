//! What it takes to leave a matcher and to come back as another.
//!
//! What an engine knows follows from the edges of its window alone, in their order. So the records that some query edge could be,
//! and the deletions, are all there is to keep: whoever feeds them to a new matcher, and throws its matches away, has the state of
//! the old one, whichever plans the two have.

use graphtide_graph::batch::{EdgeBatch, Operation};

use super::{Matcher, NO_CLASS};
use crate::dispatch::Record;
use graphtide_engine::meter::Meter;

impl Matcher {
    /// Returns the records of a batch that the patterns' state can depend on. Cost: that of dispatching the batch.
    pub fn select(&mut self, batch: &EdgeBatch, meter: &mut Meter<'_>) -> EdgeBatch {
        if let Some(labels) = &mut self.labels {
            self.symbols.lock().copy_new_names(labels);
        }
        let mut selected = EdgeBatch::new(batch.width());
        for row in 0..batch.len() {
            let wanted = batch.operations()[row] == Operation::Delete || {
                let class = self.dispatch.class(batch.labels()[row]);
                let record = Record { batch, row, labels: self.labels.as_deref().unwrap_or_default() };
                let mut found = false;
                if class != NO_CLASS {
                    self.dispatch.satisfied(class, &record, meter, |_| found = true);
                }
                found
            };
            if wanted {
                selected.push_from(batch, row);
            }
        }
        selected
    }

    /// Forgets the matches that a pattern reported so far: they are not retracted any more. Others were told of them, or nobody.
    pub fn forget_reported(&mut self, number: usize) {
        if let Some(reported) = &mut self.reported {
            reported.forget(number as u32);
        }
    }

    /// Lets a pattern's matches be marked as incomplete from now on.
    pub fn mark_shed(&mut self, number: usize) {
        if let Some(pattern) = self.patterns.get_mut(number) {
            pattern.shed = true;
        }
    }
}
