//! Lines of JSON that are written alike, as a table: one pass over the bytes finds quotes and line ends, and so every value.
//!
//! Most streams have one writer. Its lines have the same keys in the same order with the same blanks, and only values differ. The
//! *frame*, all that is around values, is learnt of one line and compared in those that follow.
//!
//! Invariant: a table has what [`Keys::flat`] reads of each of its lines, which are flat objects without escapes.
//! Cost: a few instructions for each byte, 64 of them at once, and some twenty for each value.

use graphtide_graph::value::ValueRef;
use graphtide_graph::{Time, digits};

use crate::bulk::Records;
use crate::column::Column;
use crate::columns::Layout;
use crate::json_record::flat::{Closed, bare};
use crate::json_record::{Keys, Meaning};
use crate::marks::{CHUNK, chunks};
use crate::types::AttributeType;

/// Lines that are written alike, among others; its memory is kept from text to text.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlikeLines {
    /// Where quotes, escapes and controls are, line ends among them; how many there are, and room for more.
    marks: Vec<u32>,
    found: usize,
    /// The first of them that is not passed yet, and the first one behind the last table.
    next: usize,
    behind: usize,
    /// Where the values of each line are, and behind them where the line is.
    values: Vec<[u32; 2]>,
    frame: Option<Frame>,
}

/// What a line has around its values.
#[derive(Clone, Debug)]
struct Frame {
    members: Vec<Member>,
    /// What closes the line.
    end: Closed,
    /// How many marks a line has: its quotes and its end.
    marks: usize,
    layout: Layout,
}

/// A key, with all that is between the value before it and its own.
#[derive(Clone, Debug)]
struct Member {
    text: Closed,
    /// Which mark of a line begins the key, and how many bytes of the text come before it.
    mark: usize,
    before: usize,
    /// Whether the value is a text.
    is_text: bool,
    /// Whether anybody reads the value.
    is_read: bool,
}

impl AlikeLines {
    /// Begins with a text of whole lines.
    pub(crate) fn begin(&mut self, text: &str) {
        self.next = 0;
        let mut found = 0;
        for (number, chunk) in chunks(text.as_bytes()).enumerate() {
            let mut places = chunk.quotes_and_odd();
            if self.marks.len() < found + CHUNK {
                self.marks.resize(2 * (found + CHUNK), 0);
            }
            for mark in &mut self.marks[found..] {
                if places == 0 {
                    break;
                }
                *mark = (number * CHUNK) as u32 + places.trailing_zeros();
                places &= places - 1;
                found += 1;
            }
        }
        // The last chunk is filled up with bytes that are odd.
        self.found = self.marks[..found].partition_point(|mark| (*mark as usize) < text.len());
    }

    /// The next lines that are written alike; None if the next one is not flat. It begins at a place of the text.
    pub(crate) fn table<'t>(&'t mut self, text: &'t str, (from, line): (usize, u64), keys: &mut Keys) -> Option<JsonTable<'t>> {
        let Self { marks, found, next, behind, values, frame } = self;
        let marks = marks.get(*next..*found)?;
        let mut count = frame.as_ref().map_or(0, |frame| frame.count(text, from, marks, values));
        if count == 0 {
            *frame = Frame::learn(text, from, marks, keys);
            count = frame.as_ref()?.count(text, from, marks, values);
        }
        let frame = frame.as_ref().filter(|_| count > 0)?;
        *behind = *next + count * frame.marks;
        Some(JsonTable { text, values, frame, line, count })
    }

    /// Passes the last table.
    pub(crate) fn pass_table(&mut self) {
        self.next = self.behind;
    }

    /// Passes a line.
    pub(crate) fn pass_line(&mut self, text: &str) {
        let rest = self.marks.get(self.next..self.found).unwrap_or_default();
        let end = rest.iter().position(|mark| text.as_bytes()[*mark as usize] == b'\n');
        self.next += end.map_or(rest.len(), |end| end + 1);
    }
}

impl Frame {
    /// Learns of the line that begins at a place; None if it is not a flat object, or an empty one.
    fn learn(text: &str, from: usize, marks: &[u32], keys: &mut Keys) -> Option<Self> {
        let bytes = text.as_bytes();
        let length = marks.iter().position(|mark| bytes[*mark as usize] == b'\n')? + 1;
        let line = text.get(from..marks[length - 1] as usize)?;
        let quotes: Vec<usize> = marks[..length].iter().map(|mark| *mark as usize - from).collect();
        if !keys.flat(line, &mut keys.no_fields()) {
            return None;
        }
        let (mut members, mut meanings) = (Vec::new(), Vec::new());
        let (mut end, mut mark) = (0, 0);
        // The line is flat: quotes are around keys and around texts.
        while mark + 1 < length {
            let (key, closing) = (quotes[mark], quotes[mark + 1]);
            let name = line.get(key + 1..closing)?;
            let value = closing + 1 + line.get(closing + 1..)?.find(|byte| !matches!(byte, ' ' | ':'))?;
            let is_text = line.as_bytes()[value] == b'"';
            let begin = value + usize::from(is_text);
            let meaning = keys.find(name);
            let text = Closed::new(line.get(end..begin)?.to_owned());
            members.push(Member { text, mark, before: key - end, is_text, is_read: false });
            mark += if is_text { 4 } else { 2 };
            let next = *quotes.get(mark)?;
            end = if is_text { quotes[mark - 1] } else { begin + line.get(begin..next)?.rfind([',', '}'])? };
            meanings.push(meaning);
        }
        if members.is_empty() {
            return None;
        }
        let layout = layout(&meanings, keys)?;
        for place in layout.columns.iter().chain(&layout.attributes).flatten() {
            members[*place].is_read = true;
        }
        Some(Self { members, end: Closed::new(line.get(end..)?.to_owned()), marks: length, layout })
    }

    /// Counts the lines from a place on that have this frame, and notes where their values are.
    fn count(&self, text: &str, mut from: usize, marks: &[u32], values: &mut Vec<[u32; 2]>) -> usize {
        values.clear();
        for (row, marks) in marks.chunks_exact(self.marks).enumerate() {
            let Some(end) = self.find(text, from, marks, values) else {
                values.truncate(row * (self.members.len() + 1));
                return row;
            };
            from = end;
        }
        marks.len() / self.marks
    }

    /// Finds the values of a line; returns where the next line begins, or None if the line has another frame.
    #[inline]
    fn find(&self, text: &str, from: usize, marks: &[u32], values: &mut Vec<[u32; 2]>) -> Option<usize> {
        let bytes = text.as_bytes();
        let first = values.len();
        for member in &self.members {
            let start = (marks[member.mark] as usize).checked_sub(member.before)?;
            if !member.text.begins(bytes.get(start..)?) {
                return None;
            }
            if let Some([_, end]) = values[first..].last_mut() {
                *end = start as u32;
            } else if start != from {
                return None;
            }
            let begin = (start + member.text.len()) as u32;
            values.push([begin, begin]);
        }
        let last = *marks.last()? as usize;
        let start = last.checked_sub(self.end.len())?;
        if bytes[last] != b'\n' || !self.end.begins(&bytes[start..]) {
            return None;
        }
        if let Some([_, end]) = values[first..].last_mut() {
            *end = start as u32;
        }
        for (member, [begin, end]) in self.members.iter().zip(&values[first..]) {
            if begin > end || (!member.is_read && !member.is_text && !is_bare(text.get(*begin as usize..*end as usize)?)) {
                return None;
            }
        }
        values.push([from as u32, last as u32]);
        Some(last + 1)
    }
}

/// Where the wanted columns are among members; None if they are to be read one by one.
fn layout(meanings: &[Meaning], keys: &Keys) -> Option<Layout> {
    let mut layout = Layout { attributes: vec![None; keys.attributes()], ..Layout::default() };
    for (place, meaning) in meanings.iter().enumerate() {
        if let Some(column) = meaning.column {
            layout.columns[column as usize] = Some(place);
        }
        if let Some(attribute) = meaning.attribute {
            layout.attributes[attribute] = Some(place);
        }
    }
    let kind = layout.columns[Column::Type as usize].take();
    layout.is_events = kind.is_some() && Column::OF_EDGES.iter().all(|column| layout.get(*column).is_none());
    if layout.is_events {
        layout.columns[Column::Label as usize] = kind;
        // A vertex of an event is read, though nothing comes of it.
        if [Column::SourceLabel, Column::TargetLabel].iter().any(|column| layout.get(*column).is_some()) {
            return None;
        }
    }
    Some(layout)
}

/// The number of a value that is an integer without a sign, as most are.
#[inline]
fn whole(value: &[u8]) -> Option<u64> {
    digits::unsigned(value).filter(|_| value[0] != b'0' || value.len() == 1)
}

#[inline]
fn is_bare(value: &str) -> bool {
    whole(value.as_bytes()).is_some() || bare(value).is_some()
}

/// Lines with one frame.
#[derive(Clone, Copy)]
pub(crate) struct JsonTable<'t> {
    text: &'t str,
    values: &'t [[u32; 2]],
    frame: &'t Frame,
    line: u64,
    /// How many there are.
    pub(crate) count: usize,
}

impl<'t> JsonTable<'t> {
    /// Where the columns are.
    pub(crate) fn layout(self) -> &'t Layout {
        &self.frame.layout
    }

    /// Where the text behind it begins.
    pub(crate) fn end(self) -> usize {
        self.values.last().map_or(0, |[_, end]| *end as usize + 1)
    }

    #[inline]
    fn field(self, row: usize, place: usize) -> &'t str {
        let [begin, end] = self.values[row * (self.frame.members.len() + 1) + place];
        &self.text[begin as usize..end as usize]
    }
}

impl<'t> Records<'t> for JsonTable<'t> {
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
        whole(self.bytes(row, place)).filter(|_| !self.has_texts(place)).map(u64::cast_signed)
    }

    #[inline]
    fn key(self, row: usize, place: usize) -> Option<&'t [u8]> {
        let field = self.bytes(row, place);
        (self.has_texts(place) || whole(field).is_some()).then_some(field)
    }

    #[inline]
    fn has_texts(self, place: usize) -> bool {
        self.frame.members[place].is_text
    }

    #[inline]
    fn text(self, row: usize, place: usize) -> &'t str {
        self.field(row, place)
    }

    #[inline]
    fn bytes(self, row: usize, place: usize) -> &'t [u8] {
        let [begin, end] = self.values[row * (self.frame.members.len() + 1) + place];
        &self.text.as_bytes()[begin as usize..end as usize]
    }

    #[inline]
    fn value(self, row: usize, place: usize, kind: AttributeType) -> Option<ValueRef<'t>> {
        let field = self.field(row, place);
        let value = if self.has_texts(place) {
            ValueRef::Text(field)
        } else if let Some(number) = whole(field.as_bytes()) {
            ValueRef::Int(number.cast_signed())
        } else {
            bare(field)?
        };
        kind.fits(value).then_some(value)
    }

    #[inline]
    fn raw(self, row: usize) -> &'t str {
        self.field(row, self.frame.members.len())
    }
}

#[cfg(test)]
mod tests {
    use graphtide_graph::batch::{DeadLetter, EdgeBatch};
    use graphtide_graph::symbol::SharedSymbols;

    use crate::decoder::{Decoder, Options};
    use crate::json_lines::JsonLinesDecoder;
    use crate::types::AttributeType;
    use crate::unusable_values::UnusableValues;

    type Found = (Vec<String>, Vec<DeadLetter>, (u64, bool, bool), Vec<UnusableValues>);

    /// What is decoded of `input` in blocks of `step` bytes.
    fn decode(input: &[u8], step: usize, options: &Options) -> Found {
        let symbols = SharedSymbols::default();
        let mut decoder = JsonLinesDecoder::new(options.clone(), symbols.clone());
        let (mut batch, mut dead) = (EdgeBatch::new(options.attributes.len()), Vec::new());
        for block in input.chunks(step) {
            decoder.feed(block, &mut batch, &mut dead).unwrap();
        }
        decoder.finish(&mut batch, &mut dead).unwrap();
        let show = |row: usize| {
            let labels = batch.labels()[row].map(|label| symbols.lock().name(label).to_owned());
            format!("{:?} {labels:?} {:?}", batch.row(row), batch.attributes(row).collect::<Vec<_>>())
        };
        let of_stream = (decoder.ordinal(), decoder.has_ids(), decoder.has_operations());
        ((0..batch.len()).map(show).collect(), dead, of_stream, decoder.unusable_values().to_vec())
    }

    /// Options by which each record is read by itself: where lines may be comments, each is looked at.
    fn one_by_one(options: &Options) -> Options {
        Options { comment: "no line begins so".into(), ..options.clone() }
    }

    /// Numbers below a bound, by a seed.
    fn draw_by(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        }
    }

    const FORMS: [&str; 9] = [
        r#"{"ts": T, "src": "S", "dst": "S", "label": "L", "n": V, "other": O}"#,
        r#"{"ts":T,"src":V,"dst":"S","label":"L","n":"S","id":"S"}"#,
        r#"{ "n" : "S" , "ts" : T , "type" : "L" , "id" : V }"#,
        r#"{"ts":T,"src":"S","dst":"S","op":"insert","src_label":"L","dst_label":"L","label":"L","a longer name than sixteen":O}"#,
        r#"{"ts":T,"src":"S","dst":"S","label":"L","type":O,"only":V}"#,
        r#"{"n":1,"ts":T,"src":"S","n":V,"dst":"S","label":"L"}"#,
        r#"{"ts":T,"src":"S","dst":"S","label":"L","attributes":{"n":V}}"#,
        r#"{"type":"L","src_label":O,"ts":T}"#,
        "{}",
    ];

    /// Lines of one form after another; the more `faults`, the more of them are odd.
    fn lines(seed: u64, faults: usize) -> Vec<u8> {
        const PLAIN: [&[u8]; 7] = [b"1", b"0", b"20", b"1767225600000", b"123456789", b"7", b"100000"];
        const VALUES: [&[u8]; 14] = [
            b"-5",
            b"1.5",
            b"true",
            b"null",
            b" 3 ",
            b"1e3",
            b"007",
            b"\"t\"",
            b"{}",
            b"[1, 2]",
            b"1, 2",
            b"nul",
            b"",
            b"99999999999999999999",
        ];
        const TEXTS: [&[u8]; 6] = [b"a", b"10.0.0.7", b"42", b"\xc3\xbc", b"a longer text than sixteen", b"it, {so}:"];
        const ODD: [&[u8]; 7] = [b"", b"\\u0041", b"\\\"", b"\t", b"\xff", b"\"", b"\",\"n\":\""];
        let mut draw = draw_by(seed);
        let (mut text, mut form) = (Vec::new(), draw(FORMS.len()));
        for _ in 0..60 {
            if draw(1000) < 20 + faults {
                form = draw(FORMS.len());
            }
            for byte in FORMS[form].bytes() {
                let is_odd = draw(1000) < faults;
                match byte {
                    b'T' | b'V' | b'O' if is_odd => text.extend_from_slice(VALUES[draw(VALUES.len())]),
                    b'T' | b'V' | b'O' => text.extend_from_slice(PLAIN[draw(PLAIN.len())]),
                    b'S' | b'L' if is_odd => text.extend_from_slice(ODD[draw(ODD.len())]),
                    b'S' | b'L' => text.extend_from_slice(TEXTS[draw(TEXTS.len())]),
                    byte => text.push(byte),
                }
            }
            text.extend_from_slice(if draw(1000) < faults { [&b"\r\n"[..], b"\n\n", b" \n", b"}\n"][draw(4)] } else { b"\n" });
        }
        text
    }

    #[test]
    fn lines_at_once_give_what_each_gives_by_itself() {
        let declared = vec![("n".to_owned(), AttributeType::Integer), ("only".to_owned(), AttributeType::String)];
        let plain = Options { attributes: vec!["n".into(), "missing".into(), "id".into()], ..Options::default() };
        let all = [
            Options { keep_raw: true, label: Some("edge".into()), ..plain.clone() },
            Options { declared, ..plain.clone() },
            Options { discover: true, ..plain },
        ];
        for (options, seed) in all.iter().flat_map(|options| (0..40).map(move |seed| (options, seed))) {
            for faults in [0, 3, 30, 200] {
                let input = lines(seed, faults);
                let expected = decode(&input, input.len(), &one_by_one(options));
                for step in [64, 300, input.len()] {
                    assert_eq!(decode(&input, step, options), expected, "{seed} {faults} {step}");
                }
            }
        }
    }

    #[test]
    fn any_border_of_a_block_and_any_byte_give_what_they_give_one_by_one() {
        let options = Options { attributes: vec!["n".into()], ..Options::default() };
        let input = lines(5, 30);
        let expected = decode(&input, input.len(), &one_by_one(&options));
        for border in 1..input.len() {
            assert_eq!(decode(&input, border, &options), expected, "{border}");
        }
        let line = &br#"{"ts": 1, "src": "a", "dst": "b", "label": "c", "n": 2, "m": 3}"#[..];
        for (place, byte) in (0..line.len()).flat_map(|place| b"\"\\ ,:}{[\n\r1a-.\x00\xff".map(|byte| (place, byte))) {
            let [mut other, mut longer, mut shorter] = [(); 3].map(|()| line.to_vec());
            other[place] = byte;
            longer.insert(place, byte);
            shorter.remove(place);
            let input = [line, &other, line, &longer, line, line, &shorter, line, b""].join(&b'\n');
            let expected = decode(&input, input.len(), &one_by_one(&options));
            assert_eq!(decode(&input, input.len(), &options), expected, "{place} {byte}");
        }
    }
}
