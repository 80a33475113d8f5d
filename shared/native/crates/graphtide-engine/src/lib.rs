//! The floor of all engines: what each of them counts, is handed and hands over, whatever its family.

pub mod meter;
