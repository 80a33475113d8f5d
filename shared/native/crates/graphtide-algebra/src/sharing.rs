//! Plans of several queries as one: an operator that several of them have, over the same operands, is there once.
//!
//! Operators are compared by what they compute: variables are numbers, and labels do not count. Each query keeps its own
//! numbers of operators, and by those what it calls them. No two operators of one query become one: they are distinguished by
//! their names.
//! Cost: the plans, once; operators are found by their text.

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use crate::plan::{InputSpec, OperatorSpec, OutputSpec, PlanSpec};

/// The plans of several queries as one.
#[derive(Debug, Default)]
pub struct SharedPlan {
    /// The windows that scans read.
    pub inputs: Vec<InputSpec>,
    /// The operators, each after its operands.
    pub operators: Vec<OperatorSpec>,
    /// The queries, in their order.
    pub members: Vec<MemberPlan>,
}

/// What a query has of a plan that it shares.
#[derive(Debug)]
pub struct MemberPlan {
    /// By its own number of an operator: that in the plan; each comes once.
    pub operators: Vec<usize>,
    /// What it reports, by numbers of the plan.
    pub outputs: Vec<OutputSpec>,
}

/// What is known by its text.
type Known = HashMap<String, Vec<usize>, FxBuildHasher>;

impl SharedPlan {
    /// Takes plans that were checked.
    pub fn new(plans: &[&PlanSpec]) -> Self {
        let mut shared = Self::default();
        let (mut inputs, mut operators) = (Known::default(), Known::default());
        for plan in plans {
            let member = shared.add(plan, &mut inputs, &mut operators);
            shared.members.push(member);
        }
        shared
    }

    fn add(&mut self, plan: &PlanSpec, inputs: &mut Known, operators: &mut Known) -> MemberPlan {
        let numbers: Vec<usize> = plan.inputs.iter().map(|input| place(input, &mut self.inputs, inputs, |_| true)).collect();
        let mut own: Vec<usize> = Vec::with_capacity(plan.operators.len());
        let mut taken: HashSet<usize, FxBuildHasher> = HashSet::default();
        for operator in &plan.operators {
            let operator = operator.renumbered(&numbers, &own);
            let number = place(&operator, &mut self.operators, operators, |number| !taken.contains(&number));
            taken.insert(number);
            own.push(number);
        }
        MemberPlan { outputs: plan.outputs.iter().map(|output| output.renumbered(&own)).collect(), operators: own }
    }
}

/// The place of an item that is known and may be taken; puts it at the end if there is none.
fn place<T: Clone + std::fmt::Debug>(
    item: &T,
    items: &mut Vec<T>,
    known: &mut Known,
    may_take: impl Fn(usize) -> bool,
) -> usize {
    let equal = known.entry(format!("{item:?}")).or_default();
    equal.iter().copied().find(|&number| may_take(number)).unwrap_or_else(|| {
        equal.push(items.len());
        items.push(item.clone());
        items.len() - 1
    })
}

/// Which plans have an operator in common that is not a scan, or are linked by others that have: their places, each once.
///
/// Scans alone link nobody: what they save is little, and who is linked shares what limits allow.
pub fn linked(plans: &[&PlanSpec]) -> Vec<Vec<usize>> {
    let shared = SharedPlan::new(plans);
    let mut links: Vec<usize> = (0..plans.len()).collect();
    let mut owners: Vec<Option<usize>> = vec![None; shared.operators.len()];
    for (member, plan) in shared.members.iter().enumerate() {
        for &number in &plan.operators {
            if matches!(shared.operators[number], OperatorSpec::Scan { .. }) {
                continue;
            }
            let (one, other) = (first(&mut links, member), *owners[number].get_or_insert(member));
            let other = first(&mut links, other);
            links[one.max(other)] = one.min(other);
        }
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); plans.len()];
    for member in 0..plans.len() {
        groups[first(&mut links, member)].push(member);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// The first of those that one is linked with.
fn first(links: &mut [usize], mut member: usize) -> usize {
    while links[member] != member {
        links[member] = links[links[member]];
        member = links[member];
    }
    member
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(labels: [&str; 2], name: &str) -> PlanSpec {
        let input = |label: &str| serde_json::json!({"label": label, "length": 10, "slide": 1});
        let walk = serde_json::json!({"operator": "path", "symbols": [[0, false]], "states": 2, "transitions": [[0, 0, 1], [1, 0, 1]],
            "accepting": [1], "engine": "s-path"});
        let join = serde_json::json!({"operator": "join", "parts": [{"operand": 2, "slots": [0, 1]}, {"operand": 1, "slots": [1, 2]}],
            "slots": 3, "columns": [0, 2]});
        let scan = |input: usize| serde_json::json!({"operator": "scan", "input": input});
        let plan = serde_json::json!({"inputs": labels.map(input), "operators": [scan(0), scan(1), walk, join],
            "labels": ["a", "b", "walk", name], "outputs": [{"operator": 3, "label": name, "columns": ["x", "y"]}]});
        serde_json::from_value(plan).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn equal_operators_are_there_once_however_they_are_called() {
        let plans = [plan(["a", "b"], "one"), plan(["a", "c"], "two"), plan(["a", "b"], "three")];
        let shared = SharedPlan::new(&plans.each_ref());
        assert_eq!((shared.inputs.len(), shared.operators.len()), (3, 6));
        let operators: Vec<&[usize]> = shared.members.iter().map(|member| member.operators.as_slice()).collect();
        assert_eq!(operators, [&[0, 1, 2, 3], &[0, 4, 2, 5], &[0, 1, 2, 3]]);
        assert_eq!(shared.members[1].outputs[0].operator, 5);
    }

    #[test]
    fn operators_of_one_query_stay_apart() {
        let mut twice = plan(["a", "b"], "one");
        twice.operators.push(twice.operators[3].clone());
        twice.labels.push("other".into());
        let shared = SharedPlan::new(&[&twice, &twice]);
        assert_eq!(shared.operators.len(), 5);
        assert_eq!(shared.members[1].operators, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn plans_are_linked_by_more_than_scans() {
        let plans = [plan(["a", "b"], "one"), plan(["b", "a"], "two"), plan(["a", "c"], "three"), plan(["d", "a"], "four")];
        assert_eq!(linked(&plans.each_ref()), [vec![0, 2], vec![1], vec![3]]);
    }
}
