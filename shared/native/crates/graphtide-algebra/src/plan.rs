//! Plans of streaming graph queries as the planner hands them over: operators by number, each after its operands.

use graphtide_engine::expression::Expression;
use serde::Deserialize;

/// Variables that a join may have: sets of them are one machine word.
pub const MAX_SLOTS: usize = 64;

/// States that an automaton may have.
pub const MAX_STATES: usize = 1024;

/// A plan.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// The windows that scans read.
    pub inputs: Vec<InputSpec>,
    /// The operators, each after its operands.
    pub operators: Vec<OperatorSpec>,
    /// What the tuples of each are called.
    pub labels: Vec<String>,
    /// What is reported.
    pub outputs: Vec<OutputSpec>,
}

/// Edges of a window.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSpec {
    /// Of which stream, where records of several come.
    #[serde(default)]
    pub stream: Option<String>,
    /// Of edges; none for any.
    pub label: Option<String>,
    /// Of their sources; none for any.
    #[serde(default)]
    pub source_label: Option<String>,
    /// Of their targets; none for any.
    #[serde(default)]
    pub target_label: Option<String>,
    /// What the edge has to fulfil, as edge 0.
    #[serde(default)]
    pub conditions: Vec<Expression>,
    /// Length of the window in ticks.
    pub length: i64,
    /// Slide of the window in ticks.
    pub slide: i64,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "operator", rename_all = "kebab-case", deny_unknown_fields)]
pub enum OperatorSpec {
    /// WSCAN, with the FILTER over it: the edges of an input.
    Scan {
        /// Number of the input.
        input: usize,
    },
    /// UNION.
    Union {
        /// Numbers of operators of one arity.
        operands: Vec<usize>,
    },
    /// PATTERN, and FILTER over anything but a scan.
    Join(JoinSpec),
    /// PATH.
    Path(PathSpec),
}

/// A join: tuples of all parts that agree in their variables, projected to some of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinSpec {
    /// What is joined.
    pub parts: Vec<PartSpec>,
    /// Variables: how many there are.
    pub slots: usize,
    /// Variables that are known vertices.
    #[serde(default)]
    pub constants: Vec<(u8, String)>,
    /// The variables of a result, by column.
    pub columns: Vec<u8>,
    /// What the variables have to fulfil, as vertices.
    #[serde(default)]
    pub conditions: Vec<Expression>,
}

/// A part of a join.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartSpec {
    /// Number of the operator.
    pub operand: usize,
    /// The variable of each of its columns.
    pub slots: Vec<u8>,
}

/// A path: pairs of vertices between which a path spells a word of an automaton.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// What spells: numbers of binary operators, and whether their tuples are walked backwards.
    pub symbols: Vec<(usize, bool)>,
    /// States of the automaton; 0 is the start, which no transition leads to.
    pub states: usize,
    /// Transitions: from a state, by a symbol, to a state.
    pub transitions: Vec<(u16, u16, u16)>,
    /// States in which a word may end; not the start.
    pub accepting: Vec<u16>,
    /// The vertex at which paths begin, if they begin at one alone.
    #[serde(default)]
    pub root: Option<String>,
    /// Whether paths are walked from their ends, so that the root is where they end.
    #[serde(default)]
    pub is_reversed: bool,
    /// What runs it.
    pub engine: PathEngine,
}

/// What runs a PATH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathEngine {
    /// Expired paths are passed over.
    SPath,
    /// Expired paths are taken out and derived anew.
    DeltaTree,
}

/// What is reported: tuples of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputSpec {
    /// Number of the operator.
    pub operator: usize,
    /// Label of the results.
    pub label: String,
    /// Names of their columns.
    pub columns: Vec<String>,
    /// Whether results are emitted once, when they become valid, and not when they are extended.
    #[serde(default)]
    pub is_appended: bool,
    /// The ways to the path that is reported with each result; empty if none is.
    #[serde(default)]
    pub paths: Vec<TracedPath>,
}

/// A way to the path that is reported with a result.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracedPath {
    /// Number of the operator that has it; a path, or what else gives edges.
    pub operator: usize,
    /// Number of the join whose variables are its ends; none where they are the columns of what is reported.
    #[serde(default)]
    pub join: Option<usize>,
    /// The variables, or the columns.
    pub ends: (u8, u8),
    /// Whether it is one edge, the operator's tuple itself, though that be a path.
    #[serde(default)]
    pub is_edge: bool,
}

/// A plan that nothing could run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct InvalidPlan(pub &'static str);

impl PlanSpec {
    /// Refuses a plan that could not run, so that operators need no checks of their own.
    pub fn check(&self) -> Result<(), InvalidPlan> {
        let mut arities: Vec<usize> = Vec::with_capacity(self.operators.len());
        for input in &self.inputs {
            input.check()?;
        }
        for operator in &self.operators {
            arities.push(operator.check(&arities, self.inputs.len())?);
        }
        if self.labels.len() != self.operators.len() {
            return Err(InvalidPlan("there are not as many labels as operators"));
        }
        if self.outputs.is_empty() {
            return Err(InvalidPlan("nothing is reported"));
        }
        for output in &self.outputs {
            let arity = arities.get(output.operator).ok_or(InvalidPlan("an output names no operator"))?;
            if output.columns.len() != *arity {
                return Err(InvalidPlan("an output has not as many names as columns"));
            }
            for path in &output.paths {
                let most = match path.join.map(|join| self.operators.get(join)) {
                    None => *arity,
                    Some(Some(OperatorSpec::Join(join))) if join.columns.len() == *arity => join.slots,
                    Some(_) => 0,
                };
                if arities.get(path.operator) != Some(&2) || usize::from(path.ends.0.max(path.ends.1)) >= most {
                    return Err(InvalidPlan("the path of an output is not there"));
                }
            }
        }
        Ok(())
    }
}

impl InputSpec {
    fn check(&self) -> Result<(), InvalidPlan> {
        if self.slide < 1 || self.length < self.slide {
            return Err(InvalidPlan("a window is at least as long as its slide, and that a tick"));
        }
        if self.conditions.iter().any(|condition| condition.reads().0 & !1 != 0) {
            return Err(InvalidPlan("a condition of an input reads more than its edge"));
        }
        Ok(())
    }
}

impl OutputSpec {
    /// The same by other numbers of operators.
    #[must_use]
    pub fn renumbered(&self, operators: &[usize]) -> Self {
        let path = |path: &TracedPath| TracedPath {
            operator: operators[path.operator],
            join: path.join.map(|join| operators[join]),
            ends: path.ends,
            is_edge: path.is_edge,
        };
        Self { operator: operators[self.operator], paths: self.paths.iter().map(path).collect(), ..self.clone() }
    }
}

impl OperatorSpec {
    /// The same by other numbers of inputs and operators.
    #[must_use]
    pub fn renumbered(&self, inputs: &[usize], operators: &[usize]) -> Self {
        let mut other = self.clone();
        match &mut other {
            Self::Scan { input } => *input = inputs[*input],
            Self::Union { operands } => operands.iter_mut().for_each(|operand| *operand = operators[*operand]),
            Self::Join(join) => join.parts.iter_mut().for_each(|part| part.operand = operators[part.operand]),
            Self::Path(path) => path.symbols.iter_mut().for_each(|(operand, _)| *operand = operators[*operand]),
        }
        other
    }

    /// Numbers of its operands.
    pub fn operands(&self) -> Vec<usize> {
        match self {
            Self::Scan { .. } => Vec::new(),
            Self::Union { operands } => operands.clone(),
            Self::Join(join) => join.parts.iter().map(|part| part.operand).collect(),
            Self::Path(path) => path.symbols.iter().map(|&(operand, _)| operand).collect(),
        }
    }

    /// Returns its arity.
    fn check(&self, arities: &[usize], inputs: usize) -> Result<usize, InvalidPlan> {
        let of = |operand: usize| arities.get(operand).copied().ok_or(InvalidPlan("an operand does not come before"));
        match self {
            Self::Scan { input } if *input < inputs => Ok(2),
            Self::Scan { .. } => Err(InvalidPlan("a scan names no input")),
            Self::Union { operands } => {
                let mut own = operands.iter().map(|&operand| of(operand));
                let first = own.next().ok_or(InvalidPlan("a union has no operand"))??;
                own.try_for_each(
                    |arity| if arity? == first { Ok(()) } else { Err(InvalidPlan("operands differ in columns")) },
                )?;
                Ok(first)
            }
            Self::Join(join) => join.check(of),
            Self::Path(path) => path.check(of),
        }
    }
}

impl JoinSpec {
    fn check(&self, of: impl Fn(usize) -> Result<usize, InvalidPlan>) -> Result<usize, InvalidPlan> {
        if self.parts.is_empty() || self.slots > MAX_SLOTS {
            return Err(InvalidPlan("a join has 1 part at least and 64 variables at most"));
        }
        let mut bound: u64 = 0;
        for part in &self.parts {
            if of(part.operand)? != part.slots.len() || part.slots.iter().any(|&slot| usize::from(slot) >= self.slots) {
                return Err(InvalidPlan("a part of a join has other columns than its operand"));
            }
            part.slots.iter().for_each(|&slot| bound |= 1 << slot);
        }
        let is_bound = |slot: u8| usize::from(slot) < self.slots && bound >> slot & 1 == 1;
        let (_, read) = self.conditions.iter().map(Expression::reads).fold((0, 0), |(a, b), (c, d)| (a | c, b | d));
        if self.columns.is_empty() || !self.columns.iter().all(|&slot| is_bound(slot)) || read & !u128::from(bound) != 0 {
            return Err(InvalidPlan("a join returns or reads a variable that no part has"));
        }
        if !self.constants.iter().all(|&(slot, _)| is_bound(slot)) {
            return Err(InvalidPlan("a constant is of no variable"));
        }
        self.check_connected()?;
        Ok(self.columns.len())
    }

    fn check_connected(&self) -> Result<(), InvalidPlan> {
        let sets: Vec<u64> = self.parts.iter().map(|part| part.slots.iter().fold(0, |set, slot| set | 1 << slot)).collect();
        let constants = self.constants.iter().fold(0, |set, (slot, _)| set | 1 << slot);
        let mut joined = sets[0] | constants;
        for _ in &sets {
            joined = sets.iter().filter(|&&set| set & joined != 0).fold(joined, |joined, set| joined | set);
        }
        if sets.iter().all(|set| set & joined != 0) { Ok(()) } else { Err(InvalidPlan("a join falls apart")) }
    }
}

impl PathSpec {
    fn check(&self, of: impl Fn(usize) -> Result<usize, InvalidPlan>) -> Result<usize, InvalidPlan> {
        if self.symbols.is_empty() || self.symbols.len() > usize::from(u16::MAX) {
            return Err(InvalidPlan("a path has a symbol at least"));
        }
        for &(operand, _) in &self.symbols {
            if of(operand)? != 2 {
                return Err(InvalidPlan("a symbol of a path has not two columns"));
            }
        }
        if self.states < 2 || self.states > MAX_STATES {
            return Err(InvalidPlan("an automaton has 2 to 1024 states"));
        }
        let is_state = |state: u16| usize::from(state) < self.states;
        let is_fit = |&(from, symbol, to): &(u16, u16, u16)| {
            is_state(from) && is_state(to) && to != 0 && usize::from(symbol) < self.symbols.len()
        };
        if !self.transitions.iter().all(is_fit) {
            return Err(InvalidPlan("a transition leads to the start, or to what is not there"));
        }
        if self.accepting.is_empty() || !self.accepting.iter().all(|&state| is_state(state) && state != 0) {
            return Err(InvalidPlan("no word is accepted, or the empty one is"));
        }
        Ok(2)
    }
}
