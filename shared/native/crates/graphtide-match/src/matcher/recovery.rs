//! What it takes to leave a matcher and to come back as another.
//!
//! What an engine knows follows from the edges of its window alone, in their order. So the records that some query edge could be,
//! and the deletions, are all there is to keep: whoever feeds them to a new matcher, and throws its matches away, has the state of
//! the old one, whichever plans the two have.

use graphtide_engine::engine::Engine;
use graphtide_engine::ids::{PatternId, UnitId};
use graphtide_engine::meter::Meter;
use graphtide_engine::replay::Frontier;
use graphtide_graph::Time;
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::clock::Now;

use super::allowances::{Bounded, SAVED};
use super::{Matcher, Progress, Query};

impl Matcher {
    /// The records of the batch that was taken last that the patterns' state can depend on, where patterns may change: edges that
    /// some query edge could be, and deletions. Their ordinals are how many edges had come before.
    pub fn selected(&self, batch: &EdgeBatch) -> EdgeBatch {
        self.picked(batch, &self.selected)
    }

    /// As [`selected`](Self::selected), of graph queries alone.
    pub fn selected_by_queries(&self, batch: &EdgeBatch) -> EdgeBatch {
        self.picked(batch, &self.graphs.selected)
    }

    fn picked(&self, batch: &EdgeBatch, rows: &[u32]) -> EdgeBatch {
        let mut number = self.window.clocks.now().edges.cast_unsigned().wrapping_sub(batch.edges(0..batch.len()));
        let mut row = 0;
        batch.renumbered(rows.iter().map(|&place| {
            number = number.wrapping_add(batch.edges(row..place as usize));
            row = place as usize;
            (row, number)
        }))
    }

    /// Takes it that so many edges of the stream came before the next record, deletions not counted.
    pub fn count_from(&mut self, number: u64) {
        self.window.clocks.count_from(number);
    }

    /// Lets a pattern wait for [`Self::begin`]: what it finds until then counts for nothing. Call it before it takes anything.
    ///
    /// `residue` is what it had consumed, if it consumes and that is known: it is to begin where that was so.
    pub fn wait(&mut self, number: PatternId, residue: Option<Frontier>) {
        self.begin_telling(number, false);
        if let Some(unit) = self.unit_of(number) {
            self.units[unit.place()].engine.wait(residue);
        }
    }

    /// Lets a pattern's matches count from the next record on: those before are not retracted, others were told of them, or nobody.
    pub fn begin(&mut self, number: PatternId, meter: &mut Meter<'_>) {
        self.output.forget(number);
        self.begin_telling(number, true);
        if let Some(unit) = self.queries.get(number.place()).and_then(|query| query.events) {
            self.events.begin(unit, number);
            return;
        }
        let (now, rows) = (self.window.clocks.now(), &mut self.output.rows);
        // What does not follow from the edges of the window is a pattern's own: its unit has no other.
        let unit = self.queries.get(number.place()).and_then(|query| query.unit).map(UnitId::place);
        let Some(unit) = unit.map(|place| &mut self.units[place]).filter(|unit| unit.engine.has_residue()) else { return };
        let (work, records) = (unit.limits.work, SAVED.saturating_add(unit.engine.live() as u64));
        let before = unit.engine.live();
        meter.begin(work.map_or(u64::MAX, |work| work.saturating_mul(records)));
        unit.engine.begin(now, rows, meter);
        rows.clear();
        if let Some(refusal) = meter.end() {
            let _ = unit.refused(refusal, work.map(Bounded::Unit), meter);
        }
        self.live = self.live + unit.engine.live() - before;
    }

    /// What a pattern knows that does not follow from the edges of its window; none where that is nothing.
    pub fn residue(&self, number: PatternId) -> Option<Frontier> {
        self.unit_of(number).and_then(|unit| self.units[unit.place()].engine.residue())
    }

    /// Takes it that the stream is at a time: patterns tell what follows from that alone.
    pub fn advance(&mut self, now: Time, meter: &mut Meter<'_>) -> Progress {
        self.window.clocks.move_to(now);
        let mut progress = Progress::default();
        self.tell_expiry(self.window.clocks.now(), meter);
        self.hand_over(&mut progress.matches, meter);
        self.wake_events(self.window.clocks.time(), &mut progress.matches, meter);
        progress.ended = meter.ended();
        progress.work = meter.taken();
        progress
    }

    /// Takes it that no record before a time follows: patterns tell what follows from that alone. The newest record stays the newest.
    pub fn pass_time(&mut self, watermark: Time, meter: &mut Meter<'_>) -> Progress {
        self.window.clocks.pass(watermark);
        let mut progress = Progress::default();
        let now = self.window.clocks.now();
        self.tell_expiry(Now { ts: now.ts.max(watermark), ..now }, meter);
        self.hand_over(&mut progress.matches, meter);
        self.wake_events(now.ts.max(watermark), &mut progress.matches, meter);
        progress.ended = meter.ended();
        progress.work = meter.taken();
        progress
    }

    /// Lets a pattern's matches be marked as incomplete from now on.
    pub fn mark_shed(&mut self, number: PatternId) {
        if let Some(query) = self.queries.get_mut(number.place()) {
            query.shed = true;
        }
    }

    /// Lets a pattern tell what it would if it went on from what another matcher told of it, which stands where this one stands.
    pub fn take_telling(&mut self, number: PatternId, other: &Self, of: PatternId) {
        let (Some(query), Some(other)) = (self.queries.get_mut(number.place()), other.queries.get(of.place())) else { return };
        query.telling.clone_from(&other.telling);
    }

    /// Lets a pattern's matches count as told from now on, or wait for that.
    fn begin_telling(&mut self, number: PatternId, has_begun: bool) {
        if let Some(once) = self.queries.get_mut(number.place()).and_then(Query::once_mut) {
            once.begin(has_begun);
        }
    }
}
