//! Rows a second of each decoder on one core, over records like those of a stream of network flows.
//!
//! `cargo run --release -p graphtide-decode --example rates`

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use graphtide_decode::{ArrowDecoder, CsvDecoder, DecodeError, Decoder, Delimiter, Dialect, JsonLinesDecoder, Options};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;

const ROWS: u64 = 1_000_000;
const BLOCK: usize = 1 << 20;
const LABELS: [&str; 5] = ["http", "tcp", "dns", "ssh", "icmp"];

/// A fixed sequence that looks random enough; no decoder branches on more than it.
fn scatter(row: u64) -> u64 {
    row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

fn addresses(row: u64) -> [String; 2] {
    [scatter(row), scatter(row + ROWS)].map(|n| format!("10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255))
}

fn csv(quote: &str) -> String {
    let mut text = String::from("ts,src,dst,label,src_label,dst_label,bytes,note\n");
    for row in 0..ROWS {
        let [src, dst] = addresses(row);
        let (label, bytes) = (LABELS[scatter(row) as usize % 5], scatter(row));
        let _ = writeln!(text, "{},{quote}{src}{quote},{quote}{dst}{quote},{label},ip,ip,{bytes},x", 1_684_963_000_000 + row);
    }
    text
}

fn options(attributes: &[&str]) -> Options {
    Options { attributes: attributes.iter().map(|name| (*name).to_owned()).collect(), ..Options::default() }
}

/// Best of three, each with its own decoder.
fn report(name: &str, mut run: impl FnMut() -> Result<usize, DecodeError>) -> Result<(), DecodeError> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        let rows = run()?;
        best = best.min(start.elapsed().as_secs_f64());
        assert_eq!(rows as u64, ROWS, "{name} lost rows");
    }
    let rate = ROWS as f64 / best / 1e6;
    let _ = writeln!(std::io::stdout(), "{name:<28} {rate:6.2} M rows/s");
    Ok(())
}

fn json() -> String {
    let mut text = String::new();
    for row in 0..ROWS {
        let [src, dst] = addresses(row);
        let (label, bytes) = (LABELS[scatter(row) as usize % 5], scatter(row));
        let ts = 1_684_963_000_000 + row;
        let _ = write!(text, r#"{{"ts":{ts},"src":"{src}","dst":"{dst}","label":"{label}","#);
        let _ = writeln!(text, r#""src_label":"ip","dst_label":"ip","bytes":{bytes},"note":"x"}}"#);
    }
    text
}

fn arrow(numeric: bool) -> Result<Vec<u8>, ArrowError> {
    let end = |side: usize| -> ArrayRef {
        if numeric {
            Arc::new((0..ROWS).map(|row| scatter(row + side as u64 * ROWS).cast_signed()).collect::<Int64Array>())
        } else {
            Arc::new((0..ROWS).map(|row| Some(addresses(row)[side].clone())).collect::<StringArray>())
        }
    };
    let labels = (0..ROWS).map(|row| LABELS[scatter(row) as usize % 5]);
    let labels: ArrayRef = if numeric {
        Arc::new(labels.collect::<DictionaryArray<Int32Type>>())
    } else {
        Arc::new(labels.map(Some).collect::<StringArray>())
    };
    let rows = RecordBatch::try_from_iter([
        ("ts", Arc::new((0..ROWS.cast_signed()).collect::<Int64Array>()) as ArrayRef),
        ("src", end(0)),
        ("dst", end(1)),
        ("label", labels),
        ("bytes", Arc::new((0..ROWS).map(|row| scatter(row).cast_signed()).collect::<Int64Array>())),
    ])?;
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema())?;
    for first in (0..rows.num_rows()).step_by(1 << 16) {
        writer.write(&rows.slice(first, (rows.num_rows() - first).min(1 << 16)))?;
    }
    writer.into_inner()
}

fn run(mut decoder: impl Decoder, blocks: &[u8], block: usize, width: usize) -> Result<usize, DecodeError> {
    let (mut rows, mut dead) = (0, Vec::new());
    for block in blocks.chunks(block) {
        let mut batch = EdgeBatch::new(width);
        decoder.feed(block, &mut batch, &mut dead)?;
        rows += batch.len();
    }
    Ok(rows)
}

fn run_csv(text: &str, attributes: &[&str], keep_raw: bool) -> Result<usize, DecodeError> {
    let options = Options { keep_raw, ..options(attributes) };
    let decoder = CsvDecoder::new(options, Dialect::new(Delimiter::Byte(b',')), SharedSymbols::default());
    run(decoder, text.as_bytes(), BLOCK, attributes.len())
}

fn run_json(text: &str, attributes: &[&str]) -> Result<usize, DecodeError> {
    run(JsonLinesDecoder::new(options(attributes), SharedSymbols::default()), text.as_bytes(), BLOCK, attributes.len())
}

fn run_arrow(bytes: &[u8], attributes: &[&str]) -> Result<usize, DecodeError> {
    let decoder = ArrowDecoder::new(options(attributes), 1000, SharedSymbols::default())?;
    run(decoder, bytes, bytes.len(), attributes.len())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (plain, quoted) = (csv(""), csv("\""));
    report("csv", || run_csv(&plain, &[], false))?;
    report("csv, an attribute", || run_csv(&plain, &["bytes"], false))?;
    report("csv, an attribute, raw bytes", || run_csv(&plain, &["bytes"], true))?;
    report("csv, quoted", || run_csv(&quoted, &["bytes"], false))?;
    let lines = json();
    report("json lines", || run_json(&lines, &[]))?;
    report("json lines, an attribute", || run_json(&lines, &["bytes"]))?;
    let (numbers, texts) = (arrow(true)?, arrow(false)?);
    report("arrow, integers", || run_arrow(&numbers, &["bytes"]))?;
    report("arrow, texts", || run_arrow(&texts, &["bytes"]))?;
    Ok(())
}
