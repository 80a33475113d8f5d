//! The primitives of synchronisation, replaced by a model checker's under the feature `shuttle`.

#[cfg(feature = "shuttle")]
pub use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, atomic};
#[cfg(feature = "shuttle")]
pub use shuttle::thread;
#[cfg(not(feature = "shuttle"))]
pub use std::sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, atomic};
#[cfg(not(feature = "shuttle"))]
pub use std::thread;

use std::sync::PoisonError;

/// Locks a mutex. A holder that panicked ends the run elsewhere: see `pool::Pool::drain`.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition variable.
pub fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Waits on a condition variable, some milliseconds at most where time is real.
pub fn wait_briefly<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    let (guard, _) = condition.wait_timeout(guard, BRIEFLY).unwrap_or_else(PoisonError::into_inner);
    guard
}

const BRIEFLY: std::time::Duration = std::time::Duration::from_millis(5);
