//! Lines with fields mean the same whatever the blocks they come in, however they are written: in any dialect, with any times.

#![no_main]

use graphtide_decode::{CsvDecoder, Delimiter, Dialect, Heading, Options, Times, Zone};
use graphtide_fuzz::{ATTRIBUTES, answer, emitted};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

const DELIMITERS: [&str; 4] = [",", "whitespace", "::", "é"];
const TIMES: [&str; 4] = ["s", "iso", "%d.%m.%Y %H:%M:%S.%f %z", "%a %b %e %I %p %y %j"];
const COLUMNS: [&str; 6] = ["ts", "src", "dst", "label", "amount", "note"];

fuzz_target!(|input: &[u8]| {
    let Some((sizes, declared, stream)) = emitted(input) else { return };
    let Some((bits, stream)) = stream.split_first() else { return };
    let decoded = |sizes: &[usize]| {
        let symbols = SharedSymbols::default();
        let zone = Zone::new(vec![(-1_000_000_000, 3_600), (0, 7_200), (1_000_000_000, 3_600)], 2_000_000_000);
        let times = Times::new(TIMES[usize::from(bits >> 4 & 3)], 1_000, zone.expect("changes ascend"));
        let options = Options {
            attributes: ATTRIBUTES.map(str::to_owned).to_vec(),
            declared: declared.clone(),
            keep_raw: true,
            times: times.ok().filter(|_| bits >> 6 & 1 == 1),
            nulls: vec!["-".to_owned(), "NA".to_owned()],
            comment: "#".to_owned(),
            label: Some("edge".to_owned()),
            ..Options::default()
        };
        let heading = match bits >> 2 & 3 {
            0 => Heading::Line,
            1 => Heading::Given(COLUMNS.map(str::to_owned).to_vec()),
            2 => Heading::Numbers,
            _ => Heading::Zeek,
        };
        let delimiter = Delimiter::new(DELIMITERS[usize::from(bits & 3)]).expect("it is one");
        let options = if matches!(heading, Heading::Zeek) { Options { comment: String::new(), ..options } } else { options };
        let dialect = Dialect::new(delimiter).headed(heading);
        let dialect = if bits >> 7 == 1 { dialect.with_decimal_comma() } else { dialect };
        answer(CsvDecoder::new(options, dialect, symbols.clone()), &symbols, stream, sizes)
    };
    let whole = decoded(&[usize::MAX]);
    assert_eq!(decoded(&sizes), whole);
    assert_eq!(decoded(&[1]), whole);
});
