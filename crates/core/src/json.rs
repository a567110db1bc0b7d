//! What is wrong in a JSON file, in words of its author, and where.

use serde_json::value::RawValue;

use crate::error::nearest;

/// What a reader expects, where it names that by a type of Rust.
pub fn expected_in_words(expected: &str) -> String {
    let up_to = |most: u64| format!("a whole number from 0 to {most}");
    match expected {
        "u8" => up_to(u8::MAX.into()),
        "u16" => up_to(u16::MAX.into()),
        "u32" => up_to(u32::MAX.into()),
        "u64" | "usize" => up_to(u64::MAX),
        "a nonzero u32" => format!("a whole number from 1 to {}", u32::MAX),
        "i32" | "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a map" => "a table".to_owned(),
        "a sequence" => "a list".to_owned(),
        name if name.starts_with("struct ") => "a table".to_owned(),
        name if name.starts_with("internally tagged enum ") => "a table with a `kind`".to_owned(),
        text => text.to_owned(),
    }
}

/// What a reader of JSON values says of one that does not fit, without words of Rust.
pub fn misfit_in_words(error: &serde_json::Error) -> String {
    let message = error.to_string();
    for misfit in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, expected)) =
            message.strip_prefix(misfit).and_then(|rest| rest.split_once(", expected "))
        {
            let found = match found {
                "sequence" => "a list",
                "map" => "a table",
                found => found.trim_start_matches("integer ").trim_start_matches("floating point "),
            };
            return format!("{} is expected, found {found}", expected_in_words(expected));
        }
    }
    if let Some((variant, known)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        let known = known.trim_start_matches("one of ").replace("` or `", ", ").replace('`', "");
        let near = nearest(variant, known.split(", "));
        let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
        return format!("unknown value `{variant}`{hint} (known: {known})");
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("the key {field} is missing"),
        None => message,
    }
}

/// What is wrong at the place at which a `text` stops being JSON: what was found there and what is expected, without the place.
pub fn syntax_in_words(text: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    if message.contains("recursion limit") {
        return "lists and objects are nested more than 127 deep".to_owned();
    }
    if error.is_eof() {
        return "the text is cut off here".to_owned();
    }
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
    if !error.is_syntax() || !["expected value", "expected ident", "invalid number"].contains(&&message[..]) {
        return message;
    }
    let Some(found) = token_at(text, error.line(), error.column()) else { return message };
    let expected = match found.trim_start_matches(['+', '-']).to_ascii_lowercase().as_str() {
        // what Python writes, though JSON has no words for it
        "nan" | "inf" | "infinity" => {
            "JSON has finite numbers only: a number is expected, or nothing at all where there is none"
        }
        "none" => "null is expected",
        "true" => "true is expected",
        "false" => "false is expected",
        _ => "a number, a text in quotes, true, false, null, a list or an object is expected",
    };
    format!("found `{found}`; {expected}")
}

/// The word, number or sign at a line and a column, both from 1 on and columns in bytes.
fn token_at(text: &str, line: usize, column: usize) -> Option<&str> {
    // what breaks off at the end of a line is found at the beginning of the next
    let (line, column) = if column == 0 { (line.checked_sub(1)?, None) } else { (line, Some(column)) };
    let line = text.lines().nth(line.checked_sub(1)?)?;
    let column = column.unwrap_or(line.len());
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
    let (at, bytes) = (column.checked_sub(1)?, line.as_bytes());
    if !bytes.get(at).is_some_and(in_word) {
        return line.get(at..)?.chars().next().map(|sign| &line[at..at + sign.len_utf8()]);
    }
    let start = at - bytes[..at].iter().rev().take_while(|byte| in_word(byte)).count();
    let end = at + bytes[at..].iter().take_while(|byte| in_word(byte)).count().min(LONGEST_TOKEN);
    Some(&line[start.max(at.saturating_sub(LONGEST_TOKEN))..end])
}

/// Bytes of a word on either side of a place, in a message.
const LONGEST_TOKEN: usize = 30;

/// Where the value at a dotted path is in the text of a file, to follow the file's name: `, line 3`. Nothing of an empty path, and of
/// what is no JSON.
pub fn place_of(text: &str, path: &str) -> String {
    // editors of Windows begin a file with a mark
    let line = line_of(text.trim_start_matches('\u{feff}'), path).filter(|_| !path.is_empty());
    line.map_or_else(String::new, |line| format!(", line {line}"))
}

/// The line, from 1 on, at which the value at a dotted path begins in a text of JSON, or the innermost one above it that is
/// there: `nodes.3.kind`. `None` for what is no JSON.
fn line_of(text: &str, path: &str) -> Option<usize> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for key in path.split('.') {
        let Some(child) = child(value, key) else { break };
        value = child;
    }
    let offset = value.get().as_ptr().addr() - text.as_ptr().addr();
    Some(text[..offset].matches('\n').count() + 1)
}

/// The value of a key of an object, or at a position of a list.
fn child<'a>(value: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
        return list.get(key.parse::<usize>().ok()?).copied();
    }
    let object: std::collections::HashMap<String, &RawValue> = serde_json::from_str(value.get()).ok()?;
    // attributes of Python have no `-` in their names
    object.get(key).or_else(|| object.get(&key.replace('-', "_"))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_line() {
        let text = "{\n\"nodes\": [\n{\"a.b\": 1},\n {\"id\":\n 2}],\n\"edges\": []}";
        for (path, line) in
            [("nodes", 2), ("nodes.1", 4), ("nodes.1.id", 5), ("nodes.1.kind", 4), ("edges.7", 6), ("x", 1)]
        {
            assert_eq!(line_of(text, path), Some(line), "{path}");
        }
        assert_eq!(line_of("{", "x"), None);
        assert_eq!(place_of(&format!("\u{feff}{text}"), "nodes.1"), ", line 4");
        assert_eq!([place_of(text, ""), place_of("{", "x")], ["", ""]);
    }

    #[test]
    fn what_is_no_json_is_said_in_words() {
        let said = |value: &str| {
            let text = format!("{{\n\"é\": {value}\n}}");
            syntax_in_words(&text, &serde_json::from_str::<serde_json::Value>(&text).unwrap_err())
        };
        for word in ["NaN", "nan", "Infinity", "-Infinity", "-inf", "+Inf"] {
            let start = format!("found `{word}`; JSON has finite numbers only: a number is expected");
            assert!(said(word).starts_with(&start), "{}", said(word));
        }
        assert_eq!(said("None"), "found `None`; null is expected");
        assert_eq!(said("True"), "found `True`; true is expected");
        let any = "a number, a text in quotes, true, false, null, a list or an object is expected";
        for (value, found) in
            [("1.e5", "1.e5"), ("'x'", "'"), ("ü", "ü"), ("}", "}"), ("nul", "nul"), ("[.5]", ".5")]
        {
            assert_eq!(said(value), format!("found `{found}`; {any}"));
        }
        assert!(said(&"x".repeat(1000)).len() < 150, "{}", said(&"x".repeat(1000)));
        let cut = serde_json::from_str::<serde_json::Value>("[1, ").unwrap_err();
        assert_eq!(syntax_in_words("[1, ", &cut), "the text is cut off here");
        // what the parser says well is left
        assert_eq!(said("1 2"), "expected `,` or `}`");
        assert_eq!(said("[1,]"), "trailing comma");
        assert_eq!(said(&"[".repeat(200)), "lists and objects are nested more than 127 deep");
    }

    #[test]
    fn misfits_are_said_in_words() {
        #[derive(Debug, serde::Deserialize)]
        #[allow(dead_code)]
        struct Thing {
            count: u32,
            on: bool,
            kind: Kind,
        }
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "kebab-case")]
        enum Kind {
            Send,
            Receive,
        }
        for (text, words) in [
            (r#"{"count": -1}"#, "a whole number from 0 to 4294967295 is expected, found `-1`"),
            (r#"{"count": [1]}"#, "a whole number from 0 to 4294967295 is expected, found a list"),
            (r#"{"count": 1, "on": "x"}"#, "true or false is expected, found string \"x\""),
            (
                r#"{"count": 1, "on": true, "kind": "sent"}"#,
                "unknown value `sent`, did you mean `send`? (known: send, receive)",
            ),
            (r#"{"count": 1, "on": true}"#, "the key `kind` is missing"),
        ] {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(misfit_in_words(&serde_json::from_value::<Thing>(value).unwrap_err()), words);
        }
    }
}
