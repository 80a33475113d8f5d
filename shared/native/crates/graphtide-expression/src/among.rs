//! The constants of `IN`: texts are looked up, so that a list of thousands of names costs a record no more than its logarithm.

use graphtide_graph::logic::{Comparison, any};
use graphtide_graph::value::{OwnedValue, ValueRef};

/// The constants of a list.
#[derive(Clone, Debug)]
pub struct Among {
    /// Sorted.
    texts: Box<[Box<str>]>,
    others: Box<[OwnedValue]>,
}

impl Among {
    pub(crate) fn new(constants: Vec<OwnedValue>) -> Self {
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for constant in constants {
            match constant {
                OwnedValue::Text(text) => texts.push(text),
                other => others.push(other),
            }
        }
        texts.sort_unstable();
        Self { texts: texts.into(), others: others.into() }
    }

    /// Whether a value is one of them; unknown if it is not, and some are missing or of another kind.
    #[inline]
    pub(crate) fn contains(&self, value: ValueRef<'_>) -> Option<bool> {
        if let ValueRef::Text(text) = value {
            let is_found = self.texts.binary_search_by(|known| (**known).cmp(text)).is_ok();
            return if is_found { Some(true) } else { self.others.is_empty().then_some(false) };
        }
        let others = self.others.iter().map(|other| Comparison::Equal.of(value, other.get()));
        // A value of another kind compares with no text.
        any(others.chain((!self.texts.is_empty()).then_some(None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_among_its_kind_and_unknown_beside_others() {
        let text = |text: &str| OwnedValue::Text(text.into());
        let mixed = Among::new(vec![text("b"), OwnedValue::Int(1), text("a")]);
        assert_eq!(mixed.contains(ValueRef::Text("a")), Some(true));
        assert_eq!(mixed.contains(ValueRef::Text("c")), None);
        assert_eq!(mixed.contains(ValueRef::Float(1.0)), Some(true));
        assert_eq!(mixed.contains(ValueRef::Int(2)), None);
        let texts = Among::new(vec![text("b"), text("a")]);
        assert_eq!(texts.contains(ValueRef::Text("c")), Some(false));
        assert_eq!(texts.contains(ValueRef::Null), None);
        let nothing = Among::new(Vec::new());
        assert_eq!(nothing.contains(ValueRef::Null), Some(false));
        assert_eq!(nothing.contains(ValueRef::Text("a")), Some(false));
    }
}
