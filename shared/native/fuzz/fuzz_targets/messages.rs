//! Messages of syslog, Avro in files and in messages, and Protobuf in files. What comes of any bytes does not depend on the
//! blocks that they come in, and nothing breaks or takes unbounded memory.

#![no_main]

use std::collections::HashMap;

use graphtide_decode::statement::{Source, open};
use graphtide_decode::surroundings::Surroundings;
use graphtide_decode::{Delimiter, Dialect, Options};
use graphtide_fuzz::{ATTRIBUTES, answer_of, emitted};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;

/// Statements, each with the format that it reads.
const STATEMENTS: [&str; 6] = [
    r#"{"time":{"value":{"is":"path","steps":["timestamp"]},"format":"syslog","before":"2027-01-01"},"unit":"us",
        "clauses":[{"gives":"edge","source":{"value":{"is":"path","steps":["hostname"]}},
            "target":{"value":{"is":"path","steps":["appname"]}},"label":{"is":"path","steps":["severity"]}}],
        "sets":[["amount",{"is":"path","steps":["sd","a","b"]}],["note",{"is":"path","steps":["message"]}]],
        "format":{"name":"syslog"}}"#,
    r#"{"time":{"value":{"is":"path","steps":["ts"]}},"unit":"ms","clauses":[{"gives":"event","type":{"is":"path","steps":["k"]}}],
        "sets":[["amount",{"is":"path","steps":["m","a"]}],["note",{"is":"path","steps":["l",1,"k"]}]],
        "format":{"name":"avro","schema":"SCHEMA"}}"#,
    r#"{"time":{"value":{"is":"path","steps":["ts"]}},"unit":"s","clauses":[{"gives":"event","type":{"is":"path","steps":["k"]}}],
        "sets":[["amount",{"is":"path","steps":["d"]}],["note",{"is":"path","steps":["f"]}]],
        "format":{"name":"avro","unnest":["l"],"schema":"SCHEMA"}}"#,
    r#"{"time":{"value":{"is":"path","steps":["a"]}},"unit":"ms","format":{"name":"avro","unnest":["b",0]}}"#,
    r#"{"time":{"value":{"is":"path","steps":["d"]}},"unit":"ms","clauses":[{"gives":"edge",
        "source":{"value":{"is":"path","steps":["k"]}},"target":{"value":{"is":"path","steps":["l",1,"l",0,"k"]}}}],
        "sets":[["amount",{"is":"path","steps":["m","a"]}],["note",{"is":"path","steps":["e"]}]],
        "format":{"name":"protobuf","message":"n.R","descriptor":"base64:DESCRIPTOR"}}"#,
    r#"{"time":{"value":{"is":"path","steps":["ts"]}},"unit":"s","clauses":[{"gives":"event","type":{"is":"path","steps":["k"]}}],
        "sets":[["amount",{"is":"path","steps":["p",1]}],["note",{"is":"path","steps":["f"]}]],
        "format":{"name":"protobuf","message":"n.R","unnest":["l","l"],"descriptor":"base64:DESCRIPTOR"}}"#,
];

/// Messages of the same shape.
const DESCRIPTOR: &str = include_str!("messages.b64");

/// All types, and one that leads back to itself.
const SCHEMA: &str = r#"{"type":"record","name":"n.r","fields":[{"name":"ts","type":["null",{"type":"long","logicalType":
    "timestamp-micros"},"string"]},{"name":"k","type":{"type":"enum","name":"e","symbols":["x","y"]}},{"name":"m","type":
    {"type":"map","values":["double","boolean","float"]}},{"name":"l","type":{"type":"array","items":["null","r","int"]}},
    {"name":"d","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},{"name":"f","type":
    {"type":"fixed","name":"g","size":3}},{"name":"o","type":{"type":"array","items":"null"}},{"name":"t","type":{"type":"int",
    "logicalType":"date"}}]}"#;

fuzz_target!(|input: &[u8]| {
    let Some((sizes, declared, stream)) = emitted(input) else { return };
    let Some((bits, stream)) = stream.split_first() else { return };
    let schema = SCHEMA.replace('"', "\\\"").replace('\n', " ");
    let statement = STATEMENTS[usize::from(*bits) % STATEMENTS.len()];
    let definition = statement.replace("SCHEMA", &schema).replace("DESCRIPTOR", DESCRIPTOR);
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
            clocks: HashMap::new(),
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
