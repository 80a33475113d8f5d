//! A CSV stream means the same whatever the blocks it comes in, and never breaks its decoder.

#![no_main]

use graphtide_decode::{CsvDecoder, Delimiter, Dialect, Options};
use graphtide_fuzz::{ATTRIBUTES, answer, emitted};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((sizes, declared, stream)) = emitted(input) else { return };
    let decoded = |sizes: &[usize]| {
        let symbols = SharedSymbols::default();
        let attributes = ATTRIBUTES.map(str::to_owned).to_vec();
        let options = Options { attributes, declared: declared.clone(), keep_raw: true, ..Options::default() };
        let decoder = CsvDecoder::new(options, Dialect::new(Delimiter::Byte(b',')), symbols.clone());
        answer(decoder, &symbols, stream, sizes)
    };
    let whole = decoded(&[usize::MAX]);
    assert_eq!(decoded(&sizes), whole);
    assert_eq!(decoded(&[1]), whole);
});
