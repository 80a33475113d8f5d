//! Model test of the wait-lists: under many interleavings, chosen by the model checker, locks keep their order.
//!
//! Run with `cargo test -p graphtide-isomorphism --features shuttle --release`.
#![cfg(feature = "shuttle")]

use graphtide_isomorphism::concurrent::wait_list::{Mode, WaitList};
use shuttle::sync::{Arc, Mutex};

#[test]
fn locks_are_granted_in_chronological_order_and_never_conflict() {
    shuttle::check_random(
        || {
            let list = Arc::new(WaitList::default());
            let modes = [Mode::Exclusive, Mode::Shared, Mode::Shared, Mode::Exclusive, Mode::Shared];
            for (transaction, &mode) in modes.iter().enumerate() {
                list.request(transaction as u64, mode);
            }
            let held: Arc<Mutex<(Vec<u64>, usize, usize)>> = Arc::default();
            let workers: Vec<_> = modes
                .into_iter()
                .enumerate()
                .map(|(transaction, mode)| {
                    let (list, held) = (Arc::clone(&list), Arc::clone(&held));
                    shuttle::thread::spawn(move || {
                        if transaction == 2 {
                            list.withdraw(2);
                            return;
                        }
                        list.acquire(transaction as u64);
                        {
                            let mut held = held.lock().unwrap();
                            held.0.push(transaction as u64);
                            if mode == Mode::Exclusive {
                                held.1 += 1
                            } else {
                                held.2 += 1
                            }
                            assert!(held.1 == 0 || (held.1 == 1 && held.2 == 0), "a writer is alone");
                        }
                        shuttle::thread::yield_now();
                        {
                            let mut held = held.lock().unwrap();
                            if mode == Mode::Exclusive { held.1 -= 1 } else { held.2 -= 1 }
                        }
                        list.release(mode);
                    })
                })
                .collect();
            for worker in workers {
                worker.join().unwrap();
            }
            assert_eq!(held.lock().unwrap().0, [0, 1, 3, 4]);
        },
        2000,
    );
}
