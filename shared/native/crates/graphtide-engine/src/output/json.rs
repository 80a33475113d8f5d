//! JSON as match records have it: members of objects, and texts.

/// The name of a member of a JSON object, with its colon.
pub(super) fn json_member(name: &str) -> Vec<u8> {
    let mut json = Vec::new();
    write_string(name, &mut json);
    json.push(b':');
    json
}

/// Writes what stands before the value of a member: a comma, unless it is the first, and the name.
pub(super) fn begin_member(number: usize, name: &[u8], out: &mut Vec<u8>) {
    if number > 0 {
        out.push(b',');
    }
    out.extend_from_slice(name);
}

/// Writes a text.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    let plain = text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing a string to memory cannot fail.
        let _ = serde_json::to_writer(out, text);
    }
}
