//! Regular expressions of the language (`graphtide_core.portable_regex`), compiled for a search in linear time.
//!
//! `\d`, `\w`, `\s`, `\b` and `(?i)` are about ASCII alone, as in Python with `re.ASCII`. They mean the same under every
//! version of Unicode, and automata stay small. They are written out as classes before the library reads the expression. Other
//! characters are code points, and `.` is one.

use std::fmt::Write as _;

use regex_automata::meta::{Config, Regex};
use regex_automata::util::syntax;

use crate::error::ExpressionError;

/// Bytes that the automaton of an expression takes at most.
const LARGEST: usize = 16 << 20;

/// Groups inside each other; a repetition of a group counts as one, too.
const MOST_OPEN: u32 = 250;

/// Compiles an expression.
pub fn compile(pattern: &str) -> Result<Regex, ExpressionError> {
    let config = Config::new().nfa_size_limit(Some(LARGEST)).onepass_size_limit(Some(LARGEST)).hybrid_cache_capacity(LARGEST);
    let syntax = syntax::Config::new().nest_limit(MOST_OPEN);
    let written_out = WrittenOut::of(pattern);
    Regex::builder().configure(config).syntax(syntax).build(&written_out).map_err(|error| {
        let reason = if error.size_limit().is_some() {
            "it is too large: make its repetitions shorter, or write + or * in their place".to_owned()
        } else {
            // The library shows the expression on lines of its own; the last one says what is wrong.
            let text = error.syntax_error().map_or_else(|| error.to_string(), ToString::to_string);
            text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
        };
        ExpressionError::new(format!("the regular expression {pattern:?} cannot be compiled: {reason}"))
    })
}

/// An expression whose classes and cases are written out.
struct WrittenOut<'p> {
    rest: std::iter::Peekable<std::str::Chars<'p>>,
    written: String,
    /// Whether case is ignored: here, and around each open group.
    ignores_case: Vec<bool>,
}

impl WrittenOut<'_> {
    fn of(pattern: &str) -> String {
        let mut this = WrittenOut {
            rest: pattern.chars().peekable(),
            written: String::with_capacity(2 * pattern.len()),
            ignores_case: vec![false],
        };
        while let Some(char) = this.rest.next() {
            match char {
                '\\' => this.escape(),
                '[' => this.class(),
                '(' => this.group(),
                ')' => {
                    if this.ignores_case.len() > 1 {
                        this.ignores_case.pop();
                    }
                    this.written.push(')');
                }
                _ => this.literal(char),
            }
        }
        this.written
    }

    fn ignores_case(&self) -> bool {
        self.ignores_case.last().is_some_and(|ignores| *ignores)
    }

    /// A character that may be a sign of the syntax.
    fn literal(&mut self, char: char) {
        if char.is_ascii_alphabetic() && self.ignores_case() {
            self.written.extend(['[', char.to_ascii_lowercase(), char.to_ascii_uppercase(), ']']);
        } else {
            self.written.push(char);
        }
    }

    fn escape(&mut self) {
        let Some(char) = self.rest.next() else { return self.written.push('\\') };
        match char {
            'b' => self.written.push_str(r"(?-u:\b)"),
            'B' => self.written.push_str(r"(?-u:\B)"),
            'd' | 'w' | 's' => {
                self.written.push('[');
                self.written.push_str(class_of(char));
                self.written.push(']');
            }
            'D' | 'W' | 'S' => {
                self.written.push_str("[^");
                self.written.push_str(class_of(char.to_ascii_lowercase()));
                self.written.push(']');
            }
            'x' | 'u' => match self.code_point(char) {
                Some(point) if self.ignores_case() && point.is_ascii_alphabetic() => self.literal(point),
                Some(point) => self.point(point),
                None => {}
            },
            _ => self.written.extend(['\\', char]),
        }
    }

    /// Reads the digits of `\x41` or `\u0041`; writes what it read if they are none of a character.
    fn code_point(&mut self, kind: char) -> Option<char> {
        let count = if kind == 'x' { 2 } else { 4 };
        let mut digits = String::new();
        while digits.len() < count
            && let Some(digit) = self.rest.next_if(char::is_ascii_hexdigit)
        {
            digits.push(digit);
        }
        let point = if digits.len() == count { u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) } else { None };
        if point.is_none() {
            self.written.extend(['\\', kind]);
            self.written.push_str(&digits);
        }
        point
    }

    /// A character that is none of the signs of the syntax.
    fn point(&mut self, point: char) {
        let code = u32::from(point);
        // Writing into a String cannot fail.
        let _ = write!(self.written, "\\x{{{code:x}}}");
    }

    fn group(&mut self) {
        let (mut ignores, mut flags, mut is_scoped) = (self.ignores_case(), String::new(), true);
        if self.rest.next_if_eq(&'?').is_none() {
            self.written.push('(');
        } else if self.rest.next_if_eq(&'P').is_some() {
            self.written.push_str("(?P");
        } else {
            for char in self.rest.by_ref() {
                match char {
                    'i' => ignores = true,
                    ':' => break,
                    ')' => {
                        is_scoped = false;
                        break;
                    }
                    _ => flags.push(char),
                }
            }
            if is_scoped {
                self.written.extend(["(?", &flags, ":"]);
            } else if !flags.is_empty() {
                self.written.extend(["(?", &flags, ")"]);
            }
        }
        if is_scoped {
            self.ignores_case.push(ignores);
        } else if let Some(here) = self.ignores_case.last_mut() {
            *here = ignores;
        }
    }

    fn class(&mut self) {
        self.written.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.written.push('^');
        }
        // A bracket at the beginning is a member.
        let mut is_first = true;
        while let Some(char) = self.rest.next() {
            if char == ']' && !is_first {
                self.written.push(']');
                return;
            }
            is_first = false;
            let Some(first) = self.member(char) else { continue };
            let mut last = first;
            if self.rest.peek() == Some(&'-') {
                let mut ahead = self.rest.clone();
                ahead.next();
                if let Some(end) = ahead.next()
                    && end != ']'
                {
                    self.rest = ahead;
                    last = self.member(end).unwrap_or(first);
                }
            }
            self.range(first, last);
        }
    }

    /// The character of a member of a class; None for a class in it, which is written.
    fn member(&mut self, char: char) -> Option<char> {
        if char != '\\' {
            return Some(char);
        }
        let char = self.rest.next()?;
        match char {
            'd' | 'w' | 's' => {
                self.written.push_str(class_of(char));
                None
            }
            'D' | 'W' | 'S' => {
                self.written.push_str("[^");
                self.written.push_str(class_of(char.to_ascii_lowercase()));
                self.written.push(']');
                None
            }
            'x' | 'u' => self.code_point(char),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'f' => Some('\x0c'),
            'v' => Some('\x0b'),
            'a' => Some('\x07'),
            _ => Some(char),
        }
    }

    fn range(&mut self, first: char, last: char) {
        self.point(first);
        if last != first {
            self.written.push('-');
            self.point(last);
        }
        if !self.ignores_case() {
            return;
        }
        for (from, to, swap) in
            [('a', 'z', char::to_ascii_uppercase as fn(&char) -> char), ('A', 'Z', |char| char.to_ascii_lowercase())]
        {
            let (start, end) = (first.max(from), last.min(to));
            if start <= end {
                self.point(swap(&start));
                self.written.push('-');
                self.point(swap(&end));
            }
        }
    }
}

fn class_of(escape: char) -> &'static str {
    match escape {
        'd' => "0-9",
        'w' => "0-9A-Z_a-z",
        _ => r"\t\n\x0b\x0c\r ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
        let found = compile(pattern).unwrap_or_else(|error| panic!("{error}")).find(text)?;
        Some(&text[found.range()])
    }

    #[test]
    fn classes_and_cases_are_about_ascii_alone() {
        assert_eq!(find(r"\d+", "\u{665}7"), Some("7"));
        assert_eq!(find(r"\w+", "ä_a9"), Some("_a9"));
        assert_eq!(find(r"\W+", "aä-b"), Some("ä-"));
        assert_eq!(find(r"\s", "\u{a0}"), None);
        assert_eq!(find(r"[^\S\n]", "\n\x0b"), Some("\x0b"));
        assert_eq!(find("(?i)k+", "\u{212a}Kk"), Some("Kk"));
        assert_eq!(find("(?i)ä", "Ä"), None);
        assert_eq!(find("(?i)[^a-c]+", "ABCde"), Some("de"));
        assert_eq!(find("(?i)[X-c]+", "wxZ_AC^d"), Some("xZ_AC^"));
        assert_eq!(find(r"(?i:a\x42)c", "ABC"), None);
        assert_eq!(find(r"(?i:a\x42)c", "ABc"), Some("ABc"));
        assert_eq!(find(r"a\b", "aä"), Some("a"));
        assert_eq!(find(".", "ä"), Some("ä"));
    }

    #[test]
    fn signs_in_classes_are_members() {
        assert_eq!(find(r"[]a]+", "]a"), Some("]a"));
        assert_eq!(find(r"[^]a]+", "]ab]"), Some("b"));
        assert_eq!(find(r"[\]\-^.]+", "x-]^."), Some("-]^."));
        assert_eq!(find(r"[a-]+", "b-a"), Some("-a"));
        assert_eq!(find(r"[+--]+", "a,-+"), Some(",-+"));
        assert_eq!(find(r"[\d.-]+", "v1.2-3"), Some("1.2-3"));
    }

    #[test]
    fn flags_hold_in_their_group() {
        assert_eq!(find("(?m)^b$", "a\nb\nc"), Some("b"));
        assert_eq!(find("a$", "a\n"), None);
        assert_eq!(find("(?s:a.)", "a\n"), Some("a\n"));
        assert_eq!(find("(?im)^B", "a\nb"), Some("b"));
        assert_eq!(find("(?P<name>x)(?:y)", "xy"), Some("xy"));
    }

    #[test]
    fn what_is_too_large_or_damaged_is_refused_with_the_reason() {
        for pattern in [r"(?:.{255}){255}", "(", "[", r"\", r"\ud800", "(?P<", "(?", "[a-", r"[\"] {
            let error = compile(pattern).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains("cannot be compiled"), "{pattern}: {error}");
        }
    }
}
