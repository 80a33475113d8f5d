//! The time of a record: `AT expression IN unit FORMAT '…' ZONE '…'`, as `graphtide_core.record_time` has it.

use bumpalo::Bump;
use graphtide_expression::value_text::write_text;
use graphtide_expression::{Context, Expression};
use graphtide_graph::Time;
use graphtide_graph::digits;
use graphtide_graph::value::ValueRef;

use super::definition::{TimeForm, per_second};
use super::paths::{Paths, Role, path_of};
use crate::error::{Refused, RowError, StatementError, shorten};
use crate::times::{Day, Flaw, Times, Zone, number, number_of_any_unit, rfc2822, syslog, unit_of, whole};

/// Characters of a text that is a number, or in a format.
const LONGEST: usize = 400;

/// What states the time, and how.
#[derive(Clone, Debug)]
pub(crate) struct RecordTime {
    source: Source,
    form: Form,
    /// By which texts of ISO 8601, or of the format, are read.
    dates: Times,
    /// By which texts of ISO 8601 are read, where a format has times of its own.
    moments: Times,
    are_moments: bool,
    ticks_per_second: i64,
    /// The day that times without a year come before.
    before: Option<Day>,
}

#[derive(Clone, Debug)]
enum Source {
    Slot(usize),
    Expression(Expression),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A number in ticks, or a text of ISO 8601.
    Any,
    /// A number; so many units make a second.
    Unit(i64),
    /// A number in a unit that its size shows.
    Auto,
    /// A text of ISO 8601, or in a format.
    Format,
    /// A text of RFC 2822.
    Mail,
    /// A text of syslog.
    Syslog,
}

impl RecordTime {
    pub(crate) fn compile(form: &TimeForm, paths: &mut Paths, context: &Context) -> Result<Self, StatementError> {
        let role = if form.format.is_some() { Role::Text } else { Role::Time };
        let source = match path_of(&form.value) {
            Some(steps) => Source::Slot(paths.slot_as(steps, role)),
            None => Source::Expression(Expression::compile(&form.value, paths, context)?),
        };
        let zone = match form.zone.as_deref() {
            None | Some("UTC") => Zone::utc(),
            Some(name) => {
                let unknown = || StatementError::new(format!("the clocks of the zone {name:?} are not given"));
                context.zones.get(name).cloned().ok_or_else(unknown)?
            }
        };
        let read = match (form.unit.as_deref(), form.format.as_deref()) {
            (None, None) => Form::Any,
            (Some("auto"), _) => Form::Auto,
            (Some(unit), _) => {
                let wrong = || StatementError::new(format!("{unit:?} is not a unit of time"));
                Form::Unit(per_second(unit).ok_or_else(wrong)?)
            }
            (None, Some("rfc2822")) => Form::Mail,
            (None, Some("syslog")) => Form::Syslog,
            (None, Some(_)) => Form::Format,
        };
        let format = form.format.as_deref().filter(|_| read == Form::Format).unwrap_or("iso");
        let ticks_per_second = context.ticks_per_second;
        let day = |text: &String| Day::read(text).ok_or_else(|| StatementError::new(format!("{text:?} is not a day")));
        let before = form.before.as_ref().map(day).transpose()?;
        let times = |format: &str, zone, before| {
            Times::before(format, ticks_per_second, zone, before).map_err(|error| StatementError::new(error.to_string()))
        };
        let (dates, moments) = (times(format, zone.clone(), before)?, times("iso", zone, None)?);
        Ok(Self { source, form: read, dates, moments, are_moments: false, ticks_per_second, before })
    }

    /// The slot that it is read of, unless an expression states it.
    pub(crate) fn slot(&self) -> Option<usize> {
        if let Source::Slot(slot) = self.source { Some(slot) } else { None }
    }

    /// Whether it is read of a slot.
    pub(crate) fn is_read_of(&self, slot: usize) -> bool {
        self.slot() == Some(slot)
    }

    /// Lets texts of its slot be times of ISO 8601, or not.
    pub(crate) fn read_moments(&mut self, are_moments: bool) {
        self.are_moments = are_moments;
    }

    /// Whether a date so far named no zone.
    pub(crate) fn had_zoneless(&self) -> bool {
        self.dates.had_zoneless() || self.moments.had_zoneless()
    }

    /// The time of a record, by the values of its paths.
    #[expect(clippy::inline_always, reason = "each record has one; that JOIN reads it, too, must not make it a call")]
    #[inline(always)]
    pub(crate) fn read<'a>(&'a self, slots: &[ValueRef<'a>], arena: &'a Bump) -> Result<Time, Refused> {
        let value = match &self.source {
            Source::Slot(slot) => slots[*slot],
            Source::Expression(expression) => expression.evaluate(slots, arena),
        };
        // Most times in text are integers.
        let value = match value {
            ValueRef::Text(text) if !self.are_moments => plain(text, self.form).map_or(value, ValueRef::Int),
            value => value,
        };
        let found = match (value, self.form) {
            (ValueRef::Int(number), Form::Any | Form::Unit(_) | Form::Auto) => self.of_integer(number),
            (ValueRef::Null, _) => return Err(RowError::NoRecordTime.into()),
            (ValueRef::Bool(_), _) => Err(Flaw::Form),
            (ValueRef::Text(text), _) if self.are_moments => self.moments.ticks_of(text),
            (ValueRef::Text(text), form) => self.of_text(text, form),
            (number @ (ValueRef::Int(_) | ValueRef::Float(_)), form) => {
                write_text(number, arena).ok_or(Flaw::Form).and_then(|text| self.of_text(text, form))
            }
        };
        found.map_err(|flaw| refuse(value, flaw, arena).into())
    }

    /// The time that a field states as it is written; None if it is none.
    #[inline]
    pub(crate) fn of_written(&self, text: &str) -> Option<Time> {
        match plain(text, self.form) {
            Some(number) => self.of_integer(number).ok(),
            None if text.is_empty() => None,
            None => self.of_text(text, self.form).ok(),
        }
    }

    /// The time that an integer states, in the unit of the stream's times.
    #[inline]
    fn of_integer(&self, number: i64) -> Result<Time, Flaw> {
        match self.form {
            Form::Unit(per_second) => whole(number, per_second, self.ticks_per_second),
            Form::Auto => whole(number, unit_of(number), self.ticks_per_second),
            Form::Any | Form::Format | Form::Mail | Form::Syslog => Ok(number),
        }
    }

    fn of_text(&self, text: &str, form: Form) -> Result<Time, Flaw> {
        let is_long = text.len() > LONGEST && text.chars().nth(LONGEST).is_some();
        match form {
            Form::Any => match self.dates.ticks_of(text) {
                Err(Flaw::Form) if !is_long => number(text, self.ticks_per_second, self.ticks_per_second),
                found => found,
            },
            _ if is_long => Err(Flaw::Form),
            Form::Unit(per_second) => number(text, per_second, self.ticks_per_second),
            Form::Auto => number_of_any_unit(text, self.ticks_per_second),
            Form::Format => self.dates.ticks_of(text),
            Form::Syslog => syslog(text, self.before).and_then(|moment| self.dates.ticks(&moment)),
            Form::Mail => rfc2822(text).ok_or(Flaw::Form).and_then(|moment| self.dates.ticks(&moment)),
        }
    }
}

/// The integer that a text of a number is, if it is plain.
#[inline]
fn plain(text: &str, form: Form) -> Option<i64> {
    let is_number = matches!(form, Form::Any | Form::Unit(_) | Form::Auto);
    digits::unsigned(text.as_bytes()).filter(|_| is_number).map(u64::cast_signed)
}

#[cold]
fn refuse(value: ValueRef<'_>, flaw: Flaw, arena: &Bump) -> RowError {
    let text = match value {
        ValueRef::Text(text) => format!("{:?}", shorten(text)),
        value => write_text(value, arena).unwrap_or_default().to_owned(),
    };
    match flaw {
        Flaw::Form => RowError::UnreadableTime { text },
        Flaw::Year => RowError::TimeWithoutYear { text },
        Flaw::Range => RowError::TimeOutOfRange { text },
        Flaw::Zone => RowError::TimeBeyondZone { text },
    }
}
