//! What the targets share: a decoder's answer to a stream, whole, in a form that can be compared.

use graphtide_decode::{AttributeType, DeadLetter, DecodeError, Decoder};
use graphtide_graph::batch::EdgeBatch;
use graphtide_graph::symbol::SharedSymbols;

/// Names of the attributes that targets decode.
pub const ATTRIBUTES: [&str; 2] = ["amount", "note"];

/// What is declared of attributes, decoded or not, by some bits of an input: nothing, one of the types, or a name that has
/// none.
pub fn declared(bits: u8) -> Vec<(String, AttributeType)> {
    let names = [ATTRIBUTES[0], ATTRIBUTES[1], "more"];
    let types = names.iter().zip([bits & 7, bits >> 3 & 7, bits >> 6]);
    types.filter_map(|(name, kind)| Some(((*name).to_owned(), *AttributeType::DECLARED.get(usize::from(kind))?))).collect()
}

/// What came of a stream: its records, its dead letters, and what refused it.
pub type Answer = (Vec<String>, Vec<DeadLetter>, Option<DecodeError>);

/// Decodes a stream that comes in blocks of these sizes, again and again.
pub fn answer(mut decoder: impl Decoder, symbols: &SharedSymbols, stream: &[u8], sizes: &[usize]) -> Answer {
    answer_of(&mut decoder, symbols, stream, sizes)
}

/// The same of a decoder of any format.
pub fn answer_of(decoder: &mut dyn Decoder, symbols: &SharedSymbols, stream: &[u8], sizes: &[usize]) -> Answer {
    let (mut batch, mut dead) = (EdgeBatch::new(ATTRIBUTES.len()), Vec::new());
    let mut rest = stream;
    let mut refused = None;
    for size in sizes.iter().cycle() {
        if rest.is_empty() || refused.is_some() {
            break;
        }
        let (block, after) = rest.split_at((*size).clamp(1, rest.len()));
        refused = decoder.feed(block, &mut batch, &mut dead).err();
        rest = after;
    }
    if refused.is_none() {
        refused = decoder.finish(&mut batch, &mut dead).err();
    }
    (records(&batch, symbols), dead, refused)
}

/// Everything that a batch says of its records.
pub fn records(batch: &EdgeBatch, symbols: &SharedSymbols) -> Vec<String> {
    let symbols = symbols.lock();
    (0..batch.len())
        .map(|place| {
            let row = batch.row(place);
            let labels = [row.source_label, row.label, row.target_label].map(|label| symbols.name(label));
            let values: Vec<_> = batch.attributes(place).collect();
            format!("{row:?} {labels:?} {values:?}")
        })
        .collect()
}

/// Sizes of blocks and what is [`declared`], from the first bytes of an input, and the rest of it.
pub fn emitted(input: &[u8]) -> Option<([usize; 3], Vec<(String, AttributeType)>, &[u8])> {
    let (sizes, rest) = input.split_first_chunk::<3>()?;
    let (bits, rest) = rest.split_first()?;
    Some((sizes.map(|byte| usize::from(byte) + 1), declared(*bits), rest))
}
