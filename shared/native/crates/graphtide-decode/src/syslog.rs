//! Messages of syslog, one a line: RFC 5424, and RFC 3164 as programs write it, also without a priority, as files have it.
//!
//! `<34>1 …` is RFC 5424; all else begins with a time, which ISO 8601 has without blanks. The fields are `priority`,
//! `facility`, `severity`, `version`, `timestamp`, `hostname`, `appname`, `procid`, `msgid`, `structured_data` and `message`. A
//! parameter of structured data is the path `sd`, its element and its name. `-` of RFC 5424 is missing. Of a parameter that
//! comes twice the last counts. Messages are lines: those that are counted in octets, as RFC 6587 has them, are not. Cost: one
//! pass over a line.

use crate::csv::fields::{Fields, FieldsOf};
use crate::decoder::Options;
use crate::error::RowError;
use crate::lines::{LinePattern, Lines};
use crate::statement::csv::CsvStatement;
use crate::statement::paths::Step;
use crate::statement::reading::Statement;

/// The fields of a message, in the order of [`Message::fields`].
const FIELDS: [&str; 11] = [
    "priority",
    "facility",
    "severity",
    "version",
    "timestamp",
    "hostname",
    "appname",
    "procid",
    "msgid",
    "structured_data",
    "message",
];
/// The place of `facility` among them, which is not a part of the line, as `severity` behind it is not.
const FACILITY: usize = 1;
const BOM: char = '\u{feff}';
/// The greatest priority: the last facility with the last severity.
const MOST: u8 = 191;
const SEVERITIES: u8 = 8;

/// A value that a statement reads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Field(usize),
    /// A parameter of an element of structured data.
    Parameter {
        element: Box<str>,
        name: Box<str>,
    },
}

/// Takes messages apart.
#[derive(Clone, Debug)]
pub(crate) struct SyslogPattern {
    wanted: Box<[Wanted]>,
    /// The values that are read, end to end, and where each of them is.
    text: String,
    spans: Vec<(usize, usize)>,
    fields: Fields,
}

/// The parts of a message; one that is missing is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Message<'a> {
    priority: &'a str,
    code: Option<u8>,
    version: &'a str,
    timestamp: &'a str,
    hostname: &'a str,
    appname: &'a str,
    procid: &'a str,
    msgid: &'a str,
    structured_data: &'a str,
    message: &'a str,
}

/// Messages of syslog, and the statement over their fields.
pub(crate) fn syslog_lines(options: &Options, statement: Statement) -> (Lines<SyslogPattern>, CsvStatement) {
    let (statement, wanted) = CsvStatement::of(statement, wanted);
    let names = wanted.iter().map(name_of).collect();
    let spans = vec![(0, 0); wanted.len()];
    let places = (0..wanted.len()).map(Some).collect();
    let pattern = SyslogPattern { wanted: wanted.into(), text: String::new(), spans, fields: Fields::default() };
    (Lines::new(options, names, (pattern, places)), statement)
}

fn wanted(steps: &[Step]) -> Option<Wanted> {
    match steps {
        [Step::Name(name)] => FIELDS.iter().position(|field| **field == **name).map(Wanted::Field),
        [Step::Name(data), Step::Name(element), Step::Name(name)] if **data == *"sd" => {
            Some(Wanted::Parameter { element: element.clone(), name: name.clone() })
        }
        _ => None,
    }
}

fn name_of(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Field(place) => FIELDS[*place].to_owned(),
        Wanted::Parameter { element, name } => format!("sd.{element}.{name}"),
    }
}

impl LinePattern for SyslogPattern {
    #[inline]
    fn fields<'a>(&'a mut self, line: &'a str) -> Result<FieldsOf<'a>, RowError> {
        let Self { wanted, text, spans, fields } = self;
        let message = Message::read(line).map_err(|reason| RowError::Syslog { reason })?;
        text.clear();
        spans.fill((0, 0));
        let parts = message.fields();
        for (wanted, span) in wanted.iter().zip(spans.iter_mut()) {
            let Wanted::Field(place) = wanted else { continue };
            let begin = text.len();
            match (message.code, place) {
                (Some(code), place) if *place == FACILITY => push(code / SEVERITIES, text),
                (Some(code), place) if *place == FACILITY + 1 => push(code % SEVERITIES, text),
                (_, place) => text.push_str(parts[*place]),
            }
            *span = (begin, text.len());
        }
        let mut rest = message.structured_data;
        while !rest.is_empty() {
            let element = Element::read(&mut rest).map_err(|reason| RowError::Syslog { reason })?;
            let mut values = element.parameters;
            while let Some((name, value)) = parameter(&mut values).map_err(|reason| RowError::Syslog { reason })? {
                let is_it = |wanted: &Wanted| matches!(wanted, Wanted::Parameter { element: id, name: own } if **id == *element.id && **own == *name);
                if let Some(place) = wanted.iter().position(is_it) {
                    let begin = text.len();
                    unescape(value, text);
                    spans[place] = (begin, text.len());
                }
            }
        }
        Ok(fields.of_places(text, spans.iter().copied()))
    }

    fn columns(&self) -> Option<&[String]> {
        None
    }
}

fn push(number: u8, text: &mut String) {
    text.push_str(itoa::Buffer::new().format(number));
}

impl<'a> Message<'a> {
    fn fields(&self) -> [&'a str; FIELDS.len()] {
        let Self { priority, version, timestamp, hostname, appname, procid, msgid, structured_data, message, .. } = *self;
        [priority, "", "", version, timestamp, hostname, appname, procid, msgid, structured_data, message]
    }

    fn read(line: &'a str) -> Result<Self, &'static str> {
        let Some(rest) = line.strip_prefix('<') else { return Self::read_old(line, Self::default()) };
        let (priority, rest) = rest.split_once('>').ok_or("its priority is not closed")?;
        let is_number = !priority.is_empty() && priority.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = is_number && (priority.len() == 1 || !priority.starts_with('0'));
        let code = priority.parse().ok().filter(|code| is_plain && *code <= MOST);
        let begun = Self { priority, code: Some(code.ok_or("its priority is not a number from 0 to 191")?), ..Self::default() };
        match rest.split_once(' ') {
            Some((version, rest)) if is_version(version) => Self::read_new(rest, Self { version, ..begun }),
            _ => Self::read_old(rest, begun),
        }
    }

    /// The rest of a message of RFC 5424.
    fn read_new(rest: &'a str, begun: Self) -> Result<Self, &'static str> {
        let mut rest = rest;
        let mut next = || {
            let (word, behind) =
                rest.split_once(' ').filter(|(word, _)| !word.is_empty()).ok_or("a part of its header is missing")?;
            rest = behind;
            Ok::<_, &'static str>(if word == "-" { "" } else { word })
        };
        let (timestamp, hostname, appname, procid, msgid) = (next()?, next()?, next()?, next()?, next()?);
        let (structured_data, rest) = match rest.strip_prefix('-') {
            Some(rest) => ("", rest),
            None => rest.split_at(length_of_data(rest)?),
        };
        let message = match rest.strip_prefix(' ') {
            Some(message) => message.strip_prefix(BOM).unwrap_or(message),
            None if rest.is_empty() => "",
            None => return Err("no blank follows its structured data"),
        };
        Ok(Self { timestamp, hostname, appname, procid, msgid, structured_data, message, ..begun })
    }

    /// The rest of a message of RFC 3164.
    fn read_old(rest: &'a str, begun: Self) -> Result<Self, &'static str> {
        let length = length_of_time(rest).ok_or("it has no time where one should be")?;
        let (timestamp, rest) = rest.split_at(length);
        // Some end the time with a colon.
        let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start_matches(' ');
        let (word, behind) = rest.split_once(' ').unwrap_or((rest, ""));
        // Some write no host.
        let (hostname, rest) = if word.ends_with(':') { ("", rest) } else { (word, behind) };
        let end = rest.find([' ', ':', '[']).unwrap_or(rest.len());
        let (appname, behind) = rest.split_at(end);
        let process = behind.strip_prefix('[').and_then(|behind| behind.split_once(']'));
        let (procid, behind) = process.unwrap_or(("", behind));
        let is_tag = !appname.is_empty() && (process.is_some() || behind.starts_with(':'));
        let (appname, procid, message) = if is_tag {
            let message = behind.strip_prefix(':').unwrap_or(behind);
            (appname, procid, message.strip_prefix(' ').unwrap_or(message))
        } else {
            ("", "", rest)
        };
        Ok(Self { timestamp, hostname, appname, procid, message, ..begun })
    }
}

fn is_version(text: &str) -> bool {
    (1..=3).contains(&text.len()) && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The bytes of the time that a message of RFC 3164 begins with. That is a word of ISO 8601, or the three words `Oct 11
/// 22:14:15`, with a year as a fourth behind the day.
fn length_of_time(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let word = |from: usize| from + bytes[from..].iter().position(|byte| *byte == b' ').unwrap_or(bytes.len() - from);
    if bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-' {
        return Some(word(0)).filter(|end| bytes[..*end].contains(&b'T'));
    }
    let blanks = |from: usize| from + bytes[from..].iter().take_while(|byte| **byte == b' ').count();
    let is_number = |from: usize, to: usize| bytes[from..to].iter().all(u8::is_ascii_digit);
    let month = word(0);
    let day = blanks(month);
    let behind_day = word(day);
    let is_date = month == 3 && bytes[..3].iter().all(u8::is_ascii_alphabetic) && matches!(behind_day - day, 1 | 2);
    if !is_date || !is_number(day, behind_day) {
        return None;
    }
    let next = blanks(behind_day);
    let end = word(next);
    let clock = if end - next == 4 && is_number(next, end) { blanks(end) } else { next };
    let end = word(clock);
    let is_in = |end: usize| bytes[clock..end].contains(&b':');
    let end = if end > clock && bytes[end - 1] == b':' && is_in(end - 1) { end - 1 } else { end };
    (bytes.get(clock).is_some_and(u8::is_ascii_digit) && is_in(end)).then_some(end)
}

/// An element of structured data.
struct Element<'a> {
    id: &'a str,
    /// What stands between its id and its bracket.
    parameters: &'a str,
}

impl<'a> Element<'a> {
    /// Takes an element from the beginning of structured data.
    fn read(data: &mut &'a str) -> Result<Self, &'static str> {
        let rest = data.strip_prefix('[').ok_or("its structured data does not begin with a bracket")?;
        let end = rest.find([' ', ']', '"', '=']).unwrap_or(rest.len());
        let (id, behind) = rest.split_at(end);
        if id.is_empty() {
            return Err("an element of its structured data has no name");
        }
        let mut at = behind;
        while parameter(&mut at)?.is_some() {}
        let parameters = &behind[..behind.len() - at.len()];
        *data = at.strip_prefix(']').ok_or("an element of its structured data is not closed")?;
        Ok(Self { id, parameters })
    }
}

/// The bytes of the structured data that a text begins with.
fn length_of_data(text: &str) -> Result<usize, &'static str> {
    let mut rest = text;
    Element::read(&mut rest)?;
    while rest.starts_with('[') {
        Element::read(&mut rest)?;
    }
    Ok(text.len() - rest.len())
}

/// Takes ` name="value"` from the beginning of a text, with the value as it is written; None if something else follows.
fn parameter<'a>(text: &mut &'a str) -> Result<Option<(&'a str, &'a str)>, &'static str> {
    let Some(rest) = text.strip_prefix(' ') else { return Ok(None) };
    let rest = rest.trim_start_matches(' ');
    let (name, behind) = rest.split_once("=\"").ok_or("a parameter of its structured data has no value in quotes")?;
    if name.is_empty() || name.contains([' ', ']', '"', '=']) {
        return Err("a parameter of its structured data has no name");
    }
    let mut from = 0;
    loop {
        let place = behind[from..].find(['"', '\\']).ok_or("a value of its structured data is not closed")? + from;
        if behind.as_bytes()[place] == b'"' {
            *text = &behind[place + 1..];
            return Ok(Some((name, &behind[..place])));
        }
        // What it escapes is one byte, or the first of a character that is passed whole.
        let escaped = behind[place + 1..].chars().next().ok_or("a value of its structured data is not closed")?;
        from = place + 1 + escaped.len_utf8();
    }
}

/// Appends a value: before a quote, a backslash and a bracket, a backslash says that they are meant.
fn unescape(value: &str, into: &mut String) {
    let mut rest = value;
    while let Some(place) = rest.find('\\') {
        into.push_str(&rest[..place]);
        let behind = &rest[place + 1..];
        let is_escape = behind.starts_with(['"', '\\', ']']);
        if is_escape {
            into.push_str(&behind[..1]);
            rest = &behind[1..];
        } else {
            into.push('\\');
            rest = behind;
        }
    }
    into.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Result<[&str; FIELDS.len()], &'static str> {
        Message::read(line).map(|message| message.fields())
    }

    #[test]
    fn messages_of_both_documents_are_taken_apart() {
        let cases = [
            (
                "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \u{feff}'su root' failed",
                [
                    "34",
                    "",
                    "",
                    "1",
                    "2003-10-11T22:14:15.003Z",
                    "mymachine.example.com",
                    "su",
                    "",
                    "ID47",
                    "",
                    "'su root' failed",
                ],
            ),
            (
                "<165>1 - - - - - [a@1 x=\"]\\\"\\]\"][b]",
                ["165", "", "", "1", "", "", "", "", "", "[a@1 x=\"]\\\"\\]\"][b]", ""],
            ),
            ("<34>Oct 11 22:14:15 m su[7]: no", ["34", "", "", "", "Oct 11 22:14:15", "m", "su", "7", "", "", "no"]),
            ("Oct  1 22:14:15 m kernel: [1.5] up", ["", "", "", "", "Oct  1 22:14:15", "m", "kernel", "", "", "", "[1.5] up"]),
            (
                "<1>Oct 11 2024 22:14:15: %ASA-6-1: x",
                ["1", "", "", "", "Oct 11 2024 22:14:15", "", "%ASA-6-1", "", "", "", "x"],
            ),
            (
                "2024-01-31T12:00:00Z m last message",
                ["", "", "", "", "2024-01-31T12:00:00Z", "m", "", "", "", "", "last message"],
            ),
            ("Oct 11 22:14:15 su: no host", ["", "", "", "", "Oct 11 22:14:15", "", "su", "", "", "", "no host"]),
        ];
        for (line, expected) in cases {
            assert_eq!(parts(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn what_is_no_message_says_why() {
        let cases = [
            ("<192>1 - - - - - -", "its priority is not a number from 0 to 191"),
            ("<01>Oct 11 22:14:15 m", "its priority is not a number from 0 to 191"),
            ("<1", "its priority is not closed"),
            ("<1>1 - - - -", "a part of its header is missing"),
            ("<1>1 - - - - - [a x=\"1]", "a value of its structured data is not closed"),
            ("<1>1 - - - - - [a x=\"1\"", "an element of its structured data is not closed"),
            ("<1>1 - - - - - -x", "no blank follows its structured data"),
            ("hello", "it has no time where one should be"),
            ("83 <34>1 - - - - - -", "it has no time where one should be"),
        ];
        for (line, reason) in cases {
            assert_eq!(parts(line), Err(reason), "{line}");
        }
    }
}
