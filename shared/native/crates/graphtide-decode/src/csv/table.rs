//! Lines of equally many fields as a table: one pass over the bytes finds where each field begins.
//!
//! Invariant: a table has the records that reading them one by one would give, each on a line of its own. So it ends before a
//! record with a line end between quotes, or with a quote that only stands for itself. Cost: a few instructions for each byte,
//! 64 of them at once. Where there are quotes, fields are copied once without them.

use graphtide_graph::value::ValueRef;
use graphtide_graph::{Time, digits};
use memchr::{memchr, memchr_iter};

use super::fields::Texts;
use crate::bulk::Records;
use crate::marks::{CHUNK, chunks};
use crate::splitter::WholeLines;
use crate::types::AttributeType;

/// What separates fields, what may be around them, and how many a line has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) delimiter: u8,
    /// The sign around fields, if it has a meaning.
    pub(super) quote: Option<u8>,
    pub(super) width: usize,
}

/// Places of fields, kept from text to text for their memory alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Where each field begins, behind them the end of the text, and room for more.
    starts: Vec<u32>,
    unquoted: Unquoted,
}

/// A text without the quotes around its fields. Each line ends with CRLF: only what stood between quotes ends with CR otherwise.
#[derive(Clone, Debug, Default)]
struct Unquoted {
    text: String,
    starts: Vec<u32>,
}

/// What a pass has seen of quotes.
#[derive(Clone, Copy, Debug, Default)]
struct Quotes {
    are_there: bool,
    /// Whether one may be doubled.
    are_doubled: bool,
}

impl Places {
    /// Finds the fields of the first lines. Fails if they are no table, with how many bytes are to be read one by one.
    pub(super) fn find<'t>(&'t mut self, lines: WholeLines<'t>, form: Form) -> Result<Table<'t>, usize> {
        let WholeLines { line, bytes } = lines;
        let width = form.width;
        let (quotes, found) = self.scan(bytes, form);
        let starts = &self.starts[..found];
        let is_line_end = |end: &u32| end.checked_sub(1).is_some_and(|last| bytes[last as usize] == b'\n');
        let ends = starts.iter().rposition(is_line_end).ok_or(1_usize)?;
        let text = WholeLines { line, bytes: &bytes[..starts[ends] as usize] }.text();
        let starts = &starts[..starts.partition_point(|start| *start as usize <= text.len())];
        // As many lines as there are end where they should, so no other does.
        let count = memchr_iter(b'\n', text.as_bytes()).count();
        let is_table = count > 0
            && starts.len() == count * width + 1
            && starts[1..].chunks_exact(width).all(|row| is_line_end(&row[width - 1]));
        if !is_table {
            return Err(text.len().max(1));
        }
        let unquoted = &mut self.unquoted;
        let raw = Raw { text, starts };
        let table = Table { text, starts, raw, line, width, count };
        match form.quote {
            Some(quote) if quotes.are_there => match unquoted.fill(table, quote, quotes.are_doubled) {
                0 => Err(1),
                count => Ok(Table { text: &unquoted.text, starts: &unquoted.starts, count, ..table }),
            },
            _ => Ok(table),
        }
    }

    /// Notes where fields begin, up to what no table has; returns how many places it has noted, the end of the last one included.
    fn scan(&mut self, bytes: &[u8], Form { delimiter, quote, .. }: Form) -> (Quotes, usize) {
        let mut found = Quotes::default();
        // The first start is the beginning: it is zero and stays so. What is behind those that are found is from texts before.
        let mut next = 1;
        // Whether the byte before a chunk stands between quotes, ends a field, or is a quote.
        let [mut is_inside, mut is_end, mut is_quote] = [false, true, false];
        for (number, chunk) in chunks(bytes).enumerate() {
            let mut ends = chunk.either(delimiter, b'\n');
            let quotes = quote.map_or(0, |quote| chunk.equal(quote));
            let mut is_odd = false;
            if quotes != 0 || is_inside {
                let inside = odd_places(quotes) ^ if is_inside { u64::MAX } else { 0 };
                let opening = quotes & inside;
                let feeds = inside & chunk.equal(b'\n');
                ends &= !inside;
                let behind_quotes = quotes << 1 | u64::from(is_quote);
                // A quote opens a field, or is the second of two.
                let odd = feeds | opening & !(ends << 1 | u64::from(is_end) | behind_quotes);
                found.are_there = true;
                found.are_doubled |= opening & behind_quotes != 0;
                is_odd = odd != 0;
                if is_odd {
                    ends &= (odd & odd.wrapping_neg()) - 1;
                }
                is_inside = inside >> 63 != 0;
            }
            next = self.take(ends, (number * CHUNK, next));
            if is_odd {
                break;
            }
            (is_end, is_quote) = (ends >> 63 != 0, quotes >> 63 != 0);
        }
        // The last chunk may be filled up with bytes that look like ends.
        while next > 1 && self.starts[next - 1] as usize > bytes.len() {
            next -= 1;
        }
        (found, next)
    }

    /// Notes the fields that begin behind these places of a chunk, which are set bits, at a place of the starts; returns the next.
    #[inline]
    fn take(&mut self, mut places: u64, (from, mut next): (usize, usize)) -> usize {
        if self.starts.len() < next + CHUNK {
            self.starts.resize(2 * (next + CHUNK), 0);
        }
        for start in &mut self.starts[next..] {
            if places == 0 {
                break;
            }
            *start = from as u32 + places.trailing_zeros() + 1;
            places &= places - 1;
            next += 1;
        }
        next
    }
}

/// The places with an odd number of set bits up to them.
#[inline]
fn odd_places(mut bits: u64) -> u64 {
    for distance in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << distance;
    }
    bits
}

impl Unquoted {
    /// Copies the fields of a table without the quotes around them. Returns how many lines it has copied: all, or those before
    /// one with text behind a closing quote.
    fn fill(&mut self, table: Table<'_>, quote: u8, are_doubled: bool) -> usize {
        let Self { text, starts } = self;
        text.clear();
        starts.clear();
        starts.push(0);
        for row in 0..table.count {
            for place in 0..table.width {
                let field = table.field(row, place);
                let sign = char::from(quote);
                match field.strip_prefix(sign).map(|inner| inner.strip_suffix(sign)) {
                    None => text.push_str(field),
                    Some(Some(inner)) if are_doubled => push_halved(text, inner, quote),
                    Some(Some(inner)) => text.push_str(inner),
                    Some(None) => return row,
                }
                text.push_str(if place + 1 == table.width { "\r\n" } else { "," });
                starts.push(text.len() as u32);
            }
        }
        table.count
    }
}

/// Appends a text with one quote for two.
fn push_halved(text: &mut String, mut rest: &str, quote: u8) {
    while let Some(place) = memchr(quote, rest.as_bytes()) {
        text.push_str(&rest[..=place]);
        rest = &rest[(place + 2).min(rest.len())..];
    }
    text.push_str(rest);
}

/// Lines as they came.
#[derive(Clone, Copy)]
struct Raw<'t> {
    text: &'t str,
    /// Where their fields begin.
    starts: &'t [u32],
}

/// Lines of equally many fields.
#[derive(Clone, Copy)]
pub(crate) struct Table<'t> {
    /// The fields, without the quotes around them.
    text: &'t str,
    starts: &'t [u32],
    raw: Raw<'t>,
    /// The line of the first.
    pub(crate) line: u64,
    /// Fields of a line.
    pub(crate) width: usize,
    /// How many lines there are.
    pub(crate) count: usize,
}

impl<'t> Table<'t> {
    /// How many bytes and how many lines it has.
    pub(super) fn extent(self) -> (usize, usize) {
        (self.raw.starts[self.count * self.width] as usize, self.count)
    }

    /// The text of a field.
    #[inline]
    pub(crate) fn field(self, row: usize, place: usize) -> &'t str {
        let at = row * self.width + place;
        let field = &self.text[self.starts[at] as usize..self.starts[at + 1] as usize - 1];
        if place + 1 == self.width { without_return(field) } else { field }
    }

    /// The bytes of a line as they came, without its end.
    #[inline]
    pub(crate) fn row(self, row: usize) -> &'t str {
        let line = |row: usize| self.raw.starts[row * self.width] as usize;
        without_return(&self.raw.text[line(row)..line(row + 1) - 1])
    }

    /// The fields of a line.
    #[inline]
    pub(crate) fn fields(self, row: usize) -> FieldsOfRow<'t> {
        let from = row * self.width;
        FieldsOfRow { text: self.text, starts: &self.starts[from..=from + self.width] }
    }

    /// The texts of the lines.
    pub(crate) fn rows(self) -> impl ExactSizeIterator<Item = &'t str> {
        (0..self.count).map(move |row| self.row(row))
    }
}

impl<'t> Records<'t> for Table<'t> {
    #[inline]
    fn count(self) -> usize {
        self.count
    }

    #[inline]
    fn line(self) -> u64 {
        self.line
    }

    #[inline]
    fn time(self, row: usize, place: usize) -> Option<Time> {
        match digits::unsigned(self.bytes(row, place)) {
            Some(number) => Some(number.cast_signed()),
            None => digits::integer(self.field(row, place)),
        }
    }

    #[inline]
    fn key(self, row: usize, place: usize) -> Option<&'t [u8]> {
        Some(self.bytes(row, place))
    }

    #[inline]
    fn has_texts(self, _: usize) -> bool {
        true
    }

    #[inline]
    fn text(self, row: usize, place: usize) -> &'t str {
        self.field(row, place)
    }

    #[inline]
    fn bytes(self, row: usize, place: usize) -> &'t [u8] {
        let at = row * self.width + place;
        let field = &self.text.as_bytes()[self.starts[at] as usize..self.starts[at + 1] as usize - 1];
        let is_last = place + 1 == self.width;
        if is_last { field.strip_suffix(b"\r").unwrap_or(field) } else { field }
    }

    #[inline]
    fn value(self, row: usize, place: usize, kind: AttributeType) -> Option<ValueRef<'t>> {
        kind.read(self.field(row, place))
    }

    #[inline]
    fn raw(self, row: usize) -> &'t str {
        self.row(row)
    }
}

/// The fields of one line.
#[derive(Clone, Copy)]
pub(crate) struct FieldsOfRow<'t> {
    text: &'t str,
    starts: &'t [u32],
}

impl Texts for FieldsOfRow<'_> {
    #[inline]
    fn text(&self, place: usize) -> &str {
        let field = &self.text[self.starts[place] as usize..self.starts[place + 1] as usize - 1];
        if place + 2 == self.starts.len() { without_return(field) } else { field }
    }
}

#[inline]
fn without_return(text: &str) -> &str {
    text.strip_suffix('\r').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fmt::Debug;

    use graphtide_graph::batch::{DeadLetter, EdgeBatch};
    use graphtide_graph::symbol::SharedSymbols;

    use super::*;
    use crate::csv::CsvDecoder;
    use crate::decoder::{Decoder, Options};
    use crate::dialect::{Delimiter, Dialect};
    use crate::statement::{Source, open};
    use crate::surroundings::Surroundings;

    #[test]
    fn places_are_odd_between_two_bits() {
        assert_eq!(odd_places(0b100_1010_0001 | 1 << 63), 0b011_1001_1111 | 1 << 63);
    }

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

    /// Numbers below a bound, by a seed.
    fn draw_by(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        }
    }

    /// Lines of pieces that are drawn by a seed; the more `faults`, the more of them are odd.
    fn lines(header: &str, seed: u64, faults: u64) -> Vec<u8> {
        let mut draw = draw_by(seed);
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

    /// Records whose fields have quotes around them or not, and of a hundred some with anything odd.
    fn quoted_lines(seed: u64, odd: usize) -> Vec<u8> {
        const PLAIN: [&[u8]; 9] =
            [b"a", b"7", b"\"b\"", b"\"8\"", b"\"c,d\"", b"\"\"", b"\"say \"\"e\"\"\"", b"\"\"\"\"", b"\"\xc3\xbc\r\""];
        const ODD: [&[u8]; 10] = [
            b"\"f\ng\"",
            b"h\"i",
            b"\"j\"k",
            b"\"l\"m\"n\"",
            b"\"\xff\"",
            b"\"o\"\r",
            b"",
            b"\"p",
            b"q\"\"",
            b"\"r\r\n\"\",\"s\"",
        ];
        let mut draw = draw_by(seed);
        let mut text = b"ts,src,dst,label,n\n".to_vec();
        for _ in 0..60 {
            text.extend_from_slice([&b"17"[..], b"\"18\""][draw(2)]);
            for _ in 0..4 {
                text.push(b',');
                text.extend_from_slice(if draw(100) < odd { ODD[draw(ODD.len())] } else { PLAIN[draw(PLAIN.len())] });
            }
            text.extend_from_slice([&b"\n"[..], b"\r\n"][draw(2)]);
        }
        text
    }

    /// Bytes that mean something, and few others.
    fn soup(seed: u64) -> Vec<u8> {
        const BYTES: &[u8] = b"\"\"\",,,\n\n\r17ab\xc3\xbc\xff";
        let mut draw = draw_by(seed);
        let rest = (0..300).map(|_| BYTES[draw(BYTES.len())]);
        b"ts,dst\n".iter().copied().chain(rest).collect()
    }

    #[test]
    fn quotes_at_once_give_what_they_give_in_each_record() {
        let plain = Options { attributes: vec!["n".into()], ..Options::default() };
        for options in [Options { keep_raw: true, ..plain.clone() }, plain] {
            for (seed, odd) in (0..20).flat_map(|seed| [0, 1, 5, 40].map(|odd| (seed, odd))) {
                let input = quoted_lines(seed, odd);
                for step in [1, 64, 300, input.len()] {
                    let expected = decode(&input, step, &one_by_one(&options));
                    assert_eq!(decode(&input, step, &options), expected, "{seed} {odd} {step}");
                }
            }
        }
    }

    #[test]
    fn any_bytes_at_once_give_what_they_give_one_by_one_wherever_a_block_ends() {
        let (statement, attributes) = (STATEMENTS[3], ["n", "missing", "m"].map(str::to_owned).to_vec());
        let options = Options { keep_raw: true, attributes, ..Options::default() };
        for seed in 0..150 {
            let input = soup(seed);
            let expected = read(&input, input.len(), statement, &one_by_one(&options));
            for step in [1, 5, 63, 64, 65, input.len()] {
                assert_eq!(read(&input, step, statement, &options), expected, "{seed} {step}");
            }
        }
        let input = quoted_lines(3, 5);
        let options = Options { attributes: vec!["n".into()], ..Options::default() };
        for border in 1..input.len() {
            assert_eq!(decode(&input, border, &options), decode(&input, border, &one_by_one(&options)), "{border}");
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
