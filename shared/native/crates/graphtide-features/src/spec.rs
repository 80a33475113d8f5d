//! Features as Python states them, in JSON; `graphtide_native.features` writes it.

use graphtide_engine::expression::Expression;
use graphtide_graph::Time;
use serde::Deserialize;

/// All features of a stream.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// Names of the attributes that expressions read, by the columns that they read them from.
    pub(crate) inputs: Vec<String>,
    pub(crate) groups: Vec<GroupSpec>,
    pub(crate) emissions: Vec<EmissionSpec>,
    /// Keys that a window of an emission has at most.
    pub(crate) most_keys: usize,
    /// Records that the log of a group holds at most.
    pub(crate) most_records: usize,
}

/// Features with equal keys and conditions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupSpec {
    pub(crate) keys: Vec<Expression>,
    #[serde(rename = "where")]
    pub(crate) condition: Option<Expression>,
    /// What its functions are over.
    pub(crate) values: Vec<Expression>,
    pub(crate) features: Vec<FeatureSpec>,
}

/// A feature.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FeatureSpec {
    pub(crate) name: String,
    pub(crate) function: Function,
    /// Which of the group's values it is over; none for a count of records.
    pub(crate) value: Option<usize>,
    /// Ticks of its window: a record of `t` is in it before `t + over`.
    pub(crate) over: Time,
    /// Ticks of the longer window, and how many windows it has.
    pub(crate) against: Option<(Time, f64)>,
    pub(crate) excludes_current: bool,
}

/// What a stream gives for each window of time and key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmissionSpec {
    /// Label of the edges, or type of the events.
    pub(crate) label: String,
    /// Labels of source and target, which are the first values of the key; none for events.
    pub(crate) ends: Option<[Option<String>; 2]>,
    /// Ticks of a window.
    pub(crate) every: Time,
    /// Key, condition, and what is computed: first how many records there are.
    pub(crate) group: GroupSpec,
    /// Names of the attributes: the values of the key behind the ends, then those of the group behind the first.
    pub(crate) names: Vec<String>,
    /// Over the attributes, by their places in `names`, and fields of what is given.
    pub(crate) having: Option<Expression>,
}

/// What is computed of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Function {
    Count,
    Different,
    Sum,
    Avg,
    Min,
    Max,
    Last,
}

/// Why features are not accepted: the text of Python is not the one that this version reads.
#[derive(Debug)]
pub struct SpecError(pub(crate) String);

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the features cannot be read: {}", self.0)
    }
}

impl std::error::Error for SpecError {}
