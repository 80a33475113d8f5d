//! A batch of one stream as bytes, for another process or for later: nothing of it is lost, and reading is mostly copying. Of
//! which of several streams a record is, a block does not say.
//!
//! Labels and attributes travel by name, so that the reader's tables may differ from the writer's. The reader may move ordinals
//! on by what is known to come before; an id that was made of its record's ordinal moves with it. So records can be decoded
//! before it is known how many there were before them.
//!
//! Invariant: bytes that are not a block give an error, never a batch with a key outside its arena. Cost: O(bytes).

use std::collections::HashMap;

use thiserror::Error;

use super::{EdgeBatch, Operation};
use crate::key::{Key, MOST_CLAUSES, TextArena};
use crate::symbol::{Symbol, SymbolTable};
use crate::value::Value;

/// Number of the form; later ones are refused. The first did not distinguish a given id from one that was made of the same
/// ordinal: it is read as made. The third has ids that clauses made.
const FORM: u32 = 3;

/// The form of a batch without ids that clauses made, which earlier versions read, too.
const FORM_WITHOUT_CLAUSES: u32 = 2;

/// In place of an id that was made of the ordinal; less the number of the clause that made it, if one did.
const OWN_ORDINAL: u64 = u64::MAX;

/// Labels without a name have the first numbers of a block.
const NAMELESS: [Symbol; 2] = [Symbol::ABSENT, Symbol::OTHER];

/// Why bytes are not read as a block.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BlockError {
    /// Another version wrote it.
    #[error("the block has form {found}, this version reads {FORM}")]
    Form {
        /// Its form.
        found: u32,
    },
    /// It is cut off, or not what was written.
    #[error("the block is damaged")]
    Damaged,
}

/// Writes a batch whose values are called `names`.
pub fn pack(batch: &EdgeBatch, symbols: &SymbolTable, names: &[String]) -> Vec<u8> {
    let mut block = Vec::with_capacity(batch.len() * (96 + 9 * batch.width) + batch.text.bytes() + batch.raw.len());
    let has_clauses =
        (0..batch.len()).any(|row| batch.ids[row].clause_of(batch.ordinals[row]).is_some_and(|clause| clause > 0));
    block.extend_from_slice(&if has_clauses { FORM } else { FORM_WITHOUT_CLAUSES }.to_le_bytes());
    put_texts(&mut block, names.iter().map(String::as_str));
    let (labels, texts) = numbered(batch, symbols);
    put_texts(&mut block, texts.into_iter());
    put(&mut block, batch.ordinals.iter().map(|ordinal| ordinal.to_le_bytes()));
    put(&mut block, batch.lines.iter().map(|line| line.to_le_bytes()));
    put(&mut block, batch.ts.iter().map(|ts| ts.to_le_bytes()));
    put(&mut block, batch.operations.iter().map(|operation| [u8::from(*operation == Operation::Delete)]));
    put(&mut block, batch.ends.iter().flatten().map(|key| key.bits().to_le_bytes()));
    put(&mut block, labels.into_iter().map(u32::to_le_bytes));
    put(&mut block, (0..batch.len()).map(|row| id(batch, row).to_le_bytes()));
    put(&mut block, batch.attributes.iter().map(|value| tagged(*value)));
    put(&mut block, batch.raw_ends.iter().map(|end| (*end as u64).to_le_bytes()));
    put_bytes(&mut block, batch.text.text().as_bytes());
    put_bytes(&mut block, &batch.raw);
    block
}

/// Reads a batch; its values are those called `names`, others are left out, and its ordinals are moved on by `first`.
pub fn unpack(block: &[u8], symbols: &mut SymbolTable, names: &[String], first: u64) -> Result<EdgeBatch, BlockError> {
    let mut rest = Rest(block);
    let form = u32::from_le_bytes(rest.one()?);
    if !(1..=FORM).contains(&form) {
        return Err(BlockError::Form { found: form });
    }
    let own_names = rest.texts()?;
    let labels: Vec<Symbol> = NAMELESS.into_iter().chain(rest.texts()?.into_iter().map(|name| symbols.intern(name))).collect();
    let ordinals: Vec<u64> = rest.array()?.iter().map(|bytes| u64::from_le_bytes(*bytes).wrapping_add(first)).collect();
    let lines = rest.array()?.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let ts = rest.array()?.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
    let operations = rest.array()?.iter().map(|[bit]| if *bit == 0 { Operation::Insert } else { Operation::Delete }).collect();
    let ends = rest.array::<8>()?;
    let numbers = rest.array::<4>()?;
    let ids = rest.array::<8>()?;
    let values = rest.array::<9>()?;
    let raw_ends: Vec<usize> = rest.array()?.iter().map(|bytes| u64::from_le_bytes(*bytes) as usize).collect();
    let text = TextArena::with_text(std::str::from_utf8(rest.bytes()?).map_err(|_| BlockError::Damaged)?.to_owned());
    let raw = rest.bytes()?.to_vec();

    let key = |bits: u64| text.key(bits).filter(|key| !key.is_made()).ok_or(BlockError::Damaged);
    let ends: Vec<Key> = ends.iter().map(|bits| key(u64::from_le_bytes(*bits))).collect::<Result<_, _>>()?;
    let label = |bytes: &[u8; 4]| labels.get(u32::from_le_bytes(*bytes) as usize).copied().ok_or(BlockError::Damaged);
    let numbers: Vec<Symbol> = numbers.iter().map(label).collect::<Result<_, _>>()?;
    if values.len() != own_names.len() * ordinals.len() {
        return Err(BlockError::Damaged);
    }
    let own_values: Vec<Value> = values.iter().map(|bytes| value(bytes, &text)).collect::<Result<_, _>>()?;
    let ends = ends.as_chunks().0.to_vec();
    let has_events =
        ends.iter().zip(&operations).any(|(ends, &operation)| operation == Operation::Insert && ends[0].is_empty());
    let batch = EdgeBatch {
        width: names.len(),
        ids: ids_of(ids, &ordinals, &text)?,
        attributes: by_name(own_values, &own_names, names, ordinals.len()),
        ordinals,
        lines,
        ts,
        operations,
        ends,
        labels: numbers.as_chunks().0.to_vec(),
        streams: Vec::new(),
        text,
        raw_ends,
        raw,
        has_events,
    };
    if is_whole(&batch) { Ok(batch) } else { Err(BlockError::Damaged) }
}

/// The labels of all records by numbers of the block's own, and the names that these stand for.
fn numbered<'s>(batch: &EdgeBatch, symbols: &'s SymbolTable) -> (Vec<u32>, Vec<&'s str>) {
    let mut known: HashMap<Symbol, u32> = NAMELESS.into_iter().zip(0..).collect();
    let mut names = Vec::new();
    let numbers = batch.labels.iter().flatten().map(|symbol| {
        let next = known.len() as u32;
        *known.entry(*symbol).or_insert_with(|| {
            names.push(symbols.name(*symbol));
            next
        })
    });
    (numbers.collect(), names)
}

fn id(batch: &EdgeBatch, row: usize) -> u64 {
    batch.ids[row].clause_of(batch.ordinal(row)).map_or(batch.ids[row].bits(), |clause| OWN_ORDINAL - u64::from(clause))
}

fn ids_of(ids: &[[u8; 8]], ordinals: &[u64], text: &TextArena) -> Result<Vec<Key>, BlockError> {
    let ids = ids.iter().zip(ordinals).map(|(bytes, ordinal)| {
        let bits = u64::from_le_bytes(*bytes);
        match u8::try_from(OWN_ORDINAL - bits).ok().filter(|clause| *clause <= MOST_CLAUSES) {
            Some(clause) => Key::made(*ordinal, clause),
            None => text.key(bits),
        }
    });
    ids.collect::<Option<_>>().ok_or(BlockError::Damaged)
}

fn tagged(value: Value) -> [u8; 9] {
    let (tag, bits) = match value {
        Value::Null => (0, 0),
        Value::Bool(truth) => (1, u64::from(truth)),
        Value::Int(number) => (2, number.cast_unsigned()),
        Value::Float(number) => (3, number.to_bits()),
        Value::Text(key) => (4, key.bits()),
    };
    let mut bytes = [tag; 9];
    bytes[1..].copy_from_slice(&bits.to_le_bytes());
    bytes
}

fn value(bytes: &[u8; 9], text: &TextArena) -> Result<Value, BlockError> {
    let [tag, bits @ ..] = bytes;
    let bits = u64::from_le_bytes(*bits);
    Ok(match tag {
        0 => Value::Null,
        1 => Value::Bool(bits != 0),
        2 => Value::Int(bits.cast_signed()),
        3 => Some(f64::from_bits(bits)).filter(|number| !number.is_nan()).map(Value::Float).ok_or(BlockError::Damaged)?,
        4 => Value::Text(text.key(bits).ok_or(BlockError::Damaged)?),
        _ => return Err(BlockError::Damaged),
    })
}

/// The values of all records in the order of `names`; missing where the block has none of a name.
fn by_name(values: Vec<Value>, own: &[&str], names: &[String], records: usize) -> Vec<Value> {
    if own.iter().copied().eq(names.iter().map(String::as_str)) {
        return values;
    }
    let places: Vec<Option<usize>> = names.iter().map(|name| own.iter().position(|each| each == name)).collect();
    let value = |place: usize| values.get(place).copied().unwrap_or(Value::Null);
    let record = |row: usize| places.iter().map(move |place| place.map_or(Value::Null, |place| value(row * own.len() + place)));
    (0..records).flat_map(record).collect()
}

/// Whether every column has a part of every record, and the bytes of records follow each other.
fn is_whole(batch: &EdgeBatch) -> bool {
    let rows = batch.ts.len();
    let columns = [
        batch.ordinals.len(),
        batch.lines.len(),
        batch.operations.len(),
        batch.ends.len(),
        batch.labels.len(),
        batch.ids.len(),
        batch.raw_ends.len(),
    ];
    columns.iter().all(|&column| column == rows)
        && batch.attributes.len() == rows * batch.width
        && batch.raw_ends.is_sorted()
        && batch.raw_ends.last().copied().unwrap_or(0) == batch.raw.len()
}

fn put<const N: usize>(block: &mut Vec<u8>, values: impl Iterator<Item = [u8; N]>) {
    let start = block.len();
    block.extend_from_slice(&[0; 8]);
    values.for_each(|bytes| block.extend_from_slice(&bytes));
    let length = (block.len() - start - 8) as u64;
    block[start..start + 8].copy_from_slice(&length.to_le_bytes());
}

fn put_bytes(block: &mut Vec<u8>, bytes: &[u8]) {
    block.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    block.extend_from_slice(bytes);
}

fn put_texts<'t>(block: &mut Vec<u8>, texts: impl ExactSizeIterator<Item = &'t str>) {
    block.extend_from_slice(&(texts.len() as u32).to_le_bytes());
    texts.for_each(|text| put_bytes(block, text.as_bytes()));
}

/// What was not read yet.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    fn one<const N: usize>(&mut self) -> Result<[u8; N], BlockError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(BlockError::Damaged)?;
        self.0 = rest;
        Ok(*first)
    }

    fn bytes(&mut self) -> Result<&'b [u8], BlockError> {
        let length = u64::from_le_bytes(self.one()?) as usize;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(BlockError::Damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<&'b [[u8; N]], BlockError> {
        let (whole, rest) = self.bytes()?.as_chunks();
        if rest.is_empty() { Ok(whole) } else { Err(BlockError::Damaged) }
    }

    fn texts(&mut self) -> Result<Vec<&'b str>, BlockError> {
        let count = u32::from_le_bytes(self.one()?);
        (0..count).map(|_| std::str::from_utf8(self.bytes()?).map_err(|_| BlockError::Damaged)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Row;
    use crate::key::{IdRef, KeyRef};
    use crate::value::ValueRef;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(ToString::to_string).collect()
    }

    fn example(symbols: &mut SymbolTable) -> EdgeBatch {
        let mut batch = EdgeBatch::new(3);
        let http = symbols.intern("http");
        let own = Row {
            ordinal: 4,
            line: 7,
            ts: -5,
            operation: Operation::Insert,
            source: KeyRef::parse("10.0.0.7"),
            target: KeyRef::parse("42"),
            label: http,
            source_label: Symbol::ABSENT,
            target_label: Symbol::OTHER,
            stream: Symbol::ABSENT,
            id: IdRef::Made(4),
            raw: b"raw bytes",
        };
        batch.push(&own, [ValueRef::Text("S0"), ValueRef::Int(-3), ValueRef::Null]);
        let named =
            Row { ordinal: 6, operation: Operation::Delete, id: IdRef::Given(KeyRef::parse("e\u{fc}")), raw: b"", ..own };
        batch.push(&named, [ValueRef::Null, ValueRef::Float(0.5), ValueRef::Bool(true)]);
        batch
    }

    #[test]
    fn ids_that_clauses_made_move_with_their_ordinals_and_need_a_later_form() {
        let mut symbols = SymbolTable::default();
        let mut batch = example(&mut symbols);
        let named = names(&["a", "b", "c"]);
        assert_eq!(pack(&batch, &symbols, &named)[..4], 2_u32.to_le_bytes());
        for clause in [1, MOST_CLAUSES] {
            batch.push(&Row { id: IdRef::made(6, clause), ..batch.clone().row(1) }, []);
        }
        let block = pack(&batch, &symbols, &named);
        assert_eq!(block[..4], 3_u32.to_le_bytes());
        let read = unpack(&block, &mut symbols, &[], 10).unwrap();
        let ids: Vec<_> = (0..read.len()).map(|row| read.id(row).to_string()).collect();
        assert_eq!((ids, read.id(0).is_made()), (["14", "e\u{fc}", "16#1", "16#64"].map(str::to_owned).to_vec(), true));
    }

    #[test]
    fn a_block_gives_back_the_batch_with_its_ordinals_moved() {
        let (mut here, mut there) = (SymbolTable::default(), SymbolTable::default());
        there.intern("tcp");
        let batch = example(&mut here);
        let block = pack(&batch, &here, &names(&["a", "b", "c"]));

        let read = unpack(&block, &mut there, &names(&["c", "d", "a"]), 100).unwrap();

        let (first, second) = (read.row(0), read.row(1));
        assert_eq!((first.ordinal, first.id, first.line, first.ts), (104, IdRef::Made(104), 7, -5));
        assert_eq!((first.source, first.target, first.raw), (KeyRef::Text("10.0.0.7"), KeyRef::Number(42), &b"raw bytes"[..]));
        assert_eq!(
            (second.ordinal, second.id, second.operation),
            (106, IdRef::Given(KeyRef::Text("e\u{fc}")), Operation::Delete)
        );
        assert_eq!((there.name(first.label), first.source_label, first.target_label), ("http", NAMELESS[0], NAMELESS[1]));
        assert_eq!(read.attributes(0).collect::<Vec<_>>(), [ValueRef::Null, ValueRef::Null, ValueRef::Text("S0")]);
        assert_eq!(read.attributes(1).collect::<Vec<_>>(), [ValueRef::Bool(true), ValueRef::Null, ValueRef::Null]);
        let bare = unpack(&pack(&batch.bare(&[]), &here, &[]), &mut there, &names(&["a"]), 0).unwrap();
        assert_eq!(bare.attributes(1).collect::<Vec<_>>(), [ValueRef::Null]);
    }

    #[test]
    fn a_block_that_is_cut_off_or_of_another_form_is_refused() {
        let mut symbols = SymbolTable::default();
        let block = pack(&example(&mut symbols), &symbols, &names(&["a", "b", "c"]));
        for length in 0..block.len() {
            assert_eq!(unpack(&block[..length], &mut symbols, &[], 0).err(), Some(BlockError::Damaged), "{length}");
        }
        let other = [&9_u32.to_le_bytes()[..], &block[4..]].concat();
        assert_eq!(unpack(&other, &mut symbols, &[], 0).err(), Some(BlockError::Form { found: 9 }));
    }

    #[test]
    fn a_damaged_block_is_refused_or_read_as_another_but_never_breaks_its_reader() {
        let mut symbols = SymbolTable::default();
        let block = pack(&example(&mut symbols), &symbols, &names(&["a", "b", "c"]));
        for place in 0..block.len() {
            let mut damaged = block.clone();
            damaged[place] ^= 0x55;
            if let Ok(read) = unpack(&damaged, &mut symbols, &names(&["a", "c"]), 0) {
                (0..read.len()).for_each(|row| _ = (read.row(row), read.attributes(row).count()));
            }
        }
    }

    #[test]
    fn a_block_with_a_number_that_is_none_is_refused() {
        let mut symbols = SymbolTable::default();
        let mut block = pack(&example(&mut symbols), &symbols, &names(&["a", "b", "c"]));
        let place = block.windows(8).position(|bytes| bytes == 0.5_f64.to_le_bytes()).unwrap();
        block[place..place + 8].copy_from_slice(&f64::NAN.to_le_bytes());
        assert_eq!(unpack(&block, &mut symbols, &names(&["b"]), 0).err(), Some(BlockError::Damaged));
    }

    #[test]
    fn narrowing_keeps_labels_and_columns_that_are_asked_for_and_every_deletion() {
        let mut symbols = SymbolTable::default();
        let batch = example(&mut symbols);
        let narrow = batch.narrowed(Some(&[symbols.intern("tcp")]), &[1]);
        assert_eq!((narrow.len(), narrow.width(), narrow.row(0).operation), (1, 1, Operation::Delete));
        assert_eq!(narrow.attributes(0).collect::<Vec<_>>(), [ValueRef::Float(0.5)]);
        assert_eq!((batch.narrowed(None, &[]).len(), batch.bare(&[]).width()), (2, 0));
        assert_eq!((batch.bare(&[]).raw(0), batch.bare(&[]).id(1)), (&b""[..], batch.id(1)));
    }
}
