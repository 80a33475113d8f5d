//! Bytes that claim to be a packed batch are refused, or are a batch that can be read, packed again and read as the same.

#![no_main]

use graphtide_fuzz::{ATTRIBUTES, records};
use graphtide_graph::batch::block::{pack, unpack};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (symbols, names) = (SharedSymbols::default(), ATTRIBUTES.map(str::to_owned));
    let read = |bytes: &[u8], first| unpack(bytes, &mut symbols.lock(), &names, first);
    let Ok(batch) = read(bytes, 7) else { return };
    let packed = pack(&batch, &symbols.lock(), &names);
    let again = read(&packed, 0).expect("what was packed can be read");
    assert_eq!(records(&again, &symbols), records(&batch, &symbols));
});
