//! What a pattern returns of its matches: fields over the names of its events, evaluated when a match is emitted.
//!
//! Then the events are still there, which they need not be when matches are handed over. A field is missing if it reads a name
//! that the match has no event of. Such a name is one of another branch, or one that did not come in time.
//! Cost: nothing where nothing is returned; else a look at each event of the match, and the size of the fields.

use graphtide_engine::expression::{Expression, Operand};
use graphtide_engine::output::{Fields, write_key};
use graphtide_graph::key::TextArena;
use graphtide_graph::store::EdgeRef;
use graphtide_graph::symbol::{Symbol, SymbolTable};

use crate::plan::{AggregateSpec, BranchSpec, FieldSpec, ReturnsSpec, places_of};
use crate::view::Events;

/// What a pattern returns, ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Returns {
    fields: Vec<Field>,
    /// The key of a match, with the names that each part reads.
    keys: Vec<(Expression, u64)>,
    aggregates: Vec<AggregateSpec>,
    names: usize,
    branches: Vec<Names>,
}

#[derive(Debug)]
struct Field {
    value: Expression,
    /// The list of whose events each has a value, if it is one of values.
    each: Option<u8>,
    /// Names that it reads.
    reads: u64,
}

/// The names of the events of a branch.
#[derive(Debug)]
struct Names {
    by_slot: Vec<u8>,
    by_type: Vec<(u8, Symbol, u8)>,
}

/// What decides which of the matches of a key is the first, match after match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keyed {
    /// Bytes of keys.
    pub(crate) keys: Vec<u8>,
    /// The events of each name, in the order of the text; nothing after each list.
    pub(crate) order: Vec<Option<EdgeRef>>,
}

/// Room for the events of a match by their names, used again for the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
    /// The first of each name; of one that has none it says nothing.
    firsts: Vec<EdgeRef>,
    lists: Vec<Vec<EdgeRef>>,
}

impl Returns {
    /// Makes a specification ready.
    pub(crate) fn new(spec: &ReturnsSpec, symbols: &mut SymbolTable) -> Self {
        let fields = spec.fields.iter().map(|FieldSpec { value, each }| Field {
            reads: places_of(value),
            value: value.clone(),
            each: *each,
        });
        let mut names = |branch: &BranchSpec| Names {
            by_slot: branch.events.clone(),
            by_type: branch.by_type.iter().map(|(slot, kind, name)| (*slot, symbols.intern(kind), *name)).collect(),
        };
        Self {
            fields: fields.collect(),
            keys: spec.keys.iter().map(|key| (key.clone(), places_of(key))).collect(),
            aggregates: spec.aggregates.clone(),
            names: spec.names,
            branches: spec.branches.iter().map(&mut names).collect(),
        }
    }

    /// Whether one match is emitted for each key.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Adds what is returned of a match through a branch, which has these events in its slots, and the bytes of its key.
    pub(crate) fn evaluate(
        &self,
        branch: u32,
        taken: &[(u8, EdgeRef)],
        events: Events<'_>,
        Room { firsts, lists }: &mut Room,
        (out, text): (&mut Fields, &mut TextArena),
        Keyed { keys, order }: &mut Keyed,
    ) {
        let (names, mut has) = (&self.branches[branch as usize], 0_u64);
        firsts.clear();
        firsts.resize(self.names, EdgeRef(0));
        lists.iter_mut().for_each(Vec::clear);
        lists.resize_with(self.names.max(lists.len()), Vec::new);
        for &(slot, event) in taken {
            let name = usize::from(names.of(slot, events.kind(event)));
            if has >> name & 1 == 0 {
                firsts[name] = event;
            }
            has |= 1 << name;
            lists[name].push(event);
        }
        for Field { value, each, reads } in &self.fields {
            match each {
                _ if reads & !has != 0 => out.push(Operand::Null, text),
                None => value.with_value(&events.with_lists(firsts, lists, &self.aggregates), |value| out.push(value, text)),
                Some(name) => {
                    let list = &lists[usize::from(*name)];
                    out.begin_list(list.len());
                    for &event in list {
                        firsts[usize::from(*name)] = event;
                        value.with_value(&events.with_lists(firsts, lists, &self.aggregates), |value| out.push(value, text));
                    }
                    firsts[usize::from(*name)] = list[0];
                }
            }
        }
        for (key, reads) in &self.keys {
            match reads & !has {
                0 => {
                    key.with_value(&events.with_lists(firsts, lists, &self.aggregates), |value| write_key(value, keys));
                }
                _ => write_key(Operand::Null, keys),
            }
        }
        if self.has_keys() {
            for list in lists.iter().filter(|list| !list.is_empty()) {
                order.extend(list.iter().copied().map(Some));
                order.push(None);
            }
        }
    }
}

impl Names {
    fn of(&self, slot: u8, kind: Symbol) -> u8 {
        let other = self.by_type.iter().find(|&&(of, own, _)| (of, own) == (slot, kind));
        other.map_or(self.by_slot[usize::from(slot)], |&(.., name)| name)
    }
}
