//! Counts the instances of single slots, each after the one before, where predicates relate neighbours at most.
//!
//! Of each event of a slot it is counted how many beginnings of the chain end with it. They are summed over the events of the
//! slot before that are no later and that the predicate admits. That is a running total, or a sum over a range of values.
//! Values are put in order first, so such a sum takes a tree of partial sums.
//! Cost: O(events) sums a slot, and O(events · log(events)) where a predicate compares. Where events of one time fit several
//! slots, the ways through them are walked one by one.

use std::cmp::Ordering;

use graphtide_engine::expression::{Comparison, Expression, Operand, compare};
use graphtide_engine::meter::Meter;
use graphtide_engine::output::MatchCount;
use graphtide_graph::store::EdgeRef;

use super::part::{Candidate, Must, PartCount, START, Step, walk};
use crate::plan::{moved, places_of};
use crate::program::{Predicate, Shape, ones};
use crate::view::Events;

/// A chain of slots.
#[derive(Debug)]
pub(super) struct Chain {
    gaps: Vec<Gap>,
    /// Whether one event may fill several slots.
    has_rivals: bool,
}

/// What relates two neighbours beside their order.
#[derive(Debug)]
pub(super) enum Gap {
    Free,
    /// A value of the first, how it compares with one of the second, and that; both over event 0.
    Compares(Expression, Comparison, Expression),
}

impl Gap {
    /// What relates two slots, if it is one comparison; notes which predicate it handles.
    pub(super) fn between(shape: &Shape, [one, other]: [u8; 2], handled: &mut [bool]) -> Self {
        let both = 1_u64 << one | 1 << other;
        for (number, predicate) in shape.predicates[..shape.own_predicates].iter().enumerate() {
            if predicate.reads == both
                && let Some(gap) = Self::of(predicate, one, other)
            {
                handled[number] = true;
                return gap;
            }
        }
        Self::Free
    }

    fn of(predicate: &Predicate, one: u8, other: u8) -> Option<Self> {
        let (Expression::Compare(comparison, sides) | Expression::CompareComputed(comparison, sides)) = &predicate.expression
        else {
            return None;
        };
        let (left, right) = &**sides;
        let reads = (places_of(left), places_of(right));
        let own = |side: &Expression| moved(side, &|_| 0);
        if reads == (1 << one, 1 << other) {
            Some(Self::Compares(own(left), *comparison, own(right)))
        } else {
            (reads == (1 << other, 1 << one)).then(|| Self::Compares(own(right), turned(*comparison), own(left)))
        }
    }
}

/// The comparison of the right side with the left.
fn turned(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::Greater,
        Comparison::LessOrEqual => Comparison::GreaterOrEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterOrEqual => Comparison::LessOrEqual,
        Comparison::Equal | Comparison::NotEqual => comparison,
    }
}

/// A value that has an order among its kind.
#[derive(Debug)]
enum Value {
    Truth(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
}

impl Value {
    /// The value of an expression over one event; none if it compares with nothing.
    fn of(expression: &Expression, event: EdgeRef, events: Events<'_>) -> Option<Self> {
        expression.with_value(&events.at(&[event]), |value| match value {
            Operand::Null => None,
            Operand::Bool(truth) => Some(Self::Truth(truth)),
            Operand::Int(number) => Some(Self::Int(number)),
            Operand::Float(number) => (!number.is_nan()).then_some(Self::Float(number)),
            text => text.with_text(|text| Self::Text(text.into())),
        })
    }

    fn operand(&self) -> Operand<'_> {
        match self {
            Self::Truth(truth) => Operand::Bool(*truth),
            Self::Int(number) => Operand::Int(*number),
            Self::Float(number) => Operand::Float(*number),
            Self::Text(text) => Operand::Text(text),
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Truth(_) => 0,
            Self::Int(_) | Self::Float(_) => 1,
            Self::Text(_) => 2,
        }
    }

    /// The order of values, kind by kind.
    fn order(&self, other: &Self) -> Ordering {
        let is = |comparison| compare(comparison, self.operand(), other.operand()) == Some(true);
        let of_kinds = self.kind().cmp(&other.kind());
        of_kinds.then_with(|| match (self, other) {
            (Self::Truth(own), Self::Truth(other)) => own.cmp(other),
            _ if is(Comparison::Less) => Ordering::Less,
            _ if is(Comparison::Equal) => Ordering::Equal,
            _ => Ordering::Greater,
        })
    }
}

/// Ranges of ranks, from one to before another.
type Ranges = [(u32, u32); 2];

const NOWHERE: Ranges = [(0, 0); 2];

/// By candidate, its rank as the first of a gap, and the ranks that it admits as the second.
struct Ranks {
    own: Vec<u32>,
    admits: Vec<Ranges>,
    /// How many there are.
    ranks: u32,
}

impl Ranks {
    fn new(gap: &Gap, place: usize, candidates: &[Candidate], events: Events<'_>) -> Self {
        let fits = |candidate: &Candidate, place: usize| candidate.places >> place & 1 == 1;
        let Gap::Compares(left, comparison, right) = gap else {
            let admits = candidates.iter().map(|_| [(0, 1), (0, 0)]).collect();
            return Self { own: vec![0; candidates.len()], admits, ranks: 1 };
        };
        let values = candidates.iter().enumerate().filter(|(_, candidate)| fits(candidate, place));
        let values = values.filter_map(|(number, candidate)| Some((Value::of(left, candidate.event, events)?, number)));
        let mut values: Vec<(Value, usize)> = values.collect();
        values.sort_by(|one, other| one.0.order(&other.0));
        // What has no value is beyond all ranks.
        let mut own = vec![u32::MAX; candidates.len()];
        let mut distinct: Vec<&Value> = Vec::new();
        for (value, number) in &values {
            if distinct.last().is_none_or(|last| last.order(value) != Ordering::Equal) {
                distinct.push(value);
            }
            own[*number] = distinct.len() as u32 - 1;
        }
        let admits = |candidate: &Candidate| {
            let value = Some(candidate).filter(|candidate| fits(candidate, place + 1));
            let value = value.and_then(|candidate| Value::of(right, candidate.event, events));
            value.map_or(NOWHERE, |value| admitted(&distinct, *comparison, &value))
        };
        Self { admits: candidates.iter().map(admits).collect(), own, ranks: distinct.len() as u32 }
    }

    /// Whether a predicate admits a candidate as the second beside another as the first.
    fn admit(&self, first: usize, second: usize) -> bool {
        self.admits[second].iter().any(|&(from, to)| (from..to).contains(&self.own[first]))
    }
}

/// The ranks of values that compare so with another.
fn admitted(distinct: &[&Value], comparison: Comparison, value: &Value) -> Ranges {
    let place = |is_before: &dyn Fn(&Value) -> bool| distinct.partition_point(|other| is_before(other)) as u32;
    let (first, last) = (place(&|other| other.kind() < value.kind()), place(&|other| other.kind() <= value.kind()));
    let less = place(&|other| other.order(value) == Ordering::Less);
    let no_more = place(&|other| other.order(value) != Ordering::Greater);
    match comparison {
        Comparison::Equal => [(less, no_more), (0, 0)],
        Comparison::NotEqual => [(first, less), (no_more, last)],
        _ if matches!(value, Value::Truth(_)) => NOWHERE,
        Comparison::Less => [(first, less), (0, 0)],
        Comparison::LessOrEqual => [(first, no_more), (0, 0)],
        Comparison::Greater => [(no_more, last), (0, 0)],
        Comparison::GreaterOrEqual => [(less, last), (0, 0)],
    }
}

/// In how many ways beginnings of the chain end, and with which step the newest of them does.
#[derive(Clone, Debug)]
struct Ways {
    count: MatchCount,
    /// The number of the step, from 1; 0 if there is none.
    newest: u32,
}

impl Ways {
    const NONE: Self = Self { count: MatchCount::ZERO, newest: 0 };

    fn add(&mut self, other: &Self) {
        self.count.add(&other.count);
        self.newest = self.newest.max(other.newest);
    }
}

/// Sums over ranges of ranks: a tree of partial sums, its leaves last.
struct Sums(Vec<Ways>);

impl Sums {
    fn new(ranks: u32) -> Self {
        Self(vec![Ways::NONE; 2 * ranks as usize])
    }

    fn add(&mut self, rank: u32, ways: &Ways) {
        let mut at = rank as usize + self.0.len() / 2;
        // What has no value is in no range.
        while at > 0 && at < self.0.len() {
            self.0[at].add(ways);
            at /= 2;
        }
    }

    fn sum(&self, ranges: Ranges) -> Ways {
        let leaves = self.0.len() / 2;
        let mut sum = Ways::NONE;
        for (from, to) in ranges {
            let (mut from, mut to) = (from as usize + leaves, to as usize + leaves);
            while from < to {
                if from & 1 == 1 {
                    sum.add(&self.0[from]);
                    from += 1;
                }
                if to & 1 == 1 {
                    to -= 1;
                    sum.add(&self.0[to]);
                }
                from /= 2;
                to /= 2;
            }
        }
        sum
    }
}

impl Chain {
    pub(super) fn new(gaps: Vec<Gap>, has_rivals: bool) -> Self {
        Self { gaps, has_rivals }
    }

    /// Counts the instances of candidates that have what they must; those that must have an event are no more than there are.
    pub(super) fn count(
        &self,
        events: Events<'_>,
        candidates: &[Candidate],
        must: Must,
        meter: &mut Meter<'_>,
    ) -> Option<PartCount> {
        match must {
            Must::Nothing => self.all(events, candidates, meter),
            Must::Begin(before, _) => {
                let mut own = candidates.to_vec();
                own.iter_mut().filter(|candidate| candidate.ts >= before).for_each(|candidate| candidate.places &= !1);
                self.all(events, &own, meter)
            }
            Must::Have(event) => {
                let places = candidates.iter().find(|candidate| candidate.event == event).map_or(0, |own| own.places);
                let mut found = PartCount { count: MatchCount::ZERO, witness: Vec::new() };
                for place in ones(places) {
                    let narrowed = candidates.iter().map(|candidate| {
                        let places = if candidate.event == event { 1 << place } else { candidate.places & !(1 << place) };
                        Candidate { places, ..*candidate }
                    });
                    let with = self.all(events, &narrowed.collect::<Vec<_>>(), meter)?;
                    if found.count.is_zero() {
                        found.witness = with.witness;
                    }
                    found.count.add(&with.count);
                }
                Some(found)
            }
        }
    }

    fn all(&self, events: Events<'_>, candidates: &[Candidate], meter: &mut Meter<'_>) -> Option<PartCount> {
        let ranks = self.gaps.iter().enumerate().map(|(place, gap)| Ranks::new(gap, place, candidates, events));
        let ranks: Vec<Ranks> = ranks.collect();
        let sums = ranks.iter().map(|ranks| Sums::new(ranks.ranks)).chain([Sums::new(1)]).collect();
        let mut sweep = Sweep { candidates, ranks, sums, steps: Vec::new(), meter };
        let mut start = 0;
        for group in candidates.chunk_by(|one, other| one.ts == other.ts) {
            let all = start..start + group.len();
            start = all.end;
            if self.has_rivals {
                sweep.paths(all)?;
            } else {
                sweep.levels(all)?;
            }
        }
        let found = sweep.sums[self.gaps.len()].sum([(0, 1), (0, 0)]);
        let last = if found.newest == 0 { START } else { found.newest - 1 };
        Some(PartCount { witness: walk(&sweep.steps, last), count: found.count })
    }
}

/// A pass over the candidates.
struct Sweep<'a, 'm, 'p> {
    candidates: &'a [Candidate],
    ranks: Vec<Ranks>,
    /// Of each place but the last by rank, of that in all.
    sums: Vec<Sums>,
    steps: Vec<Step>,
    meter: &'m mut Meter<'p>,
}

/// A beginning that ends with a candidate in a place.
struct End {
    place: usize,
    number: usize,
    ways: Ways,
}

impl Sweep<'_, '_, '_> {
    /// The beginnings so far that a candidate continues in a place, as they are with it.
    fn with(&mut self, place: usize, number: usize) -> Option<Ways> {
        let before = match place.checked_sub(1) {
            None => Ways { count: MatchCount::ONE, newest: 0 },
            Some(before) => self.sums[before].sum(self.ranks[before].admits[number]),
        };
        self.meter.charge(before.count.words()).then(|| self.step(place, number, before))
    }

    fn step(&mut self, place: usize, number: usize, before: Ways) -> Ways {
        if before.count.is_zero() {
            return before;
        }
        let last = if before.newest == 0 { START } else { before.newest - 1 };
        self.steps.push(Step { place, event: self.candidates[number].event, before: last });
        Ways { count: before.count, newest: self.steps.len() as u32 }
    }

    fn add(&mut self, End { place, number, ways }: &End) {
        let rank = self.ranks.get(*place).map_or(0, |ranks| ranks.own[*number]);
        self.sums[*place].add(rank, ways);
    }

    /// Takes candidates of one time that each fit one place: place by place, since equal times are in order.
    fn levels(&mut self, all: std::ops::Range<usize>) -> Option<()> {
        let of_all = self.candidates[all.clone()].iter().fold(0, |places, candidate| places | candidate.places);
        for place in ones(of_all) {
            for number in all.clone().filter(|&number| self.candidates[number].places >> place & 1 == 1) {
                let ways = self.with(place.into(), number)?;
                self.add(&End { place: place.into(), number, ways });
            }
        }
        Some(())
    }

    /// Takes candidates of one time that may fit several places: by each path through them that takes none twice.
    fn paths(&mut self, all: std::ops::Range<usize>) -> Option<()> {
        let mut ends: Vec<End> = Vec::new();
        for number in all.clone() {
            for place in ones(self.candidates[number].places) {
                let ways = self.with(place.into(), number)?;
                if !ways.count.is_zero() {
                    self.walk(&all, &mut vec![number], place.into(), ways, &mut ends)?;
                }
            }
        }
        for end in &ends {
            self.add(end);
        }
        Some(())
    }

    fn walk(
        &mut self,
        all: &std::ops::Range<usize>,
        path: &mut Vec<usize>,
        place: usize,
        ways: Ways,
        ends: &mut Vec<End>,
    ) -> Option<()> {
        let &number = path.last()?;
        if place < self.ranks.len() && path.len() < all.len() {
            for next in all.clone() {
                let fits = self.candidates[next].places >> (place + 1) & 1 == 1 && !path.contains(&next);
                if !fits || !self.ranks[place].admit(number, next) {
                    continue;
                }
                if !self.meter.charge(ways.count.words()) {
                    return None;
                }
                let longer = self.step(place + 1, next, ways.clone());
                path.push(next);
                self.walk(all, path, place + 1, longer, ends)?;
                path.pop();
            }
        }
        ends.push(End { place, number, ways });
        Some(())
    }
}
