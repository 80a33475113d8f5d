//! Run long work in slices: after some milliseconds it pauses, wherever it is, and returns to its caller.
//!
//! The work runs on its own stack, on the thread of its caller. To pause is to leave that stack, and to continue is to return
//! to it. So no engine needs code to stop in the middle and continue later. Work that ends within a slice costs some
//! nanoseconds more, and no other thread is involved. The caller may take matches in parts: work that has found enough pauses
//! too.
//! Invariant: work continues in the thread that began it, and only that thread keeps it. Work that must stop pauses no more.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use graphtide_engine::meter::Pace;
use graphtide_engine::output::MatchBatch;

/// Size of a stack: engines go as deep as a pattern has edges, at most 64, predicates as their text is nested, which is
/// 128. It is reserved, and taken as it is used.
const STACK_BYTES: usize = 1 << 20;

/// Stacks that a thread keeps to use again.
const MOST_STACKS: usize = 4;

/// Work that paused, by which its thread finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Paused(u64);

/// The outcome of a slice.
pub(crate) enum Slice<T> {
    /// The work is done.
    Done(T),
    /// It continues later.
    Paused(Paused),
}

/// Work that runs in slices.
pub(crate) trait InSlices: Sized + 'static {
    /// Where this thread keeps what paused.
    fn under_way() -> &'static std::thread::LocalKey<UnderWay<Self>>;
}

/// Work that paused in this thread.
pub(crate) type UnderWay<T> = RefCell<HashMap<Paused, Coroutine<(), (), T>>>;

/// Where work leaves what it found before it is done: parts of so many matches, about.
#[derive(Debug)]
pub(crate) struct Outlet {
    most: usize,
    parts: Mutex<Vec<MatchBatch>>,
}

impl Outlet {
    /// Takes parts of so many matches.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, parts: Mutex::default() }
    }

    /// Takes the parts left since the last call, in order of detection.
    pub(crate) fn take(&self) -> Vec<MatchBatch> {
        std::mem::take(&mut self.parts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

static NEXT: AtomicU64 = AtomicU64::new(0);

/// Begins work with slices of this length, and runs the first; `outlet`, if given, takes matches before the work is done.
pub(crate) fn begin<T: InSlices>(
    length: Duration,
    stop: Arc<AtomicBool>,
    outlet: Option<Arc<Outlet>>,
    work: impl FnOnce(&dyn Pace) -> T + 'static,
) -> std::io::Result<Slice<T>> {
    let kept = STACKS.with_borrow_mut(Vec::pop);
    let stack = kept.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)?;
    let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        work(&Hourglass { yielder, begun: Cell::new(Instant::now()), length, stop: &stop, outlet: outlet.as_deref() })
    });
    Ok(slice(Paused(NEXT.fetch_add(1, Ordering::Relaxed)), coroutine))
}

/// Runs the next slice of work; none if the work is not this thread's.
pub(crate) fn go_on<T: InSlices>(paused: Paused) -> Option<Slice<T>> {
    let coroutine = T::under_way().with_borrow_mut(|under_way| under_way.remove(&paused))?;
    Some(slice(paused, coroutine))
}

fn slice<T: InSlices>(paused: Paused, mut coroutine: Coroutine<(), (), T>) -> Slice<T> {
    match coroutine.resume(()) {
        CoroutineResult::Yield(()) => {
            T::under_way().with_borrow_mut(|under_way| under_way.insert(paused, coroutine));
            Slice::Paused(paused)
        }
        CoroutineResult::Return(done) => {
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < MOST_STACKS {
                    stacks.push(coroutine.into_stack());
                }
            });
            Slice::Done(done)
        }
    }
}

/// Pauses when the slice is over, ends when asked.
struct Hourglass<'y> {
    yielder: &'y Yielder<(), ()>,
    begun: Cell<Instant>,
    length: Duration,
    stop: &'y AtomicBool,
    outlet: Option<&'y Outlet>,
}

impl Pace for Hourglass<'_> {
    fn rest(&self) -> bool {
        let is_stopped = || self.stop.load(Ordering::Relaxed);
        if !is_stopped() && self.begun.get().elapsed() >= self.length {
            self.yielder.suspend(());
            self.begun.set(Instant::now());
        }
        !is_stopped()
    }

    fn most(&self) -> usize {
        self.outlet.map_or(usize::MAX, |outlet| outlet.most)
    }

    /// Pauses, so that the matches do not pile up; except for work that must stop.
    fn hand_on(&self, matches: MatchBatch) {
        let Some(outlet) = self.outlet else { return };
        outlet.parts.lock().unwrap_or_else(PoisonError::into_inner).push(matches);
        if !self.stop.load(Ordering::Relaxed) {
            self.yielder.suspend(());
            self.begun.set(Instant::now());
        }
    }
}
