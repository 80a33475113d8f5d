//! What the tests share: the definition as an oracle, random streams, and an engine driven record by record.
#![allow(dead_code, reason = "each test takes what it needs")]
#![allow(clippy::unwrap_used, reason = "what a test is made of may fail it as the test may")]

pub mod driver;
pub mod oracle;
pub mod streams;
