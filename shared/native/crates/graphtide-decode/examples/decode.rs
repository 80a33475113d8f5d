//! Decodes a stream in blocks, for counting instructions: `decode FORMAT STREAM [DEFINITION]`.
//!
//! FORMAT is `csv` or `jsonl`; without the file of a definition records have columns of their own. Prints how many records and
//! dead letters there were.

use std::collections::HashMap;
use std::error::Error;
use std::fs;

use graphtide_decode::statement::{Source, open};
use graphtide_decode::surroundings::Surroundings;
use graphtide_decode::{CsvDecoder, DeadLetter, DecodeError, Decoder, Delimiter, Dialect, JsonLinesDecoder, Options};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;

const BLOCK: usize = 256 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, stream, definition @ ..] = arguments.as_slice() else {
        return Err("decode FORMAT STREAM [DEFINITION]".into());
    };
    let options = Options { attributes: vec!["amount".to_owned(), "note".to_owned()], ..Options::default() };
    let (symbols, dialect) = (SharedSymbols::default(), Dialect::new(Delimiter::Byte(b',')));
    let mut decoder: Box<dyn Decoder> = match (definition, format.as_str()) {
        ([file, ..], _) => {
            let (format, clocks) = (format.clone(), HashMap::new());
            open(
                Source {
                    definition: fs::read(file)?,
                    format,
                    dialect,
                    path: None,
                    clocks,
                    surroundings: Surroundings::default(),
                    tables: Vec::new(),
                },
                options,
                &symbols,
            )?
        }
        ([], "csv") => Box::new(CsvDecoder::new(options, dialect, symbols)),
        ([], _) => Box::new(JsonLinesDecoder::new(options, symbols)),
    };
    let (mut records, mut dead) = (0, Vec::new());
    // As readers do it: a batch for each block.
    for block in fs::read(stream)?.chunks(BLOCK) {
        let mut batch = EdgeBatch::new(2);
        decode_block(decoder.as_mut(), block, &mut batch, &mut dead)?;
        records += batch.len();
    }
    let mut batch = EdgeBatch::new(2);
    decoder.finish(&mut batch, &mut dead)?;
    #[expect(clippy::print_stdout, reason = "that is what it is for")]
    {
        println!("{} {}", records + batch.len(), dead.len());
    }
    Ok(())
}

/// What is counted.
#[inline(never)]
fn decode_block(
    decoder: &mut dyn Decoder,
    block: &[u8],
    batch: &mut EdgeBatch,
    dead: &mut Vec<DeadLetter>,
) -> Result<(), DecodeError> {
    decoder.feed(block, batch, dead)
}
