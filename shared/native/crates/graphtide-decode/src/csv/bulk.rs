//! Decodes lines without quotes and without faults, a column at a time.
//!
//! A column costs one loop. Lines with anything else among them (a fault, a deletion, an empty field that must not be) are left
//! to the way record by record. That looks at each, and what both give is the same.

use graphtide_graph::batch::Bulk;
use graphtide_graph::key::{IdRef, Key, KeyRef, TextArena};
use graphtide_graph::symbol::Symbol;
use graphtide_graph::value::Value;

use super::header::Header;
use super::table::Table;
use crate::column::Column;
use crate::digits;
use crate::types::Projection;
use crate::writer::{Target, Writer};

/// Appends all lines to the batch, or none of them: then it returns false, and each needs a look of its own.
pub(super) fn write_all(
    table: Table<'_>,
    header: &Header,
    projection: &Projection,
    writer: &mut Writer,
    target: &mut Target<'_>,
) -> bool {
    let Some(bulk) = table.bulk(header, projection, writer, target) else { return false };
    writer.append(target, bulk, table.rows());
    true
}

impl Table<'_> {
    fn bulk(self, header: &Header, projection: &Projection, writer: &mut Writer, target: &mut Target<'_>) -> Option<Bulk> {
        let layout = &header.layout;
        let (rows, ordinal) = (self.count, writer.ordinal());
        let column = |column: Column| layout.get(column).map(|place| self.column(place));
        let latest = writer.latest();
        // Room first: what is collected into an option grows again and again.
        let mut ts = Vec::with_capacity(rows);
        for text in column(Column::Ts)? {
            ts.push(digits::integer(text).filter(|ts| *ts <= latest)?);
        }
        if let Some(mut operations) = column(Column::Operation)
            && !operations.all(|text| matches!(text, "" | "insert"))
        {
            return None;
        }
        for (place, kind) in layout.attributes.iter().zip(&projection.types).skip(projection.wanted) {
            if let Some(mut texts) = place.map(|place| self.column(place))
                && !texts.all(|text| kind.read(text).is_some())
            {
                return None;
            }
        }
        let text = target.batch.text_mut();
        let mut ends = vec![[Key::EMPTY; 2]; rows];
        if !layout.is_events {
            for (ends, (source, target)) in ends.iter_mut().zip(column(Column::Source)?.zip(column(Column::Target)?)) {
                *ends = [present(source, text)?, present(target, text)?];
            }
        }
        let made = |row: usize| IdRef::Made(ordinal + row as u64);
        let ids = match column(Column::Id) {
            None => (0..rows).map(|row| text.insert_id(made(row))).collect(),
            Some(ids) => ids.zip(0..).map(|(id, row)| present(id, text).unwrap_or_else(|| text.insert_id(made(row)))).collect(),
        };
        let width = projection.wanted;
        let mut attributes = vec![Value::Null; rows * width];
        for (column, (place, kind)) in layout.attributes.iter().zip(&projection.types).take(width).enumerate() {
            if let Some(place) = place {
                for (value, field) in attributes[column..].iter_mut().step_by(width).zip(self.column(*place)) {
                    *value = Value::store(kind.read(field)?, text);
                }
            }
        }
        let labels = self.labels(header, writer, target)?;
        Some(Bulk { ordinal, line: self.line, ts, ends, labels, streams: Vec::new(), ids, attributes })
    }

    /// The labels of source, edge and target; looked up row by row, since a table that is full knows those that came first.
    fn labels(self, header: &Header, writer: &mut Writer, target: &mut Target<'_>) -> Option<Vec<[Symbol; 3]>> {
        let layout = &header.layout;
        let [source, label, end] = [Column::SourceLabel, Column::Label, Column::TargetLabel].map(|column| layout.get(column));
        let default = if layout.is_events { Symbol::ABSENT } else { writer.label() };
        let mut symbol = |place: Option<usize>, row: usize| {
            place.map_or(Symbol::ABSENT, |place| writer.intern(self.field(row, place), target.symbols))
        };
        let mut labels = Vec::with_capacity(self.count);
        for row in 0..self.count {
            let label = Some(symbol(label, row)).filter(|label| *label != Symbol::ABSENT).unwrap_or(default);
            if label == Symbol::ABSENT {
                return None;
            }
            labels.push([symbol(source, row), label, symbol(end, row)]);
        }
        Some(labels)
    }
}

/// The key of a text; None if it is empty.
#[inline]
fn present(text: &str, arena: &mut TextArena) -> Option<Key> {
    (!text.is_empty()).then(|| arena.insert(KeyRef::parse(text)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fmt::Debug;

    use graphtide_graph::batch::{DeadLetter, EdgeBatch};
    use graphtide_graph::symbol::SharedSymbols;

    use crate::csv::CsvDecoder;
    use crate::decoder::{Decoder, Options};
    use crate::dialect::{Delimiter, Dialect};
    use crate::statement::{Source, open};
    use crate::surroundings::Surroundings;
    use crate::types::AttributeType;

    /// What is decoded of `input` in blocks of `step` bytes: rows as texts, and dead letters.
    fn decode(input: &[u8], step: usize, options: &Options) -> (Vec<String>, Vec<DeadLetter>) {
        let symbols = SharedSymbols::default();
        let mut decoder = CsvDecoder::new(options.clone(), Dialect::new(Delimiter::Byte(b',')), symbols.clone()).settling();
        decode_by(&mut decoder, &symbols, (input, step), options)
    }

    fn decode_by(
        decoder: &mut dyn Decoder,
        symbols: &SharedSymbols,
        (input, step): (&[u8], usize),
        options: &Options,
    ) -> (Vec<String>, Vec<DeadLetter>) {
        let (mut batch, mut dead) = (EdgeBatch::new(options.attributes.len()), Vec::new());
        for block in input.chunks(step) {
            decoder.feed(block, &mut batch, &mut dead).unwrap();
        }
        decoder.finish(&mut batch, &mut dead).unwrap();
        let show = |row| {
            let record = batch.row(row);
            let labels = batch.labels()[row].map(|label| symbols.lock().name(label).to_owned());
            format!("{record:?} {labels:?} {:?}", batch.attributes(row).collect::<Vec<_>>())
        };
        ((0..batch.len()).map(show).collect(), dead)
    }

    /// Options by which each record is read by itself: where lines may be comments, each is looked at.
    fn one_by_one(options: &Options) -> Options {
        Options { comment: "no line begins so".into(), ..options.clone() }
    }

    /// What a statement makes of `input`: rows and dead letters, and what is known of the stream.
    fn read(input: &[u8], step: usize, statement: &str, options: &Options) -> impl PartialEq + Debug + use<> {
        let symbols = SharedSymbols::default();
        let source = Source {
            definition: statement.as_bytes().to_vec(),
            format: "csv".to_owned(),
            dialect: Dialect::new(Delimiter::Byte(b',')),
            path: None,
            clocks: HashMap::default(),
            surroundings: Surroundings::default(),
            tables: Vec::new(),
        };
        let mut decoder = open(source, options.clone(), &symbols).unwrap();
        let rows = decode_by(decoder.as_mut(), &symbols, (input, step), options);
        let of_stream = (decoder.ordinal(), decoder.filtered(), decoder.has_ids(), decoder.has_operations());
        (rows, of_stream, decoder.has_zoneless_times())
    }

    /// Lines of pieces that are drawn by a seed; the more `faults`, the more of them are odd.
    fn lines(header: &str, seed: u64, faults: u64) -> Vec<u8> {
        let mut state = seed;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let plain: [&[u8]; 8] =
            [b"1", b"20", b"1767225600000", b"a", b"10.0.0.7", b"\xc3\xbc", b"insert", b"a longer text than sixteen"];
        let odd: [&[u8]; 10] =
            [b"", b"-5", b"007", b"delete", b"\"q\"", b"\"a,\nb\"", b"x\"y", b"\xff", b"\r", b"9999999999999999999"];
        let ends: [&[u8]; 5] = [b"\r\n", b"\n\n", b",\n", b"\r\r\n", b"\xc3\n"];
        let mut text = header.as_bytes().to_vec();
        text.push(b'\n');
        for _ in 0..40 {
            for number in 0..header.split(',').count() {
                text.extend_from_slice(if number > 0 { b"," } else { b"" });
                let is_odd = draw(1000) < faults as usize;
                // Times come first, and most are times.
                let most = if number == 0 { 3 } else { plain.len() };
                text.extend_from_slice(if is_odd { odd[draw(odd.len())] } else { plain[draw(most)] });
            }
            text.extend_from_slice(if draw(1000) < faults as usize { ends[draw(ends.len())] } else { b"\n" });
        }
        text
    }

    #[test]
    fn lines_at_once_give_what_each_gives_by_itself() {
        let declared = vec![("n".to_owned(), AttributeType::String), ("only".to_owned(), AttributeType::Integer)];
        let plain = Options { attributes: vec!["n".into(), "missing".into(), "m".into()], ..Options::default() };
        let all = [
            plain.clone(),
            Options { keep_raw: true, label: Some("edge".into()), ..plain.clone() },
            Options { declared, ..plain },
        ];
        let headers =
            ["ts,src,dst,label,n", "ts,dst,src,label,src_label,dst_label,id,op,m,n,only", "ts,type,n,id", "ts,src,dst,label"];
        for (options, header) in all.iter().flat_map(|options| headers.map(|header| (options, header))) {
            if options.declared.iter().any(|(name, _)| name == "only") && !header.contains("only") {
                continue;
            }
            for (seed, faults) in (0..24).flat_map(|seed| [0, 3, 30, 200].map(|faults| (seed, faults))) {
                let input = lines(header, seed, faults);
                for step in [1, 7, 64, 300, input.len()] {
                    let expected = decode(&input, step, &one_by_one(options));
                    assert_eq!(decode(&input, step, options), expected, "{header} {seed} {faults} {step}");
                }
            }
        }
    }

    /// Statements that read columns alone, and others that need a look at each record.
    const STATEMENTS: [&str; 8] = [
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}}, "unit": "ms"}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}, "unit": "s"}, "unit": "ms", "nulls": ["1", "-5"],
            "clauses": [{"gives": "edge", "source": {"value": {"is": "path", "steps": ["src"]}},
                "target": {"value": {"is": "path", "steps": ["dst"]}, "label": {"is": "path", "steps": ["n"]}},
                "label": {"is": "path", "steps": ["label"]}, "id": {"is": "path", "steps": ["id"]}}],
            "sets": [["n", {"is": "path", "steps": ["dst"]}], ["m", {"is": "constant", "value": "seven"}],
                ["missing", {"is": "path", "steps": ["m", "below"]}]]}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}, "unit": "auto"}, "unit": "us",
            "clauses": [{"gives": "event", "type": {"is": "path", "steps": ["label"]}}]}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}}, "unit": "s",
            "clauses": [{"gives": "event", "type": {"is": "constant", "value": "e"}}], "id": {"is": "path", "steps": ["dst"]},
            "sets": [["n", {"is": "constant", "value": 7}], ["m", {"is": "path", "steps": ["ts"]}]]}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}, "format": "%d.%m.%Y"}, "unit": "s",
            "clauses": [{"gives": "event", "type": {"is": "path", "steps": ["missing"]}}]}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}}, "unit": "ms",
            "clauses": [{"gives": "edge", "source": {"value": {"is": "path", "steps": ["src"]}},
                "target": {"value": {"is": "path", "steps": ["dst"]}}}],
            "where": {"is": "operator", "operator": ">", "operands": [{"is": "path", "steps": ["n"]}, {"is": "constant", "value": 1}]}}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}}, "unit": "ms",
            "clauses": [{"gives": "event", "type": {"is": "path", "steps": ["label"]}},
                {"gives": "event", "type": {"is": "constant", "value": "second"}}], "id": {"is": "path", "steps": ["src"]}}"#,
        r#"{"time": {"value": {"is": "path", "steps": ["ts"]}}, "unit": "ms", "id": {"is": "path", "steps": ["dst"]},
            "clauses": [{"gives": "event", "type": {"is": "path", "steps": ["label"]}}],
            "delete_where": {"is": "operator", "operator": "=", "operands": [{"is": "path", "steps": ["src"]}, {"is": "constant", "value": "a"}]},
            "sets": [["n", {"is": "call", "function": "length", "arguments": [{"is": "path", "steps": ["dst"]}]}]]}"#,
    ];

    #[test]
    fn a_statement_makes_of_lines_at_once_what_it_makes_of_each() {
        let plain = Options { attributes: vec!["n".into(), "missing".into(), "m".into()], ..Options::default() };
        let declared = vec![("n".to_owned(), AttributeType::Integer), ("id".to_owned(), AttributeType::String)];
        let all = [Options { keep_raw: true, ..plain.clone() }, Options { declared, ..plain }];
        let headers = ["ts,src,dst,label,n", "ts,dst,src,label,src_label,dst_label,id,op,m,n", "ts,type,n,id", "ts"];
        let cases = all.iter().flat_map(|options| headers.map(|header| (options, header)));
        for ((options, header), statement) in cases.flat_map(|case| STATEMENTS.map(|statement| (case, statement))) {
            for (seed, faults) in (0..3).flat_map(|seed| [0, 3, 30, 200].map(|faults| (seed, faults))) {
                let input = lines(header, seed, faults);
                for step in [1, 64, 300, input.len()] {
                    let expected = read(&input, step, statement, &one_by_one(options));
                    assert_eq!(read(&input, step, statement, options), expected, "{statement} {header} {seed} {faults} {step}");
                }
            }
        }
    }
}
