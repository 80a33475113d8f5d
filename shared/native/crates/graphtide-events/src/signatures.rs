//! From an event to what it can fill.
//!
//! A *signature* is what a slot, or an absence, asks of one event: its types, and the predicates that it decides by itself.
//! Places with equal signatures, in one pattern or in thousands, share it, and the events that satisfy it are listed once.
//! Cost: an array read for an event whose type nobody asks for. Of the signatures of its type that ask for a constant, those
//! are tested whose constant it is. Of those that bound an attribute, those are tested whose bound it keeps. All others are
//! tested.

use std::hash::BuildHasher;

use graphtide_engine::expression::{Bindings, Comparison, Expression, Operand};
use graphtide_engine::meter::Meter;
use graphtide_graph::symbol::{Symbol, SymbolTable};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::plan::conjuncts;

/// A signature's place in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureId(pub u32);

impl SignatureId {
    /// Its place in the list of all.
    #[inline]
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// What is asked of one event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Signature {
    /// Any, where there are none.
    types: Vec<Symbol>,
    /// Over event 0.
    predicates: Vec<Expression>,
    steps: u32,
}

impl Signature {
    /// Whether an event of that type satisfies it.
    pub(crate) fn fits(&self, kind: Symbol, event: &impl Bindings) -> bool {
        (self.types.is_empty() || self.types.contains(&kind)) && self.holds(event)
    }

    #[inline]
    fn holds(&self, event: &impl Bindings) -> bool {
        self.predicates.iter().all(|predicate| predicate.holds(event))
    }

    /// Whether some event may satisfy both, by their types.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let any = self.types.is_empty() || other.types.is_empty();
        any || self.types.iter().any(|kind| other.types.contains(kind))
    }
}

/// All signatures, by what satisfies them.
#[derive(Debug, Default)]
pub(crate) struct Signatures {
    list: Vec<Signature>,
    known: HashMap<u64, SmallVec<[SignatureId; 1]>, FxBuildHasher>,
    /// Class of each type; the first is that of all types which nobody names.
    class_of: Vec<u32>,
    classes: Vec<Class>,
}

/// Signatures by the hash of a constant.
type ByHash = HashMap<u64, Vec<SignatureId>, FxBuildHasher>;

/// Signatures that events of one type may satisfy.
#[derive(Debug, Default)]
struct Class {
    free: Vec<SignatureId>,
    equal: Vec<(Expression, ByHash)>,
    bounded: Vec<Bounded>,
}

/// Signatures that bound one attribute, each under one bound, ascending.
#[derive(Debug)]
struct Bounded {
    column: u16,
    /// It is less, or no more.
    above: Vec<(f64, SignatureId)>,
    /// It is greater, or no less.
    below: Vec<(f64, SignatureId)>,
}

/// How a signature is found.
enum Found<'a> {
    Equal(&'a Expression, u64),
    Above(u16, f64),
    Below(u16, f64),
}

impl Signatures {
    /// Returns the number of a signature, giving it one if it is new.
    pub(crate) fn add(&mut self, types: &[String], predicates: &[Expression], symbols: &mut SymbolTable) -> SignatureId {
        let mut types: Vec<Symbol> = types.iter().map(|kind| symbols.intern(kind)).collect();
        types.sort_unstable();
        types.dedup();
        let mut written: Vec<(String, Expression)> =
            conjuncts(predicates).into_iter().map(|predicate| (format!("{predicate:?}"), predicate)).collect();
        written.sort_by(|one, other| one.0.cmp(&other.0));
        written.dedup_by(|one, other| one.0 == other.0);
        let hash = FxBuildHasher.hash_one((&types, written.iter().map(|each| each.0.as_str()).collect::<Vec<_>>()));
        let predicates: Vec<Expression> = written.into_iter().map(|each| each.1).collect();
        let steps = 1 + predicates.iter().map(Expression::steps).sum::<u32>();
        let signature = Signature { types, predicates, steps };
        let same = self.known.entry(hash).or_default();
        if let Some(&id) = same.iter().find(|id| self.list[id.place()] == signature) {
            return id;
        }
        let id = SignatureId(self.list.len() as u32);
        same.push(id);
        self.list.push(signature);
        id
    }

    /// Makes the table ready once all were added. Complexity: O(types · signatures of any type + types of signatures).
    pub(crate) fn seal(&mut self) {
        self.classes.push(Class::default());
        let mut of_any = Vec::new();
        for (number, signature) in self.list.iter().enumerate() {
            let id = SignatureId(number as u32);
            if signature.types.is_empty() {
                of_any.push(id);
            }
            for kind in &signature.types {
                let place = kind.0 as usize;
                self.class_of.resize(self.class_of.len().max(place + 1), 0);
                if self.class_of[place] == 0 {
                    self.class_of[place] = self.classes.len() as u32;
                    self.classes.push(Class::default());
                }
                self.classes[self.class_of[place] as usize].add(id, signature);
            }
        }
        for class in &mut self.classes {
            for &id in &of_any {
                class.add(id, &self.list[id.place()]);
            }
            class.seal();
        }
    }

    /// The signature of a number.
    pub(crate) fn get(&self, id: SignatureId) -> &Signature {
        &self.list[id.place()]
    }

    /// Signatures.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Calls `f` with every signature that an event satisfies.
    #[inline]
    pub(crate) fn satisfied(&self, kind: Symbol, event: &impl Bindings, meter: &mut Meter<'_>, mut f: impl FnMut(SignatureId)) {
        let class = &self.classes[self.class_of.get(kind.0 as usize).copied().unwrap_or(0) as usize];
        let mut test = |id: SignatureId| {
            let signature = self.get(id);
            meter.tick(signature.steps);
            if signature.holds(event) {
                f(id);
            }
        };
        class.free.iter().copied().for_each(&mut test);
        for (of, table) in &class.equal {
            let listed = of.hash(event).and_then(|hash| table.get(&hash));
            listed.into_iter().flatten().copied().for_each(&mut test);
        }
        for bounded in &class.bounded {
            if let Some(value) = number(event.attribute(0, bounded.column)) {
                let start = bounded.above.partition_point(|&(bound, _)| bound < value);
                bounded.above[start..].iter().for_each(|&(_, id)| test(id));
                let end = bounded.below.partition_point(|&(bound, _)| bound <= value);
                bounded.below[..end].iter().for_each(|&(_, id)| test(id));
            }
        }
    }
}

impl Class {
    fn add(&mut self, id: SignatureId, signature: &Signature) {
        let ways = || signature.predicates.iter().filter_map(found);
        let equal = ways().find(|way| matches!(way, Found::Equal(..)));
        match equal.or_else(|| ways().next()) {
            None => self.free.push(id),
            Some(Found::Equal(of, hash)) => {
                let known = self.equal.iter().position(|(other, _)| other == of);
                let table = known.unwrap_or_else(|| {
                    self.equal.push((of.clone(), HashMap::default()));
                    self.equal.len() - 1
                });
                self.equal[table].1.entry(hash).or_default().push(id);
            }
            Some(Found::Above(column, bound)) => self.bounded(column).above.push((bound, id)),
            Some(Found::Below(column, bound)) => self.bounded(column).below.push((bound, id)),
        }
    }

    fn bounded(&mut self, column: u16) -> &mut Bounded {
        let known = self.bounded.iter().position(|bounded| bounded.column == column);
        let place = known.unwrap_or_else(|| {
            self.bounded.push(Bounded { column, above: Vec::new(), below: Vec::new() });
            self.bounded.len() - 1
        });
        &mut self.bounded[place]
    }

    fn seal(&mut self) {
        for bounded in &mut self.bounded {
            for list in [&mut bounded.above, &mut bounded.below] {
                list.sort_by(|one, other| one.0.total_cmp(&other.0));
            }
        }
    }
}

/// How a signature is found by one of its predicates. An integer is rounded to the nearest number, which keeps the order of
/// two.
fn found(predicate: &Expression) -> Option<Found<'_>> {
    let Expression::Compare(comparison, operands) = predicate else { return None };
    let (of, constant, is_turned) = match &**operands {
        (of, Expression::Literal(constant)) => (of, constant, false),
        (Expression::Literal(constant), of) => (of, constant, true),
        _ => return None,
    };
    if *comparison == Comparison::Equal {
        let hash = constant.hash()?;
        return matches!(of, Expression::Attribute(..) | Expression::VertexId(_)).then_some(Found::Equal(of, hash));
    }
    let &Expression::Attribute(_, column) = of else { return None };
    let bound = number(constant.into())?;
    match (comparison, is_turned) {
        (Comparison::Less | Comparison::LessOrEqual, false) | (Comparison::Greater | Comparison::GreaterOrEqual, true) => {
            Some(Found::Above(column, bound))
        }
        (Comparison::Greater | Comparison::GreaterOrEqual, false) | (Comparison::Less | Comparison::LessOrEqual, true) => {
            Some(Found::Below(column, bound))
        }
        (Comparison::Equal | Comparison::NotEqual, _) => None,
    }
}

fn number(value: Operand<'_>) -> Option<f64> {
    match value {
        Operand::Int(number) => Some(number as f64),
        Operand::Float(number) => Some(number),
        Operand::Null | Operand::Bool(_) | Operand::Text(_) | Operand::Digits(_) | Operand::Made(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use graphtide_engine::expression::Scalar;
    use graphtide_engine::meter::Unhurried;
    use graphtide_graph::key::{IdRef, KeyRef};

    use super::*;

    /// An event with one attribute.
    struct Event(Operand<'static>);

    impl Bindings for Event {
        fn attribute(&self, _: u8, _: u16) -> Operand<'_> {
            self.0
        }

        fn ts(&self, _: u8) -> i64 {
            0
        }

        fn id(&self, _: u8) -> IdRef<'_> {
            IdRef::Made(0)
        }

        fn vertex(&self, _: u8) -> KeyRef<'_> {
            KeyRef::Text("")
        }
    }

    fn asks(comparison: Comparison, constant: Scalar) -> Vec<Expression> {
        vec![Expression::Compare(comparison, Box::new((Expression::Attribute(0, 0), Expression::Literal(constant))))]
    }

    #[test]
    fn an_event_is_tested_by_what_its_value_can_satisfy_alone() {
        let (mut symbols, mut signatures) = (SymbolTable::default(), Signatures::default());
        let kinds = ["A".to_owned()];
        let mut add = |predicates: &[Expression]| signatures.add(&kinds, predicates, &mut symbols);
        let less: Vec<SignatureId> = (0..100).map(|bound| add(&asks(Comparison::Less, Scalar::Int(bound)))).collect();
        let equal: Vec<SignatureId> = (0..100).map(|value| add(&asks(Comparison::Equal, Scalar::Int(value)))).collect();
        assert_eq!(add(&asks(Comparison::Less, Scalar::Int(7))), less[7], "what is equal is one");
        signatures.seal();
        let kind = symbols.intern("A");
        let satisfied = |value| {
            let (mut found, mut meter) = (Vec::new(), Meter::unbounded(&Unhurried));
            signatures.satisfied(kind, &Event(value), &mut meter, |signature| found.push(signature));
            found.sort_unstable();
            (found, meter.taken() / u64::from(signatures.get(less[0]).steps))
        };
        assert_eq!(satisfied(Operand::Int(97)), (vec![less[98], less[99], equal[97]], 4));
        assert_eq!(satisfied(Operand::Float(200.0)), (vec![], 0));
        assert_eq!(satisfied(Operand::Null), (vec![], 0));
    }
}
