//! The values of a statement's paths in one object of JSON, in one pass: no tree is built, and what nobody reads is passed over.
//!
//! All of JSON is read as RFC 8259 has it. A key given twice counts as given last, with all that stands in it. Texts are
//! borrowed unless an escape forces a copy, which lies in an arena. Cost: each byte is looked at a constant number of times, in
//! words where texts are long. A key is mostly the one that followed last time.

use bumpalo::Bump;
use graphtide_graph::value::ValueRef;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};
use smallvec::{SmallVec, smallvec};

use super::around::ValuesAround;
use super::json_scan::{Rest, are_escapes};
use super::nulls::Nulls;
use super::paths::{PathFrom, Role, Step};
use super::reading::Statement;
use crate::columns::ColumnNames;
use crate::error::{Refused, RowError};
use crate::json_objects::{JsonObjects, first_value};
use crate::json_record::{Keys, refuse_json};
use crate::writer::{Target, Writer};

/// Places of a tree's fields are looked up by the key that came next the last time.
const START: usize = 0;

/// Longest number that is handed on as a text, for a time: as long as a text may be that is one.
const LONGEST_NUMBER: usize = 400;

/// Longest exponent of such a number.
const LONGEST_EXPONENT: usize = 6;

/// A statement that reads objects of JSON.
#[derive(Clone, Debug)]
pub(crate) struct JsonStatement {
    pub(crate) statement: Statement,
    reader: PathReader,
    /// Finds the records in what is taken, where that is not one record.
    documents: Option<Box<JsonObjects>>,
    /// What is read of the objects around a record, the innermost first.
    around: Vec<Around>,
}

/// What is read of an object around records: once, and then given to each of them.
#[derive(Clone, Debug)]
struct Around {
    reader: PathReader,
    values: ValuesAround,
    /// Where the object begins whose values are known.
    from: Option<usize>,
}

impl JsonStatement {
    pub(crate) fn new(statement: Statement) -> Self {
        let paths = &statement.paths;
        let reader = PathReader::new(&paths.of_level(0));
        let around = (1..=paths.levels_around()).map(|level| Around::new(&paths.of_level(level))).collect();
        Self { statement, reader, documents: None, around }
    }

    /// The same for texts with records under a path.
    pub(crate) fn in_documents(self, path: Box<[Step]>) -> Self {
        Self { documents: Some(Box::new(JsonObjects::new(path))), ..self }
    }

    /// How many objects around a record are read.
    pub(crate) fn levels_around(&self) -> usize {
        self.around.len()
    }

    /// Writes or rejects the record that a text is, or those in it; what breaks off behind them is a bad record.
    #[inline]
    pub(crate) fn take(&mut self, writer: &mut Writer, target: &mut Target<'_>, line: u64, bytes: &[u8]) {
        match self.documents.take() {
            None => self.write(writer, target, line, bytes),
            Some(mut documents) => {
                self.take_document(&mut documents, writer, target, (line, bytes));
                self.documents = Some(documents);
            }
        }
    }

    fn take_document(
        &mut self,
        documents: &mut JsonObjects,
        writer: &mut Writer,
        target: &mut Target<'_>,
        (line, bytes): (u64, &[u8]),
    ) {
        documents.restart(line);
        documents.feed(bytes);
        self.around.iter_mut().for_each(|around| around.from = None);
        // A text within the bound has no record past it.
        for is_last in [false, true] {
            while let Some((line, place)) = documents.next_place(is_last) {
                self.read_around(documents);
                self.write(writer, target, line, &documents.text()[place]);
            }
        }
        _ = documents.finish();
        if let Some(error) = documents.broken() {
            writer.reject(target, line, &RowError::Json { reason: error.to_string() }, bytes);
        }
    }

    /// Reads of the objects around a record what was not read of them for the record before.
    fn read_around(&mut self, documents: &JsonObjects) {
        let mut places = documents.around();
        for around in &mut self.around {
            let place = places.next();
            if around.from != place || place.is_none() {
                around.from = place;
                let object = place.map(|place| first_value(&documents.text()[place..]));
                around.read(object, &self.statement);
            }
        }
    }

    /// Writes what an object gives, or rejects it.
    #[inline]
    fn write(&mut self, writer: &mut Writer, target: &mut Target<'_>, line: u64, bytes: &[u8]) {
        let Self { statement, reader, around, .. } = self;
        let around = &*around;
        let result = statement.write((writer, target), (line, bytes), |slots, arena, nulls| {
            around.iter().try_for_each(|around| around.values.give(slots))?;
            reader.read(bytes, slots, arena, nulls)
        });
        if let Err(error) = result {
            writer.reject(target, line, &error, bytes);
        }
    }
}

impl Around {
    fn new(paths: &[PathFrom<'_>]) -> Self {
        Self { reader: PathReader::new(paths), values: ValuesAround::new(paths), from: None }
    }

    /// Reads an object; where there is none, all is missing.
    fn read(&mut self, object: Option<&[u8]>, statement: &Statement) {
        let (arena, mut values) = (Bump::new(), vec![ValueRef::Null; statement.paths.all().len()]);
        let read = object.map_or(Ok(()), |object| self.reader.read(object, &mut values, &arena, &statement.nulls));
        self.values.keep(read.is_ok().then_some(&values));
    }
}

/// What stands at the end of steps that some path has.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Of an object, its fields: the name, the name as it is written with its colon, unless it has escapes, and the node.
    fields: Vec<Field>,
    /// Of a list, its items: the position, ascending, and the node.
    items: Vec<(u32, usize)>,
    /// Of a list, its items by a field that is a text: the name, the text and the node.
    picks: Vec<(Box<str>, Box<str>, usize)>,
    /// Where the value goes.
    slots: Vec<(usize, Role)>,
    /// By the field that came last, from 1, the field that came next the last time; at first, 0, the first of all.
    next: Vec<usize>,
    /// The record in which it was last seen.
    seen: u64,
}

#[derive(Clone, Debug)]
struct Field {
    name: Box<str>,
    closed: Option<Box<str>>,
    node: usize,
}

/// Reads the values of paths.
#[derive(Clone, Debug)]
pub(crate) struct PathReader {
    nodes: Vec<Node>,
    records: u64,
}

impl PathReader {
    /// Makes a reader of these paths, each with its slot.
    fn new(paths: &[PathFrom<'_>]) -> Self {
        let mut made = Self { nodes: vec![Node::default()], records: 0 };
        for (slot, steps, role) in paths {
            let node = steps.iter().fold(0, |node, step| made.child(node, step));
            made.nodes[node].slots.push((*slot, *role));
        }
        for node in &mut made.nodes {
            node.items.sort_unstable();
            node.next = (0..=node.fields.len()).map(|last| last % node.fields.len().max(1)).collect();
        }
        made
    }

    fn child(&mut self, node: usize, step: &Step) -> usize {
        let known = match step {
            Step::Name(name) => self.nodes[node].fields.iter().find(|field| field.name == *name).map(|field| field.node),
            Step::Position(place) => self.nodes[node].items.iter().find(|item| item.0 == *place).map(|item| item.1),
            Step::Item(field, text) => {
                let is_same = |pick: &&(Box<str>, Box<str>, usize)| (&pick.0, &pick.1) == (field, text);
                self.nodes[node].picks.iter().find(is_same).map(|pick| pick.2)
            }
            Step::Outer => None,
        };
        known.unwrap_or_else(|| {
            let child = self.nodes.len();
            self.nodes.push(Node::default());
            match step {
                Step::Name(name) => {
                    let is_plain = !name.contains(|char: char| matches!(char, '"' | '\\' | '\0'..='\x1f'));
                    let closed = is_plain.then(|| format!("{name}\":").into());
                    self.nodes[node].fields.push(Field { name: name.clone(), closed, node: child });
                }
                Step::Position(place) => self.nodes[node].items.push((*place, child)),
                Step::Item(field, text) => self.nodes[node].picks.push((field.clone(), text.clone(), child)),
                Step::Outer => {}
            }
            child
        })
    }

    /// Reads an object into slots that are all missing.
    fn read<'t>(&mut self, line: &'t [u8], slots: &mut [ValueRef<'t>], arena: &'t Bump, nulls: &Nulls) -> Result<(), Refused> {
        let text = std::str::from_utf8(line).map_err(|error| RowError::NotUtf8 { offset: error.valid_up_to() })?;
        self.records += 1;
        let nulls = nulls.if_any();
        let mut reading = Reading { reader: self, rest: Rest::new(text), slots, arena, nulls };
        reading.whole().ok_or_else(|| refuse(text).into())
    }
}

/// One pass over a record.
struct Reading<'r, 't> {
    reader: &'r mut PathReader,
    rest: Rest<'t>,
    slots: &'r mut [ValueRef<'t>],
    arena: &'t Bump,
    nulls: Option<&'r Nulls>,
}

impl<'t> Reading<'_, 't> {
    fn whole(&mut self) -> Option<()> {
        self.rest.token(b'{')?;
        self.object(START)?;
        self.rest.is_blank().then_some(())
    }

    /// Reads the members of an object whose brace is open.
    fn object(&mut self, node: usize) -> Option<()> {
        let mut last = 0;
        let mut next = self.rest.next()?;
        if next == b'}' {
            return Some(());
        }
        loop {
            if next != b'"' {
                return None;
            }
            let Node { fields, next: expected, .. } = &self.reader.nodes[node];
            let guess = expected[last];
            if let Some(field) = fields.get(guess)
                && self.rest.passes(field.closed.as_deref())
            {
                last = guess + 1;
                let child = field.node;
                self.field(child)?;
            } else {
                let found = self.key(node)?;
                let child = self.reader.nodes[node].fields.get(found).map(|field| field.node);
                if let Some(child) = child {
                    self.reader.nodes[node].next[last] = found;
                    last = found + 1;
                    self.field(child)?;
                } else {
                    self.rest.skip_value()?;
                }
            }
            match self.rest.next()? {
                b',' => next = self.rest.next()?,
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads a key and its colon; returns its field, or how many fields there are if it is none of them.
    fn key(&mut self, node: usize) -> Option<usize> {
        let (key, has_escapes) = self.rest.string()?;
        let key = if has_escapes { unescaped(self.rest.quoted(), self.arena)? } else { key };
        self.rest.token(b':')?;
        let fields = &self.reader.nodes[node].fields;
        Some(fields.iter().position(|field| *field.name == *key).unwrap_or(fields.len()))
    }

    /// Reads a value that some path reads, or leads through.
    fn field(&mut self, node: usize) -> Option<()> {
        let records = self.reader.records;
        let seen = &mut self.reader.nodes[node].seen;
        if std::mem::replace(seen, records) == records {
            self.forget(node);
        }
        match self.rest.next()? {
            b'"' => {
                let (text, has_escapes) = self.rest.string()?;
                if self.reader.nodes[node].slots.is_empty() {
                    return if has_escapes { are_escapes(text.as_bytes()) } else { Some(()) };
                }
                let text = if has_escapes { unescaped(self.rest.quoted(), self.arena)? } else { text };
                if !self.nulls.is_some_and(|nulls| nulls.contain(text)) {
                    self.keep(node, ValueRef::Text(text));
                }
            }
            b'{' if self.reader.nodes[node].fields.is_empty() => self.rest.skip_rest(b'{')?,
            b'{' => self.object(node)?,
            b'[' if self.reader.nodes[node].items.is_empty() && self.reader.nodes[node].picks.is_empty() => {
                self.rest.skip_rest(b'[')?;
            }
            b'[' => self.list(node)?,
            b't' => {
                self.rest.word("rue")?;
                self.keep(node, ValueRef::Bool(true));
            }
            b'f' => {
                self.rest.word("alse")?;
                self.keep(node, ValueRef::Bool(false));
            }
            b'n' => self.rest.word("ull")?,
            first => {
                let (text, is_whole) = self.rest.number(first)?;
                self.keep_number(node, text, is_whole)?;
            }
        }
        Some(())
    }

    /// Reads the items of a list whose bracket is open.
    fn list(&mut self, node: usize) -> Option<()> {
        if self.rest.ends_list() {
            return Some(());
        }
        let (mut position, mut item) = (0_u32, 0);
        let mut found: SmallVec<[bool; 8]> = smallvec![false; self.reader.nodes[node].picks.len()];
        loop {
            if !found.is_empty() {
                self.pick(node, &mut found)?;
            }
            match self.reader.nodes[node].items.get(item) {
                Some(&(wanted, child)) if wanted == position => {
                    item += 1;
                    self.field(child)?;
                }
                _ => self.rest.skip_value()?,
            }
            position = position.saturating_add(1);
            match self.rest.next()? {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Reads the item that comes next for each condition that it is the first to meet, and stays before it.
    fn pick(&mut self, node: usize, found: &mut [bool]) -> Option<()> {
        let begun = self.rest.place();
        for (number, is_found) in found.iter_mut().enumerate() {
            let (field, text, child) = &self.reader.nodes[node].picks[number];
            let child = *child;
            if !*is_found && !self.nulls.is_some_and(|nulls| nulls.contain(text)) && self.rest.has(field, text)? {
                *is_found = true;
                self.rest.go_to(begun);
                self.field(child)?;
            }
            self.rest.go_to(begun);
        }
        Some(())
    }

    #[inline]
    fn keep(&mut self, node: usize, value: ValueRef<'t>) {
        for (slot, _) in &self.reader.nodes[node].slots {
            self.slots[*slot] = value;
        }
    }

    fn keep_number(&mut self, node: usize, text: &'t str, is_whole: bool) -> Option<()> {
        let slots = &self.reader.nodes[node].slots;
        if slots.is_empty() {
            return Some(());
        }
        let value = number(text, is_whole)?;
        let is_written = !matches!(value, ValueRef::Int(_)) && is_time(text);
        for (slot, role) in slots {
            self.slots[*slot] = if *role == Role::Time && is_written { ValueRef::Text(text) } else { value };
        }
        Some(())
    }

    /// Makes all missing that an earlier value of a key gave.
    #[cold]
    fn forget(&mut self, node: usize) {
        let Node { fields, items, picks, slots, .. } = &self.reader.nodes[node];
        for (slot, _) in slots {
            self.slots[*slot] = ValueRef::Null;
        }
        let of_lists = items.iter().map(|item| item.1).chain(picks.iter().map(|pick| pick.2));
        let children: Vec<usize> = fields.iter().map(|field| field.node).chain(of_lists).collect();
        for child in children {
            self.forget(child);
        }
    }
}

/// Whether a time is read of a number as it is written.
fn is_time(number: &str) -> bool {
    let is_short = |exponent: &str| exponent.trim_start_matches(['+', '-']).len() <= LONGEST_EXPONENT;
    number.len() <= LONGEST_NUMBER && number.split_once(['e', 'E']).is_none_or(|(_, exponent)| is_short(exponent))
}

/// A number of JSON: past 64 bits the nearest; None for one past all of them.
fn number<'t>(text: &str, is_whole: bool) -> Option<ValueRef<'t>> {
    if is_whole
        && let Ok(number) = text.parse()
        && text != "-0"
    {
        return Some(ValueRef::Int(number));
    }
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(ValueRef::Float)
}

/// The text that one with escapes, in its quotes, stands for; None if an escape is none.
fn unescaped<'t>(quoted: &str, arena: &'t Bump) -> Option<&'t str> {
    struct Into<'t>(&'t Bump);
    impl<'t> Visitor<'_> for Into<'t> {
        type Value = &'t str;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a text")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(self.0.alloc_str(text))
        }
    }
    serde_json::Deserializer::from_str(quoted).deserialize_str(Into(arena)).ok()
}

/// Says what is wrong with a text that is not an object of JSON, or that has a number or an escape that is none.
#[cold]
fn refuse(text: &str) -> RowError {
    let keys = Keys::new(&ColumnNames::default(), &[], false);
    let mut reader = serde_json::Deserializer::from_str(text);
    let error = (&keys).deserialize(&mut reader).and_then(|_| reader.end()).err();
    // What is passed over is not looked at as closely.
    match error.or_else(|| serde_json::from_str::<serde_json::Value>(text).err()) {
        Some(error) => refuse_json(&error),
        None => RowError::Json { reason: "it cannot be read".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IgnoredAny;
    use serde_json::Value;

    use super::*;
    use crate::statement::paths::Paths;

    const PATHS: [&[&str]; 9] =
        [&["a"], &["b"], &["a", "b"], &["a", "0"], &["a", "1", "b"], &["l", "2"], &["l", "0", "0"], &["é\n"], &["a", "b", "c"]];
    const TEXTS: [&str; 12] = [
        r#"{"a":1,"b":"x","l":[1,[2],"three",{}],"é\n":true}"#,
        r#"{ "a" : { "b" : { "c" : -0.5e-3 }, "x" : [ [ ], { } ] } , "b" : null }"#,
        r#"{"a":{"b":1,"b":2},"a":{"b":"\u00fc\"\\\/\b\f\n\r\t"},"l":[[7,8],false,"\ud83d\ude00"]}"#,
        r#"{"\u0061":[{"b":1},{"b":[1,2,{"b":3}]}],"b":12345678901234567890,"skipped":"\u12ab\\"}"#,
        r#"{"x":[[[[[[[[1,2.5,-3e+7,true,false,null,"t"]]]]]]]],"a":0,"b":-0,"l":[0.0,1E3,9223372036854775807]}"#,
        "{\"a\":\n\t{\"b\":\r\n1},\"b\":\"a long text that is more than four words of eight bytes each, \u{fc}\"}",
        r#"{"a":{"b":1},"a":2,"l":[1,2,3],"l":[]}"#,
        "{}",
        r#"[{"a":1}]"#,
        r#"{"a":"1","b":{"c":1}} "#,
        r#"{"a":-9223372036854775808,"b":1e308,"l":[1e309]}"#,
        r#"{"é\n":{"b":1},"l":{"2":1},"a":[]}"#,
    ];
    const SIGNS: &[u8] = b"{}[],:\"\\u0123456789abce-+.EtrfalsnN \n\t\x01\x7f";

    fn paths() -> Paths {
        let mut paths = Paths::default();
        for path in PATHS {
            let step = |step: &&str| step.parse().map_or(Step::Name((*step).into()), Step::Position);
            paths.slot(path.iter().map(step).collect());
        }
        paths
    }

    /// The value that a tree of JSON has at the end of a path.
    fn plainly<'v>(tree: &'v Value, path: &[&str]) -> ValueRef<'v> {
        let inner = path.iter().try_fold(tree, |tree, step| match step.parse::<usize>() {
            Ok(place) => tree.as_array().and_then(|items| items.get(place)),
            Err(_) => tree.as_object().and_then(|fields| fields.get(*step)),
        });
        match inner {
            Some(Value::Bool(truth)) => ValueRef::Bool(*truth),
            Some(Value::Number(number)) => {
                number.as_i64().map_or(ValueRef::Float(number.as_f64().unwrap_or_default()), ValueRef::Int)
            }
            Some(Value::String(text)) => ValueRef::Text(text),
            _ => ValueRef::Null,
        }
    }

    #[test]
    fn what_it_reads_a_tree_of_the_same_text_holds() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        let paths = paths();
        let mut reader = PathReader::new(&paths.of_level(0));
        let nulls = Nulls::new([].iter());
        let (mut read, mut refused) = (0, 0);
        for round in 0..60_000 {
            let mut text = TEXTS[round % TEXTS.len()].as_bytes().to_vec();
            for _ in 0..round / TEXTS.len() % 4 {
                let place = next(text.len().max(1));
                match next(3) {
                    _ if text.is_empty() => {}
                    0 => text[place] = SIGNS[next(SIGNS.len())],
                    1 => _ = text.remove(place),
                    _ => text.insert(place, SIGNS[next(SIGNS.len())]),
                }
            }
            let Ok(text) = String::from_utf8(text) else { continue };
            let arena = Bump::new();
            let mut slots = vec![ValueRef::Null; PATHS.len()];
            let found = reader.read(text.as_bytes(), &mut slots, &arena, &nulls);
            let is_json = serde_json::from_str::<IgnoredAny>(&text).is_ok() && text.trim_ascii().starts_with('{');
            assert!(is_json || found.is_err(), "{text} is read and is not an object");
            if let Some(tree) = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object) {
                assert!(found.is_ok(), "{text} is not read: {found:?}");
                let expected: Vec<_> = PATHS.iter().map(|path| plainly(&tree, path)).collect();
                assert_eq!(slots, expected, "{text}");
                read += 1;
            }
            refused += usize::from(found.is_err());
        }
        assert!(read > 10_000 && refused > 10_000, "{read} were read and {refused} refused");
    }

    #[test]
    fn deep_and_wide_texts_are_read_without_a_stack_of_their_depth() {
        let depth = 1 << 20;
        let deep = format!("{{\"x\":{}1{},\"a\":7}}", "[".repeat(depth), "]".repeat(depth));
        let wide = format!("{{{}\"a\":7}}", "\"k\":{},".repeat(1 << 20));
        let unfinished = format!("{{\"x\":{}", "{\"x\":[".repeat(depth));
        let paths = paths();
        let mut reader = PathReader::new(&paths.of_level(0));
        for (text, is_read) in [(&deep, true), (&wide, true), (&unfinished, false)] {
            let arena = Bump::new();
            let mut slots = vec![ValueRef::Null; PATHS.len()];
            let found = reader.read(text.as_bytes(), &mut slots, &arena, &Nulls::new([].iter()));
            assert_eq!((found.is_ok(), slots[0] == ValueRef::Int(7)), (is_read, is_read));
        }
    }
}
