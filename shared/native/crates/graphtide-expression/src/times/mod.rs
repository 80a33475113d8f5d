//! Moments, the calendar and the clocks of zones: what functions of times and readers of times share.

pub mod calendar;
pub mod iso;
mod parts;
mod zone;

pub use parts::{Parts, seconds_of_iso};
pub use zone::Zone;
