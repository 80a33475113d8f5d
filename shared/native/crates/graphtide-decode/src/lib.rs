//! Bytes of a stream file to batches of records.
