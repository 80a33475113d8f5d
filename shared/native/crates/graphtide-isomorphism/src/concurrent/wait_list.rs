//! The lock of one item: shared or exclusive, granted in the chronological order of the transactions that asked.
//!
//! Requests are appended by one dispatcher before their transaction starts, so a list is in chronological order. A request is
//! granted when it is the list's head and compatible with the locks held; then it leaves the list.
//! Invariant: of two transactions that ask for one item, the later never conflicts with the earlier. It holds no lock that
//! conflicts with one that the earlier still holds or waits for. No transaction waits for a later one, so the oldest always
//! continues: there is no deadlock.
//! Reference: paper 004, section 5.2 and Algorithm 4. Deviation: a transaction whose join came out empty withdraws the requests
//! that it will not use. A request that became the head because another left is woken too, not only at a release.

use std::collections::VecDeque;

use super::sync::{Condvar, Mutex, lock, wait};

/// A transaction's number: its place in the order of the stream.
pub type Transaction = u64;

/// How an item is to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading.
    Shared,
    /// Inserting or deleting.
    Exclusive,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(Transaction, Mode)>,
    readers: usize,
    writer: bool,
}

/// Lock and wait-list of one item.
#[derive(Debug, Default)]
pub struct WaitList {
    state: Mutex<State>,
    changed: Condvar,
}

impl WaitList {
    /// Appends a request; called by the dispatcher alone, in order of transactions.
    pub fn request(&self, transaction: Transaction, mode: Mode) {
        lock(&self.state).waiting.push_back((transaction, mode));
    }

    /// Waits until the transaction's next request is granted.
    pub fn acquire(&self, transaction: Transaction) -> Mode {
        let mut state = lock(&self.state);
        loop {
            if let Some(&(first, mode)) = state.waiting.front()
                && first == transaction
                && !state.writer
                && (mode == Mode::Shared || state.readers == 0)
            {
                state.waiting.pop_front();
                match mode {
                    Mode::Shared => state.readers += 1,
                    Mode::Exclusive => state.writer = true,
                }
                // The next in line may be a reader too.
                self.changed.notify_all();
                return mode;
            }
            state = wait(&self.changed, state);
        }
    }

    /// Gives a lock back.
    pub fn release(&self, mode: Mode) {
        let mut state = lock(&self.state);
        match mode {
            Mode::Shared => state.readers -= 1,
            Mode::Exclusive => state.writer = false,
        }
        self.changed.notify_all();
    }

    /// Withdraws the transaction's next request.
    pub fn withdraw(&self, transaction: Transaction) {
        let mut state = lock(&self.state);
        if let Some(place) = state.waiting.iter().position(|&(other, _)| other == transaction) {
            state.waiting.remove(place);
            self.changed.notify_all();
        }
    }
}
