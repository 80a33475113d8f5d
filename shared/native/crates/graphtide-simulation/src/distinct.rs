//! Whether each of some query edges can be given a data edge of its own: a matching in a bipartite graph, by augmenting paths.

use smallvec::{SmallVec, smallvec};

use crate::pattern::bits;

/// Whether the query edges can be matched to different choices. A choice is the set of query edges that a data edge can match.
///
/// Complexity: O(query edges * pairs).
pub(crate) fn has_distinct(edges: u64, choices: &[u64]) -> bool {
    let mut taken: SmallVec<[Option<u8>; 32]> = smallvec![None; choices.len()];
    bits(edges).all(|edge| {
        let mut tried = smallvec![false; choices.len()];
        take(edge, choices, &mut taken, &mut tried)
    })
}

fn take(edge: usize, choices: &[u64], taken: &mut [Option<u8>], tried: &mut SmallVec<[bool; 32]>) -> bool {
    for choice in 0..choices.len() {
        if choices[choice] >> edge & 1 == 0 || tried[choice] {
            continue;
        }
        tried[choice] = true;
        let is_free = match taken[choice] {
            None => true,
            Some(other) => take(usize::from(other), choices, taken, tried),
        };
        if is_free {
            taken[choice] = Some(edge as u8);
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_distinct;

    #[test]
    fn one_data_edge_does_not_serve_two() {
        assert!(!has_distinct(0b11, &[0b11]));
        assert!(has_distinct(0b11, &[0b11, 0b11]));
    }

    #[test]
    fn enough_choices_for_each_may_be_too_few_for_all() {
        assert!(!has_distinct(0b111, &[0b111, 0b111, 0]));
        assert!(!has_distinct(0b111, &[0b011, 0b001, 0b010]));
    }

    #[test]
    fn an_earlier_choice_gives_way() {
        assert!(has_distinct(0b111, &[0b011, 0b101, 0b001]));
    }
}
