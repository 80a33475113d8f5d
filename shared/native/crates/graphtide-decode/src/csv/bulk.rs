//! Decodes lines without quotes and without faults, a column at a time.
//!
//! One pass over the text finds its fields; then a column costs one loop. Lines with anything else among them (a fault, another
//! number of fields, a deletion, an empty line) are left to the way record by record. That looks at each, and what both give is
//! the same.

use graphtide_graph::batch::Bulk;
use graphtide_graph::key::{IdRef, Key, KeyRef, TextArena};
use graphtide_graph::symbol::Symbol;
use graphtide_graph::value::Value;

use super::header::Header;
use crate::column::Column;
use crate::digits;
use crate::splitter::PlainLines;
use crate::types::Projection;
use crate::writer::{Target, Writer};

/// Places of fields, kept from text to text for their memory alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// Where each field begins, and behind them the end of the text.
    starts: Vec<u32>,
}

impl Columns {
    /// Appends all lines to the batch, or none of them: then it returns false, and each needs a look of its own.
    pub(super) fn write_all(
        &mut self,
        lines: PlainLines<'_>,
        delimiter: u8,
        (header, projection): (&Header, &Projection),
        writer: &mut Writer,
        target: &mut Target<'_>,
    ) -> bool {
        let width = header.columns.len();
        if !self.find(lines, delimiter, width) {
            return false;
        }
        let table = Table { text: lines.text, starts: &self.starts, width, rows: lines.count };
        let Some(bulk) = table.bulk(lines.line, header, projection, writer, target) else { return false };
        target.batch.append(bulk);
        if writer.keep_raw {
            target.batch.give_raw(table.rows().map(str::as_bytes));
        }
        writer.start_at(writer.ordinal() + lines.count as u64);
        true
    }

    /// Finds all fields; returns whether each line has so many.
    fn find(&mut self, lines: PlainLines<'_>, delimiter: u8, width: usize) -> bool {
        let text = lines.text.as_bytes();
        self.starts.clear();
        self.starts.reserve(lines.count * width + 1);
        self.starts.push(0);
        let (chunks, rest) = text.as_chunks::<CHUNK>();
        for (number, chunk) in chunks.iter().enumerate() {
            self.take(ends_in(chunk, delimiter), number * CHUNK);
        }
        let mut last = [0; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        self.take(ends_in(&last, delimiter), chunks.len() * CHUNK);
        // As many lines as are counted end where they should, so no other does.
        self.starts.len() == lines.count * width + 1
            && self.starts[1..].chunks_exact(width).all(|line| text[line[width - 1] as usize - 1] == b'\n')
    }

    /// Notes the fields that begin behind these places of a chunk, which are set bits.
    #[inline]
    fn take(&mut self, mut places: u64, from: usize) {
        while places != 0 {
            self.starts.push(from as u32 + places.trailing_zeros() + 1);
            places &= places - 1;
        }
    }
}

/// Bytes whose places are bits of a number.
const CHUNK: usize = 64;

/// Where fields end in a chunk: a bit for each byte.
#[inline]
fn ends_in(chunk: &[u8; CHUNK], delimiter: u8) -> u64 {
    let ends = chunk.map(|byte| u8::from(byte == delimiter || byte == b'\n'));
    let (words, _) = ends.as_chunks::<8>();
    // Multiplied so, the bits of eight bytes meet in the highest one.
    let eight = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    words.iter().rev().fold(0, |bits, word| bits << 8 | eight(word))
}

/// Lines of equally many fields.
#[derive(Clone, Copy)]
struct Table<'t> {
    text: &'t str,
    starts: &'t [u32],
    width: usize,
    rows: usize,
}

impl<'t> Table<'t> {
    fn bulk(
        self,
        line: u64,
        header: &Header,
        projection: &Projection,
        writer: &mut Writer,
        target: &mut Target<'_>,
    ) -> Option<Bulk> {
        let layout = &header.layout;
        let (rows, ordinal) = (self.rows, writer.ordinal());
        let column = |column: Column| layout.get(column).map(|place| self.column(place));
        let latest = writer.latest();
        let time = |text: &str| digits::integer(text).filter(|ts| *ts <= latest);
        let ts = column(Column::Ts)?.map(time).collect::<Option<Vec<_>>>()?;
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
        let ends = if layout.is_events {
            vec![[Key::EMPTY; 2]; rows]
        } else {
            let ends = column(Column::Source)?.zip(column(Column::Target)?);
            ends.map(|(source, target)| Some([present(source, text)?, present(target, text)?])).collect::<Option<_>>()?
        };
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
        Some(Bulk { ordinal, line, ts, ends, labels, streams: Vec::new(), ids, attributes })
    }

    /// The labels of source, edge and target; looked up row by row, since a table that is full knows those that came first.
    fn labels(self, header: &Header, writer: &mut Writer, target: &mut Target<'_>) -> Option<Vec<[Symbol; 3]>> {
        let layout = &header.layout;
        let [source, label, end] = [Column::SourceLabel, Column::Label, Column::TargetLabel].map(|column| layout.get(column));
        let default = if layout.is_events { Symbol::ABSENT } else { writer.label() };
        let mut symbol = |place: Option<usize>, row: usize| {
            place.map_or(Symbol::ABSENT, |place| writer.intern(self.field(row, place), target.symbols))
        };
        let of_row = |row| {
            let label = Some(symbol(label, row)).filter(|label| *label != Symbol::ABSENT).unwrap_or(default);
            (label != Symbol::ABSENT).then(|| [symbol(source, row), label, symbol(end, row)])
        };
        (0..self.rows).map(of_row).collect()
    }

    /// The texts of a column.
    #[inline]
    fn column(self, place: usize) -> impl ExactSizeIterator<Item = &'t str> {
        (0..self.rows).map(move |row| self.field(row, place))
    }

    #[inline]
    fn field(self, row: usize, place: usize) -> &'t str {
        let at = row * self.width + place;
        let field = &self.text[self.starts[at] as usize..self.starts[at + 1] as usize - 1];
        if place + 1 == self.width { without_return(field) } else { field }
    }

    /// The texts of the lines.
    fn rows(self) -> impl ExactSizeIterator<Item = &'t str> {
        let line = move |row: usize| self.starts[row * self.width] as usize;
        (0..self.rows).map(move |row| without_return(&self.text[line(row)..line(row + 1) - 1]))
    }
}

#[inline]
fn without_return(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

/// The key of a text; None if it is empty.
#[inline]
fn present(text: &str, arena: &mut TextArena) -> Option<Key> {
    (!text.is_empty()).then(|| arena.insert(KeyRef::parse(text)))
}

#[cfg(test)]
mod tests {
    use graphtide_graph::batch::{DeadLetter, EdgeBatch};
    use graphtide_graph::symbol::SharedSymbols;

    use super::*;
    use crate::csv::CsvDecoder;
    use crate::decoder::{Decoder, Options};
    use crate::dialect::{Delimiter, Dialect};
    use crate::types::AttributeType;

    /// What is decoded of `input` in blocks of `step` bytes: rows as texts, and dead letters.
    fn decode(input: &[u8], step: usize, options: &Options) -> (Vec<String>, Vec<DeadLetter>) {
        let symbols = SharedSymbols::default();
        let mut decoder = CsvDecoder::new(options.clone(), Dialect::new(Delimiter::Byte(b',')), symbols.clone()).settling();
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

    /// The same record by record: where lines may be comments, each is looked at.
    fn decode_one_by_one(input: &[u8], step: usize, options: &Options) -> (Vec<String>, Vec<DeadLetter>) {
        decode(input, step, &Options { comment: "no line begins so".into(), ..options.clone() })
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
                    let expected = decode_one_by_one(&input, step, options);
                    assert_eq!(decode(&input, step, options), expected, "{header} {seed} {faults} {step}");
                }
            }
        }
    }

    #[test]
    fn places_of_ends_are_those_of_the_bytes() {
        for place in 0..CHUNK {
            let mut chunk = [b'x'; CHUNK];
            chunk[place] = b',';
            chunk[(place + 9) % CHUNK] = b'\n';
            assert_eq!(ends_in(&chunk, b','), 1 << place | 1 << ((place + 9) % CHUNK));
        }
    }
}
