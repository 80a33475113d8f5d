//! `regexp_extract`: a group of the first match of a regular expression.

use std::sync::Arc;

use graphtide_graph::value::ValueRef;
use regex_automata::meta::Regex;
use regex_automata::util::primitives::NonMaxUsize;
use smallvec::{SmallVec, smallvec};

use super::{Prepared, constant_number, constant_text};
use crate::error::ExpressionError;
use crate::expression::{Context, Expression};
use crate::regex;

#[derive(Debug)]
struct Extract {
    regex: Regex,
    group: usize,
}

pub(super) fn prepare(arguments: &[Expression], _context: &Context) -> Result<Arc<dyn Prepared>, ExpressionError> {
    let regex = regex::compile(constant_text(arguments, 1, "regexp_extract")?)?;
    let groups = regex.captures_len() - 1;
    let group = if arguments.len() > 2 { constant_number(arguments, 2, "regexp_extract", groups)? } else { groups.min(1) };
    Ok(Arc::new(Extract { regex, group }))
}

impl Prepared for Extract {
    fn apply<'a>(&'a self, arguments: &[ValueRef<'a>]) -> ValueRef<'a> {
        let ValueRef::Text(text) = arguments[0] else { return ValueRef::Null };
        // A start and an end for each group up to the one that is wanted; more than two groups are rare.
        let mut slots: SmallVec<[Option<NonMaxUsize>; 6]> = smallvec![None; 2 * self.group + 2];
        if self.regex.search_slots(&text.into(), &mut slots).is_none() {
            return ValueRef::Null;
        }
        let (start, end) = (slots[2 * self.group], slots[2 * self.group + 1]);
        let range = start.zip(end).and_then(|(start, end)| text.get(start.get()..end.get()));
        range.map_or(ValueRef::Null, ValueRef::Text)
    }
}
