//! Fields that a file has by its name, such as `year=2026/month=1`, are added to each record of its text. What reads the text
//! sees them as any other field. A record's own field of that name stays. Cost: a copy of the text.

use memchr::{memchr, memchr3};

use crate::splitter::MAX_RECORD;

/// Adds fields to the records of a text that comes in blocks.
pub struct AddedFields {
    form: Form,
}

enum Form {
    Csv(Csv),
    Json(Json),
}

struct Csv {
    delimiter: Vec<u8>,
    quote: Option<u8>,
    comment: Vec<u8>,
    names: Vec<(String, String)>,
    /// What follows each row, once the header is known.
    row: Option<Vec<u8>>,
    header: Vec<u8>,
    place: Place,
    /// A return that may end a row, and the beginning of a line that may be a comment.
    has_return: bool,
    carried: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    LineStart,
    FieldStart,
    Plain,
    Quoted,
    QuoteInQuoted,
    Comment,
}

struct Json {
    members: Vec<u8>,
    place: JsonPlace,
}

#[derive(Clone, Copy)]
enum JsonPlace {
    LineStart,
    Opened,
    Rest,
}

impl AddedFields {
    /// Prepares for CSV with a header line: names and values as they stand in the text of a field.
    pub fn csv(delimiter: &str, quote: Option<char>, comment: &str, names: Vec<(String, String)>) -> Self {
        Self {
            form: Form::Csv(Csv {
                delimiter: delimiter.into(),
                quote: quote.and_then(|quote| u8::try_from(quote).ok()),
                comment: comment.into(),
                names,
                row: None,
                header: Vec::new(),
                place: Place::LineStart,
                has_return: false,
                carried: Vec::new(),
            }),
        }
    }

    /// Prepares for JSON Lines: `members` are those of an object, without its braces.
    pub fn json(members: &str) -> Self {
        Self { form: Form::Json(Json { members: members.into(), place: JsonPlace::LineStart }) }
    }

    /// Returns the next block with the fields.
    pub fn feed(&mut self, block: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.len() + block.len() / 4);
        match &mut self.form {
            Form::Csv(csv) if csv.carried.is_empty() => csv.feed(block, &mut out),
            Form::Csv(csv) => {
                let mut joined = std::mem::take(&mut csv.carried);
                joined.extend_from_slice(block);
                csv.feed(&joined, &mut out);
            }
            Form::Json(json) => json.feed(block, &mut out),
        }
        out
    }

    /// Returns what is left at the end.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Form::Csv(csv) = &mut self.form {
            let carried = std::mem::take(&mut csv.carried);
            csv.comment.clear();
            csv.feed(&carried, &mut out);
            if !matches!(csv.place, Place::LineStart | Place::Comment) {
                csv.end_row(&mut out);
            }
        }
        out
    }
}

impl Csv {
    fn feed(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(&byte) = block.get(at) {
            if self.place == Place::LineStart {
                if !self.comment.is_empty() {
                    let rest = &block[at..];
                    if rest.starts_with(&self.comment) {
                        self.place = Place::Comment;
                    } else if self.comment.starts_with(rest) {
                        self.carried = rest.to_vec();
                        return;
                    }
                }
                if byte == b'\n' || byte == b'\r' {
                    out.push(byte);
                    at += 1;
                    continue;
                }
                if self.place == Place::LineStart {
                    self.place = Place::FieldStart;
                }
            }
            at += self.step(&block[at..], byte, out);
        }
    }

    /// Takes one byte or more; returns how many.
    fn step(&mut self, rest: &[u8], byte: u8, out: &mut Vec<u8>) -> usize {
        match self.place {
            Place::Comment => {
                let end = memchr(b'\n', rest).map_or(rest.len(), |end| {
                    self.place = Place::LineStart;
                    end + 1
                });
                out.extend_from_slice(&rest[..end]);
                return end;
            }
            Place::Quoted => {
                let quote = self.quote.unwrap_or(b'"');
                let end = memchr(quote, rest).map_or(rest.len(), |end| {
                    self.place = Place::QuoteInQuoted;
                    end + 1
                });
                self.push(&rest[..end], out);
                return end;
            }
            Place::QuoteInQuoted | Place::FieldStart if Some(byte) == self.quote && !self.has_return => {
                self.place = Place::Quoted;
                self.push(&[byte], out);
                return 1;
            }
            Place::QuoteInQuoted | Place::FieldStart | Place::Plain | Place::LineStart => {}
        }
        if byte == b'\n' {
            self.end_row(out);
            out.push(b'\n');
            self.place = Place::LineStart;
            return 1;
        }
        if std::mem::take(&mut self.has_return) {
            self.push(b"\r", out);
        }
        if byte == b'\r' {
            self.has_return = true;
            return 1;
        }
        let first = self.delimiter.first().copied().unwrap_or(b',');
        if rest.starts_with(&self.delimiter) {
            let length = self.delimiter.len();
            self.push(&rest[..length], out);
            self.place = Place::FieldStart;
            return length;
        }
        self.place = Place::Plain;
        let end = memchr3(first, b'\n', b'\r', &rest[1..]).map_or(rest.len(), |end| end + 1);
        self.push(&rest[..end], out);
        end
    }

    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        // A header past this is refused by who reads it.
        if self.row.is_none() && self.header.len() < MAX_RECORD {
            self.header.extend_from_slice(bytes);
        }
        out.extend_from_slice(bytes);
    }

    fn end_row(&mut self, out: &mut Vec<u8>) {
        if let Some(row) = &self.row {
            out.extend_from_slice(row);
        } else {
            let header = String::from_utf8_lossy(&self.header).into_owned();
            let delimiter = String::from_utf8_lossy(&self.delimiter).into_owned();
            let names = header.trim_start_matches('\u{feff}').split(delimiter.as_str());
            let own: Vec<&str> = names.map(|name| name.trim().trim_matches('"')).collect();
            let mut row = Vec::new();
            for (name, value) in self.names.iter().filter(|(name, _)| !own.contains(&name.as_str())) {
                for (text, to) in [(name, &mut *out), (value, &mut row)] {
                    to.extend_from_slice(&self.delimiter);
                    write_field(text, &delimiter, to);
                }
            }
            self.row = Some(row);
        }
        if std::mem::take(&mut self.has_return) {
            out.push(b'\r');
        }
    }
}

fn write_field(text: &str, delimiter: &str, out: &mut Vec<u8>) {
    let is_plain = !text.contains(['"', '\n', '\r']) && !text.contains(delimiter);
    if is_plain {
        out.extend_from_slice(text.as_bytes());
    } else {
        out.push(b'"');
        out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    }
}

impl Json {
    fn feed(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(&byte) = block.get(at) {
            match self.place {
                JsonPlace::LineStart if byte == b'{' => {
                    out.push(byte);
                    out.extend_from_slice(&self.members);
                    self.place = JsonPlace::Opened;
                    at += 1;
                }
                JsonPlace::LineStart | JsonPlace::Opened if byte.is_ascii_whitespace() && byte != b'\n' => {
                    out.push(byte);
                    at += 1;
                }
                JsonPlace::Opened => {
                    if byte != b'}' {
                        out.push(b',');
                    }
                    self.place = JsonPlace::Rest;
                }
                JsonPlace::LineStart if byte == b'\n' => {
                    out.push(byte);
                    at += 1;
                }
                JsonPlace::LineStart => self.place = JsonPlace::Rest,
                JsonPlace::Rest => {
                    let end = memchr(b'\n', &block[at..]).map_or(block.len(), |end| {
                        self.place = JsonPlace::LineStart;
                        at + end + 1
                    });
                    out.extend_from_slice(&block[at..end]);
                    at = end;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut make: impl FnMut() -> AddedFields, text: &str) -> String {
        let mut whole = make();
        let expected = [whole.feed(text.as_bytes()), whole.finish()].concat();
        for size in 1..6 {
            let mut added = make();
            let mut found: Vec<u8> = text.as_bytes().chunks(size).flat_map(|block| added.feed(block)).collect();
            found.extend(added.finish());
            assert_eq!(found, expected, "in blocks of {size}");
        }
        String::from_utf8_lossy(&expected).into_owned()
    }

    fn csv(delimiter: &'static str, comment: &'static str) -> impl FnMut() -> AddedFields {
        let names = || vec![("year".to_owned(), "2026".to_owned()), ("place".to_owned(), "a,b".to_owned())];
        move || AddedFields::csv(delimiter, Some('"'), comment, names())
    }

    #[test]
    fn each_row_has_the_fields() {
        let cases = [
            (",", "", "ts,src\n1,a\n2,b\n", "ts,src,year,place\n1,a,2026,\"a,b\"\n2,b,2026,\"a,b\"\n"),
            (",", "", "ts,src\r\n1,a\r\n\r\n2,b", "ts,src,year,place\r\n1,a,2026,\"a,b\"\r\n\r\n2,b,2026,\"a,b\""),
            (",", "", "ts\n\"1\n\"\"2\"\n3\"\n", "ts,year,place\n\"1\n\"\"2\",2026,\"a,b\"\n3\",2026,\"a,b\"\n"),
            (";", "#", "# a\nts;year\n#b;c\n1;7\n", "# a\nts;year;place\n#b;c\n1;7;a,b\n"),
            (",", "//", "ts\n/1\n//2\n", "ts,year,place\n/1,2026,\"a,b\"\n//2\n"),
            (",", "", "", ""),
        ];
        for (delimiter, comment, text, expected) in cases {
            assert_eq!(read(csv(delimiter, comment), text), expected);
        }
    }

    #[test]
    fn each_object_of_a_line_has_the_members() {
        let make = || AddedFields::json("\"year\":2026");
        let text = "{\"ts\":1}\n\n { }\nbad {\n{\"a\":\"{\"}";
        assert_eq!(read(make, text), "{\"year\":2026,\"ts\":1}\n\n {\"year\":2026 }\nbad {\n{\"year\":2026,\"a\":\"{\"}");
    }
}
