//! What a statement makes of a stream is the same whatever the blocks that it comes in, in every format of text. Any bytes
//! never break it.

#![no_main]

use std::collections::HashMap;

use graphtide_decode::statement::{Source, open};
use graphtide_decode::surroundings::Surroundings;
use graphtide_decode::{Delimiter, Dialect, Options, Zone};
use graphtide_fuzz::{ATTRIBUTES, answer_of, emitted};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

/// Statements that together have every clause; what they read is in the seeds.
const STATEMENTS: [&str; 4] = [
    r#"{"time":{"value":{"is":"path","steps":["ts"]}},"unit":"ms"}"#,
    r#"{"time":{"value":{"is":"path","steps":["ts"]},"unit":"auto"},"unit":"us","nulls":["-",""],
        "clauses":[{"gives":"edge","source":{"value":{"is":"path","steps":["a"]}},
            "target":{"value":{"is":"path","steps":["in","x"]},"label":{"is":"path","steps":["k"]}},
            "label":{"is":"constant","value":"pay"},"where":{"is":"operator","operator":"<>","operands":[
                {"is":"path","steps":["k"]},{"is":"constant","value":"x"}]}},
            {"gives":"event","type":{"is":"path","steps":["in","list",1,"y"]},"sets":[["amount",{"is":"path","steps":["n"]}]]}],
        "id":{"is":"path","steps":["uid"]},"delete_where":{"is":"path","steps":["d"]},"update_where":{"is":"path","steps":["u"]}}"#,
    r#"{"time":{"value":{"is":"path","steps":["ts"]},"format":"%d/%b/%Y:%H:%M:%S %z"},"unit":"s",
        "clauses":[{"gives":"event","type":{"is":"call","function":"coalesce","arguments":[
            {"is":"path","steps":["k"]},{"is":"path","steps":["a"]}]}}],"where":{"is":"path","steps":["b"]}}"#,
    r#"{"time":{"value":{"is":"path","steps":["in","at"]},"zone":"+02:00"},"unit":"ns",
        "clauses":[{"gives":"edge","source":{"value":{"is":"path","steps":["1"]}},"target":{"value":{"is":"path","steps":["2"]}}}],
        "sets":[["note",{"is":"call","function":"concat","arguments":[{"is":"path","steps":["3"]},{"is":"path","steps":["n"]}]}]]}"#,
];

/// A statement of fields and constants alone: columns of CSV are read many records at once.
const OF_COLUMNS: &str = r#"{"time":{"value":{"is":"path","steps":["ts"]},"unit":"s"},"unit":"ms","nulls":["-"],
    "clauses":[{"gives":"edge","source":{"value":{"is":"path","steps":["a"]},"label":{"is":"path","steps":["n"]}},
        "target":{"value":{"is":"path","steps":["k"]}},"label":{"is":"path","steps":["note"]}}],
    "id":{"is":"path","steps":["uid"]},"sets":[["amount",{"is":"path","steps":["n"]}],["note",{"is":"constant","value":7}]]}"#;

/// Numbers of formats from this one on are again those of all formats, by the statement of columns.
const COLUMNS_FROM: u8 = 48;

/// Formats in which they are read.
const FORMATS: [&str; 12] = [
    r#"{"name":"jsonl"}"#,
    r#"{"name":"json"}"#,
    r#"{"name":"json","unnest":["in","list",0]}"#,
    r#"{"name":"jsonl","unnest":["in","list"]}"#,
    r#"{"name":"csv"}"#,
    r#"{"name":"csv","delimiter":"whitespace","header":false,"comment":"//","decimal":","}"#,
    r#"{"name":"csv","delimiter":";","quote":"'","header":true,"columns":["ts","a","k","n","uid","1","2","3"]}"#,
    r#"{"name":"zeek"}"#,
    r#"{"name":"regex","pattern":"^(?P<ts>[^ ]*) (?P<a>\\w+)(?:>(?P<k>.*?))?(?P<n>\\d*)$"}"#,
    r#"{"name":"xml","row":"row"}"#,
    r#"{"name":"csv","encoding":"utf-16"}"#,
    r#"{"name":"regex","pattern":"(?P<ts>.)(?P<a>.)(?P<k>.+)","encoding":"windows-1252"}"#,
];

fuzz_target!(|input: &[u8]| {
    let Some((sizes, declared, stream)) = emitted(input) else { return };
    let Some((bits, stream)) = stream.split_first() else { return };
    let statement = if bits >> 2 < COLUMNS_FROM { STATEMENTS[usize::from(bits & 3)] } else { OF_COLUMNS };
    let format = FORMATS[usize::from(bits >> 2) % FORMATS.len()];
    let definition = format!("{},\"format\":{format}}}", statement.trim_end_matches('}').to_owned() + &closing(statement));
    let decoded = |sizes: &[usize]| {
        let symbols = SharedSymbols::default();
        let options = Options {
            attributes: ATTRIBUTES.map(str::to_owned).to_vec(),
            declared: declared.clone(),
            keep_raw: true,
            ..Options::default()
        };
        let source = Source {
            definition: definition.clone().into_bytes(),
            format: "jsonl".to_owned(),
            dialect: Dialect::new(Delimiter::Byte(b',')),
            path: None,
            clocks: HashMap::from([("+02:00".to_owned(), Zone::utc())]),
            surroundings: Surroundings::default(),
            tables: Vec::new(),
        };
        let mut decoder = open(source, options, &symbols).unwrap_or_else(|error| panic!("{error}: {definition}"));
        let answer = answer_of(decoder.as_mut(), &symbols, stream, sizes);
        (answer, decoder.filtered(), decoder.ordinal())
    };
    let whole = decoded(&[usize::MAX]);
    assert_eq!(decoded(&sizes), whole);
    assert_eq!(decoded(&[1]), whole);
});

/// The braces that close a statement, but for the last.
fn closing(statement: &str) -> String {
    let braces = statement.len() - statement.trim_end_matches('}').len();
    "}".repeat(braces - 1)
}
