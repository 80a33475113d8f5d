//! The paths that a statement reads, each with a slot: the place of its value among those of a record.
//!
//! A path that is read as a value, as a text and as a time has a slot for each. Formats that are text give ends, labels and ids
//! as they are written, and times with all their digits.

use graphtide_expression::Slots;
use serde_json::Value as Form;

use super::joined_columns::JoinedColumns;

/// How many objects further out a path begins, as the language bounds it.
const MOST_OUTER: u64 = 64;

/// A step into a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Of an object, the field of this name.
    Name(Box<str>),
    /// Of a list, the item at this place, from 0.
    Position(u32),
    /// Of a list, the first item that is an object whose field of this name is this text.
    Item(Box<str>, Box<str>),
    /// From a record to the object around it; at the beginning of a path.
    Outer,
}

/// As what a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// As the value that it is.
    Value,
    /// As the text that it is written as, where the format is text; else as the value that it is.
    Text,
    /// As the time that it states: a number that is not an integer with all digits that it is written with, as a text.
    Time,
}

/// A path, and as what it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) steps: Box<[Step]>,
    pub(crate) role: Role,
}

/// All paths of a statement, in the order of their slots.
///
/// A column of a table that records are joined with has a slot, too. Its path is empty: no reader follows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    all: Vec<Path>,
    pub(crate) joined: JoinedColumns,
}

/// A path from the record, or from an object around it. It has the slot of its value, its steps from there, and its role.
pub(crate) type PathFrom<'p> = (usize, &'p [Step], Role);

impl Path {
    /// How many objects further out it begins.
    fn level(&self) -> usize {
        self.steps.iter().take_while(|step| **step == Step::Outer).count()
    }
}

impl Paths {
    /// Those of a statement with these joins.
    pub(crate) fn with(joined: JoinedColumns) -> Self {
        Self { all: Vec::new(), joined }
    }

    /// The slot of a path that is read as a value.
    pub(crate) fn slot(&mut self, steps: Box<[Step]>) -> usize {
        self.slot_as(steps, Role::Value)
    }

    /// The slot of a path that is read so.
    pub(crate) fn slot_as(&mut self, steps: Box<[Step]>, role: Role) -> usize {
        let next = self.all.len();
        if let [Step::Name(first), Step::Name(name)] = &*steps
            && let Some(slot) = self.joined.slot(first, name, next)
        {
            if slot == next {
                self.all.push(Path { steps: Box::default(), role });
            }
            return slot;
        }
        let path = Path { steps, role };
        self.all.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.all.push(path);
            next
        })
    }

    /// Whether a path has steps that only readers of records in records know.
    pub(crate) fn read_nested(&self) -> bool {
        self.all.iter().flat_map(|path| path.steps.iter()).any(|step| matches!(step, Step::Outer | Step::Item(..)))
    }

    /// How many objects around a record are read.
    pub(crate) fn levels_around(&self) -> usize {
        self.all.iter().map(Path::level).max().unwrap_or(0)
    }

    /// The paths that begin so many objects further out.
    pub(crate) fn of_level(&self, wanted: usize) -> Vec<PathFrom<'_>> {
        let is_wanted = |path: &Path| !path.steps.is_empty() && path.level() == wanted;
        let numbered = self.all.iter().enumerate().filter(|(_, path)| is_wanted(path));
        numbered.map(|(slot, path)| (slot, &path.steps[wanted..], path.role)).collect()
    }

    /// The paths, in the order of their slots.
    pub(crate) fn all(&self) -> &[Path] {
        &self.all
    }
}

impl Slots for Paths {
    fn slot_of(&mut self, leaf: &Form) -> Option<usize> {
        path_of(leaf).map(|steps| self.slot(steps))
    }
}

/// The steps of an expression that is a path.
pub(crate) fn path_of(form: &Form) -> Option<Box<[Step]>> {
    if form["is"] != "path" {
        return None;
    }
    let outer = form.get("outer").map_or(Some(0), Form::as_u64)?.min(MOST_OUTER);
    let inside = steps(&form["steps"])?;
    Some((0..outer).map(|_| Step::Outer).chain(inside).collect())
}

/// The steps of a path.
pub(crate) fn steps(form: &Form) -> Option<Box<[Step]>> {
    let step = |step: &Form| match step {
        Form::String(name) => Some(Step::Name(name.as_str().into())),
        Form::Number(position) => Some(Step::Position(u32::try_from(position.as_u64()?).ok()?)),
        Form::Object(item) => Some(Step::Item(item.get("field")?.as_str()?.into(), item.get("text")?.as_str()?.into())),
        _ => None,
    };
    form.as_array()?.iter().map(step).collect()
}
