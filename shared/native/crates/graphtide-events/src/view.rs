//! What predicates read of stored events.

use graphtide_engine::aggregate::{AGGREGATE, AggregateSpec, Of, aggregate};
use graphtide_engine::expression::{Bindings, LABEL, Operand, SOURCE_LABEL, end, is_label};
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::store::{EdgeRef, EdgeStore};
use graphtide_graph::symbol::Symbol;
use graphtide_graph::value::ValueRef;
use graphtide_graph::vertex::VertexTable;

/// The events of the lookback, with what it takes to read them. An event is an edge of its type; one without ends has empty
/// ones.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    /// The events; the class of each is the place of its labels.
    pub store: &'a EdgeStore,
    /// Names of their ends.
    pub names: &'a VertexTable,
    /// Labels of source, event and target, by class.
    pub labels: &'a [[Symbol; 3]],
    /// Names of labels, by number.
    pub texts: &'a [Box<str>],
}

impl<'a> Events<'a> {
    /// Type of an event.
    pub fn kind(&self, event: EdgeRef) -> Symbol {
        self.labels[self.store.get(event).class as usize][1]
    }

    /// An event, as event 0 of a predicate.
    pub fn one(self, place: &'a [EdgeRef; 1]) -> impl Bindings + 'a {
        self.at(place)
    }

    /// Events in the places of a predicate.
    pub(crate) fn at(self, places: &'a [EdgeRef]) -> View<'a> {
        View { events: self, places, lists: &[], aggregates: &[] }
    }

    /// As [`at`](Self::at), with lists of events in some.
    pub(crate) fn with_lists(
        self,
        places: &'a [EdgeRef],
        lists: &'a [Vec<EdgeRef>],
        aggregates: &'a [AggregateSpec],
    ) -> View<'a> {
        View { events: self, places, lists, aggregates }
    }

    /// The name of the source (0) or the target (1) of an event.
    fn end(&self, event: EdgeRef, side: u8) -> KeyRef<'a> {
        let stored = self.store.get(event);
        self.names.name(if side == 0 { stored.source } else { stored.target })
    }

    /// What is computed from a list of events.
    #[cold]
    fn aggregate(self, list: &[EdgeRef], AggregateSpec { function, of }: AggregateSpec) -> Operand<'a> {
        let value = move |&event: &EdgeRef| match of {
            Of::Column(column) => self.value(event, column).into(),
            Of::Ts => Operand::Int(self.store.get(event).ts),
            Of::Id => self.store.id(event).into(),
            Of::End(side) => end(self.end(event, side)),
        };
        aggregate(function, list.iter().map(value))
    }

    fn value(&self, event: EdgeRef, column: u16) -> ValueRef<'a> {
        if !is_label(column) {
            return self.store.attribute(event, usize::from(column));
        }
        let [source, own, target] = self.labels[self.store.get(event).class as usize];
        let symbol = match column {
            LABEL => own,
            SOURCE_LABEL => source,
            _ => target,
        };
        let text = self.texts.get(symbol.0 as usize).filter(|_| symbol != Symbol::ABSENT);
        text.map_or(ValueRef::Null, |text| ValueRef::Text(text))
    }
}

/// Events in the places of a predicate.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    events: Events<'a>,
    places: &'a [EdgeRef],
    lists: &'a [Vec<EdgeRef>],
    aggregates: &'a [AggregateSpec],
}

impl Bindings for View<'_> {
    #[inline]
    fn attribute(&self, edge: u8, column: u16) -> Operand<'_> {
        let place = usize::from(edge);
        match self.aggregates.get(usize::from(column).wrapping_sub(usize::from(AGGREGATE))) {
            Some(&spec) => self.events.aggregate(&self.lists[place], spec),
            None => self.events.value(self.places[place], column).into(),
        }
    }

    fn ts(&self, edge: u8) -> i64 {
        self.events.store.get(self.places[usize::from(edge)]).ts
    }

    fn id(&self, edge: u8) -> IdRef<'_> {
        self.events.store.id(self.places[usize::from(edge)])
    }

    fn vertex(&self, vertex: u8) -> KeyRef<'_> {
        self.events.end(self.places[usize::from(vertex / 2)], vertex % 2)
    }
}
