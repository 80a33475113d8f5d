//! Any expression over any values is refused or evaluated, and gives the same whatever the blocks its records come in.

#![no_main]

use std::collections::HashMap;

use graphtide_decode::statement::{Source, open};
use graphtide_decode::surroundings::Surroundings;
use graphtide_decode::{Delimiter, Dialect, Options, Zone};
use graphtide_fuzz::{ATTRIBUTES, answer_of};
use graphtide_graph::symbol::SharedSymbols;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const FUNCTIONS: [&str; 20] = [
    "lower",
    "upper",
    "trim",
    "substring",
    "split",
    "replace",
    "length",
    "coalesce",
    "concat",
    "regexp_extract",
    "to_number",
    "abs",
    "round",
    "greatest",
    "least",
    "date_part",
    "cidr_contains",
    "is_private_ip",
    "host_of",
    "hash",
];
const OPERATORS: [&str; 15] = ["=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "AND", "OR", "NOT", "IS NULL"];
const FIELDS: [&str; 4] = ["t", "u", "i", "f"];
const WORDS: [&str; 8] = ["year", "weekday", "zone", "10.0.0.0/8", "2024-02-29T12:00:00.5Z", "(a+)|b", "1.5e3", "::1"];
const DEEPEST: u8 = 6;

/// Reads constants and expressions from bytes; bytes that are used up read as zeros.
struct Reader<'i>(&'i [u8]);

impl<'i> Reader<'i> {
    fn byte(&mut self) -> u8 {
        let Some((byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *byte
    }

    fn text(&mut self) -> String {
        let length = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    fn constant(&mut self) -> Value {
        match self.byte() % 8 {
            0 => Value::Null,
            1 => json!(self.byte() & 1 == 1),
            2 => json!(i64::from(self.byte()) - 128),
            3 => json!(i64::from_le_bytes([(); 8].map(|()| self.byte()))),
            4 => json!(f64::from_le_bytes([(); 8].map(|()| self.byte()))),
            5 => json!(WORDS[usize::from(self.byte()) % WORDS.len()]),
            _ => json!(self.text()),
        }
    }

    fn several(&mut self, depth: u8) -> Vec<Value> {
        let count = self.byte() % 4;
        (0..count).map(|_| self.expression(depth + 1)).collect()
    }

    fn expression(&mut self, depth: u8) -> Value {
        match self.byte() % 8 {
            0 | 1 => json!({"is": "constant", "value": self.constant()}),
            2 | 3 => json!({"is": "path", "steps": [FIELDS[usize::from(self.byte()) % FIELDS.len()]]}),
            _ if depth > DEEPEST => json!({"is": "path", "steps": ["t"]}),
            4 | 5 => {
                let function = FUNCTIONS[usize::from(self.byte()) % FUNCTIONS.len()];
                json!({"is": "call", "function": function, "arguments": self.several(depth)})
            }
            6 => {
                let operator = OPERATORS[usize::from(self.byte()) % OPERATORS.len()];
                json!({"is": "operator", "operator": operator, "operands": self.several(depth)})
            }
            _ if self.byte() & 1 == 0 => {
                let options = [self.constant(), self.constant()];
                json!({"is": "in", "operand": self.expression(depth + 1), "options": options})
            }
            _ => json!({"is": "starts-with", "operand": self.expression(depth + 1), "prefix": self.text()}),
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut reader = Reader(input);
    let (first, second) = (reader.expression(0), reader.expression(0));
    let definition = json!({
        "name": "s",
        "unit": "ms",
        "time": {"value": {"is": "path", "steps": ["ts"]}},
        "clauses": [{"gives": "event", "type": {"is": "constant", "value": "e"}}],
        "sets": [[ATTRIBUTES[0], first], [ATTRIBUTES[1], second]],
        "where": {"is": "operator", "operator": "OR", "operands": [{"is": "constant", "value": true}, reader.expression(0)]},
    });
    let mut lines = Vec::new();
    for ts in 0..2 {
        let record = json!({"ts": ts, "t": reader.text(), "u": reader.constant(), "i": reader.byte(), "f": reader.constant()});
        lines.extend_from_slice(record.to_string().as_bytes());
        lines.push(b'\n');
    }
    let decoded = |sizes: &[usize]| {
        let symbols = SharedSymbols::default();
        let zone = Zone::new(vec![(-1_000_000_000, 3_600), (0, 7_200), (1_000_000_000, 3_600)], 2_000_000_000);
        let source = Source {
            definition: definition.to_string().into_bytes(),
            format: "jsonl".to_owned(),
            dialect: Dialect::new(Delimiter::new(",").expect("it is one")),
            path: None,
            clocks: HashMap::from([("zone".to_owned(), zone.expect("changes ascend"))]),
            surroundings: Surroundings::default(),
            tables: Vec::new(),
        };
        let options = Options { attributes: ATTRIBUTES.map(str::to_owned).to_vec(), ..Options::default() };
        open(source, options, &symbols).ok().map(|mut decoder| answer_of(&mut *decoder, &symbols, &lines, sizes))
    };
    let whole = decoded(&[usize::MAX]);
    assert_eq!(decoded(&[7, 1]), whole);
    if let Some((records, dead, refused)) = whole {
        assert_eq!((records.len(), dead.len(), refused), (2, 0, None));
    }
});
