//! Counts the instances of slots in any order, with lists and events that several slots may take.
//!
//! A state says how many events each slot has. A single event has one or none, a list has some up to its bound, or up to what
//! is enough. Events are taken in the order of the stream, and each is left out or goes into a slot. Of each state it is
//! counted how many ways lead to it. Order concerns times, and equal times are in order. So a state must have what its order
//! asks for once the last event of a time was taken. From then on a list takes no more if a slot after it has begun: it is
//! sealed.
//! Cost: O(events · states · slots) sums. A chain of n slots has n + 1 states, n slots in no order have 2^n.

use graphtide_engine::meter::Meter;
use graphtide_engine::output::MatchCount;
use graphtide_graph::store::EdgeRef;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::part::{Candidate, Must, PartCount, START, Step, walk};
use crate::program::{Shape, ones};

/// How the slots of a part lie in the word of a state.
#[derive(Debug)]
pub(super) struct States(Vec<Field>);

/// Where a state has the number of a slot's events.
#[derive(Debug)]
struct Field {
    shift: u32,
    bits: u32,
    /// Events that are enough.
    least: u128,
    /// Events from which on no more are counted.
    most: u128,
    /// Whether it takes more than that.
    is_open: bool,
    /// Where a state says that a list is sealed.
    seal: Option<u32>,
    /// Places of the part that are no later, and no earlier.
    before: u64,
    after: u64,
}

/// What is known of a state.
#[derive(Clone, Copy, Debug)]
struct State {
    key: u128,
    /// Events that its order asks for, and it has not.
    missing: u32,
    /// Events that it has not, all in all.
    lacking: u32,
    /// What it is once its time has passed.
    sealed: u128,
}

/// The states that were met so far, and in how many ways.
struct Met<'a> {
    states: &'a States,
    list: Vec<State>,
    index: HashMap<u128, usize, FxBuildHasher>,
    ways: Vec<MatchCount>,
    /// The states that some way leads to.
    alive: Vec<usize>,
    last: Vec<u32>,
    steps: Vec<Step>,
}

impl States {
    /// Lays out the states of some slots; none if they do not fit a word.
    pub(super) fn new(shape: &Shape, slots: &[u8]) -> Option<Self> {
        let places = |set: u64| {
            let is_in = |&(_, slot): &(usize, &u8)| set >> *slot & 1 == 1;
            slots.iter().enumerate().filter(is_in).fold(0_u64, |places, (place, _)| places | 1 << place)
        };
        let mut shift = 0;
        let mut fields = Vec::new();
        for &slot in slots {
            let own = &shape.slots[usize::from(slot)];
            let (least, bound) = own.repeat.map_or((1, Some(1)), |repeat| (repeat.least.max(1), repeat.most));
            let most = bound.unwrap_or(least);
            let bits = 32 - most.leading_zeros();
            let after = places(own.after);
            let seal = (own.repeat.is_some() && after != 0).then_some(shift + bits);
            let (before, is_open) = (places(own.before), bound.is_none());
            fields.push(Field { shift, bits, least: least.into(), most: most.into(), is_open, seal, before, after });
            shift += bits + u32::from(seal.is_some());
        }
        (shift <= u128::BITS).then_some(Self(fields))
    }

    /// Counts the instances of candidates. They have the event that is given, if there is one, and what they must have.
    pub(super) fn count(
        &self,
        candidates: &[Candidate],
        (own, must): (Option<EdgeRef>, Must),
        meter: &mut Meter<'_>,
    ) -> Option<PartCount> {
        let mut asked: SmallVec<[EdgeRef; 2]> = own.into_iter().collect();
        if let Must::Have(event) = must
            && own != Some(event)
        {
            asked.push(event);
        }
        let is_there = |event: &EdgeRef| candidates.iter().any(|candidate| candidate.event == *event);
        if !asked.iter().all(is_there) {
            return Some(PartCount { count: MatchCount::ZERO, witness: Vec::new() });
        }
        let mut met = Met::new(self);
        let mut rest = candidates.len() as u32;
        for group in candidates.chunk_by(|one, other| one.ts == other.ts) {
            if let Must::Begin(before, _) = must
                && group[0].ts >= before
            {
                met.drop_states(|number| number != 0);
            }
            for (number, candidate) in group.iter().enumerate() {
                rest -= 1;
                let left = (group.len() - number - 1) as u32;
                met.take(candidate, (left, rest), asked.contains(&candidate.event), meter)?;
            }
            met.seal();
        }
        Some(met.whole())
    }
}

impl Field {
    fn taken(&self, key: u128) -> u128 {
        key >> self.shift & ((1 << self.bits) - 1)
    }
}

impl<'a> Met<'a> {
    fn new(states: &'a States) -> Self {
        let mut met = Self {
            states,
            list: Vec::new(),
            index: HashMap::default(),
            ways: Vec::new(),
            alive: vec![0],
            last: Vec::new(),
            steps: Vec::new(),
        };
        met.number(0);
        met.ways[0] = MatchCount::ONE;
        met
    }

    /// The number of a state.
    fn number(&mut self, key: u128) -> usize {
        if let Some(&number) = self.index.get(&key) {
            return number;
        }
        let (mut missing, mut lacking, mut sealed, mut begun, mut asked) = (0_u128, 0_u128, key, 0_u64, 0_u64);
        for (place, field) in self.states.0.iter().enumerate() {
            if field.taken(key) > 0 {
                begun |= 1 << place;
                asked |= field.before;
            }
        }
        for (place, field) in self.states.0.iter().enumerate() {
            let lacks = field.least.saturating_sub(field.taken(key));
            lacking += lacks;
            if asked >> place & 1 == 1 {
                missing += lacks;
            }
            if let Some(seal) = field.seal.filter(|_| field.after & begun != 0) {
                sealed |= 1 << seal;
            }
        }
        let number = self.list.len();
        self.list.push(State { key, missing: missing as u32, lacking: lacking as u32, sealed });
        self.index.insert(key, number);
        self.ways.push(MatchCount::ZERO);
        self.last.push(START);
        number
    }

    /// What a state becomes with an event in a place; none if it takes none there.
    fn with(&self, key: u128, place: u8) -> Option<u128> {
        let field = &self.states.0[usize::from(place)];
        if field.seal.is_some_and(|seal| key >> seal & 1 == 1) {
            return None;
        }
        if field.taken(key) < field.most { Some(key + (1 << field.shift)) } else { field.is_open.then_some(key) }
    }

    /// Adds ways that lead to a state, the last by a step, if it is known.
    fn add(&mut self, to: usize, ways: &MatchCount, step: Option<u32>) {
        if self.ways[to].is_zero() {
            self.alive.push(to);
        }
        self.ways[to].add(ways);
        if let Some(step) = step {
            self.last[to] = step;
        }
    }

    /// Drops the ways to all states but some.
    fn drop_states(&mut self, is_kept: impl Fn(usize) -> bool) {
        let Self { ways, alive, .. } = self;
        alive.retain(|&number| {
            let is_kept = is_kept(number);
            if !is_kept {
                ways[number] = MatchCount::ZERO;
            }
            is_kept
        });
    }

    /// Takes an event, or leaves it out unless it is asked for. So many of its time are left, and so many in all.
    fn take(&mut self, candidate: &Candidate, (left, rest): (u32, u32), is_asked: bool, meter: &mut Meter<'_>) -> Option<()> {
        let mut more: Vec<(usize, MatchCount, Option<u32>)> = Vec::new();
        for place in 0..self.alive.len() {
            let number = self.alive[place];
            for place in ones(candidate.places) {
                let Some(key) = self.with(self.list[number].key, place) else { continue };
                let to = self.number(key);
                let State { missing, lacking, .. } = self.list[to];
                if missing > left || lacking > rest {
                    continue;
                }
                if !meter.charge(self.ways[number].words()) {
                    return None;
                }
                // A list that has enough is shown with no more.
                let step = (to != number).then(|| {
                    self.steps.push(Step { place: place.into(), event: candidate.event, before: self.last[number] });
                    self.steps.len() as u32 - 1
                });
                more.push((to, self.ways[number].clone(), step));
            }
        }
        let list = std::mem::take(&mut self.list);
        self.drop_states(|number| !is_asked && list[number].lacking <= rest);
        self.list = list;
        for (to, ways, step) in more {
            self.add(to, &ways, step);
        }
        Some(())
    }

    /// Drops the states whose order is broken now that their time has passed, and seals lists.
    fn seal(&mut self) {
        for number in std::mem::take(&mut self.alive) {
            let ways = std::mem::replace(&mut self.ways[number], MatchCount::ZERO);
            let (State { missing, sealed, .. }, last) = (self.list[number], self.last[number]);
            if missing == 0 {
                let to = self.number(sealed);
                self.add(to, &ways, Some(last));
            }
        }
    }

    fn whole(&self) -> PartCount {
        let mut found = PartCount { count: MatchCount::ZERO, witness: Vec::new() };
        for &number in self.alive.iter().filter(|&&number| self.list[number].lacking == 0) {
            found.witness = walk(&self.steps, self.last[number]);
            found.count.add(&self.ways[number]);
        }
        found
    }
}
