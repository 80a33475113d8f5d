//! Bytes that claim to be an Arrow stream are read or refused. What the format's own reader asserts is caught by the decoder.

#![no_main]

use std::sync::Once;

use graphtide_decode::{ArrowDecoder, Decoder, Options};
use graphtide_fuzz::{ATTRIBUTES, declared, records};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

static QUIET: Once = Once::new();

fuzz_target!(|stream: &[u8]| {
    // The fuzzer's hook ends the process at a panic, also at one that is caught.
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    for bits in [0o77, 0o02, 0o31] {
        let symbols = SharedSymbols::default();
        let attributes = ATTRIBUTES.map(str::to_owned).to_vec();
        let options = Options { attributes, declared: declared(bits), ..Options::default() };
        let mut decoder = ArrowDecoder::new(options, 1000, symbols.clone()).expect("a second has ticks");
        let (mut batch, mut dead) = (EdgeBatch::new(ATTRIBUTES.len()), Vec::new());
        if decoder.feed(stream, &mut batch, &mut dead).is_ok() {
            records(&batch, &symbols);
        }
    }
});
