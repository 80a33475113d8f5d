//! The paths that a statement reads, each with a slot: the place of its value among those of a record.
//!
//! A path that is read as a value, as a text and as a time has a slot for each: formats that are text give ends, labels and
//! ids as they are written, and times with all their digits.

/// A step into a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// Of an object, the field of this name.
    Name(Box<str>),
    /// Of a list, the item at this place, from 0.
    Position(u32),
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths(Vec<Path>);

impl Paths {
    /// The slot of a path that is read as a value.
    pub(crate) fn slot(&mut self, steps: Box<[Step]>) -> usize {
        self.slot_as(steps, Role::Value)
    }

    /// The slot of a path that is read so.
    pub(crate) fn slot_as(&mut self, steps: Box<[Step]>, role: Role) -> usize {
        let path = Path { steps, role };
        self.0.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.0.push(path);
            self.0.len() - 1
        })
    }

    /// The paths, in the order of their slots.
    pub(crate) fn all(&self) -> &[Path] {
        &self.0
    }
}
