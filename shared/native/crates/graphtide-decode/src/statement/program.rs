//! What a statement makes of the values of a record's paths: edges and events, a dead letter, or nothing.
//!
//! The oracle `graphtide_testing.oracles.stream_records` says the same. A record is whole: all that it gives is known before
//! any of it is written. Cost: each expression once, in the order of the text; nothing is allocated but in the arena.

pub(crate) mod columns;

use bumpalo::Bump;
use graphtide_expression::value_text::write_text;
use graphtide_expression::{Context, Expression};
use graphtide_graph::Time;
use graphtide_graph::batch::Operation;
use graphtide_graph::key::{IdRef, KeyRef};
use graphtide_graph::symbol::{SharedSymbols, Symbol};
use graphtide_graph::value::ValueRef;
use serde_json::{Value as Form, json};
use smallvec::SmallVec;

use super::attributes::{Attribute, Reading, Sets};
use super::definition::{ClauseForm, DefinitionForm, EndForm, Gives};
use super::keys::key_of;
use super::paths::{Paths, Role, path_of};
use super::time::RecordTime;
use crate::column::Column;
use crate::error::{Refused, RowError, StatementError, shorten};
use crate::types::{AttributeType, Projection};
use crate::writer::{Given, Target, Writer, check_text};

/// Label of edges that have none.
const DEFAULT_LABEL: &str = "edge";

/// Rows and values of a record that need no memory of their own.
const ROWS: usize = 2;
const VALUES: usize = 8;

/// A statement, ready to read records.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    holds: Option<Expression>,
    delete_where: Option<Expression>,
    update_where: Option<Expression>,
    time: RecordTime,
    clauses: Box<[Clause]>,
    /// What a record says of itself, where the statement has no clauses: then these are one for edges and one for events.
    own: Option<Own>,
    default_label: Symbol,
    attributes: Projection,
    /// Whether no value of an attribute can be refused: nothing is declared, and no text is past what a batch holds.
    are_sure: bool,
    /// Whether the condition on records reads rows that they are joined with.
    reads_rows: bool,
}

/// Fields by which a record says what it is.
#[derive(Clone, Debug)]
struct Own {
    operation: usize,
    kind: usize,
    of_edges: [usize; 3],
}

#[derive(Clone, Debug)]
struct Clause {
    gives: ClauseGives,
    holds: Option<Expression>,
    id: Option<TextSource>,
    /// The number that its ids have as suffix; 0 for none.
    suffix: u8,
    /// The number that made ids have; 0 for none.
    number: u8,
    attributes: Box<[Attribute]>,
}

#[derive(Clone, Debug)]
enum ClauseGives {
    Edge { source: TextSource, target: TextSource, labels: [LabelSource; 3] },
    Event { kind: LabelSource },
}

/// Where a text is read: a field as it is written, or the text of a value.
#[derive(Clone, Debug)]
pub(crate) enum TextSource {
    Slot(usize),
    Expression(Expression),
}

#[derive(Clone, Debug)]
enum LabelSource {
    /// The same for every record; [`Symbol::ABSENT`] for none.
    Known(Symbol),
    Read(TextSource),
}

impl LabelSource {
    /// The label that all records have, without a call for each.
    #[inline]
    fn known(&self) -> Option<Symbol> {
        if let Self::Known(symbol) = self { Some(*symbol) } else { None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Insert,
    Delete,
    Update,
}

/// What a record gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether it is not of the stream.
    pub(crate) is_filtered: bool,
    pub(crate) has_ids: bool,
    pub(crate) has_operations: bool,
}

impl TextSource {
    pub(super) fn compile(form: &Form, paths: &mut Paths, context: &Context) -> Result<Self, StatementError> {
        Ok(match path_of(form) {
            Some(steps) => Self::Slot(paths.slot_as(steps, Role::Text)),
            None => Self::Expression(Expression::compile(form, paths, context)?),
        })
    }

    #[inline]
    pub(super) fn value<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> ValueRef<'a> {
        match self {
            Self::Slot(slot) => slots[*slot],
            Self::Expression(expression) => expression.evaluate(slots, arena),
        }
    }
}

/// What compiling a clause needs.
struct Compiling<'c> {
    context: &'c Context,
    symbols: &'c SharedSymbols,
    attributes: &'c Projection,
    reading: Reading,
}

impl Compiling<'_> {
    fn expression(&self, form: &Form, paths: &mut Paths) -> Result<Expression, StatementError> {
        Ok(Expression::compile(form, paths, self.context)?)
    }

    fn label(&self, form: Option<&Form>, default: Symbol, paths: &mut Paths) -> Result<LabelSource, StatementError> {
        let Some(form) = form else { return Ok(LabelSource::Known(default)) };
        if let (Some("constant"), Form::String(text)) = (form["is"].as_str(), &form["value"])
            && !text.is_empty()
        {
            return Ok(LabelSource::Known(self.symbols.lock().intern(text)));
        }
        TextSource::compile(form, paths, self.context).map(LabelSource::Read)
    }

    fn clause(
        &self,
        form: &ClauseForm,
        definition: &DefinitionForm,
        (number, count): (u8, usize),
        default: Symbol,
        paths: &mut Paths,
    ) -> Result<Clause, StatementError> {
        let lacks = |what: &str| StatementError::new(format!("a clause has no {what}"));
        let number = if count > 1 { number } else { 0 };
        let context = self.context;
        let end = |end: &EndForm, paths: &mut Paths| TextSource::compile(&end.value, paths, context);
        let gives = match form.gives {
            Gives::Edge => {
                let source = form.source.as_ref().ok_or_else(|| lacks("source"))?;
                let target = form.target.as_ref().ok_or_else(|| lacks("target"))?;
                let labels = [
                    self.label(source.label.as_ref(), Symbol::ABSENT, paths)?,
                    self.label(form.label.as_ref(), default, paths)?,
                    self.label(target.label.as_ref(), Symbol::ABSENT, paths)?,
                ];
                ClauseGives::Edge { source: end(source, paths)?, target: end(target, paths)?, labels }
            }
            Gives::Event => {
                let kind = form.kind.as_ref().ok_or_else(|| lacks("type"))?;
                ClauseGives::Event { kind: self.label(Some(kind), Symbol::ABSENT, paths)? }
            }
        };
        let id = form.id.as_ref().or(definition.id.as_ref());
        let sets = Sets {
            of_stream: &definition.sets,
            of_clause: &form.sets,
            of_joins: &definition.joins,
            is_event: form.gives == Gives::Event,
        };
        let attribute = |place: usize, paths: &mut Paths| {
            let kind = self.attributes.types[place];
            sets.attribute(&self.attributes.names[place], (kind, self.reading), paths, context)
        };
        let attributes = (0..self.attributes.names.len()).map(|place| attribute(place, paths)).collect::<Result<_, _>>()?;
        Ok(Clause {
            gives,
            holds: form.holds.as_ref().map(|form| self.expression(form, paths)).transpose()?,
            id: id.map(|form| TextSource::compile(form, paths, context)).transpose()?,
            suffix: if form.id.is_some() { 0 } else { number },
            number,
            attributes,
        })
    }
}

impl Program {
    /// Compiles a statement; `paths` gets what it reads.
    pub(crate) fn compile(
        definition: &DefinitionForm,
        attributes: Projection,
        reading: Reading,
        paths: &mut Paths,
        (context, symbols): (&Context, &SharedSymbols),
    ) -> Result<Self, StatementError> {
        let default_label = symbols.lock().intern(DEFAULT_LABEL);
        let compiling = Compiling { context, symbols, attributes: &attributes, reading };
        let condition =
            |form: &Option<Form>, paths: &mut Paths| form.as_ref().map(|form| compiling.expression(form, paths)).transpose();
        let holds = condition(&definition.holds, paths)?;
        let reads_rows = paths.joined.are_read();
        let time = RecordTime::compile(&definition.time, paths, context)?;
        let (delete_where, update_where) =
            (condition(&definition.delete_where, paths)?, condition(&definition.update_where, paths)?);
        let mut clauses = Vec::new();
        let mut own = None;
        if definition.clauses.is_empty() {
            let slot =
                |column: Column, paths: &mut Paths| paths.slot(Box::new([super::paths::Step::Name(column.name().into())]));
            own = Some(Own {
                operation: slot(Column::Operation, paths),
                kind: slot(Column::Type, paths),
                of_edges: Column::OF_EDGES.map(|column| slot(column, paths)),
            });
            for form in own_clauses(definition.id.is_none()) {
                clauses.push(compiling.clause(&form, definition, (0, 1), default_label, paths)?);
            }
        }
        for (number, form) in (1..).zip(&definition.clauses) {
            let count = definition.clauses.len();
            paths.joined.enter(usize::from(number));
            clauses.push(compiling.clause(form, definition, (number, count), default_label, paths)?);
        }
        paths.joined.enter(0);
        let are_sure = attributes.types.iter().all(|kind| *kind == AttributeType::Any) && reading != Reading::Rows;
        let clauses = clauses.into();
        Ok(Self { holds, delete_where, update_where, time, clauses, own, default_label, attributes, are_sure, reads_rows })
    }

    /// Whether the condition on records reads rows that they are joined with.
    pub(crate) fn reads_rows(&self) -> bool {
        self.reads_rows
    }

    /// Whether a record is of the stream.
    pub(crate) fn is_of_stream<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> bool {
        self.holds.as_ref().is_none_or(|condition| condition.holds(slots, arena))
    }

    /// The time of a record, if it has one.
    pub(crate) fn time_of<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> Option<Time> {
        self.time.read(slots, arena).ok()
    }

    /// Whether the time is read of a slot.
    pub(crate) fn is_time(&self, slot: usize) -> bool {
        self.time.is_read_of(slot)
    }

    /// Lets texts of that slot be times of ISO 8601, or not.
    pub(crate) fn read_moments(&mut self, are_moments: bool) {
        self.time.read_moments(are_moments);
    }

    /// Whether a date so far named no zone.
    pub(crate) fn had_zoneless(&self) -> bool {
        self.time.had_zoneless()
    }

    /// Whether records may be deletions, whatever they hold.
    pub(crate) fn has_operations(&self) -> bool {
        self.delete_where.is_some() || self.update_where.is_some()
    }

    /// Whether records have ids of their own, whatever they hold.
    pub(crate) fn has_ids(&self) -> bool {
        self.own.is_none() && self.clauses.iter().any(|clause| clause.id.is_some())
    }

    /// Writes what a record gives, by the values of its paths; the caller rejects it where this is an error.
    #[inline]
    pub(crate) fn write<'a>(
        &'a self,
        (slots, arena): (&[ValueRef<'a>], &'a Bump),
        writer: &mut Writer,
        target: &mut Target<'_>,
        place: (u64, &[u8]),
    ) -> Result<Outcome, Refused> {
        let holds = |condition: &'a Option<Expression>| condition.as_ref().is_some_and(|it| it.holds(slots, arena));
        let mut outcome = Outcome::default();
        if self.holds.is_some() && !holds(&self.holds) {
            writer.skip();
            return Ok(Outcome { is_filtered: true, ..outcome });
        }
        let ts = self.time.read(slots, arena)?;
        let change = if holds(&self.delete_where) {
            Change::Delete
        } else if holds(&self.update_where) {
            Change::Update
        } else {
            self.own_change(slots, arena)?
        };
        if change == Change::Insert
            && let [clause] = &*self.clauses
        {
            return self.write_one(clause, (slots, arena), writer, target, (place.0, ts, place.1));
        }
        let ordinal = writer.ordinal();
        let mut rows: SmallVec<[Given<'a>; ROWS]> = SmallVec::new();
        let mut values: SmallVec<[ValueRef<'a>; VALUES]> = SmallVec::new();
        for clause in self.clauses_of(slots) {
            let applies = clause.holds.as_ref().is_none_or(|condition| condition.holds(slots, arena));
            if change == Change::Insert && !applies {
                continue;
            }
            let id = clause.id(slots, arena)?;
            outcome.has_ids |= id.is_some();
            if change != Change::Insert {
                let Some(id) = id else {
                    return Err(no_id(change).into());
                };
                outcome.has_operations = true;
                rows.push(Given::deletion(id));
                values.resize(rows.len() * self.attributes.wanted, ValueRef::Null);
            }
            if change != Change::Delete && applies {
                let id = id.unwrap_or(IdRef::made(ordinal, clause.number));
                rows.push(clause.give(id, (slots, arena), self.default_label, writer, target)?);
                self.read_attributes(clause, (slots, arena), &mut values)?;
            }
        }
        outcome.is_filtered = rows.is_empty();
        writer.write_given(target, (place.0, ts, place.1), &rows, (&values, self.attributes.wanted))?;
        Ok(outcome)
    }

    /// Writes the insert that the only clause gives.
    #[inline]
    fn write_one<'a>(
        &'a self,
        clause: &'a Clause,
        (slots, arena): (&[ValueRef<'a>], &'a Bump),
        writer: &mut Writer,
        target: &mut Target<'_>,
        place: (u64, Time, &[u8]),
    ) -> Result<Outcome, Refused> {
        if clause.holds.as_ref().is_some_and(|condition| !condition.holds(slots, arena)) {
            writer.skip();
            return Ok(Outcome { is_filtered: true, ..Outcome::default() });
        }
        let id = clause.id(slots, arena)?;
        let outcome = Outcome { has_ids: id.is_some(), ..Outcome::default() };
        let id = id.unwrap_or(IdRef::made(writer.ordinal(), clause.number));
        let given = clause.give(id, (slots, arena), self.default_label, writer, target)?;
        if self.are_sure {
            let values = clause.attributes.iter().map(|attribute| attribute.get(slots, arena));
            writer.write_one(target, place, &given, values)?;
            return Ok(outcome);
        }
        let mut values: SmallVec<[ValueRef<'a>; VALUES]> = SmallVec::new();
        self.read_attributes(clause, (slots, arena), &mut values)?;
        writer.write_one(target, place, &given, values.into_iter())?;
        Ok(outcome)
    }

    /// The clauses that read a record.
    #[inline]
    fn clauses_of(&self, slots: &[ValueRef<'_>]) -> &[Clause] {
        let Some(own) = &self.own else { return &self.clauses };
        let is_event = slots[own.kind] != ValueRef::Null && own.of_edges.iter().all(|slot| slots[*slot] == ValueRef::Null);
        if is_event { &self.clauses[1..] } else { &self.clauses[..1] }
    }

    /// What a record says itself that it does.
    #[inline]
    fn own_change(&self, slots: &[ValueRef<'_>], arena: &Bump) -> Result<Change, Refused> {
        let Some(own) = self.own.as_ref().filter(|_| !self.has_operations()) else { return Ok(Change::Insert) };
        match slots[own.operation] {
            ValueRef::Null | ValueRef::Text("" | "insert") => Ok(Change::Insert),
            ValueRef::Text("delete") => Ok(Change::Delete),
            other => {
                let text = write_text(other, arena).unwrap_or_default();
                Err(RowError::UnknownOperation { text: format!("{:?}", shorten(text)) }.into())
            }
        }
    }

    #[inline]
    fn read_attributes<'a>(
        &'a self,
        clause: &'a Clause,
        (slots, arena): (&[ValueRef<'a>], &'a Bump),
        values: &mut SmallVec<[ValueRef<'a>; VALUES]>,
    ) -> Result<(), Refused> {
        let Projection { names, types, wanted } = &self.attributes;
        for (place, attribute) in clause.attributes.iter().enumerate() {
            let value = attribute.value(slots, arena, &names[place], types[place])?;
            if let ValueRef::Text(text) = value {
                check_text(text, &names[place])?;
            }
            if place < *wanted {
                values.push(value);
            }
        }
        Ok(())
    }
}

impl Clause {
    /// The given id; None for one that is missing.
    #[inline]
    fn id<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> Result<Option<IdRef<'a>>, Refused> {
        let Some(source) = &self.id else { return Ok(None) };
        self.read_id(source, slots, arena)
    }

    fn read_id<'a>(
        &'a self,
        source: &'a TextSource,
        slots: &[ValueRef<'a>],
        arena: &'a Bump,
    ) -> Result<Option<IdRef<'a>>, Refused> {
        let value = source.value(slots, arena);
        let key = if self.suffix == 0 {
            key_of(value, arena)
        } else {
            let text = write_text(value, arena).filter(|text| !text.is_empty());
            text.map(|text| KeyRef::Text(bumpalo::format!(in arena, "{text}#{}", self.suffix).into_bump_str()))
        };
        if let Some(KeyRef::Text(text)) = key {
            check_text(text, Column::Id.name())?;
        }
        Ok(key.map(IdRef::Given))
    }

    #[inline]
    fn give<'a>(
        &'a self,
        id: IdRef<'a>,
        (slots, arena): (&[ValueRef<'a>], &'a Bump),
        default_label: Symbol,
        writer: &mut Writer,
        target: &mut Target<'_>,
    ) -> Result<Given<'a>, Refused> {
        let mut label = |source: &'a LabelSource| match source {
            LabelSource::Known(symbol) => Some(*symbol),
            LabelSource::Read(source) => {
                let text = match source.value(slots, arena) {
                    ValueRef::Text(text) => text,
                    value => write_text(value, arena)?,
                };
                (!text.is_empty()).then(|| writer.intern(text, target.symbols))
            }
        };
        match &self.gives {
            ClauseGives::Event { kind } => {
                let Some(label) = label(kind) else { return Err(RowError::NoType.into()) };
                Ok(Given { label, ..Given::event(id) })
            }
            ClauseGives::Edge { source, target: to, labels: [of_source, of_edge, of_target] } => {
                let end = |end: &'a TextSource, column: Column, name: &'static str| {
                    let Some(key) = key_of(end.value(slots, arena), arena) else {
                        return Err(RowError::NoEnd { end: name }.into());
                    };
                    if let KeyRef::Text(text) = key {
                        check_text(text, column.name())?;
                    }
                    Ok::<_, Refused>(key)
                };
                Ok(Given {
                    operation: Operation::Insert,
                    source: end(source, Column::Source, "source")?,
                    target: end(to, Column::Target, "target")?,
                    label: label(of_edge).unwrap_or(default_label),
                    source_label: of_source.known().or_else(|| label(of_source)).unwrap_or(Symbol::ABSENT),
                    target_label: of_target.known().or_else(|| label(of_target)).unwrap_or(Symbol::ABSENT),
                    id,
                })
            }
        }
    }
}

#[cold]
fn no_id(change: Change) -> RowError {
    RowError::NoId { change: if change == Change::Delete { "a deletion" } else { "an update" } }
}

/// The clauses of records with fields of their own: that of edges, then that of events.
fn own_clauses(has_own_id: bool) -> [ClauseForm; 2] {
    let path = |column: Column| json!({"is": "path", "steps": [column.name()]});
    let id = || has_own_id.then(|| path(Column::Id));
    let end = |value: Column, label: Column| Some(EndForm { value: path(value), label: Some(path(label)) });
    let empty = |gives| ClauseForm {
        gives,
        source: None,
        target: None,
        label: None,
        kind: None,
        holds: None,
        sets: Vec::new(),
        id: id(),
    };
    let edge = ClauseForm {
        source: end(Column::Source, Column::SourceLabel),
        target: end(Column::Target, Column::TargetLabel),
        label: Some(path(Column::Label)),
        ..empty(Gives::Edge)
    };
    [edge, ClauseForm { kind: Some(path(Column::Type)), ..empty(Gives::Event) }]
}
