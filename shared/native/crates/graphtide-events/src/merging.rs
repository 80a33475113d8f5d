//! One order of several parts of a sequence that agrees with each, in which what parts have in common stands once.
//!
//! The sequence is not known, so that items which no part puts in an order come in any. Where parts contradict each other,
//! which parts of one sequence do not, each item comes once nonetheless.
//! Cost: O(items of all parts).

use std::collections::VecDeque;
use std::hash::Hash;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// Where an item stands: parts that have it, and its place in each.
pub(crate) type Holders = SmallVec<[(usize, usize); 2]>;

/// An item of all parts.
#[derive(Debug, Default)]
struct Item {
    holders: Holders,
    /// How many parts have nothing before it any more.
    free: usize,
    is_taken: bool,
}

/// Puts the items of parts in an order, by their keys; of equal keys in a part the first stands for the first of another.
pub(crate) fn merged<K: Copy + Eq + Hash>(parts: &[Vec<K>]) -> Vec<Holders> {
    let mut items: Vec<Item> = Vec::new();
    let mut numbers: HashMap<(K, usize), usize, FxBuildHasher> = HashMap::default();
    let mut lists: Vec<VecDeque<usize>> = Vec::with_capacity(parts.len());
    for (part, keys) in parts.iter().enumerate() {
        let list = keys.iter().enumerate().map(|(place, &key)| {
            let has_it = |item: &Item| item.holders.last().is_some_and(|&(last, _)| last == part);
            let mut again = 0;
            let number = loop {
                let number = *numbers.entry((key, again)).or_insert_with(|| {
                    items.push(Item::default());
                    items.len() - 1
                });
                if !has_it(&items[number]) {
                    break number;
                }
                again += 1;
            };
            items[number].holders.push((part, place));
            number
        });
        lists.push(list.collect());
    }
    in_order(items, lists)
}

fn in_order(mut items: Vec<Item>, mut lists: Vec<VecDeque<usize>>) -> Vec<Holders> {
    let mut order = Vec::with_capacity(items.len());
    let mut ready = VecDeque::new();
    let note = |items: &mut [Item], list: &VecDeque<usize>, ready: &mut VecDeque<usize>| {
        let Some(&front) = list.front() else { return };
        items[front].free += 1;
        if items[front].free == items[front].holders.len() {
            ready.push_back(front);
        }
    };
    for list in &lists {
        note(&mut items, list, &mut ready);
    }
    let mut contradicted = 0;
    while order.len() < items.len() {
        let next = ready.pop_front().unwrap_or_else(|| {
            while items[contradicted].is_taken {
                contradicted += 1;
            }
            contradicted
        });
        if std::mem::replace(&mut items[next].is_taken, true) {
            continue;
        }
        for (part, _) in items[next].holders.clone() {
            let list = &mut lists[part];
            let before = list.front().copied();
            while list.front().is_some_and(|&front| items[front].is_taken) {
                list.pop_front();
            }
            if list.front().copied() != before {
                note(&mut items, list, &mut ready);
            }
        }
        order.push(std::mem::take(&mut items[next].holders));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&str]) -> String {
        let parts: Vec<Vec<char>> = parts.iter().map(|part| part.chars().collect()).collect();
        merged(&parts).iter().map(|holders| parts[holders[0].0][holders[0].1]).collect()
    }

    #[test]
    fn each_part_keeps_its_order_and_what_they_share_stands_once() {
        assert_eq!(written(&["ac", "bc", "ab"]), "abc");
        assert_eq!(written(&["xw", "yv", "vx"]), "yvxw");
        assert_eq!(written(&["abcd", "bd", "", "d"]), "abcd");
    }

    #[test]
    fn a_key_that_comes_again_is_another_item() {
        assert_eq!(written(&["abca", "abc"]), "abca");
        assert_eq!(
            merged(&[vec!['a', 'a'], vec!['a']]),
            [Holders::from_slice(&[(0, 0), (1, 0)]), Holders::from_slice(&[(0, 1)])]
        );
    }

    #[test]
    fn parts_that_contradict_each_other_lose_nothing() {
        assert_eq!(written(&["xab", "bay"]).len(), 4);
    }
}
