//! Keys as bytes: equal keys have equal bytes, and their values can be read again.

use graphtide_engine::expression::Operand;
use graphtide_graph::value::ValueRef;

use crate::number::Number;

/// Appends a value of a key; returns false if it is missing.
pub(crate) fn spell(value: Operand<'_>, bytes: &mut Vec<u8>) -> bool {
    match value {
        Operand::Null => return false,
        Operand::Bool(truth) => bytes.extend([b'b', u8::from(truth)]),
        Operand::Int(number) => spell_number(Number::Int(number), bytes),
        // A key that is not a finite number is like no other key, not even itself.
        Operand::Float(number) if number.is_nan() => return false,
        Operand::Float(number) => spell_number(Number::of(number), bytes),
        text => {
            text.with_text(|text| {
                bytes.push(b't');
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text.as_bytes());
            });
        }
    }
    true
}

fn spell_number(number: Number, bytes: &mut Vec<u8>) {
    match number {
        Number::Int(number) => {
            bytes.push(b'i');
            bytes.extend(number.to_le_bytes());
        }
        Number::Float(number) => {
            bytes.push(b'f');
            bytes.extend(number.to_bits().to_le_bytes());
        }
    }
}

/// The values of a key that [`spell`] wrote.
pub(crate) struct Values<'k>(pub(crate) &'k [u8]);

impl<'k> Values<'k> {
    fn word(&mut self) -> Option<[u8; 8]> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*word)
    }

    fn text(&mut self) -> Option<&'k str> {
        let length = usize::try_from(u64::from_le_bytes(self.word()?)).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

impl<'k> Iterator for Values<'k> {
    type Item = ValueRef<'k>;

    fn next(&mut self) -> Option<ValueRef<'k>> {
        let (kind, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match kind {
            b'b' => {
                let (truth, rest) = self.0.split_first()?;
                self.0 = rest;
                ValueRef::Bool(*truth != 0)
            }
            b'i' => ValueRef::Int(i64::from_le_bytes(self.word()?)),
            b'f' => ValueRef::Float(f64::from_bits(u64::from_le_bytes(self.word()?))),
            _ => ValueRef::Text(self.text()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_is_read_again() {
        let mut key = Vec::new();
        let given =
            [Operand::Bool(true), Operand::Text("t\u{fc}"), Operand::Digits(7), Operand::Float(2.0), Operand::Float(0.5)];
        assert!(given.into_iter().all(|value| spell(value, &mut key)));
        let expected =
            [ValueRef::Bool(true), ValueRef::Text("t\u{fc}"), ValueRef::Text("7"), ValueRef::Int(2), ValueRef::Float(0.5)];
        assert_eq!(Values(&key).collect::<Vec<_>>(), expected);
        assert!(!spell(Operand::Null, &mut key));
    }
}
