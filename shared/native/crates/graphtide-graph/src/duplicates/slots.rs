//! Numbers by the hash of what each of them names: a table of buckets, each a line of the cache.
//!
//! A number lies in the bucket that its hash calls home, or where that is full in the next one that is not. Invariant: every
//! bucket counts the numbers that lie behind it because it was full. So a search ends at the first bucket that counts none, and
//! a number that is removed leaves an empty slot and no other trace.
//! Cost: O(1) each, as long as hashes differ; one line of the cache for most.

/// Slots of a bucket.
const WIDTH: usize = 7;
/// Numbers a bucket has at most, on average.
const MOST: usize = 4;
const FEWEST: usize = 16;

/// A hash of 32 bits, never all zero: the high bits give its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag(u32);

impl Tag {
    /// In place of a hash where there is nothing to look for.
    pub(super) const NONE: Self = Self(0);

    /// Folds a hash of 64 bits; some bits may be poor.
    #[inline]
    pub(super) fn new(hash: u64) -> Self {
        Self((hash ^ hash >> 32) as u32 | 1)
    }
}

/// Slots with their hashes, [`Tag::NONE`] where a slot is empty.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Bucket {
    tags: [Tag; WIDTH],
    /// Numbers behind this bucket that it had no room for.
    beyond: u32,
    numbers: [u32; WIDTH],
}

impl Bucket {
    const EMPTY: Self = Self { tags: [Tag::NONE; WIDTH], beyond: 0, numbers: [0; WIDTH] };

    /// The slots with this hash, as bits.
    #[inline]
    fn having(&self, tag: Tag) -> u32 {
        (0..WIDTH).fold(0, |found, slot| found | u32::from(self.tags[slot].0 == tag.0) << slot)
    }
}

/// A place in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    bucket: usize,
    slot: usize,
}

/// A table from hashes to numbers; equal hashes may have several.
#[derive(Debug)]
pub(super) struct Slots {
    /// A power of two of them.
    buckets: Vec<Bucket>,
    /// What leaves of a hash its home.
    shift: u32,
    used: usize,
}

impl Slots {
    /// Makes an empty table.
    pub(super) fn new() -> Self {
        Self { buckets: vec![Bucket::EMPTY; FEWEST], shift: u32::BITS - FEWEST.ilog2(), used: 0 }
    }

    /// Numbers held.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.used
    }

    #[inline]
    fn home(&self, Tag(tag): Tag) -> usize {
        (tag >> self.shift) as usize
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    /// Brings the homes of these hashes into the cache, all at once: to wait for one after the other takes longer.
    #[inline]
    pub(super) fn warm(&self, tags: impl Iterator<Item = Tag>) {
        let all = tags.fold(0, |all, tag| all ^ self.buckets[self.home(tag)].beyond);
        std::hint::black_box(all);
    }

    /// Makes room for so many more.
    #[inline]
    pub(super) fn reserve(&mut self, more: usize) {
        if self.used + more > self.buckets.len() * MOST {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let length = (self.buckets.len() * 2).max((self.used + more).div_ceil(MOST).next_power_of_two());
        let known = std::mem::replace(&mut self.buckets, vec![Bucket::EMPTY; length]);
        self.shift = u32::BITS - length.ilog2();
        self.used = 0;
        for bucket in known {
            for (tag, number) in bucket.tags.into_iter().zip(bucket.numbers).filter(|&(tag, _)| tag != Tag::NONE) {
                self.insert(tag, number);
            }
        }
    }

    /// Looks for a number of this hash that `is_it`.
    #[inline]
    pub(super) fn find(&self, tag: Tag, mut is_it: impl FnMut(u32) -> bool) -> Option<Place> {
        let mut bucket = self.home(tag);
        // What came and went may have left numbers behind every bucket: a search has seen all when it is round.
        for _ in 0..self.buckets.len() {
            let held = &self.buckets[bucket];
            let mut having = held.having(tag);
            while having != 0 {
                let slot = having.trailing_zeros() as usize;
                if is_it(held.numbers[slot]) {
                    return Some(Place { bucket, slot });
                }
                having &= having - 1;
            }
            if held.beyond == 0 {
                break;
            }
            bucket = self.next(bucket);
        }
        None
    }

    /// Adds a number. There must be room.
    #[inline]
    pub(super) fn insert(&mut self, tag: Tag, number: u32) {
        let mut bucket = self.home(tag);
        loop {
            let empty = self.buckets[bucket].having(Tag::NONE).trailing_zeros() as usize;
            if empty < WIDTH {
                self.buckets[bucket].tags[empty] = tag;
                self.buckets[bucket].numbers[empty] = number;
                self.used += 1;
                return;
            }
            self.buckets[bucket].beyond += 1;
            bucket = self.next(bucket);
        }
    }

    /// The number at a place that `find` found.
    #[inline]
    pub(super) fn number(&mut self, place: Place) -> &mut u32 {
        &mut self.buckets[place.bucket].numbers[place.slot]
    }

    /// Empties a place that `find` found.
    #[inline]
    pub(super) fn remove(&mut self, place: Place) {
        let tag = std::mem::replace(&mut self.buckets[place.bucket].tags[place.slot], Tag::NONE);
        self.used -= 1;
        let mut bucket = self.home(tag);
        while bucket != place.bucket {
            self.buckets[bucket].beyond -= 1;
            bucket = self.next(bucket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number is found by its hash, none is twice there, and the buckets count what lies behind them.
    fn assert_holds(slots: &Slots, held: &[(Tag, u32)]) {
        assert_eq!(slots.len(), held.len());
        let filled = slots.buckets.iter().map(|bucket| WIDTH - bucket.having(Tag::NONE).count_ones() as usize);
        assert_eq!(filled.sum::<usize>(), held.len());
        let mut beyond = vec![0; slots.buckets.len()];
        for &(tag, number) in held {
            let place = slots.find(tag, |found| found == number);
            let mut bucket = slots.home(tag);
            while place.is_some_and(|place| place.bucket != bucket) {
                beyond[bucket] += 1;
                bucket = slots.next(bucket);
            }
            assert!(place.is_some(), "{number}");
        }
        assert!(slots.buckets.iter().zip(beyond).all(|(bucket, expected)| bucket.beyond == expected));
    }

    #[test]
    fn numbers_come_and_go_under_hashes_that_collide() {
        let mut seed = 5_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        // Few homes, at the end of the table as well, behind which its first bucket comes.
        let homes = [0, 1 << 28, u64::from(u32::MAX), u64::from(u32::MAX) - (1 << 28), 1 << 31];
        for _ in 0..40 {
            let (mut slots, mut held) = (Slots::new(), Vec::new());
            for number in 0..random(200) as u32 {
                if held.is_empty() || random(5) > 1 {
                    let tag = Tag::new(homes[random(5) as usize] ^ random(3) << 2);
                    slots.reserve(1);
                    slots.insert(tag, number);
                    held.push((tag, number));
                } else {
                    let (tag, number) = held.swap_remove(random(held.len() as u64) as usize);
                    let place = slots.find(tag, |found| found == number);
                    if let Some(place) = place {
                        slots.remove(place);
                    }
                    assert!(slots.find(tag, |found| found == number).is_none());
                }
                assert_holds(&slots, &held);
            }
        }
    }

    #[test]
    fn a_search_ends_though_numbers_lie_behind_every_bucket() {
        let mut slots = Slots::new();
        let at = |home: u64| Tag::new(home << slots.shift);
        let tags: Vec<Tag> = (0..FEWEST as u64).map(at).collect();
        for (home, &tag) in tags.iter().enumerate() {
            // The bucket is filled up, one more goes behind it, and what filled it goes.
            let filling = slots.buckets[home].having(Tag::NONE).count_ones();
            (0..filling).for_each(|number| slots.insert(tag, 1_000 + number));
            slots.insert(tag, home as u32);
            for number in 0..filling {
                if let Some(place) = slots.find(tag, |found| found == 1_000 + number) {
                    slots.remove(place);
                }
            }
        }
        assert!(slots.buckets.iter().all(|bucket| bucket.beyond == 1));
        assert_holds(&slots, &tags.iter().copied().zip(0..).collect::<Vec<_>>());
        assert!(slots.find(tags[3], |_| false).is_none());
    }

    #[test]
    fn there_is_room_for_all_that_was_reserved() {
        let mut slots = Slots::new();
        slots.reserve(10_000);
        let buckets = slots.buckets.len();
        for number in 0..10_000 {
            slots.insert(Tag::new(u64::from(number) << 7), number);
        }
        slots.reserve(0);
        assert_eq!((slots.buckets.len(), slots.len()), (buckets, 10_000));
    }
}
