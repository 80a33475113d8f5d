//! Texts that stand for a missing value.

use std::collections::HashSet;

/// So many are compared one by one, more are looked up.
const FEW: usize = 8;

/// Texts that are missing values.
#[derive(Clone, Debug)]
pub(crate) struct Nulls {
    are_none: bool,
    few: Vec<Box<str>>,
    many: HashSet<Box<str>>,
}

impl Nulls {
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t String>) -> Self {
        let texts: Vec<Box<str>> = texts.map(|text| text.as_str().into()).collect();
        let are_none = texts.is_empty();
        if texts.len() <= FEW {
            Self { are_none, few: texts, many: HashSet::new() }
        } else {
            Self { are_none, few: Vec::new(), many: texts.into_iter().collect() }
        }
    }

    /// The texts, if there are any.
    #[inline]
    pub(crate) fn if_any(&self) -> Option<&Self> {
        (!self.are_none).then_some(self)
    }

    /// Whether a text stands for a missing value.
    #[inline]
    pub(crate) fn contain(&self, text: &str) -> bool {
        !self.are_none && self.have(text)
    }

    /// Apart from texts of most streams, which have no such word.
    #[inline(never)]
    fn have(&self, text: &str) -> bool {
        self.few.iter().any(|null| **null == *text) || self.many.contains(text)
    }
}
