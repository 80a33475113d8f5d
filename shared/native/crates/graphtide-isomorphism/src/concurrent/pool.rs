//! Workers that run transactions in the order of their queue, and the matches they find.
//!
//! Invariant: transactions start in order, each after its lock requests are in the wait-lists. So the oldest transaction under
//! way never waits for one that has not started. The queue is bounded: a dispatcher that runs ahead waits. Where it waits it
//! looks at the pace of its own work. When it must end, it has the workers end theirs and waits no longer. To give back what a
//! transaction has gathered takes up to a second. A later caller with work waits for them first.

use std::collections::VecDeque;

use graphtide_engine::meter::Meter;

use super::sync::{Arc, Condvar, Mutex, lock, thread, wait, wait_briefly};
use super::transaction::{Found, Lists, Work};
use super::wait_list::Transaction;

const MOST_QUEUED: usize = 1024;

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<(Transaction, Work)>,
    under_way: usize,
    found: Vec<(Transaction, Vec<Found>)>,
    closed: bool,
    failed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    finished: Condvar,
}

/// Workers over one pattern's lists.
#[derive(Debug)]
pub struct Pool {
    lists: Arc<Lists>,
    shared: Arc<Shared>,
    workers: Vec<thread::JoinHandle<()>>,
    next: Transaction,
    /// Whether ending workers were left to themselves.
    left_alone: bool,
}

impl Pool {
    /// Starts the workers.
    pub fn new(lists: Arc<Lists>, threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let workers = (0..threads)
            .map(|_| {
                let (lists, shared) = (Arc::clone(&lists), Arc::clone(&shared));
                thread::spawn(move || work(&lists, &shared))
            })
            .collect();
        Self { lists, shared, workers, next: 0, left_alone: false }
    }

    /// Dispatches a transaction's lock requests and queues it.
    pub fn submit(&mut self, work: Work, meter: &mut Meter<'_>) {
        if self.left_alone && meter.ended().is_none() {
            self.wait(meter);
        }
        let transaction = self.next;
        self.next += 1;
        self.lists.request(transaction, &work);
        let mut queue = lock(&self.shared.queue);
        while queue.waiting.len() >= MOST_QUEUED && !queue.failed {
            drop(queue);
            let goes_on = self.rest(meter);
            queue = lock(&self.shared.queue);
            if !goes_on {
                // Its locks stand in the wait-lists; what ends hands in little more.
                break;
            }
            queue = wait_briefly(&self.shared.finished, queue);
        }
        queue.waiting.push_back((transaction, work));
        drop(queue);
        self.shared.arrived.notify_one();
    }

    /// Waits until no transaction is queued or under way; says whether that is so. It is not where work is to end.
    ///
    /// # Panics
    /// If a worker panicked: its locks are never given back, and its matches are lost.
    pub fn wait(&mut self, meter: &mut Meter<'_>) -> bool {
        let mut queue = lock(&self.shared.queue);
        while (!queue.waiting.is_empty() || queue.under_way > 0) && !queue.failed {
            drop(queue);
            if !self.rest(meter) {
                self.left_alone = true;
                return false;
            }
            queue = lock(&self.shared.queue);
            if (!queue.waiting.is_empty() || queue.under_way > 0) && !queue.failed {
                queue = wait_briefly(&self.shared.finished, queue);
            }
        }
        assert!(!queue.failed, "a worker of the timing engine panicked");
        drop(queue);
        self.lists.halt(false);
        if self.left_alone {
            self.lists.take_refused();
            self.left_alone = false;
        }
        true
    }

    /// Yields to others; no lock is held. Returns whether work continues; if not, workers are notified.
    fn rest(&self, meter: &mut Meter<'_>) -> bool {
        let goes_on = meter.rest();
        if !goes_on {
            self.lists.halt(true);
        }
        goes_on
    }

    /// Takes the matches found, in order of their transactions.
    pub fn take_found(&mut self) -> impl Iterator<Item = Found> + use<> {
        let mut found = std::mem::take(&mut lock(&self.shared.queue).found);
        found.sort_unstable_by_key(|(transaction, _)| *transaction);
        found.into_iter().flat_map(|(_, found)| found)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Nobody asks any more for what they would find.
        self.lists.halt(true);
        lock(&self.shared.queue).closed = true;
        self.shared.arrived.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked was reported by `wait`.
            let _ = worker.join();
        }
    }
}

/// Notifies the dispatcher if the worker ends by a panic.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            lock(&self.0.queue).failed = true;
            self.0.finished.notify_all();
        }
    }
}

fn work(lists: &Lists, shared: &Shared) {
    let _alarm = Alarm(shared);
    loop {
        let mut queue = lock(&shared.queue);
        let (transaction, work) = loop {
            if let Some(next) = queue.waiting.pop_front() {
                break next;
            }
            if queue.closed {
                return;
            }
            queue = wait(&shared.arrived, queue);
        };
        queue.under_way += 1;
        drop(queue);
        let found = lists.run(transaction, work);
        let mut queue = lock(&shared.queue);
        queue.under_way -= 1;
        if !found.is_empty() {
            queue.found.push((transaction, found));
        }
        drop(queue);
        shared.finished.notify_all();
    }
}
