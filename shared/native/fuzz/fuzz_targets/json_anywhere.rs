//! Records anywhere in JSON are the same whatever the blocks it comes in, and any bytes never break their decoder.

#![no_main]

use graphtide_decode::{JsonLinesDecoder, Options, Times, Zone};
use graphtide_fuzz::{ATTRIBUTES, answer, emitted};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((sizes, declared, stream)) = emitted(input) else { return };
    let Some((bits, stream)) = stream.split_first() else { return };
    let decoded = |sizes: &[usize]| {
        let symbols = SharedSymbols::default();
        let times = Times::new(if bits & 8 == 0 { "s" } else { "iso" }, 1_000, Zone::utc());
        let options = Options {
            attributes: ATTRIBUTES.map(str::to_owned).to_vec(),
            declared: declared.clone(),
            keep_raw: true,
            times: times.ok().filter(|_| bits & 4 == 0),
            nulls: vec!["-".to_owned()],
            ..Options::default()
        };
        let path = ["a", "b"].iter().take(usize::from(bits & 3)).map(|key| (*key).to_owned()).collect();
        answer(JsonLinesDecoder::new(options, symbols.clone()).anywhere(path), &symbols, stream, sizes)
    };
    let whole = decoded(&[usize::MAX]);
    assert_eq!(decoded(&sizes), whole);
    assert_eq!(decoded(&[1]), whole);
});
