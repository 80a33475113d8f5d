//! Lists of the window's edges that patterns share, and gates that read them before a pattern is touched.

mod access;
mod gate;
mod heads;
mod jumps;
mod postings;
mod readers;
mod ring;

pub use access::{ACCESSES, Access};
pub use gate::Gate;
pub use heads::Mask;
pub use postings::Postings;
pub use readers::Detached;
pub use ring::Entry;
