//! Texts that stand for a missing value.

use std::collections::HashSet;

/// So many are compared one by one, more are looked up.
const FEW: usize = 8;

/// Texts that are missing values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nulls {
    few: Vec<Box<str>>,
    many: HashSet<Box<str>>,
}

impl Nulls {
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t String>) -> Self {
        let texts: Vec<Box<str>> = texts.map(|text| text.as_str().into()).collect();
        if texts.len() <= FEW {
            Self { few: texts, many: HashSet::new() }
        } else {
            Self { few: Vec::new(), many: texts.into_iter().collect() }
        }
    }

    /// Whether a text stands for a missing value.
    #[inline]
    pub(crate) fn contain(&self, text: &str) -> bool {
        self.few.iter().any(|null| **null == *text) || (!self.many.is_empty() && self.many.contains(text))
    }
}
