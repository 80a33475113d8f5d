//! Signatures by a constant that something of the edge must equal. So thousands of patterns on thousands of addresses, or of
//! accounts, cost one look-up.
//!
//! A signature that asks for several constants is listed under one of them, in the order of [`Place`]. One that lets its place
//! be any of some constants is listed under each. Invariant: an edge that satisfies a signature finds it. Edges that do not may
//! find it, too: values are compared by their hashes alone.
//! Cost: a hash and a table read for each place that some signature asks about.

use std::hash::BuildHasher;

use graphtide_graph::key::KeyRef;
use graphtide_graph::value::ValueRef;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::{Record, Signature};
use crate::expression::{Comparison, Expression, Scalar};
use crate::ids::SignatureId;

/// What must equal a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Source,
    Target,
    Attribute(u16),
}

/// Constants that one place may have, by their hashes.
type Options = (Place, SmallVec<[u64; 1]>);

/// The signatures of a class that ask for a constant.
#[derive(Debug, Default)]
pub struct Constants(Vec<(Place, Table)>);

/// By the constants' hashes.
type Table = HashMap<u64, Vec<Listed>, FxBuildHasher>;

/// A signature under one of its constants.
#[derive(Clone, Copy, Debug)]
struct Listed {
    signature: SignatureId,
    is_first: bool,
}

impl Constants {
    /// Lists a signature; says whether it asks for a constant.
    pub fn add(&mut self, id: SignatureId, signature: &Signature) -> bool {
        let Some((place, hashes)) = options_of(signature) else { return false };
        let known = self.0.iter().position(|(other, _)| *other == place);
        let table = known.unwrap_or_else(|| {
            self.0.push((place, HashMap::default()));
            self.0.len() - 1
        });
        for (number, hash) in hashes.into_iter().enumerate() {
            self.0[table].1.entry(hash).or_default().push(Listed { signature: id, is_first: number == 0 });
        }
        true
    }

    /// Takes a signature off, if it is listed; says whether it asks for a constant.
    pub fn remove(&mut self, id: SignatureId, signature: &Signature) -> bool {
        let Some((place, hashes)) = options_of(signature) else { return false };
        if let Some(at) = self.0.iter().position(|(other, _)| *other == place) {
            let table = &mut self.0[at].1;
            for hash in hashes {
                if let Some(listed) = table.get_mut(&hash) {
                    listed.retain(|other| other.signature != id);
                    if listed.is_empty() {
                        table.remove(&hash);
                    }
                }
            }
            if table.is_empty() {
                self.0.swap_remove(at);
            }
        }
        true
    }

    /// Returns the signatures that a record may satisfy, each once.
    #[inline]
    pub fn of<'a>(&'a self, record: &'a Record<'_>) -> impl Iterator<Item = SignatureId> {
        self.0.iter().flat_map(|(place, table)| {
            let hash = match place {
                Place::Source => Some(hash_of_key(record.batch.source(record.row))),
                Place::Target => Some(hash_of_key(record.batch.target(record.row))),
                Place::Attribute(column) => hash_of_value(record.value(*column)),
            };
            hash.and_then(|hash| table.get(&hash)).into_iter().flatten().map(|listed| listed.signature)
        })
    }

    /// Returns all signatures, each once.
    pub fn all(&self) -> impl Iterator<Item = SignatureId> {
        let listed = self.0.iter().flat_map(|(_, table)| table.values().flatten());
        listed.filter(|listed| listed.is_first).map(|listed| listed.signature)
    }
}

/// Returns the constants that a signature may be found by; none if it asks for none.
fn options_of(signature: &Signature) -> Option<Options> {
    let [source, target] = [(Place::Source, &signature.source_key), (Place::Target, &signature.target_key)]
        .map(|(place, key)| key.as_deref().map(|key| (place, SmallVec::from_buf([hash_of_key(KeyRef::parse(key))]))));
    let mut asked: Vec<Options> = source.into_iter().chain(target).collect();
    signature.predicates.iter().for_each(|predicate| ask(predicate, &mut asked));
    asked.into_iter().min_by_key(|(place, _)| *place)
}

/// Collects the constants that a predicate asks for wherever it holds.
fn ask(predicate: &Expression, asked: &mut Vec<Options>) {
    match predicate {
        Expression::And(operands) => operands.iter().for_each(|operand| ask(operand, asked)),
        Expression::Compare(Comparison::Equal, operands) => match &**operands {
            (of, Expression::Literal(constant)) | (Expression::Literal(constant), of) => {
                asked.extend(options(of, std::slice::from_ref(constant)));
            }
            _ => {}
        },
        Expression::In(of, constants) => asked.extend(options(of, constants)),
        _ => {}
    }
}

/// Returns the hashes of the constants that something may equal; none if it is nothing that edges are looked up by.
fn options(of: &Expression, constants: &[Scalar]) -> Option<Options> {
    let place = match *of {
        Expression::VertexId(0) | Expression::End(_, 0) => Place::Source,
        Expression::VertexId(1) | Expression::End(_, 1) => Place::Target,
        Expression::Attribute(_, column) => Place::Attribute(column),
        _ => return None,
    };
    // A missing value and another type's constant equal nothing.
    let mut hashes: SmallVec<[u64; 1]> = constants
        .iter()
        .filter_map(|constant| match (place, constant) {
            (Place::Attribute(_), constant) => hash_of_value(constant.into()),
            (Place::Source | Place::Target, Scalar::Text(text)) => Some(hash_of_key(KeyRef::parse(text))),
            (Place::Source | Place::Target, _) => None,
        })
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    (!hashes.is_empty()).then_some((place, hashes))
}

#[inline]
fn hash_of_key(key: KeyRef<'_>) -> u64 {
    FxBuildHasher.hash_one(key)
}

/// Returns equal hashes for values that compare as equal; none for one that is missing, which equals nothing.
#[inline]
fn hash_of_value(value: ValueRef<'_>) -> Option<u64> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Bool(truth) => u64::from(truth),
        ValueRef::Int(number) => FxBuildHasher.hash_one(number),
        // Beyond the integers' range the conversion saturates: a few share a hash.
        ValueRef::Float(number) if number.fract() == 0.0 => FxBuildHasher.hash_one(number as i64),
        ValueRef::Float(number) => FxBuildHasher.hash_one(number.to_bits()),
        ValueRef::Text(text) => FxBuildHasher.hash_one(text),
    })
}
