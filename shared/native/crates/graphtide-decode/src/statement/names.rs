//! The paths that a name may mean: `a.b[0]` is the name of the path `a`, `b`, 0, and of the field `a.b[0]`.

use super::paths::Step;

/// Places where a name may be cut. Each way to cut it is a path; a name with more places is cut everywhere or nowhere.
const MOST_CUTS: usize = 6;

/// Steps of a path, at most.
const MOST_STEPS: usize = 64;

/// The paths of this name: those of fewer steps first, of equally many that with the longer step first.
pub(crate) fn paths_named(name: &str) -> Vec<Box<[Step]>> {
    let cuts = name.char_indices().filter(|(place, sign)| *place > 0 && matches!(sign, '.' | '[')).count();
    let mut found = Vec::new();
    if cuts <= MOST_CUTS {
        collect(name, &mut Vec::new(), &mut found);
    } else {
        found.push(vec![Step::Name(name.into())]);
        found.extend(cut_everywhere(name));
    }
    found.retain(|steps| steps.len() <= MOST_STEPS);
    // The ones that begin with a longer step are found first, and sorting keeps that.
    found.sort_by_key(Vec::len);
    found.dedup();
    found.into_iter().map(Vec::into_boxed_slice).collect()
}

/// Collects the paths of what is left of a name, which begins with that of a field.
fn collect(name: &str, before: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    let ends = name.char_indices().map(|(place, _)| place).filter(|place| matches!(name.as_bytes()[*place], b'.' | b'['));
    let mut ends: Vec<usize> = ends.filter(|place| *place > 0).chain([name.len()]).collect();
    ends.retain(|end| *end > 0);
    for end in ends.into_iter().rev() {
        let length = before.len();
        before.push(Step::Name(name[..end].into()));
        behind(&name[end..], before, found);
        before.truncate(length);
    }
}

/// Collects the paths of what is left of a name behind a step.
fn behind(rest: &str, before: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    if rest.is_empty() {
        found.push(before.clone());
    } else if let Some(name) = rest.strip_prefix('.') {
        collect(name, before, found);
    } else if let Some((position, rest)) = position(rest) {
        before.push(Step::Position(position));
        behind(rest, before, found);
        before.pop();
    }
}

/// The path of a name that is cut wherever it can be.
fn cut_everywhere(mut rest: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    loop {
        let end = rest.char_indices().find(|(place, sign)| *place > 0 && matches!(sign, '.' | '['));
        let end = end.map_or(rest.len(), |(place, _)| place);
        if end == 0 {
            return None;
        }
        steps.push(Step::Name(rest[..end].into()));
        rest = &rest[end..];
        while let Some((place, behind)) = position(rest) {
            steps.push(Step::Position(place));
            rest = behind;
        }
        if rest.is_empty() {
            return Some(steps);
        }
        rest = rest.strip_prefix('.')?;
    }
}

/// A position in a list as a name has it, `[12]`, and what follows.
fn position(text: &str) -> Option<(u32, &str)> {
    const LARGEST: u32 = i32::MAX.cast_unsigned();
    let (digits, rest) = text.strip_prefix('[')?.split_once(']')?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
    let position = digits.parse().ok().filter(|position| is_plain && *position <= LARGEST)?;
    Some((position, rest))
}
