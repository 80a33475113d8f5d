//! The aggregation plan as it is handed over: sub-patterns in branch form, each after its parents, and what each pattern
//! reports.
//!
//! Everything is by position. In an expression, edge i is the event in slot i, and edge `slots + i` the event of absence i.
//! Vertex `2 i` is the source of event i, `2 i + 1` its target.

pub use graphtide_engine::aggregate::AggregateSpec;
use graphtide_engine::aggregate::{is_aggregate, reads_columns};
use graphtide_engine::expression::Expression;
use serde::Deserialize;

/// Slots and absences that a sub-pattern may have: sets of them are one machine word.
pub const MAX_PLACES: usize = 64;

/// A plan of many patterns.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// Sub-patterns, each after its parents.
    pub vertices: Vec<VertexSpec>,
    /// Patterns.
    pub patterns: Vec<PatternSpec>,
}

/// A sub-pattern, whose instances are stored once for all that extend them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexSpec {
    /// Places of events.
    pub slots: Vec<SlotSpec>,
    /// Pairs of slots: the first is no later than the second. Closed under transitivity.
    pub order: Vec<(u8, u8)>,
    /// Most ticks between the first event and the last.
    pub within: i64,
    /// What must be true of the events.
    pub predicates: Vec<Expression>,
    /// What predicates read of whole lists.
    #[serde(default)]
    pub aggregates: Vec<AggregateSpec>,
    /// What must not come.
    #[serde(default)]
    pub absences: Vec<AbsenceSpec>,
    /// What all events share, of event 0.
    #[serde(default)]
    pub partition: Vec<Expression>,
    /// Sub-patterns whose instances are parts of this one's.
    #[serde(default)]
    pub parents: Vec<ParentSpec>,
}

/// The place of an event, or of a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotSpec {
    /// Types that the event may have; any, where there are none.
    pub types: Vec<String>,
    /// How often it is repeated, where it is a list.
    #[serde(default)]
    pub repeat: Option<RepeatSpec>,
}

/// How often an event is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatSpec {
    /// Fewest events.
    pub least: u32,
    /// Most events.
    pub most: Option<u32>,
    /// Which events it takes of those that it could.
    pub selection: Selection,
}

/// Which events an iteration takes of those that it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// Every subset.
    Any,
    /// From each start, those that follow.
    Next,
}

/// Events that must not come between two bounds, closed both.
///
/// The interval begins at the latest of the slots in `after`, or, where there are none, `within` ticks before the latest of the
/// slots `of`. It ends at the earliest of `before`, or so many ticks after the earliest of them. An inner one is from their
/// earliest to their latest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsenceSpec {
    /// Types of the events; any, where there are none.
    pub types: Vec<String>,
    /// Slots that come before.
    pub after: Vec<u8>,
    /// Slots that come after.
    pub before: Vec<u8>,
    /// Slots of the part that it stands in.
    pub of: Vec<u8>,
    /// Whether it holds from the first to the last of that part.
    pub is_inner: bool,
}

/// A parent: its slot i is slot `slots[i]` of the child.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParentSpec {
    /// Its place among the vertices.
    pub vertex: u32,
    /// Where its slots are.
    pub slots: Vec<u8>,
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternSpec {
    /// Vertices whose instances are its matches, the first preferred where two have the same events.
    pub branches: Vec<u32>,
    /// What is reported of them.
    pub report: Report,
    /// Ticks that an event is of use for: a match can be retracted while all of its events are less old.
    pub lookback: i64,
    /// Whether it reports first events without a match; slots are then in the order of the text.
    #[serde(default)]
    pub emits_timeouts: bool,
    /// For patterns that emit matches of the same events once: the slots of each branch in the order of the text.
    #[serde(default)]
    pub distinct: Vec<Vec<u8>>,
    /// What it returns of its matches.
    #[serde(default)]
    pub returns: Option<ReturnsSpec>,
}

/// What a pattern returns of its matches. Places are those of the names of its events, in the order of the text.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReturnsSpec {
    /// The fields.
    pub fields: Vec<FieldSpec>,
    /// The key of a match, for patterns that emit one match for each key.
    #[serde(default)]
    pub keys: Vec<Expression>,
    /// What they compute from whole lists.
    #[serde(default)]
    pub aggregates: Vec<AggregateSpec>,
    /// How many names there are.
    pub names: usize,
    /// The names of the events of its branches.
    pub branches: Vec<BranchSpec>,
}

/// A field of a match.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    /// Its value.
    pub value: Expression,
    /// The list of whose events each has a value, if it is one of values.
    #[serde(default)]
    pub each: Option<u8>,
}

/// The names of the events of a branch, as places in those of the pattern.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchSpec {
    /// By slot.
    pub events: Vec<u8>,
    /// In place of that of a slot, where its event is of a type: slot, type, name.
    #[serde(default)]
    pub by_type: Vec<(u8, String, u8)>,
}

/// What is emitted of a pattern's matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Each.
    All,
    /// How many an event completes, and one of them.
    Exists,
}

/// A plan that cannot be run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("vertex {vertex}: {reason}")]
pub struct InvalidPlan {
    /// Place of the vertex.
    pub vertex: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl PlanSpec {
    /// Refuses what cannot be run over records of so many attributes. That is a position that there is not, a parent that does
    /// not come first, or too many places.
    pub fn check(&self, width: usize) -> Result<(), InvalidPlan> {
        for (number, vertex) in self.vertices.iter().enumerate() {
            let invalid = |reason| Err(InvalidPlan { vertex: number, reason });
            let slots = vertex.slots.len();
            let places = slots + vertex.absences.len();
            if slots == 0 || places > MAX_PLACES {
                return invalid("it has no slot, or too many");
            }
            if vertex.within < 0 {
                return invalid("its time is negative");
            }
            let all = mask_below(places);
            if vertex.predicates.iter().any(|predicate| places_of(predicate) & !all != 0) {
                return invalid("a predicate reads a place that it does not have");
            }
            if !vertex.reads_columns(width) {
                return invalid("it reads an attribute that records do not have");
            }
            let mut read = vertex.order.iter().flat_map(|&(one, other)| [one, other]).chain(
                vertex
                    .absences
                    .iter()
                    .flat_map(|absence| absence.after.iter().chain(&absence.before).chain(&absence.of).copied()),
            );
            if read.any(|slot| usize::from(slot) >= slots) {
                return invalid("it names a slot that it does not have");
            }
            for parent in &vertex.parents {
                let Some(other) = self.vertices[..number].get(parent.vertex as usize) else {
                    return invalid("a parent does not come before it");
                };
                if other.slots.len() != parent.slots.len() || parent.slots.iter().any(|&slot| usize::from(slot) >= slots) {
                    return invalid("the slots of a parent are not slots of it");
                }
            }
        }
        for pattern in &self.patterns {
            if pattern.returns.as_ref().is_some_and(|returns| !returns.is_fit(width)) {
                let vertex = pattern.branches.first().map_or(0, |&vertex| vertex as usize);
                return Err(InvalidPlan { vertex, reason: "a pattern of it returns what there is not" });
            }
            for (&vertex, order) in pattern.branches.iter().zip(&pattern.distinct) {
                let vertex = vertex as usize;
                let slots = self.vertices.get(vertex).map_or(0, |vertex| vertex.slots.len());
                if order.len() != slots || order.iter().any(|&slot| usize::from(slot) >= slots) {
                    return Err(InvalidPlan { vertex, reason: "the order of its slots is not one of them" });
                }
            }
            if !pattern.distinct.is_empty() && pattern.distinct.len() != pattern.branches.len() {
                return Err(InvalidPlan { vertex: 0, reason: "a pattern has orders of the slots of other branches" });
            }
        }
        let mut branches = self.patterns.iter().flat_map(|pattern| &pattern.branches);
        match branches.find(|&&vertex| vertex as usize >= self.vertices.len()) {
            Some(&vertex) => Err(InvalidPlan { vertex: vertex as usize, reason: "a pattern names it, but there is none" }),
            None => Ok(()),
        }
    }
}

impl VertexSpec {
    /// Whether all that it reads of records of so many attributes is there.
    fn reads_columns(&self, width: usize) -> bool {
        self.predicates.iter().all(|predicate| reads_columns(predicate, width, &self.aggregates))
            && self.partition.iter().all(|part| reads_columns(part, width, &[]) && places_of(part) & !1 == 0)
            && self.aggregates.iter().all(|aggregate| aggregate.is_fit(width))
    }
}

impl ReturnsSpec {
    /// Whether all that it reads of records of so many attributes, and all names, are there.
    fn is_fit(&self, width: usize) -> bool {
        let names =
            self.branches.iter().flat_map(|branch| branch.events.iter().chain(branch.by_type.iter().map(|(.., to)| to)));
        let all = mask_below(self.names);
        let is_fit = |value: &Expression| reads_columns(value, width, &self.aggregates) && places_of(value) & !all == 0;
        let lists = |field: &FieldSpec| field.each.map_or(0, |place| 1 << place) & !all == 0;
        self.names <= MAX_PLACES
            && names.into_iter().all(|&name| usize::from(name) < self.names)
            && self.fields.iter().all(|field| is_fit(&field.value) && lists(field))
            && self.keys.iter().all(is_fit)
            && self.aggregates.iter().all(|aggregate| aggregate.is_fit(width))
    }
}

/// The set of the first so many places.
pub(crate) fn mask_below(places: usize) -> u64 {
    if places >= 64 { u64::MAX } else { (1 << places) - 1 }
}

/// The places that an expression reads.
pub(crate) fn places_of(expression: &Expression) -> u64 {
    let (events, ends) = expression.reads();
    (0..MAX_PLACES).fold(events, |places, place| places | u64::from(ends >> (2 * place) & 3 != 0) << place)
}

/// The places whose events an expression reads one by one, beside what is computed from whole lists.
pub(crate) fn single_places_of(expression: &Expression) -> u64 {
    match expression {
        Expression::Attribute(_, column) if is_aggregate(*column) => 0,
        Expression::Literal(_)
        | Expression::Attribute(..)
        | Expression::Ts(_)
        | Expression::Id(_)
        | Expression::VertexId(_)
        | Expression::End(..) => places_of(expression),
        Expression::Compare(_, operands) | Expression::Compute(_, operands) | Expression::CompareComputed(_, operands) => {
            single_places_of(&operands.0) | single_places_of(&operands.1)
        }
        Expression::Computed(computed) => computed.reads().iter().map(single_places_of).fold(0, |all, each| all | each),
        Expression::And(operands) | Expression::Or(operands) => {
            operands.iter().fold(0, |places, operand| places | single_places_of(operand))
        }
        Expression::Negate(operand)
        | Expression::Not(operand)
        | Expression::In(operand, _)
        | Expression::StartsWith(operand, _)
        | Expression::IsNull(operand) => single_places_of(operand),
    }
}

/// An expression over other places.
pub(crate) fn moved(expression: &Expression, to: &impl Fn(u8) -> u8) -> Expression {
    expression.renamed(to, &|end| 2 * to(end / 2) + end % 2)
}

/// The conjuncts of predicates.
pub(crate) fn conjuncts<'a>(predicates: impl IntoIterator<Item = &'a Expression>) -> Vec<Expression> {
    let split = |predicate: &'a Expression| match predicate {
        Expression::And(operands) => conjuncts(operands),
        _ => vec![predicate.clone()],
    };
    predicates.into_iter().flat_map(split).collect()
}
