//! Streaming graph queries in the pass: each has its operators and its edges, and the records that it asks for.
//!
//! A record goes to the queries that ask for edges of its label, a deletion to all. What a query tells goes to the batch at once,
//! behind what was found before, for its tuples are its own: the store of the matcher knows nothing of them.
//! Cost: a look-up of the label a record; else what the queries do.

use std::sync::Arc;

use graphtide_algebra::{Answers, Options, Query as GraphQuery};
use graphtide_engine::engine::Usage;
use graphtide_engine::ids::PatternId;
use graphtide_engine::limits::{Bounds, LimitPolicy, Limits};
use graphtide_engine::meter::{Meter, Refusal, Unhurried};
use graphtide_engine::output::{Kind, MatchBatch, PathStep, Telling};
use graphtide_graph::batch::{EdgeBatch, Operation};
use smallvec::SmallVec;

use super::Matcher;
use super::allowances::{Allowances, Bounded, Payer};
use super::event_units::Allowed;
use super::query::Query;
use super::unit::LimitReached;
use crate::plan::{GraphQuerySpec, InvalidPlan};

/// A graph query with what it tells.
#[derive(Debug)]
pub struct GraphUnit {
    number: PatternId,
    /// What answers it; none once a limit stopped it, or it was removed.
    query: Option<Box<GraphQuery>>,
    answers: Answers,
    limits: Limits,
    /// Times that an edge was not taken, or the work of a record was cut.
    pub limited: u64,
    /// The limit that was reached last; none if none was.
    pub limit: Option<String>,
    /// Steps that records took.
    pub work: u64,
    /// Whether results may be missing.
    pub shed: bool,
    is_vacant: bool,
}

/// Of what use a record is to a graph query.
struct Use {
    /// It holds the edge, or held what was deleted.
    is_held: bool,
    /// It would, if no limit was reached: who asks for the same edges later depends on it.
    is_wanted: bool,
}

/// All graph queries.
#[derive(Debug, Default)]
pub struct GraphUnits {
    units: Vec<GraphUnit>,
    /// By label: who asks for it.
    by_label: Vec<SmallVec<[u32; 2]>>,
    /// Who asks for edges of any label.
    of_any_label: Vec<u32>,
}

impl GraphUnits {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// A query.
    pub fn get(&self, unit: u32) -> &GraphUnit {
        &self.units[unit as usize]
    }

    /// Lets all know the labels that came since the last time.
    pub fn learn_names(&mut self) {
        self.units.iter_mut().filter_map(|unit| unit.query.as_mut()).for_each(|query| query.learn_names());
    }

    /// The most that was held at once in each, added up: that bounds what was held in all.
    pub fn peak(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().peak).sum()
    }

    /// Bytes of state of all.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(|unit| unit.usage().bytes).sum()
    }

    /// Does as the policies say where queries take more bytes than they may.
    pub fn check_bytes(&mut self) -> Result<(), LimitReached> {
        self.units.iter_mut().try_for_each(GraphUnit::check_bytes)
    }

    /// Tells no more of a query.
    pub fn remove(&mut self, unit: u32) {
        let own = &mut self.units[unit as usize];
        (own.query, own.is_vacant) = (None, true);
        self.by_label.iter_mut().for_each(|units| units.retain(|&mut other| other != unit));
        self.of_any_label.retain(|&other| other != unit);
    }

    fn put(&mut self, unit: GraphUnit) -> u32 {
        let place = self.units.iter().position(|unit| unit.is_vacant).unwrap_or(self.units.len());
        let number = place as u32;
        if let Some(query) = &unit.query {
            match query.asks() {
                None => self.of_any_label.push(number),
                Some(labels) => {
                    for label in labels {
                        let label = label as usize;
                        self.by_label.resize_with(self.by_label.len().max(label + 1), SmallVec::new);
                        self.by_label[label].push(number);
                    }
                }
            }
        }
        if place < self.units.len() {
            self.units[place] = unit;
        } else {
            self.units.push(unit);
        }
        number
    }

    /// Who is to have a record; of an edge, those that a limit paused, too.
    fn asked(&self, batch: &EdgeBatch, row: usize) -> SmallVec<[u32; 4]> {
        if batch.operations()[row] == Operation::Delete {
            return (0..self.units.len() as u32).collect();
        }
        let own = self.by_label.get(batch.labels()[row][1].0 as usize);
        own.into_iter().flatten().chain(&self.of_any_label).copied().collect()
    }
}

impl GraphUnit {
    /// What it holds and held.
    pub fn usage(&self) -> Usage {
        self.query.as_ref().map_or_else(Usage::default, |query| query.usage())
    }

    /// Whether a limit stopped it.
    pub fn is_paused(&self) -> bool {
        self.query.is_none() && !self.is_vacant
    }

    /// By operator of its plan: what it holds.
    pub fn held(&self) -> Vec<usize> {
        self.query.as_ref().map_or_else(Vec::new, |query| query.held().collect())
    }

    fn take(
        &mut self,
        (batch, row): (&EdgeBatch, usize),
        (allowance, bounded): (u64, Bounded),
        meter: &mut Meter<'_>,
    ) -> Result<Use, LimitReached> {
        let Some(query) = &mut self.query else { return Ok(Use { is_held: false, is_wanted: self.is_paused() }) };
        let taken = query.push_row(batch, row, allowance, &mut self.answers, meter);
        match taken.refusal {
            Some(Refusal::Allowance) => self.at_limit(bounded.to_string())?,
            Some(Refusal::Ended(_)) => self.shed = true,
            None if taken.is_limited => self.at_limit(Bounds::of(&self.limits).to_string())?,
            None => {}
        }
        Ok(Use { is_held: taken.is_kept, is_wanted: taken.is_kept || taken.is_limited })
    }

    /// Hands over what was found; returns how many results that are.
    fn hand_over(&mut self, own: &mut Query, out: &mut MatchBatch) -> u64 {
        let mut matches = 0;
        if let Some(query) = &self.query {
            for answer in self.answers.found() {
                own.reports.count(answer.kind);
                matches += u64::from(answer.kind == Kind::Match);
                let vertices = answer.values.iter().map(|&vertex| query.name(vertex));
                let path = answer.path.as_ref().map(|steps| {
                    steps.iter().map(|step| match query.edge(step) {
                        Some(id) => PathStep::Edge(id),
                        None => PathStep::Derived {
                            operator: step.operand as u32,
                            source: query.name(step.source),
                            target: query.name(step.target),
                        },
                    })
                });
                let head = (self.number, answer.kind, own.shed || self.shed);
                let times = Telling { at: query.now(), nth: query.nth(), valid: answer.valid };
                out.push_interval(head, (answer.output, vertices), times, path);
            }
        }
        self.answers.clear();
        matches
    }

    fn check_bytes(&mut self) -> Result<(), LimitReached> {
        match self.limits.state_bytes {
            Some(bound) if !self.is_paused() && self.usage().bytes as u64 >= bound => {
                self.at_limit(format!("{bound} bytes of state"))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn at_limit(&mut self, limit: String) -> Result<(), LimitReached> {
        self.limited += 1;
        self.shed |= self.limits.policy != LimitPolicy::Fail;
        self.limit = Some(limit.clone());
        match self.limits.policy {
            LimitPolicy::Fail => Err(LimitReached { pattern: self.number, limit }),
            LimitPolicy::Pause => {
                self.query = None;
                Ok(())
            }
            LimitPolicy::Shed => Ok(()),
        }
    }
}

impl Matcher {
    /// Makes a graph query ready under a number that is free.
    pub(super) fn enrol_graph(
        &mut self,
        spec: &GraphQuerySpec,
        number: PatternId,
        allowed: Allowed,
    ) -> Result<u32, InvalidPlan> {
        let bound = spec.limits.partial_matches.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX));
        let options = Options { deletions: allowed.deletions, most: bound };
        let query = GraphQuery::new(&spec.plan, &self.symbols, options);
        let query = query.map_err(|error| InvalidPlan { pattern: spec.name.clone(), reason: error.to_string() })?;
        let unit = self.graphs.put(GraphUnit {
            number,
            query: Some(Box::new(query)),
            answers: Answers::default(),
            limits: spec.limits,
            limited: 0,
            limit: None,
            work: 0,
            shed: false,
            is_vacant: false,
        });
        if self.allowances.is_none() && spec.limits.work.is_some() {
            self.allowances = Some(Allowances::unbounded(self.units.len()));
        }
        if let Some(allowances) = &mut self.allowances {
            allowances.open(Payer::Graph(unit), spec.limits.work);
        }
        self.queries[number.place()] = Query { names: Arc::new(spec.names()), graph: Some(unit), ..Query::vacant() };
        Ok(unit)
    }

    /// Lets a graph query take records that came before it was made, of which nothing is told.
    pub(super) fn bring_graph(&mut self, unit: u32, batches: &[&EdgeBatch], meter: &mut Meter<'_>) {
        let own = &mut self.graphs.units[unit as usize];
        if let Some(query) = &mut own.query {
            query.learn_names();
            for batch in batches {
                for row in 0..batch.len() {
                    let taken = query.push_row(batch, row, u64::MAX, &mut own.answers, meter);
                    own.shed |= taken.refusal.is_some() || taken.is_limited;
                    own.answers.clear();
                }
            }
        }
    }

    /// Lets graph queries have a record, and tell what it brings about; says whether one of them holds it.
    pub(super) fn answer(
        &mut self,
        batch: &EdgeBatch,
        row: usize,
        out: &mut MatchBatch,
        meter: &mut Meter<'_>,
    ) -> Result<bool, LimitReached> {
        let (mut is_held, mut is_wanted) = (false, false);
        if let Some(allowances) = &mut self.allowances {
            allowances.take_record(self.totals.records);
        }
        for unit in self.graphs.asked(batch, row) {
            let unbounded = (u64::MAX, Bounded::Unit(u64::MAX));
            let lent = self.allowances.as_mut().map_or(unbounded, |allowances| allowances.lend(Payer::Graph(unit)));
            let (own, before) = (&mut self.graphs.units[unit as usize], meter.taken());
            let taken = own.take((batch, row), lent, meter);
            let steps = meter.taken() - before;
            own.work += steps;
            if let Some(allowances) = &mut self.allowances {
                allowances.spend(Payer::Graph(unit), steps);
            }
            if !self.graphs.units[unit as usize].answers.found().is_empty() {
                self.hand_over(out, &mut Meter::unbounded(&Unhurried));
                let (own, before) = (&mut self.graphs.units[unit as usize], out.len());
                self.totals.matches += own.hand_over(&mut self.queries[own.number.place()], out);
                self.occurrences += out.len() - before;
            }
            let taken = taken?;
            is_held |= taken.is_held;
            is_wanted |= taken.is_wanted;
        }
        if is_wanted {
            self.select(row);
        }
        Ok(is_held)
    }

    /// A graph query with what answers it; none if there is none of the number.
    pub fn graph_query(&self, number: PatternId) -> Option<(&Query, &GraphUnit)> {
        let query = self.queries.get(number.place())?;
        Some((query, self.graphs.get(query.graph?)))
    }

    /// The graph queries with their numbers and what answers them.
    pub fn graph_queries(&self) -> impl Iterator<Item = (PatternId, &Query, &GraphUnit)> {
        let numbered = (0..).map(PatternId).zip(&self.queries);
        numbered.filter_map(|(number, query)| Some((number, query, self.graphs.get(query.graph?))))
    }
}
