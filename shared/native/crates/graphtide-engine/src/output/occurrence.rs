//! Occurrences on their way out: the matches of event patterns, events under names, each one or a list.
//!
//! Where an event's matches are counted and one of them is shown, the identity is that of the event: which one is shown says
//! nothing.

use graphtide_graph::key::{IdRef, Key, TextArena};

use super::json::{begin_member, write_string};
use super::{MatchCount, PatternNames};

/// Matches that one event completes.
#[derive(Clone, Debug)]
pub struct Counted<I> {
    /// How many there are.
    pub count: MatchCount,
    /// The event.
    pub completed_by: I,
}

/// An occurrence with its texts in the batch.
#[derive(Clone, Debug)]
struct OwnedOccurrence {
    /// Where its events begin and end.
    events: (usize, usize),
    counted: Option<Counted<Key>>,
}

/// Occurrences that own their texts.
#[derive(Debug, Default)]
pub(super) struct OwnedOccurrences {
    occurrences: Vec<OwnedOccurrence>,
    names: Vec<u8>,
    ids: Vec<Key>,
    /// Bytes of counts that do not fit a word.
    large: usize,
}

/// An occurrence of a batch, by reference.
#[derive(Clone, Copy)]
pub struct OccurrenceRef<'a> {
    names: &'a [u8],
    ids: &'a [Key],
    counted: Option<&'a Counted<Key>>,
    text: &'a TextArena,
}

impl OwnedOccurrences {
    /// Takes events in the order of their names, with the places of those; returns its number.
    pub fn push<'k>(
        &mut self,
        events: impl Iterator<Item = (u8, IdRef<'k>)>,
        counted: Option<Counted<IdRef<'k>>>,
        text: &mut TextArena,
    ) -> usize {
        let start = self.ids.len();
        for (name, id) in events {
            self.names.push(name);
            self.ids.push(text.insert_id(id));
        }
        let counted =
            counted.map(|counted| Counted { count: counted.count, completed_by: text.insert_id(counted.completed_by) });
        self.large += counted.as_ref().map_or(0, |counted| counted.count.bytes());
        self.occurrences.push(OwnedOccurrence { events: (start, self.ids.len()), counted });
        self.occurrences.len() - 1
    }

    /// Reads an occurrence.
    pub fn get<'a>(&'a self, number: usize, text: &'a TextArena) -> OccurrenceRef<'a> {
        let OwnedOccurrence { events: (start, end), counted } = &self.occurrences[number];
        let (names, ids) = (&self.names[*start..*end], &self.ids[*start..*end]);
        OccurrenceRef { names, ids, counted: counted.as_ref(), text }
    }

    /// Bytes held, but for texts.
    pub fn bytes(&self) -> usize {
        self.occurrences.len() * size_of::<OwnedOccurrence>() + self.ids.len() * (size_of::<Key>() + 1) + self.large
    }
}

impl<'a> OccurrenceRef<'a> {
    /// Its events: the place of the name, and the id.
    pub fn events(&self) -> impl Iterator<Item = (u8, IdRef<'a>)> + use<'a> {
        let text = self.text;
        self.names.iter().zip(self.ids).map(move |(&name, &id)| (name, text.get_id(id)))
    }

    /// How many matches an event completes, and which, where they are counted.
    pub fn counted(&self) -> Option<Counted<IdRef<'a>>> {
        let Counted { count, completed_by } = self.counted?;
        Some(Counted { count: count.clone(), completed_by: self.text.get_id(*completed_by) })
    }

    /// Writes its members of a JSON object, `events` first, with a comma before each but the first.
    pub(super) fn write_json(&self, names: &PatternNames, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"events\":{");
        let mut open: Option<u8> = None;
        let close = |open: Option<u8>, out: &mut Vec<u8>| {
            if open.is_some_and(|name| names.lists[usize::from(name)]) {
                out.push(b']');
            }
        };
        for (number, (name, id)) in self.events().enumerate() {
            let place = usize::from(name);
            if open == Some(name) {
                out.push(b',');
            } else {
                close(open, out);
                begin_member(number, &names.json_parts[place], out);
                if names.lists[place] {
                    out.push(b'[');
                }
                open = Some(name);
            }
            id.with_text(|text| write_string(text, out));
        }
        close(open, out);
        out.push(b'}');
        if let Some(counted) = self.counted {
            out.extend_from_slice(b",\"count\":");
            counted.count.write(out);
        }
    }
}
