//! Edges find the signatures that they satisfy, all of them and no others, whatever the signatures are found by.

#![allow(clippy::unwrap_used)]

use graphtide_engine::dispatch::{Asked, Dispatch, Loops, NO_CLASS, Record};
use graphtide_engine::expression::{Comparison, Expression, LABEL, Scalar};
use graphtide_engine::ids::{SignatureId, UnitId};
use graphtide_engine::meter::{Meter, Unhurried};
use graphtide_engine::pattern::{EdgeSpec, Pattern, VertexSpec};
use graphtide_graph::batch::{EdgeBatch, Operation, Row};
use graphtide_graph::clock::Clock;
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{Symbol, SymbolTable};
use graphtide_graph::value::ValueRef;

const TEXTS: [&str; 6] = ["", "1", "01", "x", "true", "10.0.0.1"];

fn scalars() -> Vec<Scalar> {
    let whole = [0, 1, -1, 9_007_199_254_740_993, i64::MAX, i64::MIN].map(Scalar::Int);
    let numbers = [0.0, -0.0, 1.0, 1.5, -1.5, 9_007_199_254_740_992.0, 9.3e18, -9.3e18, 1e300].map(Scalar::Float);
    let truths = [true, false].map(Scalar::Bool);
    let texts = TEXTS.map(|text| Scalar::Text(text.into()));
    [Scalar::Null(())].into_iter().chain(whole).chain(numbers).chain(truths).chain(texts).collect()
}

fn equal(left: Expression, right: Expression) -> Expression {
    Expression::Compare(Comparison::Equal, Box::new((left, right)))
}

fn predicates() -> Vec<Expression> {
    let places = [Expression::Attribute(0, 0), Expression::VertexId(0), Expression::VertexId(1), Expression::End(0, 1)];
    let missing = || Expression::IsNull(Box::new(Expression::Attribute(0, 1)));
    let mut asked = vec![equal(Expression::Attribute(0, LABEL), Expression::Literal(Scalar::Text("a".into()))), missing()];
    for place in places {
        for (number, scalar) in scalars().into_iter().enumerate() {
            let is = equal(place.clone(), Expression::Literal(scalar.clone()));
            asked.push(match number % 4 {
                0 => is,
                1 => equal(Expression::Literal(scalar), place.clone()),
                2 => Expression::And(vec![missing(), is]),
                _ => Expression::Or(vec![missing(), is]),
            });
        }
        let constants = scalars();
        asked.extend(constants.windows(3).map(|some| Expression::In(Box::new(place.clone()), some.to_vec())));
    }
    asked
}

fn edges(label: Symbol) -> EdgeBatch {
    let mut batch = EdgeBatch::new(2);
    for source in TEXTS {
        for target in ["x", "1", "2"] {
            for scalar in scalars() {
                for second in [ValueRef::Null, ValueRef::Int(1)] {
                    let row = Row {
                        ordinal: 0,
                        line: 1,
                        ts: 1,
                        operation: Operation::Insert,
                        source: KeyRef::parse(source),
                        target: KeyRef::parse(target),
                        label,
                        source_label: Symbol::ABSENT,
                        target_label: Symbol::ABSENT,
                        stream: Symbol::ABSENT,
                        id: IdRef::Made(0),
                        raw: &[],
                    };
                    batch.push(&row, [ValueRef::from(&scalar), second]);
                }
            }
        }
    }
    batch
}

/// Checks what each edge finds among the signatures that there are; returns how much was found.
fn check(dispatch: &mut Dispatch, batch: &EdgeBatch, there: &[SignatureId], labels: &[Box<str>]) -> usize {
    let mut satisfied = 0;
    for row in 0..batch.len() {
        let record = Record { batch, row, labels };
        let class = dispatch.class(batch.labels()[row]);
        let (mut found, mut all) = (Vec::new(), Vec::new());
        if class != NO_CLASS {
            dispatch.satisfied(class, &record, &mut Meter::unbounded(&Unhurried), |id| found.push(id));
            dispatch.signatures_of_class(class, |id| all.push(id));
        }
        found.sort_unstable();
        all.sort_unstable();
        let expected: Vec<_> = there.iter().copied().filter(|&id| dispatch.refusal(id, &record).is_none()).collect();
        assert_eq!(found, expected, "{:?}", batch.row(row));
        assert_eq!(all, there);
        satisfied += found.len();
    }
    satisfied
}

#[test]
fn an_edge_finds_all_signatures_that_it_satisfies_while_they_come_and_go() {
    let (mut symbols, mut dispatch) = (SymbolTable::default(), Dispatch::default());
    let vertices = [("a", None), ("b", None), ("c", Some("x")), ("d", Some("1"))].map(|(name, key)| VertexSpec {
        name: name.into(),
        label: None,
        key: key.map(Into::into),
    });
    let ends = [(0, 1), (2, 1), (0, 3), (2, 3)];
    let parts = ends.map(|(source, target)| EdgeSpec { name: "e".into(), source, target, label: Some("a".into()) });
    let pattern = Pattern {
        name: "p",
        version: 1,
        vertices: &vertices,
        edges: &parts,
        order: &[],
        window: 1,
        clock: Clock::Time,
        vertices_may_coincide: false,
    };
    let mut given = Vec::new();
    for (number, predicate) in (0..).map(UnitId).zip(predicates()) {
        // Vertices of a predicate are the pattern's; the dispatch takes those of its edge.
        let asked = parts.iter().map(|part| {
            let named = predicate.renamed(&|edge| edge, &|vertex| if vertex == 0 { part.source } else { part.target });
            Asked::new(&pattern, part, Loops::Any, &[named])
        });
        given.push((number, dispatch.add(number, asked, &mut symbols)));
    }
    dispatch.seal();
    let label = symbols.intern("a");
    let mut labels = Vec::new();
    symbols.copy_new_names(&mut labels);
    let batch = edges(label);
    let mut there: Vec<SignatureId> = given.iter().flat_map(|(_, ids)| ids.clone()).collect();
    there.sort_unstable();
    there.dedup();
    let before = check(&mut dispatch, &batch, &there, &labels);
    for (number, ids) in given.iter().step_by(2) {
        dispatch.remove(*number, ids, |id| there.retain(|&other| other != id));
    }
    let after = check(&mut dispatch, &batch, &there, &labels);
    assert!(0 < after && after < before, "{after} of {before}");
}
