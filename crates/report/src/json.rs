//! JSON that is compact and still one thing per line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// `value` as JSON: the outer object has one line per key, its lists one line per entry; what is
/// deeper stays on the line. Ends with a newline.
pub(crate) fn by_line(value: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, ByLine::default());
    value.serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// Breaks lines in the outer object and in the lists directly in it.
#[derive(Default)]
struct ByLine {
    /// For each open object or list: whether it breaks lines.
    open: Vec<bool>,
    /// Whether the innermost one has an entry.
    filled: bool,
}

impl ByLine {
    fn begin<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8], list: bool) -> io::Result<()> {
        let breaks = self.open.is_empty() || (list && self.open.len() == 1);
        self.open.push(breaks);
        self.filled = false;
        out.write_all(bracket)
    }

    fn end<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let breaks = self.open.pop().expect("what ends has begun");
        if breaks && self.filled {
            self.line(out)?;
        }
        self.filled = true;
        out.write_all(bracket)
    }

    fn entry<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        self.filled = true;
        if *self.open.last().expect("an entry is inside of something") {
            self.line(out)
        } else if first {
            Ok(())
        } else {
            out.write_all(b" ")
        }
    }

    fn line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(b"\n")?;
        (0..self.open.len()).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for ByLine {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"[", true)
    }
    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.entry(out, first)
    }
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.begin(out, b"{", false)
    }
    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.entry(out, first)
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_outer_object_have_a_line_per_entry() {
        let value = serde_json::json!({"a": 1, "b": [{"c": [1, 2]}, {}], "d": {"e": [3]}, "f": []});
        let mut text = Vec::new();
        by_line(&value, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(
            text,
            "{\n  \"a\": 1,\n  \"b\": [\n    {\"c\": [1, 2]},\n    {}\n  ],\n  \"d\": {\"e\": [3]},\n  \"f\": []\n}\n"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
