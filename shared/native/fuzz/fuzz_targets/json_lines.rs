//! A stream of JSON Lines means the same whatever the blocks it comes in, and never breaks its decoder.

#![no_main]

use graphtide_decode::{JsonLinesDecoder, Options};
use graphtide_fuzz::{ATTRIBUTES, answer, emitted};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((sizes, declared, stream)) = emitted(input) else { return };
    let decoded = |sizes: &[usize]| {
        let symbols = SharedSymbols::default();
        let attributes = ATTRIBUTES.map(str::to_owned).to_vec();
        let options = Options { attributes, declared: declared.clone(), keep_raw: true, discover: true, ..Options::default() };
        answer(JsonLinesDecoder::new(options, symbols.clone()), &symbols, stream, sizes)
    };
    let whole = decoded(&[usize::MAX]);
    assert_eq!(decoded(&sizes), whole);
    assert_eq!(decoded(&[1]), whole);
});
